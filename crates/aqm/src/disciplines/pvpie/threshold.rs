//! The congestion threshold value: what is below it is signalled, and two ways to choose it.

use crate::units::Probability;

use super::window::Window;

/// Below `value` everything is signalled, and of `value` itself the part `share`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Threshold {
    /// The threshold from 0, below which nothing is, to 65 536, above everything.
    pub(super) value: u32,
    pub(super) share: Probability,
}

impl Threshold {
    /// Nothing is signalled.
    pub(super) const NONE: Self = Self {
        value: 0,
        share: Probability::ZERO,
    };
    const ALL: Self = Self {
        value: 1 << 16,
        share: Probability::ZERO,
    };

    /// PVPIE: the inverse of the eCDF at `probability`.
    pub(super) fn quantile(window: &Window, probability: Probability) -> Self {
        if probability == Probability::ZERO || window.bytes().total() == 0 {
            return Self::NONE;
        }
        match window.bytes().split(probability) {
            Some((value, share)) => Self {
                value: value.into(),
                share,
            },
            None => Self::ALL,
        }
    }
}

/// Bits of a [`Controller`]'s threshold and gains below 1.
const FRACTION_BITS: u32 = 32;
/// The parts of 1 in which the gains are kept.
pub(super) const GAIN_PARTS: u64 = 1 << 20;
const GAIN_BITS: u32 = 20;

/// TL-PVPIE: a controller of its own brings the part that is signalled to the probability.
#[derive(Debug, Clone)]
pub(super) struct Controller {
    /// The gain in [`GAIN_PARTS`].
    pub(super) phi: u64,
    /// Likewise.
    pub(super) psi: u64,
    /// The threshold in 2⁻³² of a value.
    threshold: u64,
    /// p_real at the last update.
    signalled: Probability,
}

impl Controller {
    pub(super) fn new(phi: u64, psi: u64) -> Self {
        Self {
            phi,
            psi,
            threshold: 0,
            signalled: Probability::ZERO,
        }
    }

    /// V += (φ·(p − p_real) + ψ·(p_real of before − p_real))·(v_max − v_min), rounded down, and back between the two. They are the
    /// ends of what is in the window, v_max the value above the highest, so that everything can be signalled.
    pub(super) fn update(&mut self, window: &Window, probability: Probability) {
        let now = window.signalled();
        let last = core::mem::replace(&mut self.signalled, now);
        if probability == Probability::ZERO {
            self.threshold = 0;
            return;
        }
        let Some((lowest, highest)) = window.range() else {
            return;
        };
        let (lowest, highest) = (u64::from(lowest), u64::from(highest) + 1);
        let difference = |a: Probability, b: Probability| i128::from(a.raw()) - i128::from(b.raw());
        // Gains are at most 2²⁴ parts, differences below 2⁶³ and the range at most 2¹⁶: far from overflow.
        let sum = i128::from(self.phi) * difference(probability, now)
            + i128::from(self.psi) * difference(last, now);
        let change =
            (sum * i128::from(highest - lowest)) >> (GAIN_BITS + Probability::BITS - FRACTION_BITS);
        let (low, high) = (lowest << FRACTION_BITS, highest << FRACTION_BITS);
        let moved = i128::from(self.threshold) + change;
        self.threshold = moved.clamp(low.into(), high.into()) as u64;
    }

    /// The value at or below the threshold, and of that the part by which the threshold is above it.
    pub(super) fn threshold(&self) -> Threshold {
        let fraction = self.threshold & ((1 << FRACTION_BITS) - 1);
        Threshold {
            value: (self.threshold >> FRACTION_BITS) as u32,
            share: Probability::from_raw(fraction << (Probability::BITS - FRACTION_BITS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Time};

    fn window(arrivals: &[(u16, u64, bool)]) -> Window {
        let mut window = Window::new(Time::from_secs(1), u16::MAX);
        for &(value, len, signalled) in arrivals {
            window.count(Time::ZERO, value, Bytes::new(len), signalled);
        }
        window
    }

    #[test]
    fn the_quantile_takes_the_probability_from_the_bottom() {
        // 1 000 bytes: 100 of value 3, 500 of 10, 400 of 900.
        let all = window(&[(10, 500, false), (900, 400, false), (3, 100, true)]);
        for (percent, value, share) in [
            (0, 0, 0.0),
            (5, 3, 0.5),
            (20, 10, 0.2),
            (61, 900, 0.025),
            (99, 900, 0.975),
            (100, 65_536, 0.0),
        ] {
            let threshold = Threshold::quantile(&all, Probability::ratio(percent, 100));
            assert_eq!(threshold.value, value, "{percent} %");
            // Rounded down, to 2⁻¹⁶ bytes of 100.
            let off = share - threshold.share.as_f64();
            assert!((0.0..1e-6).contains(&off), "{percent} %: {threshold:?}");
        }
        let half = Probability::ratio(1, 2);
        assert_eq!(Threshold::quantile(&window(&[]), half), Threshold::NONE);
    }

    /// φ = 1/8 and ψ = 5/4 of values 100 to 199: the range is 100.
    #[test]
    fn the_controller_moves_by_the_formula() {
        let parts = |eighths: u64| GAIN_PARTS / 8 * eighths;
        let mut controller = Controller::new(parts(1), parts(10));
        let quarter = Probability::ratio(1, 4);
        // Half of the bytes are signalled.
        let arrivals = [(100, 600, true), (199, 600, false)];
        let half = window(&arrivals);
        controller.threshold = 190 << FRACTION_BITS;
        controller.signalled = Probability::ratio(3, 4);
        // 190 + (1/8·(1/4 − 1/2) + 5/4·(3/4 − 1/2))·100 = 218.125, which is above everything.
        controller.update(&half, quarter);
        assert_eq!(
            controller.threshold(),
            Threshold {
                value: 200,
                ..Threshold::NONE
            }
        );
        // 200 + 1/8·(1/4 − 1/2)·100 = 196.875
        controller.update(&half, quarter);
        let share = Probability::ratio(7, 8);
        assert_eq!(controller.threshold(), Threshold { value: 196, share });
        // 196.875 + 1/8·(1 − 1/2)·100 = 203.125, and then as far down as there is anything.
        controller.update(&half, Probability::ONE);
        assert_eq!(controller.threshold().value, 200);
        controller.signalled = Probability::ZERO;
        (0..100).for_each(|_| controller.update(&half, Probability::from_raw(1)));
        assert_eq!(
            controller.threshold(),
            Threshold {
                value: 100,
                ..Threshold::NONE
            }
        );
        // Nothing came: it stays. No probability: nothing is signalled.
        controller.update(&window(&[]), Probability::ONE);
        assert_eq!(controller.threshold().value, 100);
        controller.update(&half, Probability::ZERO);
        assert_eq!(controller.threshold(), Threshold::NONE);
        // The ends of all codes.
        let ends = window(&[(1, 1, false), (u16::MAX, 1, false)]);
        controller.phi = GAIN_PARTS * 16;
        (0..10).for_each(|_| controller.update(&ends, Probability::ONE));
        assert_eq!(controller.threshold(), Threshold::ALL);
    }
}
