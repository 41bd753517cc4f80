//! The laws of a congestion control: those of a connection, whatever happens to it.

#[doc(hidden)]
pub mod ends;
#[doc(hidden)]
pub mod honest;
#[doc(hidden)]
pub mod hostile;
mod renewal;
mod subject;

pub use renewal::a_renewed_end_behaves_as_a_new_one;
pub use subject::Subject;

use crate::choices::Choices;
use ends::Ends;

/// Bytes that decide how the two ends behave; the others decide what happens.
const ENDS: usize = 60;

/// Over a path that loses, marks, repeats, delays and overtakes, with any settings of both ends: nothing negative is in flight, the window has at
/// least one segment, no timer is in the past, nothing is sent that was not written or not allowed, every byte is delivered once, the
/// connection ends, and the same calls give the same fate. Tries `cases` random lists of operations.
pub fn delivers_every_byte_once_whatever_the_path_does(subject: &Subject, cases: u32) {
    crate::choices::random_bytes(cases, 700, |bytes| replay(subject, bytes));
}

/// Repeats one case of [`delivers_every_byte_once_whatever_the_path_does`] from the bytes that it prints.
pub fn replay(subject: &Subject, bytes: &[u8]) {
    let (ends, happens) = bytes.split_at(ENDS.min(bytes.len()));
    let ends = Ends::of(subject, &mut Choices(ends));
    honest::keep_the_laws(&ends, &honest::of(&mut Choices(happens)));
}

/// All laws but that about delivery hold for a sender that receives any segment that can be written.
pub fn keeps_the_laws_whatever_it_is_told(subject: &Subject, cases: u32) {
    crate::choices::random_bytes(cases, 900, |bytes| replay_lies(subject, bytes));
}

/// Repeats one case of [`keeps_the_laws_whatever_it_is_told`] from the bytes that it prints.
pub fn replay_lies(subject: &Subject, bytes: &[u8]) {
    let (ends, segments) = bytes.split_at(ENDS.min(bytes.len()));
    let ends = Ends::of(subject, &mut Choices(ends));
    hostile::sender_keeps_the_laws(&ends, &mut Choices(segments));
}

/// Tests that a congestion control of the calling crate keeps every law: a test each, in a module `laws`.
#[macro_export]
macro_rules! control_laws {
    ($control:ty) => {
        mod laws {
            #[allow(unused_imports)]
            use super::*;
            use $crate::control::{self, Subject};

            #[test]
            fn every_byte_is_delivered_once_whatever_the_path_does() {
                let subject = Subject::of::<$control>();
                control::delivers_every_byte_once_whatever_the_path_does(&subject, 256);
            }
            #[test]
            fn it_keeps_the_laws_whatever_it_is_told() {
                control::keeps_the_laws_whatever_it_is_told(&Subject::of::<$control>(), 256);
            }
            #[test]
            fn a_renewed_end_behaves_as_a_new_one() {
                control::a_renewed_end_behaves_as_a_new_one(&Subject::of::<$control>());
            }
        }
    };
}
