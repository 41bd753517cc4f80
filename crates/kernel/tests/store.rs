//! The store: adding, finding, listing, removing, and what cannot be added.
#![allow(clippy::unwrap_used)]

use crate::fake;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use quell_kernel::Error;
use quell_kernel::store::Store;

fn add(store: &Store, path: &Path, name: Option<&str>) -> quell_kernel::Result<String> {
    let added = store.add(path, name, false, &AtomicBool::new(false));
    added.map(|(kernel, _)| kernel.name)
}

/// The visible and hidden names in a store, but for the gate.
fn names(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.folder()).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn a_kernel_is_copied_with_what_it_says_of_itself_and_the_newest_version_is_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("kernels"));
    assert!(store.list().unwrap().kernels.is_empty());
    let error = store.find(None).unwrap_err().to_string();
    assert!(error.contains("quell kernel build"), "{error}");

    let file = folder.path().join("linux");
    let config = fake::whole_config();
    fake::kernel(&file, "6.9.1", &config, "seccomp=<on/auto/off>");
    assert_eq!(add(&store, &file, None).unwrap(), "6.9.1");
    fake::kernel(&file, "6.12", &config, "");
    assert_eq!(add(&store, &file, Some("mine")).unwrap(), "mine");
    fs::remove_file(&file).unwrap();

    let newest = store.find(None).unwrap();
    assert_eq!((&*newest.name, &*newest.facts.version), ("mine", "6.12"));
    assert!(newest.facts.time_travel && !newest.facts.seccomp);
    let older = store.find(Some("6.9.1")).unwrap();
    assert!(older.facts.time_travel && older.facts.seccomp);
    assert!(older.executable().is_file());
    assert_eq!(fs::read_to_string(older.config()).unwrap(), config);
    assert_eq!(names(&store), ["6.9.1", "mine"]);

    let error = store.find(Some("other")).unwrap_err().to_string();
    assert!(error.ends_with("there is: mine, 6.9.1"), "{error}");
    store.remove("mine").unwrap();
    assert_eq!(store.find(None).unwrap().name, "6.9.1");
    assert_eq!(names(&store), ["6.9.1"]);
    assert!(store.remove("mine").unwrap_err().is_refusal());
    assert!(store.remove("..").unwrap_err().is_refusal());
}

#[test]
fn what_cannot_be_used_is_refused_and_nothing_is_left_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("kernels"));
    let file = |name: &str| folder.path().join(name);
    let config = fake::whole_config();
    let without = |option: &str| config.replace(&format!("CONFIG_{option}=y\n"), "");

    fs::write(file("text"), "User Mode Linux is what this is not\n").unwrap();
    fs::create_dir(file("build")).unwrap();
    fake::kernel(&file("plain"), "6.12", &config, "");
    fs::set_permissions(file("plain"), fs::Permissions::from_mode(0o644)).unwrap();
    fake::kernel(
        &file("real-time"),
        "6.12",
        &without("UML_TIME_TRAVEL_SUPPORT"),
        "",
    );
    fake::kernel(&file("no-veth"), "6.12", &without("VETH"), "");
    fake::kernel(&file("right"), "6.12", &config, "");
    // For a machine that this is not: an ELF header of RISC-V with the sign in it.
    let mut foreign = b"\x7fELF\x02\x01\x01".to_vec();
    foreign.resize(18, 0);
    foreign.extend([0xf3, 0]);
    foreign.resize(64, 0);
    foreign.extend(b"User Mode Linux v%s");
    fs::write(file("foreign"), foreign).unwrap();
    fs::set_permissions(file("foreign"), fs::Permissions::from_mode(0o755)).unwrap();

    for (path, name, message) in [
        ("nothing", None, "nothing does not exist"),
        (
            "text",
            None,
            "is no user-mode kernel; that is the file `linux`",
        ),
        ("build", None, "is a folder; a kernel is one file"),
        ("plain", None, "is not executable\n  fix: chmod +x"),
        (
            "real-time",
            None,
            "has no time travel, so its clock cannot be simulated; build it with CONFIG_UML_TIME_TRAVEL",
        ),
        (
            "no-veth",
            None,
            "lacks what the virtual world needs: CONFIG_VETH",
        ),
        ("foreign", None, "does not answer --version: cannot start"),
        (
            "right",
            Some("a/b"),
            "\"a/b\" cannot be the name of a kernel",
        ),
        ("right", Some(".hidden"), "cannot be the name of a kernel"),
        ("right", Some(""), "cannot be the name of a kernel"),
    ] {
        let error = add(&store, &file(path), name).unwrap_err().to_string();
        assert!(error.contains(message), "{path}: {error}");
    }
    assert_eq!(names(&store), [""; 0]);

    add(&store, &file("right"), Some("once")).unwrap();
    let error = add(&store, &file("right"), Some("once")).unwrap_err();
    assert!(error.is_refusal());
    assert!(
        error.to_string().contains("there is a kernel once already"),
        "{error}"
    );
    assert_eq!(names(&store), ["once"]);
}

#[test]
fn a_kernel_without_what_is_only_wanted_is_taken_and_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("kernels"));
    let file = folder.path().join("linux");
    let config = fake::whole_config().replace("CONFIG_IFB=y\n", "");
    fake::kernel(&file, "6.12", &config, "");
    let (_, outcome) = store
        .add(&file, None, false, &AtomicBool::new(false))
        .unwrap();
    assert_eq!(outcome.left_out, ["CONFIG_IFB"]);
}

#[test]
fn a_kernel_of_another_store_keeps_what_is_known_of_its_build() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| Store::at(folder.path().join(name)));
    let file = folder.path().join("linux");
    fake::kernel(&file, "6.12", &fake::whole_config(), "");
    add(&from, &file, Some("built")).unwrap();
    let there = from.folder().join("built");
    let facts = there.join("kernel.json");
    let mut known: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&facts).unwrap()).unwrap();
    for (key, value) in [
        ("source", "a package"),
        ("origin", "package"),
        ("config_hash", "abc"),
    ] {
        known[key] = value.into();
    }
    known["built_at"] = 7.into();
    // What the image itself says counts more than what is written about it.
    known["version"] = "9.9".into();
    fs::write(&facts, known.to_string()).unwrap();
    assert_eq!(add(&to, &there, None).unwrap(), "built");
    let added = to.find(None).unwrap().facts;
    assert_eq!(
        (
            &*added.source,
            &*added.origin,
            &*added.config_hash,
            added.built_at
        ),
        ("a package", "package", "abc", 7)
    );
    assert_eq!(added.version, "6.12");
    fs::write(&facts, "{").unwrap();
    let error = add(&to, &there, Some("other")).unwrap_err();
    assert!(error.to_string().contains("kernel.json"), "{error}");
}

#[test]
fn what_another_user_left_stays_and_nobody_waits_for_it() {
    // Only root can give a folder away.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let file = folder.path().join("linux");
    fake::kernel(&file, "6.12", &fake::whole_config(), "");
    let process = std::process::id();
    for name in [".new-other".to_owned(), format!(".new-add-{process}-6.12")] {
        let left = folder.path().join(name);
        fs::create_dir(&left).unwrap();
        fs::write(left.join("lock"), "").unwrap();
        std::os::unix::fs::chown(&left, Some(65_534), Some(65_534)).unwrap();
    }
    let error = add(&store, &file, None).unwrap_err().to_string();
    assert!(error.contains("belongs to user 65534"), "{error}");
    assert!(folder.path().join(".new-other/lock").exists());
}

#[test]
fn what_is_damaged_is_listed_as_such_and_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let file = folder.path().join("linux");
    fake::kernel(&file, "6.12", &fake::whole_config(), "");
    for name in ["no-facts", "no-executable", "wrong-facts", "right"] {
        add(&store, &file, Some(name)).unwrap();
    }
    fs::remove_file(folder.path().join("no-facts/kernel.json")).unwrap();
    fs::remove_file(folder.path().join("no-executable/linux")).unwrap();
    fs::write(folder.path().join("wrong-facts/kernel.json"), "{}").unwrap();
    let listing = store.list().unwrap();
    assert_eq!(listing.kernels.len(), 1);
    let damaged: Vec<&str> = listing.damaged.iter().map(|(name, _)| &**name).collect();
    assert_eq!(damaged, ["no-executable", "no-facts", "wrong-facts"]);
    let error = store.find(Some("no-facts")).unwrap_err().to_string();
    assert!(error.contains("quell kernel remove no-facts"), "{error}");
    for name in damaged {
        store.remove(name).unwrap();
    }
    assert!(store.list().unwrap().damaged.is_empty());
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_a_living_one_holds_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    let hidden = |name: &str| folder.path().join(name);
    for name in [".new-dead", ".new-living"] {
        fs::create_dir(hidden(name)).unwrap();
        fs::write(hidden(name).join("lock"), "").unwrap();
    }
    let held = fs::File::open(hidden(".new-living").join("lock")).unwrap();
    held.lock().unwrap();
    let file = folder.path().join("linux");
    fake::kernel(&file, "6.12", &fake::whole_config(), "");
    add(&store, &file, None).unwrap();
    assert_eq!(names(&store), [".new-living", "6.12", "linux"]);
}

#[test]
fn a_store_that_cannot_be_written_is_an_error_that_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("linux");
    fake::kernel(&file, "6.12", &fake::whole_config(), "");
    // A file where the folder should be.
    let error = add(&Store::at(&file), &file, None).unwrap_err();
    assert!(matches!(error, Error::System { .. }));
    assert!(error.to_string().contains("linux"), "{error}");
}

#[test]
fn a_kernel_that_is_asked_what_it_is_has_no_rights() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("store"));
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let curious = folder.path().join("curious");
    fake::kernel(&curious, "6.12", &fake::whole_config(), "");
    let text = fs::read_to_string(&curious).unwrap();
    let first = format!(
        "#!/bin/sh\ntouch {}/touched 2>/dev/null\n[ \"$1\" = --showconfig ] && grep -E '^(Uid|Cap|NoNew)' /proc/self/status | sed 's/^/# /'\n",
        open.display()
    );
    fs::write(&curious, text.replacen("#!/bin/sh\n", &first, 1)).unwrap();
    let name = add(&store, &curious, None).unwrap();
    let said = fs::read_to_string(store.folder().join(name).join("config")).unwrap();
    let of = |key: &str| said.lines().find(|line| line.contains(key)).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert!(of(set).ends_with(&format!("{:016x}", 0)), "{said}");
    }
    assert!(of("NoNewPrivs").ends_with('1'), "{said}");
    if rustix::process::geteuid().is_root() {
        assert!(
            of("Uid").contains("65534") && !of("Uid").contains("\t0"),
            "{said}"
        );
        assert!(of("CapBnd").ends_with(&format!("{:016x}", 0)), "{said}");
    }
    if !matches!(
        quell_hosts::confine::landlock::probe(),
        Ok(quell_hosts::confine::landlock::Enforced::Not)
    ) {
        assert!(!open.join("touched").exists());
    }
}
