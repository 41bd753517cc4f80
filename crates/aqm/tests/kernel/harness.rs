//! Finds the kernel's files, compiles them with the shim, and has a compiled law answer commands.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quell_testing::not_run;

/// A kernel's source tree, or the part of it that was unpacked.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    root: PathBuf,
    /// `VERSION.PATCHLEVEL.SUBLEVEL`, or the folder's name where there is no Makefile.
    pub(crate) version: String,
}

/// What is compiled: a C file of the shim with a file of the kernel.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file in `shim/`, without `.c`.
    pub(crate) shim: &'static str,
    /// The file that the shim includes as `KERNEL_FILE`.
    pub(crate) file: &'static str,
    /// Files that it includes, and that are the kernel's own instead of the shim's.
    pub(crate) headers: &'static [&'static str],
    /// The parts of `file` to take, each from the first line that starts so up to the next that starts so; all of it if there are none.
    pub(crate) pieces: &'static [(&'static str, &'static str)],
    /// Texts of files of kernels whose law is no longer that of our form: those are left out, as long as another kernel has ours.
    pub(crate) changed: &'static [(&'static str, &'static str)],
}

/// A law of a kernel, compiled.
#[derive(Debug)]
pub(crate) struct CompiledLaw {
    program: PathBuf,
    pub(crate) version: String,
}

/// Every kernel at hand that has this law; none, and a line about it, where it cannot be had. `test` names the test in that line.
pub(crate) fn kernels(test: &str, source: &Source) -> Vec<CompiledLaw> {
    let trees = trees();
    if trees.is_empty() {
        not_run(test, &no_source());
        return Vec::new();
    }
    let needed = || std::iter::once(&source.file).chain(source.headers);
    let (mut with, without): (Vec<Tree>, Vec<Tree>) = trees
        .into_iter()
        .partition(|tree| needed().all(|file| tree.root.join(file).exists()));
    let has_changed = |tree: &Tree| {
        let has = |(file, text): &(&str, &str)| {
            fs::read_to_string(tree.root.join(file)).is_ok_and(|file| file.contains(text))
        };
        source.changed.iter().any(has)
    };
    let newest = with.last().map(|tree| tree.version.clone());
    with.retain(|tree| !has_changed(tree));
    if let (Some(newest), true) = (newest, with.is_empty()) {
        not_run(test, &format!("the law of Linux {newest} is another"));
    }
    for tree in &without {
        let missing = needed()
            .find(|file| !tree.root.join(file).exists())
            .unwrap();
        // Another kernel has it: nothing is left out.
        if with.is_empty() {
            // Perhaps the one that has it could not be fetched.
            let others = why_missing().map_or_else(String::new, |why| format!("; {why}"));
            not_run(
                test,
                &format!("Linux {} has no {missing}{others}", tree.version),
            );
        }
    }
    if !with.is_empty() && Command::new("cc").arg("--version").output().is_err() {
        not_run(test, "needs a C compiler");
        return Vec::new();
    }
    with.iter()
        .map(|tree| compile(test, tree, source))
        .collect()
}

/// Each folder of `target/linux` and of QUELL_LINUX, the newest last.
fn trees() -> Vec<Tree> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/linux");
    let mut roots: Vec<PathBuf> = fs::read_dir(fetched)
        .map(|entries| {
            entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_dir())
                .collect()
        })
        .unwrap_or_default();
    if let Some(named) = std::env::var_os("QUELL_LINUX") {
        for root in std::env::split_paths(&named) {
            assert!(root.is_dir(), "QUELL_LINUX: no folder {}", root.display());
            roots.push(root);
        }
    }
    roots.sort();
    roots
        .into_iter()
        .map(|root| Tree {
            version: version(&root),
            root,
        })
        .collect()
}

fn version(root: &Path) -> String {
    let makefile = fs::read_to_string(root.join("Makefile")).unwrap_or_default();
    let value = |key: &str| {
        let mut lines = makefile.lines();
        lines.find_map(|line| {
            Some(
                line.strip_prefix(key)?
                    .trim_start()
                    .strip_prefix('=')?
                    .trim()
                    .to_owned(),
            )
        })
    };
    let parts: Option<Vec<String>> = ["VERSION", "PATCHLEVEL", "SUBLEVEL"]
        .into_iter()
        .map(value)
        .collect();
    parts.map_or_else(
        || {
            root.file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        },
        |parts| parts.join("."),
    )
}

/// Why there is no kernel source: what setup found, if it tried.
fn no_source() -> String {
    why_missing().unwrap_or_else(|| {
        "needs kernel source in target/linux, which scripts/linux-source fetches on Debian, or QUELL_LINUX".to_owned()
    })
}

/// The sources of `scripts/linux-source.pins` that setup could not bring, in one line; `None` if it brought all or was not asked.
fn why_missing() -> Option<String> {
    let reasons = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/setup/no-linux");
    let reasons = fs::read_to_string(reasons).ok()?;
    let reasons: Vec<&str> = reasons.lines().map(str::trim).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn compile(test: &str, tree: &Tree, source: &Source) -> CompiledLaw {
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/shim");
    // Tests run at once: each has a folder of its own.
    let name = format!("{test}-{}", tree.version)
        .replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("kernel")
        .join(name);
    let stubs = out.join("include");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&stubs).unwrap();
    // What the kernel's files include is the kernel's own where the source says so, and the shim otherwise.
    for include in included(tree, source) {
        let own = format!("include/{include}");
        let stub = stubs.join(&include);
        fs::create_dir_all(stub.parent().unwrap()).unwrap();
        let text = match source.headers.iter().find(|header| **header == own) {
            Some(header) => format!("#include \"{}\"\n", tree.root.join(header).display()),
            None => "#include \"shim.h\"\n".to_owned(),
        };
        fs::write(stub, text).unwrap();
    }
    // What a shim includes that is not a header.
    for file in source
        .headers
        .iter()
        .filter(|file| !file.starts_with("include/"))
    {
        let stub = stubs.join(file);
        fs::create_dir_all(stub.parent().unwrap()).unwrap();
        fs::write(
            stub,
            format!("#include \"{}\"\n", tree.root.join(file).display()),
        )
        .unwrap();
    }
    let mut file = tree.root.join(source.file);
    if !source.pieces.is_empty() {
        let cut = cut(&fs::read_to_string(&file).unwrap(), source.pieces);
        file = out.join("cut.h");
        fs::write(&file, cut).unwrap();
    }
    // The interface of tc, which is the kernel's own always.
    let tc = tree.root.join("include/uapi/linux/pkt_sched.h");
    for (name, text) in [
        (
            "linux/pkt_sched.h",
            format!("#include \"{}\"\n", tc.display()),
        ),
        ("linux/const.h", String::new()),
        ("linux/types.h", "#include \"shim.h\"\n".to_owned()),
    ] {
        fs::create_dir_all(stubs.join(name).parent().unwrap()).unwrap();
        fs::write(stubs.join(name), text).unwrap();
    }
    let program = out.join(source.shim);
    let answer = Command::new("cc")
        // As the kernel: signed numbers wrap, and pointers may alias.
        .args(["-std=gnu11", "-O1", "-w", "-fwrapv", "-fno-strict-aliasing"])
        .arg("-I")
        .arg(&stubs)
        .arg("-I")
        .arg(&shim)
        .arg(format!("-DKERNEL_FILE=\"{}\"", file.display()))
        .arg(shim.join(source.shim).with_extension("c"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        answer.status.success(),
        "Linux {}: {}",
        tree.version,
        String::from_utf8_lossy(&answer.stderr)
    );
    CompiledLaw {
        program,
        version: tree.version.clone(),
    }
}

/// The pieces of a file.
fn cut(text: &str, pieces: &[(&str, &str)]) -> String {
    let mut lines = text.lines();
    let mut kept = String::new();
    for (from, until) in pieces {
        let first = lines.find(|line| line.starts_with(from));
        let piece = first
            .into_iter()
            .chain(lines.by_ref().take_while(|line| !line.starts_with(until)));
        piece.for_each(|line| kept += &format!("{line}\n"));
    }
    kept
}

/// What the kernel's files include as `<…>`.
fn included(tree: &Tree, source: &Source) -> BTreeSet<String> {
    let files = std::iter::once(&source.file).chain(source.headers);
    let texts = files.map(|file| fs::read_to_string(tree.root.join(file)).unwrap());
    texts
        .flat_map(|text| {
            let includes = text.lines().filter_map(|line| {
                Some(
                    line.trim()
                        .strip_prefix("#include <")?
                        .split_once('>')?
                        .0
                        .to_owned(),
                )
            });
            includes.collect::<Vec<_>>()
        })
        .collect()
}

impl CompiledLaw {
    /// The answers to `commands`, in their order.
    pub(crate) fn answers(&self, commands: &str) -> Vec<String> {
        let mut child = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // It may stop early; what it says then says more than a broken pipe.
            scope.spawn(move || stdin.write_all(commands.as_bytes()));
            child.wait_with_output().unwrap()
        });
        assert!(
            output.status.success(),
            "Linux {}: the compiled law stopped: {}",
            self.version,
            output.status
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| line.trim().to_owned())
            .collect()
    }

    /// Asks the kernel each of `commands` and compares with ours, given as (commands, our answer); the commands of one step may be
    /// several lines, of which one is answered.
    pub(crate) fn compare(&self, preparation: &str, steps: &[(String, String)]) {
        let mut commands = preparation.to_owned();
        for (command, _) in steps {
            let _ = writeln!(commands, "{command}");
        }
        let answers = self.answers(&commands);
        for (index, ((command, ours), theirs)) in steps.iter().zip(&answers).enumerate() {
            if ours != theirs {
                let before = &steps[index.saturating_sub(5)..index];
                panic!(
                    "step {index}: {command}\n  Linux {}: {theirs}\n  quell: {ours}\nbefore: {before:#?}",
                    self.version
                );
            }
        }
        assert_eq!(
            answers.len(),
            steps.len(),
            "Linux {}: every command is answered",
            self.version
        );
    }
}
