//! A telephone call over datagrams, and how it sounds: [`voice`](crate::voice) describes its parts.
//!
//! A codec gives the packets and how much they suffer from loss; every figure of a packet is the IP
//! length: payload, RTP (12 bytes), UDP (8) and IPv4 (20).
//!
//! | codec | packet every | IP length | source |
//! | --- | --- | --- | --- |
//! | `g711` | 20 ms | 200 B | 64 kbit/s (ITU-T G.711) |
//! | `g711-10` | 10 ms | 120 B | the same |
//! | `g729` | 20 ms | 60 B | 8 kbit/s (G.729), 5 ms look-ahead |
//! | `opus-24` | 20 ms | 100 B | 24 kbit/s, 6.5 ms look-ahead (RFC 6716); no values for the narrow-band E-model are standardised: those of G.711 |
//! | `caia-2011` | N(20, 1) ms | 186 B | the home-gateway study |
//! | `tgax` | 20 ms, in pauses 160 ms | 73 B, in pauses 47 B | IEEE 802.11ax simulation scenarios; talk and pause 1.25 s, exponential |

use quell_units::parameter::Domain;
use quell_units::{
    Bytes, Interval, Parameter, ParameterError, Period, Random, Time, parameters, words,
};

use crate::datagrams::{self, MAX_DATAGRAM, MIN_DATAGRAM};
use crate::voice::listener::{INTERVALS, Listener};
use crate::voice::playout::{Playout, Rule};
use crate::voice::report::VoiceReport;
use crate::voice::score::Impairment;
use crate::voice::talker::{Speech, Talker};
use crate::{Action, Application, ApplicationKind, Datagrams, Event, EventInfo, Input, Role};

words! {
    /// The encoder of speech.
    pub enum Codec {
        /// G.711 with 20 ms in a packet.
        G711 = "g711",
        /// G.711 with 10 ms in a packet.
        G711Short = "g711-10",
        /// G.729 with 20 ms in a packet.
        G729 = "g729",
        /// Opus at 24 kbit/s.
        Opus24 = "opus-24",
        /// The voice flow of the home-gateway study.
        Caia2011 = "caia-2011",
        /// The voice of IEEE 802.11ax's scenarios.
        Tgax = "tgax",
    }
}

parameters! {
    /// The parameters of a call.
    pub struct Parameters {
        /// What encodes speech: it sets size and interval of the packets, and how much a loss harms.
        codec: Codec = Parameter::FIXED.default("g711"),
        /// IP length of a packet of speech.
        size: Option<Bytes> = datagrams::SIZE.derived("that of the codec"),
        /// Time between packets of speech, which is what one holds.
        interval: Option<Interval> = datagrams::INTERVAL.derived("that of the codec")
            .domain(Domain::Interval(Time::from_millis(1), Time::from_millis(200))),
        /// Whether the receiver talks, too: its packets go the other way, and the sender listens.
        both: bool = Parameter::FIXED.default("true"),
        /// Length of a talk spurt. ITU-T P.59 measured 1.004 s in conversations.
        talk: Option<Period> = TURN.derived("no pauses; 1.25 s, exponential, with tgax"),
        /// Length of a pause, in which nothing is sent, or comfort noise with tgax. P.59 measured 1.587 s.
        pause: Option<Period> = TURN.derived("no pauses; 1.25 s, exponential, with tgax"),
        /// How the listener chooses when to play a packet.
        playout: Rule = Parameter::FIXED.default("adaptive"),
        /// How long the first packet waits; all are played with its delay.
        buffer: Time = Parameter::FIXED.domain(Domain::Time(Time::ZERO, Time::from_secs(10))).default("60ms")
            .only(("playout", "fixed")),
        /// The most that the listener waits for packets behind the quickest one.
        max: Time = Parameter::FIXED.domain(Domain::Time(Time::from_millis(20), Time::from_secs(2))).default("500ms")
            .only(("playout", "adaptive")),
        /// Whether the decoder hides a missing packet; G.711 alone can do without.
        concealment: bool = Parameter::FIXED.default("true"),
        /// Speech that the encoder waits for beyond a packet; it delays all of it.
        look_ahead: Time = Parameter::FIXED.named("look-ahead").domain(Domain::Time(Time::ZERO, Time::from_millis(200)))
            .default_by("codec", &[("g711", "0ms"), ("g711-10", "0ms"), ("g729", "5ms"), ("opus-24", "6500us"), ("caia-2011", "0ms"), ("tgax", "0ms")]),
    }
}

const TURN: Parameter =
    Parameter::FIXED.domain(Domain::Period(Time::from_millis(1), Time::from_secs(3_600)));

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voice {
    /// The packets of one who talks.
    pub speech: Speech,
    /// Its sensitivity to loss.
    pub impairment: Impairment,
    /// Whether both ends talk.
    pub both: bool,
    /// The listener's rule for the time at which a packet is played.
    pub rule: Rule,
    /// For [`Rule::Fixed`].
    pub buffer: Time,
    /// For [`Rule::Adaptive`].
    pub most: Time,
    /// See [`Parameters`].
    pub look_ahead: Time,
}

impl Codec {
    fn size(self) -> Bytes {
        Bytes::new(match self {
            Self::G711 => 200,
            Self::G711Short => 120,
            Self::G729 => 60,
            Self::Opus24 => 100,
            Self::Caia2011 => 186,
            Self::Tgax => 73,
        })
    }
    fn interval(self) -> Interval {
        let (mean, stddev) = match self {
            Self::G711Short => (10, 0),
            Self::Caia2011 => (20, 1),
            Self::G711 | Self::G729 | Self::Opus24 | Self::Tgax => (20, 0),
        };
        Interval {
            mean: Time::from_millis(mean),
            stddev: Time::from_millis(stddev),
        }
    }
    /// Turns in the absence of others, and comfort noise.
    fn pauses(self) -> Option<((Period, Period), (Bytes, Time))> {
        let turn = Period::exponential(Time::from_millis(1_250));
        let noise = (Bytes::new(47), Time::from_millis(160));
        (self == Self::Tgax).then_some(((turn, turn), noise))
    }
    fn impairment(self, concealment: bool) -> Impairment {
        let is_g729 = self == Self::G729;
        let (equipment, robustness) = match (is_g729, concealment) {
            (true, _) => (11, 190),
            (false, true) => (0, 251),
            (false, false) => (0, 43),
        };
        Impairment {
            equipment,
            robustness,
            is_g729,
        }
    }
}

impl ApplicationKind for Voice {
    const NAME: &'static str = "voice";
    const SUMMARY: &'static str = "a telephone call, and how it sounds";
    const TOGETHER: &'static [&'static str] = &["talk", "pause"];
    const EXAMPLE: &'static str = r#"app = { kind = "voice", codec = "g711", size = "200B", interval = "20ms", both = true, talk = "1004ms", pause = "1587ms", playout = "adaptive", max = "500ms", concealment = true, look-ahead = "0ms" }"#;
    const MORE_EXAMPLES: &'static [&'static str] = &[
        r#"app = { kind = "voice", codec = "opus-24", both = false, playout = "fixed", buffer = "60ms" }"#,
    ];
    const EVENTS: &'static [EventInfo] = INTERVALS;
    type Parameters = Parameters;
    type End = Box<End>;
    type Report = VoiceReport;

    fn check(parameters: &Parameters) -> Result<(), ParameterError> {
        let Parameters {
            codec,
            talk,
            playout,
            concealment,
            ..
        } = parameters;
        let refuse = |key, found: &dyn std::fmt::Display, why: &str| {
            Err(ParameterError::new(key, found, why))
        };
        let g711 = matches!(codec, Codec::G711 | Codec::G711Short | Codec::Caia2011);
        if !concealment && !g711 {
            return refuse(
                "concealment",
                concealment,
                "must be true: this codec always hides what is missing",
            );
        }
        if *playout == Rule::Ramjee && talk.is_none() && codec.pauses().is_none() {
            return refuse(
                "playout",
                playout,
                "must come with talk and pause: it changes between talk spurts only",
            );
        }
        Ok(())
    }

    fn new(parameters: Parameters) -> Self {
        let codec = parameters.codec;
        let pauses = codec.pauses();
        let turns = parameters.talk.zip(parameters.pause);
        Self {
            speech: Speech {
                size: parameters.size.unwrap_or_else(|| codec.size()),
                interval: parameters.interval.unwrap_or_else(|| codec.interval()),
                turns: turns.or(pauses.map(|(turns, _)| turns)),
                noise: pauses.map(|(_, noise)| noise),
            },
            impairment: codec.impairment(parameters.concealment),
            both: parameters.both,
            rule: parameters.playout,
            buffer: parameters.buffer,
            most: parameters.max,
            look_ahead: parameters.look_ahead,
        }
    }

    fn end(&self, role: Role, mut random: Random) -> Box<End> {
        // Both ends draw these in the same order, so that no parameter of one moves the other.
        let mut stream = |purpose| Random::new(random.u64(), purpose);
        let there = (stream("spacing"), stream("turns"));
        let back = (stream("spacing"), stream("turns"));
        let talker = |(spacing, turns)| Talker::new(self.speech, spacing, turns);
        let listener = |kind| {
            let gap = self.speech.gap();
            let playout = Playout::new(self.rule, self.buffer, self.most, gap);
            let coding = gap + self.look_ahead;
            Listener::new(self.impairment, coding, gap, playout, kind)
        };
        Box::new(match role {
            Role::Sender => End {
                role,
                talker: Some(talker(there)),
                listener: self.both.then(|| listener(INTERVALS[1].kind)),
            },
            Role::Receiver => End {
                role,
                talker: self.both.then(|| talker(back)),
                listener: Some(listener(INTERVALS[0].kind)),
            },
        })
    }

    fn datagrams(&self) -> Option<Datagrams> {
        let speech = &self.speech;
        let noise = speech.noise.map_or(speech.size, |(size, _)| size);
        Some(Datagrams {
            size: speech.size.max(noise).clamp(MIN_DATAGRAM, MAX_DATAGRAM),
            least: speech.size.min(noise),
            interval: speech.interval,
            both_ways: self.both,
            content: false,
        })
    }
}

/// One end of a call.
#[derive(Debug, Clone)]
pub struct End {
    role: Role,
    talker: Option<Talker>,
    listener: Option<Listener>,
}

impl Application for End {
    type Report = VoiceReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        if let Some(talker) = &mut self.talker {
            talker.poll(now, input, actions);
        }
        if let Some(listener) = &mut self.listener {
            listener.poll(now, input, actions);
        }
    }

    fn sent(&self) -> u64 {
        self.talker.as_ref().map_or(0, Talker::sent)
    }

    fn advance(&mut self, now: Time) {
        if let Some(listener) = &mut self.listener {
            listener.advance(now);
        }
    }

    fn start_counting(&mut self, sent: u64) {
        if let Some(listener) = &mut self.listener {
            listener.start_counting(sent);
        }
    }

    fn report(&self, sent: u64) -> Option<VoiceReport> {
        let heard = self.listener.as_ref()?.report(sent)?;
        Some(match self.role {
            Role::Receiver => VoiceReport {
                heard: Box::new(heard),
                back: Box::default(),
            },
            Role::Sender => VoiceReport {
                heard: Box::default(),
                back: Box::new(heard),
            },
        })
    }

    fn unfinished(&self, records: &mut Vec<Event>) {
        if let Some(listener) = &self.listener {
            listener.unfinished(records);
        }
    }
}

#[cfg(test)]
mod tests;
