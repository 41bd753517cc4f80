//! The end that renders and sends packets.

use std::collections::VecDeque;

use quell_units::{Bytes, Random, Time};

use super::{Control, HEADERS, LEAST, Rtc};
use crate::timed_value::TimedValue;
use crate::video::frames::{Frame, Renderer};
use crate::video::packets::{FramePacket, FromUser};
use crate::video::prague::{Echo, Prague};
use crate::video::report::VideoReport;
use crate::video::scream::Scream;
use crate::video::scream::reports::Report;
use crate::video::source::Source;
use crate::{Action, Application, Content, Input};

/// The least rate that SCReAM gives, in bits per second: that of Prague.
const LEAST_RATE: u64 = 100_000;

/// A frame that is leaving.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    frame: Frame,
    /// Time from the arrival of its input to its first packet.
    hold: Time,
    /// Frames that were skipped before it.
    skipped: u32,
    packets: u64,
    sent: u64,
    /// Departure of the next packet.
    at: Time,
}

/// The control that decides when a frame may leave, and how long the next one is.
#[derive(Debug, Clone)]
enum Gate {
    /// Nothing: a frame is spread over this time, behind those before it.
    Open(Time),
    /// Prague, and for each frame in flight one more than its last packet's sequence number.
    Prague(Box<Prague>, VecDeque<u64>),
    /// SCReAM, which decides for each packet.
    Scream(Box<Scream>),
}

/// The end that renders.
#[derive(Debug, Clone)]
pub struct Server {
    fps: u64,
    /// Mean length of the frames of each tick, in bytes; with a control the most.
    mean: TimedValue<u64>,
    payload: u64,
    renderer: Renderer,
    source: Source,
    gate: Gate,
    /// Frames that are ready and have not begun to leave.
    waiting: VecDeque<Frame>,
    leaving: Option<Leaving>,
    /// The next packet leaves no earlier.
    free: Time,
    /// Packets so far.
    packets: u64,
    /// Frames that were ready, and those of them that were skipped.
    due: u64,
    skipped: u32,
    heard: Echo,
}

impl Server {
    pub(super) fn new(rtc: &Rtc, mut clock: Random, streams: (Random, Random)) -> Self {
        let gate = match rtc.control {
            Control::None => Gate::Open(rtc.budget()),
            Control::PragueRt => {
                let (budget, mean) = (rtc.budget(), rtc.mean());
                let prague = Prague::new(rtc.packet, HEADERS, budget, mean, Time::ZERO);
                Gate::Prague(Box::new(prague), VecDeque::new())
            }
            Control::Scream => {
                let rates = (LEAST_RATE, rtc.rate.as_bps());
                let scream = Scream::new(rtc.payload(), rates, Time::ZERO);
                Gate::Scream(Box::new(scream.of(rtc.law)))
            }
        };
        Self {
            fps: u64::from(rtc.viewing.fps),
            mean: TimedValue::new(rtc.mean()),
            payload: rtc.payload(),
            renderer: Renderer::new(rtc.viewing.fps, &mut clock),
            source: Source::new(rtc.model, rtc.viewing.fps, rtc.residence, streams),
            gate,
            waiting: VecDeque::new(),
            leaving: None,
            free: Time::ZERO,
            packets: 0,
            due: 0,
            skipped: 0,
            heard: Echo::default(),
        }
    }

    pub(super) fn change(&mut self, at: Time, to: &Rtc) {
        self.mean.change(at, to.mean());
    }

    fn work(&mut self, now: Time, actions: &mut Vec<Action>) {
        if let Gate::Prague(prague, flying) = &mut self.gate
            && !flying.is_empty()
            && prague.timeout() <= now
        {
            prague.reset(self.packets, now);
            flying.clear();
        }
        self.render(now);
        self.discard(now);
        let next = loop {
            let Some(leaving) = self.leaving.or_else(|| self.begin(now)) else {
                break Time::MAX;
            };
            let at = self.may_leave(&leaving, now);
            if at > now {
                self.leaving = Some(leaving);
                break at;
            }
            self.send(leaving, now, actions);
        };
        let silence = match &self.gate {
            Gate::Prague(prague, flying) if !flying.is_empty() => prague.timeout(),
            _ => Time::MAX,
        };
        let next = next.min(silence).min(self.renderer.due());
        actions.push(Action::WakeAt(next));
    }

    /// Takes the frames that are ready.
    fn render(&mut self, now: Time) {
        loop {
            let plan = |tick| {
                let mean = self.mean.at(tick);
                let target = match &mut self.gate {
                    Gate::Open(_) => mean,
                    Gate::Prague(prague, _) => {
                        prague.limit(mean);
                        prague.frame().min(mean)
                    }
                    Gate::Scream(scream) => {
                        scream.limit(mean * 8 * self.fps);
                        (scream.target() / 8 / self.fps).clamp(1, mean)
                    }
                };
                self.source.draw(tick, target)
            };
            let Some(frame) = self.renderer.ready(now, plan) else {
                return;
            };
            self.due += 1;
            let waits = self.waits(now);
            match &mut self.gate {
                Gate::Open(_) => {}
                Gate::Prague(..) => {
                    if self.waiting.pop_front().is_some() {
                        self.skipped = self.skipped.wrapping_add(1);
                    }
                }
                Gate::Scream(scream) => scream.frame(frame.size, waits, now),
            }
            self.waiting.push_back(frame);
        }
    }

    /// For how long the oldest frame that has not left to the end has been ready.
    fn waits(&self, now: Time) -> Time {
        let leaving = self.leaving.as_ref().map(|leaving| leaving.frame.ready);
        let waiting = self.waiting.front().map(|frame| frame.ready);
        leaving.or(waiting).map_or(Time::ZERO, |ready| now - ready)
    }

    /// SCReAM discards a queue that is too old: the frame that is leaving is lost, and the others are skipped.
    fn discard(&mut self, now: Time) {
        let waits = self.waits(now);
        if let Gate::Scream(scream) = &mut self.gate
            && scream.discards(waits, now)
        {
            let unbegun = self.leaving.take().filter(|leaving| leaving.sent == 0);
            let skipped = self.waiting.len() + usize::from(unbegun.is_some());
            self.skipped = self.skipped.wrapping_add(skipped as u32);
            self.waiting.clear();
        }
    }

    /// Earliest departure of the next packet of a frame, as far as is known.
    fn may_leave(&mut self, leaving: &Leaving, now: Time) -> Time {
        if let Gate::Scream(scream) = &mut self.gate
            && leaving.at <= now
            && !scream.may_send(leaving.frame.size.div_ceil(leaving.packets))
        {
            if scream.timeout() > now {
                return scream.timeout();
            }
            scream.forget();
        }
        leaving.at
    }

    /// The next frame, if it may leave.
    fn begin(&mut self, now: Time) -> Option<Leaving> {
        if let Gate::Prague(prague, flying) = &self.gate
            && flying.len() as u64 >= prague.frames()
        {
            return None;
        }
        let frame = self.waiting.pop_front()?;
        Some(Leaving {
            frame,
            hold: Time::ZERO,
            skipped: self.skipped,
            packets: frame.size.div_ceil(self.payload).max(1),
            sent: 0,
            at: self.free.max(frame.ready).max(match self.gate {
                Gate::Open(_) => Time::ZERO,
                // It may have waited for an answer.
                Gate::Prague(..) | Gate::Scream(_) => now,
            }),
        })
    }

    /// One packet leaves.
    fn send(&mut self, mut leaving: Leaving, now: Time, actions: &mut Vec<Action>) {
        let Leaving { frame, packets, .. } = leaving;
        if leaving.sent == 0 {
            leaving.hold = now - frame.input.1;
        }
        let longer = u64::from(leaving.sent < frame.size % packets);
        let size = (frame.size / packets + longer + HEADERS).max(LEAST);
        let packet = FramePacket {
            number: frame.number,
            count: packets as u32,
            input: frame.input.0,
            skipped: leaving.skipped,
            hold: leaving.hold,
            age: now - frame.ready,
            is_last: leaving.sent + 1 == packets,
        };
        actions.push(Action::Datagram {
            size: Bytes::new(size),
            content: packet.pack(),
        });
        self.packets += 1;
        leaving.sent += 1;
        leaving.at = match &mut self.gate {
            Gate::Open(budget) => leaving.at + *budget / packets,
            Gate::Prague(prague, _) => leaving.at + prague.gap(size),
            Gate::Scream(scream) => {
                scream.send(size - HEADERS, now);
                // It may have waited for a report.
                now + scream.gap(size - HEADERS)
            }
        };
        self.free = leaving.at;
        self.leaving = (leaving.sent < packets).then_some(leaving);
        if let (None, Gate::Prague(_, flying)) = (self.leaving, &mut self.gate) {
            flying.push_back(self.packets);
        }
    }

    /// The user's end answers packets.
    fn hear(&mut self, content: Content, now: Time) {
        match &mut self.gate {
            Gate::Open(_) => {}
            Gate::Prague(prague, flying) => {
                let FromUser::Echo(echo) = FromUser::unpack(content, &self.heard) else {
                    return;
                };
                self.heard = echo;
                prague.hear(echo, self.packets, now);
                while flying.front().is_some_and(|end| *end <= echo.expected) {
                    flying.pop_front();
                }
            }
            Gate::Scream(scream) => {
                let report = Report::unpack(content, scream.last(), now);
                scream.hear(report, now);
            }
        }
    }
}

impl Application for Server {
    type Report = VideoReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => self.renderer.start(now),
            Input::Wake => {}
            Input::Datagram { content, .. } => match FromUser::unpack(content, &self.heard) {
                FromUser::Input(number) => return self.renderer.take_input(number, now),
                FromUser::Echo(_) => self.hear(content, now),
            },
            _ => return,
        }
        self.work(now, actions);
    }

    fn sent(&self) -> u64 {
        self.due
    }
}
