//! Schedulers for a pair of queues, shared by every dual-queue discipline.
//!
//! A scheduler is told which queues hold packets and answers which one to serve. The congestion
//! signal, not the scheduler, is meant to set capacity shares (RFC 9332 section 4.2.2): these only
//! bound how long Classic traffic can be kept waiting by unresponsive low-latency traffic.

use crate::observer::QueueId;
use crate::units::{Bytes, Time};

/// Weighted sharing by bytes with a credit, as Linux's `dualpi2` does it, and with weights 1 and 15
/// a byte-exact form of the weighted round robin that RFC 9332 appendix A suggests.
///
/// The credit moves only while both queues are backlogged, and returns to favour L4S when both are
/// empty (RFC 9332 appendix A.1). Negative or zero credit serves L4S.
#[derive(Debug, Clone)]
pub struct ByteCredit {
    credit: i64,
    initial: i64,
    classic_weight: i64,
    l4s_weight: i64,
}

impl ByteCredit {
    /// Classic is promised `classic_weight / (classic_weight + l4s_weight)` of the bytes.
    pub fn new(classic_weight: u32, l4s_weight: u32, mtu: Bytes) -> Self {
        let (classic_weight, l4s_weight) = (i64::from(classic_weight), i64::from(l4s_weight));
        let initial = mtu.get() as i64 * (classic_weight - l4s_weight);
        Self {
            credit: initial,
            initial,
            classic_weight,
            l4s_weight,
        }
    }
    /// The queue to serve.
    pub fn next(&self, l4s: bool, classic: bool) -> Option<QueueId> {
        if l4s && (!classic || self.credit <= 0) {
            Some(QueueId::L4S)
        } else if classic {
            Some(QueueId::CLASSIC)
        } else {
            None
        }
    }
    /// A packet of `len` from `queue` goes out while the other queue is backlogged or not.
    pub fn served(&mut self, queue: QueueId, len: Bytes, other_backlogged: bool) {
        if other_backlogged {
            let len = len.get() as i64;
            self.credit += if queue == QueueId::L4S {
                self.classic_weight * len
            } else {
                -self.l4s_weight * len
            };
        }
    }
    /// Both queues are empty.
    pub fn reset(&mut self) {
        self.credit = self.initial;
    }
    /// The credit in weighted bytes.
    pub fn credit(&self) -> i64 {
        self.credit
    }
}

/// Time-shifted FIFO (RFC 9332 appendix A.2): L4S goes first unless the Classic head has waited
/// more than `shift` longer. It bounds the wait of Classic but does not isolate L4S from Classic
/// bursts.
#[derive(Debug, Clone, Copy)]
pub struct TimeShiftedFifo {
    shift: Time,
}

impl TimeShiftedFifo {
    /// `shift` is how much longer a Classic packet waits than an L4S packet.
    pub fn new(shift: Time) -> Self {
        Self { shift }
    }
    /// The queue to serve, from the sojourn times of both heads.
    pub fn next(&self, l4s: Option<Time>, classic: Option<Time>) -> Option<QueueId> {
        match (l4s, classic) {
            (Some(l4s), Some(classic)) if l4s + self.shift < classic => Some(QueueId::CLASSIC),
            (Some(_), _) => Some(QueueId::L4S),
            (None, Some(_)) => Some(QueueId::CLASSIC),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(1_500);

    /// Bytes served from each queue when both are always backlogged.
    fn shares(classic: u32, l4s: u32, packets: u64) -> [u64; 2] {
        let mut credit = ByteCredit::new(classic, l4s, MTU);
        let mut bytes = [0; 2];
        for _ in 0..packets {
            let queue = credit.next(true, true).unwrap();
            credit.served(queue, MTU, true);
            bytes[queue.index()] += MTU.get();
        }
        bytes
    }

    #[test]
    fn backlogged_queues_share_bytes_by_weight() {
        // Acceptance test A7: 10 % and 1/16 within one packet per round.
        for (classic, l4s) in [(10, 90), (1, 15), (25, 75)] {
            let packets = 16_000;
            let round = u64::from(classic + l4s);
            let expected = packets * u64::from(classic) / round;
            let served = shares(classic, l4s, packets)[1] / MTU.get();
            assert!(
                served.abs_diff(expected) <= 1,
                "{classic}:{l4s} {served} {expected}"
            );
        }
    }

    #[test]
    fn weight_zero_never_serves_classic_under_contention() {
        assert_eq!(shares(0, 100, 1_000)[1], 0);
    }

    #[test]
    fn the_credit_stands_still_while_one_queue_is_backlogged() {
        let mut credit = ByteCredit::new(10, 90, MTU);
        let before = credit.credit();
        credit.served(QueueId::L4S, MTU, false);
        credit.served(QueueId::CLASSIC, MTU, false);
        assert_eq!(credit.credit(), before);
        assert_eq!(before, 1_500 * (10 - 90));
    }

    #[test]
    fn l4s_goes_first_after_a_reset_and_the_other_queue_when_it_is_empty() {
        let mut credit = ByteCredit::new(10, 90, MTU);
        for _ in 0..20 {
            credit.served(QueueId::L4S, MTU, true);
        }
        assert_eq!(credit.next(true, true), Some(QueueId::CLASSIC));
        assert_eq!(credit.next(true, false), Some(QueueId::L4S));
        credit.reset();
        assert_eq!(credit.next(true, true), Some(QueueId::L4S));
        assert_eq!(credit.next(false, true), Some(QueueId::CLASSIC));
        assert_eq!(credit.next(false, false), None);
    }

    #[test]
    fn the_shifted_fifo_compares_head_sojourns() {
        let fifo = TimeShiftedFifo::new(Time::from_millis(50));
        let ms = |n| Some(Time::from_millis(n));
        // RFC 9332: L if lq.time() + tshift >= cq.time().
        assert_eq!(fifo.next(ms(0), ms(50)), Some(QueueId::L4S));
        assert_eq!(fifo.next(ms(0), ms(51)), Some(QueueId::CLASSIC));
        assert_eq!(fifo.next(None, ms(1)), Some(QueueId::CLASSIC));
        assert_eq!(fifo.next(ms(1), None), Some(QueueId::L4S));
        assert_eq!(fifo.next(None, None), None);
    }
}
