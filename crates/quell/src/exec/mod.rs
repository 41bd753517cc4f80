//! `quell exec` and `quell shell`: a program behind a link, or a link in front of what runs already.
//!
//! The exit code is the program's own, as with env(1); 125 where quell fails, 126 and 127 where the program cannot be started. Standard
//! output is the program's; the report goes to standard error when the program has ended.

pub(crate) mod arguments;
mod failure;
pub(crate) mod figures;
mod page;
mod reattach;
pub(crate) mod text;
mod virtual_run;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use quell_exec::only::Only;
use quell_exec::program::words;
use quell_exec::run::OWN_FAILURE;
use quell_exec::{
    Attachment, Config, ControlSocket, Door, Ecn, Ended, Error, Found, LinkOptions, Loopback,
    Names, Net, OptionError, Outcome, Plan, Published, Target, named, results,
};
use quell_experiment::expectation::Fitted;
use quell_experiment::link_profile::LinkProfile;
use quell_hosts::account::Account;
use quell_lab::World;
use quell_units::notation;

use crate::arguments::{ArgumentError, Cause};
use crate::exec::arguments::{Behind, DnsArgument, Exec, ExecWorld, NetArgument, Shell};
use crate::exec::failure::{ExecFailure, NoEffect};
use crate::exec::figures::figures;
use crate::exec::page::watcher;
use crate::exec::text::{counted, put_report, report};
use crate::exec::virtual_run::Inside;
use crate::expectations::{self, Lines, Suite, UNMET};
use crate::failure::Failure;
use crate::output::page::{complain, say};

/// Runs the program; the exit code of this process.
pub(crate) fn exec(arguments: &Exec) -> u8 {
    let behind_it = &arguments.behind;
    match (arguments.attach.target(), arguments.program.is_empty()) {
        (Some(target), _) => {
            let link = || end(in_front(arguments, target.clone()));
            end(reattach::in_front(arguments, &target, link))
        }
        (None, true) => shell_behind(behind_it),
        (None, false) => end(plan(behind_it)
            .map_err(ExecFailure::own)
            .and_then(|plan| behind(behind_it, plan, arguments.program.clone(), &[]))),
    }
}

/// Puts the link in front of what runs already; the exit code of this process.
fn in_front(all: &Exec, target: Target) -> Result<u8, ExecFailure> {
    let arguments = &all.behind;
    NoEffect::check([(
        arguments.world == ExecWorld::Virtual,
        "--world virtual: nothing runs in a guest yet, so no link is put in front of it; leave one of both out",
    )])
    .map_err(ExecFailure::own)?;
    let plan = plan(arguments).map_err(ExecFailure::own)?;
    let expected = arguments.expected.fit_program(plan.scenario());
    let expected = expected.map_err(|failure| ExecFailure::own(failure.message))?;
    let program = (!all.program.is_empty()).then(|| Found::new(&all.program));
    let program = program.transpose()?;
    let name = arguments.name.clone().unwrap_or_else(|| target.name());
    let attachment = Attachment::find(target, all.attach.interface.as_deref());
    let attachment = attachment.map_err(ExecFailure::own)?;
    let end = program.as_ref().map_or("Ctrl-C".to_owned(), |program| {
        format!("the end of {}", program.name())
    });
    let others = attachment.others().map_err(ExecFailure::own)?;
    let warn = |other: &String| say(&format!("warning: {other}"));
    others.iter().for_each(warn);
    let mut line = format!("in front of {}; {end} takes it away", attachment.describe());
    let programs = Programs { program, far: None };
    let mut config = config(arguments, plan, programs, &[], None)?;
    config.attachment = Some(attachment);
    // One that nobody has asked for may be taken.
    if let (None, Ok(place)) = (&config.socket, named::place(&name)) {
        config.socket = Some(ControlSocket::bind(&place).map_err(ExecFailure::own)?);
    }
    if arguments.control.is_none() && config.socket.is_some() {
        line += &format!("; `quell link set {name} down=5mbit` changes it");
    }
    if !arguments.quiet {
        config.plan.traces().iter().for_each(|trace| say(trace));
        config.announcement = Some((line, say));
    }
    let outcome = quell_exec::run(config).map_err(ExecFailure::own)??;
    Ok(print(arguments, &outcome, &expected, None))
}

/// Runs a shell; the exit code of this process.
pub(crate) fn shell(arguments: &Shell) -> u8 {
    shell_behind(&arguments.behind)
}

/// The user's shell, with a prompt that shows the link where the shell takes one from its environment.
fn shell_behind(arguments: &Behind) -> u8 {
    if arguments.world == ExecWorld::Virtual {
        complain("a guest has no terminal: give a program with its arguments");
        return OWN_FAILURE;
    }
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    let name = Path::new(&shell).file_name().unwrap_or_default().to_owned();
    let prompt = |link: &str, rest: &str| format!("[quell {link}] {rest}");
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(error) => return end(Err(ExecFailure::own(error))),
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
fn end(result: Result<u8, ExecFailure>) -> u8 {
    result.unwrap_or_else(|failure| {
        complain(&failure.to_string());
        failure.code
    })
}

/// The link.
fn plan(arguments: &Behind) -> Result<Plan, Cause> {
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
    let profile = arguments.profile.as_deref().map(LinkProfile::named);
    let profile = profile.transpose()?.map(|profile| {
        let text = profile.link_scenario();
        (format!("profile {}", profile.name), text)
    });
    let (down, down_trace) = pace(&arguments.down, arguments, &arguments.down_trace);
    let (up, up_trace) = pace(&arguments.up, arguments, &arguments.up_trace);
    let options = LinkOptions {
        scenario: scenario.or(profile),
        down,
        up,
        down_trace,
        up_trace,
        rtt: arguments.rtt.clone(),
        delay: arguments.delay.clone(),
        impairments: arguments.impairments.0.clone(),
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
    Ok(Plan::new(&options)?)
}

/// The rate of a direction, or the trace that it follows. No rate is the name of a file, so a file in its place is a trace.
fn pace(
    own: &Option<String>,
    both: &Behind,
    trace: &Option<String>,
) -> (Option<String>, Option<String>) {
    let rate = own.as_ref().or(both.rate.as_ref());
    let trace = trace.as_ref().or(both.trace.as_ref());
    let is_file = |rate: &&String| {
        let name = rate.split(':').next().unwrap_or_default();
        Path::new(name).is_file()
    };
    match rate.filter(is_file) {
        Some(file) => (None, Some(file.clone())),
        None => (rate.cloned(), trace.cloned()),
    }
}

/// Refuses what has no effect, or another one, where this host itself routes.
fn refuse_beside_nat(arguments: &Behind) -> Result<(), NoEffect> {
    NoEffect::check([
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
    ])
}

/// Runs the program behind the link, or this command in a guest; the exit code of this process.
fn behind(
    arguments: &Behind,
    plan: Plan,
    program: Vec<OsString>,
    variables: &[(String, String)],
) -> Result<u8, ExecFailure> {
    let programs = Programs {
        program: Some(Found::new(&program)?),
        far: match &arguments.far {
            Some(command) => Some(Found::new(&words(command).map_err(ExecFailure::own)?)?),
            None => None,
        },
    };
    if let (Some(name), Some(program)) = (&arguments.join, &programs.program) {
        let ended = quell_exec::join(name, program, variables).map_err(ExecFailure::own)??;
        return Ok(ended.code());
    }
    let expected = arguments.expected.fit_program(plan.scenario());
    let expected = expected.map_err(|failure| ExecFailure::own(failure.message))?;
    let inside = Inside::find(arguments);
    if arguments.world == ExecWorld::Virtual && inside.is_none() {
        return virtual_run::run(arguments, &plan, &programs.all());
    }
    if !arguments.quiet {
        plan.traces().iter().for_each(|trace| say(trace));
    }
    let config = config(arguments, plan, programs, variables, inside.as_ref())?;
    let mut outcome = quell_exec::run(config).map_err(ExecFailure::own)??;
    if inside.is_some() {
        // The host says where it puts them.
        outcome.folder = None;
    }
    Ok(print(arguments, &outcome, &expected, inside.as_ref()))
}

/// The packets that the link is for.
fn only(arguments: &Behind) -> Result<Option<Only>, ArgumentError> {
    let (option, list, inverted) = match (&arguments.only[..], &arguments.except[..]) {
        ([], []) => return Ok(None),
        ([], list) => ("--except", list, true),
        (list, _) => ("--only", list, false),
    };
    let only = quell_exec::only::read(list, inverted);
    only.map(Some).map_err(|source| ArgumentError::Value {
        option: option.to_owned(),
        source: source.into(),
    })
}

/// The programs at both ends of the link.
struct Programs {
    program: Option<Found>,
    /// At the far edge.
    far: Option<Found>,
}

impl Programs {
    fn all(&self) -> Vec<&Found> {
        self.program.iter().chain(&self.far).collect()
    }
}

/// The arguments in the library's form; `inside` is the guest around this process.
fn config(
    arguments: &Behind,
    plan: Plan,
    programs: Programs,
    variables: &[(String, String)],
    inside: Option<&Inside>,
) -> Result<Config, ExecFailure> {
    let net = match inside {
        Some(_) => Net::None,
        None => net(arguments).map_err(ExecFailure::own)?,
    };
    let wait = notation::time(&arguments.wait).map_err(|source| {
        ExecFailure::own(ArgumentError::Value {
            option: format!("--wait {}:", arguments.wait),
            source: source.into(),
        })
    })?;
    let watcher = arguments
        .page
        .map(|port| watcher(port, arguments.page_files.as_deref(), &plan));
    let named = arguments.name.as_deref().map(named::place).transpose();
    let named = named.map_err(ExecFailure::own)?;
    let place = match inside {
        Some(_) => arguments.control.as_deref().map(Inside::socket),
        None => arguments.control.clone().or(named),
    };
    let socket = place.as_deref().map(ControlSocket::bind);
    let user = arguments.user.as_deref().map(|name| {
        Account::find(name).map_err(|source| {
            ExecFailure::own(ArgumentError::Value {
                option: format!("--user {name}:"),
                source: source.into(),
            })
        })
    });
    let doors = doors(arguments, net).map_err(ExecFailure::own)?;
    let depth = env::var("QUELL_DEPTH").ok();
    Ok(Config {
        depth: depth.and_then(|depth| depth.parse().ok()).unwrap_or(0),
        attachment: None,
        announcement: None,
        program: programs.program,
        variables: variables.to_vec(),
        far: programs.far,
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
        doors,
        // A guest's kernel may have none.
        ipv4_only: arguments.ipv4_only || inside.is_some() && !quell_exec::subnet::knows_ipv6(),
        mtu: arguments.mtu,
        control: arguments.cc.clone(),
        far_control: arguments.far_cc.clone(),
        ecn: arguments.ecn.map(Ecn::from),
        only: only(arguments).map_err(ExecFailure::own)?,
        ect1: arguments.ect1.clone(),
        user: user.transpose()?,
        wait: Duration::from_nanos(wait.as_nanos()),
        out: match inside {
            Some(inside) => arguments.out.as_ref().map(|_| inside.result()),
            None => arguments.out.clone(),
        },
        guest_day: inside.and_then(Inside::day),
        world: match inside {
            Some(_) => World::Virtual,
            None => World::Live,
        },
        packets: arguments.packets,
        watcher: watcher.transpose().map_err(ExecFailure::own)?,
        socket: socket.transpose().map_err(ExecFailure::own)?,
        plan,
    })
}

/// The ports of this host that are published, open, and said.
fn doors(arguments: &Behind, net: Net) -> Result<Vec<Door>, Error> {
    if !arguments.publish.is_empty() && net != Net::Relay {
        return Err(OptionError::PublishNet.into());
    }
    let open = |text: &String| {
        let published: Published = text.parse().map_err(|source| OptionError::Argument {
            argument: format!("--publish {text}"),
            source: Box::new(source),
        })?;
        Door::open(published)
    };
    let doors: Vec<Door> = arguments
        .publish
        .iter()
        .map(open)
        .collect::<Result<_, _>>()?;
    for door in &doors {
        let Published { at, is_udp, inside } = door.published;
        let kind = if is_udp { "/udp" } else { "" };
        if !arguments.quiet {
            say(&format!(
                "{at}{kind} leads to port {inside} of the program, through the link"
            ));
        }
        if door.is_for_others() {
            say(&format!(
                "warning: whoever reaches {at} reaches the program"
            ));
        }
    }
    Ok(doors)
}

/// What is behind the link.
fn net(arguments: &Behind) -> Result<Net, NoEffect> {
    match arguments.net {
        NetArgument::Relay => Ok(Net::Relay),
        NetArgument::None => Ok(Net::None),
        NetArgument::Nat => refuse_beside_nat(arguments).map(|()| Net::Nat),
    }
}

/// Prints and writes what is asked for of a run; the exit code of this process.
fn print(
    arguments: &Behind,
    outcome: &Outcome,
    expected: &[Fitted],
    inside: Option<&Inside>,
) -> u8 {
    let named = outcome.exec["program"][0].as_str().unwrap_or_default();
    if let Ended::Signal(signal) = outcome.ended {
        let name = signal_hook::low_level::signal_name(signal);
        let name = name.map_or_else(|| signal.to_string(), str::to_owned);
        complain(&format!("{named} was ended by signal {name}"));
    }
    if let Some(gone) = &outcome.gone {
        complain(gone);
    }
    if !arguments.quiet {
        report(outcome).iter().for_each(|line| say(line));
    }
    for warning in &outcome.summary.warnings {
        say(&format!("warning: {warning}"));
    }
    let json = arguments.json.clone();
    let json = json.map(|path| inside.map_or(path, Inside::report));
    let report = results::report_text(&outcome.summary, &outcome.exec);
    let put = json.map_or(Ok(()), |path| put_report(&path, &report));
    let unwritten = outcome.unwritten.as_ref().map(ToString::to_string);
    let unwritten = unwritten.into_iter();
    let failures: Vec<String> = unwritten
        .chain(put.err().map(|error| error.to_string()))
        .collect();
    let met = judge(arguments, outcome, expected, inside);
    let unmet = met.err().map(|failure| {
        complain(&failure.message);
        failure.code
    });
    failures.iter().for_each(|why| complain(why));
    let failed = !failures.is_empty() || unmet.is_some_and(|code| code != UNMET);
    code(outcome, arguments.strict, failed, unmet.is_some())
}

/// Judges what is expected of a run, and reports it.
fn judge(
    arguments: &Behind,
    outcome: &Outcome,
    expected: &[Fitted],
    inside: Option<&Inside>,
) -> Result<(), Failure> {
    if expected.is_empty() {
        return Ok(());
    }
    let summary = serde_json::to_value(&outcome.summary).map_err(Failure::failed)?;
    let runs = [(outcome.summary.seed, figures(summary, &outcome.exec))];
    let suite = Suite {
        name: outcome.summary.scenario.clone(),
        label: String::new(),
        seconds: outcome.summary.duration_s,
        folder: outcome.folder.clone(),
        judged: expected.iter().map(|one| one.judge(&runs)).collect(),
    };
    let to = match arguments.quiet {
        true => Lines::Unmet,
        false => Lines::Besides,
    };
    let junit = arguments.expected.junit.clone();
    let junit = junit.map(|path| inside.map_or(path, Inside::junit));
    expectations::report(&[suite], junit.as_deref(), to)
}

/// The exit code: the program's own, unless that is success and quell has `failed` to write, `--strict` makes a warning an error, or
/// something is not as expected.
fn code(outcome: &Outcome, strict: bool, failed: bool, is_unmet: bool) -> u8 {
    let warnings = outcome.summary.warnings.len();
    let is_doubtful = strict && warnings > 0;
    if is_doubtful {
        complain(&format!(
            "{}, and --strict makes that an error; the results are kept",
            counted(warnings as u64, "warning")
        ));
    }
    match outcome.ended.code() {
        0 if is_doubtful || failed => OWN_FAILURE,
        0 if is_unmet => UNMET,
        own => own,
    }
}
