//! What a group of a scenario is on the hosts.

use quell_app::AppConfig;
use quell_app::kinds::program::{Part, Program};
use quell_hosts::traffic::Host;
use quell_measure::Direction;
use quell_scenario::Group;

/// The programs of a group, if it is one of programs.
pub(super) fn programs_of(group: &Group) -> Option<&Program> {
    match group.app.config() {
        AppConfig::Program(program) => Some(program),
        _ => None,
    }
}

/// The host that the data of a group comes from.
pub(super) fn source(group: &Group) -> Host {
    match group.direction {
        Direction::Forward => Host::Sender,
        Direction::Reverse => Host::Receiver,
    }
}

/// Where a program runs.
pub(super) fn host(program: &Program, group: &Group, part: Part) -> Host {
    let source = source(group);
    match program.is_source(part) {
        true => source,
        false => source.other(),
    }
}
