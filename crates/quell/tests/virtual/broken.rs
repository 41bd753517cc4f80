//! What is said when something is missing or breaks, and that nothing is left of it.

use std::process::{Command, Output};

use crate::stage::{Stage, is_root};
use quell_testing::not_run;

/// The exit code, and a message with all of `words`; no result, and nothing in the temporary folder.
fn says(stage: &Stage, output: &Output, code: i32, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no {word:?} in: {errors}");
    }
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    assert!(!stage.path().join("out").exists() && !stage.path().join("results").exists());
}

#[test]
fn without_a_kernel_the_command_that_builds_one_is_named() {
    let stage = Stage::empty();
    says(&stage, &stage.run(&[]), 2, &["quell kernel build"]);
    let unknown = stage.run(&["--kernel", "mine"]);
    says(&stage, &unknown, 2, &["there is no kernel mine"]);
    // A name has no effect elsewhere.
    let mut elsewhere = stage.quell(&["run", "scenario.toml", "--kernel", "mine"]);
    let output = elsewhere.output().unwrap();
    says(&stage, &output, 2, &["--kernel", "--world virtual"]);
}

#[test]
fn a_kernel_without_a_simulated_clock_is_refused() {
    let stage = Stage::empty();
    stage.fake_kernel("clockless", "exit 0", false);
    let words = ["CONFIG_UML_TIME_TRAVEL_SUPPORT", "quell kernel build"];
    says(&stage, &stage.run(&["--out", "out"]), 2, &words);
}

/// What kernels say of hosts that refuse them, as arch/um/os-Linux prints it, and what quell makes of it.
#[test]
fn what_the_host_refuses_is_named_with_its_fix() {
    for (said, words) in [
        (
            "Checking that ptrace can change system call numbers...check_ptrace: ptrace failed, errno = 1 failed",
            ["ptrace", "fix: "],
        ),
        (
            "Checking PROT_EXEC mmap in /dev/shm...failed: Operation not permitted",
            ["executable", "TMPDIR"],
        ),
    ] {
        let stage = Stage::empty();
        stage.fake_kernel("refused", &format!("echo '{said}'\nexit 1"), true);
        says(&stage, &stage.run(&["--out", "out"]), 2, &words);
    }
}

#[test]
fn a_panic_inside_is_told_with_the_last_messages() {
    let stage = Stage::empty();
    let body = "echo 'Linux version 7.0.0'\necho '[ 1.0] before'\n\
                echo '[ 1.5] Kernel panic - not syncing: Out of memory: no killable processes...'\nexit 134";
    stage.fake_kernel("panics", body, true);
    let words = ["panicked: Out of memory", "| [ 1.0] before"];
    says(&stage, &stage.run(&["--out", "out"]), 1, &words);
}

#[test]
fn a_true_kernel_without_memory_panics_and_says_so() {
    let Some(stage) = Stage::new("a_true_kernel_without_memory_panics_and_says_so") else {
        return;
    };
    let linux = stage.path().join("kernels/true/linux");
    // The last word counts; what comes behind is for the first process.
    let body = format!(
        "for word do shift; case $word in mem=*) word=mem=12400K;; esac; set -- \"$@\" \"$word\"; done\nexec {} \"$@\"",
        linux.display()
    );
    stage.fake_kernel("starved", &body, true);
    let output = stage.run(&["--kernel", "starved", "--out", "out"]);
    says(&stage, &output, 1, &["panicked"]);
}

#[test]
fn a_kernel_that_just_ends_is_told() {
    let stage = Stage::empty();
    stage.fake_kernel("quits", "echo 'good bye'\nexit 3", true);
    says(
        &stage,
        &stage.run(&["--out", "out"]),
        1,
        &["ended early", "3", "| good bye"],
    );
}

#[test]
fn a_guest_whose_time_stands_still_is_given_up() {
    let stage = Stage::empty();
    // Long enough for a shell to start on a busy machine.
    stage.fake_kernel("sleeps", "echo started\nsleep 600 & wait", true);
    let output = stage.run(&["--out", "out", "--guest-timeout", "3s"]);
    says(
        &stage,
        &output,
        1,
        &["clock stopped", "--guest-timeout", "| started"],
    );
}

#[test]
fn a_full_disk_fails_the_run_and_leaves_nothing() {
    let test = "virtual a_full_disk_fails_the_run_and_leaves_nothing";
    if !is_root() {
        return not_run(test, "needs root, to mount a small file system");
    }
    let Some(stage) = Stage::new(test) else {
        return;
    };
    stage.give_to_root();
    let disk = stage.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=16k none {disk} && cd {stage} && QUELL_KERNELS=kernels ./quell run scenario.toml \
         --world virtual --out {disk}/out; code=$?; echo \"left: $(ls -A {disk})\" >&2; exit $code",
        disk = disk.display(),
        stage = stage.path().display(),
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("cannot write") && errors.contains("No space left"),
        "{errors}"
    );
    // The host's name of the file, not the guest's.
    let hidden = disk.join(".out.unfinished");
    assert!(errors.contains(&*hidden.to_string_lossy()), "{errors}");
    assert!(errors.ends_with("left: \n"), "{errors}");
}

/// In a container quell may well be the first process, and whoever calls it `guest` there must not change what is mounted.
#[test]
fn a_first_process_that_is_in_no_guest_says_so_and_mounts_nothing() {
    let test = "virtual a_first_process_that_is_in_no_guest_says_so_and_mounts_nothing";
    let stage = Stage::empty();
    // Mounts in the first namespace of mounts stay with it; /proc is opened before, because what covers it shows nothing of this one.
    let script = "exec 3</proc/$$/mountinfo; unshare --pid --fork ./quell guest nowhere; echo code $?; grep -c ' /proc ' <&3";
    let mut command = Command::new("unshare");
    match is_root() {
        true => command.arg("--mount"),
        false => command.args(["--user", "--map-root-user", "--mount"]),
    };
    let tried = command.args(["sh", "-c", script]);
    let output = tried.current_dir(stage.path()).output();
    let Some(output) = output.ok().filter(|output| !output.stdout.is_empty()) else {
        return not_run(test, "unshare(1) makes no namespaces here");
    };
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if errors.contains("unshare:") {
        return not_run(test, "unshare(1) makes no namespace of processes here");
    }
    assert!(
        errors.contains("first process of a user-mode kernel"),
        "{errors}"
    );
    assert_eq!(said, "code 2\n1\n");
}

#[test]
fn a_terminal_obeys_nothing_that_a_kernel_says() {
    let stage = Stage::empty();
    let body = "printf '\\033[31mred\\033]0;owned\\007\\n'; exit 3";
    stage.fake_kernel("coloured", body, true);
    let output = stage.run(&["--out", "out"]);
    let words = ["ended early", "| \\u001b[31mred\\u001b]0;owned\\u0007"];
    says(&stage, &output, 1, &words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains(['\u{1b}', '\u{7}']), "{errors:?}");
}

#[test]
fn a_kernel_whose_files_may_not_grow_is_an_error_that_names_the_limit() {
    let stage = Stage::empty();
    stage.fake_kernel("large", "kill -XFSZ $$", true);
    let output = stage.run(&["--out", "out"]);
    says(&stage, &output, 2, &["may not grow", "ulimit -f"]);
}
