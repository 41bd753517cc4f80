//! quell's own files of a kernel: the congestion controls Prague, BBR v2 and v3, Compound (`bpf/kernel`, over `bpf/core`), the time of day
//! and the input of a guest.
//!
//! They are added to a source that quell has unpacked itself, never to a tree of the user.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::hash::hex;
use crate::{Error, Result};

/// Their folder in the source.
pub(crate) const FOLDER: &str = "net/ipv4/quell/";
/// Their options, which begin with [`PREFIX`].
pub(crate) const KCONFIG: &str = "net/ipv4/quell/Kconfig";
/// Before the control's name in the name of its option.
pub(crate) const PREFIX: &str = "TCP_CONG_QUELL_";

/// What makes kbuild enter the folder: the file, and the line at its end.
const LINKS: &[(&str, &str)] = &[
    ("net/ipv4/Kconfig", "source \"net/ipv4/quell/Kconfig\"\n"),
    ("net/ipv4/Makefile", "obj-y += quell/\n"),
];

macro_rules! files {
    ($($name:literal = $path:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../bpf/", $path)))),*]
    };
}

/// The files: name in the folder, and text.
const FILES: &[(&str, &str)] = files! {
    "Kconfig" = "kernel/Kconfig",
    "Makefile" = "kernel/Makefile",
    "quell_bbr.h" = "kernel/quell_bbr.h",
    "quell_bbr2.c" = "kernel/quell_bbr2.c",
    "quell_bbr3.c" = "kernel/quell_bbr3.c",
    "quell_clock.c" = "kernel/quell_clock.c",
    "quell_compound.c" = "kernel/quell_compound.c",
    "quell_input.c" = "kernel/quell_input.c",
    "quell_kernel.h" = "kernel/quell_kernel.h",
    "quell_prague.c" = "kernel/quell_prague.c",
    "core/bbr.h" = "core/bbr.h",
    "core/bbr2.h" = "core/bbr2.h",
    "core/bbr3.h" = "core/bbr3.h",
    "core/bbr_probe.h" = "core/bbr_probe.h",
    "core/bbr_ring.h" = "core/bbr_ring.h",
    "core/bbr_signals.h" = "core/bbr_signals.h",
    "core/bbr_state.h" = "core/bbr_state.h",
    "core/compound.h" = "core/compound.h",
    "core/core.h" = "core/core.h",
    "core/prague.h" = "core/prague.h",
};

/// A hash of the files: a kernel that was built with others is another one.
pub(crate) fn identity() -> String {
    let mut hash = Sha256::new();
    for (name, text) in FILES.iter().chain(LINKS) {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize())
}

/// Adds them to the unpacked source in `tree`.
pub(crate) fn add(tree: &Path) -> Result<()> {
    for (name, text) in FILES {
        let path = tree.join(FOLDER).join(name);
        let folder = path.parent().unwrap_or(tree);
        fs::create_dir_all(folder).map_err(Error::at("make", folder))?;
        fs::write(&path, text).map_err(Error::at("write", &path))?;
    }
    for (name, line) in LINKS {
        let path = tree.join(name);
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(Error::at("write", &path))?;
    }
    Ok(())
}

/// The names of the controls, from their options.
pub(crate) fn names() -> Vec<String> {
    let options = FILES[0].1.lines();
    let names =
        options.filter_map(|line| line.strip_prefix("config ")?.trim().strip_prefix(PREFIX));
    names.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_two_folders_that_a_control_includes_is_added() {
        let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
        let mut there: Vec<String> = fs::read_dir(bpf.join("kernel"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let included = |text: &str| {
            let lines = text.lines();
            let quoted =
                lines.filter_map(|line| line.strip_prefix("#include \"")?.split('"').next());
            quoted.map(str::to_owned).collect::<Vec<_>>()
        };
        for name in there.clone() {
            let text = fs::read_to_string(bpf.join("kernel").join(name)).unwrap();
            there.extend(
                included(&text)
                    .into_iter()
                    .filter(|name| name.starts_with("core/")),
            );
        }
        let mut left = there.clone();
        while let Some(name) = left.pop() {
            let Some(name) = name.strip_prefix("core/") else {
                continue;
            };
            let text = fs::read_to_string(bpf.join("core").join(name)).unwrap();
            let more = included(&text)
                .into_iter()
                .map(|name| format!("core/{name}"));
            let new: Vec<_> = more.filter(|name| !there.contains(name)).collect();
            there.extend(new.clone());
            left.extend(new);
        }
        there.sort();
        there.dedup();
        let mut added: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        added.sort();
        assert_eq!(added, there);
    }

    #[test]
    fn the_options_name_the_controls() {
        assert_eq!(names(), ["prague", "bbr2", "bbr3", "compound"]);
    }
}
