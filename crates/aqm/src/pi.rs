//! The PI controller on a linear probability p': what DualPI2 in the form of RFC 9332 and PI2 share.
//!
//! RFC 9332 figure 6, `p' = p' + alpha·(q − target) + beta·(q − q_prev)`, clamped. No table tunes the
//! gains: p' is what a scalable congestion control answers linearly, and its square what a Classic
//! one does, so that the loop gain does not depend on p'. Fixed point: gains are whole nanohertz and
//! times whole nanoseconds, the sum is exact, and the change is rounded toward zero once, to units
//! of 2⁻⁶².

use crate::units::{Frequency, Probability, Time};

/// Gains in nHz and times in ns: sums are in units of 10⁻¹⁸.
const UNIT: i128 = 1_000_000_000_000_000_000;

/// The controller.
#[derive(Debug, Clone)]
pub(crate) struct Pi {
    target: Time,
    alpha: Frequency,
    beta: Frequency,
    /// The highest p' allowed.
    cap: Probability,
    /// p'
    probability: Probability,
    last_delay: Time,
}

impl Pi {
    /// A controller at p' = 0 after no delay.
    pub(crate) fn new(target: Time, alpha: Frequency, beta: Frequency) -> Self {
        Self {
            target,
            alpha,
            beta,
            cap: Probability::ONE,
            probability: Probability::ZERO,
            last_delay: Time::ZERO,
        }
    }

    /// Changes everything but the state.
    pub(crate) fn configure(&mut self, target: Time, alpha: Frequency, beta: Frequency) {
        (self.target, self.alpha, self.beta) = (target, alpha, beta);
    }

    /// Never lets p' pass `cap` from now on.
    pub(crate) fn limit(&mut self, cap: Probability) {
        self.cap = cap;
        self.probability = self.probability.min(cap);
    }

    /// One update with the queue delay `delay`.
    pub(crate) fn update(&mut self, delay: Time) {
        // Each product is below 2¹²⁷.
        let term = |gain: Frequency, difference: i64| {
            i128::from(gain.as_nanohertz()) * i128::from(difference)
        };
        let delta = term(self.alpha, delay.signed_since(self.target))
            .saturating_add(term(self.beta, delay.signed_since(self.last_delay)))
            .clamp(-UNIT, UNIT);
        self.last_delay = delay;
        // |delta| ≤ 10¹⁸ < 2⁶⁰, times 2⁶² fits 127 bits.
        let change = delta * i128::from(Probability::ONE.raw()) / UNIT;
        let sum =
            (i128::from(self.probability.raw()) + change).clamp(0, i128::from(self.cap.raw()));
        self.probability = Probability::from_raw(sum as u64);
    }

    /// p'
    #[inline]
    pub(crate) fn probability(&self) -> Probability {
        self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    const fn millihertz(n: u64) -> Frequency {
        Frequency::from_nanohertz(n * 1_000_000)
    }

    #[test]
    fn the_controller_equals_the_golden_vectors_to_every_printed_digit() {
        // spec of L4S section 1.3.6: delay in ms, p' in 10⁻⁵ with the gains of the RFC and of Linux.
        let target = Time::from_millis(15);
        let mut rfc = Pi::new(target, millihertz(150), millihertz(3_000));
        let mut linux = Pi::new(target, millihertz(160), millihertz(3_200));
        for (delay_ms, with_rfc, with_linux) in [
            (0, 0, 0),
            (5, 1_350, 1_440),
            (10, 2_775, 2_960),
            (20, 5_850, 6_240),
            (30, 9_075, 9_680),
            (30, 9_300, 9_920),
            (25, 7_950, 8_480),
            (15, 4_950, 5_280),
            (10, 3_375, 3_600),
            (5, 1_725, 1_840),
            (0, 0, 0),
        ] {
            for (pi, expected) in [(&mut rfc, with_rfc), (&mut linux, with_linux)] {
                pi.update(Time::from_millis(delay_ms));
                let exact = Probability::ratio(expected, 100_000).raw();
                // Each update rounds by less than one unit of 2⁻⁶².
                let error = pi.probability.raw().abs_diff(exact);
                assert!(error <= 11, "{delay_ms} ms: {}", pi.probability);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Equal to exact rationals but for one rounding toward zero.
        #[test]
        fn an_update_equals_the_exact_one(
            p in 0..=Probability::ONE.raw(), delay in 0..10_000_000_000_u64,
            last in 0..10_000_000_000_u64, target in 1..1_000_000_000_u64,
            alpha in 0..100_000_000_000_u64, beta in 0..100_000_000_000_u64,
        ) {
            let gain = Frequency::from_nanohertz;
            let mut pi = Pi::new(Time::from_nanos(target), gain(alpha), gain(beta));
            pi.probability = Probability::from_raw(p);
            pi.last_delay = Time::from_nanos(last);
            pi.update(Time::from_nanos(delay));
            let part = |n: u64, of: u64| BigRational::new(n.into(), of.into());
            let seconds = |nanos: u64| part(nanos, 1_000_000_000);
            let one = part(1, 1);
            let delta = seconds(alpha) * (seconds(delay) - seconds(target))
                + seconds(beta) * (seconds(delay) - seconds(last));
            let delta = delta.clamp(-one.clone(), one.clone());
            let unit = part(Probability::ONE.raw(), 1);
            let sum = part(p, 1) + (delta * &unit).trunc();
            let sum = sum.clamp(part(0, 1), unit);
            prop_assert_eq!(part(pi.probability.raw(), 1), sum);
        }
    }

    #[test]
    fn the_cap_holds_now_and_later() {
        let mut pi = Pi::new(Time::from_millis(15), millihertz(150), millihertz(3_000));
        for _ in 0..1_000 {
            pi.update(Time::from_secs(3_600));
        }
        assert_eq!(pi.probability(), Probability::ONE);
        let half = Probability::ratio(1, 2);
        pi.limit(half);
        assert_eq!(pi.probability(), half);
        pi.update(Time::from_secs(7_200));
        assert_eq!(pi.probability(), half);
        pi.update(Time::ZERO);
        assert_eq!(pi.probability(), Probability::ZERO);
    }
}
