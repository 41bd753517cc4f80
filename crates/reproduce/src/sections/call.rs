//! One run of the home-gateway study (MMSys 2011): a download beside a call, over one of the three
//! rules of drop-tail. Every run is held to the delay that its rule allows (T14).

use quell_units::{Bytes, Rate, Time};

use crate::cell::Cell;
use crate::cells::Cells;
use crate::probe::EXPERIMENT;
use crate::probe::experiment::ExperimentResult;
use crate::shipped;
use crate::statement::Checks;

/// The congestion control of the download: NewReno, CUBIC and H-TCP as FreeBSD had them in 2010; Compound as published for Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// `reno`.
    NewReno,
    /// `cubic` of FreeBSD.
    Cubic,
    /// `htcp`.
    Htcp,
    /// `compound`.
    Compound,
}

/// The rule, and the limit in bytes or slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Drops if the occupancy is above so many bytes.
    Loose(u64),
    /// Drops if the occupancy with the packet would reach so many bytes.
    Strict(u64),
    /// Drops if so many packets are there.
    Slots(u64),
}

/// A point of the study.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// 1 is 1500/256 kbit/s, 2 is 24/1 Mbit/s.
    pub adsl: u8,
    /// Of the download.
    pub control: Control,
    /// The rule and its limit.
    pub queue: Queue,
    /// Base RTT of all groups, in ms.
    pub rtt_ms: u64,
    /// The way up is fast enough for an ACK of every packet, which that of ADSL 2 is not.
    pub wide_up: bool,
    /// The run's length with its warm-up, in seconds; `None` is the scenario's.
    pub length_s: Option<u64>,
    /// The seed.
    pub seed: u64,
}

/// What the call and the download saw, downstream.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Of the call's packets, in %.
    pub loss: f64,
    /// Median of their sojourn times, in ms.
    pub delay: f64,
    /// Of the download, in Mbit/s.
    pub goodput: f64,
    /// The longest time from arrival to the end of transmission, of any packet.
    pub longest: Time,
    /// What it may be at most.
    pub ceiling: Time,
}

impl Control {
    /// The two of the study.
    pub const BOTH: [Self; 2] = [Self::NewReno, Self::Cubic];
    /// Those that its recap names.
    pub const ALL: [Self; 4] = [Self::NewReno, Self::Cubic, Self::Htcp, Self::Compound];

    /// As in the study.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewReno => "NewReno",
            Self::Cubic => "CUBIC",
            Self::Htcp => "H-TCP",
            Self::Compound => "Compound",
        }
    }
    fn set(self) -> &'static str {
        match self {
            Self::NewReno => "group.download.congestion-control=reno",
            Self::Cubic => {
                "group.download.congestion-control={ name = \"cubic\", variant = \"freebsd_2010\" }"
            }
            // Without adaptive backoff and scaling, which FreeBSD's did not have.
            Self::Htcp => {
                "group.download.congestion-control={ name = \"htcp\", use_rtt_scaling = false, use_bandwidth_switch = false }"
            }
            Self::Compound => "group.download.congestion-control=compound",
        }
    }

    /// What a kernel of today has in its place.
    fn over_linux(self) -> Option<&'static str> {
        match self {
            Self::NewReno | Self::Compound => None,
            Self::Cubic => Some("group.download.congestion-control=cubic"),
            Self::Htcp => Some("group.download.congestion-control=htcp"),
        }
    }
}

impl Queue {
    /// The rule, as scenarios have it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Loose(_) => "bytes_loose",
            Self::Strict(_) => "bytes_strict",
            Self::Slots(_) => "slots",
        }
    }
    /// The limit, as scenarios have it.
    pub fn limit(self) -> String {
        match self {
            Self::Loose(bytes) | Self::Strict(bytes) => format!("{bytes}B"),
            Self::Slots(slots) => format!("{slots}p"),
        }
    }
    /// The longest delay with the packet in service counted: what an accepted packet makes of the
    /// occupancy, at the link's rate.
    fn ceiling(self, rate: Rate) -> Time {
        rate.time_for(Bytes::new(match self {
            Self::Loose(bytes) => bytes + 1_500,
            Self::Strict(bytes) => bytes - 1,
            Self::Slots(slots) => slots * 1_500,
        }))
    }
}

impl Point {
    fn sets(&self) -> Vec<String> {
        let mut sets = vec![
            self.control.set().to_owned(),
            format!("link.queue.rule={}", self.queue.rule()),
            format!("link.queue.limit={}", self.queue.limit()),
        ];
        if self.wide_up {
            sets.push("link.reverse.rate=2mbit".to_owned());
        }
        sets.extend(
            self.length_s
                .map(|length| format!("run.duration={length}s")),
        );
        let groups = ["download", "voice-down", "voice-up"];
        sets.extend(groups.map(|group| format!("group.{group}.rtt={}ms", self.rtt_ms)));
        sets
    }

    fn file(&self) -> &'static str {
        match self.adsl {
            1 => "homegateway2011/adsl1.toml",
            _ => "homegateway2011/adsl2.toml",
        }
    }

    /// The run.
    pub fn cell(&self) -> Cell {
        let cell = Cell::new(self.file()).sets(self.sets());
        let cell = match self.control.over_linux() {
            Some(set) => cell.over_linux(set),
            None => cell,
        };
        cell.seed(self.seed).probe(EXPERIMENT)
    }

    /// What it gave.
    pub fn call(&self, run: &ExperimentResult) -> Call {
        let voice = run.group("voice-down");
        let [delivered, dropped] = voice.map_or([0; 2], |voice| [voice.packets, voice.dropped]);
        let rate = shipped::load(self.file()).links[0].forward.rate;
        Call {
            loss: 100.0 * dropped as f64 / (dropped + delivered) as f64,
            delay: voice.and_then(|voice| voice.median_ms).unwrap_or(f64::NAN),
            goodput: run.goodput / 1e6,
            longest: Time::from_nanos(run.longest_ns),
            ceiling: self.queue.ceiling(rate),
        }
    }
}

/// What the runs of these points gave; `checks` guards that each kept to its ceiling (T14).
pub fn calls(points: &[Point], cells: Cells<'_>, checks: &mut Checks) -> Vec<Call> {
    let runs = cells.figures::<ExperimentResult>();
    let call = |(point, run): (&Point, &ExperimentResult)| {
        let call = point.call(run);
        let (longest, ceiling) = (call.longest, call.ceiling);
        checks.guard(
            longest <= ceiling,
            format!("{point:?}: {longest} above {ceiling}"),
        );
        call
    };
    points.iter().zip(&runs).map(call).collect()
}
