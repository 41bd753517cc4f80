//! Somebody who may write in the folder around the results renames what quell works in, and puts a link to something of quell's user
//! in its place.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::folders::support::{COEXISTENCE, LONG, names, quell, wait_until};
use quell_testing::not_run;

const NOBODY: u32 = 65_534;

/// The folder of the results, and beside it what is of quell's user alone.
struct Place {
    folder: TempDir,
}

impl Place {
    /// `owner` owns the folder of the results, or everybody may write in it.
    fn new(owner: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder };
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        open(place.folder.path(), 0o755);
        for (name, mode) in [("shared", 0o777), ("victim", 0o700)] {
            fs::create_dir(place.at(name)).unwrap();
            open(&place.at(name), mode);
        }
        chown(place.at("shared"), owner, owner).unwrap();
        // As what quell works in looks inside.
        for name in [
            "lock",
            "result/summary.json",
            "result/run.json",
            "plan.json",
            "cells/aa",
        ] {
            let path = place.at("victim").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "precious").unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shared(&self) -> PathBuf {
        self.at("shared")
    }

    /// Everything in the victim's folder, with its owner and content.
    fn victim(&self) -> Vec<(PathBuf, u32, String)> {
        let (mut found, mut open) = (Vec::new(), vec![self.at("victim")]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path.clone());
                }
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.push((path.clone(), fs::metadata(path).unwrap().uid(), text));
            }
        }
        found.sort();
        found
    }

    /// Puts a link to the victim's folder in place of the one whose name begins with `prefix`, once it is there.
    fn swap(&self, within: &Path, prefix: &str) {
        let find = || {
            names(within)
                .into_iter()
                .find(|name| name.starts_with(prefix))
        };
        wait_until("quell works there", || {
            find().is_some_and(|name| !names(&within.join(name)).is_empty())
        });
        let name = find().unwrap();
        fs::rename(within.join(&name), within.join("moved")).unwrap();
        symlink(self.at("victim"), within.join(name)).unwrap();
    }
}

fn interrupted(mut child: Child) {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    child.wait().unwrap();
}

/// A run that ends before it is whole, and so removes what it has; one that ends well; and one that fails.
#[test]
fn what_takes_the_place_of_a_run_s_folder_is_neither_emptied_nor_filled() {
    for owner in [None, Some(NOBODY)] {
        if owner.is_some() && !geteuid().is_root() {
            not_run(
                "what_takes_the_place_of_a_run_s_folder_is_neither_emptied_nor_filled",
                "needs root, for a second user",
            );
            continue;
        }
        let place = Place::new(owner);
        let before = place.victim();
        let shared = place.shared();
        let seeds = ["--set", "run.seeds=[1, 2]"];
        let run = |out: &str, more: &[&str]| {
            let mut command = quell(&shared, &["run", COEXISTENCE, "--out", out]);
            command.args(more).spawn().unwrap()
        };
        let long = run("long", &LONG);
        place.swap(&shared, ".long.unfinished");
        interrupted(long);
        assert_eq!(place.victim(), before, "{owner:?}");
        fs::remove_dir_all(shared.join("moved")).unwrap();
        let several = run("several", &[&seeds[..], &LONG].concat());
        place.swap(&shared, ".several.unfinished");
        interrupted(several);
        assert_eq!(place.victim(), before, "{owner:?}");
        // The next run looks for what others left.
        fs::remove_dir_all(shared.join("moved")).unwrap();
        let mut whole = run("whole", &["--duration", "11s"]);
        assert!(whole.wait().unwrap().success());
        assert_eq!(place.victim(), before, "{owner:?}");
        let found = fs::metadata(shared.join("whole/summary.json"))
            .unwrap()
            .uid();
        assert_eq!(found, owner.unwrap_or_else(|| geteuid().as_raw()));
    }
}

#[test]
fn what_takes_the_place_of_a_sweep_s_folder_is_neither_emptied_nor_filled() {
    for owner in [None, Some(NOBODY)] {
        if owner.is_some() && !geteuid().is_root() {
            not_run(
                "what_takes_the_place_of_a_sweep_s_folder_is_neither_emptied_nor_filled",
                "needs root, for a second user",
            );
            continue;
        }
        let place = Place::new(owner);
        let before = place.victim();
        let sweep = format!(
            "schema = 1\nscenario = {COEXISTENCE:?}\nseeds = [1, 2, 3]\n[[experiment]]\nname = \"long\"\n\
             set = {{ \"run.duration\" = \"80000s\", \"link.rate\" = \"1mbit\" }}\n"
        );
        fs::write(place.at("sweep.toml"), sweep).unwrap();
        let file = place.at("sweep.toml");
        let store = place.shared().join("store");
        let arguments = ["sweep", file.to_str().unwrap(), "--store", "store"];
        let child = quell(&place.shared(), &arguments).spawn().unwrap();
        wait_until("the store is there", || store.join("cells").exists());
        place.swap(&store, ".unfinished-");
        interrupted(child);
        assert_eq!(place.victim(), before, "{owner:?}");
        let found = fs::metadata(store.join("plan.json")).unwrap().uid();
        assert_eq!(found, owner.unwrap_or_else(|| geteuid().as_raw()));
    }
}

/// A folder that looks like one that a killed run has left, and is somebody else's work.
#[test]
fn a_folder_with_a_lock_from_elsewhere_is_not_taken_for_abandoned() {
    let place = Place::new(None);
    let before = place.victim();
    let shared = place.shared();
    // Its owner may have moved it there, and the lock may be a second name of any file.
    fs::rename(place.at("victim"), shared.join(".x.unfinished")).unwrap();
    fs::create_dir(shared.join(".y.unfinished")).unwrap();
    fs::hard_link(
        shared.join(".x.unfinished/lock"),
        shared.join(".y.unfinished/lock"),
    )
    .unwrap();
    fs::write(shared.join(".y.unfinished/precious"), "").unwrap();
    let mut run = quell(
        &shared,
        &["run", COEXISTENCE, "--out", "whole", "--duration", "11s"],
    );
    assert!(run.status().unwrap().success());
    assert!(shared.join(".y.unfinished/precious").exists());
    fs::rename(shared.join(".x.unfinished"), place.at("victim")).unwrap();
    assert_eq!(place.victim(), before);
}
