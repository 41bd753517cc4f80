//! The host's half: it finds the kernel, starts it with this very program as its first process, and watches it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use quell_kernel::Reason;
use quell_kernel::held::{Held, Own, real};
use quell_kernel::machine::registers::must_be_narrow;
use quell_kernel::machine::{
    Arguments, FOLDER, GuestUser, LEAST_MEMORY, Machine, MachineConfig, MachineError, Usage,
};
use quell_kernel::store::{Kernel, Store, own_controls};
use quell_measure::{GroupControl, Summary};
use quell_results::facts::{Facts, GuestFacts, Started};
use quell_results::read::{self, LONGEST};
use quell_results::write_json;
use quell_scenario::programs;
use quell_units::{Random, Time};
use rustix::process::geteuid;

use super::control::{self, Control};
use super::guest_files::{KEPT, MEMORY_FILES};
use super::memory::guest_memory;
use super::task::{Done, End, GuestProgram, Task};
use super::user;
use crate::guest_day::{self, GuestDay};
use crate::job::Order;
use crate::live;
use crate::options::{GuestOptions, GuestUser as GuestUserChoice, LiveOptions};
use crate::program_env::{ProgramEnv, find_program, has_programs};
use crate::{RunError, Scenario, World};

/// The kernel's messages, in the folder of the result.
pub const KERNEL_LOG: &str = "kernel.log";

/// The hidden words of the command line: the guest's first process, and the program that becomes the kernel.
pub(super) const GUEST: &str = "guest";
pub(super) const GUEST_KERNEL: &str = "guest-kernel";

/// Time between two looks at the guest.
const LOOK: Duration = Duration::from_millis(4);
/// The longest time that a guest may take to end when it was asked to.
const FAREWELL: Duration = Duration::from_secs(20);
/// The same for one whose clock stands still because a program computes, or waits for input.
const STILL: Duration = Duration::from_secs(1);

/// A kernel, ready to run scenarios.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(super) kernel: Kernel,
    /// Absolute: it starts in another folder.
    executable: PathBuf,
    program: PathBuf,
    /// Owner of the kernel.
    owner: u32,
    options: GuestOptions,
}

impl Guest {
    /// Finds the kernel. Refuses one that has no simulated clock, that others could have replaced, or that has changed.
    pub(crate) fn new(options: &GuestOptions) -> Result<Self, RunError> {
        let refused = |error: quell_kernel::Error| RunError::Refused(error.reason());
        let kernel = Store::open()
            .and_then(|store| store.find(options.kernel.as_deref()))
            .map_err(refused)?;
        if !kernel.facts.time_travel {
            let error = MachineError::NoTimeTravel(kernel.executable());
            return Err(RunError::Refused(error.reason()));
        }
        let owner = kernel.check().map_err(refused)?.owner;
        let own = geteuid();
        if options.user == GuestUserChoice::Caller && own.is_root() && owner != 0 {
            return Err(RunError::Refused(Reason::with_fix(
                format!(
                    "--guest-user caller: the kernel {} belongs to user {owner}, who would read what root may read",
                    kernel.name
                ),
                "quell kernel build, as root, or chown the kernel",
            )));
        }
        let program = std::env::current_exe().map_err(|error| {
            RunError::Failed(format!("this program does not know its own file: {error}"))
        })?;
        let executable = std::path::absolute(kernel.executable())
            .map_err(|error| RunError::Failed(format!("where is the kernel? {error}")))?;
        Ok(Self {
            kernel,
            executable,
            program,
            owner,
            options: options.clone(),
        })
    }

    /// The day on which a guest begins.
    pub(super) fn day(&self, has_programs: bool) -> GuestDay {
        let usual = || match has_programs {
            true => GuestDay::after(SystemTime::now()),
            false => GuestDay::FIRST,
        };
        self.options.day.unwrap_or_else(usual)
    }

    /// Runs one seed inside, and fills its folder.
    pub(crate) fn fill(&self, order: Order<'_>) -> Result<Summary, RunError> {
        let started = Started::now(World::Virtual);
        let resolved = order.resolved();
        let memory = guest_memory(&resolved);
        let mut live = order.options.live.clone();
        let day = self.day(has_programs(&resolved));
        let mut reaches = Vec::new();
        if has_programs(&resolved) {
            reaches = find_programs(&resolved)?;
            let here = ProgramEnv::here(KEPT.into(), MEMORY_FILES, live.directory.as_deref())?;
            live.programs = Some(here);
        }
        let held = Held::open(order.folder).map_err(RunError::writing(order.folder))?;
        let task = Task {
            scenario: Some(resolved.to_toml()),
            program: None,
            seed: order.seed,
            entropy: entropy(order.seed),
            results: by_name(order.folder)?,
            packets: order.options.packets,
            warnings: order.options.warnings.clone(),
            live,
            memory: memory.get(),
            day,
            reaches,
            user: None,
        };
        let (done, usage) = self.carry_out(task, &held, order.progress, order.options.stop)?;
        let mut facts = Facts::new(World::Virtual, order.seed, started);
        let guest = GuestFacts {
            name: self.kernel.name.clone(),
            source: self.kernel.facts.source.clone(),
            config_hash: self.kernel.facts.config_hash.clone(),
            memory_bytes: memory.get(),
            day: day.to_string(),
            host_kernel: facts.kernel.clone(),
            host_kernel_hz: facts.kernel_hz,
        };
        facts.add_guest(guest, done.kernel, usage);
        facts.controls = done.controls;
        self.forget_variants(&mut facts.controls);
        write_json(&order.folder.join("run.json"), &facts)?;
        read_summary(&order.folder.join("summary.json"))
    }

    /// Only of the controls that quell adds to a kernel it is known which variant they are.
    fn forget_variants(&self, controls: &mut [GroupControl]) {
        let inside = self.kernel.congestion_controls().unwrap_or_default();
        let own = own_controls();
        let is_own = |name: &String| own.contains(name) && inside.contains(name);
        for control in controls.iter_mut().filter(|one| !is_own(&one.control)) {
            control.variant = None;
        }
    }

    /// Starts a guest, and waits until it has done its task, whose results are in `held`. Returns what it says, and its usage of the host.
    pub(super) fn carry_out(
        &self,
        mut task: Task,
        held: &Held,
        progress: &mut dyn FnMut(Time),
        stop: &AtomicBool,
    ) -> Result<(Done, Usage), RunError> {
        let control = Control::create()?;
        let results = task.results.clone();
        let writing = || RunError::writing(control.path());
        let identity = held.identity().map_err(writing())?;
        let user = match self.options.user {
            GuestUserChoice::Own => user::choose(self.owner, held),
            GuestUserChoice::Caller => None,
        };
        task.user = user;
        let program = task.program.clone();
        let user = match user {
            Some(id) => {
                task.results = control.path_of_results();
                control.give(&task)?;
                let [program, mounted] = control.give_to(id).map_err(writing())?;
                Some(GuestUser {
                    id,
                    file: (self.program.clone(), program),
                    folder: (results.clone(), mounted),
                    identity,
                })
            }
            None => {
                control.give(&task)?;
                control.link_program(&self.program)?;
                None
            }
        };
        let taken_back = user.is_some();
        let mut machine = Machine::start(&MachineConfig {
            kernel: self.executable.clone(),
            sha256: self.kernel.facts.sha256.clone(),
            user,
            writable: vec![
                (
                    control.path().to_owned(),
                    control.identity().map_err(writing())?,
                ),
                (task.results.clone(), identity),
            ],
            launcher: (self.program.clone(), vec![GUEST_KERNEL.to_owned()]),
            arguments: Arguments {
                memory: task.memory,
                clock: guest_day::START.as_nanos() as u64,
                seccomp: self.kernel.facts.seccomp,
                ipv6: program.as_ref().is_some_and(|program| program.ipv6),
                narrow_registers: must_be_narrow(&self.kernel.facts.version),
                folder: control.path().to_owned(),
                init: control::PROGRAM.to_owned(),
                init_arguments: vec![GUEST.to_owned(), FOLDER.to_owned()],
            },
            input: program.as_ref().is_some_and(|program| program.input),
            log: held.path().join(KERNEL_LOG),
        })
        .map_err(broken)?;
        let watched = self.watch(&mut machine, &control, program.as_ref(), progress, stop);
        if taken_back {
            machine.kill();
            user::take_back(held).map_err(|error| RunError::Failed(error.to_string()))?;
        }
        watched.map_err(|error| with_commands(error, &held.path()))?;
        match control.end() {
            Some(End::Done(done)) => Ok((done, machine.usage())),
            Some(End::Refused { what, fix }) => Err(RunError::Refused(Reason { what, fix })),
            // Where the guest has the result mounted elsewhere, that place is gone by now.
            Some(End::Failed { why }) => {
                let inside = text(&control.path_of_results());
                Err(RunError::Failed(why.replace(&inside, &text(&results))))
            }
            None => Err(broken(machine.explain())),
        }
    }

    /// Starts a guest that has nothing to do.
    pub(super) fn try_out(&self) -> Result<String, RunError> {
        let place = std::env::temp_dir();
        let results = Own::temporary(&place, "quell-try-").map_err(RunError::writing(&place))?;
        let task = Task {
            scenario: None,
            program: None,
            seed: 0,
            entropy: entropy(0),
            results: by_name(results.folder().named())?,
            packets: false,
            warnings: Vec::new(),
            live: LiveOptions::default(),
            memory: LEAST_MEMORY,
            day: GuestDay::FIRST,
            reaches: Vec::new(),
            user: None,
        };
        let never = AtomicBool::new(false);
        let done = self.carry_out(task, results.folder(), &mut |_| {}, &never);
        done.map(|(done, _)| done.kernel.release)
    }

    /// Waits until the guest, in which `program` runs, has ended. A guest whose time stands still is killed, unless it waits for input.
    fn watch(
        &self,
        machine: &mut Machine,
        control: &Control,
        program: Option<&GuestProgram>,
        progress: &mut dyn FnMut(Time),
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        let mut seen = Time::ZERO;
        let mut moved = Instant::now();
        let mut asked: Option<Instant> = None;
        while machine.ended().is_none() {
            thread::sleep(LOOK);
            if let Some(now) = control.progress().filter(|now| *now > seen) {
                (seen, moved) = (now, Instant::now());
                machine.has_begun();
                progress(now);
            } else if program.is_some() {
                // What it prints is shown while it computes, too.
                progress(seen);
            }
            if stop.load(Ordering::Relaxed) && asked.is_none() {
                control.ask_to_stop()?;
                asked = Some(Instant::now());
            }
            let still = asked.is_some() && program.is_some() && moved.elapsed() > STILL;
            let late = still || asked.is_some_and(|asked| asked.elapsed() > FAREWELL);
            if asked.is_none()
                && program.is_some_and(|program| program.input)
                && machine.waits_for_input()
            {
                moved = Instant::now();
            }
            if late || moved.elapsed() > self.options.patience {
                machine.kill();
                let patience = self.options.patience.as_secs();
                let stopped = format!("the guest's clock stopped at {seen} for {patience} s");
                return Err(RunError::Failed(match (program, late) {
                    (Some(program), _) => program.killed((!late).then_some(&stopped)),
                    (None, true) => format!(
                        "the guest did not end when it was asked to\n{}",
                        machine.explain()
                    ),
                    (None, false) => {
                        format!("{stopped} (--guest-timeout)\n{}", machine.explain())
                    }
                }));
            }
        }
        Ok(())
    }
}

/// Looks for every program of `scenario`, which the guest sees where this process does; their absolute paths.
fn find_programs(scenario: &Scenario) -> Result<Vec<PathBuf>, RunError> {
    let all = scenario.groups.iter().flat_map(programs);
    let all = all.map(|(_, line)| {
        let found = find_program(line.program());
        let found = found.map_err(|why| RunError::refused(why.to_string()))?;
        std::path::absolute(&found).map_err(RunError::writing(&found))
    });
    all.collect()
}

/// The random bytes of a guest: the same for the same seed.
pub(super) fn entropy(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed, "guest kernel");
    (0..8).flat_map(|_| random.u64().to_le_bytes()).collect()
}

fn broken(error: MachineError) -> RunError {
    if error.is_refusal() {
        RunError::Refused(error.reason())
    } else {
        RunError::Failed(error.to_string())
    }
}

/// Adds to an error the commands of the user that may have stopped the guest's time: those that compute and never wait.
fn with_commands(error: RunError, results: &Path) -> RunError {
    match (error, live::unfinished_commands(results)) {
        (RunError::Failed(why), commands) if !commands.is_empty() => RunError::Failed(format!(
            "{why}\nof --guest-exec these had begun and not ended: {}; a command that computes without ever waiting stops the guest's time",
            commands.join("; ")
        )),
        (error, _) => error,
    }
}

/// The path by which a guest sees a folder of this process, wherever that stands.
pub(super) fn by_name(folder: &Path) -> Result<PathBuf, RunError> {
    std::path::absolute(real(folder)).map_err(RunError::writing(folder))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn read_summary(path: &Path) -> Result<Summary, RunError> {
    let read =
        || -> std::io::Result<Summary> { Ok(serde_json::from_str(&read::text(path, LONGEST)?)?) };
    read().map_err(|error| {
        RunError::Failed(format!(
            "the guest's {} cannot be read: {error}",
            path.display()
        ))
    })
}
