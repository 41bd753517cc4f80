//! Functions of a list of numbers that no expression says: `list.NAME(list, …)`.

use super::Unfit;

/// Numbers that a function looks at at most.
const MOST_LOOKS: usize = 10_000_000;

/// Place of the least number, the first of several.
pub(super) fn least(list: &[f64], args: &[f64]) -> Result<f64, Unfit> {
    let [] = args else {
        return Err(Unfit::new("list.least takes a list"));
    };
    first_least(0..list.len(), |place| list[place])
}

/// Where the plateau begins that has the least sum: `list.plateau(list, from, count, width)` looks at `width` numbers from each of `count`
/// places on, the first of them `from`. Beyond its end the list continues with its last number.
pub(super) fn plateau(list: &[f64], args: &[f64]) -> Result<f64, Unfit> {
    let [from, count, width] = *args else {
        return Err(Unfit::new(
            "list.plateau takes a list, where to begin, how many places, and a width",
        ));
    };
    let [from, count, width] = [from, count, width].map(|number| number as usize);
    let last = list
        .len()
        .checked_sub(1)
        .ok_or_else(|| Unfit::new("the list is empty"))?;
    if from.max(count).max(width) > list.len() {
        return Err(Unfit::new(
            "list.plateau looks at more numbers than the list has",
        ));
    }
    if count.saturating_mul(width) > MOST_LOOKS {
        return Err(Unfit::new("list.plateau looks at too many numbers"));
    }
    let sum = |start: usize| -> f64 {
        let plateau = (start..start + width).map(|place| list[place.min(last)]);
        plateau.sum()
    };
    first_least(from..from + count, sum)
}

fn first_least(places: std::ops::Range<usize>, value: impl Fn(usize) -> f64) -> Result<f64, Unfit> {
    let least = places.min_by(|a, b| value(*a).total_cmp(&value(*b)));
    let least = least.ok_or_else(|| Unfit::new("there is no place to look at"))?;
    Ok(least as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_is_the_first_of_several() {
        assert_eq!(least(&[3.0, 1.0, 2.0, 1.0], &[]), Ok(1.0));
        assert!(least(&[], &[]).is_err());
    }

    #[test]
    fn a_plateau_is_found_where_it_is() {
        let mut series = vec![1.0; 501];
        series[60..66].fill(0.5);
        assert_eq!(plateau(&series, &[50.0, 50.0, 6.0]), Ok(60.0));
        // Beyond the end stands the last number.
        assert_eq!(plateau(&[1.0, 0.5], &[0.0, 2.0, 2.0]), Ok(1.0));
        assert!(plateau(&series, &[0.0, 50.0]).is_err());
        assert!(plateau(&series, &[0.0, 1e18, 1.0]).is_err());
    }
}
