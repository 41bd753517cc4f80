//! A folder that an ordinary user can read, with quell, a store of kernels, and a scenario.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use quell_kernel::store::{Kernel, Store, own_controls};
use quell_testing::fake_kernel;
use serde_json::Value;

use quell_testing::not_run;
use quell_testing::program::copy_program;

/// `nobody`: no rights, and no files.
pub(crate) const NOBODY: u32 = 65_534;

/// Two CUBIC and two DCTCP downloads over DualPI2.
pub(crate) const SCENARIO: &str = quell_testing::l4s_beside_classic!(
    name: "virtual-test",
    link: r#"rate = "20mbit"
queue = { kind = "dualpi2" }
"#,
    flows: [2, 2],
    rtts: ["10ms", "10ms"],
    then: r#"[run]
duration = "4s"
warmup = "1s"
"#,
);

/// The folder; gone with this value.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    /// With the kernel that this user's store has, the newest one; `None`, and `test` named as not run, where there is none.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let Some(kernel) = Store::open().ok().and_then(|store| store.find(None).ok()) else {
            not_run(
                test,
                "no kernel is built: make kernel, or quell kernel build",
            );
            return None;
        };
        let stage = Self::empty();
        let kept = stage.kernels().join("true");
        fs::create_dir(&kept).unwrap();
        for name in ["linux", "kernel.json", "config"] {
            fs::copy(kernel.folder.join(name), kept.join(name)).unwrap();
        }
        Some(stage)
    }

    /// With a kernel that has quell's own controls.
    pub(crate) fn with_own_controls(test: &str) -> Option<Self> {
        let newest = Store::open().ok().and_then(|store| store.find(None).ok());
        let has = |kernel: Kernel| {
            let there = kernel.congestion_controls().unwrap_or_default();
            own_controls().iter().all(|own| there.contains(own))
        };
        if newest.is_some_and(|kernel| !has(kernel)) {
            not_run(
                test,
                "an earlier quell built the kernel, without quell's controls: make kernel, or quell kernel build",
            );
            return None;
        }
        Self::new(test)
    }

    /// Whether its kernel has quell's clock; an earlier quell built none.
    pub(crate) fn has_clock(&self) -> bool {
        self.config().contains("CONFIG_QUELL_CLOCK=y")
    }

    /// The configuration of its kernel.
    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.config_file()).unwrap_or_default()
    }

    /// The file with it.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.kernels().join("true/config")
    }

    /// Without a kernel.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Self { folder };
        // Nobody else may write: a kernel in such a folder is not started.
        fs::set_permissions(stage.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["kernels", "tmp"] {
            fs::create_dir(stage.path().join(name)).unwrap();
        }
        if is_root() {
            for path in [stage.path(), &stage.path().join("tmp")] {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        // A hard link where that is possible: the program is large.
        let (from, to) = (env!("CARGO_BIN_EXE_quell"), stage.program());
        if fs::hard_link(from, &to).is_err() {
            copy_program(from.as_ref(), &to);
        }
        fs::write(stage.path().join("scenario.toml"), SCENARIO).unwrap();
        stage
    }

    /// Adds a kernel that is a shell script of `body`.
    pub(crate) fn fake_kernel(&self, name: &str, body: &str, time_travel: bool) {
        fake_kernel::stored(&self.kernels(), name, body, time_travel);
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.path().join("quell")
    }

    /// Gives the folder to root, who trusts no folder of nobody's with a kernel of root's.
    pub(crate) fn give_to_root(&self) {
        chown(self.path(), Some(0), Some(0)).unwrap();
    }

    fn kernels(&self) -> PathBuf {
        self.path().join("kernels")
    }

    /// What the ordinary user's temporary folder holds: nothing, when all went well.
    pub(crate) fn left_over(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().join("tmp")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// quell with `arguments`, as an ordinary user in the stage's folder.
    pub(crate) fn quell(&self, arguments: &[&str]) -> Command {
        let mut command = self.quell_of_caller(arguments);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The same, as whoever runs the test.
    pub(crate) fn quell_of_caller(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("QUELL_KERNELS", self.kernels())
            .env("TMPDIR", self.path().join("tmp"))
            .env("HOME", self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the scenario in the virtual world with more `arguments`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.quell(&["run", "scenario.toml", "--world", "virtual"]);
        command.args(arguments).output().unwrap()
    }

    /// The same, which must succeed; what it printed.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        assert_eq!(self.left_over(), [] as [&str; 0]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// A JSON file of a result.
    pub(crate) fn json(&self, path: &str) -> Value {
        let text = fs::read_to_string(self.path().join(path)).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
