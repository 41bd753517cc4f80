//! The label of a packet for measurement: the group that the classifier found.

use quell_measure::{GroupId, Labelled};

use super::Descriptor;

impl Labelled for Descriptor {
    fn group(&self) -> Option<GroupId> {
        Descriptor::group(self).map(|group| GroupId(u32::from(group)))
    }
}
