use super::*;
use crate::sweep::cell_folder::{CELL, FAILED, read_sums, verify};

/// A filled folder whose summary says `text`.
fn made(making: &Making, key: Key, text: &str, series: bool) -> Own {
    let made = making.folder(key).unwrap();
    let folder = made.folder().path();
    for name in RESULT {
        fs::write(folder.join(name), text).unwrap();
    }
    if series {
        fs::write(folder.join("flows.parquet"), "flows").unwrap();
        fs::write(folder.join("queues.parquet"), "queues").unwrap();
    }
    made
}

fn failed(making: &Making, key: Key) -> Own {
    let made = making.folder(key).unwrap();
    let folder = made.folder().path();
    for name in [CELL, "scenario.toml", FAILED] {
        fs::write(folder.join(name), "x").unwrap();
    }
    made
}

#[test]
fn the_second_writer_of_a_cell_compares() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(&root.path().join("new/store"));
    let making = store.making().unwrap();
    let key = Key::of("a");
    assert_eq!(store.state(key), State::Missing);
    let put = |text: &str, series| store.put(key, made(&making, key, text, series)).unwrap();
    assert_eq!(put("one", false), Put::New);
    assert_eq!(store.state(key), State::Done { series: false });
    assert_eq!(put("one", false), Put::Same);
    // Series are added to a cell, and are compared from then on.
    assert_eq!(put("one", true), Put::New);
    assert_eq!(store.state(key), State::Done { series: true });
    assert_eq!(put("one", true), Put::Same);
    assert_eq!(put("one", false), Put::Same);
    let Put::Conflict(kept) = put("two", false) else {
        panic!("the second result was taken");
    };
    assert_eq!(
        fs::read_to_string(kept.join("summary.json")).unwrap(),
        "two"
    );
    assert_eq!(
        fs::read_to_string(store.cell(key).join("summary.json")).unwrap(),
        "one"
    );
    assert!(matches!(put("three", true), Put::Conflict(other) if other != kept));
    assert_eq!(store.keys().unwrap(), [key]);
    let sums = fs::read_to_string(store.cell(key).join(SUMS)).unwrap();
    assert_eq!(read_sums(&sums).unwrap().len(), 6);
}

#[test]
fn figures_of_a_measurement_are_compared_as_summaries_are() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let making = store.making().unwrap();
    let key = Key::of("a");
    let put = |figures: &str| {
        let made = making.folder(key).unwrap();
        for (name, text) in [(CELL, "x"), ("scenario.toml", "x"), (FIGURES, figures)] {
            fs::write(made.folder().path().join(name), text).unwrap();
        }
        store.put(key, made).unwrap()
    };
    assert_eq!(put("one"), Put::New);
    assert_eq!(store.state(key), State::Measured);
    assert_eq!(put("one"), Put::Same);
    let Put::Conflict(kept) = put("two") else {
        panic!("the second figures were taken for the first");
    };
    assert_eq!(fs::read_to_string(kept.join(FIGURES)).unwrap(), "two");
    assert_eq!(
        fs::read_to_string(store.cell(key).join(FIGURES)).unwrap(),
        "one"
    );
}

/// Somebody else who may write in the store puts links to something else in place of its folders.
#[test]
fn a_link_in_place_of_a_folder_of_the_store_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let (other, victim) = (
        Store::at(&root.path().join("one")),
        Store::at(&root.path().join("two")),
    );
    let key = Key::of("a");
    let fill = |store: &Store, text: &str| {
        let making = store.making().unwrap();
        store.put(key, made(&making, key, text, false))
    };
    fill(&victim, "precious").unwrap();
    let (cell, part) = (victim.cell(key), &key.to_string()[..2]);
    for (link, to) in [
        (other.cell(key), cell.clone()),
        (
            other.root().join(CELLS).join(part),
            cell.parent().unwrap().to_owned(),
        ),
        (other.root().join(CELLS), victim.root().join(CELLS)),
    ] {
        let _ = fs::remove_dir_all(other.root());
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&to, &link).unwrap();
        // Where the link is the cell itself, it is set aside.
        let put = fill(&other, "mine");
        assert_eq!(put.is_ok(), link == other.cell(key), "{put:?}");
        let _ = other.set_aside(key);
        assert_eq!(
            fs::read_to_string(cell.join("summary.json")).unwrap(),
            "precious"
        );
        assert_eq!(fs::read_dir(victim.root()).unwrap().count(), 1);
    }
}

#[test]
fn a_result_replaces_an_error_and_an_error_no_result() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let making = store.making().unwrap();
    let key = Key::of("a");
    assert_eq!(store.put(key, failed(&making, key)).unwrap(), Put::New);
    assert_eq!(store.state(key), State::Failed);
    assert_eq!(store.put(key, failed(&making, key)).unwrap(), Put::Same);
    assert_eq!(
        store.put(key, made(&making, key, "one", false)).unwrap(),
        Put::New
    );
    assert_eq!(store.state(key), State::Done { series: false });
    assert_eq!(store.put(key, failed(&making, key)).unwrap(), Put::Same);
    assert_eq!(store.state(key), State::Done { series: false });
}

#[test]
fn a_half_copied_cell_is_set_aside_and_made_again() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let making = store.making().unwrap();
    let key = Key::of("a");
    store.put(key, made(&making, key, "one", false)).unwrap();
    fs::write(store.cell(key).join("histograms.json"), "").unwrap();
    assert_eq!(store.state(key), State::Broken);
    assert_eq!(
        store.put(key, made(&making, key, "one", false)).unwrap(),
        Put::New
    );
    assert_eq!(store.state(key), State::Done { series: false });
    let aside = root.path().join(DAMAGED).join(key.to_string());
    assert!(aside.join("summary.json").exists());
    fs::remove_file(store.cell(key).join(SUMS)).unwrap();
    assert!(store.set_aside(key).unwrap().unwrap() != aside);
    assert_eq!(
        (store.set_aside(key).unwrap(), store.state(key)),
        (None, State::Missing)
    );
}

/// A folder in the making whose lock is free, as a writer on `host` left it, or as its lock looks from another machine.
fn left_by(store: &Store, host: &str) -> PathBuf {
    let folder = store.root().join(format!("{UNFINISHED}{host}-1-0"));
    fs::create_dir_all(folder.join("cell")).unwrap();
    fs::write(
        folder.join("lock"),
        folder.file_name().unwrap().as_encoded_bytes(),
    )
    .unwrap();
    folder
}

#[test]
fn what_a_killed_writer_left_goes_and_a_living_one_keeps_its_own() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let living = store.making().unwrap();
    let left = left_by(&store, &host());
    let other = store.making().unwrap();
    let [one, two] = [&living, &other].map(|it| it.claim.folder().named().to_owned());
    assert!(one.exists() && !left.exists() && one != two);
    drop((living, other));
    let names: Vec<_> = fs::read_dir(root.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["cells"]);
}

#[test]
fn a_cell_that_was_changed_is_found() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let making = store.making().unwrap();
    let key = Key::of("a");
    type Damage<'a> = &'a dyn Fn(&Path);
    let damages: [(&str, Damage<'_>); 7] = [
        ("summary.json was changed", &|cell| {
            fs::write(cell.join("summary.json"), "onf").unwrap()
        }),
        ("a file is empty", &|cell| {
            fs::write(cell.join("summary.json"), "").unwrap()
        }),
        ("lacks scenario.toml", &|cell| {
            fs::remove_file(cell.join("scenario.toml")).unwrap()
        }),
        ("lacks SHA256SUMS", &|cell| {
            fs::remove_file(cell.join(SUMS)).unwrap()
        }),
        ("SHA256SUMS cannot be read", &|cell| {
            fs::write(cell.join(SUMS), "../x").unwrap()
        }),
        ("a\\nb does not belong there", &|cell| {
            fs::write(cell.join("a\nb"), "").unwrap()
        }),
        ("summary.json does not belong there", &|cell| {
            fs::remove_file(cell.join("summary.json")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", cell.join("summary.json")).unwrap();
        }),
    ];
    for (expected, damage) in damages {
        store.put(key, made(&making, key, "one", false)).unwrap();
        // Its name is not the hash of what it says it depends on.
        let said = verify(&store.cell(key), key, "").unwrap_err();
        assert_eq!(said.to_string(), "cell.json is that of another cell");
        damage(&store.cell(key));
        assert_eq!(
            verify(&store.cell(key), key, "").unwrap_err().to_string(),
            expected
        );
        store.set_aside(key).unwrap();
    }
}

#[test]
fn what_a_writer_of_another_machine_makes_is_left_alone_for_long() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let (own, other, old) = (
        left_by(&store, &host()),
        left_by(&store, "0123456789ab"),
        left_by(&store, "ba9876543210"),
    );
    let long_ago = std::time::SystemTime::now() - OLD - Duration::from_secs(60);
    let times = fs::FileTimes::new().set_modified(long_ago);
    fs::File::open(&old).unwrap().set_times(times).unwrap();
    drop(store.making().unwrap());
    assert_eq!(
        [&own, &other, &old].map(|folder| folder.exists()),
        [false, true, false]
    );
}
