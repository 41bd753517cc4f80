//! What crosses the link: the same through quell and through the kernel.

use quell_lab::scenario::{AppConfig, Bulk, Cbr, Interval};
use quell_units::{Bytes, Rate, Time};

/// What `tbf` counts beyond the IP length: an Ethernet header.
pub const OVERHEAD: u64 = 14;
/// Every packet, as large as Ethernet allows.
const PACKET: u64 = 1_500;
const OFFERED_PERCENT: u64 = 120;

/// Traffic in forward direction over links in a row, each with a plain FIFO.
pub struct Workload {
    /// Links in a row, all alike.
    pub links: usize,
    /// Of link bytes.
    pub rate: Rate,
    /// The room of the FIFO, in time at this rate.
    pub queue: Time,
    /// Base RTT.
    pub rtt: Time,
    pub load: Load,
}

/// What the flows do.
#[derive(Clone, Copy)]
pub enum Load {
    /// One flow of datagrams, a fifth faster than the link.
    Datagrams,
    /// So many TCP flows that always have data.
    Streams(usize),
}

impl Workload {
    /// The room of the FIFO.
    pub fn limit(&self) -> Bytes {
        Bytes::new(self.rate.as_bps() / 8 * self.queue.as_nanos() / 1_000_000_000)
    }

    pub fn flows(&self) -> usize {
        match self.load {
            Load::Datagrams => 1,
            Load::Streams(flows) => flows,
        }
    }

    pub fn app(&self) -> AppConfig {
        match self.load {
            Load::Datagrams => Cbr {
                size: Bytes::new(PACKET),
                interval: Interval {
                    mean: self.interval(),
                    stddev: Time::ZERO,
                },
            }
            .into(),
            Load::Streams(_) => Bulk::default().into(),
        }
    }

    /// Between two datagrams.
    pub fn interval(&self) -> Time {
        let bits = (PACKET + OVERHEAD) * 8;
        Time::from_nanos(bits * 1_000_000_000 * 100 / OFFERED_PERCENT / self.rate.as_bps())
    }

    /// Payload of a packet: less 20 bytes of IPv4 and 8 of UDP, or 32 of TCP with timestamps.
    fn payload(&self) -> u64 {
        match self.load {
            Load::Datagrams => PACKET - 20 - 8,
            Load::Streams(_) => PACKET - 20 - 32,
        }
    }

    /// The link bytes that carry a payload; both per second or both not.
    pub fn link_bytes(&self, payload: f64) -> f64 {
        payload * (PACKET + OVERHEAD) as f64 / self.payload() as f64
    }

    /// The payload in link bytes; the reverse of [`Workload::link_bytes`].
    pub fn goodput(&self, link_bytes: f64) -> f64 {
        link_bytes * self.payload() as f64 / (PACKET + OVERHEAD) as f64
    }
}
