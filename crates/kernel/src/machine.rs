//! A user-mode kernel that runs: its command line, its clock, its end.
//!
//! The kernel is a process of the host (Documentation/virt/uml). Its clock is simulated, `time-travel=inf-cpu`: time passes only
//! while everything in it sleeps, so that no work inside takes any time. Its root is the host's, through hostfs, and its
//! first process is a program of the host, which gets the path of one folder; both sides talk through files in it. Nothing here
//! knows what runs inside.
//!
//! Two runs are alike because the clock starts at an instant that the caller chooses, addresses are not randomised (the kernel asks for
//! that itself), nothing of the host's environment is passed on, the command line names no path of this run, and a filter of system calls keeps the host's randomness out
//! ([`launch`]), so that all randomness inside comes from its first process.
//!
//! Nothing is left behind: all processes are in one group of their own, which [`Machine::kill`] ends, and so does dropping
//! the machine; if this process is killed, the kernel dies with it (PR_SET_PDEATHSIG), and its parts with the kernel. The
//! kernel's files are in the folder given; its memory is a file that has no name.
//!
//! It may write in the folders given, and do nothing else to the host ([`launch`]).

mod arguments;
mod error;
pub mod launch;
mod log;
mod memory;
mod processor;
pub mod registers;
mod usage;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::held::Identity;
pub use arguments::{Arguments, FOLDER, LEAST_MEMORY, is_plain};
pub use error::MachineError;
pub use launch::GuestUser;
use processor::Processor;
pub use usage::Usage;

/// Checks that this host has room for a guest's memory of this many bytes.
///
/// # Errors
///
/// No folder has, or none allows executable mappings.
pub fn has_room(bytes: u64) -> Result<(), MachineError> {
    memory::folder(bytes).map(drop)
}

/// The machine to start.
#[derive(Debug, Clone)]
pub struct MachineConfig {
    /// The kernel's executable.
    pub kernel: PathBuf,
    /// SHA-256 of the executable, in hexadecimal; another one is not started. Empty where it is not known.
    pub sha256: String,
    /// The user that it runs as; `None` for that of this process.
    pub user: Option<GuestUser>,
    /// The folders that it may write in, by the paths that it knows them by, and what they must be; beside them only its memory.
    pub writable: Vec<(PathBuf, Identity)>,
    /// The program that becomes the kernel, with the arguments after which it calls [`launch::become_kernel`] with the rest.
    pub launcher: (PathBuf, Vec<String>),
    /// The arguments of the kernel.
    pub arguments: Arguments,
    /// Whether it has the standard input of this process, for what reads the device `quell_input` inside.
    pub input: bool,
    /// Takes the kernel's messages; must not exist.
    pub log: PathBuf,
}

/// A user-mode kernel that runs.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    kernel: PathBuf,
    log: PathBuf,
    ended: Option<ExitStatus>,
    usage: Usage,
    memory: Option<memory::OwnFolder>,
    _processor: Option<Processor>,
}

impl Machine {
    /// Starts the kernel. [`Machine::ended`] shows later whether it runs.
    pub fn start(config: &MachineConfig) -> Result<Self, MachineError> {
        let arguments = config.arguments.list()?;
        let memory = memory::OwnFolder::new(
            config.arguments.memory,
            config.user.as_ref().map(|user| user.id),
        )?;
        let log = File::create_new(&config.log).map_err(MachineError::log(&config.log))?;
        let messages = log.try_clone().map_err(MachineError::log(&config.log))?;
        let processor = Processor::reserve();
        let mut writable = config.writable.clone();
        let of_memory = memory.folder().identity();
        let of_memory = of_memory.map_err(MachineError::log(memory.folder().named()))?;
        writable.push((memory.folder().named().to_owned(), of_memory));
        let launch = serde_json::to_string(&launch::Launch {
            kernel: config.kernel.clone(),
            sha256: config.sha256.clone(),
            parent: std::process::id(),
            processor: processor.as_ref().map(Processor::number),
            narrow: config.arguments.narrow_registers,
            user: config.user.clone(),
            writable,
        })
        .map_err(|_| MachineError::Path(config.kernel.clone()))?;
        let (program, first) = &config.launcher;
        let child = Command::new(program)
            .args(first)
            .arg(launch)
            .args(arguments)
            .env_clear()
            .env("TMPDIR", memory.folder().named())
            .current_dir(&config.arguments.folder)
            .stdin(match config.input {
                true => Stdio::inherit(),
                false => Stdio::null(),
            })
            .stdout(messages)
            .stderr(log)
            .spawn()
            .map_err(|source| MachineError::Start {
                program: program.clone(),
                source,
            })?;
        Ok(Self {
            child,
            kernel: config.kernel.clone(),
            log: config.log.clone(),
            ended: None,
            usage: Usage::default(),
            memory: Some(memory),
            _processor: processor,
        })
    }

    /// Call this once something runs inside: the kernel's memory then has no name any more, and its folder is removed.
    pub fn has_begun(&mut self) {
        self.memory = None;
    }

    /// How the kernel ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            let has_ended = has_ended(&self.child);
            // Before anybody asks how it ended: afterwards nothing is known of it.
            self.usage.look(self.child.id());
            if !has_ended {
                return None;
            }
            self.ended = self.child.try_wait().ok().flatten();
            if self.ended.is_some() {
                self.kill_group();
            }
        }
        self.ended
    }

    /// Ends the kernel and all its processes at once.
    pub fn kill(&mut self) {
        if self.ended.is_none() {
            self.kill_group();
            // The group exists only once the launcher has made it.
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
    }

    fn kill_group(&self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // There may be nobody left, which is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Processor time and memory that it had used when [`Machine::ended`] was last called.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Whether it, and everything in it, waits for standard input: it reads descriptor 0 (proc(5), `/proc/pid/syscall`). False where the host
    /// does not tell.
    pub fn waits_for_input(&self) -> bool {
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", self.child.id()));
        let reads = format!("{} 0x0 ", libc::SYS_read);
        call.is_ok_and(|call| call.starts_with(&reads))
    }

    /// Why the kernel ended although nobody inside asked for it, from its messages.
    pub fn explain(&self) -> MachineError {
        log::explain(&self.kernel, &self.log, self.ended)
    }

    /// The file of the kernel's messages.
    pub fn log(&self) -> &Path {
        &self.log
    }
}

/// Whether a child has ended, without asking how: it can still be looked at.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(
        waitid(WaitId::Pid(Pid::from_child(child)), options),
        Ok(None)
    )
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}
