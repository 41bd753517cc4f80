//! Least privilege: once set up, a thread keeps CAP_NET_ADMIN and CAP_NET_RAW and loses everything else, for good.
//!
//! From capabilities(7). The bounding and ambient sets go too, and no_new_privs is set, so that no program started later gets
//! anything back. Capabilities belong to a thread: a thread started afterwards inherits the reduced set, one started before
//! keeps its own. Entering a namespace needs CAP_SYS_ADMIN and loading BPF needs CAP_BPF; so: load, enter, then drop.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use crate::Result;
use crate::error::Doing as _;

/// What a running link and its hosts need: packet sockets (`SO_RCVBUFFORCE`, restricted congestion controls, raw frames).
pub const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// The effective set of the calling thread.
pub fn effective() -> Result<CapabilitySet> {
    Ok(capabilities(None)
        .doing(|| "read the thread's capabilities")?
        .effective)
}

/// Drops everything but [`KEPT`] from the calling thread; what it did not have it does not get. Returns the effective set.
pub fn drop_to_network() -> Result<CapabilitySet> {
    set_no_new_privs(true).doing(|| "set no_new_privs")?;
    drop_bounding()?;
    clear_ambient_capability_set().doing(|| "clear the ambient capabilities")?;
    let had = capabilities(None).doing(|| "read the thread's capabilities")?;
    let kept = CapabilitySets {
        effective: had.effective & KEPT,
        permitted: had.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).doing(|| "drop capabilities")?;
    effective()
}

fn drop_bounding() -> Result<()> {
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(capability) {
            // The first number that the kernel does not know ends the list.
            Err(_) => break,
            Ok(true) if !KEPT.contains(capability) => {
                match remove_capability_from_bounding_set(capability) {
                    // Without CAP_SETPCAP the bounding set stays; no_new_privs already keeps it from giving anything.
                    Ok(()) | Err(Errno::PERM) => {}
                    Err(errno) => {
                        return Err(errno).doing(|| "shrink the bounding set of capabilities");
                    }
                }
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_thread_keeps_at_most_the_two_network_capabilities() {
        let before = effective().unwrap();
        let after = thread::spawn(|| drop_to_network().unwrap()).join().unwrap();
        assert_eq!(after, before & KEPT);
        assert_eq!(effective().unwrap(), before, "other threads keep theirs");
    }

    #[test]
    fn what_is_dropped_stays_dropped_in_threads_and_programs_started_later() {
        let status = thread::spawn(|| {
            let kept = drop_to_network().unwrap();
            assert_eq!(thread::spawn(|| effective().unwrap()).join().unwrap(), kept);
            let output = std::process::Command::new("cat")
                .arg("/proc/self/status")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        })
        .join()
        .unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
        };
        assert_eq!(field("NoNewPrivs:"), 1);
        for set in ["CapEff:", "CapPrm:"] {
            assert_eq!(field(set) & !KEPT.bits(), 0, "{set}");
        }
    }
}
