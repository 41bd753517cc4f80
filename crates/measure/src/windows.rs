//! Synchronisation of the congestion windows of several flows.
//!
//! VR = Var(ΣW) / ΣVar(W): 1 if the windows are independent, N if N windows move in lockstep, and far
//! below 1 if their sum is constant and one grows only as another shrinks.

/// Samples of the windows of a fixed set of flows, in any unit.
#[derive(Debug, Clone)]
pub struct WindowSamples {
    sum: Moments,
    each: Vec<Moments>,
}

/// Welford's running mean and sum of squared deviations.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }
    fn variance(&self) -> f64 {
        self.squares / self.count.max(1.0)
    }
}

impl WindowSamples {
    /// No samples yet, of `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self {
            sum: Moments::default(),
            each: vec![Moments::default(); flows],
        }
    }

    /// Adds the windows at one instant, in the order of the flows; missing windows count as zero.
    pub fn sample(&mut self, windows: impl IntoIterator<Item = f64>) {
        let mut windows = windows.into_iter();
        let mut sum = 0.0;
        for moments in &mut self.each {
            let window = windows.next().unwrap_or(0.0);
            moments.add(window);
            sum += window;
        }
        self.sum.add(sum);
    }

    /// VR; `None` if no window ever changed.
    pub fn variance_ratio(&self) -> Option<f64> {
        let apart: f64 = self.each.iter().map(Moments::variance).sum();
        (apart > 0.0).then(|| self.sum.variance() / apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VR of these rows of windows.
    fn of(rows: &[[f64; 2]]) -> Option<f64> {
        let mut samples = WindowSamples::new(2);
        for row in rows {
            samples.sample(*row);
        }
        samples.variance_ratio()
    }

    #[test]
    fn lockstep_is_n_independence_is_one_and_a_pinned_sum_is_zero() {
        let lockstep = [[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]];
        assert_eq!(of(&lockstep), Some(2.0));
        let pinned = [[1.0, 9.0], [5.0, 5.0], [9.0, 1.0]];
        assert_eq!(of(&pinned), Some(0.0));
        // Every combination once.
        let independent = [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]];
        assert_eq!(of(&independent), Some(1.0));
    }

    #[test]
    fn agrees_with_the_definition_by_variances_wherever_the_means_lie() {
        // x and y have mean 0 and variance 1/2; E[xy] = 1/4: VR = 1 + 2 · 1/4.
        let rows = [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]];
        let rows = rows.map(|[x, y]| [x + 40.0, y + 50.0]);
        assert!((of(&rows).unwrap() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn constant_windows_have_no_figure_and_a_single_flow_has_one() {
        assert_eq!(of(&[[3.0, 4.0], [3.0, 4.0]]), None);
        let mut single = WindowSamples::new(1);
        single.sample([1.0]);
        single.sample([3.0]);
        assert_eq!(single.variance_ratio(), Some(1.0));
    }
}
