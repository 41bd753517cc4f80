//! Reading a kernel's messages for what went wrong.
//!
//! The words looked for are those of arch/um/os-Linux (start_up.c, mem.c) and kernel/panic.c, the same from 6.1 to 7.2.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::MachineError;

/// So many last lines are shown.
const TAIL: usize = 8;

/// The signs of a refusal by the host, what it refuses, and how to fix it.
const REFUSALS: &[(&[&str], &str, &str)] = &[
    (
        &["PROT_EXEC mmap in", "failed"],
        "the folder of its memory does not allow executable mappings",
        "TMPDIR=/a/folder/not/mounted/noexec quell run …",
    ),
    (
        &[
            "Checking that ptrace can change system call numbers",
            "failed",
        ],
        "ptrace is forbidden here",
        "sysctl kernel.yama.ptrace_scope=1, or in a container: --cap-add=SYS_PTRACE",
    ),
    (
        &["ptrace", "Operation not permitted"],
        "ptrace is forbidden here",
        "sysctl kernel.yama.ptrace_scope=1, or in a container: --cap-add=SYS_PTRACE",
    ),
    (
        &["No space left on device"],
        "there is no room for its memory",
        "free space in /dev/shm, or set TMPDIR to a folder with room",
    ),
    (
        &["Cannot allocate memory"],
        "the host has too little memory",
        "a smaller scenario, or fewer runs at once (--jobs 1)",
    ),
];

/// Why a kernel with these messages ended by itself.
pub(super) fn explain(kernel: &Path, log: &Path, ended: Option<ExitStatus>) -> MachineError {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(TAIL)..]
        .iter()
        .map(|line| format!("  | {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    if let Some(panic) = lines.iter().find(|line| line.contains("Kernel panic")) {
        let message = panic
            .split_once("syncing: ")
            .map_or(*panic, |(_, message)| message);
        return MachineError::Panic {
            message: message.trim().to_owned(),
            tail,
        };
    }
    if lines
        .iter()
        .any(|line| line.contains("time-travel=") && line.contains("not"))
    {
        return MachineError::NoTimeTravel(kernel.to_owned());
    }
    if ended.and_then(|status| status.signal()) == Some(Signal::XFSZ.as_raw()) {
        return MachineError::Host {
            why: "a file may not grow as far as its memory or its results need".to_owned(),
            fix: "ulimit -f unlimited".to_owned(),
        };
    }
    let started = lines.iter().any(|line| line.contains("Linux version"));
    for (signs, why, fix) in REFUSALS {
        let shows = |line: &&str| signs.iter().all(|sign| line.contains(sign));
        if !started && lines.iter().any(shows) {
            return MachineError::Host {
                why: (*why).to_owned(),
                fix: (*fix).to_owned(),
            };
        }
    }
    MachineError::Ended {
        kernel: kernel.to_owned(),
        how: ended.map_or("no status".to_owned(), |status| status.to_string()),
        tail,
    }
}
