//! This kernel's own queue disciplines as a bottleneck: `htb` gives the rate, and the discipline under test is in its only class.
//!
//! A discipline is named and configured in the words of tc(8) and by tc itself, as a child process with a time limit, so that
//! every discipline works that this machine's tc and kernel know. One that only the kernel knows cannot have parameters: tc
//! passes an unknown name on only if nothing follows it.
//!
//! Differences from quell's link, from sch_htb.c:
//! * it counts the Ethernet header (14 bytes) of every packet, and so does a limit in bytes;
//! * a packet leaves when its transmission would begin, not when it would end: the next one waits for the tokens;
//! * the bucket holds `burst`, which makes up for late wake-ups; after a pause as much leaves at once.

use std::io::{ErrorKind, Read as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::confine::capabilities::{self, CapabilitySet};
use quell_units::Rate;
use serde::{Deserialize, Serialize};

use crate::error::{Doing as _, KernelQueueError, TC_PATH, TC_PATIENCE};
use crate::namespace::Namespace;
use crate::{Error, Result};

/// Bytes that `htb` counts for a packet beyond its IP length: the Ethernet header.
pub const OVERHEAD: u64 = 14;

/// A bottleneck made of this kernel's disciplines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelQueue {
    /// The discipline with its parameters, in tc's words: `pie limit 1000 target 15ms`.
    pub discipline: String,
    /// Rate in bit/s, of Ethernet frames.
    pub rate_bps: u64,
    /// Depth of the bucket in bytes, at least 1. With a frame (1 514) a kernel that wakes late still keeps the rate; with one
    /// byte nothing leaves early where time is virtual and no wake-up is late.
    pub burst: u64,
}

impl KernelQueue {
    /// Returns an error if this cannot be a discipline, before anything is made.
    pub fn check(&self) -> std::result::Result<(), KernelQueueError> {
        let kind = self.kind();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if kind.is_empty() || !kind.chars().all(is_name) {
            return Err(KernelQueueError::NoName {
                discipline: self.discipline.clone(),
            });
        }
        let words = self.discipline.split_whitespace();
        // These would take the queue away from where it stands.
        if let Some(word) = words.into_iter().find(|word| {
            ["parent", "handle", "root", "dev", "estimator", "stab"].contains(word)
                || word.starts_with('-')
        }) {
            return Err(KernelQueueError::NoParameter {
                word: word.to_owned(),
                kind: kind.to_owned(),
            });
        }
        if self.rate().is_zero() || self.rate().is_unlimited() {
            return Err(KernelQueueError::NoRate);
        }
        if self.burst == 0 {
            return Err(KernelQueueError::NoBurst);
        }
        Ok(())
    }

    /// The name of the discipline.
    pub fn kind(&self) -> &str {
        self.discipline.split_whitespace().next().unwrap_or("")
    }

    /// Rate of Ethernet frames.
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.rate_bps)
    }
}

/// The counters of a discipline since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Packets sent.
    pub packets: u64,
    /// Bytes of those packets, with Ethernet headers.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked; `None` where tc does not report them.
    pub marked: Option<u64>,
}

/// Puts the queue on an interface of the calling thread's namespace.
pub(crate) fn attach(queue: &KernelQueue, interface: &str) -> Result<()> {
    let rate = format!("{}bit", queue.rate_bps);
    let burst = format!("{}b", queue.burst);
    // The quantum matters only among several classes; unset, the kernel warns about what it derives.
    let quantum = (1_500 + OVERHEAD).to_string();
    let root = ["root", "handle", "1:", "htb", "default", "1"];
    let class = [
        "parent", "1:", "classid", "1:1", "htb", "rate", &rate, "ceil", &rate, "burst", &burst,
        "cburst", &burst, "quantum", &quantum,
    ];
    tc(
        &["qdisc", "replace", "dev", interface],
        &mut root.into_iter(),
    )?;
    tc(&["class", "add", "dev", interface], &mut class.into_iter())?;
    let leaf = ["parent", "1:1", "handle", "10:"];
    let words = queue.discipline.split_whitespace();
    tc(
        &["qdisc", "add", "dev", interface],
        &mut leaf.into_iter().chain(words),
    )?;
    Ok(())
}

/// A thread that stays in the namespace of a queue and reads its counters on request. Entering that namespace needs a right
/// that the process, and this thread too, has given away by then.
#[derive(Debug)]
pub(crate) struct Counters {
    asked: Mutex<(Sender<()>, Receiver<Result<Statistics>>)>,
}

impl Counters {
    /// Of an interface in `namespace`.
    pub(crate) fn start(namespace: &Namespace, interface: &'static str) -> Result<Self> {
        let (ask, asked) = mpsc::channel::<()>();
        let (answer, answers) = mpsc::channel();
        namespace
            .run(move || {
                // A thread starts where the one is that starts it.
                let read = move || {
                    for () in asked {
                        let read = capabilities::keep_only(CapabilitySet::empty())
                            .map_err(Error::from)
                            .and_then(|_| statistics(interface));
                        if answer.send(read).is_err() {
                            break;
                        }
                    }
                };
                let thread = thread::Builder::new().name("quell-counters".to_owned());
                thread.spawn(read).map(drop)
            })
            .and_then(|started| started)
            .doing(|| "start a thread in a network namespace")?;
        let counters = Self {
            asked: Mutex::new((ask, answers)),
        };
        // The first reading gives the thread's rights away.
        counters.read()?;
        Ok(counters)
    }

    /// The counters now.
    pub(crate) fn read(&self) -> Result<Statistics> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.0.send(()).map_err(|_| KernelQueueError::Gone)?;
        asked.1.recv().map_err(|_| KernelQueueError::Gone)?
    }
}

/// The counters of the queue of an interface in the calling thread's namespace.
fn statistics(interface: &str) -> Result<Statistics> {
    let output = tc(
        &["-s", "-j", "qdisc", "show", "dev", interface],
        &mut std::iter::empty(),
    )?;
    Ok(parse(&output).ok_or(KernelQueueError::Unreadable { output })?)
}

/// The counters of the leaf in the output of `tc -s -j qdisc show`.
fn parse(output: &str) -> Option<Statistics> {
    // tc leaves JSON where it does not know a discipline that the kernel has: `"options": {[Unknown qdisc, optlen=112] }`.
    let unknown = output
        .split_once("[Unknown qdisc")
        .and_then(|(before, rest)| {
            let (_, after) = rest.split_once(']')?;
            Some(format!("{before}{after}"))
        });
    let output = unknown.as_deref().unwrap_or(output);
    let all: serde_json::Value = serde_json::from_str(output).ok()?;
    let of_leaf = |one: &&serde_json::Value| one["handle"] == "10:";
    let leaf = all.as_array()?.iter().find(of_leaf)?;
    let marks = ["ecn_mark", "marked"].map(|key| leaf[key].as_u64());
    Some(Statistics {
        packets: leaf["packets"].as_u64()?,
        bytes: leaf["bytes"].as_u64()?,
        dropped: leaf["drops"].as_u64()?,
        marked: marks.into_iter().flatten().next(),
    })
}

/// Runs tc; returns its output, or its message where it fails.
fn tc(first: &[&str], rest: &mut dyn Iterator<Item = &str>) -> Result<String> {
    let mut command = Command::new("tc");
    command
        .args(first)
        .args(rest)
        .env_clear()
        .env("PATH", TC_PATH)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let asked = || {
        let words = command.get_args().map(|word| word.to_string_lossy());
        format!("run tc {}", words.collect::<Vec<_>>().join(" "))
    };
    let asked = asked();
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(KernelQueueError::NoTc.into());
        }
        started => started.doing(|| asked.clone())?,
    };
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().doing(|| asked.clone())? {
            break status;
        }
        if began.elapsed() > TC_PATIENCE {
            // It may have ended at this very moment, which is as good.
            let _ = child.kill();
            child.wait().doing(|| asked.clone())?;
            return Err(KernelQueueError::Stuck { asked }.into());
        }
        thread::sleep(Duration::from_millis(1));
    };
    // What it prints, a few kB at most, fits into the pipes, so it ends without being read.
    let mut printed = [String::new(), String::new()];
    let [out, errors] = &mut printed;
    if let Some(mut from) = child.stdout.take() {
        from.read_to_string(out).doing(|| asked.clone())?;
    }
    if let Some(mut from) = child.stderr.take() {
        from.read_to_string(errors).doing(|| asked.clone())?;
    }
    let [out, errors] = printed;
    if status.success() {
        return Ok(out);
    }
    let why = errors.trim().replace('\n', "; ");
    // The only word that tc and the kernel have for it.
    let unknown = ["Specified qdisc kind is unknown", "Invalid qdisc name"];
    Err(if unknown.iter().any(|words| why.contains(words)) {
        KernelQueueError::NoSuchDiscipline { asked, why }.into()
    } else {
        KernelQueueError::Tc { asked, why }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(discipline: &str) -> KernelQueue {
        KernelQueue {
            discipline: discipline.to_owned(),
            rate_bps: 10_000_000,
            burst: 1_514,
        }
    }

    #[test]
    fn only_a_discipline_with_its_parameters_is_accepted() {
        for (discipline, says) in [
            ("pie limit 1000 target 15ms", None),
            ("fq_codel", None),
            ("", Some("name of a discipline")),
            ("; rm", Some("name of a discipline")),
            ("pie root", Some("root")),
            ("pie handle 5:", Some("handle")),
            ("pie -batch", Some("-batch")),
        ] {
            let told = queue(discipline)
                .check()
                .err()
                .map(|error| error.to_string());
            match says {
                None => assert_eq!(told, None, "{discipline}"),
                Some(says) => assert!(
                    told.as_ref().is_some_and(|told| told.contains(says)),
                    "{discipline}: {told:?}"
                ),
            }
        }
        let without_rate = KernelQueue {
            rate_bps: 0,
            ..queue("pie")
        };
        assert!(without_rate.check().is_err());
        let without_burst = KernelQueue {
            burst: 0,
            ..queue("pie")
        };
        assert!(without_burst.check().is_err());
    }

    #[test]
    fn the_leaf_is_found_among_the_disciplines_of_the_interface() {
        // As iproute2 6.1 prints it, shortened.
        let told = |marks: &str| {
            format!(
                r#"[{{"kind":"htb","handle":"1:","bytes":9,"packets":9,"drops":9}},
                 {{"kind":"x","handle":"10:","bytes":4542,"packets":3,"drops":2{marks}}}]"#
            )
        };
        let expected = |marked| Statistics {
            packets: 3,
            bytes: 4_542,
            dropped: 2,
            marked,
        };
        for (marks, marked) in [
            ("", None),
            (r#","ecn_mark":7"#, Some(7)),
            (r#","marked":8,"early":1"#, Some(8)),
            (r#","options":{[Unknown qdisc, optlen=112] }"#, None),
        ] {
            assert_eq!(parse(&told(marks)), Some(expected(marked)));
        }
        for nothing in ["", "[]", r#"[{"kind":"htb","handle":"1:"}]"#] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }
}
