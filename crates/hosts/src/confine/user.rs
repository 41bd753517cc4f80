//! Another user, for a program that must not run as ours.
//!
//! From credentials(7) and capabilities(7). Real, effective and saved ids change together and the supplementary groups go, so
//! there is no way back; the change takes every effective and permitted capability along unless the caller asks to keep them.

use super::Error;
use super::error::cannot;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The user that has no files and no rights.
pub const NOBODY: u32 = 65_534;

/// The first of the user ids that no system assigns (systemd, "Users, Groups, UIDs and GIDs": from 1 879 048 192 on).
const FREE: u32 = 0x7000_0000;

/// A user id that no other process has: number `number` of the process `id`.
///
/// It is unique among those that the processes of one process-id namespace choose at the same time, for `number` below 64.
pub const fn of_its_own(id: u32, number: u32) -> u32 {
    // Process ids are below 2^22 (PID_MAX_LIMIT), so this ends below 2^31.
    FREE + ((id & 0x3f_ffff) << 6) + (number & 63)
}

/// Whether a user id is one of those that [`of_its_own`] gives.
pub const fn is_of_its_own(id: u32) -> bool {
    id >= FREE && id >> 31 == 0
}

/// Makes the calling thread one of `uid` and `gid`, without other groups. Needs CAP_SETUID and CAP_SETGID.
///
/// With `keep`, the permitted capabilities stay permitted, but are no longer effective.
pub fn become_user(uid: u32, gid: u32, keep: bool) -> Result<(), Error> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let refused = || cannot("become another user");
    set_thread_groups(&[]).map_err(refused())?;
    set_thread_res_gid(gid, gid, gid).map_err(refused())?;
    if keep {
        set_keep_capabilities(true).map_err(refused())?;
    }
    set_thread_res_uid(uid, uid, uid).map_err(refused())?;
    if keep {
        set_keep_capabilities(false).map_err(refused())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_guests_share_a_user_and_none_is_a_users() {
        let all: Vec<u32> = [1, 2, (1 << 22) - 1]
            .into_iter()
            .flat_map(|id| (0..64).map(move |number| of_its_own(id, number)))
            .collect();
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|uid| (FREE..1 << 31).contains(uid)));
        assert!(all.iter().all(|uid| is_of_its_own(*uid)));
        assert!(
            ![0, 1000, NOBODY, FREE - 1, 1 << 31]
                .into_iter()
                .any(is_of_its_own)
        );
    }
}
