//! What comparisons found, as CSV and as the generated parts of a document, each between two markers.
//!
//! In each part stands a list of misses, whose last column is headed "explanation". The explanation is a person's: it is read from the old
//! list before the new one is written, and stays with what the first three columns say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_lab::results::present::Table;

use super::rounded::{cells, estimate};
use super::{Compared, Difference};

/// The file with what is simulated anew.
pub const ANEW: &str = "simulated-anew.csv";
/// The explanation of a miss that nobody has explained.
const UNEXPLAINED: &str = "not explained yet";
/// Of one that is not to be told from chance.
const CHANCE: &str = "may be chance";
/// Two means of five differ by more than so many standard errors in one case of twenty: Student's t with 8 degrees of freedom.
const CHANCE_ERRORS: f64 = 2.3;

/// What people have written beside misses, by the first three columns.
#[derive(Debug, Default)]
pub struct Explanations(BTreeMap<[String; 3], String>);

/// A document with the part called `name` replaced by what `write` makes of the old explanations; `None` if it lacks the markers.
pub fn replace(
    document: &str,
    name: &str,
    write: impl FnOnce(&Explanations) -> String,
) -> Option<String> {
    let begin = format!("<!-- begin: written by {name} -->");
    let end = format!("<!-- end: written by {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (old, after) = rest.split_once(&end)?;
    let part = write(&Explanations::read(old));
    Some(format!("{before}{begin}\n\n{part}\n{end}{after}"))
}

impl Explanations {
    fn read(old: &str) -> Self {
        let mut known = BTreeMap::new();
        let mut explains = false;
        for line in old.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [one, two, three, .., last] = cells.as_slice() else {
                explains = false;
                continue;
            };
            if *last == "explanation" {
                explains = true;
            } else if explains && ![UNEXPLAINED, CHANCE, "---"].contains(last) {
                let key = [one, two, three].map(|cell| (*cell).to_owned());
                known.insert(key, (*last).to_owned());
            }
        }
        Self(known)
    }

    fn of<'a>(&'a self, point: &str, one: &Difference) -> &'a str {
        let key = [point, &one.figure, &one.world].map(str::to_owned);
        match self.0.get(&key) {
            Some(why) => why,
            None if one.distance() < CHANCE_ERRORS * one.standard_error() => CHANCE,
            None => UNEXPLAINED,
        }
    }
}

/// Number of points inside all bounds, and number of bounds that hold, each with the total.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    points: [usize; 2],
    bounds: [usize; 2],
}

impl Share {
    fn add<'a>(&mut self, of_point: impl Iterator<Item = &'a Difference>) {
        let (mut held, mut all) = (0, 0);
        for one in of_point {
            held += usize::from(one.holds());
            all += 1;
        }
        self.bounds = [self.bounds[0] + held, self.bounds[1] + all];
        if all > 0 {
            let inside = usize::from(held == all);
            self.points = [self.points[0] + inside, self.points[1] + 1];
        }
    }

    fn cells(self) -> String {
        let of = |[inside, all]: [usize; 2]| format!("{inside} of {all}");
        format!("{} | {}", of(self.points), of(self.bounds))
    }
}

/// Which points and bounds hold beside `world`, row by row; with what the simulations of the record had, if `with_then`.
pub fn shares(compared: &[&Compared], world: &str, with_then: bool) -> String {
    let mut rows: Vec<(&str, [Share; 2])> = Vec::new();
    let mut whole = [Share::default(); 2];
    for one in compared {
        let place = rows.iter().position(|(row, _)| *row == one.row);
        let place = place.unwrap_or_else(|| {
            rows.push((&one.row, Default::default()));
            rows.len() - 1
        });
        for shares in [&mut rows[place].1, &mut whole] {
            shares[0].add(one.then.iter());
            shares[1].add(beside(one, world));
        }
    }
    rows.push(("all", whole));
    let mut text = String::from(match with_then {
        true => {
            "| flows under test | points inside, then | bounds, then | points inside, now | bounds, now |\n\
             | --- | --- | --- | --- | --- |\n"
        }
        false => "| flows under test | points inside | bounds |\n| --- | --- | --- |\n",
    });
    for (row, [then, now]) in rows {
        let then = match with_then {
            true => format!("{} | ", then.cells()),
            false => String::new(),
        };
        let _ = writeln!(text, "| {row} | {then}{} |", now.cells());
    }
    text
}

fn beside<'c>(one: &'c Compared, world: &'c str) -> impl Iterator<Item = &'c Difference> {
    one.now.iter().filter(move |one| one.world == world)
}

/// How many bounds hold beside `world`, and how many there are.
pub fn held(compared: &[&Compared], world: &str) -> [usize; 2] {
    let mut share = Share::default();
    for one in compared {
        share.add(beside(one, world));
    }
    share.bounds
}

/// The list of what does not hold beside `world`, the worst first.
pub fn misses<'c>(
    compared: &[&'c Compared],
    world: &'c str,
    explanations: &Explanations,
) -> String {
    let named = |of: &&'c Compared| {
        let point = of.point.as_str();
        beside(of, world).map(move |one| (point, one))
    };
    let all: Vec<(&str, &Difference)> = compared.iter().flat_map(named).collect();
    let mut missed: Vec<_> = all.iter().filter(|(_, one)| !one.holds()).collect();
    missed.sort_by(|(_, one), (_, other)| other.bounds_off().total_cmp(&one.bounds_off()));
    let mut text = format!(
        "{} of {} bounds hold.\n\n",
        all.len() - missed.len(),
        all.len()
    );
    if missed.is_empty() {
        return text;
    }
    text.push_str("| point | figure | world | sim / world | off by | bounds | explanation |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for (point, one) in missed {
        let off = match one.other.mean == 0.0 {
            true => "from 0".to_owned(),
            false => format!("{:+.1} %", 100.0 * (one.sim.mean / one.other.mean - 1.0)),
        };
        let _ = writeln!(
            text,
            "| {point} | {} | {} | {} / {} | {off} | {:.1} | {} |",
            one.figure,
            one.world,
            estimate(&one.sim),
            estimate(&one.other),
            one.bounds_off(),
            explanations.of(point, one),
        );
    }
    text
}

/// Each figure of each point: what is simulated now beside what is recorded.
pub fn anew<'c>(compared: impl IntoIterator<Item = &'c Compared>) -> Table {
    let mut table = Table::of_words(&[
        "point",
        "seeds",
        "figure",
        "world",
        "sim",
        "sim_error",
        "real",
        "real_error",
        "missed",
    ]);
    for of in compared {
        for one in &of.now {
            let [sim, sim_error] = cells(&one.sim);
            let [real, real_error] = cells(&one.other);
            let missed = if one.holds() { "" } else { "yes" }.to_owned();
            let (figure, world) = (one.figure.clone(), one.world.clone());
            let (point, seeds) = (of.point.clone(), of.seeds.to_string());
            table.row([
                point, seeds, figure, world, sim, sim_error, real, real_error, missed,
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use quell_measure::Estimate;

    use super::*;

    fn difference(sim: [f64; 2], other: f64) -> Difference {
        Difference {
            figure: "goodput".to_owned(),
            world: "virtual".to_owned(),
            sim: Estimate::new(&sim).expect("values"),
            other: Estimate::new(&[other; 2]).expect("values"),
            bound: 0.02 * other,
        }
    }

    fn compared(now: Vec<Difference>) -> Compared {
        Compared {
            point: "fifo".to_owned(),
            row: "reno".to_owned(),
            seeds: 2,
            now,
            then: Vec::new(),
        }
    }

    #[test]
    fn explanations_stay_with_what_the_first_three_columns_say() {
        let old = format!(
            "| point | figure | world | sim / world | off by | bounds | explanation |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n\
             | fifo | goodput | virtual | 1 / 2 | -50 % | 2.0 | phase |\n\
             | fifo | drops, % | live | 1 / 2 | -50 % | 2.0 | {UNEXPLAINED} |\n\
             | fifo | marks, % | live | 1 / 2 | -50 % | 2.0 | {CHANCE} |\n\n\
             | a | b | c | d |\n| --- | --- | --- | --- |\n| 1 | 2 | 3 | 4 |\n"
        );
        let document = format!(
            "by hand\n<!-- begin: written by x -->\n\n{old}<!-- end: written by x -->\nbelow\n"
        );
        let miss = compared(vec![difference([11.0; 2], 10.0)]);
        let new = replace(&document, "x", |known| {
            assert_eq!(known.0.len(), 1, "{known:?}");
            misses(&[&miss], "virtual", known)
        });
        let new = new.expect("markers");
        assert!(
            new.starts_with("by hand\n") && new.ends_with("below\n"),
            "{new}"
        );
        let row = "| fifo | goodput | virtual | 11.0 ± 0.0 / 10.0 ± 0.0 | +10.0 % | 5.0 | phase |";
        assert!(new.contains(row), "{new}");
        assert_eq!(replace(&document, "y", |_| String::new()), None);
    }

    #[test]
    fn what_nobody_has_explained_is_chance_only_within_the_errors() {
        let none = Explanations::default();
        let of = |error: f64| none.of("fifo", &difference([1.0 - error, 1.0 + error], 2.0));
        assert_eq!(of(0.1), UNEXPLAINED);
        assert_eq!(of(0.5), CHANCE);
    }

    #[test]
    fn a_point_is_inside_if_every_bound_holds() {
        let one = |sim: f64| difference([sim; 2], 10.0);
        let points = [
            compared(vec![one(10.0), one(10.1)]),
            compared(vec![one(10.0), one(11.0)]),
            compared(Vec::new()),
        ];
        let points: Vec<&Compared> = points.iter().collect();
        let text = shares(&points, "virtual", false);
        assert!(text.contains("| reno | 1 of 2 | 3 of 4 |\n"), "{text}");
        assert_eq!(held(&points, "virtual"), [3, 4]);
    }
}
