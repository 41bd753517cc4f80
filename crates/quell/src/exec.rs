//! `quell exec` and `quell shell`: a program behind a link.
//!
//! The exit code is the program's own, as with env(1); 125 where quell fails, 126 and 127 where the program cannot be started. Standard
//! output is the program's; the report goes to standard error when the program has ended.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use quell_exec::program::words;
use quell_exec::run::OWN_FAILURE;
use quell_exec::{
    Config, ControlSocket, Ecn, Ended, Error, Found, LinkOptions, Loopback, Names, Net, NotStarted,
    Outcome, Plan, results,
};
use quell_hosts::account::Account;
use quell_lab::World;
use quell_units::notation;

use crate::exec_arguments::{
    Behind, DnsArgument, EcnArgument, Exec, ExecWorld, NetArgument, Shell,
};
use crate::exec_page::watcher;
use crate::exec_text::{counted, report};
use crate::exec_virtual::{self, Inside};
use crate::page;

/// Runs the program; the exit code of this process.
pub(crate) fn exec(arguments: &Exec) -> u8 {
    match arguments.program.is_empty() {
        true => shell_behind(&arguments.behind),
        false => end(plan(&arguments.behind)
            .map_err(own)
            .and_then(|plan| behind(&arguments.behind, plan, arguments.program.clone(), &[]))),
    }
}

/// Runs a shell; the exit code of this process.
pub(crate) fn shell(arguments: &Shell) -> u8 {
    shell_behind(&arguments.behind)
}

/// The user's shell, with a prompt that shows the link where the shell takes one from its environment.
fn shell_behind(arguments: &Behind) -> u8 {
    if arguments.world == ExecWorld::Virtual {
        page::complain("a guest has no terminal: give a program with its arguments");
        return OWN_FAILURE;
    }
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    let name = Path::new(&shell).file_name().unwrap_or_default().to_owned();
    let prompt = |link: &str, rest: &str| format!("[quell {link}] {rest}");
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(error) => return end(Err(own(error))),
    };
    let link = plan.describe();
    let (words, variables) = match name.to_str() {
        // bash sets its prompt in its own file, so what comes before it is printed before each prompt.
        Some("bash") => {
            let before = env::var("PROMPT_COMMAND").unwrap_or_default();
            let print = "printf '[quell %s] ' \"$QUELL_LINK\"";
            let command = match before.is_empty() {
                true => print.to_owned(),
                false => format!("{print}; {before}"),
            };
            (vec![shell], vec![("PROMPT_COMMAND", command)])
        }
        Some("sh" | "dash" | "ash" | "ksh") => (vec![shell], vec![("PS1", prompt(&link, "$ "))]),
        Some("zsh") => (vec![shell], vec![("PS1", prompt(&link, "%# "))]),
        _ => (vec![shell], Vec::new()),
    };
    let variables: Vec<(String, String)> = variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    end(behind(arguments, plan, words, &variables))
}

/// Prints what went wrong with quell or the start of the program.
fn end(result: Result<u8, (u8, String)>) -> u8 {
    result.unwrap_or_else(|(code, message)| {
        page::complain(&message);
        code
    })
}

/// A program that could not be started, with its exit code.
fn refused(why: NotStarted) -> (u8, String) {
    (why.code(), why.to_string())
}

fn own(message: impl ToString) -> (u8, String) {
    (OWN_FAILURE, message.to_string())
}

/// The link.
fn plan(arguments: &Behind) -> Result<Plan, Error> {
    let wrong = |source: std::io::Error, file: &Path| Error::Unreadable {
        file: file.display().to_string(),
        source,
    };
    let scenario = match &arguments.scenario {
        Some(file) if file == Path::new("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| wrong(error, file))?;
            Some(("standard input".to_owned(), text))
        }
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| wrong(error, file))?;
            Some((file.display().to_string(), text))
        }
        None => None,
    };
    let (down, down_trace) = pace(&arguments.down, &arguments.rate, &arguments.down_trace);
    let (up, up_trace) = pace(&arguments.up, &arguments.rate, &arguments.up_trace);
    let options = LinkOptions {
        scenario,
        down,
        up,
        down_trace,
        up_trace,
        rtt: arguments.rtt.clone(),
        delay: arguments.delay.clone(),
        loss: arguments.loss.clone(),
        jitter: arguments.jitter.clone(),
        queues: arguments.queue.clone(),
        down_queues: arguments.down_queue.clone(),
        up_queues: arguments.up_queue.clone(),
        sets: arguments.sets.clone(),
        at: arguments
            .at
            .chunks_exact(2)
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect(),
        ..LinkOptions::default()
    };
    Plan::new(&options)
}

/// The rate of a direction, or the trace that it follows. No rate is the name of a file, so a file in its place is a trace.
fn pace(
    own: &Option<String>,
    both: &Option<String>,
    trace: &Option<String>,
) -> (Option<String>, Option<String>) {
    let rate = own.as_ref().or(both.as_ref());
    let is_file = |rate: &&String| {
        let name = rate.split(':').next().unwrap_or_default();
        Path::new(name).is_file()
    };
    match rate.filter(is_file) {
        Some(file) => (None, Some(file.clone())),
        None => (rate.cloned(), trace.clone()),
    }
}

/// What says nothing, or something else, where this host itself routes.
fn refuse_beside_nat(arguments: &Behind) -> Result<(), String> {
    let refused = [
        (
            arguments.far.is_some(),
            "--far: a program at the far edge needs --net none or relay",
        ),
        (
            arguments.far_cc.is_some(),
            "--far-cc: with --net nat the remote servers send, with their own congestion control",
        ),
        (
            arguments.host_loopback.is_some(),
            "--host-loopback: with --net nat services of this host are at $QUELL_FAR, those of its loopback not at all",
        ),
    ];
    first(refused)
}

/// What says nothing where pasta is the far edge.
fn refuse_beside_pasta(arguments: &Behind) -> Result<(), String> {
    let refused = [
        (
            arguments.far.is_some(),
            "--far: a program at the far edge needs --net none or relay",
        ),
        (
            arguments.far_cc.is_some(),
            "--far-cc: with --net pasta the sender of downloads is pasta, which has no congestion control",
        ),
    ];
    first(refused)
}

/// The first reason that holds.
fn first<const N: usize>(refused: [(bool, &str); N]) -> Result<(), String> {
    match refused.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(why.to_owned()),
        None => Ok(()),
    }
}

fn behind(
    arguments: &Behind,
    plan: Plan,
    program: Vec<OsString>,
    variables: &[(String, String)],
) -> Result<u8, (u8, String)> {
    let program = Found::new(&program).map_err(refused)?;
    let far = match &arguments.far {
        Some(command) => Some(Found::new(&words(command).map_err(own)?).map_err(refused)?),
        None => None,
    };
    let inside = Inside::find(arguments);
    if arguments.world == ExecWorld::Virtual && inside.is_none() {
        let programs: Vec<&Found> = [Some(&program), far.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        return exec_virtual::run(arguments, &plan, &programs);
    }
    if !arguments.quiet {
        plan.traces().iter().for_each(|trace| page::say(trace));
    }
    let net = match arguments.net {
        _ if inside.is_some() => Net::None,
        NetArgument::Relay => Net::Relay,
        NetArgument::None => Net::None,
        NetArgument::Nat => {
            refuse_beside_nat(arguments).map_err(own)?;
            Net::Nat
        }
        NetArgument::Pasta => {
            refuse_beside_pasta(arguments).map_err(own)?;
            Net::Pasta
        }
    };
    let wait = notation::time(&arguments.wait)
        .map_err(|error| own(format!("--wait {}: {error}", arguments.wait)))?;
    let watcher = arguments
        .page
        .map(|port| watcher(port, arguments.page_files.as_deref(), &plan));
    let socket = arguments.control.as_deref().map(ControlSocket::bind);
    let user = arguments
        .user
        .as_deref()
        .map(|name| Account::find(name).map_err(|error| own(format!("--user {name}: {error}"))));
    let depth = env::var("QUELL_DEPTH").ok();
    let config = Config {
        depth: depth.and_then(|depth| depth.parse().ok()).unwrap_or(0),
        program,
        variables: variables.to_vec(),
        far,
        net,
        subnet: arguments.subnet,
        names: match arguments.dns {
            DnsArgument::Link => Names::Link,
            DnsArgument::Direct => Names::Direct,
        },
        loopback: match arguments.host_loopback.as_deref() {
            None => Loopback::Closed,
            Some([]) => Loopback::Open,
            Some(ports) => Loopback::Ports(ports.to_vec()),
        },
        // The guest's kernels have no IPv6.
        ipv4_only: arguments.ipv4_only || inside.is_some(),
        mtu: arguments.mtu,
        control: arguments.cc.clone(),
        far_control: arguments.far_cc.clone(),
        ecn: arguments.ecn.map(|ecn| match ecn {
            EcnArgument::Off => Ecn::Off,
            EcnArgument::On => Ecn::On,
            EcnArgument::Accecn => Ecn::Accurate,
        }),
        ect1: arguments.ect1.clone(),
        user: user.transpose()?,
        wait: Duration::from_nanos(wait.as_nanos()),
        out: match &inside {
            Some(inside) => arguments.out.as_ref().map(|_| inside.result()),
            None => arguments.out.clone(),
        },
        guest_day: inside.as_ref().and_then(Inside::day),
        world: match inside {
            Some(_) => World::Virtual,
            None => World::Live,
        },
        packets: arguments.packets,
        watcher: watcher.transpose().map_err(own)?,
        socket: socket.transpose().map_err(own)?,
        plan,
    };
    let mut outcome = quell_exec::run(config).map_err(own)?.map_err(refused)?;
    if inside.is_some() {
        // The host says where it puts them.
        outcome.folder = None;
    }
    let named = outcome.exec["program"][0].as_str().unwrap_or_default();
    if let Ended::Signal(signal) = outcome.ended {
        let name = signal_hook::low_level::signal_name(signal);
        let name = name.map_or_else(|| signal.to_string(), str::to_owned);
        page::complain(&format!("{named} was ended by signal {name}"));
    }
    if !arguments.quiet {
        report(&outcome).iter().for_each(|line| page::say(line));
    }
    for warning in &outcome.summary.warnings {
        page::say(&format!("warning: {warning}"));
    }
    let json = arguments.json.clone();
    let json = json.map(|path| inside.as_ref().map_or(path, Inside::report));
    let report = results::report_text(&outcome.summary, &outcome.exec);
    let put = json.map_or(Ok(()), |path| put_report(&path, &report));
    let unwritten = outcome.unwritten.as_ref().map(ToString::to_string);
    let failures: Vec<String> = unwritten.into_iter().chain(put.err()).collect();
    failures.iter().for_each(|why| page::complain(why));
    Ok(code(&outcome, arguments.strict, !failures.is_empty()))
}

/// Writes the report of `--json` into a file, or to standard output, which the program has left.
pub(crate) fn put_report(path: &Path, report: &str) -> Result<(), String> {
    let written = match path == Path::new("-") {
        true => std::io::stdout().lock().write_all(report.as_bytes()),
        false => fs::write(path, report),
    };
    written.map_err(|error| {
        format!(
            "cannot write the report of --json to {}: {error}",
            path.display()
        )
    })
}

/// The exit code: the program's own, unless that is success and quell has `failed` to write, or `--strict` makes a warning an error.
fn code(outcome: &Outcome, strict: bool, failed: bool) -> u8 {
    let warnings = outcome.summary.warnings.len();
    let is_doubtful = strict && warnings > 0;
    if is_doubtful {
        page::complain(&format!(
            "{}, and --strict makes that an error; the results are kept",
            counted(warnings as u64, "warning")
        ));
    }
    match outcome.ended.code() {
        0 if is_doubtful || failed => OWN_FAILURE,
        own => own,
    }
}
