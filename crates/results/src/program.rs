//! The program itself, where it has more kinds than quell has: which they are, and which program it is.

use std::fs::File;
use std::io;
use std::sync::OnceLock;

use quell_kernel::hash;
use quell_units::Origin;
use serde::Serialize;

/// A kind of another crate that this program has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extension {
    /// `queue` or `control`.
    pub kind: &'static str,
    /// Its name in scenarios.
    pub name: &'static str,
    /// The crate that it comes from.
    pub package: &'static str,
    /// Version of that crate.
    pub version: &'static str,
}

/// Every kind of other crates, in the order of listings.
pub fn extensions() -> Vec<Extension> {
    let of = |kind, name, origin: Origin| Extension {
        kind,
        name,
        package: origin.package,
        version: origin.version,
    };
    let queues = quell_aqm::own::kinds().iter();
    let queues = queues.map(|own| of("queue", own.entry.name, own.origin));
    let controls = quell_tcp::cc::own::kinds().iter();
    let controls = controls.map(|own| of("control", own.kind.name, own.origin));
    queues.chain(controls).collect()
}

/// SHA-256 of the file of this program, read once; `None` for one without [`extensions`], which its version and build identify.
///
/// What an extension computes follows from its sources, those of all that it uses, and the compiler. No version says as much as the program
/// that came out of it.
///
/// # Errors
/// The file cannot be read.
pub fn sha256() -> io::Result<Option<&'static str>> {
    static HASH: OnceLock<String> = OnceLock::new();
    if extensions().is_empty() {
        return Ok(None);
    }
    if let Some(hash) = HASH.get() {
        return Ok(Some(hash));
    }
    // The link of the process, which is the file that runs even where another has taken its place.
    let file = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?))?;
    let hash = hash::of(&file)?;
    Ok(Some(HASH.get_or_init(|| hash)))
}
