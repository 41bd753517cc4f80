//! A picture that a server renders for one user, as datagrams: cloud gaming, a video call.
//!
//! As in [`panorama`](super::panorama) the user acts and waits for a frame that shows it;
//! [`video`](crate::video) says what happens to an input. A frame is cut into packets of the same length,
//! which leave one after another over a part of the frame interval. Nothing is sent again: a frame of
//! which a packet does not arrive is lost, and so is one that is whole only after a newer frame.
//!
//! * `control = "none"`: the rate of the video is fixed, and no congestion changes it.
//! * `control = "prague-rt"`: the user's end answers every packet with what it has received, and with
//!   the marks of it; [`Prague`](crate::video::prague::Prague) gives the length of the next frame, up to that
//!   of `rate`, and its pace. A frame that may not leave when the next one is ready is skipped.
//! * `control = "scream"`: the user's end reports after each frame and after 16 packets, and
//!   [`Scream`](crate::video::scream::Scream) gives the rate of the encoder, from 100 kbit/s to `rate`, and
//!   says when a packet may leave. Frames queue in the server; a queue that is older than 200 ms is discarded.
//!
//! The packets have the ECN field of their group.

use quell_units::parameter::Domain;
use quell_units::{Bytes, Interval, Parameter, ParameterError, Random, Rate, Time, name_of};
use quell_units::{parameters, words};

use crate::video::beat;
use crate::video::frames::{self, FrameSizes, mean_size};
use crate::video::inputs::{self, Acting};
use crate::video::packets::MOST_PACKETS;
use crate::video::report::VideoReport;
use crate::video::scream::version::Version;
use crate::video::source::{self, Model};
use crate::video::viewer::{self, FRAMES, Viewing};
use crate::{ApplicationKind, Datagrams, Ends, EventInfo, MAX_DATAGRAM, PresetSettings, Role};

mod client;
mod server;

pub use client::Client;
pub use server::Server;

words! {
    /// Which model the frames follow.
    pub enum Encoder {
        /// Lengths around a fixed mean, and jitter.
        Gaussian = "gaussian",
        /// A live encoder.
        Rfc8593 = "rfc8593",
    }
}

words! {
    /// The control of the rate.
    pub enum Control {
        /// Nothing.
        None = "none",
        /// Prague with a window in frames.
        PragueRt = "prague-rt",
        /// SCReAM v2.
        Scream = "scream",
    }
}

const GAUSSIAN: (&str, &str) = ("model", "gaussian");
const RFC8593: (&str, &str) = ("model", "rfc8593");
const SCREAM: (&str, &str) = ("control", "scream");

parameters! {
    /// The parameters of video in datagrams.
    pub struct Parameters {
        /// How the lengths and times of frames vary.
        model: Encoder = Parameter::FIXED.default("gaussian").source("3GPP TR 38.838; RFC 8593 section 5"),
        fps: u32 = frames::FPS.default("60"),
        rate: Rate = frames::RATE.default("30mbit"),
        deviation: u32 = frames::DEVIATION.only(GAUSSIAN),
        smallest: u32 = frames::SMALLEST.only(GAUSSIAN),
        largest: u32 = frames::LARGEST.only(GAUSSIAN),
        jitter: Time = source::JITTER.only(GAUSSIAN),
        scale: u32 = source::SCALE.only(RFC8593),
        burst: Bytes = source::BURST.only(RFC8593),
        transient: u32 = source::TRANSIENT.only(RFC8593),
        residence: Time = frames::RESIDENCE.default("8ms"),
        /// IP length of a full packet: 28 bytes of headers, and the rest of the frame.
        packet: Bytes = Parameter::FIXED.domain(Domain::Bytes(200, MAX_DATAGRAM.get())).default("1228B"),
        /// The part of the frame interval over which the packets of a frame are spread; 0 for all at once.
        pace: u32 = Parameter::FIXED.domain(Domain::Fraction(0, 1_000, 1_000)).default("0.5"),
        /// What controls the rate of the video. With prague-rt and scream, rate is the most that it sends. With
        /// prague-rt, pace is above 0; scream has a pace of its own.
        control: Control = Parameter::FIXED.default("none")
            .source("draft-briscoe-iccrg-prague-congestion-control; draft-ietf-ccwg-rfc8298bis-screamv2"),
        /// Which SCReAM v2: that of the draft, or that of the program of October 2024, whose shares beside Prague are
        /// published, in what moves them: α is the mean of the marks with a gain of 1/32, only marks of the newest
        /// report count, at most once in 30 ms, the target is the whole rate of the window, frames leave at 1.27 times
        /// the target, and 1.5 times the window may be in flight.
        law: Version = Parameter::FIXED.default("draft").only(SCREAM)
            .source("draft-ietf-ccwg-rfc8298bis-screamv2; github.com/EricssonResearch/scream at 76a298a, and its logs"),
        deadline: Time = viewer::DEADLINE.default("15ms").source("3GPP TR 38.838"),
        decode: Time = viewer::DECODE,
        refresh: u32 = viewer::REFRESH,
        input_rate: u32 = inputs::RATE,
        /// IP length of an input.
        input_size: Bytes = Parameter::FIXED.named("input-size").domain(Domain::Bytes(LEAST, MAX_DATAGRAM.get()))
            .default("100B"),
        gesture: Time = inputs::GESTURE,
        pause: Time = inputs::PAUSE,
    }
}

/// IP length of the shortest datagram, in bytes: headers of IPv4 and UDP, and what real hosts write.
const LEAST: u64 = 64;
/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// Rendered video in datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtc {
    /// Variation of the lengths and times of frames.
    pub model: Model,
    /// Mean rate of the video, or the most that it sends.
    pub rate: Rate,
    /// Time from a tick of the frame clock to a frame.
    pub residence: Time,
    /// IP length of a full packet, in bytes.
    pub packet: u64,
    /// Over how much of the frame interval a frame is spread, in thousandths.
    pub pace: u32,
    /// The control of the rate.
    pub control: Control,
    /// Which SCReAM v2.
    pub law: Version,
    /// The display of frames.
    pub viewing: Viewing,
    /// The user's behaviour.
    pub acting: Acting,
    /// IP length of an input.
    pub input_size: Bytes,
}

impl ApplicationKind for Rtc {
    const NAME: &'static str = "rtc";
    const SUMMARY: &'static str =
        "interactive video in datagrams, such as cloud gaming and video calls";
    const EXAMPLE: &'static str = r#"app = { kind = "rtc", model = "gaussian", fps = 60, rate = "8mbit", deviation = 0.105, smallest = 0.5, largest = 1.5, jitter = "2ms", residence = "8ms", packet = "1228B", pace = 0.5, control = "prague-rt", deadline = "15ms", decode = "5ms", refresh = 60, input-rate = 60, input-size = "100B", gesture = "2s", pause = "1s" }"#;
    const MORE_EXAMPLES: &'static [&'static str] = &[
        r#"app = { kind = "rtc", model = "rfc8593", fps = 30, rate = "1mbit", scale = 0.15, burst = "13500B", transient = 8 }"#,
        r#"app = { kind = "rtc", fps = 50, rate = "50mbit", control = "scream", law = "draft" }"#,
    ];
    const PRESETS: &'static [PresetSettings] = &[
        PresetSettings {
            name: "cloud-gaming",
            summary: "3GPP TR 38.838: 60 frames/s, 30 Mbit/s (also 8 and 45), jitter of 2 ms, a delay budget of 15 ms (also 10 and 30)",
            settings: &[
                ("model", "gaussian"),
                ("fps", "60"),
                ("rate", "30mbit"),
                ("jitter", "2ms"),
                ("deadline", "15ms"),
            ],
        },
        PresetSettings {
            name: "video-call",
            summary: "the live encoder of RFC 8593 with its defaults: 30 frames/s, 1 Mbit/s",
            settings: &[
                ("model", "rfc8593"),
                ("fps", "30"),
                ("rate", "1mbit"),
                ("deadline", "100ms"),
            ],
        },
        PresetSettings {
            name: "antler-vbr",
            summary: "vbrudp of heistp/antler without its voice: eight packets of 900 B at once, each 50 ms",
            settings: &[
                ("model", "gaussian"),
                ("fps", "20"),
                ("rate", "1.152mbit"),
                ("deviation", "0"),
                ("jitter", "0s"),
                ("residence", "0s"),
                ("packet", "928B"),
                ("pace", "0"),
                ("deadline", "100ms"),
            ],
        },
    ];
    const EVENTS: &'static [EventInfo] = FRAMES;
    type Parameters = Parameters;
    type End = Ends<Box<Server>, Box<Client>>;
    type Report = VideoReport;

    fn check(parameters: &Parameters) -> Result<(), ParameterError> {
        let rtc = Self::new(*parameters);
        let most = MOST_PACKETS * rtc.payload();
        if rtc.longest() > most {
            return Err(ParameterError::new(
                name_of!(Parameters, rate),
                parameters.rate,
                format!(
                    "is too much for {} frames per second: a frame has at most {MOST_PACKETS} packets",
                    parameters.fps
                ),
            ));
        }
        if parameters.control == Control::PragueRt && parameters.pace == 0 {
            return Err(ParameterError::new(
                name_of!(Parameters, pace),
                0,
                "must be above 0 with control = \"prague-rt\", which sends at a rate",
            ));
        }
        Ok(())
    }
    fn new(parameters: Parameters) -> Self {
        Self {
            model: match parameters.model {
                Encoder::Gaussian => Model::Gaussian {
                    sizes: FrameSizes {
                        deviation: parameters.deviation,
                        smallest: parameters.smallest,
                        largest: parameters.largest,
                    },
                    jitter: parameters.jitter,
                },
                Encoder::Rfc8593 => Model::Encoder {
                    scale: parameters.scale,
                    burst: parameters.burst.get(),
                    transient: parameters.transient,
                },
            },
            rate: parameters.rate,
            residence: parameters.residence,
            packet: parameters.packet.get(),
            pace: parameters.pace,
            control: parameters.control,
            law: parameters.law,
            viewing: Viewing {
                fps: parameters.fps,
                deadline: parameters.deadline,
                decode: parameters.decode,
                refresh: parameters.refresh,
            },
            acting: Acting {
                rate: parameters.input_rate,
                gesture: parameters.gesture,
                pause: parameters.pause,
            },
            input_size: parameters.input_size,
        }
    }
    fn end(&self, role: Role, mut random: Random) -> Self::End {
        // Both ends draw these in the same order, so that no parameter of one moves the other.
        let mut stream = |purpose| Random::new(random.u64(), purpose);
        let (clock, size, time) = (stream("clock"), stream("size"), stream("time"));
        let (input, display) = (stream("input"), stream("display"));
        match role {
            Role::Sender => Ends::Sender(Box::new(Server::new(self, clock, (size, time)))),
            Role::Receiver => Ends::Receiver(Box::new(Client::new(self, input, display))),
        }
    }
    fn change(&self, end: &mut Self::End, at: Time) {
        if let Ends::Sender(server) = end {
            server.change(at, self);
        }
    }
    fn responds(&self) -> bool {
        self.control != Control::None
    }
    fn datagrams(&self) -> Option<Datagrams> {
        let packets = (self.mean() / self.payload() + 1) * u64::from(self.viewing.fps);
        let often = packets.max(u64::from(self.acting.rate));
        Some(Datagrams {
            size: Bytes::new(self.packet).max(self.input_size),
            least: Bytes::new(LEAST),
            interval: Interval {
                mean: beat(1, u32::try_from(often).unwrap_or(u32::MAX)),
                stddev: Time::ZERO,
            },
            both_ways: true,
            content: true,
        })
    }
}

impl Rtc {
    /// Bytes of a frame in a full packet.
    const fn payload(&self) -> u64 {
        self.packet - HEADERS
    }
    /// The mean length of a frame.
    fn mean(&self) -> u64 {
        mean_size(self.rate, self.viewing.fps).max(1)
    }
    /// The greatest length of a frame.
    fn longest(&self) -> u64 {
        match self.model {
            Model::Gaussian { sizes, .. } => self.mean() * u64::from(sizes.largest) / 1_000,
            Model::Encoder { burst, .. } => 2 * self.mean().max(burst),
        }
    }
    /// Over how much time a frame is spread.
    fn budget(&self) -> Time {
        beat(1, self.viewing.fps) * u64::from(self.pace) / 1_000
    }
}

#[cfg(test)]
mod tests;
