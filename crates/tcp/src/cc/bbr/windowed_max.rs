//! The maximum of a window of rounds, from its three best samples: Kathleen Nichols' filter; Linux
//! `lib/win_minmax.c`. Not always the true maximum of the last ten rounds.

/// A sample and its round.
type Sample = (u32, u32);

/// The filter. The samples are the best, the second and the third best, each later than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WindowedMax {
    samples: [Sample; 3],
}

impl WindowedMax {
    pub(super) fn get(&self) -> u32 {
        self.samples[0].1
    }
    /// Takes a sample (`minmax_running_max`).
    #[inline]
    pub(super) fn take(&mut self, window: u32, round: u32, value: u32) {
        let sample = (round, value);
        let [best, second, third] = &mut self.samples;
        if value >= best.1 || round.wrapping_sub(third.0) > window {
            self.samples = [sample; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (sample, sample);
        } else if value >= third.1 {
            *third = sample;
        }
        let age = round.wrapping_sub(best.0);
        if age > window {
            (*best, *second, *third) = (*second, *third, sample);
            if round.wrapping_sub(best.0) > window {
                (*best, *second, *third) = (*second, *third, sample);
            }
        } else if second.0 == best.0 && age > window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && age > window / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_ten_rounds_comes_from_three_samples() {
        let mut filter = WindowedMax::default();
        for (round, value, max) in [
            (1, 100, 100),
            (2, 90, 100),
            (3, 80, 100),
            (4, 95, 100),
            (6, 70, 100),
            (8, 60, 100),
            (11, 50, 100),
            (12, 50, 95),
            (13, 40, 95),
            (14, 40, 95),
            (15, 30, 60),
            (17, 30, 60),
            (19, 30, 50),
            (24, 20, 30),
        ] {
            filter.take(10, round, value);
            assert_eq!(filter.get(), max, "round {round}");
        }
    }
}
