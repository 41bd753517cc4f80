//! A second program behind a link that runs: `quell exec --join NAME`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::mpsc::{self, Sender};
use std::thread;

use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::error::{Doing as _, Error, Result};
use crate::name_error::NameError;
use crate::named::NamedLink;
use crate::program::{Ended, Found, NotStarted};
use crate::running::of_status;

/// Runs `program` in the networks, mounts and process ids of the one behind the link called `name`, with its variables of quell; it ends with
/// the link. The caller has a single thread, and is in these namespaces afterwards.
///
/// # Errors
///
/// There is no such link, or it belongs to another user.
pub fn join(
    name: &str,
    program: &Found,
    variables: &[(String, String)],
) -> Result<Result<Ended, NotStarted>> {
    let mut link = NamedLink::connect(name)?;
    if !link.is_own {
        return Err(NameError::NotOwn(name.to_owned()).into());
    }
    let first = first_of(&mut link)?;
    let doing = format!("join the link {name}");
    let target = pidfd_open(first, PidfdFlags::empty()).doing(&doing)?;
    // What has ended meanwhile may have left its number to somebody else.
    if first_of(&mut link)? != first {
        return Err(Error::Gone("the program behind the link"));
    }
    let mut environment = own_variables(first).doing(&doing)?;
    environment.extend(variables.iter().cloned());
    let mut kinds = ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::MOUNT;
    if user_of("self").doing(&doing)? != user_of(&first.to_string()).doing(&doing)? {
        kinds |= ThreadNameSpaceType::USER;
    }
    let here = env::current_dir().doing(&doing)?;
    move_into_thread_name_spaces(target.as_fd(), kinds).doing(&doing)?;
    // Moving between mounts leads to the root.
    env::set_current_dir(here).doing(&doing)?;
    // No thread begins where children have other process ids than this process.
    let started = pass_signals()?;
    let ids = ThreadNameSpaceType::PROCESS_ID;
    move_into_thread_name_spaces(target.as_fd(), ids).doing(&doing)?;
    keep_only(CapabilitySet::empty())?;
    let mut command = program.command(&environment).doing("start the program")?;
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(source) => {
            return Ok(Err(NotStarted::Refused {
                name: program.name(),
                source,
                obstacle: None,
            }));
        }
    };
    // Without the thread nobody passes signals on, and the program runs.
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ = id.map(|id| started.send(id));
    let status = child.wait().doing("wait for the program")?;
    Ok(Ok(of_status(status)))
}

/// The first process behind the link.
fn first_of(link: &mut NamedLink) -> Result<Pid> {
    let answer = link.ask(&json!({ "get": "program" }))?;
    let number = answer["program"]
        .as_i64()
        .and_then(|id| i32::try_from(id).ok());
    let first = number.and_then(Pid::from_raw);
    Ok(first.ok_or(NameError::NoProgram)?)
}

/// The user namespace of a process.
fn user_of(process: &str) -> io::Result<std::path::PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/user"))
}

/// What the program behind the link has found of quell's in its environment.
fn own_variables(process: Pid) -> io::Result<Vec<(String, String)>> {
    let all = fs::read(format!("/proc/{process}/environ"))?;
    let all = String::from_utf8_lossy(&all);
    let pairs = all.split('\0').filter_map(|pair| pair.split_once('='));
    let own = pairs.filter(|(key, _)| key.starts_with("QUELL_"));
    let own: BTreeMap<&str, &str> = own.collect();
    Ok(own
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

/// Signals to quell are those of the program, whose process is told once it has started; those of the terminal's keys reach it by themselves.
fn pass_signals() -> Result<Sender<Pid>> {
    let all = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT];
    let mut signals = Signals::new(all).doing("catch signals")?;
    let (started, has_started) = mpsc::channel();
    let work = move || {
        if keep_only(CapabilitySet::empty()).is_err() {
            return;
        }
        // Signals that come before wait.
        let Ok(id) = has_started.recv() else { return };
        for signal in signals
            .forever()
            .filter(|signal| ![SIGINT, SIGQUIT].contains(signal))
        {
            if let Some(signal) = Signal::from_named_raw(signal) {
                // It may have ended by itself.
                let _ = kill_process(id, signal);
            }
        }
    };
    let thread = thread::Builder::new().name("quell-signals".to_owned());
    thread.spawn(work).doing("start a thread")?;
    Ok(started)
}

/// What a link says of its program.
pub(crate) fn said(first: Option<Pid>) -> Value {
    json!({ "program": first.map(|first| first.as_raw_nonzero().get()) })
}
