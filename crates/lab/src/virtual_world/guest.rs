//! The guest's half: the first process of a user-mode kernel.
//!
//! It gives the random pool its first bytes, before anything random is requested; makes the host's files read-only except for
//! two folders; gives TCP the memory that the scenario needs; runs the live world; reports how that ended, and turns the machine
//! off. It is root in the guest. On the host it runs as the user who started it, or as a user of its own if that is root.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_hosts::first_process::{is_guest, mount_files, power_off};
use quell_hosts::{entropy, obstacle};
use quell_kernel::Reason;
use quell_measure::GroupControl;
use quell_results::facts::RunningKernel;
use quell_units::Time;
use rustix::mount::{MountFlags, mount};

use super::control::Control;
use super::memory::guest_memory;
use super::modules::set_options;
use super::task::{Done, End, Task};
use super::{guest_files, program};
use crate::job::Order;
use crate::live::live;
use crate::options::Options;
use crate::program_env::{FOLDER as PROGRAMS, has_programs};
use crate::write_result::measure;
use crate::{RunError, Scenario, World};

/// Virtual time between two reports of progress.
const TELL: Time = Time::from_millis(100);

/// Bytes of a page.
const PAGE: u64 = 4_096;

/// Runs the task in the folder that `words` name. Does not return in a guest: it ends with the machine.
pub(super) fn main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = words.next().map(PathBuf::from) else {
        eprintln!("quell: which folder?");
        return ExitCode::from(2);
    };
    // Elsewhere it would mount over, and turn off, a real machine.
    if !is_guest() {
        eprintln!(
            "quell: `quell guest` is the first process of a user-mode kernel, and nothing else"
        );
        return ExitCode::from(2);
    }
    // Its own path, which stays when the guest's /proc is mounted over the host's.
    let folder = match fs::canonicalize(&folder) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("quell: {}: {error}", folder.display());
            let refused = power_off();
            eprintln!("quell: cannot turn the guest off: {refused}");
            return ExitCode::FAILURE;
        }
    };
    let control = Control::at(folder);
    let end = match run(&control) {
        Ok((controls, code)) => End::Done(Done {
            kernel: RunningKernel::here(),
            controls,
            code,
        }),
        Err(RunError::Refused(Reason { what, fix })) => End::Refused { what, fix },
        Err(error) => End::Failed {
            why: error.to_string(),
        },
    };
    if let Err(error) = control.finish(&end) {
        eprintln!("quell: {error}");
    }
    let refused = power_off();
    eprintln!("quell: cannot turn the guest off: {refused}");
    ExitCode::FAILURE
}

/// What the controls of the scenario were, or how the program ended.
fn run(control: &Control) -> Result<(Vec<GroupControl>, Option<u8>), RunError> {
    let inside = |doing: &'static str| {
        move |error: io::Error| RunError::Failed(format!("in the guest: cannot {doing}: {error}"))
    };
    let task = control.task().map_err(inside("read the task"))?;
    entropy::add(&task.entropy).map_err(|error| RunError::Failed(error.to_string()))?;
    mount_files(&[control.path(), &task.results]).map_err(inside("mount"))?;
    if !task.live.commands.is_empty() {
        // For commands of the user; a kernel without it has no such folder.
        let _ = mount(
            "tracefs",
            "/sys/kernel/tracing",
            "tracefs",
            MountFlags::empty(),
            None,
        );
    }
    task.day.set().map_err(inside("set the time of day"))?;
    must_reach(&task)?;
    give_memory_to_tcp(task.memory).map_err(inside("give TCP its memory"))?;
    if let Some(inner) = &task.program {
        let code = program::carry_out(inner, task.day, &task.results, control);
        return Ok((Vec::new(), Some(code.map_err(inside("run the program"))?)));
    }
    let Some(text) = &task.scenario else {
        return Ok((Vec::new(), None));
    };
    let scenario = scenario(text, task.memory)?;
    set_options(&scenario)?;
    let has_programs = has_programs(&scenario);
    if has_programs {
        guest_files::give_memory_to_files().map_err(inside("make a place for files"))?;
    }
    let stop = AtomicBool::new(false);
    let mut told = Time::ZERO;
    let mut progress = |now: Time| {
        if now >= told + TELL {
            told = now;
            control.tell(now);
            if control.is_asked_to_stop() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    let Task {
        seed,
        results,
        packets,
        warnings,
        live: live_options,
        ..
    } = task;
    let options = Options {
        warnings,
        packets,
        live: live_options,
        ..Options::new(World::Virtual, &stop)
    };
    let order = Order {
        scenario: &scenario,
        seed,
        options: &options,
        folder: &results,
        progress: &mut progress,
    };
    let measured = measure(order, &mut |job| live(job, World::Virtual, &options.live));
    if has_programs && measured.is_ok() {
        guest_files::copy_all(Path::new(guest_files::KEPT), &results.join(PROGRAMS))
            .map_err(inside("keep what programs wrote"))?;
    }
    measured.map(|(_, _, controls)| (controls, None))
}

/// Refuses a task whose programs the guest's kernel cannot read on the host.
fn must_reach(task: &Task) -> Result<(), RunError> {
    let mut reaches = task.reaches.iter();
    let found = reaches.find_map(|path| Some((path, obstacle::on_the_way_to(path)?)));
    let Some((path, obstacle)) = found else {
        return Ok(());
    };
    let (who, fix) = match task.user {
        Some(user) => (
            format!("user {user}"),
            "--guest-user caller, which lets it read what you may read, or a place that others may read",
        ),
        None => (
            "you, without the rights of root".to_owned(),
            "a place that others may read",
        ),
    };
    Err(RunError::Refused(Reason::with_fix(
        format!(
            "the guest cannot use {}: its kernel runs as {who}, who may not {obstacle}",
            path.display()
        ),
        fix,
    )))
}

/// The scenario of a task, after the checks of the host: [`Scenario::load`] for the virtual world, and the memory that it needs.
///
/// # Errors
///
/// The host gave a scenario that it would refuse, or less memory than that scenario takes: an error in quell.
pub fn scenario(text: &str, memory: u64) -> Result<Scenario, RunError> {
    let wrong = |why: &dyn std::fmt::Display| {
        RunError::Failed(format!("the scenario came out wrong: {why}"))
    };
    let loaded = Scenario::load("scenario.toml", text, &[], Some(World::Virtual));
    let scenario = loaded.map_err(|problems| wrong(&problems))?.scenario;
    let needed = guest_memory(&scenario).get();
    if needed > memory {
        return Err(wrong(&format!(
            "it takes {needed} bytes and the guest has {memory}"
        )));
    }
    Ok(scenario)
}

/// The limits of tcp(7) follow a machine's memory: a tenth for all connections together, then windows shrink. This machine is
/// there for its connections alone, and has as much as they need.
fn give_memory_to_tcp(memory: u64) -> io::Result<()> {
    let most = memory / PAGE * 3 / 4;
    let limits = format!("{most} {most} {most}");
    for key in ["tcp_mem", "udp_mem"] {
        fs::write(Path::new("/proc/sys/net/ipv4").join(key), &limits)?;
    }
    Ok(())
}
