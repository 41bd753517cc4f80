//! `access = { … }`: how a link gets hold of its medium.

use quell_aqm::medium::Medium;

use super::keys::Section;
use super::tree::Node;
use super::view::{Reader, View};

/// Reads the table `node`, the value of `key`.
pub(super) fn read(reader: &mut Reader, key: &str, node: &Node) -> Option<Medium> {
    let view = View::new(reader, Section::Medium, key, node)?;
    let packets = view.number(reader, "packets");
    let time = view.time(reader, "time");
    let delay = view.time(reader, "delay");
    let backoff = view.time(reader, "backoff");
    Some(Medium {
        packets: u32::try_from(packets?).ok()?,
        time: time?,
        delay: delay?,
        backoff: backoff?,
    })
}

/// On one line.
pub(super) fn write(medium: &Medium) -> String {
    let Medium {
        packets,
        time,
        delay,
        backoff,
    } = medium;
    format!(
        "{{ packets = {packets}, time = \"{time}\", delay = \"{delay}\", backoff = \"{backoff}\" }}"
    )
}
