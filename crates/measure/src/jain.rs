//! Jain's fairness index.

/// The fairness index of Jain, Chiu and Hawe (1984): (Σx)² / (n Σx²), which is 1 if all rates are
/// equal and 1/n if one flow has everything. `None` without flows, or if all rates are zero.
pub fn jain(rates: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) = rates
        .into_iter()
        .fold((0.0, 0.0, 0.0), |(n, sum, squares), x| {
            (n + 1.0, sum + x, squares + x * x)
        });
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_for_equals_and_one_nth_for_a_single_taker() {
        assert_eq!(jain([5e6; 4]), Some(1.0));
        assert_eq!(jain([8e6, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain([3.0, 1.0]), Some(0.8));
        assert_eq!(jain([]), None);
        assert_eq!(jain([0.0, 0.0]), None);
    }
}
