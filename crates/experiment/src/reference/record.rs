//! A record with the figures of a night's runs: those of other worlds stay.

use std::collections::BTreeMap;

use quell_lab::results::present::{Table, csv_cells};

use super::rounded::cells;
use super::{Compared, SIM};

/// The record `old` with the figures that were compared beside `world`, and those of the simulator beside it.
pub fn updated(old: &str, compared: &[Compared], world: &str) -> Table {
    let mut rows = old.lines().map(csv_cells);
    let old_heads = rows.next().unwrap_or_default();
    let mut heads: Vec<String> = ["point", "seeds", "figure", SIM]
        .map(str::to_owned)
        .to_vec();
    heads.push(format!("{SIM}_error"));
    let worlds = old_heads
        .iter()
        .filter(|head| old_heads.contains(&format!("{head}_error")));
    let mut worlds: Vec<&str> = worlds
        .map(String::as_str)
        .filter(|one| *one != SIM)
        .collect();
    if !worlds.contains(&world) {
        worlds.push(world);
    }
    for one in &worlds {
        heads.extend([(*one).to_owned(), format!("{one}_error")]);
    }
    heads.push("missed".to_owned());
    let cell = |row: &[String], head: &str| {
        let place = old_heads.iter().position(|one| one == head);
        place
            .and_then(|place| row.get(place).cloned())
            .unwrap_or_default()
    };
    let known: BTreeMap<[String; 2], Vec<String>> = rows
        .map(|row| ([cell(&row, "point"), cell(&row, "figure")], row))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::of_words(&heads);
    for point in compared {
        for one in &point.now {
            let old = known.get(&[point.point.clone(), one.figure.clone()]);
            let old = old.map_or(&[][..], Vec::as_slice);
            let seeds = point.seeds.to_string();
            let mut row = vec![point.point.clone(), seeds, one.figure.clone()];
            row.extend(cells(&one.sim));
            for of in &worlds {
                match *of == world {
                    true => row.extend(cells(&one.other)),
                    false => row.extend([cell(old, of), cell(old, &format!("{of}_error"))]),
                }
            }
            let missed = cell(old, "missed");
            let mut missed: Vec<&str> = missed
                .split(' ')
                .filter(|of| !of.is_empty() && *of != world)
                .collect();
            if !one.holds() {
                missed.push(world);
            }
            row.push(missed.join(" "));
            table.row(row);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use quell_measure::Estimate;

    use super::super::Difference;
    use super::*;

    #[test]
    fn figures_of_other_worlds_stay() {
        let old = "point,seeds,figure,sim,sim_error,virtual,virtual_error,live,live_error,missed\n\
                   a,5,\"drops, %\",1.0,0.1,1.1,0.1,1.2,0.2,live virtual\n";
        let estimate = |value: f64| Estimate::new(&[value, value]).expect("values");
        let one = |figure: &str| Difference {
            figure: figure.to_owned(),
            world: "virtual".to_owned(),
            sim: estimate(2.0),
            other: estimate(2.1),
            bound: 0.5,
        };
        let compared = [Compared {
            point: "a".to_owned(),
            row: String::new(),
            seeds: 6,
            now: vec![one("drops, %"), one("delay, ms")],
            then: Vec::new(),
        }];
        assert_eq!(
            updated(old, &compared, "virtual").to_csv(),
            "point,seeds,figure,sim,sim_error,virtual,virtual_error,live,live_error,missed\n\
             a,6,\"drops, %\",2.00,0.00,2.10,0.00,1.2,0.2,live\n\
             a,6,\"delay, ms\",2.00,0.00,2.10,0.00,,,\n"
        );
        // Without a record there is only what was compared.
        let first = updated("", &compared, "virtual").to_csv();
        assert!(
            first
                .starts_with("point,seeds,figure,sim,sim_error,virtual,virtual_error,missed\na,6,"),
            "{first}"
        );
    }
}
