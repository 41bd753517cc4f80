//! The kernel's command line.
//!
//! The kernel mixes it into its random pool (`random_init_early`), so it must be the same whenever a run is repeated: it names the
//! folder through which host and guest talk as the place where the kernel was started ([`FOLDER`]), and not by its path, which is
//! another one each time. It is split at blanks, knows few escapes, and is limited to 4 096 bytes; everything else is in that folder.

use std::path::{Path, PathBuf};

use super::MachineError;
use super::registers::NARROW_LIBRARY;

/// The folder of a machine, as its kernel knows it and as its first process finds it: by the host's `/proc`, so only until it mounts one
/// of its own.
pub const FOLDER: &str = "/proc/self/cwd";

/// The least memory that a guest starts in and a run fits into, in bytes.
pub const LEAST_MEMORY: u64 = 96 << 20;

/// The arguments of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// Its memory in bytes; rounded up to whole MiB, at least [`LEAST_MEMORY`]. Taken from the host as it is used.
    pub memory: u64,
    /// Time of day at its start, in nanoseconds since 1970.
    pub clock: u64,
    /// Whether it knows a faster way than ptrace(2) to run processes (`seccomp=`, Linux 6.16 and later).
    pub seccomp: bool,
    /// Whether it has IPv6, where it was built with it. Without, no namespace starts it up for nothing.
    pub ipv6: bool,
    /// Whether processes inside keep only the SSE part of their vector registers; see [`super::registers`].
    pub narrow_registers: bool,
    /// The folder of this machine: absolute and plain. The kernel is started in it, and its own files go there too.
    pub folder: PathBuf,
    /// Its first process: a name in the folder.
    pub init: String,
    /// The arguments of its first process; the same for each repetition of a run.
    pub init_arguments: Vec<String>,
}

impl Arguments {
    /// The arguments, one by one.
    pub(super) fn list(&self) -> Result<Vec<String>, MachineError> {
        plain(&self.folder)?;
        let megabytes = self.memory.max(LEAST_MEMORY).div_ceil(1 << 20);
        let mut list = vec![
            format!("mem={megabytes}M"),
            "time-travel=inf-cpu".to_owned(),
            format!("time-travel-start={}", self.clock),
            "root=/dev/root".to_owned(),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "rw".to_owned(),
            // Messages go to the log from the first; nobody types.
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            "console=tty0".to_owned(),
            // A panic ends the process instead of waiting for somebody to look.
            "panic=-1".to_owned(),
            "noreboot".to_owned(),
            format!("uml_dir={FOLDER}/"),
            "umid=kernel".to_owned(),
            format!("init={FOLDER}/{}", self.init),
        ];
        if self.seccomp {
            list.push("seccomp=auto".to_owned());
        }
        if !self.ipv6 {
            list.push("ipv6.disable=1".to_owned());
        }
        if self.narrow_registers {
            list.push(NARROW_LIBRARY.to_owned());
        }
        list.push("--".to_owned());
        list.extend(self.init_arguments.iter().cloned());
        Ok(list)
    }
}

/// Whether the kernel reads this path as it is written.
pub fn is_plain(path: &Path) -> bool {
    plain(path).is_ok()
}

fn plain(path: &Path) -> Result<&str, MachineError> {
    path.to_str()
        .filter(|text| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
            text.starts_with('/') && text.len() <= 512 && text.bytes().all(plain)
        })
        .ok_or_else(|| MachineError::Path(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(folder: &str) -> Arguments {
        Arguments {
            memory: 200_000_000,
            clock: 5,
            seccomp: true,
            ipv6: false,
            narrow_registers: false,
            folder: folder.into(),
            init: "init".to_owned(),
            init_arguments: vec!["guest".to_owned(), FOLDER.to_owned()],
        }
    }

    #[test]
    fn the_first_process_and_its_arguments_come_last() {
        let list = arguments("/tmp/a-b.c").list().unwrap();
        assert_eq!(list[0], "mem=191M", "200 MB are 190.7 MiB");
        let rest: Vec<_> = list.iter().skip_while(|word| *word != "--").collect();
        assert_eq!(rest, ["--", "guest", FOLDER]);
        assert!(list.contains(&"init=/proc/self/cwd/init".to_owned()));
        assert_eq!(list, arguments("/tmp/another").list().unwrap());
        let slow = Arguments {
            seccomp: false,
            ..arguments("/tmp/x")
        };
        assert!(
            !slow
                .list()
                .unwrap()
                .iter()
                .any(|word| word.starts_with("seccomp"))
        );
        let with_ipv6 = Arguments {
            ipv6: true,
            ..arguments("/tmp/x")
        };
        let off = "ipv6.disable=1".to_owned();
        assert!(list.contains(&off) && !with_ipv6.list().unwrap().contains(&off));
    }

    #[test]
    fn a_folder_that_the_kernel_would_misread_is_refused() {
        for folder in [
            "/tmp/a b",
            "tmp/a",
            "/tmp/a\"",
            "/tmp/ä",
            "/tmp/a,b",
            &"/a".repeat(300),
        ] {
            let refused = arguments(folder).list();
            assert!(matches!(refused, Err(MachineError::Path(_))), "{folder}");
        }
    }

    #[test]
    fn a_guest_never_has_less_memory_than_it_starts_in() {
        let tiny = Arguments {
            memory: 1,
            ..arguments("/tmp/x")
        };
        assert_eq!(tiny.list().unwrap()[0], "mem=96M");
    }
}
