//! Its tables.

use super::{
    COMPOUND_PLAYERS, CONTROLS, Controls, DCTCP, DCTCP_PLAYERS, LATE_STEP, PIE_MARKS, QUEUES,
    Queue, Seen,
};
use crate::evaluation::digits;
use crate::table::Table;

/// What each queue gives players beside ten Reno downloads.
pub(super) fn queues(by_queue: &[&[Seen]]) -> Table {
    let mut table = Table::new(&[
        "queue",
        "share",
        "share, IW 2",
        "level, Mbit/s: throughput",
        "dynamic",
        "bola-basic",
        "switches/min: dynamic",
        "bola-basic",
        "buffer of 4 s: level",
        "stalls/min",
    ]);
    for (queue, seen) in QUEUES.iter().zip(by_queue) {
        let [one, short, throughput, dynamic, bola, hurried] = seen else {
            panic!("six cases");
        };
        table.row(&[
            queue.0.to_owned(),
            one.share.show(2),
            short.share.show(2),
            throughput.level.show(2),
            dynamic.level.show(2),
            bola.level.show(2),
            digits(dynamic.switches.value),
            digits(bola.switches.value),
            hurried.level.show(2),
            hurried.stalls.show(2),
        ]);
    }
    table
}

/// The level of each pair of controls behind each queue.
pub(super) fn controls(by_control: &[&[Seen]]) -> Table {
    let mut heads = vec!["players", "downloads"];
    heads.extend(QUEUES.iter().map(|queue| queue.0));
    let mut table = Table::new(&heads);
    for (Controls(_, players, downloads, _), seen) in CONTROLS.iter().zip(by_control) {
        let mut cells = vec![(*players).to_owned(), (*downloads).to_owned()];
        cells.extend(seen.iter().map(|seen| seen.level.show(2)));
        table.row(&cells);
    }
    table
}

/// Cases besides the tables.
pub(super) fn extras(extra: &[Seen]) -> String {
    let level = |index: usize| extra[index].level.show(2);
    format!(
        "Compound beside 10 DCTCP that PIE marks (`ecn = true`): {}. Behind DualPI2 with `step_thresh = \"5ms\"`: DCTCP {}, Compound {}.",
        level(0),
        level(1),
        level(2)
    )
}

/// Every figure of every case.
pub(super) fn sheet(by_queue: &[&[Seen]], by_control: &[&[Seen]], extra: &[Seen]) -> Table {
    let figures = [
        "level_mbps",
        "share",
        "stalled_percent",
        "stalls_per_min",
        "switches_per_min",
        "delay_ms",
    ];
    let mut heads = vec!["players", "downloads", "queue"];
    let errors: Vec<String> = figures.iter().map(|name| format!("{name}_error")).collect();
    heads.extend(figures.iter().zip(&errors).flat_map(|(a, b)| [*a, b]));
    heads.push("downloads_mbps");
    let mut table = Table::new(&heads);
    let mut add = |players: &str, downloads: &str, queue: Queue, seen: &Seen| {
        let mut cells = [players, downloads, queue.0].map(str::to_owned).to_vec();
        for one in [
            &seen.level,
            &seen.share,
            &seen.stalled,
            &seen.stalls,
            &seen.switches,
            &seen.delay,
        ] {
            cells.extend([one.value, one.error].map(|value| format!("{value:.4}")));
        }
        let downloads = seen.downloads.iter();
        let downloads: Vec<String> = downloads.map(|one| format!("{:.3}", one.value)).collect();
        cells.push(downloads.join("; "));
        table.row(&cells);
    };
    let names = [
        "Compound, one level",
        "Compound, one level, IW 2",
        "Compound, throughput",
        "Compound, dynamic",
        "Compound, bola-basic",
        "Compound, buffer of 4 s",
    ];
    for (queue, seen) in QUEUES.iter().zip(by_queue) {
        for (name, seen) in names.iter().zip(*seen) {
            add(name, "10 Reno", *queue, seen);
        }
    }
    // The first control is the fourth of those.
    for (Controls(_, players, downloads, _), seen) in CONTROLS.iter().zip(by_control).skip(1) {
        for (queue, seen) in QUEUES.iter().zip(*seen) {
            add(&format!("{players}, dynamic"), downloads, *queue, seen);
        }
    }
    let rest = [
        (PIE_MARKS, DCTCP),
        (LATE_STEP, DCTCP_PLAYERS),
        (LATE_STEP, COMPOUND_PLAYERS),
    ];
    for ((queue, control), seen) in rest.into_iter().zip(extra) {
        let Controls(_, players, downloads, _) = &CONTROLS[control];
        add(&format!("{players}, dynamic"), downloads, queue, seen);
    }
    table
}
