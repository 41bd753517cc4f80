//! A card for every discipline: scenarios of RFC 7928 on a slow link, beside drop-tail.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use quell_aqm::disciplines::KINDS;
use quell_experiment::characterize::{Beside, Card, Figure, Profile, Request, Suite, simulated};
use quell_lab::World;
use quell_units::Time;

use crate::cards::run::each;

/// The scenarios of a card.
const SCENARIOS: [&str; 11] = [
    "friendly",
    "aggressive",
    "udp-mix",
    "lbe",
    "rtt-5",
    "rtt-560",
    "ecn-100",
    "burst-4",
    "mild",
    "heavy",
    "mix",
];

fn card(kind: &str) -> Card {
    let request = Request {
        queue: kind.to_owned(),
        against: Vec::new(),
        profile: Profile {
            duration: Time::from_secs(18),
            ..Profile::named("10mbit").unwrap()
        },
        suite: Suite::named("rfc7928").unwrap(),
        only: SCENARIOS.map(str::to_owned).into(),
        world: World::Sim,
        controls: Vec::new(),
        seeds: Some(3),
    };
    let never = AtomicBool::new(false);
    simulated(&request.prepare().unwrap(), NonZeroUsize::MIN, &never).unwrap()
}

/// The text of the cards, and every figure of them.
pub(crate) fn cards() -> (String, String) {
    let cards = each(KINDS, |kind| card(kind.name));
    let mut page = "## Queues\n\n\
        Scenarios of RFC 7928 at 10 Mbit/s, base RTT 100 ms, a buffer of 83 packets (one bandwidth-delay product): means over three seeds, 18 s each behind \
        3 s of warm-up. ▲ ▼: the 95 % interval lies above or below that of drop-tail. The table has the scenario with a call, six users of the web, a constant \
        rate, a video and five bulk flows; [cards-queues.csv](cards-queues.csv) has all eleven.\n\n\
        | queue | delay, ms | P99, ms | link, % | loss, % | call |\n| --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut csv =
        "queue,scenario,delay_ms,p99_ms,link_percent,loss_percent,marks_percent,felt,what\n"
            .to_owned();
    for (kind, card) in KINDS.iter().zip(&cards) {
        for scenario in &card.scenarios {
            let outcome = &scenario.results[0];
            let of = |key: &str, factor: f64, digits| shown(&outcome.whole, key, factor, digits);
            let [delay, p99, link, loss, marks] = [
                of("delay_ms.mean", 1.0, 2),
                of("delay_ms.p99", 1.0, 1),
                of("utilisation", 100.0, 1),
                of("loss_ratio", 100.0, 2),
                of("mark_ratio", 100.0, 2),
            ];
            let felt = felt(outcome);
            let (name, id) = (kind.name, &scenario.id);
            csv.push_str(&format!(
                "{name},{id},{delay},{p99},{link},{loss},{marks},{felt},\"{}\"\n",
                scenario.title.replace('"', "\"\"")
            ));
            if id == "mix" {
                page.push_str(&format!(
                    "| {name} | {delay} | {p99} | {link} | {loss} | {felt} |\n"
                ));
            }
        }
    }
    let notes = KINDS.iter().zip(&cards);
    let notes: Vec<String> = notes
        .filter_map(|(kind, card)| {
            Some(format!(
                "{} has {}",
                kind.name,
                card.queues[0].note.as_ref()?
            ))
        })
        .collect();
    if !notes.is_empty() {
        page.push_str(&format!("\n{}.\n", notes.join("; ")));
    }
    (page + "\n", csv)
}

/// What the application suffers most from delay.
fn felt(outcome: &quell_experiment::characterize::card::Outcome) -> String {
    let class = |name: &str| outcome.classes.iter().find(|class| class.name == name);
    let of = |name: &str, key: &str, factor, digits| {
        let class = class(name)?;
        class
            .figures
            .contains_key(key)
            .then(|| shown(&class.figures, key, factor, digits))
    };
    let ratio = outcome
        .whole
        .contains_key("ratio")
        .then(|| format!("II/I {}", shown(&outcome.whole, "ratio", 1.0, 2)));
    let choices = [
        of("call", "app.mos", 1.0, 2).map(|mos| format!("MOS {mos}")),
        of("web", "app.page_load_ms.mean", 1e-3, 2).map(|page| format!("page {page} s")),
        of("udp", "app.one_way_delay_ms.p99", 1.0, 0)
            .map(|delay| format!("UDP P99 {delay} ms one way")),
        of("ledbat", "goodput_bps", 1e-6, 2).map(|rate| format!("LEDBAT {rate} Mbit/s")),
        ratio,
    ];
    choices.into_iter().flatten().next().unwrap_or_default()
}

fn shown(figures: &BTreeMap<String, Figure>, key: &str, factor: f64, digits: usize) -> String {
    let Some(figure) = figures.get(key) else {
        return "-".to_owned();
    };
    let arrow = match figure.beside {
        Some(Beside::Higher) => " ▲",
        Some(Beside::Lower) => " ▼",
        None => "",
    };
    format!("{:.digits$}{arrow}", figure.mean * factor)
}
