use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A folder that holds what a result holds.
fn fill(folder: impl AsRef<Path>, text: &str) {
    let folder = folder.as_ref();
    fs::create_dir_all(folder).unwrap();
    for name in ["run.json", "summary.json"] {
        fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_taken_name_gets_a_number_and_nothing_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    for expected in ["run", "run-2", "run-3"] {
        let folder = Folder::named(root.path(), "run").unwrap();
        fs::write(folder.path().join("summary.json"), expected).unwrap();
        assert_eq!(folder.finish().unwrap(), root.path().join(expected));
    }
    assert_eq!(names(root.path()), ["run", "run-2", "run-3"]);
    assert_eq!(
        fs::read_to_string(root.path().join("run/summary.json")).unwrap(),
        "run"
    );
}

#[test]
fn a_name_is_reserved_from_the_start() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out");
    let first = Folder::exactly(&path).unwrap();
    let error = Folder::exactly(&path).unwrap_err();
    assert!(
        matches!(error, Error::Reserved(_)) && error.to_string().contains("another run"),
        "{error}"
    );
    let other = Folder::named(root.path(), "out").unwrap();
    assert_eq!(other.finish().unwrap(), root.path().join("out-2"));
    assert_eq!(first.finish().unwrap(), path);
    assert!(matches!(Folder::exactly(&path), Err(Error::Exists(_))));
    assert_eq!(names(root.path()), ["out", "out-2"]);
}

#[test]
fn a_result_whose_name_was_lost_is_kept_beside_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out");
    for (number, kept) in [(1, "out-2"), (2, "out-3")] {
        let folder = Folder::exactly(&path).unwrap();
        fill(folder.path(), "mine");
        fs::create_dir(&path).unwrap();
        let error = folder.finish().unwrap_err();
        assert!(!error.is_refusal());
        assert!(error.to_string().contains(kept), "{error}");
        assert_eq!(names(&root.path().join(kept)).len(), 2, "{number}");
        assert!(names(&path).is_empty(), "nothing of others is touched");
        fs::remove_dir(&path).unwrap();
    }
    assert_eq!(names(root.path()), ["out-2", "out-3"]);
}

#[test]
fn what_is_not_finished_leaves_nothing_not_even_the_parents_made_for_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::named(&root.path().join("a/b"), "run").unwrap();
    fs::write(folder.path().join("summary.json"), "{}").unwrap();
    drop(folder);
    assert_eq!(names(root.path()), [] as [&str; 0]);
}

#[test]
fn whole_seeds_of_what_failed_get_a_name_that_says_so() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::exactly(&root.path().join("new/out")).unwrap();
    let [one, two, half] = ["seed1", "seed1", "seed3"].map(|name| folder.inner(name).unwrap());
    for (inner, place) in [(one, "seed1"), (two, "seed1-2")] {
        fill(inner.path(), place);
        assert_eq!(inner.finish().unwrap().file_name(), Some(place.as_ref()));
    }
    fill(half.path(), "half");
    drop(half);
    let (kept, seeds) = folder.give_up().unwrap();
    assert_eq!((kept, seeds), (root.path().join("new/out.incomplete"), 2));
    assert_eq!(names(&root.path().join("new")), ["out.incomplete"]);
    assert_eq!(
        names(&root.path().join("new/out.incomplete")),
        ["seed1", "seed1-2"]
    );
    // Without a whole seed there is nothing to keep.
    let folder = Folder::exactly(&root.path().join("other/out")).unwrap();
    let inner = folder.inner("seed1").unwrap();
    assert!(folder.give_up().is_none());
    drop(inner);
    assert_eq!(names(root.path()), ["new"]);
}

#[test]
fn a_parent_that_cannot_be_made_is_named() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let error = Folder::named(&root.path().join("file"), "run").unwrap_err();
    assert!(
        error.to_string().contains("file") && !error.is_refusal(),
        "{error}"
    );
}

#[test]
fn a_file_where_a_folder_should_be_is_no_folder() {
    let around = tempfile::tempdir().unwrap();
    let file = around.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Folder::exactly(&file.join("out")).unwrap_err();
    let why = std::io::Error::from(std::io::ErrorKind::NotADirectory).to_string();
    assert_eq!(
        error.to_string(),
        format!("cannot write {}: {why}", file.display())
    );
}
