//! The RFC form of PIE: RFC 8033 sections 4 and 5, appendix B, in fixed point.
//!
//! Probabilities are in units of 2⁻⁶². A change of probability is computed exactly and rounded
//! toward zero once; the decay by 0.98 rounds down.
//!
//! Where the RFC leaves a choice, or this deviates:
//!
//! 1. Delays are measured from arrival times by default, as in appendix A, and estimated from the
//!    departure rate with `dq_rate_estimator`, as in appendix B.
//! 2. A measured delay lasts until the next departure; an empty queue has none. (The listings say
//!    nothing, and the probability could never decay after the last packet.)
//! 3. The burst allowance is tested before the drop decision, as in appendix A. In appendix B's
//!    order the accumulator would run, and be reset, during a burst that passes anyway.
//! 4. The burst allowance is renewed whenever the probability is zero and both delays are below
//!    half the target (section 4.4 and appendix A); in appendix B only when PIE is activated.
//! 5. A mark resets the accumulated probability as a drop does. The listing leaves it, so that
//!    above 8.5 every ECN-capable packet would be marked.
//! 6. Updates come every `tupdate` whether PIE is active or not, and do nothing while it rests;
//!    the listing counts the first interval from activation.
//! 7. MEAN_PKTSIZE, which the RFC does not define, is the MTU unless given.
//! 8. PIE is put to rest only below the third of the limit that wakes it. In the listing the
//!    arrival that wakes it puts it to rest again wherever no delay is known yet; with the rate
//!    estimator none ever would be, because each waking starts the measurement anew.

use crate::limit::QueueLimit;
use crate::observer::DropReason;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{Backlog, Gauge, Link};
use crate::random::Random;
use crate::units::{Bytes, Probability, Time};

use super::Verdict;
use super::parameters::{Decay, FRACTIONS, Parameters};

/// DQ_THRESHOLD: bytes of a measurement of the departure rate.
const DQ_THRESHOLD: u64 = 1 << 14;
/// Gains are in 1/16 Hz and times in ns.
const GAIN_TIME: i128 = 16_000_000_000;
const ONE: u128 = Probability::ONE.raw() as u128;
/// Below this accumulated probability nothing is signalled, and from the other on everything.
const SPARED_BELOW: u128 = ONE * 85 / 100;
const SIGNALLED_FROM: u128 = ONE * 85 / 10;
/// The largest step up from a probability of 10 % on (section 5.5).
const LARGEST_STEP: i128 = (ONE / 50) as i128;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pub(crate) target: Time,
    pub(crate) interval: Time,
    pub(crate) alpha: u64,
    pub(crate) beta: u64,
    pub(crate) ecn: bool,
    pub(crate) estimates: bool,
    pub(crate) max_burst: Time,
    pub(crate) max_ecnth: Probability,
    pub(crate) mean_size: Bytes,
    pub(crate) on_off: bool,
    pub(crate) derandomize: bool,
    pub(crate) cap_drop: bool,
    pub(crate) decay: Decay,
}

impl Config {
    pub(super) fn of(parameters: &Parameters, link: Link) -> Self {
        Self {
            target: parameters.target,
            interval: parameters.tupdate,
            alpha: parameters.alpha,
            beta: parameters.beta,
            ecn: parameters.ecn,
            estimates: parameters.dq_rate_estimator,
            max_burst: parameters.max_burst,
            max_ecnth: Probability::ratio(parameters.max_ecnth, FRACTIONS),
            mean_size: parameters.mean_pktsize.unwrap_or(link.mtu),
            on_off: parameters.on_off,
            derandomize: parameters.derandomize,
            cap_drop: parameters.cap_drop,
            decay: parameters.decay,
        }
    }
}

/// State and configuration of the RFC form.
#[derive(Debug)]
pub(crate) struct Rfc8033 {
    config: Config,
    /// `active_`
    active: bool,
    /// `drop_prob_`
    probability: Probability,
    /// `accu_prob_`, in the same units; it passes 8.5.
    accumulated: u128,
    /// `burst_allowance_`
    burst_allowance: Time,
    /// `current_qdelay`
    delay: Time,
    /// `qdelay_old_`
    last_delay: Time,
    rate: RateEstimator,
    random: Random,
}

/// The departure rate, as the time that [`DQ_THRESHOLD`] bytes take (section 5.2).
#[derive(Debug, Clone, Copy, Default)]
struct RateEstimator {
    /// `in_measurement_`, with `measurement_start_` and `dq_count_`.
    measurement: Option<(Time, u64)>,
    /// `avg_dq_time_` in ns, 0 if unknown.
    average: u64,
}

impl RateEstimator {
    fn departed(&mut self, len: Bytes, backlog: Bytes, now: Time) {
        if let Some((start, count)) = &mut self.measurement {
            *count = count.saturating_add(len.get());
            if *count >= DQ_THRESHOLD {
                let time = (now - *start).as_nanos();
                self.average = match self.average {
                    0 => time,
                    // weight = DQ_THRESHOLD / 2¹⁶ = 1/4
                    average => ((u128::from(time) + 3 * u128::from(average)) / 4) as u64,
                };
                self.measurement = None;
            }
        }
        if backlog.get() >= DQ_THRESHOLD && self.measurement.is_none() {
            self.measurement = Some((now, 0));
        }
    }
    fn delay(&self, backlog: Bytes) -> Time {
        let nanos = u128::from(backlog.get()) * u128::from(self.average) / u128::from(DQ_THRESHOLD);
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Rfc8033 {
    pub(crate) fn new(config: Config, random: Random) -> Self {
        Self {
            config,
            active: !config.on_off,
            probability: Probability::ZERO,
            accumulated: 0,
            burst_allowance: config.max_burst,
            delay: Time::ZERO,
            last_delay: Time::ZERO,
            rate: RateEstimator::default(),
            random,
        }
    }

    pub(crate) fn configure(&mut self, config: Config) {
        self.config = config;
        self.active |= !self.config.on_off;
        self.burst_allowance = self.burst_allowance.min(self.config.max_burst);
    }

    /// The fate of an arriving packet that fits.
    #[inline]
    pub(super) fn decide<P: Packet>(&mut self, packet: &P, backlog: Backlog) -> Verdict {
        if self.spares(backlog) || !self.draw() {
            return Verdict::Pass;
        }
        self.accumulated = 0;
        self.signal(packet)
    }

    /// Whether nothing is signalled to a packet that finds `backlog`, whatever the probability: PIE rests, allows a burst, or the
    /// queue is short in time or in bytes (the first half of `drop_early`).
    #[inline]
    pub(crate) fn spares(&mut self, backlog: Backlog) -> bool {
        if self.is_calm() {
            self.burst_allowance = self.config.max_burst;
        }
        !self.active || !self.burst_allowance.is_zero() || self.is_short(backlog)
    }

    /// The signal that a packet gets.
    #[inline]
    pub(crate) fn signal<P: Packet>(&self, packet: &P) -> Verdict {
        let marks = self.config.ecn && packet.ecn() != Ecn::NotEct;
        // "drop_prob_ < MAX_ECNTH && packet.ecn_capable() == TRUE"
        if marks && self.probability < self.config.max_ecnth {
            Verdict::Mark
        } else if marks {
            // "As a safeguard" (section 5.1): at such a probability marks are evidently not obeyed.
            Verdict::Drop(DropReason::Overload)
        } else {
            Verdict::Drop(DropReason::Aqm)
        }
    }

    /// A packet was refused because of the limit.
    pub(super) fn overflowed(&mut self) {
        self.accumulated = 0;
    }

    /// Called after each arrival with the new backlog: section 5.3.
    pub(super) fn arrived(&mut self, backlog: Backlog, limit: QueueLimit, now: Time) {
        if !self.config.on_off {
            return;
        }
        if limit.is_used_by(backlog, 3) {
            if self.active {
                return;
            }
            self.active = true;
            self.last_delay = Time::ZERO;
            self.probability = Probability::ZERO;
            self.rate = RateEstimator {
                measurement: Some((now, 0)),
                average: 0,
            };
            self.burst_allowance = self.config.max_burst;
            self.accumulated = 0;
        } else if self.probability == Probability::ZERO
            && self.last_delay.is_zero()
            && self.delay.is_zero()
        {
            self.active = false;
            self.rate.measurement = None;
        }
    }

    #[inline]
    pub(crate) fn departed<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time) {
        if self.config.estimates {
            self.rate.departed(packet.len(), backlog.bytes, now);
        } else {
            self.delay = packet.sojourn(now);
        }
    }

    pub(crate) fn update(&mut self, backlog: Backlog) {
        if self.config.estimates {
            self.delay = self.rate.delay(backlog.bytes);
        } else if backlog.packets == 0 {
            self.delay = Time::ZERO;
        }
        if !self.active {
            return;
        }
        let (delay, last, half) = (self.delay, self.last_delay, self.config.target / 2);
        let decays = match self.config.decay {
            Decay::BelowHalf => delay < half && last < half,
            Decay::Zero => delay.is_zero() && last.is_zero(),
        };
        let sum = i128::from(self.probability.raw()) + self.change();
        let mut sum = sum.clamp(0, i128::from(Probability::ONE.raw())) as u64;
        if decays {
            sum = (u128::from(sum) * 98 / 100) as u64;
        }
        self.probability = Probability::from_raw(sum);
        self.last_delay = delay;
        self.burst_allowance = self.burst_allowance - self.config.interval;
    }

    /// Empties the controller with the queue.
    pub(crate) fn drained(&mut self) {
        self.delay = Time::ZERO;
        self.accumulated = 0;
        self.rate = RateEstimator::default();
    }

    pub(super) fn status(&self, report: &mut dyn FnMut(&'static str, Gauge)) {
        report("probability", Gauge::Ratio(self.probability.as_f64()));
        let accumulated = self.accumulated as f64 / Probability::ONE.raw() as f64;
        report("accumulated_probability", Gauge::Ratio(accumulated));
        report("measured_delay", Gauge::Delay(self.delay));
        report("burst_allowance", Gauge::Delay(self.burst_allowance));
        report("active", Gauge::Count(self.active.into()));
    }

    /// Probability zero and both delays below half the target.
    fn is_calm(&self) -> bool {
        let half = self.config.target / 2;
        self.probability == Probability::ZERO && self.delay < half && self.last_delay < half
    }

    #[inline]
    fn is_short(&self, backlog: Backlog) -> bool {
        let fifth = Probability::ratio(1, 5);
        (self.last_delay < self.config.target / 2 && self.probability < fifth)
            || backlog.bytes.get() <= self.config.mean_size.get().saturating_mul(2)
    }

    /// The second half of `drop_early`: the spaced draw with the probability.
    fn draw(&mut self) -> bool {
        if self.config.derandomize {
            self.accumulated = match self.probability.raw() {
                0 => 0,
                // Below 8.5 before, so the sum is far from overflow.
                probability => self.accumulated + u128::from(probability),
            };
            if self.accumulated < SPARED_BELOW {
                return false;
            }
            if self.accumulated >= SIGNALLED_FROM {
                return true;
            }
        }
        self.random.chance(self.probability)
    }

    /// True with probability `p`, from PIE's own randomness.
    #[inline]
    pub(crate) fn chance(&mut self, p: Probability) -> bool {
        self.random.chance(p)
    }

    /// `drop_prob_`
    #[inline]
    pub(crate) fn probability(&self) -> Probability {
        self.probability
    }
    /// `current_qdelay`
    pub(crate) fn delay(&self) -> Time {
        self.delay
    }
    /// The rest of the burst allowance.
    pub(crate) fn burst_allowance(&self) -> Time {
        self.burst_allowance
    }

    /// The PI term, auto-tuned and capped, in units of 2⁻⁶², rounded toward zero.
    fn change(&self) -> i128 {
        let term =
            |gain: u64, since: Time| i128::from(gain) * i128::from(self.delay.signed_since(since));
        let sum =
            term(self.config.alpha, self.config.target) + term(self.config.beta, self.last_delay);
        let scale = GAIN_TIME << tuning_shift(self.probability);
        // A change by more than one is as good as one, and 16·10⁹·2¹¹·2⁶² fits.
        let sum = sum.clamp(-scale, scale);
        let change = sum * i128::from(Probability::ONE.raw()) / scale;
        let tenth = Probability::ratio(1, 10);
        // A single flow in slow start would otherwise drive the probability up so fast that it loses its throughput (section 5.5).
        if self.config.cap_drop && self.probability >= tenth {
            change.min(LARGEST_STEP)
        } else {
            change
        }
    }
}

/// The table of section 4.2: by which power of two the change is divided.
fn tuning_shift(probability: Probability) -> u32 {
    let mut shift = 0;
    let mut below = 10;
    while below <= 1_000_000 && probability.raw() < Probability::ONE.raw() / below {
        shift += if shift == 0 { 1 } else { 2 };
        below *= 10;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::parameter::{Settings, Table as _};
    use crate::units::Rate;
    use num_rational::BigRational;
    use proptest::prelude::*;
    use std::vec::Vec;

    const LINK: Link = Link {
        rate: Rate::from_mbps(10),
        mtu: Bytes::new(1_500),
    };

    fn form(given: &[(&str, &str)]) -> Rfc8033 {
        let mut settings = Settings::new(Parameters::ROWS);
        settings.set("form", "rfc8033").unwrap();
        for (key, value) in given {
            settings.set(key, value).unwrap();
        }
        Rfc8033::new(
            Config::of(&Parameters::of(&settings), LINK),
            Random::new(1, "rfc8033"),
        )
    }
    fn backlog(packets: u64) -> Backlog {
        Backlog {
            packets,
            bytes: Bytes::new(1_500 * packets),
        }
    }
    fn part(numerator: u64, denominator: u64) -> BigRational {
        BigRational::new(numerator.into(), denominator.into())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Section 4.2 with exact rationals: equal but for one rounding toward zero.
        #[test]
        fn a_change_equals_the_exact_one(
            bits in 0_u32..62, fraction in any::<u64>(),
            delay in 0..2_000_000_000_u64, last in 0..2_000_000_000_u64,
            target in 1..100_000_000_u64, alpha in 0_u64..=32, beta in 0_u64..=32,
        ) {
            let mut form = form(&[]);
            form.probability = Probability::from_raw(fraction >> 2 >> bits);
            (form.delay, form.last_delay) = (Time::from_nanos(delay), Time::from_nanos(last));
            form.config.target = Time::from_nanos(target);
            (form.config.alpha, form.config.beta) = (alpha, beta);
            let one = part(Probability::ONE.raw(), 1);
            let p = part(form.probability.raw(), 1) / &one;
            let since = |then: u64| part(delay, 1_000_000_000) - part(then, 1_000_000_000);
            let mut exact = part(alpha, 16) * since(target) + part(beta, 16) * since(last);
            let table = [
                (1_000_000, 2_048), (100_000, 512), (10_000, 128), (1_000, 32), (100, 8), (10, 2),
            ];
            if let Some((_, divisor)) = table.iter().find(|(below, _)| p < part(1, *below)) {
                exact /= part(*divisor, 1);
            }
            if p >= part(1, 10) {
                exact = exact.min(part(1, 50));
            }
            let exact = exact.clamp(-part(1, 1), part(1, 1));
            prop_assert_eq!(
                num_bigint::BigInt::from(form.change()),
                (exact * one).trunc().to_integer()
            );
        }
    }

    #[test]
    fn the_probability_decays_by_two_percent() {
        for (given, delay_ms, decays) in [
            (&[][..], 0, true),
            (&[], 7, true),
            (&[], 8, false),
            (&[("decay", "zero")], 0, true),
            (&[("decay", "zero")], 7, false),
        ] {
            let mut form = form(given);
            form.active = true;
            (form.config.alpha, form.config.beta) = (0, 0);
            form.probability = Probability::ratio(1, 2);
            (form.delay, form.last_delay) =
                (Time::from_millis(delay_ms), Time::from_millis(delay_ms));
            form.update(backlog((delay_ms > 0).into()));
            let expected = if decays { 49 } else { 50 };
            let exact = Probability::ratio(expected, 100).raw();
            assert!(form.probability.raw().abs_diff(exact) <= 1, "{given:?}");
        }
        // An empty queue has no delay, whatever the last packet saw.
        let mut form = form(&[]);
        form.delay = Time::from_millis(9);
        form.update(backlog(0));
        assert_eq!(form.delay, Time::ZERO);
    }

    #[test]
    fn signals_are_spaced_between_085_and_85() {
        for (given, spaced) in [(&[][..], true), (&[("derandomize", "false")], false)] {
            let mut form = form(given);
            form.active = true;
            form.probability = Probability::ratio(1, 100);
            form.last_delay = form.config.target;
            let (mut gaps, mut gap) = (Vec::new(), 0);
            while gaps.len() < 3_000 {
                gap += 1;
                if form.draw() {
                    form.accumulated = 0;
                    gaps.push(gap);
                    gap = 0;
                }
            }
            let within = gaps.iter().all(|gap| (85..=851).contains(gap));
            assert_eq!(within, spaced);
            // 84 packets and a geometric wait (mean 100), or that wait alone; four standard errors
            // are 7.3. Certainty at 8.5 takes 0.05 off.
            let mean = gaps.iter().sum::<u64>() as f64 / 3_000.0;
            let expected = if spaced { 184.0 } else { 100.0 };
            assert!((mean - expected).abs() < 7.5, "{mean}");
        }
    }

    #[test]
    fn it_wakes_at_a_third_of_the_limit_and_rests_when_calm() {
        let limit = QueueLimit::Packets(30);
        let mut form = form(&[]);
        form.arrived(backlog(9), limit, Time::ZERO);
        assert!(!form.active);
        form.arrived(backlog(10), limit, Time::ZERO);
        assert!(form.active);
        // Two calm delays and no probability: it rests, and loses no update for it.
        form.delay = Time::from_millis(1);
        form.arrived(backlog(10), limit, Time::ZERO);
        assert!(form.active);
        form.delay = Time::ZERO;
        form.arrived(backlog(1), limit, Time::ZERO);
        assert!(!form.active);
        form.delay = Time::from_millis(500);
        form.update(backlog(9));
        assert_eq!(form.probability, Probability::ZERO);
    }

    #[test]
    fn the_burst_allowance_counts_updates_down_and_comes_back_with_calm() {
        let mut form = form(&[("on_off", "false")]);
        form.delay = Time::from_millis(20);
        for update in 0..10 {
            assert_eq!(
                form.burst_allowance,
                Time::from_millis(150 - 15 * update),
                "{update}"
            );
            form.update(backlog(9));
        }
        assert!(form.burst_allowance.is_zero());
        (form.delay, form.last_delay) = (Time::ZERO, Time::ZERO);
        form.probability = Probability::ZERO;
        assert!(form.is_calm());
    }

    /// 16 384 bytes at 10 Mbit/s take 13.1072 ms; eleven packets of 1500 bytes 13.2 ms.
    #[test]
    fn the_departure_rate_is_averaged_with_weight_one_quarter() {
        let mut rate = RateEstimator::default();
        let mut now = Time::ZERO;
        let mut depart = |gap_us: u64, packets: u64, rate: &mut RateEstimator| {
            for _ in 0..packets {
                now += Time::from_micros(gap_us);
                rate.departed(Bytes::new(1_500), Bytes::new(60_000), now);
            }
        };
        // The first departure only starts the measurement.
        depart(1_200, 12, &mut rate);
        assert_eq!(rate.average, 13_200_000);
        depart(2_400, 11, &mut rate);
        assert_eq!(rate.average, (3 * 13_200_000 + 26_400_000) / 4);
        rate.average = 13_107_200;
        assert_eq!(rate.delay(Bytes::new(60_000)), Time::from_millis(48));
    }
}
