//! A connection in the memory of an earlier one.

use quell_laws::control::{self, Subject};

#[test]
fn a_renewed_end_behaves_as_a_new_one_and_allocates_less() {
    for subject in Subject::all() {
        control::a_renewed_end_behaves_as_a_new_one(&subject);
    }
}
