//! Unpacks the archive of a kernel source, or that inside of a package, without a copy of the archive in between.
//!
//! Left out is the code of other machines' architectures, which nothing of a user-mode build reads, and that of the `amdgpu`
//! driver, which depends on !UML. Their Kconfig files stay: others name them, and Kconfig reads what is named whether it applies or
//! not. Together they are more than a third of the tree's size: linux-source-7.2 takes 1.1 instead of 1.8 GB.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use super::package;
use crate::process::{Job, command, is_there};
use crate::{Error, Reason, Result};

/// Folders of `arch/` that a user-mode kernel on x86 does not use. One that is not listed is unpacked.
const OTHER_ARCHITECTURES: &[&str] = &[
    "alpha",
    "arc",
    "arm",
    "arm64",
    "csky",
    "hexagon",
    "ia64",
    "loongarch",
    "m68k",
    "microblaze",
    "mips",
    "nios2",
    "openrisc",
    "parisc",
    "powerpc",
    "riscv",
    "s390",
    "sh",
    "sparc",
    "xtensa",
];

/// The files of such folders that are left out, at any depth.
const CODE: [&str; 2] = ["*.[chS]", "*.dts*"];

/// The program that reads a compression, by the end of the archive's name; then its Debian package.
const COMPRESSIONS: &[(&str, &[&str], &str)] = &[
    (".xz", &["xz", "-T0", "-dc"], "xz-utils"),
    (".gz", &["gzip", "-dc"], "gzip"),
    (".tgz", &["gzip", "-dc"], "gzip"),
    (".bz2", &["bzip2", "-dc"], "bzip2"),
    (".zst", &["zstd", "-dc"], "zstd"),
    (".tar", &["cat"], "coreutils"),
];

/// Unpacks `file`, a package or an archive, into `folder`, which is made; returns the top folder of the source.
///
/// # Errors
///
/// The file is broken or of an unknown kind, or a program is missing; `stop` is set.
pub(crate) fn unpack(file: &Path, folder: &Path, log: &Path, stop: &AtomicBool) -> Result<PathBuf> {
    let file = std::path::absolute(file).map_err(Error::at("find", file))?;
    fs::create_dir(folder).map_err(Error::at("make", folder))?;
    let mut chain = Vec::new();
    if is_package(&file) {
        let archive = package::archive(&file)?;
        let mut open = command("dpkg-deb");
        open.arg("--fsys-tarfile").arg(&file);
        let mut take = command("tar");
        take.args(["-x", "-O", "-f", "-", "--", &archive]);
        chain.extend([open, take, decompress(&archive)?]);
    } else {
        let mut expand = decompress(&file.to_string_lossy())?;
        expand.arg("--").arg(&file);
        chain.push(expand);
    }
    let mut write = command("tar");
    write
        .args([
            "-x",
            "-f",
            "-",
            "--no-same-owner",
            "--no-same-permissions",
            "--wildcards",
        ])
        .args(left_out())
        .arg("-C")
        .arg(folder);
    chain.push(write);
    Job::start(chain, log, "")?
        .finish(stop, |_| {})
        .map_err(|error| match error {
            Error::Failed(why) => Error::failed(Reason::with_fix(
                format!(
                    "{} cannot be unpacked ({}): it is broken, or the disk is full",
                    file.display(),
                    why.what
                ),
                "fetch it again, or free some space",
            )),
            other => other,
        })?;
    let entries = fs::read_dir(folder).map_err(Error::at("read", folder))?;
    let mut folders = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    match (folders.next(), folders.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Error::refused(format!(
            "{} is not an archive with one folder that holds a kernel source",
            file.display()
        ))),
    }
}

/// The arguments of tar for what it leaves out.
fn left_out() -> impl Iterator<Item = String> {
    let folders = OTHER_ARCHITECTURES
        .iter()
        .map(|name| format!("arch/{name}"));
    let folders = folders.chain(["drivers/gpu/drm/amd".to_owned()]);
    folders.flat_map(|folder| CODE.map(|name| format!("--exclude=*/{folder}/{name}")))
}

/// Whether a file is a package, going by its name.
pub(crate) fn is_package(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "deb")
}

/// The program that expands an archive of this name.
fn decompress(name: &str) -> Result<Command> {
    let kind = COMPRESSIONS.iter().find(|(end, ..)| name.ends_with(end));
    let Some((_, words, package)) = kind else {
        let ends: Vec<&str> = COMPRESSIONS.iter().map(|(end, ..)| *end).collect();
        return Err(Error::refused(format!(
            "{name} is neither a folder, nor a package (.deb), nor an archive ({})",
            ends.join(", ")
        )));
    };
    if !is_there(words[0], None) {
        return Err(Error::failed(Reason::with_fix(
            format!("opening {name} needs {}", words[0]),
            format!("sudo apt-get install {package} (Debian, Ubuntu)"),
        )));
    }
    let mut program = command(words[0]);
    program.args(&words[1..]);
    Ok(program)
}

/// Checks that the name is that of an archive or package.
///
/// # Errors
///
/// It is neither.
pub(crate) fn check_kind(file: &Path) -> Result<()> {
    if is_package(file) {
        return Ok(());
    }
    decompress(&file.to_string_lossy()).map(|_| ())
}
