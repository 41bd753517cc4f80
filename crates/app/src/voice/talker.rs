//! The packets of one direction of a call.
//!
//! A packet is due at regular intervals while the talker talks. In pauses nothing is sent, or one
//! packet of comfort noise now and then. The plan depends on the random streams alone: a host that is
//! late sends what is due at once.

use quell_units::{Bytes, Interval, Period, Random, Time};

use crate::exponential;
use crate::normal::normal_span;
use crate::{Action, Input};

/// The packets of a talker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speech {
    /// IP length of a packet.
    pub size: Bytes,
    /// Time between packets.
    pub interval: Interval,
    /// Lengths of talk spurts and of pauses; `None` without pauses.
    pub turns: Option<(Period, Period)>,
    /// IP length and spacing of comfort noise in pauses; `None` for silence.
    pub noise: Option<(Bytes, Time)>,
}

impl Speech {
    /// The time between two packets while the talker talks; at least 1 ns.
    pub fn gap(&self) -> Time {
        self.interval.mean.max(Time::from_nanos(1))
    }
}

/// One who talks.
#[derive(Debug, Clone)]
pub(crate) struct Talker {
    speech: Speech,
    spacing: Random,
    turns: Random,
    /// Time of the next packet; `None` before the start.
    due: Option<Time>,
    talks: bool,
    /// End of the present spurt or pause.
    until: Time,
    sent: u64,
}

impl Talker {
    pub(crate) fn new(speech: Speech, spacing: Random, turns: Random) -> Self {
        Self {
            speech,
            spacing,
            turns,
            due: None,
            talks: true,
            until: Time::MAX,
            sent: 0,
        }
    }

    /// Packets that have been sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let due = match (self.due, input) {
            (None, Input::Started) => {
                if let Some((talk, _)) = self.speech.turns {
                    self.until = now + length(talk, &mut self.turns);
                }
                now
            }
            (Some(due), Input::Wake) => due,
            _ => return,
        };
        let next = if due <= now {
            let size = match self.speech.noise {
                Some((size, _)) if !self.talks => size,
                _ => self.speech.size,
            };
            let content = [0; 2];
            actions.push(Action::Datagram { size, content });
            self.sent += 1;
            self.after(due)
        } else {
            due
        };
        self.due = Some(next);
        actions.push(Action::WakeAt(next));
    }

    /// Time of the packet that follows the one of `due`.
    fn after(&mut self, due: Time) -> Time {
        let gap = match self.speech.noise {
            Some((_, spacing)) if !self.talks => spacing,
            _ => {
                let stddev = self.speech.interval.stddev;
                normal_span(self.speech.gap(), stddev, &mut self.spacing)
            }
        };
        let mut next = due + gap;
        let Some((talk, pause)) = self.speech.turns else {
            return next;
        };
        while next >= self.until {
            // The new spurt or pause begins with its own packet.
            next = self.until;
            self.talks = !self.talks;
            let period = if self.talks { talk } else { pause };
            self.until += length(period, &mut self.turns);
            if !self.talks && self.speech.noise.is_none() {
                next = self.until;
            }
        }
        next
    }
}

/// At least 1 µs, so that no turn is lost in the clock.
fn length(period: Period, random: &mut Random) -> Time {
    exponential::draw(period, random).max(Time::from_micros(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEECH: Speech = Speech {
        size: Bytes::new(73),
        interval: Interval {
            mean: Time::from_millis(20),
            stddev: Time::ZERO,
        },
        turns: None,
        noise: None,
    };

    /// Times and sizes of the packets until `end`.
    fn plan(speech: Speech, end: Time) -> Vec<(Time, u64)> {
        let random = |purpose| Random::new(9, purpose);
        let mut talker = Talker::new(speech, random("spacing"), random("turns"));
        let (mut now, mut input) = (Time::from_millis(3), Input::Started);
        let mut packets = Vec::new();
        while now < end {
            let mut actions = Vec::new();
            talker.poll(now, input, &mut actions);
            for action in actions {
                match action {
                    Action::Datagram { size, .. } => packets.push((now, size.get())),
                    Action::WakeAt(at) => (now, input) = (at, Input::Wake),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(talker.sent(), packets.len() as u64);
        packets
    }

    #[test]
    fn who_talks_without_a_pause_sends_at_regular_intervals() {
        let packets = plan(SPEECH, Time::from_secs(10));
        for (number, (at, size)) in packets.iter().enumerate() {
            assert_eq!(*at, Time::from_millis(3 + 20 * number as u64));
            assert_eq!(*size, 73);
        }
    }

    #[test]
    fn spurts_and_pauses_have_their_shares() {
        // ITU-T P.59: 1.004 s of talk and 1.587 s of silence, so 38.7 % of the packets.
        let turns = [1_004, 1_587].map(|ms| Period::exponential(Time::from_millis(ms)));
        let speech = Speech {
            turns: Some((turns[0], turns[1])),
            ..SPEECH
        };
        let end = Time::from_secs(20_000);
        let packets = plan(speech, end).len() as f64;
        // A spurt of length L has ⌈L / 20 ms⌉ packets: half a packet more on average. 7 700 cycles give a
        // deviation of 1.1 %.
        let expected = 20_000.0 / 2.591 * (1.004 / 0.02 + 0.5);
        assert!(
            (packets / expected - 1.0).abs() < 0.04,
            "{packets} {expected}"
        );
    }

    #[test]
    fn comfort_noise_fills_pauses() {
        let second = Period::fixed(Time::from_secs(1));
        let speech = Speech {
            turns: Some((second, second)),
            noise: Some((Bytes::new(47), Time::from_millis(160))),
            ..SPEECH
        };
        let packets = plan(speech, Time::from_millis(2_003));
        let (talk, noise): (Vec<_>, Vec<_>) =
            packets.into_iter().partition(|&(_, size)| size == 73);
        // 0, 20 … 980 ms, and 1 000, 1 160 … 1 960 ms.
        assert_eq!((talk.len(), noise.len()), (50, 7));
        assert_eq!(noise[0].0, Time::from_millis(1_003));
    }
}
