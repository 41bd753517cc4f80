//! A program in a guest, as its only task: both halves.
//!
//! The guest sees the host's files, so this is a program of the host. It is root in the guest and has the guest's network, which
//! is empty; its clock stops while it computes. What it prints goes to two files of the folder, which the host shows as they grow; what
//! it reads from standard input comes from the host, while time stands still.
//! What it writes goes to the guest's memory, so that it needs no right over files of the host, and is copied to the folder at the end.

use std::fs::{self, File};
use std::io::{self, PipeWriter, Read as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use quell_kernel::held::Held;
use quell_link::become_realtime;
use quell_units::{Bytes, Time};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat};
use rustix::mount::{MountFlags, mount};
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

/// From a program's end until its output counts as whole although somebody may still print, in the guest's time.
const LEFT: Duration = Duration::from_secs(1);
/// A home in the guest's memory.
const HOME: &str = "/dev/shm/home";
/// The device of the standard input, in the guest's memory.
const INPUT: &str = "/dev/shm/quell-input";
/// Major number of miscellaneous devices (include/uapi/linux/major.h).
const MISCELLANEOUS: u32 = 10;

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
    /// The kernel by its name, if it could not give the program the standard input that there was.
    pub without_input: Option<String>,
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
            stop,
        })
        .collect();
    let mut program = program.clone();
    let without_input = program.input && !guest.kernel.has_input();
    program.input &= !without_input;
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
        without_input: without_input.then(|| guest.kernel.name.clone()),
    })
}

/// A file that grows, and where it is copied to.
struct Copy<'a> {
    folder: &'a Held,
    name: &'static str,
    file: Option<File>,
    output: &'a mut dyn Write,
    /// Asks the guest to end.
    stop: &'a AtomicBool,
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
        let written = self.output.write_all(&bytes);
        if let Err(error) = written.and_then(|()| self.output.flush())
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            // Nobody reads any more, of which no signal tells a program in a guest.
            self.stop.store(true, Ordering::Relaxed);
        }
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
    // A kernel without terminals has no such file system.
    let _ = mount(
        "devpts",
        "/dev/pts",
        "devpts",
        MountFlags::empty(),
        c"ptmxmode=0666",
    );
    let input = match program.input {
        true => Stdio::from(input()?),
        false => Stdio::null(),
    };
    let [stdout, stderr] = OUTPUTS.map(|name| output(&folder.join(name)));
    let ((stdout, copy), (stderr, other)) = (stdout?, stderr?);
    // By its own path this program may lie where the guest's kernel does not come.
    let mut command = Command::new("/proc/self/exe");
    command
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(program.variables.iter().cloned())
        .env("TMPDIR", MEMORY_FILES)
        .envs(home(&program.variables)?)
        .env(FOLDER, KEPT)
        .env(DAY, day.to_string())
        .stdin(input)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let child = command.spawn()?;
    // With it go this process's own ends of the pipes.
    drop(command);
    let status = wait(child, control)?;
    finish([copy, other])?;
    copy_all(Path::new(KEPT), folder)?;
    let code = status.code();
    let code = code.or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(u8::try_from(code.unwrap_or(255)).unwrap_or(255))
}

/// Another home, which is empty, where the kernel may not read that of the caller, as root's.
fn home(variables: &[(String, String)]) -> io::Result<Option<(&'static str, &'static str)>> {
    let home = variables.iter().find(|(name, _)| name == "HOME");
    if home.is_none_or(|(_, home)| fs::read_dir(home).is_ok()) {
        return Ok(None);
    }
    fs::create_dir(HOME)?;
    fs::set_permissions(HOME, fs::Permissions::from_mode(0o777))?;
    Ok(Some(("HOME", HOME)))
}

/// The standard input of the host.
fn input() -> io::Result<File> {
    let numbers = fs::read_to_string("/sys/class/misc/quell_input/dev")?;
    let minor = numbers.trim().rsplit(':').next().map(str::parse);
    let minor = minor
        .and_then(Result::ok)
        .ok_or(io::ErrorKind::InvalidData)?;
    let device = makedev(MISCELLANEOUS, minor);
    mknodat(CWD, INPUT, FileType::CharacterDevice, Mode::empty(), device)?;
    // Any program may open what it got: as /dev/stdin.
    fs::set_permissions(INPUT, fs::Permissions::from_mode(0o444))?;
    File::open(INPUT)
}

/// Who copies what a program prints.
type Copier = JoinHandle<io::Result<u64>>;

/// A pipe, which whoever prints may open again as /dev/stdout, other than a file of the host; and who copies from it to the file at `path`.
fn output(path: &Path) -> io::Result<(PipeWriter, Copier)> {
    let mut file = File::create_new(path)?;
    let (mut reader, writer) = io::pipe()?;
    let copy = move || {
        // It runs when there is something, also while the program computes for ever.
        become_realtime(1)?;
        io::copy(&mut reader, &mut file)
    };
    Ok((writer, thread::Builder::new().spawn(copy)?))
}

/// Waits until everything is copied. A process that was left behind, and holds the pipe open, is not waited for.
fn finish(copiers: [Copier; 2]) -> io::Result<()> {
    let began = Instant::now();
    for copier in copiers {
        while !copier.is_finished() && began.elapsed() < LEFT {
            thread::sleep(LOOK);
        }
        if copier.is_finished() {
            copier
                .join()
                .map_err(|_| io::Error::other("a thread panicked"))??;
        }
    }
    Ok(())
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
