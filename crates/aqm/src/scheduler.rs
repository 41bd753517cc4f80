//! Schedulers for a pair of queues, shared by every dual-queue discipline: its parameter `scheduler`.
//!
//! * `credit`: shares of bytes with a credit, as Linux's `dualpi2` (parameter `classic_protection`);
//! * `wrr`: weighted round robin (RFC 9332 appendix A.2, weight of Classic 1/16) by bytes or packets
//!   (`wrr_ratio`, `wrr_unit`): the same credit with other weights;
//! * `ts_fifo`: time-shifted FIFO (RFC 9332 appendices A.2 and B, `tshift`);
//! * `strict`: L4S always first (slides of 2015; RFC 9332 appendix A.2 calls it inappropriate, because
//!   unresponsive L4S traffic starves Classic without bound).
//!
//! The congestion signal, not the scheduler, is meant to set capacity shares (RFC 9332 section 4.2.2):
//! these only bound how long Classic traffic can be kept waiting by unresponsive low-latency traffic.

use crate::dual_queue::DualQueue;
use crate::observer::QueueId;
use crate::packet::Packet;
use crate::parameter::{Domain, Parameter, Preset, Table as _};
use crate::qdisc::{Gauge, Link};
use crate::units::{Bytes, Time, parameters, words};

words! {
    /// The word of `scheduler`.
    pub(crate) enum Choice {
        Credit = "credit",
        Wrr = "wrr",
        TsFifo = "ts_fifo",
        Strict = "strict",
    }
}
words! {
    /// The word of `wrr_unit`.
    pub(crate) enum Unit {
        Bytes = "bytes",
        Packets = "packets",
    }
}

parameters! {
    /// The parameters of the scheduler of a dual queue.
    pub struct Parameters {
        /// Who goes first while both queues are backlogged: shares by credit (Linux) or weighted round robin, a
        /// time-shifted FIFO, or always L4S.
        scheduler: Choice = Parameter::LIVE.default("wrr").source("RFC 9332 appendix A.2"),
        /// Percentage of bytes that Classic gets at least while both queues are backlogged.
        classic_protection: u32 = Parameter::LIVE.domain(Domain::Integer(0, 100)).default("10")
            .only(("scheduler", "credit")).source("tc-dualpi2(8)"),
        /// What L4S gets for each byte or packet of Classic while both queues are backlogged.
        wrr_ratio: u32 = Parameter::LIVE.domain(Domain::Integer(1, 1_000)).default("15").only(("scheduler", "wrr"))
            .source("RFC 9332 section 4.2.2: Classic weight 1/16"),
        /// Whether the round robin shares out bytes or packets.
        wrr_unit: Unit = Parameter::LIVE.default("bytes").only(("scheduler", "wrr")).source("RFC 9332 appendix A.2"),
        /// How much longer a Classic packet waits than an L4S packet.
        tshift: Time = Parameter::LIVE.domain(Domain::Time(Time::ZERO, Time::from_nanos(u32::MAX as u64)))
            .default("50ms").only(("scheduler", "ts_fifo")).source("RFC 9332 appendix A.2 (public Internet)"),
    }
}

/// The rows, with the default scheduler of a discipline and its source.
pub(crate) const fn rows(default: Preset, source: &'static str) -> [Parameter; 5] {
    let Some(rows) = Parameters::ROWS.first_chunk() else {
        panic!("there are five rows");
    };
    let mut rows = *rows;
    rows[0].default = default;
    rows[0].source = source;
    rows
}

/// The rule that the parameters ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Strict,
    TimeShifted(Time),
    /// Weights of Classic and of L4S, and whether they count packets.
    Shares(u32, u32, bool),
}

impl Rule {
    fn of(parameters: &Parameters) -> Self {
        match parameters.scheduler {
            Choice::Credit => {
                let classic = parameters.classic_protection;
                Self::Shares(classic, 100 - classic, false)
            }
            Choice::Wrr => {
                let packets = parameters.wrr_unit == Unit::Packets;
                Self::Shares(1, parameters.wrr_ratio, packets)
            }
            Choice::TsFifo => Self::TimeShifted(parameters.tshift),
            Choice::Strict => Self::Strict,
        }
    }
}

#[derive(Debug)]
enum SchedulerState {
    Strict,
    TimeShifted(TimeShiftedFifo),
    Bytes(ByteCredit),
    Packets(ByteCredit),
}

/// Any scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler {
    rule: Rule,
    state: SchedulerState,
}

impl Scheduler {
    /// The scheduler that `parameters` ask for.
    pub(crate) fn new(parameters: &Parameters, link: Link) -> Self {
        let rule = Rule::of(parameters);
        let state = match rule {
            Rule::Strict => SchedulerState::Strict,
            Rule::TimeShifted(shift) => SchedulerState::TimeShifted(TimeShiftedFifo::new(shift)),
            Rule::Shares(classic, l4s, false) => {
                SchedulerState::Bytes(ByteCredit::new(classic, l4s, link.mtu))
            }
            Rule::Shares(classic, l4s, true) => {
                SchedulerState::Packets(ByteCredit::new(classic, l4s, Bytes::new(1)))
            }
        };
        Self { rule, state }
    }

    /// Adopts changed parameters; starts anew only if its own rule changed.
    pub(crate) fn configure(&mut self, parameters: &Parameters, link: Link) {
        if Rule::of(parameters) != self.rule {
            *self = Self::new(parameters, link);
        }
    }

    /// The queue to serve; `None` if both are empty, which begins a new round.
    #[inline]
    pub(crate) fn next<P: Packet>(&mut self, queues: &DualQueue<P>, now: Time) -> Option<QueueId> {
        let (l4s, classic) = queues.backlogged();
        match &mut self.state {
            SchedulerState::Bytes(credit) | SchedulerState::Packets(credit) => {
                if !l4s && !classic {
                    credit.reset();
                }
                credit.next(l4s, classic)
            }
            SchedulerState::TimeShifted(fifo) => fifo.next(
                queues.head_sojourn(QueueId::L4S, now),
                queues.head_sojourn(QueueId::CLASSIC, now),
            ),
            SchedulerState::Strict if l4s => Some(QueueId::L4S),
            SchedulerState::Strict => classic.then_some(QueueId::CLASSIC),
        }
    }

    /// A packet of `len` from `queue` goes out while the other queue is backlogged or not.
    #[inline]
    pub(crate) fn served(&mut self, queue: QueueId, len: Bytes, other_backlogged: bool) {
        match &mut self.state {
            SchedulerState::Bytes(credit) => credit.served(queue, len, other_backlogged),
            SchedulerState::Packets(credit) => {
                credit.served(queue, Bytes::new(1), other_backlogged)
            }
            SchedulerState::TimeShifted(_) | SchedulerState::Strict => (),
        }
    }

    /// Reports the gauges to `status`.
    pub(crate) fn report(&self, report: &mut dyn FnMut(&'static str, Gauge)) {
        if let SchedulerState::Bytes(credit) | SchedulerState::Packets(credit) = &self.state {
            report("credit", Gauge::Count(credit.credit()));
        }
    }
}

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
    use crate::parameter::Settings;

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

    fn scheduler(given: &[(&str, &str)]) -> Scheduler {
        let mut settings = Settings::new(Parameters::ROWS);
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        settings.check().unwrap();
        let link = Link {
            rate: crate::units::Rate::from_mbps(10),
            mtu: MTU,
        };
        Scheduler::new(&Parameters::of(&settings), link)
    }

    /// What each queue gets of 16 000 packets, in packets and bytes, when both are always
    /// backlogged: L4S with packets of 500 bytes, Classic with 1500.
    fn unequal(given: &[(&str, &str)]) -> [(u64, u64); 2] {
        use crate::dual_queue::Queued;
        use crate::packet::{Ecn, testing::TestPacket};
        let mut scheduler = scheduler(given);
        let mut queues = DualQueue::new();
        let fill = |queues: &mut DualQueue<TestPacket>, queue: QueueId, id| {
            let len = [500, 1_500][queue.index()];
            let packet = TestPacket::new(id, len, Ecn::NotEct);
            let entry = Queued {
                packet,
                apply_step: false,
                redirected: false,
            };
            queues.push(queue, entry);
        };
        fill(&mut queues, QueueId::L4S, 0);
        fill(&mut queues, QueueId::CLASSIC, 1);
        let mut shares = [(0, 0); 2];
        for id in 0..16_000 {
            let queue = scheduler.next(&queues, Time::ZERO).unwrap();
            fill(&mut queues, queue, id);
            let len = queues.pop(queue).unwrap().packet.len();
            scheduler.served(queue, len, true);
            let share = &mut shares[queue.index()];
            *share = (share.0 + 1, share.1 + len.get());
        }
        shares
    }

    #[test]
    fn round_robin_shares_bytes_or_packets() {
        // Acceptance test A7, with packets of unlike size: within one packet a round.
        let [(_, l4s), (_, classic)] = unequal(&[("scheduler", "wrr")]);
        assert!(l4s.abs_diff(15 * classic) <= 15 * 1_500, "{l4s} {classic}");
        let [(l4s, _), (classic, _)] = unequal(&[("scheduler", "wrr"), ("wrr_unit", "packets")]);
        assert!(l4s.abs_diff(15 * classic) <= 15, "{l4s} {classic}");
        let [(_, l4s), (_, classic)] = unequal(&[("scheduler", "credit")]);
        assert!(l4s.abs_diff(9 * classic) <= 9 * 1_500, "{l4s} {classic}");
        // 19 L4S and 1 Classic flow over 15:1 (RFC 9332 section 4.2.2): 4.9 % and 6.25 % each.
        let [(l4s, _), (classic, _)] = unequal(&[("scheduler", "wrr"), ("wrr_unit", "packets")]);
        assert_eq!(
            (l4s * 1_000 / 19 / 16_000, classic * 10_000 / 16_000),
            (49, 625)
        );
    }

    #[test]
    fn strict_priority_starves_classic() {
        let [(l4s, _), (classic, _)] = unequal(&[("scheduler", "strict")]);
        assert_eq!((l4s, classic), (16_000, 0));
        let mut queues = DualQueue::<crate::packet::testing::TestPacket>::new();
        let mut strict = scheduler(&[("scheduler", "strict")]);
        assert_eq!(strict.next(&queues, Time::ZERO), None);
        let packet = crate::packet::testing::TestPacket::new(0, 100, crate::packet::Ecn::NotEct);
        let entry = crate::dual_queue::Queued {
            packet,
            apply_step: false,
            redirected: false,
        };
        queues.push(QueueId::CLASSIC, entry);
        assert_eq!(strict.next(&queues, Time::ZERO), Some(QueueId::CLASSIC));
    }

    #[test]
    fn a_change_that_does_not_concern_it_keeps_the_round() {
        let mut wrr = scheduler(&[("scheduler", "wrr")]);
        wrr.served(QueueId::L4S, MTU, true);
        let credit = |scheduler: &Scheduler| {
            let mut credit = None;
            scheduler.report(&mut |_, gauge| credit = Some(gauge));
            credit.unwrap()
        };
        let before = credit(&wrr);
        let mut settings = Settings::new(Parameters::ROWS);
        let link = Link {
            rate: crate::units::Rate::from_mbps(10),
            mtu: MTU,
        };
        wrr.configure(&Parameters::of(&settings), link);
        assert_eq!(credit(&wrr), before);
        settings.set("wrr_ratio", "7").unwrap();
        wrr.configure(&Parameters::of(&settings), link);
        assert_eq!(credit(&wrr), Gauge::Count(1_500 * (1 - 7)));
    }

    /// `dualpi2_dequeue_packet`: "q->c_protection_credit <= 0"; RFC 9332 appendix A.2: a Classic head goes first if it
    /// has waited longer by more than the shift.
    #[test]
    fn l4s_goes_first_at_a_tie() {
        let mut credit = ByteCredit::new(1, 1, MTU);
        let next = |credit: &ByteCredit| credit.next(true, true);
        assert_eq!(credit.credit(), 0);
        assert_eq!(next(&credit), Some(QueueId::L4S));
        credit.served(QueueId::L4S, MTU, true);
        assert_eq!(next(&credit), Some(QueueId::CLASSIC));
        credit.served(QueueId::CLASSIC, MTU, true);
        assert_eq!(next(&credit), Some(QueueId::L4S));
        let fifo = TimeShiftedFifo::new(Time::from_nanos(50));
        for (classic, queue) in [
            (59, QueueId::L4S),
            (60, QueueId::L4S),
            (61, QueueId::CLASSIC),
        ] {
            let next = fifo.next(Some(Time::from_nanos(10)), Some(Time::from_nanos(classic)));
            assert_eq!(next, Some(queue), "{classic}");
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
