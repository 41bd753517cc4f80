//! `quell exec`, as people run it: real programs behind the link, inside of a host that is made for the test, so that nothing of the machine
//! is touched.
//!
//! Without the usual harness: the fake host is a namespace, which a user without rights may make only in a process with one thread. The
//! programs behind the link are this program again, in a role ([`clients`]).
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod alike;
mod attached;
mod beside;
mod clients;
mod containers;
mod datagrams;
mod fixture;
mod host;
mod keystrokes;
mod limits;
mod links;
mod named;
mod names;
mod processes;
mod programs;
mod publish;
mod steering;
mod streams;
mod terminal;
mod traces;

use std::env;
use std::process::ExitCode;

use quell_exec::resolver;
use quell_hosts::{confine::capabilities, user_namespace};
use quell_testing::cases::{chosen, run_cases};
use quell_testing::not_run;

use fixture::Fake;

/// A case, by name.
type Case = quell_testing::cases::Case<fn(&Fake)>;

fn cases() -> Vec<Case> {
    [
        processes::CASES,
        streams::CASES,
        datagrams::CASES,
        host::CASES,
        limits::CASES,
        links::CASES,
        programs::CASES,
        publish::CASES,
        keystrokes::CASES,
        beside::CASES,
        steering::CASES,
        named::CASES,
        names::CASES,
        terminal::CASES,
        traces::CASES,
        alike::CASES,
        attached::CASES,
        containers::CASES,
    ]
    .concat()
}

fn main() -> ExitCode {
    if let Ok(role) = env::var(clients::ROLE) {
        clients::play(&role);
        return ExitCode::SUCCESS;
    }
    let Some(chosen) = chosen(&cases()) else {
        return ExitCode::SUCCESS;
    };
    if let Some(why) = cannot() {
        not_run("every test of quell exec", &why);
        return ExitCode::SUCCESS;
    }
    let fake = Fake::new();
    run_cases(&chosen, |case| case(&fake))
}

/// Makes this process able to be the fake host; why it cannot be.
fn cannot() -> Option<String> {
    let needed = capabilities::CapabilitySet::SYS_ADMIN | capabilities::CapabilitySet::NET_ADMIN;
    if !capabilities::effective().unwrap().contains(needed)
        && let Err(error) = user_namespace::enter()
    {
        return Some(format!("no user namespace for the fake host: {error}"));
    }
    // Its own resolv.conf, too, which nobody else sees.
    if let Err(error) = resolver::replace("nameserver 127.0.0.53\n") {
        return Some(format!("no mounts for the fake host: {error}"));
    }
    // As quell itself: where the kernel has no tproxy, there is no relay.
    match quell_hosts::tproxy::check() {
        Ok(()) => None,
        Err(error) => Some(format!("no relay here: {error}")),
    }
}
