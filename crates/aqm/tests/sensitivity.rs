//! A knob that does nothing is a bug: every parameter of every discipline changes what happens to some packet of one busy workload.

use quell_laws::queue::{self, Subject};

#[test]
fn every_parameter_changes_the_fate_of_some_packet() {
    for subject in Subject::all() {
        queue::every_parameter_changes_the_fate_of_some_packet(&subject);
    }
}

#[test]
fn every_living_parameter_changes_a_living_queue() {
    for subject in Subject::all() {
        queue::every_living_parameter_changes_a_living_queue(&subject);
    }
}
