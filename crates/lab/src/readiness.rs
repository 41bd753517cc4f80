//! What this host lacks for a scenario that a world could run: what no file can say.
//!
//! `quell check` asks, so nothing is changed: no module is loaded, nothing is built, and what is tried is gone again. A run
//! finds the same by itself when it starts.

use quell_hosts::probe::{Finding, Need};
use quell_hosts::{cc, probe, traffic};
use quell_scenario::lifetimes;
use rustix::process::geteuid;

use crate::options::GuestOptions;
pub use crate::requirements::MissingRequirement;
use crate::requirements::controls;
use crate::virtual_world;
use crate::{Scenario, World};

/// What this host lacks to run `scenario`, which [`Scenario::load`] has accepted for `world`. Empty if it can start.
pub fn missing_requirements(
    scenario: &Scenario,
    world: World,
    guest: &GuestOptions,
) -> Vec<MissingRequirement> {
    match world {
        World::Sim => Vec::new(),
        World::Virtual => virtual_world::missing_requirements(scenario, guest),
        World::Live => live(scenario),
    }
}

fn live(scenario: &Scenario) -> Vec<MissingRequirement> {
    let findings = probe::probe(&[]);
    let root = geteuid().is_root();
    // Without root the namespaces are made inside a user namespace, which has what the others need.
    let needed: &[Need] = if root {
        &[Need::NetworkNamespaces, Need::Veth, Need::PacketSockets]
    } else {
        &[Need::UserNamespaces]
    };
    let missing = |finding: &&Finding| !finding.ok && needed.contains(&finding.need);
    let missing = findings
        .iter()
        .filter(missing)
        .map(|finding| MissingRequirement {
            what: format!("{}: {}", finding.need, finding.detail),
            fix: finding.fix.clone(),
        });
    let mut missing: Vec<MissingRequirement> = missing.collect();
    let may_load = findings
        .iter()
        .any(|one| one.ok && one.need == Need::BpfRights);
    let controls = controls(scenario);
    missing.extend(
        controls
            .into_iter()
            .filter_map(|name| control(name, may_load)),
    );
    missing.extend(files(scenario));
    missing
}

/// Whether this kernel has a control now, or quell can give it one. A module that is not loaded does not count: to ask for it
/// would load it.
fn control(name: &str, may_load: bool) -> Option<MissingRequirement> {
    let known = cc::available().unwrap_or_default();
    if known.iter().any(|other| other == name) {
        return None;
    }
    let ours = cc::loadable().contains(&name);
    if ours && may_load {
        return None;
    }
    let own: Vec<String> = known
        .into_iter()
        .filter(|other| cc::owner(other).is_none())
        .collect();
    Some(MissingRequirement {
        what: format!("this kernel has no {name} (it has {})", own.join(", ")),
        fix: Some(if ours && rustix::process::geteuid().is_root() {
            "run outside containers and user namespaces, so that quell can load its own as BPF"
                .to_owned()
        } else if ours {
            "run as root, so that quell can load its own as BPF".to_owned()
        } else {
            format!("modprobe tcp_{name}")
        }),
    })
}

/// Whether this process may open what the flows need.
fn files(scenario: &Scenario) -> Option<MissingRequirement> {
    let seed = scenario.run.seeds.first().copied().unwrap_or_default();
    let mut sockets = traffic::Sockets {
        groups: scenario.groups.len() as u64,
        ..traffic::Sockets::default()
    };
    for flow in lifetimes(scenario, seed) {
        sockets.add(scenario.groups[flow.group].app.config());
    }
    traffic::allow_files_for(&sockets)
        .err()
        .map(|error| MissingRequirement {
            what: error.to_string(),
            fix: None,
        })
}
