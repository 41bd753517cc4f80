//! One packet queue with its accounting, and the limit in front of it: the store of every single-queue discipline.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::ToString;

use crate::observer::{Drop, DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{ParameterError, Settings, Value, limit_bytes};
use crate::qdisc::{Backlog, Gauge, Link};
use crate::units::{Bytes, Time};

/// Names of the queues of a discipline that has one.
pub(crate) const NAMES: &[&str] = &["queue"];

/// Packets in their order, and how much they are.
#[derive(Debug)]
pub(crate) struct SingleQueue<P> {
    packets: VecDeque<P>,
    bytes: Bytes,
}

impl<P: Packet> SingleQueue<P> {
    pub(crate) fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        // The number is not kept a second time: side by side, the two are written one by one and then read at once, which makes a
        // processor wait.
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    pub(crate) fn head(&self) -> Option<&P> {
        self.packets.front()
    }
    /// How long the head has waited; zero if there is none.
    pub(crate) fn head_sojourn(&self, now: Time) -> Time {
        self.head().map_or(Time::ZERO, |packet| packet.sojourn(now))
    }

    /// Puts `packet` in without telling anybody.
    #[inline]
    pub(crate) fn push(&mut self, packet: P) {
        self.bytes += packet.len();
        self.packets.push_back(packet);
    }
    /// Takes the head out without telling anybody.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.len();
        Some(packet)
    }

    /// Accepts `packet`, and tells.
    #[inline]
    pub(crate) fn accept(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        obs.enqueued(QueueId::SINGLE, &packet, now);
        self.push(packet);
    }
    /// Drops heads while `too_much` says so, and tells.
    pub(crate) fn drop_heads_while(
        &mut self,
        too_much: impl Fn(Backlog) -> bool,
        reason: DropReason,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        while too_much(self.backlog()) {
            let Some(packet) = self.pop() else { break };
            drop_queued(packet, reason, now, obs);
        }
    }
    /// Drops everything, and tells.
    pub(crate) fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.drop_heads_while(|_| true, DropReason::Drained, now, obs);
    }
}

/// Tells that `packet`, which had been accepted into the only queue, is dropped.
#[inline]
pub(crate) fn drop_queued<P: Packet>(
    packet: P,
    reason: DropReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    let drop = Drop {
        queue: QueueId::SINGLE,
        reason,
        queued: true,
    };
    obs.dropped(packet, drop, now);
}

/// Tells that `packet`, offered to the only queue, is dropped.
#[inline]
pub(crate) fn refuse<P: Packet>(
    packet: P,
    reason: DropReason,
    now: Time,
    obs: &mut impl Observer<P>,
) {
    let drop = Drop {
        queue: QueueId::SINGLE,
        reason,
        queued: false,
    };
    obs.dropped(packet, drop, now);
}

/// A limit of what waits, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Fewer than so many may wait before another is accepted.
    Packets(u64),
    /// So many IP bytes may wait, the new packet included.
    Bytes(Bytes),
}

impl Limit {
    /// The parameter `limit`, a [`Domain::Limit`](crate::parameter::Domain::Limit), at the rate of `link`; refuses one that
    /// never accepts a packet of the MTU.
    pub(crate) fn of(settings: &Settings, link: Link) -> Result<Self, ParameterError> {
        Self::named("limit", settings, link)
    }
    /// As [`Limit::of`], of a parameter with this name.
    pub(crate) fn named(
        name: &str,
        settings: &Settings,
        link: Link,
    ) -> Result<Self, ParameterError> {
        let setting = setting(name, settings);
        let limit = match (limit_bytes(setting, link.rate), setting) {
            (None, Value::Packets(packets)) => return Ok(Self::Packets(packets)),
            (bytes, _) => bytes.unwrap_or(Bytes::ZERO),
        };
        if limit >= link.mtu {
            return Ok(Self::Bytes(limit));
        }
        let never = format!("and never accepts a packet of {}", link.mtu);
        Err(ParameterError {
            key: name.to_string(),
            found: setting.to_string(),
            allowed: match setting {
                Value::Time(_) => format!("is {limit} at {} {never}", link.rate),
                _ => format!("is {limit} {never}"),
            },
        })
    }
    /// What the limit is at another rate, however small; a link that stands still changes nothing.
    pub(crate) fn at(self, settings: &Settings, link: Link) -> Self {
        self.named_at("limit", settings, link)
    }
    /// As [`Limit::at`], of a parameter with this name.
    pub(crate) fn named_at(self, name: &str, settings: &Settings, link: Link) -> Self {
        if link.rate.is_zero() {
            return self;
        }
        limit_bytes(setting(name, settings), link.rate).map_or(self, Self::Bytes)
    }
    /// Whether a packet of `len` may join `backlog`.
    #[inline]
    pub(crate) fn admits(self, backlog: Backlog, len: Bytes) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + len <= limit,
        }
    }
    /// Whether more waits than is allowed, after the limit was lowered.
    pub(crate) fn is_exceeded(self, backlog: Backlog) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets > limit,
            Self::Bytes(limit) => backlog.bytes > limit,
        }
    }
    /// Whether `backlog` takes one part in `parts` of the limit, or more.
    #[inline]
    pub(crate) fn is_used_by(self, backlog: Backlog, parts: u64) -> bool {
        match self {
            Self::Packets(limit) => backlog.packets.saturating_mul(parts) >= limit,
            Self::Bytes(limit) => backlog.bytes.get().saturating_mul(parts) >= limit.get(),
        }
    }
    /// For status.
    pub(crate) fn tell(self, tell: &mut dyn FnMut(&'static str, Gauge)) {
        self.tell_as("limit_packets", "limit_bytes", tell);
    }
    /// For status, under these names.
    pub(crate) fn tell_as(
        self,
        in_packets: &'static str,
        in_bytes: &'static str,
        tell: &mut dyn FnMut(&'static str, Gauge),
    ) {
        let count = |n| Gauge::Count(i64::try_from(n).unwrap_or(i64::MAX));
        match self {
            Self::Packets(packets) => tell(in_packets, count(packets)),
            Self::Bytes(bytes) => tell(in_bytes, count(bytes.get())),
        }
    }
}

fn setting(name: &str, settings: &Settings) -> Value {
    settings.value(name).expect("a limit has a default")
}
