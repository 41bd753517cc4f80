//! Code that quell's tests share. Nothing that is shipped contains it.
//!
//! * [`not_run()`]: a test that this machine cannot run says so by name, and passes.
//! * [`Turn`]: tests in real time run one at a time, across test programs and across checkouts.
//! * [`live()`]: a test in real time whose bounds on rates and delays a busy machine excuses, on evidence: it is repeated, and in the
//!   end listed as not judged.
//! * [`load`]: that evidence.
//! * [`compare_or_bless()`]: a file of the project that a test generates, compared or written anew.
//! * [`cases`]: a test program without the usual harness.
//! * [`fake_kernel`]: kernels and kernel sources that only look so.
//! * [`l4s_beside_classic!`]: the scenario that most tests of a whole run start from.
//! * [`program`]: a program under test as a process of its own.
//!
//! A test has two kinds of claims. Those that hold on any machine are `assert!`, and nothing excuses them. Those on rates and delays
//! are [`bound!`]: they are as narrow as a quiet machine keeps them, because a machine that is not quiet is detected by other means.

#![forbid(unsafe_code)]

pub mod bless;
pub mod cases;
pub mod fake_kernel;
pub mod judge;
pub mod load;
mod not_run;
pub mod program;
mod scenario;
mod turn;

pub use bless::compare_or_bless;
pub use judge::{Missed, Run, live};
pub use not_run::not_run;
pub use turn::Turn;
