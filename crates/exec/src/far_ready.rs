//! When a program at the far edge is there.

use std::thread;
use std::time::{Duration, Instant};

use crate::network::RELAY_PORT;
use crate::running::Running;

/// A program at the far edge has so long to listen before the other one starts.
const FAR_START: Duration = Duration::from_secs(2);

/// Waits until a program has a listening socket, or has had its time.
pub(crate) fn wait_until_it_listens(far: &Running) {
    let listens = || {
        // The state LISTEN of TCP is 0A (net/tcp_states.h), also in the files of datagrams 07: any socket counts.
        ["tcp", "tcp6", "udp", "udp6"].iter().any(|kind| {
            let path = format!("/proc/{}/net/{kind}", far.id().as_raw_nonzero());
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let state = if kind.starts_with("tcp") { "0A" } else { "07" };
            // The relay's own listeners are transparent ones at its port.
            let relay = format!(":{:04X}", RELAY_PORT);
            let mut lines = text.lines().skip(1);
            lines.any(|line| {
                let mut words = line.split_whitespace().skip(1);
                let local = words.next().unwrap_or("");
                words.nth(1) == Some(state) && !local.ends_with(&relay)
            })
        })
    };
    let began = Instant::now();
    while !listens() && began.elapsed() < FAR_START {
        thread::sleep(Duration::from_millis(5));
    }
}
