//! Who feels what: the figures that a person notices, by the application and the direction of each group, and the sentences for them.
//!
//! Web pages and items, films, calls, games and interactive video are felt. Bulk data has its rate. Other applications, such as plain
//! datagrams, have nobody who waits for them.

use quell_app::{Part, Transport};
use quell_measure::{AppSummary, Direction, Figures, GroupSummary};

use crate::figures::BOTTLENECK;
use crate::{Group, Scenario};

/// What data without an end is called in [`Felt::application`].
pub const BULK: &str = "bulk";

/// A figure that somebody feels, in each of several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Felt {
    /// Name of the group.
    pub who: String,
    /// Kind of its application; a game over TCP is `terminal`, and all interactive video is `rtc`.
    pub application: &'static str,
    /// What is felt, such as `a page loads in`.
    pub what: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Digits behind the point that are worth showing.
    pub digits: usize,
    /// Which values are the better ones.
    pub better: Better,
    /// Flows of the group: people.
    pub n: usize,
    /// The figure in each run that has it.
    pub values: Vec<f64>,
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
}

/// A figure of a kind of application that somebody feels.
struct Feeling {
    kind: &'static str,
    what: &'static str,
    unit: &'static str,
    digits: usize,
    better: Better,
    figure: &'static str,
    /// The part of a distribution.
    part: Option<Part>,
    /// The figure for a group whose data goes up: its receiver is then at the far end.
    up: Option<&'static str>,
    /// How many of the figure's unit make one of the unit shown.
    scale: f64,
    /// It is a sum over all flows.
    sums: bool,
}

/// A part of a distribution of times.
const fn time(kind: &'static str, what: &'static str, figure: &'static str, part: Part) -> Feeling {
    Feeling {
        kind,
        what,
        unit: "ms",
        digits: 0,
        better: Better::Lower,
        figure,
        part: Some(part),
        up: None,
        scale: 1.0,
        sums: false,
    }
}

const fn in_s(feeling: Feeling) -> Feeling {
    Feeling {
        unit: "s",
        digits: 2,
        scale: 1e3,
        ..feeling
    }
}

/// How often something went wrong.
const fn times(kind: &'static str, what: &'static str, figure: &'static str) -> Feeling {
    Feeling {
        unit: "times",
        part: None,
        sums: true,
        ..time(kind, what, figure, Part::Mean)
    }
}

const fn rate(kind: &'static str, what: &'static str, figure: &'static str) -> Feeling {
    Feeling {
        unit: "Mbit/s",
        digits: 1,
        better: Better::Higher,
        scale: 1e6,
        ..times(kind, what, figure)
    }
}

/// The opinion at one end of a call.
const fn opinion(what: &'static str, figure: &'static str, up: &'static str) -> Feeling {
    Feeling {
        unit: "MOS of 1 to 4.5",
        digits: 2,
        up: Some(up),
        scale: 1.0,
        sums: false,
        ..rate("voice", what, figure)
    }
}

const COMMAND: &str = "command_to_state_ms";
const INPUT: &str = "interaction_latency_ms";

/// In the order in which tables list the figures of a group; [`words`] knows that order.
const FEELINGS: &[Feeling] = &[
    in_s(time("web", "a page loads in", "page_load_ms", Part::P50)),
    in_s(time(
        "web",
        "one page in ten takes over",
        "page_load_ms",
        Part::P90,
    )),
    time("web", "an item arrives in", "completion_ms", Part::P50),
    time(
        "web",
        "one item in 100 takes over",
        "completion_ms",
        Part::P99,
    ),
    Feeling {
        sums: false,
        ..rate("has", "picture", "bitrate_bps")
    },
    times("has", "stops", "stalls"),
    time("voice", "words arrive after", "mouth_to_ear_ms", Part::Mean),
    opinion("hears", "mos", "back_mos"),
    opinion("is heard", "back_mos", "mos"),
    time("game", "answers a command after", COMMAND, Part::P50),
    time("game", "one command in 100 over", COMMAND, Part::P99),
    time(VIDEO, "shows an input after", INPUT, Part::P50),
    time(VIDEO, "one input in 100 over", INPUT, Part::P99),
    times(VIDEO, "freezes", "freezes"),
];

/// Both kinds of interactive video.
const VIDEO: &str = "rtc";

fn kind_of(kind: &str) -> &str {
    match kind {
        "panorama" => VIDEO,
        kind => kind,
    }
}

/// Whether [`felt`] has this figure of applications of this kind.
pub fn is_felt(kind: &str, figure: &str, part: Option<Part>) -> bool {
    let mut all = FEELINGS.iter();
    all.any(|one| one.kind == kind_of(kind) && one.figure == figure && one.part == part)
}

/// A figure of what an application reports, or a part of a distribution; `None` where there is none.
pub fn reported(app: &AppSummary, figure: &str, part: Option<Part>) -> Option<f64> {
    let Some(part) = part else {
        return app.number(figure);
    };
    let times = app.times(figure)?;
    Some(match part {
        Part::Mean => times.mean,
        Part::Min => times.min,
        Part::P50 => times.p50,
        Part::P90 => times.p90,
        Part::P99 => times.p99?,
        Part::P999 => times.p999?,
        Part::Max => times.max,
    })
}

/// What everybody feels in these runs of a scenario: people by the order of [`FEELINGS`], then bulk data. A figure that no run has stays,
/// without values, where the application reports it.
pub fn felt(runs: &[&Figures], scenario: &Scenario) -> Vec<Felt> {
    let mut groups: Vec<(usize, &Group)> = scenario.groups.iter().enumerate().collect();
    groups.sort_by_key(|(_, group)| {
        let kind = kind_of(group.app.kind());
        let first = FEELINGS.iter().position(|feeling| feeling.kind == kind);
        first.unwrap_or(FEELINGS.len())
    });
    let rows = groups.into_iter().flat_map(|(index, group)| {
        let of_runs = runs.iter().filter_map(|run| run.groups.get(index));
        of_group(group, of_runs.filter(|of_run| of_run.count > 0).collect())
    });
    rows.collect()
}

fn of_group(group: &Group, runs: Vec<&GroupSummary>) -> Vec<Felt> {
    let Some(n) = runs.iter().map(|run| run.count).max() else {
        return Vec::new();
    };
    let kind = kind_of(group.app.kind());
    let is_up = group.direction == Direction::Reverse;
    if kind == BULK {
        let sums = runs.iter().map(|run| run.goodput_bps.iter().sum());
        let feeling = rate(BULK, if is_up { "up" } else { "down" }, "");
        return vec![feeling.row(group, n, sums)];
    }
    let apps: Vec<&AppSummary> = runs.iter().filter_map(|run| run.app.as_ref()).collect();
    let feelings = FEELINGS.iter().filter(|feeling| feeling.kind == kind);
    let rows = feelings.filter_map(|feeling| {
        let figure = feeling.up.filter(|_| is_up).unwrap_or(feeling.figure);
        let has = apps.iter().any(|app| app.figures.contains_key(figure));
        let values = apps
            .iter()
            .filter_map(|app| reported(app, figure, feeling.part));
        has.then(|| feeling.row(group, n, values))
    });
    rows.collect()
}

impl Feeling {
    fn row(&self, group: &Group, n: usize, values: impl Iterator<Item = f64>) -> Felt {
        let is_stream = group.app.transport() == Transport::Stream;
        let of_all = if self.sums && n > 1 { " in all" } else { "" };
        Felt {
            who: group.name.clone(),
            application: match self.kind {
                "game" if is_stream => "terminal",
                kind => kind,
            },
            what: format!("{}{of_all}", self.what),
            unit: self.unit,
            digits: self.digits,
            better: self.better,
            n,
            values: values.map(|value| value / self.scale).collect(),
        }
    }
}

/// What people would say of these rows of [`felt`] and their runs: `a page takes 1.4 s; the film never stops`. Empty where nobody feels
/// anything. Of several groups with one application each is named.
pub fn sentence(rows: &[Felt], runs: &[&Figures]) -> String {
    let groups = || rows.chunk_by(|one, next| one.who == next.who);
    let said = groups().filter_map(|of_group| {
        let text = words(of_group)?;
        let first = of_group.first()?;
        let same = groups().filter(|other| other[0].application == first.application);
        Some(match same.count() {
            1 => text,
            _ => format!("{text} ({})", first.who),
        })
    });
    let mut said: Vec<String> = said.collect();
    if !said.is_empty() && !runs.is_empty() && runs.iter().all(|run| upload_is_narrow(run)) {
        said.push("the upload is the narrow place".to_owned());
    }
    said.join("; ")
}

fn words(rows: &[Felt]) -> Option<String> {
    let values = |row: usize| rows.get(row).map_or(&[][..], |row| &row.values);
    let first = rows.first()?;
    let within = |who: &str, row: usize| Some(format!("{who} within {:.0} ms", mean(values(row))?));
    match first.application {
        "web" if first.unit == "s" => Some(match mean(values(0)) {
            Some(load) => format!("a page takes {load:.1} s"),
            None => "no page loads".to_owned(),
        }),
        "web" => Some(format!(
            "an item of the web takes {:.0} ms",
            mean(values(0))?
        )),
        "has" => Some(film(values(0), values(1), first.n)),
        "voice" => phone(values(1), values(2)),
        "game" => within("the game answers", 1),
        "terminal" => within("an answer comes", 1),
        VIDEO => within("the video shows an input", 1),
        _ => None,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How often films stopped in each run, where they had a picture.
fn film(picture: &[f64], stops: &[f64], n: usize) -> String {
    let (film, s) = if n > 1 {
        ("the films", "")
    } else {
        ("the film", "s")
    };
    let stopped = stops.iter().filter(|stops| **stops > 0.0).count();
    match (stopped, stops) {
        _ if picture.is_empty() => format!("{film} never play{s}"),
        (_, all) if picture.len() < all.len() => {
            let played = picture.len();
            format!("{film} play{s} in only {played} of {} runs", all.len())
        }
        (0, _) => format!("{film} never stop{s}"),
        (1, [stops]) if *stops < 2.0 => format!("{film} stop{s} once"),
        (1, [stops]) => format!("{film} stop{s} {stops:.0} times"),
        (stopped, all) if stopped == all.len() => format!("{film} stop{s} in every run"),
        (stopped, all) => format!("{film} stop{s} in {stopped} of {} runs", all.len()),
    }
}

/// What the end of a call thinks that hears less well.
fn phone(here: &[f64], there: &[f64]) -> Option<String> {
    let mut worse: Vec<f64> = match there {
        [] => here.to_vec(),
        there => here.iter().zip(there).map(|(a, b)| a.min(*b)).collect(),
    };
    worse.sort_by(f64::total_cmp);
    let (bad, good) = (satisfaction(*worse.first()?), satisfaction(*worse.last()?));
    Some(match bad == good {
        true => format!("on the phone {bad}"),
        false => format!("on the phone {good} in one run, and {bad} in another"),
    })
}

/// What users of a call think, by its MOS (ITU-T G.107 annex B).
fn satisfaction(mos: f64) -> &'static str {
    match mos {
        mos if mos >= 4.34 => "everybody is very satisfied",
        mos if mos >= 4.03 => "everybody is satisfied",
        mos if mos >= 3.60 => "some are dissatisfied",
        mos if mos >= 3.10 => "many are dissatisfied",
        mos if mos >= 2.58 => "nearly all are dissatisfied",
        _ => "talking is hardly possible",
    }
}

/// Whether a reverse direction was full while no forward one was, and packets waited longer in its queues.
pub fn upload_is_narrow(figures: &Figures) -> bool {
    let first = &figures.link;
    let links = figures.links.iter();
    let links = links.map(|link| (link.utilisation, link.reverse.map(|back| back.utilisation)));
    let only = (
        first.utilisation,
        first.reverse.map(|back| back.utilisation),
    );
    let (mut down, mut up) = (0.0_f64, 0.0_f64);
    for (forward, reverse) in links.chain([only]) {
        (down, up) = (down.max(forward), up.max(reverse.unwrap_or(0.0)));
    }
    let wait = |direction| {
        let queues = figures
            .queues
            .iter()
            .filter(|queue| queue.direction == direction);
        let means = queues.filter_map(|queue| queue.delay_ms.map(|delay| delay.mean));
        means.fold(0.0, f64::max)
    };
    up >= BOTTLENECK && down < BOTTLENECK && wait(Direction::Reverse) > wait(Direction::Forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_app::{Quantity, find};
    use serde_json::{Value, json};

    /// A household, in which the backup, the film's viewers and the second caller are what the text says.
    fn household() -> Scenario {
        let group = |name: &str, more: &str| {
            format!("[[group]]\nname = \"{name}\"\nrtt = \"20ms\"\n{more}\n")
        };
        let groups = [
            group("backup", "app = \"bulk\"\ndirection = \"reverse\""),
            group("tv", "count = 2\napp = \"has\""),
            group("phone", "app = \"voice\""),
            group("office", "app = \"voice\"\ndirection = \"reverse\""),
            group(
                "browser",
                "app = { kind = \"web\", preset = \"median-2024\" }",
            ),
            group(
                "probe",
                "app = { kind = \"cbr\", size = \"200B\", interval = \"20ms\" }",
            ),
        ];
        let text = format!(
            "schema = 1\nname = \"f\"\n[link]\nrate = \"50mbit\"\nqueue = \"pie\"\n{}[run]\nduration = \"9s\"\n",
            groups.concat()
        );
        Scenario::load("f", &text, &[], None).unwrap().scenario
    }

    fn dist(ms: f64) -> Value {
        json!({ "mean": ms, "min": ms, "p1": ms, "p25": ms, "p50": ms, "p75": ms, "p90": 2.0 * ms, "p99": null, "p999": null, "max": ms })
    }

    /// What came out of it: `stops` of the film, the score of the `worse` end of both calls, and the `use` of both directions.
    fn figures(stops: u64, worse: f64, down: f64, up: f64) -> Figures {
        let group = |name: &str, count: u64, goodput: Vec<f64>, app: Value| {
            json!({ "name": name, "count": count, "congestion_control": null, "goodput_bps": goodput, "jain": null, "packets": 1, "marked": 0,
                "dropped": 0, "retransmitted": null, "delay_ms": null, "rtt_ms": null, "app": app })
        };
        let call = json!({ "kind": "voice", "mos": worse, "back_mos": 4.4, "mouth_to_ear_ms": dist(50.0) });
        let has = json!({ "kind": "has", "bitrate_bps": 16e6, "stalls": stops });
        let web = json!({ "kind": "web", "page_load_ms": dist(1_400.0) });
        let cbr = json!({ "kind": "cbr", "one_way_delay_ms": dist(9.0) });
        let queue = |direction: &str, ms: f64| {
            let delay = json!({ "mean": ms, "p1": ms, "p25": ms, "p50": ms, "p75": ms, "p90": ms, "p99": ms, "p999": ms, "max": ms });
            json!({ "name": "queue", "direction": direction, "packets": 1, "bytes": 0, "marked": 0, "dropped": 0, "mark_ratio": 0.0,
                "drop_ratio": 0.0, "marks": {}, "drops": {}, "delay_ms": delay, "backlog_bytes": null })
        };
        let value = json!({
            "link": { "rate_bps": 50_000_000, "utilisation": down, "lost_outside": 0,
                "reverse": { "rate_bps": 50_000_000, "utilisation": up } },
            "queues": [queue("forward", 5.0), queue("reverse", 10.0)],
            "groups": [group("backup", 1, vec![9.5e6], json!({ "kind": "bulk", "bytes": 1 })),
                group("tv", 2, vec![1e6, 1e6], has), group("phone", 1, vec![6e4], call.clone()),
                group("office", 1, vec![6e4], call), group("browser", 1, vec![1e6], web), group("probe", 1, vec![1e6], cbr)],
            "jain": null,
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn everybody_feels_what_their_application_and_direction_say() {
        let (scenario, run) = (household(), figures(3, 3.7, 0.5, 0.5));
        let rows = felt(&[&run], &scenario);
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{}: {}, {} {:?} of {}",
                    row.who, row.what, row.unit, row.values, row.n
                )
            })
            .collect();
        // A receiver of data that goes up is at the far end: there the office hears what the phone is heard with.
        let expected = [
            "browser: a page loads in, s [1.4] of 1",
            "browser: one page in ten takes over, s [2.8] of 1",
            "tv: picture, Mbit/s [16.0] of 2",
            "tv: stops in all, times [3.0] of 2",
            "phone: words arrive after, ms [50.0] of 1",
            "phone: hears, MOS of 1 to 4.5 [3.7] of 1",
            "phone: is heard, MOS of 1 to 4.5 [4.4] of 1",
            "office: words arrive after, ms [50.0] of 1",
            "office: hears, MOS of 1 to 4.5 [4.4] of 1",
            "office: is heard, MOS of 1 to 4.5 [3.7] of 1",
            "backup: up, Mbit/s [9.5] of 1",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn people_say_it_by_application_and_over_several_runs() {
        let scenario = household();
        let said = |runs: &[&Figures]| sentence(&felt(runs, &scenario), runs);
        let (good, bad) = (figures(0, 4.35, 0.6, 0.95), figures(2, 3.2, 0.6, 0.95));
        assert_eq!(
            said(&[&good]),
            "a page takes 1.4 s; the films never stop; on the phone everybody is very satisfied (phone); on the phone everybody is very \
             satisfied (office); the upload is the narrow place"
        );
        let both = said(&[&good, &bad]);
        for part in [
            "the films stop in 1 of 2 runs",
            "on the phone everybody is very satisfied in one run, and many are dissatisfied in another (phone)",
        ] {
            assert!(both.contains(part), "{both}");
        }
        assert!(said(&[&bad, &bad]).contains("the films stop in every run"));
        // Full downloads are not limited by the upload, and an idle one is no narrow place.
        for (down, up) in [(0.95, 0.99), (0.3, 0.4)] {
            let run = figures(0, 4.35, down, up);
            assert!(!said(&[&run]).contains("upload"));
        }
        assert_eq!(film(&[], &[0.0], 1), "the film never plays");
        assert_eq!(
            film(&[16.0], &[0.0; 2], 1),
            "the film plays in only 1 of 2 runs"
        );
    }

    #[test]
    fn every_figure_is_one_that_its_application_reports() {
        for feeling in FEELINGS {
            let forms = (find(feeling.kind).unwrap().forms)();
            let has = |figure: &str| {
                let mut all = forms.iter().flat_map(|form| &form.figures);
                all.any(|one| {
                    one.name == figure
                        && (one.quantity == Quantity::Times) == feeling.part.is_some()
                })
            };
            let up = feeling.up.unwrap_or(feeling.figure);
            assert!(
                has(feeling.figure) && has(up),
                "{} {}",
                feeling.kind,
                feeling.figure
            );
        }
    }
}
