//! What is on the disk when a result has its name: every file, and every name that leads to it.
//!
//! A small library in front of the C library writes down which file each fsync(2) was for, and whether the result had its name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quell_kernel::store::Store;

use crate::folders::support::{COEXISTENCE, QUELL, names};
use quell_testing::not_run;

const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    const char *log = getenv("SYNCED_LOG"), *result = getenv("SYNCED_RESULT");
    if (log && result) {
        char link[64], path[4096], line[4200];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0) {
            path[length] = 0;
            int to = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
            int n = snprintf(line, sizeof line, "%s %s\n", access(result, F_OK) ? "before" : "after", path);
            if (write(to, line, n) != n) abort();
            close(to);
        }
    }
    return real(fd);
}
"#;

/// What was synced before and after the result was there.
struct Synced {
    before: BTreeSet<PathBuf>,
    after: BTreeSet<PathBuf>,
}

/// Calls quell in `folder` under the library; `None` without a C compiler.
fn watched(folder: &Path, result: &Path, arguments: &[&str]) -> Option<Synced> {
    let [source, shim, log] = ["shim.c", "shim.so", "log"].map(|name| folder.join(name));
    fs::write(&source, SHIM).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        return None;
    }
    let output = Command::new(QUELL)
        .args(arguments)
        .current_dir(folder)
        .env("LD_PRELOAD", &shim)
        .env("SYNCED_LOG", &log)
        .env("SYNCED_RESULT", result)
        .env("QUELL_KERNELS", folder.join("store"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = fs::read_to_string(&log).unwrap_or_default();
    let of = |when: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(when));
        lines.map(|path| PathBuf::from(path.trim_start())).collect()
    };
    Some(Synced {
        before: of("before"),
        after: of("after"),
    })
}

/// A folder by the name that /proc uses.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

#[test]
fn every_file_and_folder_of_a_result_is_on_the_disk_before_and_after_it_has_its_name() {
    let test = "every_file_and_folder_of_a_result_is_on_the_disk_before_and_after_it_has_its_name";
    let (_folder, path) = scratch();
    let arguments = [
        "run",
        COEXISTENCE,
        "--duration",
        "11s",
        "--packets",
        "--set",
        "run.seeds=[1,2]",
        "--out",
        "new/out",
    ];
    let out = path.join("new/out");
    let Some(synced) = watched(&path, &out, &arguments) else {
        return not_run(test, "no C compiler");
    };
    let hidden = path.join("new/.out.unfinished/result");
    let mut all = vec![PathBuf::new(), PathBuf::from("aggregate.json")];
    for seed in ["seed1", "seed2"] {
        all.push(seed.into());
        let files = names(&out.join(seed));
        assert!(files.contains(&"packets.pcapng".to_owned()), "{files:?}");
        all.extend(files.iter().map(|file| Path::new(seed).join(file)));
    }
    for part in all {
        let path = hidden.join(&part).components().collect::<PathBuf>();
        assert!(
            synced.before.contains(&path),
            "{path:?}: {:?}",
            synced.before
        );
    }
    // The names: of the result, and of the folder that was made for it.
    for folder in [path.join("new"), path] {
        assert!(
            synced.after.contains(&folder),
            "{folder:?}: {:?}",
            synced.after
        );
    }
}

#[test]
fn a_kernel_of_the_store_is_on_the_disk_when_it_has_its_name() {
    let test = "a_kernel_of_the_store_is_on_the_disk_when_it_has_its_name";
    let kernel = Store::open().ok().and_then(|store| store.find(None).ok());
    let Some(kernel) = kernel else {
        return not_run(
            test,
            "no kernel is built: make kernel, or quell kernel build",
        );
    };
    let (_folder, path) = scratch();
    let store = path.join("store");
    let executable = kernel.executable();
    let place = store.join("mine");
    let arguments = [
        "kernel",
        "add",
        executable.to_str().unwrap(),
        "--name",
        "mine",
    ];
    let synced = watched(&path, &place, &arguments);
    let Some(synced) = synced else {
        return not_run(test, "no C compiler");
    };
    for name in ["linux", "config", "kernel.json"] {
        let is_it = |path: &PathBuf| path.ends_with(format!("kernel/{name}"));
        assert!(
            synced.before.iter().any(is_it),
            "{name}: {:?}",
            synced.before
        );
    }
    assert!(synced.before.iter().any(|path| path.ends_with("kernel")));
    assert!(synced.after.contains(&store), "{:?}", synced.after);
}

#[test]
fn every_cell_of_a_sweep_is_on_the_disk_before_and_after_it_has_its_name() {
    let test = "every_cell_of_a_sweep_is_on_the_disk_before_and_after_it_has_its_name";
    let (_folder, path) = scratch();
    let sweep = format!(
        "schema = 1\nscenario = {COEXISTENCE:?}\nseeds = [1, 2]\n[[experiment]]\nname = \"short\"\nset = {{ \"run.duration\" = \"11s\" }}\n"
    );
    fs::write(path.join("sweep.toml"), sweep).unwrap();
    let store = path.join("store");
    let arguments = ["sweep", "sweep.toml", "--store", "store"];
    let Some(synced) = watched(&path, &store.join("plan.json"), &arguments) else {
        return not_run(test, "no C compiler");
    };
    let all: BTreeSet<&PathBuf> = synced.before.union(&synced.after).collect();
    let cells = store.join("cells");
    let mut number = 0;
    for part in names(&cells) {
        // The name of the cell.
        assert!(all.contains(&cells.join(&part)), "{part}: {all:?}");
        for cell in names(&cells.join(&part)) {
            number += 1;
            let files = names(&cells.join(&part).join(&cell));
            assert!(files.len() >= 5, "{files:?}");
            for file in std::iter::once(String::new()).chain(files) {
                // While it had no name yet.
                let written = Path::new(&cell).join(&file);
                let written: PathBuf = written.components().collect();
                let is_it = |path: &&&PathBuf| path.ends_with(&written);
                let synced = all.iter().find(is_it);
                assert!(
                    synced.is_some_and(|path| !path.starts_with(&cells)),
                    "{file}"
                );
            }
        }
    }
    assert_eq!(number, 2);
    assert!(all.contains(&store), "the name of the plan: {all:?}");
}
