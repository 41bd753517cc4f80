//! The markers of a run: one instance for each group whose data carry values, with a random stream of its own.

use quell_aqm::marker::Marker;
use quell_units::Random;

use crate::{Scenario, Side};

/// The markers in front of the queue of `side`, by group: one for each whose data comes to this queue first and is worth something.
/// Acknowledgements, which go the other way, stay unmarked. Empty if there is none.
pub fn markers(scenario: &Scenario, side: Side, seed: u64) -> Vec<Option<Marker>> {
    let Side { hop, direction } = side;
    let side = scenario.side(side);
    let groups = scenario.groups.iter().map(|group| {
        let value = group
            .value
            .as_ref()
            .filter(|_| group.direction == direction && group.path.entry(direction) == hop)?;
        let random = Random::new(seed, &format!("marker.{}", group.name));
        let marker = value.build(side, random);
        Some(marker.expect("the scenario's check has tried this marker"))
    });
    let markers: Vec<Option<Marker>> = groups.collect();
    if markers.iter().any(Option::is_some) {
        markers
    } else {
        Vec::new()
    }
}
