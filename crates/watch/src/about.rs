//! What a page needs to read the rows of a run.

use quell_scenario::columns::ColumnInfo;
use quell_scenario::{Scenario, figures};
use serde_json::{Map, Value, json};

use crate::packets::PACKET_COLUMNS;
use crate::rows::Series;

/// What a page needs to read the rows of a run, in whichever world, as JSON: the resolved scenario as TOML, its seed, warnings, length
/// and interval in ns, the names of links and groups by their places, those of the queues of each link, and the columns of each series
/// and of packets.
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
    let queues = scenario.links().iter();
    let queues: Vec<_> = queues
        .map(|link| figures::queue_names(&link.forward))
        .collect();
    let links: Vec<&str> = scenario.links().iter().map(|link| link.name()).collect();
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
        "queues": queues,
        "groups": groups,
        "columns": columns,
    });
    about.to_string()
}
