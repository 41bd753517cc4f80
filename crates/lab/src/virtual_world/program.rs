//! A program in a guest, as its only task: both halves.
//!
//! The guest sees the host's files, so this is a program of the host. It is root in the guest and has the guest's network, which
//! is empty; its clock stops while it computes. What it prints goes to two files of the folder, which the host shows as they grow.
//! What it writes goes to the guest's memory, so that it needs no right over files of the host, and is copied to the folder at the end.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use quell_kernel::held::Held;
use quell_units::{Bytes, Time};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};

use super::control::Control;
use super::guest_files::{KEPT, MEMORY_FILES, copy_all, give_memory_to_files};
use super::host::{Guest, by_name, entropy};
use super::task::{GuestProgram, Task};
use crate::RunError;
use crate::guest_day::GuestDay;
use crate::options::{GuestOptions, LiveOptions};

/// What a program prints.
const OUTPUTS: [&str; 2] = ["stdout", "stderr"];
/// Between two looks at the program, in the guest's time.
const LOOK: Duration = Duration::from_millis(5);
/// From asking the program to end until it is killed, in the guest's time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variable that tells a program in which folder is kept what it writes.
pub const FOLDER: &str = "QUELL_GUEST_FOLDER";
/// The variable that tells a program on which day the guest's clock began.
pub const DAY: &str = "QUELL_GUEST_DAY";

/// How a program in a guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestProgramEnd {
    /// Its exit code; 128 and the signal that ended it.
    pub code: u8,
    /// The kernel's release.
    pub kernel: String,
    /// The day on which it began.
    pub day: GuestDay,
}

/// Runs a program in a guest of its own, and copies what it prints to `outputs` while it runs. What it has kept is in `folder` when it
/// has ended. The guest has `memory`, of which the host gives what is used ([`super::program_memory`]). Runs that are alike give the same bytes.
///
/// # Errors
///
/// There is no kernel for it; the guest does not start, or its clock stops for as long as the options allow.
pub fn run_program(
    options: &GuestOptions,
    program: &GuestProgram,
    memory: Bytes,
    folder: &Path,
    outputs: [&mut dyn Write; 2],
    stop: &AtomicBool,
) -> Result<GuestProgramEnd, RunError> {
    let guest = Guest::new(options)?;
    let held = Held::open(folder).map_err(RunError::writing(folder))?;
    let day = guest.day(true);
    let mut copies: Vec<Copy<'_>> = OUTPUTS
        .into_iter()
        .zip(outputs)
        .map(|(name, output)| Copy {
            folder: &held,
            name,
            file: None,
            output,
        })
        .collect();
    let mut copy = || copies.iter_mut().for_each(Copy::go_on);
    let task = Task {
        scenario: None,
        program: Some(program.clone()),
        seed: 1,
        entropy: entropy(1),
        results: by_name(folder)?,
        packets: false,
        warnings: Vec::new(),
        live: LiveOptions::default(),
        memory: memory.get(),
        day,
        reaches: [std::slice::from_ref(&program.directory), &program.reaches].concat(),
        user: None,
    };
    let done = guest.carry_out(task, &held, &mut |_| copy(), stop);
    copy();
    let (done, _) = done?;
    Ok(GuestProgramEnd {
        code: done.code.unwrap_or_default(),
        kernel: done.kernel.release,
        day,
    })
}

/// A file that grows, and where it is copied to.
struct Copy<'a> {
    folder: &'a Held,
    name: &'static str,
    file: Option<File>,
    output: &'a mut dyn Write,
}

impl Copy<'_> {
    /// Copies what has come.
    fn go_on(&mut self) {
        if self.file.is_none() {
            // A guest may leave a link there.
            self.file = self.folder.file(self.name, OFlags::RDONLY).ok();
        }
        let mut bytes = Vec::new();
        let Some(Ok(1..)) = self.file.as_mut().map(|file| file.read_to_end(&mut bytes)) else {
            return;
        };
        // A reader that has gone is no error.
        let _ = self.output.write_all(&bytes);
        let _ = self.output.flush();
    }
}

/// The guest's half: starts the program and waits for its end.
pub(super) fn carry_out(
    program: &GuestProgram,
    day: GuestDay,
    folder: &Path,
    control: &Control,
) -> io::Result<u8> {
    give_memory_to_files()?;
    let [stdout, stderr] = OUTPUTS.map(|name| File::create_new(folder.join(name)));
    // By its own path this program may lie where the guest's kernel does not come.
    let mut command = Command::new("/proc/self/exe");
    command
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(program.variables.iter().cloned())
        .env("TMPDIR", MEMORY_FILES)
        .env(FOLDER, KEPT)
        .env(DAY, day.to_string())
        .stdin(Stdio::null())
        .stdout(stdout?)
        .stderr(stderr?)
        .process_group(0);
    let child = command.spawn()?;
    let status = wait(child, control)?;
    copy_all(Path::new(KEPT), folder)?;
    let code = status.code();
    let code = code.or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(u8::try_from(code.unwrap_or(255)).unwrap_or(255))
}

/// Waits for its end, and asks for it when the host does.
fn wait(mut child: Child, control: &Control) -> io::Result<ExitStatus> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let send = |signal| {
        // Whoever is gone needs no signal.
        let _ = group.map(|group| kill_process_group(group, signal));
    };
    let began = Instant::now();
    let (mut told, mut asked) = (Duration::ZERO, None::<Instant>);
    loop {
        if let Some(status) = child.try_wait()? {
            // What it left behind.
            send(Signal::KILL);
            return Ok(status);
        }
        thread::sleep(LOOK);
        let now = began.elapsed();
        if now >= told + Duration::from_millis(100) {
            told = now;
            control.tell(Time::from_nanos(now.as_nanos() as u64));
            if asked.is_none() && control.is_asked_to_stop() {
                asked = Some(Instant::now());
                // As Ctrl-C does, and as `kill` does: a program in its own group hears of no terminal.
                send(Signal::INT);
                send(Signal::TERM);
            }
        }
        if asked.is_some_and(|asked| asked.elapsed() >= PATIENCE) {
            send(Signal::KILL);
        }
    }
}
