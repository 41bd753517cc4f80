//! What people feel in runs that are over.

use quell_measure::{Figures, differ};
use quell_scenario::Scenario;
use quell_scenario::felt::{Better, Felt, felt as rows_of, sentence};
use serde_json::{Value, json};

/// What people feel behind several queues: with the scenario of each, the figures of all its seeds. The answer has `words` for each queue, and
/// `rows` with who feels what in which unit, whether more is better, the `values` of all seeds behind each queue, and whether those are
/// `clear`ly other than behind the first queue (null where one seed cannot say).
pub fn felt(queues: &[(&Scenario, Vec<&Figures>)]) -> Value {
    let of = |(scenario, figures): &(&Scenario, Vec<&Figures>)| {
        let rows = rows_of(figures, scenario);
        (sentence(&rows, figures), rows)
    };
    let (words, queues): (Vec<String>, Vec<Vec<Felt>>) = queues.iter().map(of).unzip();
    let mut rows: Vec<Value> = Vec::new();
    let mut known: Vec<(&str, &str)> = Vec::new();
    for row in queues.iter().flatten() {
        let key = (row.who.as_str(), row.what.as_str());
        if known.contains(&key) {
            continue;
        }
        known.push(key);
        let same = |queue: &Vec<Felt>| {
            let mut of_queue = queue.iter();
            let found = of_queue.find(|other| (other.who.as_str(), other.what.as_str()) == key);
            found.map_or(Vec::new(), |found| found.values.clone())
        };
        let values: Vec<Vec<f64>> = queues.iter().map(same).collect();
        let first = values.first().map_or(&[][..], Vec::as_slice);
        let clear: Vec<Option<bool>> = values.iter().map(|other| differ(first, other)).collect();
        rows.push(json!({
            "who": row.who, "what": row.what, "unit": row.unit, "digits": row.digits, "more_is_better": row.better == Better::Higher,
            "application": row.application, "values": values, "clear": clear,
        }));
    }
    json!({ "words": words, "rows": rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Over, Preparation, Watched};

    #[test]
    fn people_behind_several_queues_are_compared_with_those_of_the_first() {
        let scenario = include_str!("../../../scenarios/home/evening.toml");
        let run = |queue: &str, seed: u64| {
            let seed = format!("run.seeds=[{seed}]");
            let changes = ["run.duration=40s", queue, &seed];
            let preparation = Preparation::default();
            let run = Watched::open("e", scenario, &changes, None, preparation, Budget::PAGE);
            let mut run = run.unwrap();
            run.advance(quell_units::Time::from_secs(40)).unwrap();
            run.finish().unwrap().1
        };
        let queues = ["link.queue.kind=fifo", "link.queue.kind=fq_codel"];
        let runs = queues.map(|queue| [1, 2].map(|seed| run(queue, seed)));
        let seeds = runs.iter().map(|seeds| seeds.iter().collect::<Vec<_>>());
        let queues = seeds.map(|seeds| Over::of_seeds(&seeds).unwrap());
        let felt = felt(&queues.collect::<Vec<_>>());
        let [words, rows] = ["words", "rows"].map(|key| felt[key].as_array().unwrap());
        assert!(words.len() == 2 && words[0].as_str().unwrap().contains("page"));
        let row = |what: &str| {
            let of = |row: &&Value| row["what"].as_str().unwrap().starts_with(what);
            rows.iter().find(of).unwrap()
        };
        let page = row("a page loads in");
        assert!(
            page["unit"] == "s" && page["more_is_better"] == false,
            "{page}"
        );
        let [fifo, fq] = [0, 1].map(|queue| page["values"][queue].as_array().unwrap());
        assert!(
            fifo.len() == 2 && fq.len() == 2 && fifo[0] != fifo[1],
            "{page}"
        );
        assert_eq!(page["clear"][0], false);
        assert_eq!(row("down")["unit"], "Mbit/s");
    }
}
