//! One run of the home-gateway study (MMSys 2011): a download beside a call, over one of the three
//! rules of drop-tail. Every run is held to the delay that its rule allows (T14).

use quell_units::{Bytes, Rate, Time};

use crate::experiment::{measure, scenario};

/// The congestion control of the download: NewReno, CUBIC and H-TCP as FreeBSD had them in 2010; Compound as published for Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    NewReno,
    Cubic,
    Htcp,
    Compound,
}

/// The rule, and the limit in bytes or slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Loose(u64),
    Strict(u64),
    Slots(u64),
}

/// A point of the study.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// 1 is 1500/256 kbit/s, 2 is 24/1 Mbit/s.
    pub(crate) adsl: u8,
    pub(crate) control: Control,
    pub(crate) queue: Queue,
    pub(crate) rtt_ms: u64,
    /// The way up is fast enough for an ACK of every packet, which that of ADSL 2 is not.
    pub(crate) wide_up: bool,
    /// The run's length with its warm-up, in seconds; `None` is the scenario's.
    pub(crate) length_s: Option<u64>,
    pub(crate) seed: u64,
}

/// What the call and the download saw, downstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Of the call's packets, in %.
    pub(crate) loss: f64,
    /// Median of their sojourn times, in ms.
    pub(crate) delay: f64,
    /// Of the download, in Mbit/s.
    pub(crate) goodput: f64,
    /// The longest time from arrival to the end of transmission, of any packet.
    pub(crate) longest: Time,
    /// What it may be at most.
    pub(crate) ceiling: Time,
}

impl Control {
    pub(crate) const BOTH: [Self; 2] = [Self::NewReno, Self::Cubic];
    pub(crate) const ALL: [Self; 4] = [Self::NewReno, Self::Cubic, Self::Htcp, Self::Compound];

    pub(crate) fn name(self) -> &'static str {
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
}

impl Queue {
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Loose(_) => "bytes_loose",
            Self::Strict(_) => "bytes_strict",
            Self::Slots(_) => "slots",
        }
    }
    pub(crate) fn limit(self) -> String {
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

    /// Runs it.
    pub(crate) fn run(&self) -> Call {
        let file = format!("homegateway2011/adsl{}.toml", self.adsl);
        let scenario = scenario(&file, &self.sets());
        let names = scenario.groups.iter().map(|group| group.name.as_str());
        let voice = names.enumerate().find(|(_, name)| *name == "voice-down");
        let run = measure(&scenario, self.seed);
        let voice = run.link.groups[voice.unwrap().0].unwrap();
        let ceiling = self.queue.ceiling(scenario.link.forward.rate);
        assert!(
            run.longest <= ceiling,
            "{self:?}: {} above {ceiling}",
            run.longest
        );
        Call {
            loss: 100.0 * voice.dropped as f64 / (voice.dropped + voice.packets) as f64,
            delay: voice.delay_ms.unwrap().p50,
            goodput: run.goodput / 1e6,
            longest: run.longest,
            ceiling,
        }
    }
}
