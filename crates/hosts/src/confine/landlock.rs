//! Landlock: the kernel refuses what a confined program does not need, whatever user it runs as.
//!
//! From landlock(7). The kernel refuses to write, make and remove files outside of some folders (Linux 5.13; to truncate them
//! from 6.2 on, device ioctls from 6.10), to open or listen for TCP connections (6.7), and to send signals and open abstract
//! sockets to processes outside (6.12). Reading stays as it was. What the running kernel does not know is left out; where it
//! has no Landlock at all, nothing is refused and the answer is [`Enforced::Not`].

use std::path::Path;

use super::Error;
use super::error::cannot;
use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

/// The newest version whose refusals are asked for.
const NEWEST: ABI = ABI::V6;

/// How much of it the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforced {
    /// Everything at the head of this module.
    Wholly,
    /// What this kernel's version of Landlock has; files at least.
    Partly,
    /// Nothing: the kernel has no Landlock, or it is switched off.
    Not,
}

/// Whether TCP and processes outside stay within reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// TCP connections, and signals to other processes, are refused too.
    Refused,
    /// They are allowed as before.
    Allowed,
}

/// From now on this thread, and what it starts, writes files beneath `writable` only. A path may be that of a file.
pub fn write_only_beneath(writable: &[&Path], outside: Outside) -> Result<Enforced, Error> {
    Ok(restrict(writable, outside)?)
}

fn restrict(writable: &[&Path], outside: Outside) -> Result<Enforced, ::landlock::RulesetError> {
    let writing = AccessFs::from_write(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?;
    if outside == Outside::Refused {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?;
    }
    let mut created = ruleset.create()?;
    for path in writable {
        // What is not there cannot be written.
        let Ok(file) = PathFd::new(path) else {
            continue;
        };
        let rights = if path.is_dir() {
            writing
        } else {
            on_a_file(writing)
        };
        created = created.add_rule(PathBeneath::new(file, rights))?;
    }
    let status = created.restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Enforced::Wholly,
        RulesetStatus::PartiallyEnforced => Enforced::Partly,
        RulesetStatus::NotEnforced => Enforced::Not,
    })
}

/// The rights that a single file can have.
fn on_a_file(rights: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    rights & (AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev)
}

/// How much of it this kernel enforces; tried on a thread that ends at once.
pub fn probe() -> Result<Enforced, Error> {
    let tried = std::thread::Builder::new().spawn(|| {
        super::capabilities::forbid_new()?;
        write_only_beneath(&[], Outside::Refused)
    });
    tried
        .map_err(cannot("start a thread"))?
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::net::TcpListener;

    #[test]
    fn files_are_written_inside_and_nowhere_else() {
        if matches!(probe(), Ok(Enforced::Not) | Err(_)) {
            eprintln!("not run: files_are_written_inside_and_nowhere_else: no Landlock");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [inside, outside] = ["inside", "outside"].map(|name| folder.path().join(name));
        for path in [&inside, &outside] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("old"), "old").unwrap();
        }
        let tried = std::thread::spawn(move || {
            crate::confine::capabilities::forbid_new().unwrap();
            let enforced = write_only_beneath(&[&inside], Outside::Refused).unwrap();
            fs::write(inside.join("new"), "new").unwrap();
            fs::write(inside.join("old"), "new").unwrap();
            assert_eq!(fs::read_to_string(outside.join("old")).unwrap(), "old");
            for name in ["new", "old"] {
                let refused = fs::write(outside.join(name), "new").unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{name}");
            }
            assert!(fs::remove_file(outside.join("old")).is_err());
            assert!(fs::rename(inside.join("new"), outside.join("new")).is_err());
            // What is started later is as confined.
            let shell = std::process::Command::new("sh")
                .args(["-c", "echo >\"$0\"/old"])
                .arg(&outside)
                .output()
                .unwrap();
            assert!(!shell.status.success());
            if enforced == Enforced::Wholly {
                let refused = TcpListener::bind(("127.0.0.1", 0)).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            }
        });
        tried.join().unwrap();
    }
}
