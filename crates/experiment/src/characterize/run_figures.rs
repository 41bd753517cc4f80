//! The figures of one run, by name: of its whole, its links, its queues, its groups and their applications.

use quell_measure::{
    AppFigure, AppSummary, Direction, Figures, GroupSummary, NamedLink, QueueSummary,
};

use crate::characterize::figures::Named;

/// Every figure of a whole run.
pub(crate) const OF_WHOLE: [&str; 10] = [
    "utilisation",
    "goodput_bps",
    "delay_ms.mean",
    "delay_ms.p99",
    "pdv_ms.p99",
    "loss_ratio",
    "mark_ratio",
    "jain",
    "ratio",
    "steady_after_s",
];

/// Figures of the forward direction. `measured` is the length of the stretch in s, and `back` names the groups of the reverse direction.
pub(crate) fn of_whole(figures: &Figures, measured: f64, back: &[String]) -> Named {
    let mut named = match figures.links.is_empty() {
        true => {
            let queues = figures.queues.iter();
            let mut named = of_queues(queues.filter(|one| one.direction == Direction::Forward));
            named.insert("utilisation".to_owned(), figures.link.utilisation);
            named
        }
        false => of_ways(figures, back),
    };
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let forward = figures
        .groups
        .iter()
        .filter(|group| !back.contains(&group.name));
    let delivered = forward.map(|group| delivered(group, measured));
    let elastic = |group: &&GroupSummary| group.app.as_ref().is_some_and(|app| app.kind == "bulk");
    if figures.groups.iter().filter(elastic).count() > 0
        && let Some(jain) = figures.jain
    {
        add("jain", jain);
    }
    add("goodput_bps", delivered.sum());
    named
}

/// Mean delay, mark ratio and loss ratio of the packets of these queues.
pub(crate) fn of_queues<'a>(queues: impl Iterator<Item = &'a QueueSummary>) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let queues: Vec<_> = queues.collect();
    let sum =
        |of: &dyn Fn(&QueueSummary) -> f64| queues.iter().map(|&queue| of(queue)).sum::<f64>();
    let packets = sum(&|queue| queue.packets as f64);
    let dropped = sum(&|queue| queue.dropped as f64);
    let marked = sum(&|queue| queue.marked as f64);
    if packets > 0.0 {
        let weighted = sum(&|queue| {
            queue
                .delay_ms
                .map_or(0.0, |delay| delay.mean * queue.packets as f64)
        });
        add("delay_ms.mean", weighted / packets);
        add("mark_ratio", marked / packets);
        add("loss_ratio", dropped / (packets + dropped));
    }
    named
}

/// Figures of several links in a row: delay, marks and losses of packets on their whole way, and the utilisation of the busiest link.
fn of_ways(figures: &Figures, back: &[String]) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let links = figures.links.iter().map(|link| link.utilisation);
    add("utilisation", links.fold(0.0, f64::max));
    let groups = figures.groups.iter();
    let groups: Vec<_> = groups.filter(|group| !back.contains(&group.name)).collect();
    let sum =
        |of: &dyn Fn(&GroupSummary) -> f64| groups.iter().map(|&group| of(group)).sum::<f64>();
    let packets = sum(&|group| group.packets as f64);
    let dropped = sum(&|group| group.dropped as f64);
    if packets > 0.0 {
        let mean = |group: &GroupSummary| group.delay_ms.map_or(0.0, |delay| delay.mean);
        let waited = sum(&|group| mean(group) * group.packets as f64);
        add("delay_ms.mean", waited / packets);
        add("mark_ratio", sum(&|group| group.marked as f64) / packets);
        add("loss_ratio", dropped / (packets + dropped));
    }
    named
}

/// Figures of each of several links, in the forward direction.
pub(crate) fn of_links(figures: &Figures) -> Vec<(String, Named)> {
    let of = |link: &NamedLink| {
        let queues = figures.queues.iter();
        let here =
            |one: &&QueueSummary| one.direction == Direction::Forward && one.hop == link.name;
        let mut named = of_queues(queues.filter(here));
        named.insert("utilisation".to_owned(), link.utilisation);
        named.insert("bottleneck_share".to_owned(), link.bottleneck_share);
        (link.name.clone(), named)
    };
    figures.links.iter().map(of).collect()
}

/// Goodput of a group over `measured` seconds: a flow may have been alive for less.
pub(crate) fn delivered(group: &GroupSummary, measured: f64) -> f64 {
    let flows = group.goodput_bps.iter().zip(&group.alive_s);
    let bits: f64 = flows.map(|(rate, alive)| rate * alive).sum();
    if measured > 0.0 { bits / measured } else { 0.0 }
}

/// Figures of applications that a card has, with those of the distribution: `true` where both mean and P99 are wanted.
const OF_APPLICATIONS: [(&str, bool); 17] = [
    ("one_way_delay_ms", true),
    ("jitter_ms", false),
    ("loss_ratio", false),
    ("completion_ms", true),
    ("flow_startup_ms", true),
    ("completed", false),
    ("page_load_ms", true),
    ("pages_completed", false),
    ("mos", false),
    ("back_mos", false),
    ("mouth_to_ear_ms", true),
    ("startup_ms", false),
    ("bitrate_bps", false),
    ("stalls", false),
    ("stall_ratio", false),
    ("command_to_state_ms", true),
    ("late_ratio", false),
];

/// Figures of a group and of its application. `measured` is the length of the run without its warm-up, in s.
pub(crate) fn of_group(group: &GroupSummary, measured: f64) -> Named {
    let mut named = Named::new();
    let mut add = |name: &str, value: f64| named.insert(name.to_owned(), value);
    let all: f64 = group.goodput_bps.iter().sum();
    add("goodput_bps", delivered(group, measured));
    if !group.goodput_bps.is_empty() {
        add("goodput_per_flow_bps", all / group.goodput_bps.len() as f64);
    }
    if let Some(jain) = group.jain.filter(|_| group.goodput_bps.len() > 1) {
        add("jain", jain);
    }
    if let Some(delay) = group.delay_ms {
        add("delay_ms.mean", delay.mean);
        add("delay_ms.p99", delay.p99);
        add(
            "mark_ratio",
            group.marked as f64 / group.packets.max(1) as f64,
        );
    }
    let offered = group.packets + group.dropped;
    if offered > 0 {
        add("loss_ratio", group.dropped as f64 / offered as f64);
    }
    let Some(app) = &group.app else { return named };
    of_application(app, &mut |name, value| {
        named.insert(format!("app.{name}"), value);
    });
    named
}

fn of_application(app: &AppSummary, add: &mut dyn FnMut(&str, f64)) {
    for (name, with_p99) in OF_APPLICATIONS {
        match app.figures.get(name) {
            Some(AppFigure::Times(times)) => {
                add(&format!("{name}.mean"), times.mean);
                if let Some(p99) = times.p99.filter(|_| with_p99) {
                    add(&format!("{name}.p99"), p99);
                }
            }
            Some(AppFigure::Count(count)) => add(name, *count as f64),
            Some(AppFigure::Number(number)) => add(name, *number),
            Some(AppFigure::Nothing) | None => {}
        }
    }
}
