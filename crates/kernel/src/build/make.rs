//! The calls of the kernel's own makefiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::needs::Environment;
use crate::config::{Wishes, kconfig_with_clock};
use crate::process::{Job, command};
use crate::{Error, Result};

/// Approximate number of steps of a build with quell's configuration, until one has been counted.
pub(super) const STEPS: u64 = 1_200;

/// kbuild begins the line of each step with two spaces.
const STEP: &str = "  ";

/// The same source gives the same kernel, whoever builds it, and whenever.
const SAME: &[(&str, &str)] = &[
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "quell"),
    ("KBUILD_BUILD_HOST", "quell"),
];

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
    /// For the source in `tree`, which is not written to; everything goes into the folder `place`, and what make says into `log`.
    pub(super) fn new(
        tree: &'a Path,
        place: &Path,
        log: PathBuf,
        tools: Environment,
    ) -> Result<Self> {
        let make = Self {
            tree,
            tools,
            folder: place.join("build"),
            kconfig: place.join("Kconfig"),
            fragment: place.join("fragment.config"),
            log,
        };
        fs::create_dir_all(&make.folder).map_err(Error::at("make", &make.folder))?;
        Ok(make)
    }

    /// Writes a makefile beside the build folder: `make` there does by hand what [`Make::compile`] does.
    pub(super) fn write_makefile(&self) -> Result<()> {
        let same: String = SAME
            .iter()
            .map(|(name, value)| format!("export {name} := {value}\n"))
            .collect();
        let (source, build) = (self.tree.display(), self.folder.display());
        let text = format!(
            "# Written by `quell kernel build`. `make` compiles what has changed in {source}; any other goal of the kernel's own\n\
             # makefiles works too. The result: quell kernel add {build}/linux --name NAME --replace\n\
             {same}\n.DEFAULT_GOAL := linux\n.PHONY: FORCE\nFORCE:\nMakefile: ;\n%: FORCE\n\
             \t+$(MAKE) -C {source} O={build} KBUILD_KCONFIG={} ARCH=um $@\n",
            self.kconfig.display()
        );
        write(&self.folder.with_file_name("Makefile"), &text)
    }

    /// Makes the configuration.
    pub(super) fn configure(&self, wishes: &Wishes, stop: &AtomicBool) -> Result<()> {
        let top = self.tree.join("Kconfig");
        let text = fs::read_to_string(&top).map_err(Error::at("read", &top))?;
        write(&self.kconfig, &kconfig_with_clock(&text))?;
        write(&self.fragment, &wishes.fragment())?;
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

    /// Whether what lies in `folder` of the source compiles.
    pub(super) fn compiles(&self, folder: &str, stop: &AtomicBool) -> Result<bool> {
        let mut make = self.command();
        make.arg(folder);
        match Job::start(vec![make], &self.log, STEP)?.finish(stop, |_| {}) {
            Err(Error::Failed(_)) => Ok(false),
            other => other.map(|()| true),
        }
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
            .envs(SAME.iter().copied())
            .envs(self.tools.iter().cloned());
        make
    }
}

/// Writes a file, unless it has this text already: make looks at its time.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).map_err(Error::at("write", path))
}

fn assignment(name: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(format!("{name}="));
    text.push(path);
    text
}
