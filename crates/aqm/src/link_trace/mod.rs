//! Links that move: the rate of a link, or its chances to send, as a trace recorded them.
//!
//! Two ways to play a trace, as the field has them:
//!
//! * [`RateTrace`]: the rate is constant from one step to the next. A packet in service finishes at the rate at which it started.
//! * [`ChanceTrace`]: each entry is one chance to send 1 500 bytes, as in the packet-delivery traces of mahimahi (Netravali et al.,
//!   "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; the rules are those of `link_queue.cc`). The rules are at the
//!   head of [`chances`](ChanceTrace).
//!
//! A trace is immutable and shared: whoever plays it keeps a position. Times are exact to the nanosecond however often the trace
//! repeats, and nothing is drawn at random. Text is read elsewhere.

mod chances;
mod rates;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

pub use chances::ChanceTrace;
pub(crate) use chances::Chances;
pub use rates::RateTrace;
pub(crate) use rates::Steps;

use crate::units::{Bytes, Rate, Time};

/// The shortest trace.
pub const SHORTEST: Time = Time::from_millis(1);

/// A trace, and how a link plays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTrace {
    /// The trace itself.
    pub trace: Trace,
    /// Whether it starts again at its end. Otherwise the last rate stays, or no chance comes any more.
    pub repeat: bool,
    /// The place in the trace where the run starts; beyond the end only if the trace repeats.
    pub offset: Time,
    /// Thousandths by which rates, and the bytes of a chance, are multiplied.
    pub scale: u32,
    /// The way in which packets count against chances.
    pub framing: ChanceFraming,
}

/// The entries of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// Rates.
    Rates(RateTrace),
    /// Chances to send.
    Chances(ChanceTrace),
}

/// The way in which packets count against chances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChanceFraming {
    /// A chance carries 1 500 bytes of IP packets, with the link's overhead.
    #[default]
    Ip,
    /// A chance carries 1 504 bytes, and each packet 4 bytes more than its IP length: the header of mahimahi's TUN device.
    Mahimahi,
}

impl ChanceFraming {
    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Mahimahi => "mahimahi",
        }
    }
    /// Bytes of a chance.
    const fn chance(self) -> u64 {
        1_500 + self.per_packet()
    }
    /// Bytes of each packet beside its IP length.
    const fn per_packet(self) -> u64 {
        match self {
            Self::Ip => 0,
            Self::Mahimahi => 4,
        }
    }
}

/// The [`LinkTrace::scale`] that changes nothing.
pub const UNSCALED: u32 = 1_000;

impl LinkTrace {
    /// Plays `trace` from its start, again and again.
    pub const fn new(trace: Trace) -> Self {
        Self {
            trace,
            repeat: true,
            offset: Time::ZERO,
            scale: UNSCALED,
            framing: ChanceFraming::Ip,
        }
    }

    /// The rate for which a discipline is built, never zero: the first one that is not zero, or the mean rate of chances.
    pub fn first_rate(&self) -> Rate {
        self.scaled(match &self.trace {
            Trace::Rates(rates) => rates.first_moving(self.phase()),
            Trace::Chances(chances) => self.of_chances(chances.mean_of(1)),
        })
    }

    /// The mean rate of the whole trace.
    pub fn mean_rate(&self) -> Rate {
        self.scaled(match &self.trace {
            Trace::Rates(rates) => rates.mean(),
            Trace::Chances(chances) => self.of_chances(chances.mean_of(1)),
        })
    }

    /// The highest rate: of chances, in any 10 ms.
    pub fn fastest(&self) -> Rate {
        self.scaled(match &self.trace {
            Trace::Rates(rates) => rates.fastest(),
            Trace::Chances(chances) => self.of_chances(chances.peak_of(1)),
        })
    }

    /// The lowest rate but zero: of chances, one in 100 ms, which is the least that a discipline hears of.
    pub fn slowest(&self) -> Rate {
        self.scaled(match &self.trace {
            Trace::Rates(rates) => rates.slowest(),
            Trace::Chances(_) => self.of_chances(Rate::from_bps(80)),
        })
    }

    /// The length of each rate, without outages; of chances, their mean rate.
    pub fn spans(&self) -> Vec<(Time, Rate)> {
        match &self.trace {
            Trace::Rates(rates) => rates
                .spans()
                .filter(|(_, rate)| !rate.is_zero())
                .map(|(span, rate)| (span, self.scaled(rate)))
                .collect(),
            Trace::Chances(chances) => vec![(chances.length(), self.mean_rate())],
        }
    }

    /// The longest time without any capacity while the trace runs.
    pub fn longest_outage(&self) -> Time {
        match &self.trace {
            Trace::Rates(rates) => rates.longest_outage(self.repeat),
            Trace::Chances(chances) => chances.longest_gap(),
        }
    }

    /// The length of the trace.
    pub fn length(&self) -> Time {
        match &self.trace {
            Trace::Rates(rates) => rates.length(),
            Trace::Chances(chances) => chances.length(),
        }
    }

    /// The memory of the shared entries.
    pub fn memory(&self) -> Bytes {
        Bytes::new(match &self.trace {
            Trace::Rates(rates) => rates.steps().len() as u64 * 16,
            Trace::Chances(chances) => chances.times().len() as u64 * 8,
        })
    }

    /// The place within the trace where the run starts.
    fn phase(&self) -> Time {
        match self.repeat {
            true => Time::from_nanos(self.offset.as_nanos() % self.length().as_nanos()),
            false => self.offset,
        }
    }

    fn scaled(&self, rate: Rate) -> Rate {
        scaled(rate, self.scale)
    }

    /// The rate of chances, from that of chances of one byte.
    fn of_chances(&self, one_byte: Rate) -> Rate {
        Rate::from_bps(one_byte.as_bps().saturating_mul(self.framing.chance()))
    }
}

/// `rate` times `scale` thousandths. Only an outage becomes an outage.
fn scaled(rate: Rate, scale: u32) -> Rate {
    if rate.is_zero() || scale == UNSCALED {
        return rate;
    }
    let bps = u128::from(rate.as_bps()) * u128::from(scale) / u128::from(UNSCALED);
    // Below 2⁶⁴: the highest rate is not unlimited.
    Rate::from_bps((bps.min(u128::from(u64::MAX - 1)) as u64).max(1))
}

/// Why times and rates are no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceError {
    /// There is nothing in it.
    Empty,
    /// It does not start at time zero.
    Start,
    /// The entry with this index, from 0, is not after the one before it; of chances, is before it.
    Order(usize),
    /// It is shorter than [`SHORTEST`].
    Short,
    /// It never lets anything through.
    Still,
    /// The entry with this index, from 0, has a rate without limit.
    Unlimited(usize),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing in it"),
            Self::Start => f.write_str("it does not start at time zero"),
            Self::Order(index) => write!(f, "entry {index} is before the one in front of it"),
            Self::Short => write!(f, "it lasts for less than {SHORTEST}"),
            Self::Still => f.write_str("every rate in it is zero"),
            Self::Unlimited(index) => write!(f, "entry {index} has no rate"),
        }
    }
}

impl core::error::Error for TraceError {}
