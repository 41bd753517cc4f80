//! Least privilege: a thread drops the capabilities that it no longer needs, for good.
//!
//! From capabilities(7). The bounding and ambient sets are reduced too, and no_new_privs is set, so that no program started
//! later gets anything back. Capabilities belong to a thread: a thread started afterwards inherits the reduced set, one started
//! before keeps its own. Entering a namespace needs CAP_SYS_ADMIN and loading BPF needs CAP_BPF, so: load, enter, then drop.

use std::io;

use super::Error;
use super::error::cannot;
use rustix::io::Errno;
pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// What a host that opens sockets while it runs needs: restricted congestion controls, and buffers beyond the limits.
pub const HOST: CapabilitySet = CapabilitySet::NET_ADMIN;

/// What a thread that opens packet sockets needs.
pub const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// The effective set of the calling thread.
pub fn effective() -> io::Result<CapabilitySet> {
    Ok(capabilities(None)?.effective)
}

/// Sets no_new_privs (prctl(2)): no program that is started from now on gets rights from its file.
pub fn forbid_new() -> Result<(), Error> {
    set_no_new_privs(true).map_err(cannot("set no_new_privs"))
}

/// Makes effective what is permitted, for the calling thread: after a change of the user nothing is.
pub fn use_permitted() -> Result<(), Error> {
    let had = capabilities(None).map_err(cannot("read capabilities"))?;
    let all = CapabilitySets {
        effective: had.permitted,
        ..had
    };
    set_capabilities(None, all).map_err(cannot("use what is permitted"))
}

/// Drops everything but [`KEPT`] from the calling thread, which gains nothing that it did not have. Returns the effective set.
pub fn drop_to_network() -> Result<CapabilitySet, Error> {
    keep_only(KEPT)
}

/// Drops everything but `kept` from the calling thread, which gains nothing that it did not have. Returns the effective set.
pub fn keep_only(kept: CapabilitySet) -> Result<CapabilitySet, Error> {
    forbid_new()?;
    let had = capabilities(None).map_err(cannot("read capabilities"))?;
    if had.effective != had.permitted {
        // After a change of the user nothing is effective; to shrink the bounding set takes CAP_SETPCAP.
        use_permitted()?;
    }
    drop_bounding(kept)?;
    clear_ambient_capability_set().map_err(cannot("clear the ambient capabilities"))?;
    let sets = CapabilitySets {
        effective: had.permitted & kept,
        permitted: had.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).map_err(cannot("drop capabilities"))?;
    effective().map_err(cannot("read capabilities"))
}

/// As [`keep_only`], and programs that this thread becomes keep the same set, whatever their user: it is inheritable and ambient. Returns the
/// effective set.
pub fn hand_on_only(kept: CapabilitySet) -> Result<CapabilitySet, Error> {
    let kept = keep_only(kept)?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    set_capabilities(None, sets).map_err(cannot("make capabilities inheritable"))?;
    for capability in kept.iter() {
        configure_capability_in_ambient_set(capability, true)
            .map_err(cannot("make a capability ambient"))?;
    }
    Ok(kept)
}

fn drop_bounding(kept: CapabilitySet) -> Result<(), Error> {
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(capability) {
            // The first number that the kernel does not know ends the list.
            Err(_) => break,
            Ok(true) if !kept.contains(capability) => {
                match remove_capability_from_bounding_set(capability) {
                    // Without CAP_SETPCAP the bounding set stays; no_new_privs already keeps it from giving anything.
                    Ok(()) | Err(Errno::PERM) => {}
                    Err(errno) => {
                        return Err(cannot("shrink the bounding set of capabilities")(errno));
                    }
                }
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
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
