//! A picture that a server renders for one user, over one TCP connection: the panoramic video of the
//! DualQ demonstrations, of which the user moves the view.
//!
//! The user's end opens the connection and sends a message per input. The server's frame clock begins
//! when the connection is up; [`video`](crate::video) says what happens to an input from then on.
//!
//! A frame is two messages, together as long as the frame: a header that says which frame it is and
//! when it was handed to the transport, and one with the picture, which says what input it shows and
//! how long the server had that.
//!
//! With `late = "skip"` the server hands over a frame only when all of the earlier one has left
//! ([`Action::WhenSent`]). Of the frames that are ready before that, the newest waits, and takes the place
//! of an older one, which is left out whole. So a transport that is too slow costs frames and not time.
//! With `late = "queue"` every frame is handed over when it is ready, and waits in the sender.

use quell_units::parameter::Domain;
use quell_units::{Bytes, Parameter, Random, Rate, Time, parameters, words};

use crate::timed_value::TimedValue;
use crate::video::frames::{self, Frame, FrameSizes, PlannedFrame, Renderer, mean_size};
use crate::video::inputs::{self, Acting, Inputs};
use crate::video::report::VideoReport;
use crate::video::viewer::{self, FRAMES, Seen, Viewer, Viewing};
use crate::{
    Action, Application, ApplicationKind, Carrier, ConnectionId, Data, Ends, EventInfo, Input,
    Message, PresetSettings, Role, Session,
};

words! {
    /// Treatment of a frame that is ready before the earlier one has left.
    pub enum Late {
        /// It waits until the next one is ready, and is left out then.
        Skip = "skip",
        /// It waits in the sender.
        Queue = "queue",
    }
}

parameters! {
    /// The parameters of a panorama.
    pub struct Parameters {
        fps: u32 = frames::FPS.default("30"),
        rate: Rate = frames::RATE.default("4mbit"),
        deviation: u32 = frames::DEVIATION,
        smallest: u32 = frames::SMALLEST,
        largest: u32 = frames::LARGEST,
        residence: Time = frames::RESIDENCE.default("8ms"),
        /// What becomes of a frame that is ready before all of the earlier one has left: left out as soon as a newer
        /// one is ready, or kept in the sender.
        late: Late = Parameter::FIXED.default("skip"),
        deadline: Time = viewer::DEADLINE.default("100ms"),
        decode: Time = viewer::DECODE,
        refresh: u32 = viewer::REFRESH,
        input_rate: u32 = inputs::RATE,
        /// Payload of an input.
        input_size: Bytes = Parameter::FIXED.named("input-size").domain(Domain::Bytes(Message::HEADER, 1_400))
            .default("100B"),
        gesture: Time = inputs::GESTURE,
        pause: Time = inputs::PAUSE,
    }
}

/// Rendered video over one TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panorama {
    /// Mean rate of the video.
    pub rate: Rate,
    /// Variation of the lengths of frames.
    pub sizes: FrameSizes,
    /// Time from a tick of the frame clock to a frame.
    pub residence: Time,
    /// Treatment of a frame that cannot leave.
    pub late: Late,
    /// The display of frames.
    pub viewing: Viewing,
    /// The user's behaviour.
    pub acting: Acting,
    /// Payload of an input.
    pub input_size: Bytes,
}

impl ApplicationKind for Panorama {
    const NAME: &'static str = "panorama";
    const SUMMARY: &'static str =
        "interactive video that a server renders for its user, over one TCP connection";
    const EXAMPLE: &'static str = r#"app = { kind = "panorama", fps = 30, rate = "4mbit", deviation = 0.105, smallest = 0.5, largest = 1.5, residence = "8ms", late = "skip", deadline = "100ms", decode = "5ms", refresh = 60, input-rate = 60, input-size = "100B", gesture = "2s", pause = "1s" }"#;
    const PRESETS: &'static [PresetSettings] = &[
        PresetSettings {
            name: "panorama",
            summary: "one view of the DualQ demonstrations: 4 Mbit/s, here at 30 frames/s",
            settings: &[("fps", "30"), ("rate", "4mbit")],
        },
        PresetSettings {
            name: "panorama-full",
            summary: "the whole 7K panorama of them, 30 Mbit/s: what rendering a view avoids",
            settings: &[("fps", "30"), ("rate", "30mbit")],
        },
    ];
    const EVENTS: &'static [EventInfo] = FRAMES;
    type Parameters = Parameters;
    type End = Ends<Box<Server>, Box<Client>>;
    type Report = VideoReport;

    fn new(parameters: Parameters) -> Self {
        Self {
            rate: parameters.rate,
            sizes: FrameSizes {
                deviation: parameters.deviation,
                smallest: parameters.smallest,
                largest: parameters.largest,
            },
            residence: parameters.residence,
            late: parameters.late,
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
        let (clock, size, input, display) = (
            stream("clock"),
            stream("size"),
            stream("input"),
            stream("display"),
        );
        match role {
            Role::Sender => Ends::Sender(Box::new(Server::new(self, clock, size))),
            Role::Receiver => Ends::Receiver(Box::new(Client::new(self, input, display))),
        }
    }
    fn change(&self, end: &mut Self::End, at: Time) {
        if let Ends::Sender(server) = end {
            server.mean.change(at, self.mean());
        }
    }
    fn session(&self) -> Option<Session> {
        Some(Session {
            opener: Role::Receiver,
            framed: true,
            connections: 1,
        })
    }
}

impl Panorama {
    /// The mean length of a frame, in bytes.
    fn mean(&self) -> u64 {
        mean_size(self.rate, self.viewing.fps)
    }
}

const ONLY: ConnectionId = ConnectionId::ONLY;

/// The kind of a message.
mod kind {
    /// An input; its number in [`Message::stream`](crate::Message::stream).
    pub(super) const INPUT: u8 = 1;
    /// The beginning of a frame: its number, and in `reply` the time of its hand-over.
    pub(super) const FRAME: u8 = 2;
    /// The rest of it: the newest input that it shows, and in `reply` the times of [`super::Held`].
    pub(super) const PICTURE: u8 = 3;
}

/// The shortest frame: its two headers.
const SHORTEST: u64 = 2 * Message::HEADER;

/// Two times in one number of 64 bits. What is longer counts as the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    /// Time from the arrival of the input to the hand-over of the frame: up to 17 s.
    input: Time,
    /// Time from the end of rendering to the hand-over: up to 1.07 s, which is longer than an interval
    /// between frames. A skipped one does not wait longer than that, and a queued one does not wait.
    frame: Time,
}

impl Held {
    const FRAME_BITS: u32 = 30;

    fn pack(self) -> u64 {
        let most = |bits: u32| (1_u64 << bits) - 1;
        let input = self.input.as_nanos().min(most(64 - Self::FRAME_BITS));
        let frame = self.frame.as_nanos().min(most(Self::FRAME_BITS));
        input << Self::FRAME_BITS | frame
    }
    fn unpack(packed: u64) -> Self {
        Self {
            input: Time::from_nanos(packed >> Self::FRAME_BITS),
            frame: Time::from_nanos(packed & ((1 << Self::FRAME_BITS) - 1)),
        }
    }
}

/// The end that renders.
#[derive(Debug, Clone)]
pub struct Server {
    /// Mean length of the frames of each tick, in bytes.
    mean: TimedValue<u64>,
    sizes: FrameSizes,
    residence: Time,
    late: Late,
    renderer: Renderer,
    random: Random,
    is_up: bool,
    /// A frame has been handed over and has not left; only for [`Late::Skip`].
    is_leaving: bool,
    /// The frame that follows it.
    waiting: Option<Frame>,
    /// Frames that were ready.
    due: u64,
}

impl Server {
    fn new(panorama: &Panorama, mut clock: Random, random: Random) -> Self {
        Self {
            mean: TimedValue::new(panorama.mean()),
            sizes: panorama.sizes,
            residence: panorama.residence,
            late: panorama.late,
            renderer: Renderer::new(panorama.viewing.fps, &mut clock),
            random,
            is_up: false,
            is_leaving: false,
            waiting: None,
            due: 0,
        }
    }

    fn work(&mut self, now: Time, actions: &mut Vec<Action>) {
        loop {
            let plan = |tick| {
                let size = self.sizes.draw(self.mean.at(tick), &mut self.random);
                PlannedFrame {
                    takes: self.residence,
                    size: size.max(SHORTEST),
                    longer: 0,
                }
            };
            let Some(frame) = self.renderer.ready(now, plan) else {
                break;
            };
            self.due += 1;
            if !self.is_up {
                continue;
            }
            match self.late {
                Late::Skip if self.is_leaving => self.waiting = Some(frame),
                _ => self.hand_over(frame, now, actions),
            }
        }
        actions.push(Action::WakeAt(self.renderer.due()));
    }

    fn hand_over(&mut self, frame: Frame, now: Time, actions: &mut Vec<Action>) {
        let (input, arrived) = frame.input;
        let held = Held {
            input: now - arrived,
            frame: now - frame.ready,
        };
        let header = Message::HEADER;
        let begin = Message::new(header, kind::FRAME, frame.number, now.as_nanos());
        let rest = Message::new(frame.size - header, kind::PICTURE, input, held.pack());
        actions.push(Action::Send(ONLY, Data::Message(begin)));
        actions.push(Action::Send(ONLY, Data::Message(rest)));
        if self.late == Late::Skip {
            self.is_leaving = true;
            actions.push(Action::WhenSent(ONLY));
        }
    }
}

impl Application for Server {
    type Report = VideoReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Opened { .. } => {
                self.is_up = true;
                self.renderer.start(now);
                self.work(now, actions);
            }
            Input::Wake => self.work(now, actions),
            Input::Message { message, .. } if message.kind == kind::INPUT => {
                self.renderer.take_input(message.stream, now);
            }
            Input::Sent { .. } => {
                self.is_leaving = false;
                if let Some(frame) = self.waiting.take() {
                    self.hand_over(frame, now, actions);
                }
            }
            Input::Failed { .. } | Input::Ended { .. } | Input::Closed { .. } => {
                self.is_up = false;
                self.is_leaving = false;
                self.waiting = None;
            }
            _ => {}
        }
    }

    fn sent(&self) -> u64 {
        self.due
    }
}

/// Time from the failure of a connection to the next attempt.
const RETRY: Time = Time::from_secs(1);

/// A frame of which a part has arrived.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    seen: Seen,
    handed: Time,
    /// Bytes of the picture that have not arrived; `None` before its header.
    left: Option<u64>,
}

/// The end that acts and looks.
#[derive(Debug, Clone)]
pub struct Client {
    input_size: u64,
    inputs: Inputs,
    viewer: Viewer,
    /// Whether the connection is up.
    is_up: bool,
    /// Time of the next attempt while it is not.
    retry: Option<Time>,
    arriving: Option<Arriving>,
}

impl Client {
    fn new(panorama: &Panorama, input: Random, display: Random) -> Self {
        Self {
            input_size: panorama.input_size.get(),
            inputs: Inputs::new(panorama.acting, input),
            viewer: Viewer::new(panorama.viewing, Carrier::Connection(ONLY), display),
            is_up: false,
            retry: None,
            arriving: None,
        }
    }

    /// The user goes on acting while there is no connection, to no effect.
    fn act(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some(number) = self.inputs.take(now) {
            if self.is_up {
                let message = Message::new(self.input_size, kind::INPUT, number, 0);
                actions.push(Action::Send(ONLY, Data::Message(message)));
            }
        }
        if self.retry.is_some_and(|at| at <= now) {
            self.retry = None;
            // Of a connection that does not exist yet.
            self.viewer.note(actions);
            actions.push(Action::Open(ONLY));
        }
        let act = self.inputs.due().unwrap_or(Time::MAX);
        actions.push(Action::WakeAt(self.retry.unwrap_or(Time::MAX).min(act)));
    }

    fn header(&mut self, now: Time, message: Message, actions: &mut Vec<Action>) {
        match (message.kind, &mut self.arriving) {
            (kind::FRAME, arriving) => {
                let handed = Time::from_nanos(message.reply);
                let seen = Seen {
                    number: message.stream,
                    input: 0,
                    hold: Time::ZERO,
                    ready: handed,
                    first: now,
                    last: now,
                    size: Message::HEADER,
                    wait: None,
                };
                *arriving = Some(Arriving {
                    seen,
                    handed,
                    left: None,
                });
            }
            (kind::PICTURE, Some(arriving)) => {
                let held = Held::unpack(message.reply);
                arriving.seen.input = message.stream;
                arriving.seen.hold = held.input;
                arriving.seen.ready = arriving.handed - held.frame;
                arriving.seen.wait = Some(held.frame);
                arriving.seen.size += message.length;
                arriving.left = Some(message.body());
                self.body(now, 0, actions);
            }
            _ => {}
        }
    }

    fn body(&mut self, now: Time, count: u64, actions: &mut Vec<Action>) {
        let Some(arriving) = &mut self.arriving else {
            return;
        };
        let Some(left) = &mut arriving.left else {
            return;
        };
        *left = left.saturating_sub(count);
        if *left == 0 {
            arriving.seen.last = now;
            let seen = arriving.seen;
            self.arriving = None;
            self.viewer.see(seen, &mut self.inputs, actions);
        }
    }
}

impl Application for Client {
    type Report = VideoReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => actions.push(Action::Open(ONLY)),
            Input::Opened { .. } => {
                self.is_up = true;
                self.inputs.start(now);
                self.act(now, actions);
            }
            Input::Wake => self.act(now, actions),
            Input::Message { message, .. } => self.header(now, message, actions),
            Input::Bytes { count, .. } => self.body(now, count, actions),
            Input::Failed { .. } | Input::Ended { .. } | Input::Closed { .. } => {
                self.is_up = false;
                self.arriving = None;
                if matches!(input, Input::Failed { .. }) {
                    self.retry = Some(now + RETRY);
                    self.act(now, actions);
                }
            }
            _ => {}
        }
    }

    fn advance(&mut self, now: Time) {
        self.viewer.advance(now);
    }

    fn start_counting(&mut self, sent: u64) {
        self.viewer.start_counting(sent);
    }

    fn report(&self, sent: u64) -> Option<VideoReport> {
        Some(self.viewer.report(sent))
    }
}

#[cfg(test)]
mod tests;
