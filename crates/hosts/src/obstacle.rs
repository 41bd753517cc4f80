//! What keeps a process from a file that is there: a folder on the way that it may not enter, or the file itself.
//!
//! The kernel says only that permission is denied (path_resolution(7)), and whoever looks at a file with more rights than its user will have sees
//! no reason at all. So every step of the path is tried here, symbolic links included, with the rights of the calling process.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

/// Symbolic links that the kernel follows on one path (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: u32 = 40;

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// This folder may not be entered.
    Folder(PathBuf),
    /// The file itself may not be read, or executed.
    File(PathBuf),
}

impl fmt::Display for Obstacle {
    /// The end of "who may not …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, path) = match self {
            Self::Folder(path) => ("enter", path),
            Self::File(path) => ("read", path),
        };
        write!(f, "{verb} {}", path.display())?;
        match fs::symlink_metadata(path) {
            Ok(of) => write!(
                f,
                " (mode {:04o}, of user {})",
                of.mode() & 0o7777,
                of.uid()
            ),
            Err(_) => Ok(()),
        }
    }
}

/// What keeps the calling process from the file or folder at `path`; nothing where it may use it, or where there is none. Of a script also what
/// keeps it from its interpreter.
pub fn on_the_way_to(path: &Path) -> Option<Obstacle> {
    let found = match steps(path) {
        Ok(found) => found?,
        Err(obstacle) => return Some(obstacle),
    };
    if found.is_dir() {
        return refuses(&found, Access::EXEC_OK).then_some(Obstacle::Folder(found));
    }
    if refuses(&found, Access::READ_OK) {
        return Some(Obstacle::File(found));
    }
    match steps(&interpreter(&found)?) {
        Ok(interpreter) => {
            let interpreter = interpreter?;
            refuses(&interpreter, Access::READ_OK).then_some(Obstacle::File(interpreter))
        }
        Err(obstacle) => Some(obstacle),
    }
}

/// Where `path` leads, without links; nothing where it leads nowhere.
fn steps(path: &Path) -> Result<Option<PathBuf>, Obstacle> {
    let Ok(path) = std::path::absolute(path) else {
        return Ok(None);
    };
    let names = |path: &Path| -> Vec<OsString> {
        let components = path.components().rev();
        let names = components.filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        names.collect()
    };
    let (mut left, mut here, mut links) = (names(&path), PathBuf::from("/"), 0);
    while let Some(name) = left.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(name);
        let found = match fs::symlink_metadata(&next) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(Obstacle::Folder(here));
            }
            Err(_) => return Ok(None),
        };
        if !found.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        let Some(target) = fs::read_link(&next).ok().filter(|_| links <= MOST_LINKS) else {
            return Ok(None);
        };
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        left.extend(names(&target));
    }
    Ok(Some(here))
}

fn refuses(path: &Path, wanted: Access) -> bool {
    access(path, wanted) == Err(rustix::io::Errno::ACCESS)
}

/// The interpreter of a script, from its first line (execve(2)).
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut line = [0; 256];
    let mut file = fs::File::open(path).ok()?;
    let length = std::io::Read::read(&mut file, &mut line).ok()?;
    let line = line[..length].strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use crate::confine::capabilities::{CapabilitySet, keep_only};
    use crate::confine::user::{NOBODY, become_user};

    /// What `f` finds as nobody, or as this user without rights.
    fn as_nobody<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    become_user(NOBODY, NOBODY, true).unwrap();
                }
                keep_only(CapabilitySet::empty()).unwrap();
                f()
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn the_first_step_that_is_refused_is_named() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&place, 0o755);
        for folder in ["home/bin", "open"] {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        fs::write(place.join("home/bin/python"), "").unwrap();
        fs::write(place.join("open/closed"), "").unwrap();
        symlink("../home/bin/python", place.join("open/python")).unwrap();
        symlink(place.join("open/python"), place.join("python")).unwrap();
        symlink("loop", place.join("loop")).unwrap();
        let script = format!("#!{}/open/python -u\n", place.display());
        fs::write(place.join("open/script"), script).unwrap();
        fs::write(place.join("open/program"), [0x7f, b'E', b'L', b'F']).unwrap();
        mode(&place.join("home"), 0);
        mode(&place.join("open/closed"), 0);
        let home = Some(Obstacle::Folder(place.join("home")));
        let cases = [
            ("home/bin/python", home.clone()),
            ("home", home.clone()),
            ("python", home.clone()),
            ("open/script", home),
            (
                "open/closed",
                Some(Obstacle::File(place.join("open/closed"))),
            ),
            ("open/program", None),
            ("open", None),
            ("open/missing", None),
            ("loop", None),
        ];
        let found = as_nobody(|| {
            cases
                .clone()
                .map(|(name, _)| on_the_way_to(&place.join(name)))
        });
        mode(&place.join("home"), 0o700);
        for ((name, expected), found) in cases.into_iter().zip(found) {
            assert_eq!(found, expected, "{name}");
        }
        let said = Obstacle::Folder(place.join("home")).to_string();
        assert!(
            said.starts_with("enter /") && said.contains("(mode 0700, of user "),
            "{said}"
        );
    }
}
