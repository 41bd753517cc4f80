//! Settings of the thread that runs a link, for as long as it does.

use std::io;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// Timers of the calling thread are exact (a slack of 1 ns instead of the usual 50 µs) until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct PacingThread {
    slack: Option<NonZeroU64>,
    /// The guard belongs to this thread only.
    not_send: PhantomData<*const ()>,
}

impl PacingThread {
    /// Prepares the calling thread.
    pub(crate) fn enter() -> io::Result<Self> {
        let thread = Self {
            slack: NonZeroU64::new(current_timer_slack()?),
            not_send: PhantomData,
        };
        set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(thread)
    }
}

impl Drop for PacingThread {
    fn drop(&mut self) {
        // Going back needs no rights, and nothing depends on it.
        let _ = set_current_timer_slack(self.slack);
    }
}

/// Puts the calling thread under SCHED_FIFO with `priority`, 1 to 99, for good. Needs CAP_SYS_NICE or
/// RLIMIT_RTPRIO, so it comes before a thread gives up its rights.
///
/// It shortens the tail of the lateness while the thread needs less than half a processor. Above that
/// it does harm: real-time throttling then stalls the thread for tens of milliseconds at a time.
pub fn become_realtime(priority: u8) -> io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: i32::from(priority),
    };
    // SAFETY: 0 is the calling thread; the kernel only reads the parameter.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_exact_only_while_a_link_runs() {
        let before = current_timer_slack().unwrap();
        let thread = PacingThread::enter().unwrap();
        assert_eq!(current_timer_slack().unwrap(), 1);
        drop(thread);
        assert_eq!(current_timer_slack().unwrap(), before);
    }

    #[test]
    fn a_priority_that_the_system_refuses_is_an_error() {
        // SAFETY: no memory.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        assert!(become_realtime(200).is_err());
        assert_eq!(policy(), before);
    }
}
