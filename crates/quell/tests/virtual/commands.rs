//! `--guest-exec`: commands of the user inside the guest. And what is said of a kernel that lacks something.

use std::fs;

use crate::stage::Stage;

#[test]
fn what_commands_print_in_the_guest_is_kept_and_those_that_fail_or_hang_are_reported() {
    let Some(stage) = Stage::new("virtual commands inside the guest") else {
        return;
    };
    let commands = [
        "1s,2s:sender:cat /proc/net/tcp; echo >mine",
        "1500ms:receiver:echo oh >&2; exit 3",
        "500ms:link:echo begun; sleep 1000",
        "500ms/1s:link:true",
    ];
    let mut arguments = vec!["--out", "out"];
    for command in commands {
        arguments.extend(["--guest-exec", command]);
    }
    stage.succeed(&arguments);
    let folder = stage.path().join("out/guest-exec");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for (name, first) in [
        ("1-sender-1s.txt", "# sender at 1.000"),
        ("1-sender-2s.txt", "# sender at 2.000"),
    ] {
        let text = text(name);
        assert!(text.starts_with(first), "{text}");
        // Four connections, and nothing of the host's: established, to the four ports of the receiver.
        let connections = text.lines().filter(|line| line.contains(" 01 "));
        assert_eq!(connections.count(), 4, "{text}");
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("# ended at ") && last.ends_with("exit code 0"),
            "{text}"
        );
    }
    assert!(folder.join("mine").exists());
    let failed = text("2-receiver-1.5s.txt");
    assert!(failed.contains("\noh\n") && failed.contains("exit code 3"));
    let hung = text("3-link-500ms.txt");
    assert!(
        hung.contains("\nbegun\n") && hung.contains("# ended at 4."),
        "{hung}"
    );
    for at in ["500ms", "1.5s", "2.5s", "3.5s"] {
        assert!(text(&format!("4-link-{at}.txt")).contains("exit code 0"));
    }
    let summary = stage.json("out/summary.json");
    assert_eq!(summary["partial"], false);
    let warnings: Vec<&str> = summary["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning.as_str().unwrap())
        .collect();
    for words in [
        "(--guest-exec): what they do takes some of its time",
        "exit 3\": at 1.5s: exit code 3; see guest-exec/2-receiver-1.5s.txt",
        "it had not ended when the run did",
    ] {
        let said = warnings.iter().any(|warning| warning.contains(words));
        assert!(said, "no {words}: {warnings:?}");
    }
}

#[test]
fn a_command_that_stops_the_guests_time_is_named() {
    let Some(stage) = Stage::new("virtual a command that computes without end") else {
        return;
    };
    let spin = "1s:sender:while :; do :; done";
    let output = stage.run(&[
        "--guest-exec",
        spin,
        "--guest-timeout",
        "3s",
        "--out",
        "out",
    ]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("clock stopped") && errors.contains("while :; do :; done"),
        "{errors}"
    );
    assert_eq!(stage.left_over(), [] as [&str; 0]);
}

#[test]
fn commands_that_cannot_run_are_refused_before_anything_starts() {
    let stage = Stage::empty();
    stage.fake_kernel("fake", "exit 9", true);
    for (arguments, words) in [
        (
            ["--guest-exec", "4s:sender:ss"],
            "--guest-exec ss: 4s is not within the run of 4s",
        ),
        (
            ["--guest-exec", "1s:router:ss"],
            "--guest-exec router: the namespaces are sender, receiver and link",
        ),
    ] {
        let output = stage.run(&arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words), "{errors}");
    }
    let mut elsewhere = stage.quell(&["run", "scenario.toml", "--guest-exec", "1s:sender:ss"]);
    let output = elsewhere.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--world virtual"));
}

#[test]
fn two_kernels_of_one_version_stay_apart_by_their_names() {
    let Some(stage) = Stage::new("virtual compare of two kernels") else {
        return;
    };
    let kernels = stage.path().join("kernels");
    fs::create_dir(kernels.join("patched")).unwrap();
    for name in ["linux", "kernel.json"] {
        fs::copy(
            kernels.join("true").join(name),
            kernels.join("patched").join(name),
        )
        .unwrap();
    }
    let arguments = ["compare", "scenario.toml", "--world", "virtual", "--kernel"];
    let mut compare = stage.quell(&arguments);
    let output = compare
        .args(["true,patched", "--duration", "2s", "--seed", "1"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let table = String::from_utf8(output.stdout).unwrap();
    for kernel in ["true", "patched"] {
        let rows = table.lines().filter(|line| {
            let mut words = line.split_whitespace();
            words.any(|word| word == kernel) && line.contains("bit/s")
        });
        assert_eq!(rows.count(), 1, "{table}");
    }
}

#[test]
fn a_guest_without_a_control_is_not_told_to_load_a_module() {
    let Some(stage) = Stage::new("virtual a control that the guest lacks") else {
        return;
    };
    let output = stage.run(&["--set", "group.classic.congestion-control=ledbat"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("ledbat") && errors.contains("quell kernel list -v"),
        "{errors}"
    );
    assert!(!errors.contains("modprobe"), "{errors}");
}
