//! What a page needs to read the rows of a run.

use quell_scenario::columns::ColumnInfo;
use quell_scenario::{Scenario, figures};
use serde_json::{Map, Value, json};

use crate::packets::PACKET_COLUMNS;
use crate::rows::Series;

/// What a page needs to read the rows of a run, in whichever world, as JSON: the resolved scenario as TOML, its seed, warnings, length
/// and interval in ns, the columns of each series and of packets, and by their places
///
/// - the links: name, and forward rate at the start (null if it has no limit or moves), kind of queue and names of its queues
/// - the names of groups, and the first and last link that each crosses.
pub fn about(scenario: &Scenario, seed: u64, warnings: &[String]) -> String {
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
    let links = scenario.links().iter().map(|link| {
        let forward = &link.forward;
        let is_steady = forward.course.is_none() && !forward.rate.is_unlimited();
        json!({
            "name": link.name(),
            "rate": is_steady.then(|| forward.rate.to_string()),
            "queue": forward.queue.kind,
            "queues": figures::queue_names(forward),
        })
    });
    let links: Vec<Value> = links.collect();
    let paths = scenario.groups.iter().map(|group| group.path);
    let paths: Vec<_> = paths
        .map(|path| [path.first.index(), path.last.index()])
        .collect();
    let groups: Vec<&str> = scenario
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    let about = json!({
        "scenario": scenario.to_toml(),
        "seed": seed,
        "warnings": warnings,
        "duration_ns": scenario.run.duration.as_nanos(),
        "interval_ns": scenario.run.interval.as_nanos(),
        "links": links,
        "groups": groups,
        "paths": paths,
        "columns": columns,
    });
    about.to_string()
}
