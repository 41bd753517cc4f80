//! How many seeds a cell of a card has, where nobody asked for a number.
//!
//! The rule is fixed beforehand and looks at figures alone, so the number repeats. A cell ends after 3 or 4 seeds if its mean delay, P99 and
//! utilisation are known within 10 %, after 5 in any case, and after 10 where a verdict is still open. Whoever looks at an interval several
//! times has as many chances to see it too narrow. So the looks share the 5 % (Bonferroni): two at a figure before the fifth seed, and
//! [four](LOOKS) at a verdict.

use crate::characterize::error::Error;
use crate::characterize::figures::Figure;
use crate::characterize::judge::is_open;
use crate::characterize::measured::Measured;
use crate::characterize::prepared::{Cell, Prepared};
use crate::characterize::request::LOOKS;
use crate::characterize::runs::Numbered;
use crate::characterize::test_case::Content;

/// Seeds after which only an open verdict wants more.
const USUAL: u64 = 5;
/// Confidence level of the two looks at a figure before that.
const EARLY: f64 = 0.975;
/// The figures that are to be known.
const FIGURES: [&str; 3] = ["delay_ms.mean", "delay_ms.p99", "utilisation"];
/// Half of the interval at most, as a share of the mean.
const WITHIN: f64 = 0.1;

/// The runs that come next, given those of every cell; none if the card is whole.
pub(crate) fn wanted(prepared: &Prepared, runs: &[Vec<Measured>]) -> Result<Vec<Numbered>, Error> {
    let mut wanted = Vec::new();
    for (number, (cell, runs)) in prepared.cells.iter().zip(runs).enumerate() {
        let until = match prepared.request.seeds {
            Some(asked) => asked,
            None => needed(prepared, cell, runs)?,
        };
        let next = runs.len() as u64 + 1;
        wanted.extend((next..=until).map(|seed| (number, seed)));
    }
    Ok(wanted)
}

/// Seeds that a cell needs, as far as its runs show.
fn needed(prepared: &Prepared, cell: &Cell, runs: &[Measured]) -> Result<u64, Error> {
    let had = runs.len() as u64;
    let Some(&(next, _)) = LOOKS.iter().find(|(look, _)| *look > had) else {
        return Ok(had);
    };
    if had < LOOKS[0].0 || had < USUAL && !is_precise(runs) {
        return Ok(next);
    }
    let is_judged = matches!(cell.test_case.content, Content::Runs(_));
    let is_open = is_judged && is_open(prepared, cell, runs)?;
    Ok(if is_open { next } else { had })
}

/// Whether the figures of these runs are known well enough.
fn is_precise(runs: &[Measured]) -> bool {
    FIGURES.iter().all(|name| {
        let values = runs.iter().filter_map(|run| run.whole.get(*name).copied());
        let figure = Figure::of(&values.collect::<Vec<_>>());
        figure.is_none_or(|figure| {
            let half = figure.at(EARLY).half;
            half.is_some_and(|half| half <= WITHIN * figure.mean)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(delays: &[f64]) -> Vec<Measured> {
        let run = |delay: &f64| Measured {
            whole: [("delay_ms.mean".to_owned(), *delay)].into(),
            ..Measured::default()
        };
        delays.iter().map(run).collect()
    }

    #[test]
    fn a_figure_is_known_when_its_widened_interval_is_within_a_tenth() {
        // Half of the 97.5 % interval of three values is 6.205 / √3 of their deviation: 10.7 % for 97, 100, 103, and 7.2 % for 98, 100, 102.
        assert!(!is_precise(&runs(&[97.0, 100.0, 103.0])));
        assert!(is_precise(&runs(&[98.0, 100.0, 102.0])));
        // One run has no interval; a figure that no run has wants no more.
        assert!(!is_precise(&runs(&[100.0])));
        assert!(is_precise(&[]));
    }

    #[test]
    fn the_looks_at_a_verdict_share_five_percent() {
        let errors: f64 = LOOKS.iter().map(|(_, wrong)| wrong).sum();
        assert!((errors - 0.05).abs() < 1e-12);
    }
}
