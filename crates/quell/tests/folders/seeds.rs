//! Several seeds on a disk that is full before the last of them.

use std::path::Path;
use std::process::Command;

use crate::folders::support::{COEXISTENCE, QUELL, names};
use quell_testing::not_run;

/// Calls quell on a disk of `size` bytes, and copies what it leaves to `left`. `None` where no disk can be mounted here.
fn on_a_disk(size: &str, left: &Path, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    let script = "mount -t tmpfs -o size=\"$1\" none \"$2\" || exit 99; to=\"$3\"; cd \"$2\"; shift 3; \"$@\"; code=$?; \
                  cp -a . \"$to\"; exit $code";
    let mount = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
            size,
        ])
        .args([mount.path(), left])
        .arg(QUELL)
        .args(arguments);
    let output = command.output().ok()?;
    let errors = String::from_utf8(output.stderr).unwrap();
    let code = output.status.code();
    // unshare(1) itself ends with 1 where a user namespace is refused.
    (code != Some(99) && !errors.contains("unshare")).then_some((code, errors))
}

#[test]
fn a_full_disk_leaves_no_incomplete_folder_under_a_final_name() {
    let test = "a_full_disk_leaves_no_incomplete_folder_under_a_final_name";
    let (mut incomplete, mut whole) = (0, 0);
    // Room for none of the seeds up to all of them.
    for size in ["60k", "120k", "200k", "280k", "360k", "440k", "8m"] {
        let left = tempfile::tempdir().unwrap();
        let arguments = [
            "compare",
            COEXISTENCE,
            "--queue",
            "pie,codel",
            "--set",
            "run.seeds=[1,2,3]",
            "--duration",
            "20s",
            "--jobs",
            "1",
            "--out",
            "all",
        ];
        let Some((code, errors)) = on_a_disk(size, left.path(), &arguments) else {
            return not_run(
                test,
                "no small file system can be mounted in a user namespace",
            );
        };
        let all = left.path().join("all");
        for name in names(&all) {
            assert!(!name.ends_with(".unfinished"), "{size}: {name}");
            let seeds = names(&all.join(&name));
            for seed in seeds.iter().filter(|seed| seed.starts_with("seed")) {
                assert!(all.join(&name).join(seed).join("run.json").is_file());
            }
            if name.ends_with(".incomplete") {
                incomplete += 1;
                assert!(errors.contains(&name), "{size}: {errors}");
            } else {
                whole += 1;
                let expected = ["aggregate.json", "seed1", "seed2", "seed3"];
                assert_eq!(seeds, expected, "{size}: {name}");
            }
        }
        assert!(
            !all.exists() || !names(&all).is_empty(),
            "{size}: an empty folder"
        );
        // What the system said, not what the library for Parquet calls it.
        assert!(!errors.contains("External"), "{size}: {errors}");
        let full = code == Some(1) && errors.contains("cannot write");
        assert!(
            full || (code == Some(0) && size == "8m"),
            "{size}: {code:?} {errors}"
        );
    }
    assert!(incomplete >= 1 && whole >= 2, "{incomplete} {whole}");
}
