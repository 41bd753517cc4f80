//! Time as the link knows it: its clock and the kernel's receive stamps, how late something was, and
//! the timers of the thread.

mod clock;
mod lateness;
mod pacing_thread;

pub use clock::monotonic;
pub(crate) use clock::{Clock, Stamps, thread_cpu_time};
pub use lateness::Lateness;
pub(crate) use lateness::LatenessHistogram;
pub(crate) use pacing_thread::PacingThread;
pub use pacing_thread::become_realtime;
