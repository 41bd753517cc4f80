//! Rendered video in datagrams that SCReAM v2 controls, beside the logs and the test record of its authors' program.

mod texts;

use quell_measure::Summary;

use super::video::{LOGS, RECORD, SEEDS, alone, delays, rate};
use crate::cell::Cell;
use crate::cells::Cells;
use crate::evaluation::{digits, group};
use crate::experiment::{Experiment, Section};
use crate::figure::Figure;
use crate::findings::Findings;
use crate::statement::{Expected, Statement};
use crate::table::Table;
use texts::{END, LOGS_2024, RESULT, TEXT};

/// `docs/evidence/published.md` has this text.
pub static SECTION: Section = Section {
    title: "Rendered video under SCReAM",
    experiments: &[Experiment {
        id: "applications/video-scream",
        title: "Rendered video under SCReAM, alone and beside TCP Prague",
        source: "github.com/EricssonResearch/scream at c8f84c3: the logs in `examples/` and `test-record.md`",
        statements: STATEMENTS,
        plan,
        judge,
        definition: None,
    }],
};

const STATEMENTS: &[Statement] = &[
    Statement {
        id: "delay",
        published: "with ECT(1) P99 of the queue delay 2.2 ms, at most 4.0 ms",
        bound: "P99 below 4 ms under both laws, on 50 Mbit/s alone and in each of 20 rows on 100 Mbit/s",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "logs-ect1",
        published: "50 Mbit/s, 25 ms, ECT(1): 38.5 Mbit/s, mean delay 1.0 ms",
        bound: "34 to 42 Mbit/s and 0.2 to 1.5 ms under both laws: one log, and parameters of the queue that are not stated",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "logs-off",
        published: "the same without ECN: 44.0 Mbit/s, mean delay 6.2 ms",
        bound: "40 to 47 Mbit/s and 4 to 9 ms under the draft's law",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "alone",
        published: "100 Mbit/s, alone: 79, 78 and 71 Mbit/s with 5, 25 and 100 ms, 68 with frames of varying length",
        bound: "0.95 to 1.15 of it under the law of that program",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "beside",
        published: "beside one to four TCP Prague flows 52 to 20 Mbit/s with 5 ms and 54 to 18 with 100 ms",
        bound: "0.75 to 1.35 of it under the law of that program: its own spread is 5 %, and when flows start and how long was measured is not said",
        expected: Expected::Reproduced,
    },
    Statement {
        id: "beside-25ms",
        published: "beside one to four TCP Prague flows 60 to 29 Mbit/s with 25 ms, 50 to 25 with frames of varying length",
        bound: "the same; guarded at 0.45 to 0.7",
        expected: Expected::Differs(
            "half to two thirds, explained in part: when flows start, and over which time the source measured, matters as much as what is left",
        ),
    },
    Statement {
        id: "draft",
        published: "the same rates; they were measured with the program of October 2024, not with the draft of 2026",
        bound: "0.75 to 1.35 under the draft's law; guarded: alone 0.7 to 1.05, beside Prague 0.25 to 0.75 with 5 and 100 ms and 0.05 to 0.2 with 25 ms",
        expected: Expected::Differs(
            "the draft is another law: its α is far above the mean part of the marks where few packets leave in 10 ms, it counts older marks, and it leaves a sixth of the window's rate free",
        ),
    },
];

const CONTROL: &str = "app.control=scream";
/// Their packets of 1 360 bytes.
const PACKET: &str = "app.packet=1400B";
/// Frames of one length; and of a length within 50 and 150 % with the deviation of an even distribution.
const FIXED: &str = "app.deviation=0";
const VARYING: &str = "app.deviation=0.289";

fn sets(video: &[&str], others: &[String]) -> Vec<String> {
    let video = [CONTROL].into_iter().chain(video.iter().copied());
    let video = video.map(|set| format!("group.video.{set}"));
    video.chain(others.iter().cloned()).collect()
}

/// For each of [`LOGS`] the bounds of the rate in Mbit/s and of the mean delay in ms.
const BOUNDS: [([f64; 2], [f64; 2]); 2] = [([34.0, 42.0], [0.2, 1.5]), ([40.0, 47.0], [4.0, 9.0])];

/// As [`RECORD`], at 25 ms with varying frames.
const RECORD_OF_VARYING: [f64; 5] = [68.0, 50.0, 44.0, 32.0, 25.0];

/// Which SCReAM v2.
const LAWS: [&str; 2] = ["2024", "draft"];

/// A row: RTT in ms, frames, Prague flows, and the rate of the source.
type Row = (u64, &'static str, usize, f64);

fn rows() -> Vec<Row> {
    let fixed = RECORD.iter().map(|(rtt, rates)| (*rtt, FIXED, *rates));
    fixed
        .chain([(25, VARYING, RECORD_OF_VARYING)])
        .flat_map(|(rtt, frames, rates)| {
            let rows = rates.into_iter().enumerate();
            rows.map(move |(count, rate)| (rtt, frames, count, rate))
        })
        .collect()
}

/// The bounds of the rate, in parts of the source's.
fn bounds(law: &str, (rtt, _, count, _): Row) -> [f64; 2] {
    match (law, rtt, count) {
        ("2024", _, 0) => [0.95, 1.15],
        ("2024", 25, _) => [0.45, 0.7],
        ("2024", ..) => [0.75, 1.35],
        (_, _, 0) => [0.7, 1.05],
        (_, 25, _) => [0.05, 0.2],
        _ => [0.25, 0.75],
    }
}

/// On 50 Mbit/s: the law, and the places of [`LOGS`]. Without ECN the law of 2024 is none of that program's.
const OF_LOGS: [(&str, usize); 3] = [("2024", 0), ("draft", 0), ("draft", 1)];

fn cell((rtt, frames, count, _): Row, law: &str) -> Cell {
    let round = format!("rtt={rtt}ms");
    let (file, others) = match count {
        0 => (
            "panorama/controlled-video.toml",
            vec!["link.rate=100mbit".to_owned()],
        ),
        _ => (
            "panorama/controlled-video-beside.toml",
            vec![
                format!("group.downloads.count={count}"),
                format!("group.downloads.{round}"),
            ],
        ),
    };
    let law = format!("app.law={law}");
    Cell::new(file).sets(sets(&[PACKET, frames, &round, &law], &others))
}

/// Each row under each law.
fn points() -> Vec<(Row, &'static str)> {
    let of_row = |row: Row| LAWS.map(|law| (row, law));
    rows().into_iter().flat_map(of_row).collect()
}

fn plan() -> Vec<Cell> {
    let of_log = |(law, log): (&str, usize)| {
        let (ecn, law) = (format!("ecn={}", LOGS[log].0), format!("app.law={law}"));
        Cell::new("panorama/controlled-video.toml").sets(sets(&[&ecn, &law], &[]))
    };
    let of_point = |(row, law)| cell(row, law);
    let logs = OF_LOGS.into_iter().map(of_log);
    let all = logs.chain(points().into_iter().map(of_point));
    all.flat_map(|cell| cell.seeds(SEEDS)).collect()
}

fn judge(cells: &Cells<'_>, out: &mut Findings) {
    let runs = cells.summaries();
    let by_cell: Vec<&[Summary]> = runs.chunks(SEEDS.len()).collect();
    let (of_logs, of_rows) = by_cell.split_at(OF_LOGS.len());
    judge_logs(of_logs, out);
    let (record, draft) = (alone(&of_logs[..1]), alone(&of_logs[1..]));
    let mut figure = Figure::pairs("Rate of the video on 100 Mbit/s", "Mbit/s");
    for ((row, law), runs) in points().into_iter().zip(of_rows) {
        judge_row(row, law, runs, out);
        if law == "2024" {
            let (rtt, frames, count, source) = row;
            let frames = if frames == FIXED { "" } else { ", varying" };
            let label = format!("{count} flows at {rtt} ms{frames}");
            figure = figure.pair(&label, Some(source), rate(runs, "video").max(0.0));
        }
    }
    out.draw(figure);
    let table = table(of_rows);
    out.write(format!(
        "{RESULT}\n{draft}\n{LOGS_2024}\n{record}\n{TEXT}\n{table}\n{END}"
    ));
}

/// The link of the logs.
fn judge_logs(runs: &[&[Summary]], out: &mut Findings) {
    for ((law, log), runs) in OF_LOGS.into_iter().zip(runs) {
        let (ecn, (rates, means)) = (LOGS[log].0, BOUNDS[log]);
        let (delays, rate) = (delays(runs), rate(runs, "video"));
        let checks = out.on(if ecn == "ect1" {
            "logs-ect1"
        } else {
            "logs-off"
        });
        let what = format!("{law}, {ecn}: {rate} Mbit/s alone");
        checks.unless((rates[0]..rates[1]).contains(&rate), what);
        let what = format!("{law}, {ecn}: mean delay of {} ms", delays[0]);
        checks.unless((means[0]..means[1]).contains(&delays[0]), what);
        // The last one, of the draft, is what the page shows first.
        checks.ours(format!(
            "{} Mbit/s and {} ms under the law of {law}",
            digits(rate),
            digits(delays[0])
        ));
        if ecn == "ect1" {
            let what = format!("{law}: P99 of {} ms", delays[2]);
            out.on("delay").unless(delays[2] < 4.0, what);
        }
    }
}

fn judge_row(row: Row, law: &str, runs: &[Summary], out: &mut Findings) {
    let (rtt, frames, count, source) = row;
    let (video, p99) = (rate(runs, "video"), delays(runs)[2]);
    let name = format!("{law}: {count} flows at {rtt} ms, {frames}");
    let what = format!("{name}: P99 of {p99} ms");
    out.on("delay").unless(p99 < 4.0, what);
    let [least, most] = bounds(law, row);
    let part = video / source;
    let holds = (least..=most).contains(&part);
    let what = format!("{name}: {video} Mbit/s for {source}");
    let as_beside = (0.75..=1.35).contains(&part);
    match (law, rtt, count) {
        ("2024", _, 0) => out.on("alone").unless(holds, what),
        ("2024", 25, _) => {
            let checks = out.on("beside-25ms");
            checks.unless(as_beside, what.clone());
            checks.guard(holds, what);
        }
        ("2024", ..) => out.on("beside").unless(holds, what),
        _ => {
            let checks = out.on("draft");
            checks.unless(as_beside, what.clone());
            checks.guard(holds, what);
        }
    }
}

/// Of each row under both laws.
fn table(runs: &[&[Summary]]) -> Table {
    let mut table = Table::new(&[
        "RTT, ms",
        "frames",
        "Prague flows",
        "video, Mbit/s: source",
        "2024",
        "draft",
        "a Prague flow, Mbit/s: 2024",
        "draft",
        "marked, %: 2024",
        "draft",
        "P99 of the delay, ms: 2024",
        "draft",
    ]);
    for (row, runs) in rows().iter().zip(runs.chunks(LAWS.len())) {
        let (rtt, frames, count, source) = *row;
        let of = |figure: &dyn Fn(&[Summary]) -> f64| {
            let cells = runs.iter().map(|runs| digits(figure(runs)));
            cells.collect::<Vec<_>>()
        };
        let mut cells = vec![
            rtt.to_string(),
            if frames == FIXED { "fixed" } else { "varying" }.to_owned(),
            count.to_string(),
            digits(source),
        ];
        cells.extend(of(&|runs| rate(runs, "video")));
        cells.extend(match count {
            0 => vec!["–".to_owned(); 2],
            _ => of(&|runs| rate(runs, "downloads")),
        });
        cells.extend(of(&marked));
        cells.extend(of(&|runs| delays(runs)[2]));
        table.row(&cells);
    }
    table
}

/// Packets of the video that were marked, in %.
fn marked(runs: &[Summary]) -> f64 {
    let of = |run: &Summary| {
        group(run, "video").map_or(f64::NAN, |group| {
            100.0 * group.marked as f64 / group.packets.max(1) as f64
        })
    };
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}
