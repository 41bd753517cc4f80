//! The tools that building a kernel needs, and how missing ones are fetched.
//!
//! A compiler must be installed. If small tools beside it are missing and there is apt, they are fetched as packages and
//! unpacked into the working folder; none of that needs root. Each need is tested by use, wherever the tool comes from.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::process::{Job, command, is_there, output};
use crate::source::download;
use crate::{Error, Reason, Result};

/// How long a probe may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Debian packages that must be installed, with their programs.
const COMPILER: &[(&str, &[&str])] = &[
    ("make", &["make"]),
    ("gcc", &["gcc"]),
    ("binutils", &["ld", "ar", "nm", "objcopy", "strip"]),
    ("bash", &["bash"]),
];

/// Debian packages that work unpacked anywhere, with their programs.
const TOOLS: &[(&str, &[&str])] = &[
    ("flex", &["flex"]),
    ("bison", &["bison"]),
    ("m4", &["m4"]),
    ("bc", &["bc"]),
];

/// Packages that this machine lacks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing(Vec<&'static str>);

/// The environment in which make finds the tools.
pub(super) type Environment = Vec<(&'static str, OsString)>;

impl Missing {
    /// Looks for every tool.
    ///
    /// # Errors
    ///
    /// A tool is missing that must be installed.
    pub(super) fn find() -> Result<Self> {
        let architecture = env::consts::ARCH;
        if architecture != "x86_64" {
            return Err(Error::failed(format!(
                "user-mode Linux runs on x86_64 only, and this machine is {architecture}"
            )));
        }
        let mut compiler = lacking(COMPILER);
        if !compiler.contains(&"gcc") && !compiles() {
            compiler.push("libc6-dev");
        }
        let tools = lacking(TOOLS);
        if compiler.is_empty() {
            return Ok(Self(tools));
        }
        compiler.extend(tools);
        Err(install(&compiler, ""))
    }

    /// Fetches the missing tools into `folder`, which is made; returns the environment in which make finds them.
    ///
    /// # Errors
    ///
    /// It cannot be fetched; `stop` is set.
    pub(super) fn fetch(
        &self,
        folder: &Path,
        log: &Path,
        stop: &AtomicBool,
    ) -> Result<Environment> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        match self.packages(folder, log, stop) {
            Ok(()) => environment(folder),
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(error) => Err(install(
                &self.0,
                &format!(" (without root they could not be fetched: {error})"),
            )),
        }
    }

    /// Whether there is nothing to fetch.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn packages(&self, folder: &Path, log: &Path, stop: &AtomicBool) -> Result<()> {
        fs::create_dir(folder).map_err(Error::at("make", folder))?;
        // What apt would install: also libraries that are missing.
        let mut plan = command("apt-get");
        plan.args(["--simulate", "--no-install-recommends", "-q", "install"])
            .args(&self.0);
        let plan = output(&mut plan, LIMIT)?;
        let packages = planned(&plan);
        if packages.is_empty() {
            return Err(Error::failed("apt-get has nothing to install".to_owned()));
        }
        let mut get = download(folder);
        get.args(packages);
        Job::start(vec![get], log, "")?.finish(stop, |_| {})?;
        for entry in fs::read_dir(folder)
            .map_err(Error::at("read", folder))?
            .flatten()
        {
            if entry.path().extension().is_some_and(|end| end == "deb") {
                let mut unpack = command("dpkg-deb");
                unpack.arg("-x").arg(entry.path()).arg(folder);
                Job::start(vec![unpack], log, "")?.finish(stop, |_| {})?;
            }
        }
        Ok(())
    }
}

/// Where the unpacked programs, their libraries and their data are.
fn environment(folder: &Path) -> Result<Environment> {
    let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
    let environment = vec![
        (
            "PATH",
            before("PATH", &[folder.join("usr/bin"), folder.join("bin")])?,
        ),
        (
            "LD_LIBRARY_PATH",
            before("LD_LIBRARY_PATH", &libraries.map(|at| folder.join(at)))?,
        ),
    ];
    let own = |program: &str| folder.join("usr/bin").join(program).exists();
    let mut environment: Environment = environment;
    if own("m4") {
        environment.push(("M4", folder.join("usr/bin/m4").into()));
    }
    if own("bison") {
        environment.push(("BISON_PKGDATADIR", folder.join("usr/share/bison").into()));
    }
    Ok(environment)
}

/// `folders`, and after them those of the variable.
fn before(variable: &str, folders: &[PathBuf]) -> Result<OsString> {
    let old = env::var_os(variable).unwrap_or_default();
    let old = env::split_paths(&old).filter(|path| !path.as_os_str().is_empty());
    env::join_paths(folders.iter().cloned().chain(old))
        .map_err(|error| Error::failed(format!("{variable}: {error}")))
}

/// The packages of `needs` with a program that is not there.
fn lacking(needs: &[(&'static str, &[&str])]) -> Vec<&'static str> {
    needs
        .iter()
        .filter(|(_, programs)| !programs.iter().all(|program| is_there(program, None)))
        .map(|(package, _)| *package)
        .collect()
}

/// Whether the compiler finds the headers of the C library.
fn compiles() -> bool {
    let mut gcc = command("gcc");
    gcc.args([
        "-include",
        "stdio.h",
        "-fsyntax-only",
        "-x",
        "c",
        "/dev/null",
    ]);
    output(&mut gcc, LIMIT).is_ok()
}

fn install(packages: &[&str], why: &str) -> Error {
    Error::failed(Reason::with_fix(
        format!("building a kernel needs {}{why}", packages.join(", ")),
        format!(
            "sudo apt-get install {} (Debian, Ubuntu)",
            packages.join(" ")
        ),
    ))
}

/// The packages that `apt-get --simulate install` would install.
fn planned(plan: &str) -> Vec<&str> {
    plan.lines()
        .filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_apt_names_packages_and_the_libraries_that_they_need() {
        // Of apt 2.6 on Debian 12.
        let plan = "Reading package lists...\nThe following NEW packages will be installed:\n  libsigsegv2 m4\n\
                    Inst libsigsegv2 (2.14-1 Debian:12.14/oldstable [amd64])\n\
                    Inst m4 (1.4.19-3 Debian:12.14/oldstable [amd64])\nConf m4 (1.4.19-3 Debian:12.14/oldstable [amd64])\n";
        assert_eq!(planned(plan), ["libsigsegv2", "m4"]);
    }
}
