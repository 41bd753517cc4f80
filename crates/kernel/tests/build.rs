//! Building: from a tree that is a real makefile but compiles nothing, so that what surrounds the compiler is tested in seconds.
#![allow(clippy::unwrap_used)]

use crate::fake;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fake::Tree;
use quell_kernel::Error;
use quell_kernel::build::{Built, MOST_TREES, Request, Stage, Told, build};
use quell_kernel::source::Wanted;
use quell_kernel::store::Store;

/// A folder with a source tree and a store.
struct Place {
    folder: tempfile::TempDir,
    tree: Tree,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path().join("tree"));
        let store = Store::at(folder.path().join("kernels"));
        Self {
            folder,
            tree,
            store,
        }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn request(&self) -> Request {
        Request {
            source: Wanted::Path(self.tree.0.clone()),
            ..Request::default()
        }
    }
    fn build(&self, request: &Request) -> quell_kernel::Result<Built> {
        build(&self.store, request, &AtomicBool::new(false), &mut |_| {})
    }
    /// Builds the tree as it is.
    fn again(&self) -> Built {
        self.build(&self.request()).unwrap()
    }
    fn error(&self, request: &Request) -> Error {
        self.build(request).unwrap_err()
    }
    /// What lies in the store, but for the gate and the build trees.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.store.folder())
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".lock" && name != ".trees")
            .collect();
        names.sort();
        names
    }
}

/// Everything below a folder: path, size, contents' time.
fn listing(folder: &Path) -> String {
    let output = Command::new("find")
        .arg(folder)
        .args(["-printf", "%p %s %T@\n"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_tree_becomes_a_kernel_with_every_control_and_discipline_that_it_offers() {
    let place = Place::new();
    let before = listing(&place.tree.0);
    let mut stages = Vec::new();
    let mut most = 0;
    let stop = AtomicBool::new(false);
    let built = build(
        &place.store,
        &place.request(),
        &stop,
        &mut |told| match told {
            Told::Progress(progress) => {
                most = most.max(progress.done);
                if stages.last() != Some(&progress.stage) {
                    stages.push(progress.stage);
                }
            }
            Told::Note(note) => panic!("{note}"),
        },
    )
    .unwrap();
    assert_eq!(listing(&place.tree.0), before, "the tree was written to");
    assert_eq!(
        stages,
        [
            Stage::Looking,
            Stage::Configuring,
            Stage::Compiling,
            Stage::CleaningUp
        ]
    );
    assert_eq!(most, 4);

    assert_eq!(place.names(), ["7.2.13-fake-tree"]);
    let facts = &built.kernel.facts;
    assert_eq!((&*facts.version, facts.build_steps), ("7.2.13-fake", 4));
    assert!(facts.time_travel && facts.seccomp);
    let outcome = built.outcome.unwrap();
    assert_eq!(outcome.congestion_controls, ["CUBIC", "DCTCP", "PRAGUE"]);
    assert_eq!(outcome.disciplines, ["FQ", "HTB"]);
    assert_eq!(outcome.left_out, ["CONFIG_NET_SCH_BPF"]);
    let config = fs::read_to_string(built.kernel.config()).unwrap();
    assert!(
        config.lines().any(|line| line == "CONFIG_HZ=250"),
        "{config}"
    );
    let mut files: Vec<_> = fs::read_dir(&built.kernel.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["config", "kernel.json", "linux", "log"]);
}

#[test]
fn the_same_source_and_configuration_are_built_once_and_a_change_of_either_builds_again() {
    let place = Place::new();
    assert!(place.again().outcome.is_some());
    assert!(place.again().outcome.is_none());
    // The source changes: the kernel of the same source and name is replaced.
    place.tree.write("net/ipv4/tcp_prague.c", "/* mine */");
    let first = place.store.find(None).unwrap();
    let second = place.again();
    assert!(second.outcome.is_some());
    assert_ne!(first.facts.config_hash, second.kernel.facts.config_hash);
    assert_eq!(place.names(), ["7.2.13-fake-tree"]);
    // The configuration changes: another kernel, beside it.
    let fragment = place.path("more.config");
    fs::write(&fragment, "CONFIG_TCP_MD5SIG=y\n").unwrap();
    let request = Request {
        fragment: Some(fragment),
        ..place.request()
    };
    assert!(place.build(&request).unwrap().outcome.is_some());
    assert_eq!(place.names(), ["7.2.13-fake-tree", "7.2.13-fake-tree-more"]);
    assert!(place.build(&request).unwrap().outcome.is_none());
    assert!(place.again().outcome.is_none());
    // Under a name of its own.
    let request = Request {
        name: Some("mine".to_owned()),
        ..place.request()
    };
    assert_eq!(place.build(&request).unwrap().kernel.name, "mine");
    assert!(place.build(&request).unwrap().outcome.is_none());
    assert_eq!(place.names().len(), 3);
}

#[test]
fn a_kernel_of_another_origin_is_never_replaced() {
    let place = Place::new();
    let linux = place.path("linux");
    fake::kernel(&linux, "6.12", &fake::whole_config(), "");
    let stop = AtomicBool::new(false);
    place.store.add(&linux, Some("mine"), false, &stop).unwrap();
    let request = Request {
        name: Some("mine".to_owned()),
        ..place.request()
    };
    let error = place.error(&request);
    assert!(error.is_refusal());
    assert!(
        error.to_string().contains("there is a kernel mine already"),
        "{error}"
    );
    assert_eq!(
        place.store.find(Some("mine")).unwrap().facts.version,
        "6.12"
    );
    assert_eq!(place.names(), ["mine"]);
}

#[test]
fn a_fragment_adds_options_and_what_does_not_come_out_is_told() {
    let place = Place::new();
    place
        .tree
        .lacks(&["CONFIG_UNKNOWN=y", "CONFIG_NET_SCH_BPF=y"]);
    let fragment = place.path("f");
    let request = Request {
        fragment: Some(fragment.clone()),
        ..place.request()
    };
    let text = "# mine\nCONFIG_TCP_MD5SIG=y\nCONFIG_UNKNOWN=y\n# CONFIG_TCP_CONG_PRAGUE is not set\n\nCONFIG_LOG_BUF_SHIFT=18\n";
    fs::write(&fragment, text).unwrap();
    let built = place.build(&request).unwrap();
    let outcome = built.outcome.unwrap();
    assert_eq!(outcome.not_as_wished, ["CONFIG_UNKNOWN is n and not y"]);
    assert_eq!(outcome.congestion_controls, ["CUBIC", "DCTCP"]);
    let config = fs::read_to_string(built.kernel.config()).unwrap();
    assert!(
        config.contains("CONFIG_TCP_MD5SIG=y\n") && config.contains("CONFIG_LOG_BUF_SHIFT=18\n")
    );

    for (text, message) in [
        (
            "# CONFIG_VETH is not set\n",
            "lacks what the virtual world needs: CONFIG_VETH; the fragment given with --config",
        ),
        (
            "CONFIG_HOSTFS=n\n",
            "CONFIG_HOSTFS; the fragment given with --config turns it off",
        ),
        (
            "CONFIG_A=y\nVETH=y\n",
            "line 2 of the configuration is neither",
        ),
    ] {
        fs::write(&fragment, text).unwrap();
        let error = place.error(&request).to_string();
        assert!(error.contains(message), "{error}");
    }
    fs::remove_file(&fragment).unwrap();
    let error = place.error(&request).to_string();
    assert!(
        error.starts_with("cannot read") && error.contains("/f"),
        "{error}"
    );
}

#[test]
fn a_tree_that_cannot_give_what_is_needed_is_an_error_that_names_it() {
    let place = Place::new();
    place
        .tree
        .lacks(&["CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "CONFIG_NET_SCH_FQ=y"]);
    let error = place.error(&place.request()).to_string();
    let message =
        "lacks what the virtual world needs: CONFIG_NET_SCH_FQ, CONFIG_UML_TIME_TRAVEL_SUPPORT";
    assert!(error.contains(message), "{error}");
    // A clock rate that does not follow.
    let place = Place::new();
    let makefile = fs::read_to_string(place.tree.0.join("Makefile")).unwrap();
    place.tree.write(
        "Makefile",
        &makefile.replace("CONFIG_HZ=\\1", "CONFIG_HZ=100"),
    );
    let error = place.error(&place.request()).to_string();
    assert!(
        error.contains("a clock of 100 Hz instead of 250"),
        "{error}"
    );
}

#[test]
fn a_tree_in_which_something_was_built_is_refused_with_both_ways_out() {
    for left in [
        ".config",
        "include/config/auto.conf",
        "arch/um/include/generated/x.h",
    ] {
        let place = Place::new();
        place.tree.write(left, "");
        let error = place.error(&place.request());
        assert!(error.is_refusal());
        let error = error.to_string();
        assert!(
            error.contains("ARCH=um mrproper") && error.contains("worktree add"),
            "{error}"
        );
        assert_eq!(place.names(), [""; 0]);
    }
}

#[test]
fn what_is_no_source_is_refused() {
    let place = Place::new();
    let request = |path: PathBuf| Request {
        source: Wanted::Path(path),
        ..Request::default()
    };
    fs::create_dir(place.path("empty")).unwrap();
    fs::write(place.path("x.deb"), "no package").unwrap();
    fs::write(place.path("notes.txt"), "").unwrap();
    let spaced = Tree::new(place.path("my tree"));
    for (path, message) in [
        (place.path("empty"), "is no Linux kernel source"),
        (place.path("nothing"), "cannot find the source"),
        (place.path("x.deb"), "is no whole package"),
        (
            place.path("notes.txt"),
            "neither a folder, nor a package (.deb), nor an archive",
        ),
        (spaced.0, "work in no path with spaces"),
    ] {
        let error = place.error(&request(path));
        assert!(error.is_refusal(), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn an_archive_is_unpacked_without_other_machines_and_a_broken_one_leaves_nothing() {
    let place = Place::new();
    // 6.12 names Kconfig files of other architectures, and Kconfig reads them.
    place.tree.write("arch/arm/crypto/Kconfig", "");
    place.tree.write("arch/arm/crypto/aes.c", "");
    place.tree.write("arch/arm/boot/dts/board.dtsi", "");
    place.tree.write("arch/x86/um/Kconfig", "");
    place.tree.write("drivers/gpu/drm/amd/include/large.h", "");
    place.tree.write("drivers/gpu/drm/amd/amdgpu/Kconfig", "");
    let listing = place.path("listing");
    place
        .tree
        .compile(&format!("find . -type f >{}", listing.display()));
    let archive = place.path("linux.tar.xz");
    let status = Command::new("tar")
        .args(["-cJf"])
        .arg(&archive)
        .arg("-C")
        .arg(place.folder.path())
        .arg("tree")
        .status()
        .unwrap();
    assert!(status.success());
    let request = Request {
        source: Wanted::Path(archive.clone()),
        ..Request::default()
    };
    let built = place.build(&request).unwrap();
    assert_eq!(built.kernel.name, "7.2.13-fake");
    assert!(place.build(&request).unwrap().outcome.is_none());
    assert!(!place.tree.0.join("net/ipv4/quell").exists());
    let listing = fs::read_to_string(listing).unwrap();
    for (file, there) in [
        ("arch/x86/um/Kconfig", true),
        ("drivers/gpu/drm/amd/amdgpu/Kconfig", true),
        ("arch/arm/crypto/Kconfig", true),
        ("net/ipv4/quell/core/prague.h", true),
        ("aes.c", false),
        ("board.dtsi", false),
        ("large.h", false),
    ] {
        assert_eq!(listing.contains(file), there, "{file}: {listing}");
    }

    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let error = place.error(&request).to_string();
    assert!(
        error.contains("cannot be unpacked") && error.contains("it is broken"),
        "{error}"
    );
    assert_eq!(place.names(), ["7.2.13-fake", "failed-build.log"]);
}

/// An archive of the place's tree.
fn archive(place: &Place) -> PathBuf {
    let archive = place.path("linux.tar");
    let mut tar = Command::new("tar");
    tar.arg("-cf").arg(&archive).arg("-C");
    let status = tar.arg(place.folder.path()).arg("tree").status().unwrap();
    assert!(status.success());
    archive
}

#[test]
fn an_unpacked_source_gets_our_own_controls_and_a_tree_of_the_user_does_not() {
    let place = Place::new();
    let own = quell_kernel::store::own_controls();
    assert_eq!(own, ["prague", "bbr2", "bbr3", "compound"]);
    let has = |built: &Built| {
        let config = fs::read_to_string(built.kernel.config()).unwrap();
        config
            .lines()
            .filter(|line| line.contains("_QUELL_"))
            .count()
    };
    let request = Request {
        source: Wanted::Path(archive(&place)),
        ..Request::default()
    };
    let built = place.build(&request).unwrap();
    assert_eq!(has(&built), own.len());
    assert_eq!(has(&place.again()), 0);

    // A user may add them to a tree.
    place.tree.write(
        "net/ipv4/quell/Kconfig",
        include_str!("../../../bpf/kernel/Kconfig"),
    );
    assert_eq!(has(&place.again()), own.len());
}

#[test]
fn a_source_in_which_our_own_controls_do_not_compile_is_built_without_them() {
    let place = Place::new();
    place.tree.write("net/ipv4/tcp.h", "broken");
    let request = Request {
        source: Wanted::Path(archive(&place)),
        ..Request::default()
    };
    let mut notes = Vec::new();
    let stop = AtomicBool::new(false);
    let built = build(&place.store, &request, &stop, &mut |told| {
        if let Told::Note(note) = told {
            notes.push(note);
        }
    });
    let config = fs::read_to_string(built.unwrap().kernel.config()).unwrap();
    assert!(!config.contains("_QUELL_"), "{config}");
    assert!(
        notes.len() == 1
            && notes[0]
                .contains("(prague, bbr2, bbr3, compound) do not compile with Linux 7.2.13-fake"),
        "{notes:?}"
    );
}

#[test]
fn a_build_that_fails_keeps_its_log_and_says_how_it_ends() {
    let place = Place::new();
    place
        .tree
        .compile("echo 'tcp.c:1:1: error: that is no C' >&2; exit 1");
    let error = place.error(&place.request());
    let text = error.to_string();
    assert!(!error.is_refusal());
    assert!(text.contains("tcp.c:1:1: error: that is no C"), "{text}");
    assert_eq!(place.names(), ["failed-build.log"]);
    let log = fs::read_to_string(place.store.folder().join("failed-build.log")).unwrap();
    assert!(log.contains("  CC      3.o"), "{log}");
    assert!(
        text.starts_with("make failed (") && text.contains("failed-build.log"),
        "{text}"
    );

    place
        .tree
        .compile("echo 'ld: final link failed: No space left on device' >&2; exit 1");
    let error = place.error(&place.request()).to_string();
    assert!(
        error.contains("the disk is full")
            && error.ends_with("let QUELL_KERNELS name a folder on another disk"),
        "{error}"
    );

    // The next that succeeds removes it.
    place.tree.compile("");
    place.again();
    assert_eq!(place.names(), ["7.2.13-fake-tree"]);
}

#[test]
fn stopping_ends_every_process_of_the_build_and_leaves_nothing() {
    let place = Place::new();
    let pids = place.path("pids");
    // Two deep, one of which does not heed the polite signal.
    let script = format!(
        "sh -c 'trap \"\" TERM; echo $$ >>{0}; while :; do sleep 1; done' & sleep 1000 & echo $! >>{0}; wait",
        pids.display()
    );
    place.tree.compile(&script);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let lines = || {
                fs::read_to_string(&pids)
                    .unwrap_or_default()
                    .lines()
                    .count()
            };
            while lines() < 2 && begun.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(10));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let result = build(&place.store, &place.request(), &stop, &mut |_| {});
        assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
    });
    let pids = fs::read_to_string(&pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Gone, or dead and waiting for whoever adopted it.
        assert!(status.is_empty() || status.contains(") Z "), "{status}");
    }
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn builds_side_by_side_do_not_disturb_each_other_and_the_same_is_built_once() {
    let place = Place::new();
    let count = place.path("count");
    place
        .tree
        .compile(&format!("echo x >>{}; sleep 0.5", count.display()));
    let other = Tree::new(place.path("other"));
    other.compile("sleep 0.5");
    let requests = [&place.tree.0, &place.tree.0, &other.0].map(|tree| Request {
        source: Wanted::Path(tree.clone()),
        ..Request::default()
    });
    let fresh: Vec<bool> = thread::scope(|scope| {
        let started: Vec<_> = requests
            .iter()
            .map(|request| scope.spawn(|| place.build(request).unwrap().outcome.is_some()))
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(fresh.iter().filter(|&&fresh| fresh).count(), 2, "{fresh:?}");
    assert!(fresh[2]);
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    assert_eq!(place.names(), ["7.2.13-fake-other", "7.2.13-fake-tree"]);
}

/// What a compiler does: compiles what has not been compiled.
fn compiles_once(place: &Place) -> PathBuf {
    let count = place.path("count");
    place.tree.compile(&format!(
        "[ -e $O/tcp.o ] || {{ echo x >>{}; touch $O/tcp.o; }}",
        count.display()
    ));
    count
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[test]
fn a_build_goes_on_where_the_last_one_of_this_source_and_configuration_ended() {
    let place = Place::new();
    let count = compiles_once(&place);
    let first = place.again();
    let tree = first.tree.unwrap();
    assert!(tree.starts_with(place.store.folder().canonicalize().unwrap()));
    assert_eq!(lines(&count), 1);

    // Nothing has changed: the tree is named all the same.
    assert_eq!(place.again().tree.as_ref(), Some(&tree));
    // One file has.
    place.tree.write("net/ipv4/tcp_cong.c", "edited");
    let edited = place.again();
    assert_eq!(lines(&count), 1, "everything was compiled again");
    assert_eq!(edited.tree.as_ref(), Some(&tree));
    assert!(edited.outcome.is_some() && edited.kernel.executable().exists());
    // How long a build from nothing is stays known.
    assert_eq!(edited.kernel.facts.build_steps, 4);

    // Another configuration has a tree of its own.
    let fragment = place.path("f");
    fs::write(&fragment, "CONFIG_TCP_MD5SIG=y\n").unwrap();
    let other = place.build(&Request {
        fragment: Some(fragment),
        ..place.request()
    });
    assert_ne!(other.unwrap().tree.as_ref(), Some(&tree));
    assert_eq!(lines(&count), 2);

    // From nothing, although there is such a kernel.
    let clean = Request {
        clean: true,
        ..place.request()
    };
    let clean = place.build(&clean).unwrap();
    assert!(clean.outcome.is_some());
    assert_eq!((clean.tree.as_ref(), lines(&count)), (Some(&tree), 3));

    // By hand, in the tree that is printed.
    fs::remove_file(tree.join("build/linux")).unwrap();
    let make = Command::new("make").arg("-C").arg(&tree).output().unwrap();
    assert!(make.status.success(), "{make:?}");
    assert_eq!(lines(&count), 3);
    let stop = AtomicBool::new(false);
    let linux = tree.join("build/linux");
    let mine = |replace| place.store.add(&linux, Some("mine"), replace, &stop);
    mine(false).unwrap();
    assert!(mine(false).unwrap_err().to_string().contains("--replace"));
    assert_eq!(mine(true).unwrap().0.name, "mine");
}

#[test]
fn only_a_folder_has_a_tree_to_begin_anew() {
    let place = Place::new();
    let archive = place.path("linux.tar.xz");
    fs::write(&archive, "").unwrap();
    let request = Request {
        source: Wanted::Path(archive),
        clean: true,
        ..Request::default()
    };
    let error = place.error(&request);
    assert!(error.is_refusal());
    assert!(error.to_string().contains("--source FOLDER"), "{error}");
}

#[test]
fn trees_used_long_ago_and_those_without_a_source_are_removed() {
    let place = Place::new();
    let trees: Vec<PathBuf> = (0..=MOST_TREES)
        .map(|index| {
            let tree = Tree::new(place.path(&format!("t{index}")));
            let request = Request {
                source: Wanted::Path(tree.0),
                ..Request::default()
            };
            place.build(&request).unwrap().tree.unwrap()
        })
        .collect();
    let there: Vec<bool> = trees.iter().map(|tree| tree.exists()).collect();
    let mut expected = vec![true; MOST_TREES + 1];
    expected[0] = false;
    assert_eq!(there, expected);
    fs::remove_dir_all(place.path("t2")).unwrap();
    let again = place.again().tree.unwrap();
    assert!(again.exists() && !trees[2].exists());
}
