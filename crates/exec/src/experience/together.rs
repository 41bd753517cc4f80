//! What packets wait in several queues together, from the figures of each.
//!
//! A round trip waits in the queues of both directions, and over several links in each of theirs. The figures of one queue are quantiles; what
//! of different queues falls together is not known, so they are taken to be independent. Of one queue alone its own figures are exact.

use quell_measure::Dist;

/// Values that stand for a distribution, each for as large a share of the packets: their middle.
const VALUES: usize = 200;

/// Figures of a time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Waits {
    pub(super) median: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Of all of these queues together.
pub(super) fn together(queues: &[Dist]) -> Waits {
    let max = queues.iter().fold(0.0, |sum, queue| sum + queue.max);
    // What hardly any packet waits in changes nothing, and the other's figures stay exact.
    let matter: Vec<&Dist> = queues.iter().filter(|queue| queue.max > 0.0).collect();
    if let [one] = matter[..] {
        return Waits {
            median: one.p50,
            p99: one.p99,
            max,
        };
    }
    let mut sums = vec![0.0];
    for queue in matter {
        let values = values(queue);
        // Only what is added to further has to be short.
        let so_far = fewer(sums).into_iter();
        let added = so_far.flat_map(|sum| values.iter().map(move |value| sum + value));
        sums = added.collect();
        sums.sort_by(f64::total_cmp);
    }
    Waits {
        median: at(&sums, 0.5),
        p99: at(&sums, 0.99),
        max,
    }
}

/// No more than [`VALUES`] values that stand for these, which are in order.
fn fewer(sorted: Vec<f64>) -> Vec<f64> {
    if sorted.len() <= VALUES {
        return sorted;
    }
    let middles = (0..VALUES).map(|index| (index as f64 + 0.5) / VALUES as f64);
    middles.map(|share| at(&sorted, share)).collect()
}

/// The nearest rank.
fn at(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(rank.saturating_sub(1).min(last))
        .copied()
        .unwrap_or(0.0)
}

/// Of a queue, in order. Between two known quantiles the values lie evenly.
fn values(queue: &Dist) -> Vec<f64> {
    let known = [
        // The smallest value is not known; it is at most the first percentile.
        (0.0, queue.p1),
        (0.01, queue.p1),
        (0.25, queue.p25),
        (0.5, queue.p50),
        (0.75, queue.p75),
        (0.9, queue.p90),
        (0.99, queue.p99),
        (0.999, queue.p999),
        (1.0, queue.max),
    ];
    let value = |index: usize| {
        let share = (index as f64 + 0.5) / VALUES as f64;
        let next = known
            .partition_point(|(at, _)| *at < share)
            .clamp(1, known.len() - 1);
        let ((from, low), (to, high)) = (known[next - 1], known[next]);
        low + (high - low) * (share - from) / (to - from)
    };
    (0..VALUES).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evenly from 0 to `max`.
    fn even(max: f64) -> Dist {
        let at = |share: f64| max * share;
        Dist {
            mean: at(0.5),
            p1: at(0.01),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max,
        }
    }

    #[test]
    fn a_queue_alone_keeps_its_figures() {
        let one = even(50.0);
        let expected = Waits {
            median: 25.0,
            p99: 49.5,
            max: 50.0,
        };
        assert_eq!(together(&[one]), expected);
        assert_eq!(together(&[even(0.0), one, even(0.0)]), expected);
        assert_eq!(together(&[]), Waits::default());
        assert_eq!(together(&[even(0.0)]), Waits::default());
    }

    #[test]
    fn two_queues_add_up_as_independent_ones_do() {
        // The sum of two even distributions from 0 to 1 is a triangle from 0 to 2: its median is 1, and its 99th percentile
        // 2 − √0.02.
        let both = together(&[even(100.0), even(100.0)]);
        assert!((both.median - 100.0).abs() < 1.0, "{both:?}");
        let p99 = 100.0 * (2.0 - 0.02_f64.sqrt());
        assert!((both.p99 - p99).abs() < 1.0, "{both:?}, {p99}");
        assert_eq!(both.max, 200.0);
        // Three of them: symmetric, too, and less wide than the sum of their percentiles.
        let three = together(&[even(100.0); 3]);
        assert!((three.median - 150.0).abs() < 1.5, "{three:?}");
        assert!((200.0..297.0).contains(&three.p99), "{three:?}");
    }
}
