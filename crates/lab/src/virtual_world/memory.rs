//! How much memory a guest has.
//!
//! An upper bound of what the kernel, this program and the packets of a scenario take. Pages are taken from the host as the
//! guest touches them, so what is left over costs nothing.

use quell_aqm::Bytes;

use crate::live::pool_bytes;
use crate::scenario::{Direction, Scenario, bytes_in_flight, most_flows};

/// The kernel, its tables, this program with its libraries, and what it takes for any scenario.
const BASE: u64 = 160 << 20;
/// A connection with both its sockets, before it has sent anything.
const FLOW: u64 = 64 << 10;
/// Copies of a packet under way: in the sender's buffer until it is acknowledged, as much again that waits there to be sent,
/// in the link's socket or the kernel's queue behind it, and in the receiver's buffer.
const COPIES: u64 = 4;
/// What the kernel takes per kB of payload: a buffer of 2 304 bytes for a segment of 1 448.
const OVERHEAD: (u64, u64) = (8, 5);

/// What the guest of `scenario` is given.
pub fn guest_memory(scenario: &Scenario) -> Bytes {
    let in_flight: u64 = [Direction::Forward, Direction::Reverse]
        .map(|direction| bytes_in_flight(scenario, direction).get())
        .iter()
        .sum();
    let flows: u64 = (0..scenario.groups.len())
        .map(|group| u64::from(most_flows(scenario, group)))
        .sum();
    let packets = in_flight.saturating_mul(COPIES * OVERHEAD.0) / OVERHEAD.1;
    let total = BASE
        .saturating_add(pool_bytes(scenario).get())
        .saturating_add(packets)
        .saturating_add(flows.saturating_mul(FLOW));
    Bytes::new(total.next_multiple_of(16 << 20))
}
