//! Another user of this host, by name: for a program that shall not run as root.
//!
//! From getpwnam_r(3) and getgrouplist(3): so users of a directory service count, too. A number, or two with a colon, is a user without a name.

use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};

use crate::confine::user::become_user;
use rustix::process::Gid;
use rustix::thread::set_thread_groups;

/// A user of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Name, or the number as it was given.
    pub name: String,
    /// Number.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// All of its groups.
    pub groups: Vec<u32>,
    /// Where it is at home, where that is known.
    pub home: Option<PathBuf>,
}

/// The longest list of groups (NGROUPS_MAX of linux/limits.h).
const MOST_GROUPS: usize = 65_536;
/// Room for the words of an account; more is asked for where that is too little.
const WORDS: usize = 1 << 12;
/// No account has more words.
const MOST_WORDS: usize = 1 << 20;

impl Account {
    /// The user `NAME`, or `UID` or `UID:GID` in numbers.
    ///
    /// # Errors
    ///
    /// There is no such user, or its account cannot be read.
    pub fn find(text: &str) -> io::Result<Self> {
        let (user, group) = text.split_once(':').unwrap_or((text, text));
        if let (Ok(user), Ok(group)) = (user.parse::<u32>(), group.parse::<u32>()) {
            return Ok(Self {
                name: text.to_owned(),
                user,
                group,
                groups: vec![group],
                home: None,
            });
        }
        let name = CString::new(text)?;
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no such user");
        let mut words = vec![0; WORDS];
        loop {
            // SAFETY: an account of zeros and null pointers is a valid value; the call fills it or leaves it.
            let mut account: libc::passwd = unsafe { std::mem::zeroed() };
            let mut found = std::ptr::null_mut();
            // SAFETY: all pointers are of values that live longer than the call, and the length is that of `words`.
            let failed = unsafe {
                libc::getpwnam_r(
                    name.as_ptr(),
                    &mut account,
                    words.as_mut_ptr(),
                    words.len(),
                    &mut found,
                )
            };
            match failed {
                libc::ERANGE if words.len() < MOST_WORDS => words.resize(words.len() * 2, 0),
                // getpwnam(3) lists these for a name that is not found.
                0 | libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM if found.is_null() => {
                    return Err(none());
                }
                0 => {
                    let home = match account.pw_dir.is_null() {
                        true => None,
                        // SAFETY: it ends with a zero, within `words`, which nothing has changed since.
                        false => unsafe { CStr::from_ptr(account.pw_dir) }.to_str().ok(),
                    };
                    return Ok(Self {
                        name: text.to_owned(),
                        user: account.pw_uid,
                        group: account.pw_gid,
                        groups: groups(&name, account.pw_gid)?,
                        home: home.map(PathBuf::from),
                    });
                }
                errno => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    /// Variables of the environment that say who it is.
    pub fn variables(&self) -> Vec<(String, String)> {
        let home = self.home.as_deref().and_then(Path::to_str);
        let home = home.map(|home| ("HOME".to_owned(), home.to_owned()));
        let names = ["USER", "LOGNAME"].map(|variable| (variable.to_owned(), self.name.clone()));
        names.into_iter().chain(home).collect()
    }

    /// Makes the calling process one of this user, without any right that is not permitted already; those stay, but are not effective. Needs
    /// CAP_SETUID and CAP_SETGID.
    ///
    /// # Errors
    ///
    /// It has no such right.
    pub fn become_it(&self) -> io::Result<()> {
        // Groups come last, while what is permitted still is.
        become_user(self.user, self.group, true).map_err(io::Error::other)?;
        crate::confine::capabilities::use_permitted().map_err(io::Error::other)?;
        let groups: Vec<Gid> = self.groups.iter().map(|one| Gid::from_raw(*one)).collect();
        Ok(set_thread_groups(&groups)?)
    }
}

fn groups(name: &CStr, own: u32) -> io::Result<Vec<u32>> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).map_err(io::Error::other)?;
        // SAFETY: the list has room for `count` groups, and the name ends with a zero.
        let found =
            unsafe { libc::getgrouplist(name.as_ptr(), own, groups.as_mut_ptr(), &mut count) };
        match found {
            0.. => {
                groups.truncate(usize::try_from(found).unwrap_or(0));
                return Ok(groups);
            }
            _ if groups.len() < MOST_GROUPS => groups.resize(groups.len() * 4, 0),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_taken_by_number() {
        let root = Account::find("root").unwrap();
        assert_eq!((root.user, root.group), (0, 0));
        assert!(root.groups.contains(&0) && root.home.is_some());
        let number = Account::find("1234:567").unwrap();
        assert_eq!((number.user, number.group), (1234, 567));
        assert_eq!(number.groups, [567]);
        assert_eq!(Account::find("1234").unwrap().group, 1234);
        let none = Account::find("no-such-user-of-quell").unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
        assert!(Account::find("a\0b").is_err() && Account::find("").is_err());
    }
}
