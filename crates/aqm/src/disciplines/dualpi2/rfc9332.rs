//! The RFC form of DualPI2: RFC 9332 appendix A, figures 2 to 8, in fixed point.
//!
//! Deterministic: instead of drawing random numbers, each queue adds its probability to an
//! accumulator and signals when that passes one (`recur`). The native L4S AQM is a ramp, and the
//! larger of native and coupled probability counts.
//!
//! Where the RFC leaves a choice, or this deviates:
//!
//! 1. `lq.time()` in line 7 of figure 4 comes after the pop. Here it is the sojourn time of the
//!    packet being dequeued, which figure 4's comment intends.
//! 2. The length compared with Th_len includes the packet being dequeued: the last packet of a
//!    burst, alone in its queue, is exempt, as note A.2 describes; the literal order of the
//!    listing would exempt the last two.
//! 3. p_CL is clamped to 1. In saturation the listing lets it grow to k, and the accumulator that
//!    line 12 and line 16 share would then grow without bound.
//! 4. p_Lmax is 1 and p_Cmax is min(1/k², 1), without parameters of their own.
//! 5. The weighted round robin counts bytes: it is the credit scheduler with weights 1 and
//!    `wrr_ratio`.
//! 6. With `overflow` (delay on saturation, section 4.2.3) p' is capped at 1/k, and neither branch
//!    of overload is taken.
//! 7. The base controller reads the longer of both head sojourn times (figure 6 with both queues);
//!    no signal is withheld for a backlog below 2 × MTU, which is Linux's addition.

use super::parameters::{Gains, Parameters};
use crate::dual_buffer::Arrival;
use crate::dual_queue::{DualQueue, Queued};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Amount, ParameterError};
use crate::pi::Pi;
use crate::qdisc::{Gauge, Link, mark};
use crate::units::{Probability, Time};

/// State and configuration of the RFC form.
#[derive(Debug)]
pub(super) struct Rfc9332 {
    pi: Coupling,
    ramp: Ramp,
    th_len: u64,
    /// `lq.count` and `cq.count`.
    l4s_count: Recur,
    classic_count: Recur,
}

/// The base PI controller and the probabilities that follow from it.
#[derive(Debug, Clone)]
struct Coupling {
    /// p'
    base: Pi,
    coupling_factor: u64,
    /// Delay on saturation instead of drop on saturation.
    overflow: bool,
    /// p_CL = k·p'
    coupled: Probability,
    /// p_C = p'²
    classic: Probability,
}

impl Coupling {
    fn new(gains: Gains) -> Self {
        Self {
            base: Pi::new(gains.target, gains.alpha, gains.beta),
            coupling_factor: 1,
            overflow: false,
            coupled: Probability::ZERO,
            classic: Probability::ZERO,
        }
    }

    fn configure(&mut self, gains: Gains, coupling_factor: u64, overflow: bool) {
        self.base.configure(gains.target, gains.alpha, gains.beta);
        (self.coupling_factor, self.overflow) = (coupling_factor, overflow);
        self.base.limit(if overflow {
            Probability::ratio(1, coupling_factor)
        } else {
            Probability::ONE
        });
        self.derive();
    }

    /// Figure 6.
    fn update(&mut self, delay: Time) {
        self.base.update(delay);
        self.derive();
    }

    fn derive(&mut self) {
        let base = self.base.probability();
        self.coupled = base.scaled(self.coupling_factor);
        self.classic = base.squared();
    }

    /// Whether p_CL has reached p_Lmax, and Classic drop is to be introduced for ECN too.
    fn is_saturated(&self) -> bool {
        !self.overflow && self.coupled >= Probability::ONE
    }

    /// "p_C >= p_Cmax: overload disables ECN" (figure 4 line 23).
    fn disables_classic_ecn(&self) -> bool {
        let p_c_max = Probability::ratio(1, self.coupling_factor * self.coupling_factor);
        !self.overflow && self.classic >= p_c_max
    }
}

/// The native L4S AQM (figure 7).
#[derive(Debug, Clone, Copy)]
struct Ramp {
    min_th: Time,
    range: Time,
}

impl Ramp {
    fn probability(self, sojourn: Time) -> Probability {
        if sojourn >= self.min_th + self.range {
            Probability::ONE
        } else if sojourn > self.min_th {
            Probability::ratio((sojourn - self.min_th).as_nanos(), self.range.as_nanos())
        } else {
            Probability::ZERO
        }
    }
}

/// An accumulator that signals with a given probability, without randomness (figure 5).
#[derive(Debug, Clone, Copy, Default)]
struct Recur(u64);

impl Recur {
    fn signals(&mut self, p: Probability) -> bool {
        // At most 1 stands here and p is at most 1: the sum is at most 2⁶³.
        self.0 += p.raw();
        let signal = self.0 > Probability::ONE.raw();
        if signal {
            self.0 -= Probability::ONE.raw();
        }
        signal
    }
}

impl Rfc9332 {
    pub(super) fn new(parameters: &Parameters, gains: Gains) -> Self {
        let mut form = Self {
            pi: Coupling::new(gains),
            ramp: Ramp {
                min_th: Time::ZERO,
                range: Time::ZERO,
            },
            th_len: 0,
            l4s_count: Recur::default(),
            classic_count: Recur::default(),
        };
        form.configure(parameters, gains);
        form
    }

    /// The limit, by default 250 ms at the highest rate of the link.
    pub(super) fn limit(limit: Amount, link: Link) -> Result<QueueLimit, ParameterError> {
        if let Amount::Packets(_) = limit {
            let allowed = "must be in bytes or time with form = \"rfc9332\"";
            return Err(ParameterError::new(LIMIT, limit, allowed));
        }
        QueueLimit::of(LIMIT, limit, link)
    }

    /// Adopts changed parameters.
    pub(super) fn configure(&mut self, parameters: &Parameters, gains: Gains) {
        self.pi
            .configure(gains, parameters.coupling_factor, parameters.overflow);
        self.ramp = Ramp {
            min_th: parameters.min_th,
            range: parameters.range,
        };
        self.th_len = parameters.th_len;
    }

    /// Figure 3: "if ( lq.byt() + cq.byt() + MTU > limit) drop(pkt)".
    pub(super) fn arriving<P: Packet>(
        &self,
        queues: &DualQueue<P>,
        Arrival { limit, mtu, .. }: Arrival,
    ) -> Option<DropReason> {
        (!limit.admits(queues.backlog(), mtu)).then_some(DropReason::Limit)
    }

    pub(super) fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)> {
        let l4s_len = queues.packets(QueueId::L4S);
        let Queued {
            mut packet,
            redirected,
            ..
        } = queues.pop(queue)?;
        let dropped = if queue == QueueId::L4S {
            let native = self.native(packet.sojourn(now), l4s_len);
            self.signal_l4s(&mut packet, queue, native, now, obs)
        } else if redirected {
            self.signal_l4s(&mut packet, queue, Probability::ZERO, now, obs)
        } else {
            self.signal_classic(&mut packet, now, obs)
        };
        Some((packet, dropped))
    }

    pub(super) fn update(&mut self, delay: Time) {
        self.pi.update(delay);
    }

    pub(super) fn status(&self, report: &mut dyn FnMut(&'static str, Gauge)) {
        report(
            "probability",
            Gauge::Ratio(self.pi.base.probability().as_f64()),
        );
        report(
            "coupled_probability",
            Gauge::Ratio(self.pi.coupled.as_f64()),
        );
        report(
            "classic_probability",
            Gauge::Ratio(self.pi.classic.as_f64()),
        );
    }

    /// The native marking probability at a delay and a number of packets.
    pub(super) fn native(&self, delay: Time, packets: u64) -> Probability {
        if packets > self.th_len {
            self.ramp.probability(delay)
        } else {
            Probability::ZERO
        }
    }

    pub(super) fn certain(&self) -> Time {
        self.ramp.min_th + self.ramp.range
    }

    /// Figure 4, lines 6 to 18, for an L4S packet wherever queue protection put it.
    fn signal_l4s<P: Packet>(
        &mut self,
        packet: &mut P,
        queue: QueueId,
        native: Probability,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if self.pi.is_saturated() {
            // "revert to Classic drop due to overload"
            if self.l4s_count.signals(self.pi.classic) {
                return Some(DropReason::Overload);
            }
            // "linear marking of remaining packets"
            if self.l4s_count.signals(self.pi.coupled) {
                mark(packet, queue, MarkReason::Overload, now, obs);
            }
            return None;
        }
        if self.l4s_count.signals(native.max(self.pi.coupled)) {
            let reason = if native > self.pi.coupled {
                MarkReason::Ramp
            } else {
                MarkReason::Coupled
            };
            mark(packet, queue, reason, now, obs);
        }
        None
    }

    /// Figure 4, lines 21 to 28.
    fn signal_classic<P: Packet>(
        &mut self,
        packet: &mut P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        if !self.classic_count.signals(self.pi.classic) {
            return None;
        }
        if packet.ecn() == Ecn::NotEct {
            return Some(DropReason::Aqm);
        }
        if self.pi.disables_classic_ecn() {
            return Some(DropReason::Overload);
        }
        mark(packet, QueueId::CLASSIC, MarkReason::Aqm, now, obs);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Frequency;

    /// The controller with the gains of Linux, which the golden vectors have besides those of the RFC.
    fn pi(overflow: bool) -> Coupling {
        coupling(2, overflow)
    }
    fn coupling(factor: u64, overflow: bool) -> Coupling {
        let gains = Gains {
            target: Time::from_millis(15),
            update_interval: Time::from_millis(16),
            alpha: Frequency::from_nanohertz(160_000_000),
            beta: Frequency::from_nanohertz(3_200_000_000),
        };
        let mut pi = Coupling::new(gains);
        pi.configure(gains, factor, overflow);
        pi
    }

    #[test]
    fn the_golden_vector_with_linux_gains_gives_both_derived_columns() {
        // Columns "float 0.16/3.2 p'", p_CL and p_C: digits as printed, in 10⁻⁴ and 10⁻⁶.
        let mut pi = pi(false);
        let rounded = |p: Probability, digits: u64| {
            ((u128::from(p.raw()) * u128::from(digits) * 2 + u128::from(Probability::ONE.raw()))
                / (2 * u128::from(Probability::ONE.raw()))) as u64
        };
        for (delay_ms, base, coupled, classic) in [
            (0, 0, 0, 0),
            (5, 1_440, 288, 207),
            (10, 2_960, 592, 876),
            (20, 6_240, 1_248, 3_894),
            (30, 9_680, 1_936, 9_370),
            (30, 9_920, 1_984, 9_841),
            (25, 8_480, 1_696, 7_191),
            (15, 5_280, 1_056, 2_788),
            (10, 3_600, 720, 1_296),
            (5, 1_840, 368, 339),
            (0, 0, 0, 0),
        ] {
            pi.update(Time::from_millis(delay_ms));
            assert_eq!(
                rounded(pi.base.probability(), 100_000),
                base,
                "p' at {delay_ms} ms"
            );
            assert_eq!(
                rounded(pi.coupled, 10_000),
                coupled,
                "p_CL at {delay_ms} ms"
            );
            assert_eq!(
                rounded(pi.classic, 1_000_000),
                classic,
                "p_C at {delay_ms} ms"
            );
        }
    }

    #[test]
    fn a_standing_queue_saturates_after_the_stated_number_of_updates() {
        // spec of L4S section 1.3.6: 30 ms from an empty queue reaches p' = 0.5 after 169 updates
        // with the gains 0.16 and 3.2.
        let mut pi = pi(false);
        let mut updates = 0;
        while !pi.is_saturated() {
            pi.update(Time::from_millis(30));
            updates += 1;
        }
        assert_eq!(updates, 169);
        assert!(pi.disables_classic_ecn());
    }

    /// Figure 4, lines 6 and 23: at the limits, not beyond them. With a factor of one both limits are one, which no
    /// probability exceeds.
    #[test]
    fn overload_begins_where_the_probabilities_reach_their_limits() {
        let mut pi = coupling(1, false);
        while pi.base.probability() < Probability::ONE {
            assert!(!pi.is_saturated() && !pi.disables_classic_ecn());
            pi.update(Time::from_millis(100));
        }
        assert_eq!(
            (pi.coupled, pi.classic),
            (Probability::ONE, Probability::ONE)
        );
        assert!(pi.is_saturated() && pi.disables_classic_ecn());
    }

    #[test]
    fn recur_signals_on_the_stated_packets() {
        let mut recur = Recur::default();
        let p = Probability::ratio(28, 100);
        let signals: std::vec::Vec<u32> = (1..=24).filter(|_| recur.signals(p)).collect();
        assert_eq!(signals, [4, 8, 11, 15, 18, 22]);
    }

    #[test]
    fn recur_keeps_its_long_run_rate_and_stays_bounded() {
        let mut recur = Recur::default();
        let p = Probability::ratio(1, 3);
        let signals = (0..3_000_000).filter(|_| recur.signals(p)).count();
        assert!((999_999..=1_000_000).contains(&signals), "{signals}");
        for _ in 0..1_000 {
            recur.signals(Probability::ONE);
            assert!(recur.0 <= Probability::ONE.raw());
        }
    }

    #[test]
    fn the_ramp_rises_over_its_range_and_may_be_a_step() {
        let ramp = |min_us, range_us| Ramp {
            min_th: Time::from_micros(min_us),
            range: Time::from_micros(range_us),
        };
        for (sojourn_us, expected) in [
            (0, Probability::ZERO),
            (800, Probability::ZERO),
            (900, Probability::ratio(1, 4)),
            (1_000, Probability::ratio(1, 2)),
            (1_200, Probability::ONE),
            (9_000, Probability::ONE),
        ] {
            assert_eq!(
                ramp(800, 400).probability(Time::from_micros(sojourn_us)),
                expected,
                "{sojourn_us}"
            );
        }
        assert_eq!(
            ramp(800, 0).probability(Time::from_micros(799)),
            Probability::ZERO
        );
        assert_eq!(
            ramp(800, 0).probability(Time::from_micros(800)),
            Probability::ONE
        );
    }

    #[test]
    fn delay_on_saturation_caps_the_base_probability() {
        let mut pi = pi(true);
        for _ in 0..1_000 {
            pi.update(Time::from_millis(100));
        }
        assert_eq!(pi.base.probability(), Probability::ratio(1, 2));
        assert_eq!(pi.coupled, Probability::ONE);
        assert!(!pi.is_saturated() && !pi.disables_classic_ecn());
    }
}
