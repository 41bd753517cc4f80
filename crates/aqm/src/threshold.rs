//! A marking threshold in time or in packets.

use crate::parameter::{Field, Shape, Value, Written};
use crate::units::Time;

/// A threshold of a queue (T of the slides of 2015 and of RFC 9332 appendix B; Linux's step; K of DCTCP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    Sojourn(Time),
    Packets(u64),
}

impl Field for Threshold {
    const SHAPE: Shape = Shape::TimeOrPackets;
    fn read(value: Option<Value>, _written: Written) -> Option<Self> {
        match value? {
            Value::Time(time) => Some(Self::Sojourn(time)),
            Value::Packets(packets) => Some(Self::Packets(packets)),
            _ => None,
        }
    }
}

impl Threshold {
    /// Whether the sojourn time, or the number of packets, is above it.
    #[inline]
    pub(crate) fn is_exceeded_by(self, sojourn: Time, packets: u64) -> bool {
        match self {
            Self::Sojourn(threshold) => sojourn > threshold,
            Self::Packets(threshold) => packets > threshold,
        }
    }
}
