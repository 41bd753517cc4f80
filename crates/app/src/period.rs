//! Lengths of time that a user gives to an application: fixed, or drawn anew each time.

use quell_units::{Random, Time};

use crate::exponential::exponential_span;

/// How the lengths of a period vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Each is the mean.
    #[default]
    Fixed,
    /// Exponential: no length tells anything of the next.
    Exponential,
}

impl Distribution {
    /// Every one there is.
    pub const ALL: [Self; 2] = [Self::Fixed, Self::Exponential];

    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
        }
    }
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Mean length.
    pub mean: Time,
    /// How single lengths deviate from it.
    pub distribution: Distribution,
}

impl Period {
    /// Always of this length.
    pub const fn fixed(length: Time) -> Self {
        Self {
            mean: length,
            distribution: Distribution::Fixed,
        }
    }
    /// Exponentially distributed.
    pub const fn exponential(mean: Time) -> Self {
        Self {
            mean,
            distribution: Distribution::Exponential,
        }
    }
    /// The next length; without a draw if it is fixed.
    pub fn draw(self, random: &mut Random) -> Time {
        match self.distribution {
            Distribution::Fixed => self.mean,
            Distribution::Exponential => exponential_span(self.mean, random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_period_draws_nothing_and_an_exponential_one_varies() {
        let mut random = Random::new(1, "period");
        let mean = Time::from_secs(1);
        assert_eq!(Period::fixed(mean).draw(&mut random), mean);
        assert_eq!(random.clone().u64(), Random::new(1, "period").u64());
        let mut draw = || Period::exponential(mean).draw(&mut random);
        assert_ne!(draw(), draw());
    }
}
