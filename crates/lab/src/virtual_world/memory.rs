//! The memory of a guest.
//!
//! An upper bound of what the kernel, this program and the packets of a scenario take. Pages are taken from the host as the
//! guest touches them, so unused memory costs nothing.

use quell_scenario::{Direction, Memory, Scenario, all_flows, bytes_in_flight, most_flows};
use quell_units::Bytes;

use crate::live::pool_bytes;
use crate::program_env::has_programs;

/// Memory of the kernel, its tables, this program with its libraries, and what it needs for any scenario.
const BASE: u64 = 160 << 20;
/// A connection with both its sockets and a send buffer of the initial size, 128 KiB, which a sender without end keeps full.
/// With 500 to 2 000 flows at 1 Gbit/s a guest touched 145 kB more for each.
const FLOW: u64 = 256 << 10;
/// Connections of a session at once, if it may have as many. Overload has more of them; the kernel then gives each less.
const CONNECTIONS: u64 = 32;
/// A flow that lives at another time: its plan, its sockets before and after, and what is kept of it.
const OTHER_FLOW: u64 = 16 << 10;
/// The part of markers, recorders and results that [`BASE`] covers.
const COVERED: u64 = 96 << 20;
/// Copies of a packet in flight: in the sender's buffer until it is acknowledged, as much again that waits there to be sent,
/// in the link's socket or the kernel's queue behind it, and in the receiver's buffer.
const COPIES: u64 = 4;
/// Memory of the kernel per byte of payload: a buffer of 2 304 bytes for a segment of 1 448.
const OVERHEAD: (u64, u64) = (8, 5);
/// What the programs of a scenario take, and what they write.
const PROGRAMS: u64 = 512 << 20;

/// What a program behind a link takes, and what it writes.
const PROGRAM: u64 = 768 << 20;
/// The most that copies of packets in flight count with, beside the program's own memory: the kernel then gives each socket less.
const MOST_PACKETS: u64 = 1 << 30;

/// The memory of a guest for a program behind a link, whose frame pool takes `pool` and which holds `in_flight` bytes.
pub fn program_memory(pool: Bytes, in_flight: Bytes) -> Bytes {
    let packets = packets(in_flight.get()).min(MOST_PACKETS);
    let total = (BASE + PROGRAM)
        .saturating_add(pool.get())
        .saturating_add(packets);
    Bytes::new(total.next_multiple_of(16 << 20))
}

/// What the copies of packets take of which `in_flight` bytes are in flight.
fn packets(in_flight: u64) -> u64 {
    in_flight.saturating_mul(COPIES * OVERHEAD.0) / OVERHEAD.1
}

/// The memory that the guest of `scenario` gets.
pub fn guest_memory(scenario: &Scenario) -> Bytes {
    let in_flight: u64 = [Direction::Forward, Direction::Reverse]
        .map(|direction| bytes_in_flight(scenario, direction).get())
        .iter()
        .sum();
    let flows: u64 = (0..scenario.groups.len())
        .map(|group| u64::from(most_flows(scenario, group)))
        .sum();
    let further: u64 = (0..scenario.groups.len())
        .map(|group| {
            let session = scenario.groups[group].app.config().session();
            let connections = session.map_or(1, |session| u64::from(session.connections));
            u64::from(most_flows(scenario, group)) * (connections.clamp(1, CONNECTIONS) - 1)
        })
        .sum();
    let ever: u64 = (0..scenario.groups.len())
        .map(|group| all_flows(scenario, group))
        .fold(0, u64::saturating_add);
    let own = Memory::of(scenario);
    let own = (own.markers + own.recorders + own.results).get();
    let packets = packets(in_flight);
    let programs = match has_programs(scenario) {
        true => PROGRAMS,
        false => 0,
    };
    let total = (BASE + programs)
        .saturating_add(pool_bytes(scenario).get())
        .saturating_add(packets)
        .saturating_add(flows.saturating_add(further).saturating_mul(FLOW))
        .saturating_add(ever.saturating_sub(flows).saturating_mul(OTHER_FLOW))
        .saturating_add(own.saturating_sub(COVERED));
    Bytes::new(total.next_multiple_of(16 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_link::LinkConfig;
    use quell_scenario::keys::MTU;

    fn memory(rate: &str, flows: u32, rtt: &str) -> u64 {
        let text = format!(
            "schema = 1\nname = \"t\"\n[link]\nrate = \"{rate}\"\nqueue = {{ kind = \"fifo\", limit = \"100ms\" }}\n[[group]]\n\
             name = \"a\"\ncount = {flows}\nrtt = \"{rtt}\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"1s\"\n"
        );
        guest_memory(&Scenario::parse(&text).unwrap()).get()
    }

    #[test]
    fn memory_follows_what_is_in_flight_and_how_many_flows_there_are() {
        let base = memory("10mbit", 2, "20ms");
        assert!((BASE..BASE + (64 << 20)).contains(&base), "{base}");
        assert!(memory("1gbit", 2, "20ms") > base + (64 << 20));
        assert!(memory("1gbit", 2, "200ms") > memory("1gbit", 2, "20ms"));
        assert!(memory("10mbit", 1_000, "20ms") >= base + 900 * FLOW);
    }

    #[test]
    fn a_guest_has_memory_for_its_pool_and_for_packets_whatever_the_link_is() {
        for rate in ["10mbit", "770mbit", "1gbit", "10gbit"] {
            for rtt in ["1ms", "20ms", "200ms", "2s"] {
                let text = format!(
                    "schema = 1\nname = \"t\"\n[link]\nrate = \"{rate}\"\nqueue = {{ kind = \"fifo\", limit = \"100ms\" }}\n\
                     [[group]]\nname = \"a\"\nrtt = \"{rtt}\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"1s\"\n"
                );
                let scenario = Scenario::parse(&text).unwrap();
                let frames = pool_bytes(&scenario).get() / (MTU.get() + 64);
                let pool = LinkConfig::pool_bytes(frames as u32, MTU.get() as u16);
                let in_flight = bytes_in_flight(&scenario, Direction::Forward).get();
                let memory = guest_memory(&scenario).get();
                // The pool is one block; the kernel refuses one that is as large as all of its memory.
                assert!(
                    memory >= pool.get() + BASE / 2 + 2 * in_flight,
                    "{rate} {rtt}: {memory}"
                );
                let pool = LinkConfig::pool_bytes(1 << 19, MTU.get() as u16);
                assert!(
                    program_memory(pool, Bytes::new(in_flight)).get()
                        >= pool.get() + BASE + PROGRAM
                );
            }
        }
    }

    #[test]
    fn a_session_has_memory_for_its_connections() {
        let of = |app: &str| {
            let text = format!(
                "schema = 1\nname = \"t\"\n[link]\nrate = \"10mbit\"\nqueue = {{ kind = \"fifo\", limit = \"100ms\" }}\n[[group]]\n\
                 name = \"a\"\ncount = 100\nrtt = \"20ms\"\napp = {{ {app} }}\n[run]\nduration = \"1s\"\n"
            );
            guest_memory(&Scenario::parse(&text).unwrap()).get()
        };
        let one = of(r#"kind = "web", max-concurrent = 1"#);
        assert!(of(r#"kind = "web", max-concurrent = 9"#) >= one + 700 * FLOW);
        assert!(of(r#"kind = "web", max-concurrent = 10000"#) >= one + 3_000 * FLOW);
    }
}
