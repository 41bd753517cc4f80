//! The end that acts, looks, and answers packets.

use std::collections::VecDeque;

use quell_units::{Bytes, Ecn, Random, Time};

use super::{Control, HEADERS, LEAST, Rtc};
use crate::video::inputs::Inputs;
use crate::video::packets::{FramePacket, FromUser};
use crate::video::prague::Echo;
use crate::video::report::VideoReport;
use crate::video::viewer::{Seen, Viewer};
use crate::{Action, Application, Content, Input, Outcome};

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

/// The end that acts and looks.
#[derive(Debug, Clone)]
pub struct Client {
    input_size: Bytes,
    answers: bool,
    inputs: Inputs,
    viewer: Viewer,
    /// In the order of their numbers.
    arriving: VecDeque<Arriving>,
    /// What the server had skipped up to the newest frame of which anything arrived.
    skipped: u32,
    seen: Echo,
}

impl Client {
    pub(super) fn new(rtc: &Rtc, input: Random, display: Random) -> Self {
        Self {
            input_size: rtc.input_size,
            answers: rtc.control != Control::None,
            inputs: Inputs::new(rtc.acting, input),
            viewer: Viewer::new(rtc.viewing, display),
            arriving: VecDeque::with_capacity(ARRIVING + 1),
            skipped: 0,
            seen: Echo::default(),
        }
    }

    fn act(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some(number) = self.inputs.take(now) {
            actions.push(Action::Datagram {
                size: self.input_size,
                content: FromUser::Input(number).pack(),
            });
        }
        actions.push(Action::WakeAt(self.inputs.due().unwrap_or(Time::MAX)));
    }

    fn answer(&mut self, sequence: u64, sent: Time, ecn: Ecn, actions: &mut Vec<Action>) {
        self.seen = Echo {
            sent,
            received: self.seen.received + 1,
            marked: self.seen.marked + u64::from(ecn == Ecn::Ce),
            expected: self.seen.expected.max(sequence + 1),
        };
        if self.answers {
            actions.push(Action::Datagram {
                size: Bytes::new(LEAST),
                content: FromUser::Echo(self.seen).pack(),
            });
        }
    }

    fn take(
        &mut self,
        now: Time,
        (sent, size, content): (Time, Bytes, Content),
        actions: &mut Vec<Action>,
    ) {
        let expected = self.viewer.expected();
        let packet = FramePacket::unpack(content, expected, self.inputs.newest());
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
            };
            self.viewer.see(seen, &mut self.inputs, actions);
        }
    }

    /// Where the frame of a packet stands among those of which a part has arrived.
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
                self.answer(sequence, sent, ecn, actions);
                self.take(now, (sent, size, content), actions);
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
