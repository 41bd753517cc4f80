//! The queue discipline `fq` at an interface: the kernel's own delay line, for frames that come with their time of release.
//!
//! From tc-fq(8), include/uapi/linux/pkt_sched.h and net/sched/sch_fq.c. A sender gives each frame an instant of
//! CLOCK_MONOTONIC (SO_TXTIME), and `fq` keeps it until then by a timer of its own: no thread wakes for it. Everything else that it
//! does is turned off here: pacing by rates, limits that a delay line would reach, the slack of its timer.
//!
//! Order: frames of one flow, which addresses and ports identify, leave in the order of their times, and in the order of their
//! arrival if the times are equal. Flows must not share a queue: in older kernels (6.12, for example, but not 7.2) a frame that
//! is due earlier than what its queue waits for does not wake it earlier, and a flow of a short delay would wait for one of a
//! long delay. So the hash of flows has as many values as the kernel allows for (1 024 by default).
//! Frames are kept within the horizon of `fq` only (10 s by default); links hand out far less ahead.
//!
//! It works only if the kernel has `fq` (CONFIG_NET_SCH_FQ, or its module), which is found out by trying.

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use crate::Result;
use crate::error::Doing as _;
use crate::netlink::Netlink;

// Attributes of `fq`, include/uapi/linux/pkt_sched.h.
const LIMIT: u16 = 1;
const FLOW_LIMIT: u16 = 2;
const QUANTUM: u16 = 3;
const INITIAL_QUANTUM: u16 = 4;
const RATE_ENABLE: u16 = 5;
const ORPHAN_MASK: u16 = 10;
const TIMER_SLACK: u16 = 13;

/// Attribute and value, and why it is not the kernel's default.
const OPTIONS: [(u16, u32); 7] = [
    // Packets, in all and of one flow: more than 10 Gbit/s of small ones in 100 ms. The senders' buffers bound it earlier.
    (LIMIT, 1_000_000),
    (FLOW_LIMIT, 1_000_000),
    // Bytes that a flow may send in its turn when several are late at once: the most that the kernel allows, so that they
    // leave in the order of their times and not in turns.
    (QUANTUM, 1 << 20),
    (INITIAL_QUANTUM, 1 << 20),
    // No rate of any socket matters, only the times.
    (RATE_ENABLE, 0),
    // Of the hash that tells flows apart.
    (ORPHAN_MASK, u32::MAX),
    // ns; 10 µs by default.
    (TIMER_SLACK, 0),
];

impl Netlink {
    /// Gives an interface the root queue discipline `fq`. Fails with `NotFound` where the kernel has none.
    pub fn add_fq(&mut self, interface: u32) -> Result<()> {
        let mut message = TcMessage::with_index(interface.cast_signed());
        message.header.parent = TcHandle::ROOT;
        let options = OPTIONS.map(|(kind, value)| {
            TcOption::Other(DefaultNla::new(kind, value.to_ne_bytes().to_vec()))
        });
        message.attributes = vec![
            TcAttribute::Kind("fq".to_owned()),
            TcAttribute::Options(options.to_vec()),
        ];
        self.request(
            RouteNetlinkMessage::NewQueueDiscipline(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
        .doing(|| format!("give interface {interface} the queue discipline fq"))
    }
}
