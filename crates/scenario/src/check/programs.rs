//! Groups of programs: what no world can do with them, and worlds that have none.

use quell_app::AppConfig;

use crate::places::Places;
use crate::problem::Problem;
use crate::{Scenario, Setting, World};

/// Programs have one flow, which no modelled host can send, and pace as they like.
pub(super) fn check(
    scenario: &Scenario,
    world: Option<World>,
    places: &Places<'_>,
    problems: &mut Vec<Problem>,
) {
    for (index, group) in scenario.groups.iter().enumerate() {
        let AppConfig::Program(_) = group.app.config() else {
            continue;
        };
        let key = |name: &str| format!("group.{}.{name}", group.name);
        let mut refuse = |name: &str, found: &dyn ToString, allowed: &str| {
            problems.push(places.problem(&key(name), found.to_string(), allowed));
        };
        let mut set = scenario.changes.iter().flat_map(|change| &change.set);
        let is_changed =
            set.any(|one| matches!(one, Setting::Count { group, .. } if *group == index));
        if group.count != 1 || is_changed {
            let allowed = "must be 1, and stay so: a group has one server and one client; give every program a group of its own, or start several with \
                sh -c";
            refuse("count", &group.count, allowed);
        }
        if let Some(pacing) = group.pacing {
            let allowed = "has no effect: a program paces or does not, as it likes";
            refuse("pacing", &pacing, allowed);
        }
        if world == Some(World::Sim) {
            let why = "the sim world has modelled hosts, which run no programs; use --world virtual or live";
            refuse("app.kind", &"program", why);
        }
    }
}
