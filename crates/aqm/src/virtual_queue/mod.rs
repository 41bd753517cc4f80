//! A virtual queue: the queue that a slightly slower link would have, with the values and sizes of its packets only.
//!
//! Source: slides "A Congestion Control Independent L4S Scheduler" (Nádas et al., ANRW 2020). A virtual queue has a maximum size, a
//! serving rate C_v ≤ C, and a histogram of the values of its packets. Every 10 ms a congestion threshold value (CTV) follows from
//! that histogram and a delay target D. How it follows is not published; [`law`] has the possible readings.
//!
//! The server is fluid: for every nanosecond in which the queue is not empty it earns credit at C_v, in whole bit/s rounded down. A
//! record leaves when its whole size is earned. Remainders are carried, so nothing drifts; idle time earns nothing. A dropped packet
//! takes its record along ([`VirtualQueue::cancel`]), because it never uses the link; a marked one leaves it there, because it does.
//! Each packet stores the position of its record; nothing here is per flow.
//!
//! quell's own: C_v·D and the maximum are at least one packet of the MTU, so that a slow link has room for one packet and does not
//! treat it as congestion. While the link is stopped, the server is too, and delays are computed at the last rate.

pub(crate) mod law;
pub(crate) mod parameters;
mod store;

use alloc::collections::VecDeque;

use crate::qdisc::Link;
use crate::units::{Bytes, Probability, Rate, Time};
use crate::value::ValueHistogram;

use law::{Snapshot, ThresholdLaw};
pub(crate) use store::{Queued, ValueQueue};

/// Position of a packet's record, counted from the first record ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position(u64);

impl Position {
    /// Position of a packet without a record.
    pub(crate) const NONE: Self = Self(u64::MAX);
}

/// The record of a packet: 8 bytes.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// 0 once it is cancelled.
    bytes: u32,
    value: u16,
}

/// Rate, target and size of a virtual queue; see [`parameters`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// C_v as a fraction of the link's rate, in units of 1/[`parameters::PARTS`]; `None` if packets leave only by [`VirtualQueue::cancel`].
    pub(crate) serving_rate: Option<u64>,
    /// Delay target D.
    pub(crate) target: Time,
    /// The maximum size, as a delay at C_v.
    pub(crate) limit: Time,
}

/// A virtual queue.
#[derive(Debug)]
pub(crate) struct VirtualQueue {
    shape: Shape,
    records: VecDeque<Record>,
    /// Position of the first record.
    head: u64,
    /// Bytes of all records.
    bytes: u64,
    /// Values of the records; without those that [`ThresholdLaw`] condemned.
    present: ValueHistogram,
    law: ThresholdLaw,
    /// CTV: packets that are worth no more are signalled. 0 signals nothing.
    threshold: u16,
    server: Server,
    /// C_v, or its value before the link stood still.
    last_rate: Rate,
    target_bytes: u64,
    most_bytes: u64,
    mtu: u64,
    /// Whether a record was refused for want of room since the last update, and between the two before.
    refused: [bool; 2],
}

/// The server and its credit.
#[derive(Debug)]
struct Server {
    rate: Rate,
    /// The credit in bits · 10⁻⁹: bit/s times nanoseconds.
    credit: u128,
    last: Time,
}

impl Server {
    /// A byte in the unit of credit.
    const BYTE: u128 = 8_000_000_000;

    #[inline]
    fn earn(&mut self, now: Time) {
        let span = now - self.last;
        self.last = now;
        if self.rate.is_unlimited() {
            self.credit = u128::MAX;
        } else {
            // Two 64-bit factors fit.
            let earned = u128::from(self.rate.as_bps()) * u128::from(span.as_nanos());
            self.credit = self.credit.saturating_add(earned);
        }
    }
}

impl VirtualQueue {
    /// An empty one.
    pub(crate) fn new(shape: Shape, law: ThresholdLaw, link: Link, highest: u16) -> Self {
        let mut queue = Self {
            shape,
            records: VecDeque::new(),
            head: 0,
            bytes: 0,
            present: ValueHistogram::new(highest),
            law,
            threshold: 0,
            server: Server {
                rate: Rate::ZERO,
                credit: 0,
                last: Time::ZERO,
            },
            last_rate: Rate::ZERO,
            target_bytes: 0,
            most_bytes: 0,
            mtu: 0,
            refused: [false; 2],
        };
        queue.reshape(shape, link);
        queue
    }

    /// Changes everything but the records inside. `link` has the present rate.
    pub(crate) fn configure(&mut self, shape: Shape, link: Link, now: Time) {
        self.drain(now);
        self.reshape(shape, link);
    }

    /// The link has another rate, which may be zero.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        let link = Link {
            rate,
            mtu: Bytes::new(self.mtu),
        };
        self.configure(self.shape, link, now);
    }

    /// Changes the gains of a PI controller; other laws have none.
    pub(crate) fn set_gains(&mut self, gains: law::Gains) {
        let target = self.target_delay();
        self.law.set_gains(gains, target);
    }

    fn reshape(&mut self, shape: Shape, link: Link) {
        self.shape = shape;
        self.server.rate = serving_rate(shape, link.rate);
        if !link.rate.is_zero() {
            self.last_rate = self.server.rate;
        }
        let mtu = link.mtu.get();
        self.mtu = mtu;
        self.target_bytes = self.last_rate.bytes_in(shape.target).get().max(mtu);
        self.most_bytes = match shape.serving_rate {
            Some(_) => self.last_rate.bytes_in(shape.limit).get().max(mtu),
            None => u64::MAX,
        };
        let target = self.target_delay();
        self.law.set_target(target);
    }

    /// D, or the time of the one packet that is always allowed.
    fn target_delay(&self) -> Time {
        if self.last_rate.bytes_in(self.shape.target).get() >= self.target_bytes {
            self.shape.target
        } else {
            self.last_rate.time_for(Bytes::new(self.target_bytes))
        }
    }

    /// CTV
    #[inline]
    pub(crate) fn threshold(&self) -> u16 {
        self.threshold
    }
    /// A threshold above `threshold`: where that leaves the share s of the bytes that came here lately, this leaves s^(1 + `times`). With a
    /// law that does not know what came it is `threshold`.
    pub(crate) fn raised(&self, threshold: u16, times: u64) -> u16 {
        self.law.raised(threshold, times)
    }
    /// p of the law that has one.
    pub(crate) fn probability(&self) -> Option<Probability> {
        self.law.probability()
    }
    /// The time that the backlog takes at C_v, at `now`.
    pub(crate) fn delay(&self, now: Time) -> Time {
        let delay = self.last_rate.time_for(Bytes::new(self.bytes));
        if self.shape.serving_rate.is_some() && !self.server.rate.is_zero() {
            delay - (now - self.server.last)
        } else {
            delay
        }
    }
    /// Whether a record was lately refused because the maximum was reached.
    #[inline]
    pub(crate) fn overflows(&self) -> bool {
        self.refused[0] | self.refused[1]
    }

    /// Takes a record of a packet that arrives.
    #[inline]
    pub(crate) fn admit(&mut self, value: u16, len: Bytes, now: Time) -> Position {
        self.drain(now);
        let bytes = u32::try_from(len.get()).unwrap_or(u32::MAX);
        let size = u64::from(bytes);
        self.law.arrived(value, size);
        if self.bytes.saturating_add(size) > self.most_bytes {
            self.refused[0] = true;
            return Position::NONE;
        }
        self.law
            .count(&mut self.present, value, size, self.target_bytes);
        let position = Position(self.head + self.records.len() as u64);
        self.records.push_back(Record { bytes, value });
        self.bytes += size;
        position
    }

    /// Takes a record out again, unless it has been served.
    pub(crate) fn cancel(&mut self, position: Position, now: Time) {
        self.drain(now);
        // A position before the head, and that of no record, are beyond every length.
        let index = position.0.wrapping_sub(self.head);
        let Some(record) = usize::try_from(index)
            .ok()
            .and_then(|index| self.records.get_mut(index))
        else {
            return;
        };
        let cancelled = *record;
        record.bytes = 0;
        self.forget(cancelled);
        while self.records.front().is_some_and(|head| head.bytes == 0) {
            self.pop();
        }
        if self.records.is_empty() {
            self.server.credit = 0;
        }
    }

    /// Serves everything that is due until `now`.
    #[inline]
    pub(crate) fn drain(&mut self, now: Time) {
        if self.shape.serving_rate.is_none() {
            return;
        }
        self.server.earn(now);
        while let Some(&record) = self.records.front() {
            if record.bytes > 0 {
                let price = u128::from(record.bytes) * Server::BYTE;
                if self.server.credit < price {
                    return;
                }
                self.server.credit -= price;
                self.forget(record);
            }
            self.pop();
        }
        self.server.credit = 0;
    }

    /// The periodic computation of the threshold.
    pub(crate) fn update(&mut self, now: Time) {
        self.drain(now);
        self.refused = [false, self.refused[0]];
        let snapshot = Snapshot {
            now,
            rate: self.last_rate,
            bytes: self.bytes,
            target_bytes: self.target_bytes,
            mtu: self.mtu,
        };
        self.threshold = self.law.update(&self.present, snapshot);
    }

    #[inline]
    fn pop(&mut self) {
        self.records.pop_front();
        self.head += 1;
    }

    /// Takes a record out of the accounts.
    #[inline]
    fn forget(&mut self, record: Record) {
        let size = u64::from(record.bytes);
        self.bytes -= size;
        let rest = self.law.forget_condemned(record.value, size);
        self.present.remove(record.value, rest);
    }
}

/// C_v
fn serving_rate(shape: Shape, rate: Rate) -> Rate {
    match shape.serving_rate {
        Some(parts) if !rate.is_unlimited() => {
            // At most `rate`, because no more than all parts are allowed.
            let scaled = u128::from(rate.as_bps()) * u128::from(parts);
            Rate::from_bps((scaled / u128::from(parameters::PARTS)) as u64)
        }
        _ => rate,
    }
}

#[cfg(test)]
mod tests;
