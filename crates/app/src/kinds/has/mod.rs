//! HTTP adaptive streaming: a player that asks for one segment after another, each at the level that its
//! rule chooses, and plays them from a buffer.
//!
//! The user's end opens one connection and keeps it. Each request is a message that says how long the
//! answer is to be, so the server has no state. A download that is given up takes its connection along,
//! as in HTTP/1.1: the next request pays for a handshake and a slow start. With `audio` a second
//! connection carries as much sound as there is video, and playback does not wait for it.
//!
//! The [`player`] is exact in event time and knows nothing of connections. Its parts:
//!
//! * [`ladder`]: the levels; [`rule`]: how one is chosen, by the [`throughput`](rule::RuleKind::Throughput),
//!   by the buffer ([`bola`], [`BBA-0`](rule::RuleKind::Bba0)) or by both; [`estimator`]: what the player
//!   believes of the network.
//! * [`playback`]: the buffer, and what the user sees of it; [`report`]: the figures of that.
//!
//! Rules decide in integers: times in ns, rates in bit/s, logarithms and powers in fixed point. So they
//! decide alike on every machine. The tests hold them against Sabre, decision for decision.

mod bba;
pub mod bola;
mod client;
pub mod estimator;
mod fixed_point;
pub mod ladder;
mod mpc;
pub mod playback;
pub mod player;
pub mod report;
pub mod rule;
mod situation;
mod throughput;
mod variation;

use quell_units::parameter::Domain;
use quell_units::{
    Bytes, Parameter, ParameterError, Random, Rate, Rates, Time, name_of, parameters, words,
};

use self::bola::Form;
use self::ladder::Ladder;
use self::player::Plan;
use self::rule::RuleKind;
use crate::exchange::{self, Delays, Server, Tls};
use crate::kind::DAY;
use crate::{
    Action, Application, ApplicationKind, Event, EventInfo, Input, PresetSettings, Role, Session,
};

pub use client::Client;
pub use report::HasReport;

words! {
    /// The choice of levels.
    pub enum Abr {
        /// The level that the throughput sustains, with the insufficient-buffer rule.
        Throughput = "throughput",
        /// BOLA of its first paper.
        BolaBasic = "bola-basic",
        /// BOLA-E, as in Sabre.
        BolaE = "bola-e",
        /// BOLA-E, as in dash.js.
        BolaDash = "bola-dash",
        /// The throughput while the buffer is low, `bola-dash` while it is high.
        Dynamic = "dynamic",
        /// As `dynamic` with `bola-e`, from 10 s on and below 5 s: Sabre's dynamicdash.
        DynamicSabre = "dynamic-sabre",
        /// BBA-0.
        Bba0 = "bba-0",
        /// Robust model-predictive control.
        RobustMpc = "robust-mpc",
    }
}

/// Ladders with a name.
const LADDERS: &[(&str, Rates)] = &[
    (
        "classic",
        Rates::of_kilobits(&[235, 375, 560, 750, 1_050, 1_750, 2_350, 3_000, 4_300, 5_800]),
    ),
    (
        "smooth",
        Rates::of_kilobits(&[230, 331, 477, 688, 991, 1_427, 2_056, 2_962]),
    ),
    (
        "4k",
        Rates::of_kilobits(&[1_000, 2_500, 5_000, 8_000, 16_000, 35_000]),
    ),
    (
        "pensieve",
        Rates::of_kilobits(&[300, 750, 1_200, 1_850, 2_850, 4_300]),
    ),
];

/// The longest that a buffer may be.
const MOST_BUFFER: Time = Time::from_secs(300);

parameters! {
    /// The parameters of adaptive streaming.
    pub struct Parameters {
        /// How long a segment plays.
        segment: Time = Parameter::FIXED.domain(Domain::Time(Time::from_millis(500), Time::from_secs(15)))
            .default("4s"),
        /// Rate of each level. By name: a ladder of films (classic), that of Smooth Streaming for 720p (smooth), of
        /// Sabre for 4k (4k), of Pensieve (pensieve). A scenario can name a file with a rate a line.
        ladder: Rates = Parameter::FIXED.domain(Domain::Rates(LADDERS)).default("classic"),
        /// Standard deviation of a segment's size over its mean, which is its level's rate times its length:
        /// log-normal, the same factor in all levels.
        variation: u32 = Parameter::FIXED.domain(Domain::Fraction(0, 1_000, 1_000)).default("0"),
        /// How levels are chosen: by throughput, by BOLA (as in its first paper, as BOLA-E in Sabre, or as in dash.js),
        /// by both (dash.js's dynamic, Sabre's dynamicdash), by the buffer alone (BBA-0), or by robust model-predictive
        /// control.
        abr: Abr = Parameter::FIXED.default("dynamic").source("dash.js, Sabre, Pensieve"),
        /// BOLA decides from above this on. A decision is made when the buffer has room for a segment.
        high_buffer: Time = Parameter::FIXED.named("high-buffer").domain(Domain::Time(Time::ZERO, MOST_BUFFER))
            .default("18s").only(("abr", "dynamic")).source("dash.js: bufferTimeDefault"),
        /// The throughput decides from below this on; at most high-buffer.
        low_buffer: Time = Parameter::FIXED.named("low-buffer").domain(Domain::Time(Time::ZERO, MOST_BUFFER))
            .default("9s").only(("abr", "dynamic")).source("dash.js: half of bufferTimeDefault"),
        /// Give a download up, with its connection, where a smaller one is better. The rules bola-basic, bba-0 and
        /// robust-mpc never do.
        abandon: bool = Parameter::FIXED.default("true").source("dash.js, Sabre"),
        /// What the buffer holds at most; at least two segments. The player asks when a segment more fits.
        max_buffer: Time = Parameter::FIXED.named("max-buffer").domain(Domain::Time(Time::from_secs(1), MOST_BUFFER))
            .default("25s").source("Sabre"),
        /// What the buffer holds before playback begins; at most max-buffer.
        startup: Option<Time> = THRESHOLD,
        /// What the buffer holds before playback goes on after a stall; at most max-buffer.
        resume: Option<Time> = THRESHOLD,
        /// How long the content plays, rounded up to whole segments.
        duration: Option<Time> = Parameter::FIXED.domain(Domain::Time(Time::from_nanos(1), DAY)).derived("endless"),
        /// Request, headers included, at least 24 B.
        request: Bytes = exchange::REQUEST_ROW.default("350B"),
        /// Headers in front of each segment.
        response: Bytes = Parameter::FIXED.domain(Domain::Bytes(24, 64_000)).default("250B"),
        tls: Tls = Tls::ROW.default("1.3"),
        /// Rate of sound, in segments as long as those of the video, on a connection of its own. Playback does not wait
        /// for it.
        audio: Option<Rate> = Parameter::FIXED.domain(Domain::Rate(Rates::LOWEST, Rate::from_mbps(10))).derived("none"),
    }
}

/// The length of the buffer before something begins.
const THRESHOLD: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::ZERO, MOST_BUFFER))
    .derived("one segment");

/// A player of adaptive video.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Has {
    /// The player's plan.
    pub plan: Plan,
    /// Coefficient of variation of sizes, in thousandths.
    pub variation: u32,
    /// Length of a request.
    pub request: Bytes,
    /// Length of the headers of an answer; at least 24 bytes.
    pub response: Bytes,
    /// Handshake after that of TCP.
    pub tls: Tls,
    /// Rate of the sound.
    pub audio: Option<Rate>,
}

impl ApplicationKind for Has {
    const NAME: &'static str = "has";
    const SUMMARY: &'static str =
        "HTTP adaptive streaming: a player that chooses the level of each segment";
    const EXAMPLE: &'static str = r#"app = { kind = "has", segment = "4s", ladder = ["300kbit", "750kbit", "1.85mbit"], variation = 0.2, abr = "dynamic", high-buffer = "18s", low-buffer = "9s", abandon = true, max-buffer = "25s", startup = "4s", resume = "4s", duration = "10s", request = "350B", response = "250B", tls = "1.3", audio = "128kbit" }"#;
    const PRESETS: &'static [PresetSettings] = &[
        PresetSettings {
            name: "smooth",
            summary: "Smooth Streaming of 720p: eight levels up to 2 962 kbit/s, segments of 2 s",
            settings: &[
                ("segment", "2s"),
                (
                    "ladder",
                    r#"["230kbit", "331kbit", "477kbit", "688kbit", "991kbit", "1.427mbit", "2.056mbit", "2.962mbit"]"#,
                ),
            ],
        },
        PresetSettings {
            name: "4k",
            summary: "4k of Sabre: six levels up to 35 Mbit/s, segments of 3 s",
            settings: &[
                ("segment", "3s"),
                (
                    "ladder",
                    r#"["1mbit", "2.5mbit", "5mbit", "8mbit", "16mbit", "35mbit"]"#,
                ),
            ],
        },
        PresetSettings {
            name: "pensieve",
            summary: "the player of Pensieve: six levels up to 4 300 kbit/s, 48 segments of 4 s, a buffer of 60 s, robust-mpc",
            settings: &[
                (
                    "ladder",
                    r#"["300kbit", "750kbit", "1.2mbit", "1.85mbit", "2.85mbit", "4.3mbit"]"#,
                ),
                ("abr", "robust-mpc"),
                ("max-buffer", "60s"),
                ("duration", "192s"),
            ],
        },
        PresetSettings {
            name: "fixed-chunks",
            summary: "streaming of DOCSIS studies (cablelabs/docsis-ns3): 3.75 MB every 5 s, 6 Mbit/s on average",
            settings: &[("segment", "5s"), ("ladder", r#"["6mbit"]"#)],
        },
    ];
    const EVENTS: &'static [EventInfo] = &[EventInfo {
        kind: "segment",
        meaning: "A request for a segment of video, to the last byte of its answer. A segment that was given up, or whose connection broke, is asked for again under its number.",
        value: "level, from 0",
    }];
    type Parameters = Parameters;
    type End = End;
    type Report = HasReport;

    fn check(parameters: &Parameters) -> Result<(), ParameterError> {
        let refuse = |key, found: Time, allowed: String| {
            let key: &str = key;
            Err(ParameterError::new(key, found, allowed))
        };
        let (buffer, segment) = (parameters.max_buffer, parameters.segment);
        if buffer < segment * 2 {
            let least = segment * 2;
            let allowed = format!("must be at least {least}, two segments");
            return refuse("max-buffer", buffer, allowed);
        }
        for (key, threshold) in [
            (name_of!(Parameters, startup), parameters.startup),
            (name_of!(Parameters, resume), parameters.resume),
        ] {
            if let Some(threshold) = threshold
                && threshold > buffer
            {
                let allowed = format!("must be at most max-buffer, {buffer}");
                return refuse(key, threshold, allowed);
            }
        }
        if parameters.low_buffer > parameters.high_buffer {
            let allowed = format!("must be at most high-buffer, {}", parameters.high_buffer);
            return refuse("low-buffer", parameters.low_buffer, allowed);
        }
        Ok(())
    }
    fn new(parameters: Parameters) -> Self {
        let segment = parameters.segment;
        let rates = parameters.ladder.bits_per_second();
        let segments = |duration: Time| duration.as_nanos().div_ceil(segment.as_nanos());
        let dynamic = |form, high, low| RuleKind::Dynamic { form, high, low };
        Self {
            plan: Plan {
                ladder: Ladder::new(rates.iter().copied().map(u64::from), segment),
                buffer: parameters.max_buffer,
                startup: parameters.startup.unwrap_or(segment),
                resume: parameters.resume.unwrap_or(segment),
                segments: parameters.duration.map(segments),
                rule: match parameters.abr {
                    Abr::Throughput => RuleKind::Throughput,
                    Abr::BolaBasic => RuleKind::BolaBasic,
                    Abr::BolaE => RuleKind::BolaE(Form::Sabre),
                    Abr::BolaDash => RuleKind::BolaE(Form::DashJs),
                    Abr::Dynamic => {
                        dynamic(Form::DashJs, parameters.high_buffer, parameters.low_buffer)
                    }
                    Abr::DynamicSabre => {
                        dynamic(Form::Sabre, Time::from_secs(10), Time::from_secs(5))
                    }
                    Abr::Bba0 => RuleKind::Bba0,
                    Abr::RobustMpc => RuleKind::RobustMpc,
                },
                abandons: parameters.abandon,
            },
            variation: parameters.variation,
            request: parameters.request,
            response: parameters.response,
            tls: parameters.tls,
            audio: parameters.audio,
        }
    }
    fn end(&self, role: Role, mut random: Random) -> End {
        let sizes = Random::new(random.u64(), "size");
        match role {
            Role::Receiver => End::Client(Box::new(Client::new(self, sizes))),
            Role::Sender => End::Server(Server::new(Delays::NONE, false)),
        }
    }
    fn session(&self) -> Option<Session> {
        Some(Session {
            opener: Role::Receiver,
            framed: true,
            connections: 1 + u32::from(self.audio.is_some()),
        })
    }
    fn renews(&self) -> bool {
        true
    }
}

/// Either end.
#[derive(Debug, Clone)]
pub enum End {
    /// The user's, with the player.
    Client(Box<Client>),
    /// Answers requests.
    Server(Server),
}

impl Application for End {
    type Report = HasReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match self {
            Self::Client(client) => client.poll(now, input, actions),
            Self::Server(server) => server.poll(now, input, actions),
        }
    }
    fn advance(&mut self, now: Time) {
        if let Self::Client(client) = self {
            client.advance(now);
        }
    }
    fn unfinished(&self, records: &mut Vec<Event>) {
        if let Self::Client(client) = self {
            client.unfinished(records);
        }
    }
    fn start_counting(&mut self, _sent: u64) {
        if let Self::Client(client) = self {
            client.start_counting();
        }
    }
    fn report(&self, _sent: u64) -> Option<HasReport> {
        match self {
            Self::Client(client) => Some(client.report()),
            Self::Server(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
