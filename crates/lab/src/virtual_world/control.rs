//! The folder through which host and guest talk.
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `task.json` | host, before | what to run, and where the result goes |
//! | `program` | host, before | a link to the program that is the guest's first process |
//! | `progress` | guest | how far the run is, in nanoseconds |
//! | `stop` | host | nothing; it asks the guest to end |
//! | `end.json` | guest, at the end | how the run ended |
//! | `lock` | host | nothing; it is locked while the host's half lives |
//!
//! The kernel keeps its own few files there too. The folder is removed with the host's half; one whose host was killed is
//! removed when the next one is made. Whatever the umask, only its owner may open it, who is the guest's user if root started
//! the guest. Its files may hold anything: links are not followed, and nothing is waited for.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use quell_kernel::held::{Held, Identity};
use quell_kernel::machine::is_plain;
use quell_results::folder_lock::Claim;
use quell_units::Time;
use rustix::fs::{Mode, OFlags, open};
use serde::Serialize;

use super::task::{End, Task};
use crate::RunError;

/// How the folder's name begins.
const PREFIX: &str = "quell-guest-";
/// The link to the program.
pub(super) const PROGRAM: &str = "program";
const TASK: &str = "task.json";
const PROGRESS: &str = "progress";
const STOP: &str = "stop";
const END: &str = "end.json";
/// Where the result's folder is mounted for a guest that has a user of its own.
const RESULTS: &str = "results";

/// The most that is read of what a guest has written, in bytes.
const LONGEST: u64 = 1 << 20;

/// The folder, on either side.
#[derive(Debug)]
pub(super) struct Control {
    /// On the host's side one that nobody can make lead elsewhere: the folder becomes the guest's, which may rename it.
    path: PathBuf,
    /// On the host's side: gone with this value.
    folder: Option<Claim>,
}

impl Control {
    /// A new one, where temporary files go.
    pub(super) fn create() -> Result<Self, RunError> {
        let usual = std::env::temp_dir();
        let place = if is_plain(&usual) {
            usual
        } else {
            "/tmp".into()
        };
        let claim = Claim::temporary(&place, PREFIX).map_err(RunError::writing(&place))?;
        Ok(Self {
            path: claim.folder().path(),
            folder: Some(claim),
        })
    }

    /// The guest's view of the folder at `path`.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, folder: None }
    }

    /// As the guest knows it.
    pub(super) fn path(&self) -> &Path {
        let host = self.folder.as_ref();
        host.map_or(self.path.as_path(), |claim| claim.folder().named())
    }

    /// What the folder is, on the host's side.
    pub(super) fn identity(&self) -> io::Result<Identity> {
        match &self.folder {
            Some(claim) => claim.folder().identity(),
            None => Held::open(&self.path)?.identity(),
        }
    }

    /// The result's folder, as a guest with a user of its own knows it.
    pub(super) fn path_of_results(&self) -> PathBuf {
        self.path().join(RESULTS)
    }

    pub(super) fn give(&self, task: &Task) -> Result<(), RunError> {
        self.write(TASK, task)
    }

    pub(super) fn task(&self) -> io::Result<Task> {
        Ok(serde_json::from_slice(&fs::read(self.path.join(TASK))?)?)
    }

    pub(super) fn link_program(&self, program: &Path) -> Result<(), RunError> {
        let link = self.path.join(PROGRAM);
        symlink(program, &link).map_err(RunError::writing(&link))
    }

    /// Reports progress. An error is ignored: it would only stop a progress bar.
    pub(super) fn tell(&self, now: Time) {
        let _ = fs::write(self.path.join(PROGRESS), now.as_nanos().to_string());
    }

    pub(super) fn progress(&self) -> Option<Time> {
        let text = read_plain(&self.path.join(PROGRESS)).ok()?;
        text.parse().ok().map(Time::from_nanos)
    }

    pub(super) fn ask_to_stop(&self) -> Result<(), RunError> {
        let path = self.path.join(STOP);
        match fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop).map_err(RunError::writing(&path)),
        }
    }

    pub(super) fn is_asked_to_stop(&self) -> bool {
        self.path.join(STOP).exists()
    }

    pub(super) fn finish(&self, end: &End) -> Result<(), RunError> {
        self.write(END, end)
    }

    pub(super) fn end(&self) -> Option<End> {
        serde_json::from_str(&read_plain(&self.path.join(END)).ok()?).ok()
    }

    /// Gives the folder, and the task in it, to `user`. Returns the paths over which the program and the result are mounted.
    pub(super) fn give_to(&self, user: u32) -> io::Result<[PathBuf; 2]> {
        let [task, program, results] = [TASK, PROGRAM, RESULTS].map(|name| self.path.join(name));
        fs::write(&program, "")?;
        fs::create_dir(&results)?;
        for path in [&task, &program, &results] {
            chown(path, Some(user), Some(user))?;
        }
        if let Some(claim) = &self.folder {
            claim.folder().give(user, user)?;
        }
        Ok([PROGRAM, RESULTS].map(|name| self.path().join(name)))
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let path = self.path.join(name);
        let write = || fs::write(&path, serde_json::to_vec(value)?);
        write().map_err(RunError::writing(&path))
    }
}

/// The text of a short file that a guest has written. A link is not followed, and a pipe is not waited for.
fn read_plain(path: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let host = Control::create().unwrap();
        let guest = Control::at(host.path().to_owned());
        assert_eq!((host.progress(), host.end()), (None, None));
        guest.tell(Time::from_millis(1_500));
        assert_eq!(host.progress(), Some(Time::from_millis(1_500)));
        assert!(!guest.is_asked_to_stop());
        host.ask_to_stop().unwrap();
        assert!(guest.is_asked_to_stop());
        let end = End::Refused {
            what: "because".to_owned(),
            fix: Some("so".to_owned()),
        };
        guest.finish(&end).unwrap();
        assert_eq!(host.end(), Some(end));
        let path = host.path().to_owned();
        drop(host);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_guest_left_is_neither_followed_nor_waited_for() {
        let host = Control::create().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), "7").unwrap();
        for name in [PROGRESS, STOP] {
            symlink(outside.path(), host.path().join(name)).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, host.path().join(END), Mode::RUSR).unwrap();
        assert_eq!((host.progress(), host.end()), (None, None));
        host.ask_to_stop().unwrap();
        assert_eq!(fs::read_to_string(outside.path()).unwrap(), "7");
    }
}
