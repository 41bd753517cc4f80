//! The laws of a queue discipline: those of [`Qdisc`](quell_aqm::Qdisc), and that each of its parameters does something.

mod laws;
#[doc(hidden)]
pub mod ledger;
#[doc(hidden)]
pub mod operations;
mod room;
mod subject;

pub use laws::{
    allocates_nothing_after_the_first_fill, every_living_parameter_changes_a_living_queue,
    every_parameter_changes_the_fate_of_some_packet, keeps_the_laws_whatever_happens,
    loses_nothing_when_the_clock_jumps, rates_make_no_parameter_unchangeable,
    refusals_change_nothing, replay,
};
pub use room::no_rate_shuts_the_queue;
pub use subject::Subject;

/// Tests that a queue discipline of the calling crate keeps every law: a test each, in a module `laws`.
///
/// The type is an [`OwnQueue`](quell_aqm::own::OwnQueue). Its [`TEST_CASES`](quell_aqm::test_cases::Tested::TEST_CASES) list the settings with
/// which the tests start, the drops that its source allows, and the values with which each parameter shows that it does something.
#[macro_export]
macro_rules! queue_laws {
    ($queue:ty) => {
        mod laws {
            #[allow(unused_imports)]
            use super::*;
            use $crate::queue::{self, Subject};

            #[test]
            fn it_keeps_the_laws_whatever_happens() {
                queue::keeps_the_laws_whatever_happens(&Subject::of::<$queue>(), 48);
            }
            #[test]
            fn it_loses_nothing_when_the_clock_jumps() {
                queue::loses_nothing_when_the_clock_jumps(&Subject::of::<$queue>());
            }
            #[test]
            fn it_allocates_nothing_after_the_first_fill() {
                queue::allocates_nothing_after_the_first_fill(&Subject::of::<$queue>());
            }
            #[test]
            fn a_refused_change_changes_nothing() {
                queue::refusals_change_nothing(&Subject::of::<$queue>());
            }
            #[test]
            fn a_rate_makes_no_parameter_unchangeable() {
                queue::rates_make_no_parameter_unchangeable(&Subject::of::<$queue>());
            }
            #[test]
            fn no_rate_shuts_it() {
                queue::no_rate_shuts_the_queue(&Subject::of::<$queue>());
            }
            #[test]
            fn every_parameter_changes_the_fate_of_some_packet() {
                queue::every_parameter_changes_the_fate_of_some_packet(&Subject::of::<$queue>());
            }
            #[test]
            fn every_living_parameter_changes_a_living_queue() {
                queue::every_living_parameter_changes_a_living_queue(&Subject::of::<$queue>());
            }
        }
    };
}
