use super::folder::DEEPEST;
use super::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A folder in which another user has put what is not his.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("victim/inner")).unwrap();
        fs::write(root.path().join("victim/precious"), "").unwrap();
        fs::write(root.path().join("victim/inner/precious"), "").unwrap();
        Self { root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn is_whole(&self) -> bool {
        let files = ["victim/precious", "victim/inner/precious"];
        files.iter().all(|file| self.at(file).exists())
    }
}

#[test]
fn what_takes_the_place_of_a_folder_stays() {
    let place = Place::new();
    let own = Own::make(
        Held::open(place.root.path()).unwrap(),
        OsStr::new("work"),
        0o700,
    )
    .unwrap();
    fs::create_dir_all(own.folder().path().join("a/b")).unwrap();
    fs::rename(place.at("work"), place.at("moved")).unwrap();
    symlink(place.at("victim"), place.at("work")).unwrap();
    // What is written goes to the folder, and not to what is called so now.
    fs::write(own.folder().path().join("a/b/c"), "mine").unwrap();
    assert_eq!(fs::read_to_string(place.at("moved/a/b/c")).unwrap(), "mine");
    assert_eq!(real(&own.folder().path().join("a")), place.at("moved/a"));
    drop(own);
    assert!(place.is_whole());
    assert!(place.at("work").is_symlink());
    assert!(
        place.at("moved/a/b/c").exists(),
        "it is whoever moved it who removes it"
    );
    // Nor a folder with content.
    let own = Own::make(
        Held::open(place.root.path()).unwrap(),
        OsStr::new("other"),
        0o700,
    )
    .unwrap();
    fs::remove_dir(place.at("other")).unwrap();
    fs::rename(place.at("victim"), place.at("other")).unwrap();
    drop(own);
    fs::rename(place.at("other"), place.at("victim")).unwrap();
    assert!(place.is_whole());
}

#[test]
fn links_inside_are_removed_and_not_followed() {
    let place = Place::new();
    fs::create_dir_all(place.at("work/a/b")).unwrap();
    for link in ["work/link", "work/a/link", "work/a/b/link"] {
        symlink(place.at("victim"), place.at(link)).unwrap();
    }
    symlink(place.at("victim"), place.at("name")).unwrap();
    let held = Held::open(place.root.path()).unwrap();
    held.remove("work").unwrap();
    assert!(!place.at("work").exists());
    assert!(held.inside("name").is_err(), "a link is no folder");
    held.remove("name").unwrap();
    assert!(place.is_whole() && !place.at("name").is_symlink());
}

/// One thread swaps a folder for a link to another, and back, as fast as it can, while it is filled and removed again and again.
#[test]
fn a_race_for_any_name_on_the_way_harms_nothing_outside() {
    let place = Place::new();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapping = thread::Builder::new().spawn_scoped(scope, || {
            let (aside, link) = (place.at("aside"), place.at("link"));
            symlink(place.at("victim"), &link).unwrap();
            while !over.load(Ordering::Relaxed) {
                for name in ["work", "work/inner", "aside/inner"] {
                    let name = place.at(name);
                    if fs::rename(&name, &aside).is_ok() {
                        let _ = fs::rename(&link, &name);
                        thread::yield_now();
                        let _ = fs::rename(&name, &link);
                        let _ = fs::rename(&aside, &name);
                    }
                }
            }
        });
        let swapping = swapping.unwrap();
        for _ in 0..300 {
            let held = Held::open(place.root.path()).unwrap();
            let Ok(own) = Own::make(held, OsStr::new("work"), 0o700) else {
                let held = Held::open(place.root.path()).unwrap();
                for name in ["work", "aside"] {
                    let _ = held.remove(name);
                }
                continue;
            };
            if let Ok(inner) = own.folder().make("inner", 0o777) {
                let _ = fs::write(inner.path().join("file"), "");
            }
            drop(own);
        }
        over.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
    });
    assert!(place.is_whole());
    assert_eq!(fs::read_dir(place.at("victim")).unwrap().count(), 2);
}

#[test]
fn folders_nested_beyond_any_use_are_an_error_and_no_crash() {
    let root = tempfile::tempdir().unwrap();
    let held = Held::open(root.path()).unwrap();
    let mut inner = held.make("deep", 0o777).unwrap();
    for _ in 0..DEEPEST + 10 {
        inner = inner.make("d", 0o777).unwrap();
    }
    let error = held.remove("deep").unwrap_err().to_string();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn parents_made_for_a_folder_go_again_unless_they_were_replaced() {
    let place = Place::new();
    let (made, inner) = Made::on_the_way_to(&place.at("a/b/c")).unwrap();
    assert!(place.at("a/b/c").is_dir());
    drop((made, inner));
    assert!(!place.at("a").exists());
    // An empty folder of another's behind a link.
    fs::create_dir_all(place.at("victim/b")).unwrap();
    let (made, inner) = Made::on_the_way_to(&place.at("a/b")).unwrap();
    fs::rename(place.at("a"), place.at("moved")).unwrap();
    symlink(place.at("victim"), place.at("a")).unwrap();
    drop((made, inner));
    assert!(place.at("victim/b").exists() && place.at("a").is_symlink());
    let (mut made, _) = Made::on_the_way_to(&place.at("kept/b")).unwrap();
    made.keep();
    drop(made);
    assert!(place.at("kept/b").exists());
}

#[test]
fn the_name_of_what_is_open_is_found_again() {
    let root = tempfile::tempdir().unwrap();
    let held = Held::open(root.path()).unwrap();
    assert_eq!(real(&held.path()), root.path());
    assert_eq!(real(&held.path().join("a/b")), root.path().join("a/b"));
    assert_eq!(real(Path::new("a/b")), Path::new("a/b"));
    let same = held.identity().unwrap();
    assert!(Held::open_same(root.path(), same).is_ok());
    assert!(Held::open_same(Path::new("/"), same).is_err());
}
