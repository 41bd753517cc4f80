//! The calls of the kernel's own makefiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::needs::Environment;
use crate::config::{Wishes, kconfig_with_clock};
use crate::process::{Job, command};
use crate::store::work::Work;
use crate::{Error, Result};

/// About how many steps a build with quell's configuration has, until one was counted.
pub(super) const STEPS: u64 = 1_200;

/// kbuild begins the line of each step with two spaces.
const STEP: &str = "  ";

/// One build folder.
pub(super) struct Make<'a> {
    tree: &'a Path,
    tools: Environment,
    folder: PathBuf,
    kconfig: PathBuf,
    fragment: PathBuf,
    log: PathBuf,
}

impl<'a> Make<'a> {
    /// For the source in `tree`, which is not written to; everything goes into `work`.
    pub(super) fn new(tree: &'a Path, work: &Work, tools: Environment) -> Result<Self> {
        let make = Self {
            tree,
            tools,
            folder: work.path("build"),
            kconfig: work.path("Kconfig"),
            fragment: work.path("fragment.config"),
            log: work.path("log"),
        };
        fs::create_dir(&make.folder).map_err(Error::at("make", &make.folder))?;
        Ok(make)
    }

    /// Makes the configuration.
    pub(super) fn configure(&self, wishes: &Wishes, stop: &AtomicBool) -> Result<()> {
        let top = self.tree.join("Kconfig");
        let text = fs::read_to_string(&top).map_err(Error::at("read", &top))?;
        let write =
            |path: &Path, text: String| fs::write(path, text).map_err(Error::at("write", path));
        write(&self.kconfig, kconfig_with_clock(&text))?;
        write(&self.fragment, wishes.fragment())?;
        let mut make = self.command();
        make.arg(assignment("KCONFIG_ALLCONFIG", &self.fragment))
            .arg("allnoconfig");
        Job::start(vec![make], &self.log, STEP)?.finish(stop, |_| {})
    }

    /// The whole configuration.
    pub(super) fn config(&self) -> Result<String> {
        let path = self.folder.join(".config");
        fs::read_to_string(&path).map_err(Error::at("read", &path))
    }

    /// Compiles the kernel; calls `steps` with their number now and then, and returns it.
    pub(super) fn compile(&self, stop: &AtomicBool, mut steps: impl FnMut(u64)) -> Result<u64> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut make = self.command();
        make.arg(format!("-j{processors}")).arg("linux");
        let mut count = 0;
        Job::start(vec![make], &self.log, STEP)?.finish(stop, |done| {
            count = done;
            steps(done);
        })?;
        Ok(count)
    }

    /// What was built.
    pub(super) fn kernel(&self) -> PathBuf {
        self.folder.join("linux")
    }

    fn command(&self) -> Command {
        // Minutes of work on all processors must not disturb whoever sits in front.
        let mut make = command("nice");
        make.args(["-n", "10", "make", "-C"])
            .arg(self.tree)
            .arg(assignment("O", &self.folder))
            .arg(assignment("KBUILD_KCONFIG", &self.kconfig))
            .arg("ARCH=um")
            // The same source gives the same kernel, whoever builds it and when.
            .env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970")
            .env("KBUILD_BUILD_USER", "quell")
            .env("KBUILD_BUILD_HOST", "quell")
            .envs(self.tools.iter().cloned());
        make
    }
}

fn assignment(name: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(format!("{name}="));
    text.push(path);
    text
}
