//! What building a kernel needs of this machine, and the command that brings what is missing.

use std::ffi::OsString;

use crate::process::is_there;
use crate::{Error, Result};

/// The programs that the kernel's makefiles call, by the Debian package that has them.
const NEEDS: &[(&str, &[&str])] = &[
    ("make", &["make"]),
    ("gcc", &["gcc"]),
    ("binutils", &["ld", "ar", "nm", "objcopy"]),
    ("flex", &["flex"]),
    ("bison", &["bison"]),
    ("m4", &["m4"]),
    ("bc", &["bc"]),
    ("bash", &["bash"]),
    ("perl", &["perl"]),
];

/// Where the programs are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    /// Environment of make, in addition to what every program gets.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// Looks for everything.
///
/// # Errors
///
/// Something is missing.
pub(crate) fn check() -> Result<Tools> {
    let architecture = std::env::consts::ARCH;
    if architecture != "x86_64" {
        return Err(Error::Failed(format!(
            "user-mode Linux runs on x86_64 only, and this machine is {architecture}"
        )));
    }
    let missing = missing();
    if missing.is_empty() {
        return Ok(Tools::default());
    }
    Err(Error::Failed(format!(
        "building a kernel needs {}; on Debian or Ubuntu this mends it: sudo apt-get install {}",
        missing.join(", "),
        missing.join(" ")
    )))
}

/// The packages of what is missing.
fn missing() -> Vec<&'static str> {
    NEEDS
        .iter()
        .filter(|(_, programs)| !programs.iter().all(|program| is_there(program, None)))
        .map(|(package, _)| *package)
        .collect()
}
