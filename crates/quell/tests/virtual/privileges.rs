//! What a guest's kernel may do to the host, and which kernels are started at all.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use quell_testing::program::{refused, wait_until};

use crate::stage::{NOBODY, Stage, is_root};
use quell_testing::not_run;

/// A kernel that says who it is and what it may, and tries to write where it should not; it gets no further.
const CURIOUS: &str = r#"
echo "id $(id -u) $(id -g) $(id -G)"
grep -E '^(CapEff|CapPrm|CapBnd|CapInh|NoNewPrivs)' /proc/self/status | tr '\n\t' '  '
echo
for word in "$@"; do case $word in
uml_dir=*) own=${word#uml_dir=}; echo "mode $(stat -c %a "$own")"; touch "$own/mine" && echo "wrote inside" ;;
esac; done
(echo x >FORBIDDEN) 2>/dev/null && echo "wrote outside" || echo "refused outside"
exit 3"#;

/// What the curious kernel says, which a failed run shows.
fn curious(stage: &Stage, command: &mut Command) -> String {
    // Anybody may write there, but for Landlock.
    let open = stage.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    let forbidden = open.join("file");
    let body = CURIOUS.replace("FORBIDDEN", forbidden.to_str().unwrap());
    stage.fake_kernel("curious", &body, true);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let has_landlock = !matches!(
        quell_hosts::confine::landlock::probe(),
        Ok(quell_hosts::confine::landlock::Enforced::Not)
    );
    assert_eq!(errors.contains("refused outside"), has_landlock, "{errors}");
    assert_eq!(forbidden.exists(), !has_landlock);
    assert!(errors.contains("wrote inside"), "{errors}");
    assert!(errors.contains("mode 700"), "{errors}");
    let rights = errors.lines().find(|line| line.contains("CapEff")).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff"] {
        let none = format!("{set}: {:016x}", 0);
        assert!(rights.contains(&none), "{rights}");
    }
    assert!(rights.contains("NoNewPrivs: 1"), "{rights}");
    errors
}

const RUN: [&str; 6] = ["run", "scenario.toml", "--world", "virtual", "--out", "out"];

#[test]
fn a_users_guest_writes_in_its_folders_only_whatever_the_umask() {
    let stage = Stage::empty();
    // The shell's umask is that of what it becomes.
    let command = stage.quell(&[]);
    let words = RUN.join(" ");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("umask 000; exec ./quell {words}")])
        .current_dir(stage.path());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap());
    }
    if is_root() {
        use std::os::unix::process::CommandExt as _;
        shell.uid(NOBODY).gid(NOBODY);
    }
    curious(&stage, &mut shell);
}

#[test]
fn roots_guest_has_a_user_of_its_own_and_no_capability() {
    let test = "roots_guest_has_a_user_of_its_own_and_no_capability";
    if !is_root() {
        return not_run(test, "needs root");
    }
    let stage = Stage::empty();
    stage.give_to_root();
    let said = curious(&stage, &mut stage.quell_of_caller(&RUN));
    let ids = said
        .lines()
        .find_map(|line| line.split_once("id "))
        .unwrap()
        .1;
    let ids: Vec<u32> = ids
        .split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect();
    assert!(
        ids.iter().all(|id| *id == ids[0] && *id >= 0x7000_0000),
        "{ids:?}"
    );
    assert!(said.contains(&format!("CapBnd: {:016x}", 0)), "{said}");
}

/// Whoever owns the folder of temporary files, or is the guest's user, can rename what quell works in.
#[test]
fn what_takes_the_place_of_a_guests_folder_is_neither_emptied_nor_given_away() {
    let test = "what_takes_the_place_of_a_guests_folder_is_neither_emptied_nor_given_away";
    if !is_root() {
        return not_run(test, "needs root");
    }
    let stage = Stage::empty();
    stage.give_to_root();
    stage.fake_kernel("slow", "sleep 3; exit 3", true);
    let victim = stage.path().join("victim");
    for name in ["victim", "victim/results", "victim/result"] {
        fs::create_dir(stage.path().join(name)).unwrap();
        fs::write(stage.path().join(name).join("precious"), "").unwrap();
    }
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o700)).unwrap();
    let child = stage.quell_of_caller(&RUN).spawn().unwrap();
    for (place, prefix) in [("tmp", "quell-guest-"), (".", ".out.unfinished")] {
        let place = stage.path().join(place);
        let find = || {
            let entries = fs::read_dir(&place).unwrap().flatten();
            let mut names = entries.map(|entry| entry.file_name().into_string().unwrap());
            names.find(|name| name.starts_with(prefix))
        };
        let log = stage.path().join(".out.unfinished/result/kernel.log");
        wait_until("the kernel runs", || {
            find().is_some() && (log.exists() || place.ends_with("."))
        });
        let name = find().unwrap();
        fs::rename(place.join(&name), place.join("moved")).unwrap();
        symlink(&victim, place.join(&name)).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    for name in ["victim", "victim/results", "victim/result"] {
        let folder = stage.path().join(name);
        assert!(folder.join("precious").exists(), "{name}");
        for path in [folder.join("precious"), folder] {
            assert_eq!(fs::metadata(&path).unwrap().uid(), 0, "{}", path.display());
        }
    }
}

#[test]
fn a_true_guest_of_root_fills_a_folder_that_only_root_reaches() {
    let test = "a_true_guest_of_root_fills_a_folder_that_only_root_reaches";
    if !is_root() {
        return not_run(test, "needs root");
    }
    let Some(stage) = Stage::new(test) else {
        return;
    };
    stage.give_to_root();
    let closed = stage.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    // The program, too, lies where the guest's user does not come.
    fs::rename(stage.program(), closed.join("quell")).unwrap();
    let mut command = Command::new(closed.join("quell"));
    let like = stage.quell_of_caller(&RUN);
    for (name, value) in like.get_envs() {
        command.env(name, value.unwrap());
    }
    let child = command
        .args(&RUN[..5])
        .args(["closed/out", "--duration", "60s"])
        .stdout(Stdio::null())
        .current_dir(stage.path())
        .spawn()
        .unwrap();
    let users = users_of_kernels(&stage);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(!users.is_empty());
    for status in users {
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        let of = |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(!of("Uid:").contains("\t0"), "{status}");
        for set in ["CapPrm:", "CapEff:", "CapBnd:", "CapInh:", "CapAmb:"] {
            assert!(of(set).ends_with(&format!("{:016x}", 0)), "{status}");
        }
    }
    for file in [
        "",
        "summary.json",
        "run.json",
        "kernel.log",
        "flows.parquet",
    ] {
        let of = fs::metadata(closed.join("out").join(file)).unwrap();
        assert_eq!((of.uid(), of.gid()), (0, 0), "{file}");
    }
    assert_eq!(stage.left_over(), [] as [&str; 0]);
}

/// `/proc/PID/status` of each process of a kernel of this stage, once there is one.
fn users_of_kernels(stage: &Stage) -> Vec<String> {
    let stage = stage.path().to_str().unwrap().to_owned();
    let began = Instant::now();
    loop {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "no guest begins"
        );
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let found: Vec<String> = processes
            .filter(|process| {
                fs::read_to_string(process.path().join("cmdline"))
                    .is_ok_and(|line| line.starts_with(&stage) && line.contains("/linux\0"))
            })
            .filter_map(|process| fs::read_to_string(process.path().join("status")).ok())
            .collect();
        if !found.is_empty() {
            return found;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Refused, and not started.
fn not_started(output: &Output, words: &[&str]) {
    let errors = refused(output, words);
    assert!(!errors.contains("it ran"), "{errors}");
}

#[test]
fn a_kernel_that_others_could_have_replaced_is_not_started() {
    for (what, mode, refuses) in [
        ("kernels", 0o777, true),
        ("kernels/mine", 0o757, true),
        ("kernels/mine/linux", 0o777, true),
        ("kernels/mine/kernel.json", 0o666, true),
        ("", 0o777, true),
        ("kernels", 0o1777, false),
        ("kernels/mine/linux", 0o755, false),
    ] {
        let stage = Stage::empty();
        stage.fake_kernel("mine", "echo it ran; exit 3", true);
        let path = stage.path().join(what);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = stage.run(&["--out", "out"]);
        if refuses {
            not_started(&output, &["could have replaced it", "chmod go-w"]);
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(errors.contains("it ran"), "{what} {mode:o}: {errors}");
        }
    }
}

#[test]
fn another_users_kernel_is_started_by_root_alone_and_as_that_user() {
    let test = "another_users_kernel_is_started_by_root_alone_and_as_that_user";
    if !is_root() {
        return not_run(test, "needs root");
    }
    const OTHER: u32 = 12_345;
    let stage = Stage::empty();
    stage.fake_kernel("theirs", "echo \"it ran as $(id -u)\"; exit 3", true);
    for path in [
        "kernels/theirs",
        "kernels/theirs/linux",
        "kernels/theirs/kernel.json",
    ] {
        chown(stage.path().join(path), Some(OTHER), Some(OTHER)).unwrap();
    }
    not_started(&stage.run(&["--out", "out"]), &["belongs to user 12345"]);
    // The stage belongs to nobody, who is neither.
    stage.give_to_root();
    let output = stage.quell_of_caller(&RUN).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("it ran as 12345"), "{errors}");
}

#[test]
fn a_kernel_whose_image_has_changed_is_not_started() {
    let stage = Stage::empty();
    stage.fake_kernel("mine", "echo it ran; exit 3", true);
    let path = stage.path().join("kernels/mine/kernel.json");
    let mut facts = stage.json("kernels/mine/kernel.json");
    facts["sha256"] = "0".repeat(64).into();
    fs::write(&path, facts.to_string()).unwrap();
    let words = ["has changed", "quell kernel remove mine"];
    not_started(&stage.run(&["--out", "out"]), &words);
}

#[test]
fn whoever_was_not_started_by_the_one_that_says_so_does_not_begin() {
    // As under a subreaper, where the parent of an orphan is anybody.
    let stage = Stage::empty();
    stage.fake_kernel("mine", "echo it ran", true);
    let launch = serde_json::json!({
        "kernel": stage.path().join("kernels/mine/linux"), "sha256": "", "parent": 1, "processor": null,
        "narrow": false, "user": null, "writable": [],
    });
    let mut command = stage.quell(&["guest-kernel", &launch.to_string()]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        errors.contains("the process that started this kernel is gone"),
        "{errors}"
    );
    assert!(output.stdout.is_empty());
}
