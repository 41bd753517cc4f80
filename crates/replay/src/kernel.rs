//! Replays a script on the TCP of a user-mode kernel, in virtual time.
//!
//! The kernel is started as those of the virtual world are ([`quell_kernel::machine`]), with this program as its first process. That one
//! is the whole network of the guest ([`guest`]): it holds the socket of the end under test and the far end of its cable, and takes down every
//! frame. Both sides talk through a folder:
//!
//! | file | written by | holds |
//! | --- | --- | --- |
//! | `program` | host | a link to the program |
//! | `script` | host | the script |
//! | `release` | host | the kernel's version, as a script compares it |
//! | `record.json` | guest | frames and states, or why there are none |
//! | `kernel.log` | kernel | its messages |

mod guest;
mod ticks;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use quell_hosts::namespace::own_mounts;
use quell_kernel::held::Held;
use quell_kernel::machine::registers::must_be_narrow;
use quell_kernel::machine::{
    Arguments, FOLDER, LEAST_MEMORY, Machine, MachineConfig, is_plain, launch,
};
use quell_kernel::store::Kernel;
use quell_units::{Random, Time};
use serde::{Deserialize, Serialize};

use crate::play::{Doing as _, ReplayError};
use crate::script::Script;
use crate::state::SenderState;
use crate::transcript::{Departure, Transcript};
use crate::wire::Numbers;

/// The hidden words of the command line: the guest's first process, and the program that becomes the kernel.
const GUEST: &str = "guest";
const GUEST_KERNEL: &str = "guest-kernel";

const PROGRAM: &str = "program";
const SCRIPT: &str = "script";
const RELEASE: &str = "release";
const RECORD: &str = "record.json";
const LOG: &str = "kernel.log";

/// A guest takes some tenths of a second, and never so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(4);
/// What the guest's clock of the day shows at first, in nanoseconds since 1970: any instant, if only it is always the same.
const CLOCK: u64 = 1_700_000_000_000_000_000;

/// What a guest writes.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Why there is nothing.
    error: Option<String>,
    /// What left, with the nanosecond since the script began.
    frames: Vec<(u64, Vec<u8>)>,
    /// Where the script asks for it.
    states: Vec<(u64, SenderState)>,
}

/// Does what the hidden words of the command line ask for. A program that calls [`replay`] calls this first, because the kernel and its first
/// process are started as this program.
pub fn entry() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if word == GUEST {
        Some(guest::main(words))
    } else if word == GUEST_KERNEL {
        let error = launch::become_kernel(words, own_mounts);
        eprintln!("quell-replay: cannot become the kernel: {error}");
        Some(ExitCode::FAILURE)
    } else {
        None
    }
}

/// What `kernel` does of the script with this text; `program` calls [`entry`] first.
///
/// # Errors
///
/// The kernel does not start, ends too early or hangs; the guest has no network or no such congestion control.
pub fn replay(
    kernel: &Kernel,
    program: &Path,
    script: &Script,
    text: &str,
) -> Result<Transcript, ReplayError> {
    kernel.check().map_err(ReplayError::Store)?;
    let usual = std::env::temp_dir();
    let place = if is_plain(&usual) {
        usual
    } else {
        PathBuf::from("/tmp")
    };
    let folder = tempfile::Builder::new()
        .prefix("quell-replay-")
        .tempdir_in(place)
        .doing("make a folder")?;
    let file = |name: &str| folder.path().join(name);
    symlink(program, file(PROGRAM)).doing("link the program")?;
    fs::write(file(SCRIPT), text).doing("write the script")?;
    fs::write(file(RELEASE), &kernel.facts.version).doing("write the version")?;
    let identity = Held::open(folder.path()).and_then(|held| held.identity());
    let identity = identity.doing("look at a folder")?;
    let mut machine = Machine::start(&MachineConfig {
        kernel: std::path::absolute(kernel.executable()).doing("find the kernel")?,
        sha256: kernel.facts.sha256.clone(),
        user: None,
        writable: vec![(folder.path().to_owned(), identity)],
        launcher: (program.to_owned(), vec![GUEST_KERNEL.to_owned()]),
        arguments: Arguments {
            memory: LEAST_MEMORY,
            clock: CLOCK,
            seccomp: kernel.facts.seccomp,
            ipv6: false,
            narrow_registers: must_be_narrow(&kernel.facts.version),
            folder: folder.path().to_owned(),
            init: PROGRAM.to_owned(),
            init_arguments: vec![GUEST.to_owned(), FOLDER.to_owned()],
        },
        input: false,
        log: file(LOG),
    })?;
    let began = Instant::now();
    while machine.ended().is_none() {
        thread::sleep(LOOK);
        if began.elapsed() > PATIENCE {
            machine.kill();
            return Err(ReplayError::Late(PATIENCE.as_secs(), machine.explain()));
        }
    }
    let Ok(record) = fs::read(file(RECORD)) else {
        return Err(machine.explain().into());
    };
    let record: Record = serde_json::from_slice(&record)
        .map_err(std::io::Error::from)
        .doing("read what the guest has written")?;
    match record.error {
        Some(why) => Err(ReplayError::Guest(why)),
        None => Ok(transcript(script, &record)),
    }
}

fn transcript(script: &Script, record: &Record) -> Transcript {
    let mut numbers = Numbers::default();
    let departures = record.frames.iter().filter_map(|(at, frame)| {
        let segment = numbers.decode(frame)?.segment;
        Some(Departure {
            at: Time::from_nanos(*at),
            segment,
        })
    });
    let states = record
        .states
        .iter()
        .map(|(at, state)| (Time::from_nanos(*at), *state));
    Transcript {
        carries: script.end.carries(),
        departures: departures.collect(),
        states: states.collect(),
    }
}

/// The first bytes of a guest's random pool.
fn entropy() -> Vec<u8> {
    let mut random = Random::new(0, "replay");
    (0..8).flat_map(|_| random.u64().to_le_bytes()).collect()
}
