//! A workload through quell's link: a live run of a scenario.

use std::sync::atomic::AtomicBool;

use quell_lab::LiveOptions;
use quell_lab::live::{self, LiveError};
use quell_lab::{Scenario, World};
use quell_measure::Summary;
use quell_units::Time;
use serde_json::Value;

use crate::workload::{Load, OVERHEAD, Workload};

/// After the last datagram: longer than any queue and RTT here.
const DRAIN: Time = Time::from_secs(1);

/// What a link did after the warm-up.
pub struct LinkRun {
    /// Link bits per second that arrived at the receiving applications.
    pub link_rate: f64,
    /// Share of time in which the link transmitted.
    pub utilisation: f64,
    pub lost_outside: u64,
    /// How late packets left: p50 and p99.
    pub lateness_us: (f64, f64),
    /// Of one processor, by the link's thread.
    pub cpu_share: f64,
    pub warnings: Vec<String>,
}

/// What became of all datagrams.
pub struct Fate {
    /// By the sending application.
    pub sent: u64,
    /// By the receiving application.
    pub received: u64,
    /// By the queue.
    pub dropped: u64,
    /// As the link knows.
    pub lost_outside: u64,
    pub warnings: Vec<String>,
}

/// Measures for `span` after `warmup`.
pub fn measure(workload: &Workload, warmup: Time, span: Time) -> Result<LinkRun, LiveError> {
    let summary = run(workload, warmup, warmup + span, None)?;
    let link = &summary.figures.link;
    let lateness = |quantile: &str| {
        number(
            link.extra
                .get("lateness_ms")
                .and_then(|late| late.get(quantile)),
        ) * 1e3
    };
    let goodput: f64 = summary.figures.groups[0].goodput_bps.iter().sum();
    Ok(LinkRun {
        link_rate: workload.link_bytes(goodput),
        utilisation: link.utilisation,
        lost_outside: link.lost_outside,
        lateness_us: (lateness("p50"), lateness("p99")),
        cpu_share: number(link.extra.get("cpu_share")),
        warnings: summary.warnings,
    })
}

/// Sends datagrams for `span`, and waits until none is in flight.
pub fn fate(workload: &Workload, span: Time) -> Result<Fate, LiveError> {
    let summary = run(workload, Time::ZERO, span + DRAIN, Some(span))?;
    let figures = summary.figures;
    let app = figures.groups[0].app.as_ref();
    let number = |figure| app.and_then(|app| app.number(figure)).unwrap_or(f64::NAN);
    Ok(Fate {
        sent: number("sent") as u64,
        received: number("received") as u64,
        dropped: figures.queues.iter().map(|queue| queue.dropped).sum(),
        lost_outside: figures.link.lost_outside,
        warnings: summary.warnings,
    })
}

/// NaN where a figure is missing: it keeps no bound.
fn number(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn run(
    workload: &Workload,
    warmup: Time,
    duration: Time,
    stop: Option<Time>,
) -> Result<Summary, LiveError> {
    let text = scenario(workload, warmup, duration, stop);
    let loaded = Scenario::load("benchmark", &text, &[], Some(World::Live))
        .map_err(|problems| LiveError::Scenario(problems.to_string()))?;
    let going_on = AtomicBool::new(false);
    let measured = live::run(
        &loaded.scenario,
        1,
        World::Live,
        &LiveOptions::default(),
        &going_on,
        &mut (),
    )?;
    Ok(measured.summary)
}

fn scenario(workload: &Workload, warmup: Time, duration: Time, stop: Option<Time>) -> String {
    let app = match workload.load {
        Load::Datagrams => {
            let interval = workload.interval();
            format!("{{ kind = \"cbr\", size = \"1500B\", interval = \"{interval}\" }}")
        }
        Load::Streams(_) => "{ kind = \"bulk\" }\ncongestion-control = \"cubic\"".to_owned(),
    };
    let stop = stop.map_or_else(String::new, |stop| format!("stop = \"{stop}\""));
    let Workload { rate, rtt, .. } = workload;
    let (limit, flows) = (workload.limit(), workload.flows());
    let link = format!(
        r#"
        rate = "{rate}"
        overhead = {OVERHEAD}
        queue = {{ kind = "fifo", limit = "{limit}" }}
        "#
    );
    let links = match workload.links {
        1 => format!("[link]{link}"),
        several => format!("[[link]]{link}").repeat(several),
    };
    format!(
        r#"
        schema = 1
        name = "benchmark"
        {links}
        [[group]]
        name = "flows"
        count = {flows}
        rtt = "{rtt}"
        app = {app}
        {stop}
        [run]
        duration = "{duration}"
        warmup = "{warmup}"
        "#
    )
}
