//! What a run is reported as, after its program has ended.

use std::env;
use std::sync::Arc;

use quell_scenario::World;

use super::build::Hosts;
use super::outcome::Outcome;
use super::start::Started;
use super::watch::Watched;
use crate::bypass::{Surroundings, bypasses};
use crate::config::Config;
use crate::error::Result;
use crate::experience::{Known, impact};
use crate::memory::LinkMemory;
use crate::net::Net;
use crate::report::{Ran, report};
use crate::summary::{summarise, warnings};

/// The warning where names were not found.
const NO_NAMES: &str = "the name servers of this host are on its loopback, which --net nat does not reach: names were not found";

/// Ends the link and the relay, and writes down what they measured.
pub(super) fn finish(mut config: Config, started: Started, watched: Watched) -> Result<Outcome> {
    // Dropped in the opposite order: the program before its network.
    let Started {
        ground,
        packets,
        far: _far,
        relay,
        program: _program,
        main_loop,
        ..
    } = started;
    let (connections, counts) = match relay {
        Some(relay) => {
            let counts = relay.counts.clone();
            (relay.finish()?, counts)
        }
        None => (Vec::new(), Arc::default()),
    };
    let (plan, changes) = main_loop.remote.close();
    config.plan = plan;
    // Nobody can ask any more, and the file is gone with the program.
    config.socket = None;
    let end = main_loop.finish()?;
    if let Some(attachment) = &config.attachment {
        attachment.wait_until_as_before();
    }
    let (linked, limits, results) = (end.linked, end.limits, end.results);
    // A result without packets is one, and the program's end is known.
    let missing = packets.map(|packets| packets.finish(linked.ended));
    let (missing, unwritten) = match missing.transpose() {
        Ok(missing) => (missing.unwrap_or(0), None),
        Err(error) => (0, Some(error)),
    };
    if let (Some(_), Some(results)) = (&unwritten, &results) {
        results.give_packets_up();
    }
    let (mut summary, histograms) = summarise(&config.plan, config.world, &linked, false);
    summary.warnings = warnings(&config.plan, &linked.report, &counts, missing);
    let unwritten = unwritten.map(|error| format!("the packets are not in the result: {error}"));
    summary.warnings.extend(unwritten);
    let hosts = ground.hosts.as_ref();
    let doubts = hosts.map(|hosts| doubts(&config, hosts));
    summary.warnings.extend(doubts.into_iter().flatten());
    let known = Known::of(&config.plan, limits.has_data(), &linked.report);
    let impact = impact(&summary, &known);
    let exec = report(&Ran {
        config: &config,
        subnet: hosts.map(|hosts| hosts.subnet),
        ipv6: hosts.is_none_or(|hosts| hosts.ipv6),
        ecn: hosts.map(|hosts| hosts.network.ecn),
        controls: hosts.map(|hosts| &hosts.controls),
        ended: watched.ended,
        descendants: watched.descendants,
        connections: &connections,
        counts: &counts,
        limits: &limits,
        impact: &impact,
        linked: &linked,
        changes: &changes,
    });
    if let Some(watching) = end.watching {
        watching.finish(&summary, &histograms)?;
    }
    let folder = results.map(|results| results.finish(&config.plan, &summary, &histograms, &exec));
    let (folder, unwritten) = match folder.transpose() {
        Ok(folder) => (folder, None),
        Err(error) => (None, Some(error)),
    };
    Ok(Outcome {
        unwritten,
        ended: watched.ended,
        summary,
        links: linked.results,
        limits,
        impact,
        exec,
        gone: end.gone,
        folder,
    })
}

/// What puts the result in doubt because of where it ran.
fn doubts(config: &Config, hosts: &Hosts) -> Vec<String> {
    let mut doubts = Vec::new();
    if let (World::Live, Some(program)) = (config.world, &config.program) {
        doubts.extend(bypasses(
            &program.name(),
            &config.loopback,
            hosts.subnet,
            &Surroundings {
                variable: &|name| env::var(name).ok(),
                is_there: &|path| path.symlink_metadata().is_ok(),
            },
        ));
    }
    if config.net == Net::Nat && hosts.names.are_of_loopback() {
        doubts.push(NO_NAMES.to_owned());
    }
    let needed = LinkMemory::of(&config.plan, config.mtu, false).window;
    doubts.extend(hosts.network.warnings(needed, hosts.ecn));
    doubts
}
