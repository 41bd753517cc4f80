//! Decides whether anybody else could have replaced a kernel: whoever may write it, its folder, or a folder above.
//!
//! The rule, for the file itself and for each folder up to `/`:
//!
//! * It belongs to root or to whoever starts the kernel. If root starts it, the kernel and its folders may also belong to one
//!   other user: it then runs as that user ([`Trusted::owner`]), who gains nothing by it.
//! * Nobody else may write it: not everybody, and no group but the owner's own (the group of the owner's number, which many
//!   distributions give each user). A folder with the sticky bit, as `/tmp`, is different: there others cannot replace what is
//!   not theirs.
//! * In a user namespace, as a container has, owners from outside all look alike (the kernel's overflow user). Nobody inside can
//!   act as one of them, so they count as root; that is whom `/` belongs to there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::geteuid;

use crate::{Error, Reason, Result};

/// The permission bits of stat(2).
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// A kernel that could have been replaced only by users who may run programs as the caller anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trusted {
    /// The user that the image belongs to: root, the caller, or another one where root is the caller.
    pub owner: u32,
}

/// Judges the files of a kernel called `name`, the first of which is its image.
pub(super) fn judge(name: &str, files: &[&Path]) -> Result<Trusted> {
    let caller = geteuid().as_raw();
    let image = fs::metadata(files[0]).map_err(Error::at("find", files[0]))?;
    let owner = image.uid();
    let judge = Judge {
        caller,
        // Root may run what is another's, as that other.
        other: (caller == 0).then_some(owner),
        outsider: outsider(),
    };
    for file in files {
        let path = fs::canonicalize(file).map_err(Error::at("find", file))?;
        for place in path.ancestors() {
            let of = fs::symlink_metadata(place).map_err(Error::at("look at", place))?;
            if let Some(why) = judge.objects(&of) {
                return Err(Error::refused(refusal(name, place, &why)));
            }
        }
    }
    Ok(Trusted { owner })
}

fn refusal(name: &str, place: &Path, why: &str) -> Reason {
    let place = place.display();
    Reason::with_fix(
        format!(
            "kernel {name} is not started, because others could have replaced it: {place} {why}"
        ),
        format!(
            "if you trust what is there, chmod go-w (or chown) {place}; otherwise quell kernel remove {name}, and build or add \
             it again"
        ),
    )
}

struct Judge {
    caller: u32,
    other: Option<u32>,
    /// The number that unknown owners have.
    outsider: Option<u32>,
}

impl Judge {
    /// What is wrong with a file or folder, as the end of a sentence about it.
    fn objects(&self, of: &Metadata) -> Option<String> {
        self.to(of.uid(), of.gid(), of.mode(), of.is_dir())
    }

    fn to(&self, uid: u32, gid: u32, mode: u32, is_folder: bool) -> Option<String> {
        let known = [Some(0), Some(self.caller), self.other, self.outsider];
        if !known.contains(&Some(uid)) {
            return Some(format!("belongs to user {uid}"));
        }
        if is_folder && mode & STICKY != 0 {
            return None;
        }
        let bits = mode & 0o7777;
        if mode & OTHERS_WRITE != 0 {
            return Some(format!("may be written by everybody (mode {bits:04o})"));
        }
        if mode & GROUP_WRITES != 0 && gid != uid {
            return Some(format!("may be written by group {gid} (mode {bits:04o})"));
        }
        None
    }
}

/// The owner that files of nobody in this user namespace seem to have; `None` where every user is known.
fn outsider() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    stranger(&map, overflow.trim().parse().ok()?)
}

/// The same of the text of `uid_map`: lines of the first number inside, outside, and how many there are.
fn stranger(map: &str, overflow: u32) -> Option<u32> {
    let knows = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(inside)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return false;
        };
        (inside..inside + count).contains(&u64::from(overflow))
    };
    // Where the number is somebody's inside, an owner from outside cannot be told from that one.
    (!map.lines().any(knows)).then_some(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_own_and_write_what_is_started() {
        let user = Judge {
            caller: 1000,
            other: None,
            outsider: None,
        };
        let root = Judge {
            caller: 0,
            other: Some(1000),
            outsider: None,
        };
        let inside = Judge {
            caller: 1000,
            other: None,
            outsider: Some(65_534),
        };
        for (judge, (uid, gid, mode, is_folder), why) in [
            (&user, (1000, 1000, 0o755, true), None),
            (&user, (0, 0, 0o755, true), None),
            (&user, (1000, 1000, 0o775, true), None),
            (&user, (0, 0, 0o1777, true), None),
            (&user, (0, 0, 0o1777, false), Some("everybody")),
            (&user, (1000, 1000, 0o777, true), Some("everybody")),
            (&user, (1000, 1000, 0o757, false), Some("everybody")),
            (&user, (1000, 100, 0o775, true), Some("group 100")),
            (&user, (0, 50, 0o775, true), Some("group 50")),
            (&user, (1001, 1001, 0o755, true), Some("user 1001")),
            // In a sticky folder too: its owner replaces what he likes.
            (&user, (1001, 1001, 0o1777, true), Some("user 1001")),
            (&user, (65_534, 65_534, 0o755, true), Some("user 65534")),
            (&inside, (65_534, 65_534, 0o755, true), None),
            (&root, (1000, 1000, 0o755, false), None),
            (&root, (1001, 1001, 0o755, true), Some("user 1001")),
        ] {
            let found = judge.to(uid, gid, mode, is_folder);
            let says = found.as_deref().unwrap_or_default();
            assert_eq!(found.is_some(), why.is_some(), "{uid} {mode:o}: {says}");
            assert!(says.contains(why.unwrap_or_default()), "{says}");
        }
    }

    #[test]
    fn strangers_are_known_where_the_map_has_no_room_for_them() {
        let (full, one) = ("0 0 4294967295", "1000 1000 1");
        assert_eq!(stranger(full, 65_534), None);
        assert_eq!(stranger(one, 65_534), Some(65_534));
        assert_eq!(stranger("0 1000 1\n1 100000 65536", 65_534), None);
    }
}
