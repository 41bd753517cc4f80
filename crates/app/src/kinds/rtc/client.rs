//! The end that acts, looks, and answers packets.

use std::collections::VecDeque;

use quell_units::{Bytes, Ecn, Random, Time};

use super::{Control, HEADERS, LEAST, Rtc};
use crate::video::inputs::Inputs;
use crate::video::packets::{FramePacket, FromUser};
use crate::video::prague::Echo;
use crate::video::report::VideoReport;
use crate::video::scream::reports::{REPORT, Report, Reports};
use crate::video::viewer::{Seen, Viewer};
use crate::{Action, Application, Carrier, Input, Outcome};

/// More frames of which a part has arrived than this, and the oldest is lost.
const ARRIVING: usize = 8;

/// A frame of which a part has arrived.
#[derive(Debug, Clone, Copy)]
struct Arriving {
    packet: FramePacket,
    ready: Time,
    first: Time,
    /// Packets that have arrived, and their bytes.
    packets: u32,
    bytes: u64,
}

/// The client's answers to packets.
#[derive(Debug, Clone)]
enum Answers {
    /// Not at all.
    None,
    /// Each of them, with what it has seen.
    Each(Echo),
    /// Whether it sends reports.
    Reports(Box<Reports>),
}

/// The end that acts and looks.
#[derive(Debug, Clone)]
pub struct Client {
    input_size: Bytes,
    answers: Answers,
    inputs: Inputs,
    viewer: Viewer,
    /// Frames in the order of their numbers.
    arriving: VecDeque<Arriving>,
    /// Number of frames that the server had skipped before the newest frame of which anything arrived.
    skipped: u32,
}

impl Client {
    pub(super) fn new(rtc: &Rtc, input: Random, display: Random) -> Self {
        Self {
            input_size: rtc.input_size,
            answers: match rtc.control {
                Control::None => Answers::None,
                Control::PragueRt => Answers::Each(Echo::default()),
                Control::Scream => Answers::Reports(Box::default()),
            },
            inputs: Inputs::new(rtc.acting, input),
            viewer: Viewer::new(rtc.viewing, Carrier::Nothing, display),
            arriving: VecDeque::with_capacity(ARRIVING + 1),
            skipped: 0,
        }
    }

    fn act(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some(number) = self.inputs.take(now) {
            actions.push(Action::Datagram {
                size: self.input_size,
                content: FromUser::Input(number).pack(),
            });
        }
        let report = match &mut self.answers {
            Answers::Reports(reports) => reports.due(now),
            _ => None,
        };
        Self::report(report, actions);
        self.sleep(actions);
    }

    fn sleep(&mut self, actions: &mut Vec<Action>) {
        let report = match &self.answers {
            Answers::Reports(reports) => reports.deadline(),
            _ => Time::MAX,
        };
        let input = self.inputs.due().unwrap_or(Time::MAX);
        actions.push(Action::WakeAt(input.min(report)));
    }

    fn report(report: Option<Report>, actions: &mut Vec<Action>) {
        if let Some(report) = report {
            actions.push(Action::Datagram {
                size: REPORT,
                content: report.pack(),
            });
        }
    }

    fn answer(
        &mut self,
        now: Time,
        (sequence, sent, ecn): (u64, Time, Ecn),
        is_last: bool,
        actions: &mut Vec<Action>,
    ) {
        match &mut self.answers {
            Answers::None => {}
            Answers::Each(seen) => {
                *seen = Echo {
                    sent,
                    received: seen.received + 1,
                    marked: seen.marked + u64::from(ecn == Ecn::Ce),
                    expected: seen.expected.max(sequence + 1),
                };
                actions.push(Action::Datagram {
                    size: Bytes::new(LEAST),
                    content: FromUser::Echo(*seen).pack(),
                });
            }
            Answers::Reports(reports) => {
                let waited = reports.deadline();
                let report = reports.take((sequence, sent), ecn, is_last, now);
                let is_new = waited == Time::MAX && report.is_none();
                Self::report(report, actions);
                if is_new {
                    self.sleep(actions);
                }
            }
        }
    }

    fn take(
        &mut self,
        now: Time,
        (sent, size): (Time, Bytes),
        packet: FramePacket,
        actions: &mut Vec<Action>,
    ) {
        let expected = self.viewer.expected();
        if packet.number < expected {
            return;
        }
        let place = self.place(packet, sent, now);
        let arriving = &mut self.arriving[place];
        arriving.packets += 1;
        arriving.bytes += size.get().saturating_sub(HEADERS);
        if arriving.packets < packet.count {
            if self.arriving.len() > ARRIVING {
                self.lose(actions);
            }
            return;
        }
        for _ in 0..place {
            self.lose(actions);
        }
        if let Some(arriving) = self.arriving.pop_front() {
            self.reach(&arriving, actions);
            let seen = Seen {
                number: arriving.packet.number,
                input: arriving.packet.input,
                hold: arriving.packet.hold,
                ready: arriving.ready,
                first: arriving.first,
                last: now,
                size: arriving.bytes,
                wait: None,
            };
            self.viewer.see(seen, &mut self.inputs, actions);
        }
    }

    /// Place of a packet's frame among those of which a part has arrived.
    fn place(&mut self, packet: FramePacket, sent: Time, now: Time) -> usize {
        let frames = self.arriving.iter();
        let before = frames.take_while(|frame| frame.packet.number < packet.number);
        let place = before.count();
        let is_there = self.arriving.get(place).map(|frame| frame.packet.number);
        if is_there != Some(packet.number) {
            let arriving = Arriving {
                packet,
                ready: sent - packet.age,
                first: now,
                packets: 0,
                bytes: 0,
            };
            self.arriving.insert(place, arriving);
        }
        place
    }

    /// The oldest frame of which a part has arrived is lost.
    fn lose(&mut self, actions: &mut Vec<Action>) {
        if let Some(arriving) = self.arriving.pop_front() {
            self.reach(&arriving, actions);
            self.viewer.miss(arriving.ready, Outcome::Lost, actions);
        }
    }

    /// Judges the frames before this one, of which nothing has arrived: the server says how many it
    /// skipped, and the others are lost.
    fn reach(&mut self, arriving: &Arriving, actions: &mut Vec<Action>) {
        let number = arriving.packet.number;
        let mut skipped = arriving.packet.skipped_since(self.skipped);
        self.skipped = arriving.packet.skipped;
        while self.viewer.expected() < number {
            let behind = self.viewer.since(self.viewer.expected(), number);
            let outcome = match skipped {
                0 => Outcome::Lost,
                _ => Outcome::Skipped,
            };
            skipped = skipped.saturating_sub(1);
            self.viewer.miss(arriving.ready - behind, outcome, actions);
        }
    }
}

impl Application for Client {
    type Report = VideoReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => {
                self.inputs.start(now);
                self.act(now, actions);
            }
            Input::Wake => self.act(now, actions),
            Input::Datagram {
                sequence,
                sent,
                size,
                ecn,
                content,
            } => {
                let (expected, newest) = (self.viewer.expected(), self.inputs.newest());
                let packet = FramePacket::unpack(content, expected, newest);
                self.answer(now, (sequence, sent, ecn), packet.is_last, actions);
                self.take(now, (sent, size), packet, actions);
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
