//! From a process of ours to the kernel: what can only be asked for by the process itself.
//!
//! Runs between fork and the kernel, as a program of its own, so that nothing unsafe is needed: a process group of its own
//! (setpgid(2)), death with the parent (prctl(2), PR_SET_PDEATHSIG; it survives execve(2)), no core dumps, and a seccomp filter
//! that answers getrandom(2) with ENOSYS. The kernel stirs the host's random bytes into its own pool at start
//! (arch/um/include/asm/archrandom.h); without them it begins with an empty pool, and what its first process adds decides
//! everything random inside. C libraries fall back to the clock and addresses where they only wanted to be hard to guess.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::processor::{self, Processor};
use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setpgid, setrlimit,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

/// The word in front of the kernel's path that asks for [narrow registers](super::registers).
pub(super) const NARROW: &str = "--narrow-registers";

/// What the word begins with that names the processor.
const ON: &str = "--processor=";

/// The word that names a processor.
pub(super) fn on(processor: &Processor) -> String {
    format!("{ON}{}", processor.number())
}

/// `PTRACE_GETREGSET` of include/uapi/linux/ptrace.h and `NT_X86_XSTATE` of include/uapi/linux/elf.h.
const GET_REGISTER_SET: u64 = 0x4204;
const EXTENDED_STATE: u64 = 0x202;

/// Becomes the kernel that `words` say: its path, then its arguments. Returns only if that failed.
pub fn become_kernel(words: impl Iterator<Item = OsString>) -> io::Error {
    let mut words = words.peekable();
    let narrow = words.next_if(|word| word == NARROW).is_some();
    let processor = words
        .next_if(|word| word.to_string_lossy().starts_with(ON))
        .and_then(|word| word.to_str()?.strip_prefix(ON)?.parse().ok());
    let Some(kernel) = words.next() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "which kernel?");
    };
    if let Some(processor) = processor {
        // Slower without, and as right.
        let _ = processor::keep_to(processor);
    }
    if let Err(error) = prepare(narrow) {
        return error;
    }
    Command::new(kernel).args(words).exec()
}

fn prepare(narrow: bool) -> io::Result<()> {
    setpgid(None, None)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Whoever died before the line above cannot tell us any more.
    if getppid().is_none_or(|parent| parent.is_init()) {
        return Err(io::Error::other("who started this kernel is gone"));
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    let filter = filter(narrow).map_err(io::Error::other)?;
    apply_filter(&filter).map_err(io::Error::other)
}

/// getrandom(2) does not exist; nor does, with narrow registers, the request for all of a process's registers. Everything
/// else does.
fn filter(narrow: bool) -> Result<BpfProgram, BackendError> {
    let mut absent = BTreeMap::from([(libc::SYS_getrandom, Vec::new())]);
    if narrow {
        let is = |argument, value| {
            let whole = SeccompCmpArgLen::Qword;
            SeccompCondition::new(argument, whole, SeccompCmpOp::Eq, value)
        };
        let rule = SeccompRule::new(vec![is(0, GET_REGISTER_SET)?, is(2, EXTENDED_STATE)?])?;
        absent.insert(libc::SYS_ptrace, vec![rule]);
    }
    let filter = SeccompFilter::new(
        absent,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_can_be_built_either_way_and_is_longer_with_narrow_registers() {
        let lengths = [false, true].map(|narrow| filter(narrow).unwrap().len());
        assert!(lengths[0] > 3 && lengths[1] > lengths[0], "{lengths:?}");
    }
}
