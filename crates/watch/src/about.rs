//! What a page needs to read the rows of a run.

use quell_scenario::columns::ColumnInfo;
use quell_scenario::{
    Direction, DirectionSpec, EcnSetting, Group, Hop, Scenario, Setting, Side, figures,
};
use quell_units::Rate;
use serde_json::{Map, Value, json};

use crate::packets::PACKET_COLUMNS;
use crate::rows::Series;

/// What a page needs to read the rows of a run, in whichever world, as JSON: the resolved scenario as TOML, its seed, warnings, length
/// and interval in ns, the columns of each series and of packets, and by their places
///
/// - the links: name, and forward rate at the start (null if it has no limit or moves), kind of queue and names of its queues, both also
///   of the reverse direction, what each packet adds to its IP length in both, and the rate of both directions from each time in ns on, in bit/s (null if it has no limit or moves)
/// - the names of groups, the first and last link that each crosses, the kind of its application, whether that takes all that it can get,
///   whether its data goes up, whether its packets say that they are L4S, and its base RTT in ns.
pub fn about(scenario: &Scenario, seed: u64, warnings: &[String]) -> Value {
    let explained = |columns: &[ColumnInfo]| -> Value {
        let columns = columns.iter().map(|column| json!({
            "name": column.name, "type": column.type_name(), "unit": column.unit, "meaning": column.meaning,
        }));
        columns.collect()
    };
    let mut columns: Map<String, Value> = Map::new();
    for series in Series::ALL {
        columns.insert(series.name().to_owned(), explained(series.columns()));
    }
    columns.insert("packets".to_owned(), explained(PACKET_COLUMNS));
    let links = (0..).map(Hop).zip(scenario.links()).map(|(hop, link)| {
        let forward = &link.forward;
        let is_steady = forward.course.is_none() && !forward.rate.is_unlimited();
        json!({
            "name": link.name(),
            "rate": is_steady.then(|| forward.rate.to_string()),
            "queue": forward.queue.kind,
            "queues": figures::queue_names(forward),
            "reverse_queue": link.reverse.queue.kind,
            "reverse_queues": figures::queue_names(&link.reverse),
            "overhead_bytes": Direction::BOTH.map(|direction| link.direction(direction).overhead),
            "rates": Direction::BOTH.map(|direction| {
                rates(scenario, Side { hop, direction }, link.direction(direction))
            }),
        })
    });
    let links: Vec<Value> = links.collect();
    let paths = scenario.groups.iter().map(|group| group.path);
    let paths: Vec<_> = paths
        .map(|path| [path.first.index(), path.last.index()])
        .collect();
    let of_groups =
        |what: &dyn Fn(&Group) -> Value| -> Value { scenario.groups.iter().map(what).collect() };
    json!({
        "scenario": scenario.to_toml(),
        "seed": seed,
        "warnings": warnings,
        "duration_ns": scenario.run.duration.as_nanos(),
        "interval_ns": scenario.run.interval.as_nanos(),
        "links": links,
        "groups": of_groups(&|group| json!(group.name)),
        "paths": paths,
        "kinds": of_groups(&|group| json!(group.app.kind())),
        "greedy": of_groups(&|group| json!(group.app.is_greedy())),
        "uploads": of_groups(&|group| json!(group.direction == Direction::Reverse)),
        "l4s": of_groups(&|group| json!(group.ecn == EcnSetting::Ect1)),
        "rtts_ns": of_groups(&|group| json!(group.rtt.as_nanos())),
        "columns": columns,
    })
}

/// The rates of a direction of a link in bit/s, each with the time in ns from which on it holds.
fn rates(scenario: &Scenario, side: Side, spec: &DirectionSpec) -> Value {
    let written = |rate: Rate| {
        let is_steady = spec.course.is_none() && !rate.is_unlimited();
        is_steady.then(|| rate.as_bps())
    };
    let changes = scenario.changes.iter().flat_map(|change| {
        let rates = change.set.iter().filter_map(move |setting| match setting {
            Setting::Rate(of, rate) if *of == side => Some(*rate),
            _ => None,
        });
        rates.map(move |rate| (change.time.as_nanos(), rate))
    });
    let all = std::iter::once((0, spec.rate)).chain(changes);
    all.map(|(from, rate)| json!([from, written(rate)]))
        .collect()
}
