//! `statements.csv`: every statement with what came out and the verdict. `docs/reproduce.md` is made from it: how many statements of each
//! experiment come out, and why the others do not.

use std::fmt::Write as _;
use std::fs;

use quell_experiment::Findings;
use quell_experiment::registry::{Chapter, all, chapters};

use crate::data::{self, Lines, OUTDATED};

const STATEMENTS: Lines = Lines {
    name: "statements.csv",
    head: "experiment,statement,verdict,why,published,quell,checked",
};

const HEAD: &str = "\
# Reproduction of published experiments

Which statements of the published experiments that quell repeats come out, and why the others do not. The page is generated from
[statements.csv](evidence/data/statements.csv), which has each statement as published, what came out, and what is checked; both are compared
with new runs by `cargo test -p quell-experiment --test published`.

`quell reproduce ID` runs an experiment and prints its statements; `quell reproduce all --report book.html --tables tables` writes the whole
book with every table and picture, which also comes with each release (`make book`). [The guide](guides/reproducing.md) explains how to read a
verdict. [reproduce-virtual.md](evidence/reproduce-virtual.md) says what came out over real TCP.

## Results in a sentence each

* DualQ of 2015 and successors: the square law and the L4S delay hold, except the P99 of Curvy RED with its own scheduler
* slides of 2015: signals in a round trip, shapes of queues and what small queues cost are as said; DCTCP does not treat unlike RTTs fairly, and rates are not equal
* queue protection: no published figures; the promise of RFC 9957 holds, except with a time-shifted FIFO
* DualPI2: overload and coupling: within 15 % of the source, short delays within 20 %; the coupling holds to 3 %
* DualPI2: pairs with unlike RTTs: within 15 %, but for CUBIC with a long RTT beside a short Prague, and marks on the step
* Prague: independence of the RTT: the shares beside CUBIC agree at every RTT, with and without a target
* PIE: with and without ECN: within 15 % or the counting error of the source, except the drops in one row, which are just beyond it
* FQ-CoDel: with and without ECN: within 15 %, except seven figures with 100 ms of RTT; in six of them Linux 7.2 differs from the source too
* VDQ-CSAQM: the statements of the slides hold; their 98.4 % utilisation is met, but C_v was derived from it
* VDQ-CSAQM with BBR: the statements on rates hold if BBRv2 responds to marks; as shipped it does not, and starves Classic; with few flows L4S waits longer than 1 ms
* independence of the control: Jain's index of every pair of six controls is at least 0.97 behind VDQ-CSAQM, and falls to 0.5 behind DualPI2 and drop-tail
* step marking: the queue of DCTCP agrees with its closed form within 10 %; marks are fewer than derived
* global synchronisation: N/2 excess packets agree; the drop ratio is too high, because a reduction loses 1.8 packets
* GSP: single drops agree with the basic form; with 80 flows the adaptive queue is 28 times shorter than drop-tail
* home gateway: the published order of rules, sizes and controls holds where it is tested; the plotted values are lost
* CUBIC: the time back to the last maximum is within 1.4 % of the equation
* Compound, H-TCP and LEDBAT: they do as their authors claim, in direction; the papers' figures are not at hand
* BBR v1: three of nine figures are off, and `bbr` of Linux 7.2 gives the same; random loss is tolerated as published
* BBR beside CUBIC: v1 has the share that it has in Linux 7.2, which is below the published model: unexplained
* BBR v2 and v3: the statements that could be read hold
* RED, Adaptive RED, Curvy RED: the average queue and the drops follow the laws of each form
* web items beside a download: medians and geometric means are within 30 % of single runs on real hosts; harm falls with the RTT
* browsing of 2015: the tails of 0.2 s and 1 s are those of lost last and set-up packets; behind a DualQ DCTCP has neither
* streaming as set up in 2015: the source has no figures; drop-tail is worst and FQ-CoDel steadiest, but FQ-CoDel does not give the highest level, as was expected
* panorama of 2015: nine of ten packets have 7 to 10 ms with DCTCP, as on the slide, and P99 is 10.2 to 10.9 ms; a whole view takes 33 ms, as long as behind FQ-CoDel
* rendered video under Prague: rate and queue are those of SCReAM's logs; the share beside TCP Prague is smaller
* rendered video under SCReAM: queues and rates alone as published; the shares beside TCP Prague under the law of their program too, but for 25 ms; under the draft's law they are far smaller

## Verdicts

Below, each experiment has the number of its statements that are reproduced, of all, and under it those that are not, with the reason.

";

/// The verdicts that count, in the order of the columns.
const VERDICTS: [&str; 3] = ["reproduced", "differs", "cannot be judged"];

/// A row of the file, as far as the page has it.
struct Row {
    statement: String,
    verdict: String,
    why: String,
}

fn rows(id: &str) -> Vec<Row> {
    let rows = STATEMENTS.written(id).into_iter();
    rows.map(|row| {
        let mut cells = data::cells(&row).into_iter().skip(1);
        let mut next = || cells.next().unwrap_or_default();
        let (statement, verdict, why) = (next(), next(), next());
        Row {
            statement,
            verdict,
            why,
        }
    })
    .collect()
}

/// How many rows there are, and of each verdict.
fn counts<'r>(rows: impl Iterator<Item = &'r Row> + Clone) -> String {
    let of = |verdict: &str| rows.clone().filter(|row| row.verdict == verdict).count();
    let [reproduced, differ, open] = VERDICTS.map(of);
    format!("{reproduced} | {differ} | {open} |\n")
}

/// As GitHub makes it of a heading.
fn anchor(title: &str) -> String {
    let title = title.to_lowercase().replace(' ', "-");
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '-')
        .collect()
}

/// The experiments of a chapter, each with how many of its statements come out and why the others do not.
fn chapter(text: &mut String, chapter: &Chapter) {
    let (title, source) = (&chapter.title, &chapter.source);
    let _ = write!(text, "\n## {title}\n\nSource: {source}.\n\n");
    for experiment in chapter.experiments() {
        let rows = rows(&experiment.id);
        let reproduced = rows.iter().filter(|row| row.verdict == VERDICTS[0]);
        let _ = writeln!(
            text,
            "* **{}**, {} of {}: {}",
            experiment.id,
            reproduced.count(),
            rows.len(),
            experiment.title
        );
        let mut reasons: Vec<(String, &str, &str)> = Vec::new();
        for row in rows.iter().filter(|row| !row.why.is_empty()) {
            let name = format!("*{}*", row.statement);
            let same = reasons
                .iter_mut()
                .find(|(_, verdict, why)| *verdict == row.verdict && *why == row.why);
            match same {
                Some((names, ..)) => *names += &format!(", {name}"),
                None => reasons.push((name, &row.verdict, &row.why)),
            }
        }
        for (names, verdict, why) in reasons {
            let _ = writeln!(text, "  * {names} {verdict}: {why}");
        }
    }
}

/// The page of the file's rows.
fn page() -> String {
    let mut text = format!(
        "{HEAD}| chapter | experiments | reproduced | differ | cannot be judged |\n| --- | --- | --- | --- | --- |\n"
    );
    for one in chapters() {
        let own = one.experiments();
        let rows: Vec<Row> = own.iter().flat_map(|one| rows(&one.id)).collect();
        let _ = write!(
            text,
            "| [{}](#{}) | {} | {}",
            one.title,
            anchor(&one.title),
            own.len(),
            counts(rows.iter())
        );
    }
    for one in chapters() {
        chapter(&mut text, one);
    }
    text
}

/// The rows of an experiment.
pub(crate) fn written(id: &str) -> Vec<String> {
    STATEMENTS.written(id)
}

/// Checks that the file has these experiments as they were found; with `QUELL_BLESS=1` it writes them, and the page.
pub(crate) fn check(findings: &[Findings<'_>]) {
    for one in findings {
        let rows: Vec<_> = one.judged().into_iter().map(data::row).collect();
        STATEMENTS.check(&one.experiment().id, &rows);
    }
    if data::blesses() {
        let _lock = data::lock();
        fs::write(data::docs().join("reproduce.md"), page()).unwrap();
    }
}

#[test]
fn the_page_of_verdicts_has_every_experiment_and_counts_them() {
    let all = all();
    let missing = |one: &&&'static quell_experiment::Experiment| rows(&one.id).is_empty();
    let missing: Vec<_> = all.iter().filter(missing).collect();
    let _lock = data::lock();
    let path = data::docs().join("reproduce.md");
    if data::blesses() {
        fs::write(path, page()).unwrap();
        return;
    }
    assert!(missing.is_empty(), "statements.csv lacks {missing:?}");
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(written == page(), "docs/reproduce.md {OUTDATED}");
}
