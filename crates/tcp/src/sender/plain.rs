//! What is usual has a shorter way, which leads where the long one does: two copies of a sender, of which one knows only the long way, meet
//! the same peer.

use std::collections::VecDeque;

use proptest::prelude::*;
use quell_units::{Bytes, Ecn, Time};

use super::Sender;
use crate::Receiver;
use crate::cc::{CcConfig, KINDS};
use crate::config::{ReceiveBuffer, ReceiverConfig, SenderConfig};
use crate::ecn::{Codepoint, EcnMode};
use crate::segment::Segment;
use crate::ticks::Ticks;

/// A connection through a path that loses, marks and reorders.
struct Twins {
    now: Time,
    usual: Sender,
    long: Sender,
    receiver: Receiver,
    data: VecDeque<Segment>,
    acks: VecDeque<Segment>,
    /// What a host takes at a time, so that more happens before the rest of a burst has left.
    most: usize,
}

impl Twins {
    fn new(sender: &SenderConfig, receiver: &ReceiverConfig) -> Self {
        let usual = Sender::new(sender);
        let mut long = usual.clone();
        long.takes_all_as_unusual = true;
        let mut twins = Self {
            now: Time::from_millis(1),
            usual,
            long,
            receiver: Receiver::new(receiver),
            data: VecDeque::new(),
            acks: VecDeque::new(),
            most: usize::MAX,
        };
        twins.both(Sender::open);
        twins
    }

    fn both(&mut self, act: impl Fn(&mut Sender, Time)) {
        act(&mut self.usual, self.now);
        act(&mut self.long, self.now);
        for _ in 0..self.most {
            let segment = self.usual.poll(self.now);
            assert_eq!(self.long.poll(self.now), segment);
            let Some(segment) = segment else { break };
            self.data.push_back(segment);
        }
        self.compare();
    }

    /// All that they know is the same.
    fn compare(&self) {
        let mut long = self.long.clone();
        long.takes_all_as_unusual = false;
        assert_eq!(format!("{:?}", self.usual), format!("{long:?}"));
    }

    fn answer(&mut self) {
        while let Some(ack) = self.receiver.poll(self.now) {
            self.acks.push_back(ack);
        }
    }

    /// One step, chosen by `kind`; `draw` decides what befalls a packet.
    fn step(&mut self, kind: u8, draw: u16) {
        self.now += Time::from_micros(u64::from(draw % 700));
        self.most = if draw.is_multiple_of(3) {
            usize::from(draw % 7)
        } else {
            usize::MAX
        };
        match kind {
            0..=6 => {
                let at = usize::from(draw.is_multiple_of(13) && self.data.len() > 2);
                let Some(mut segment) = self.data.remove(at) else {
                    return;
                };
                if draw.is_multiple_of(41) {
                    return;
                }
                if draw.is_multiple_of(23) && segment.ecn.is_capable() {
                    segment.ecn = Ecn::Ce;
                }
                self.receiver.on_segment(&segment, self.now);
                self.answer();
            }
            7..=12 => {
                let at = usize::from(draw.is_multiple_of(17) && self.acks.len() > 2);
                if let Some(ack) = self.acks.remove(at).filter(|_| !draw.is_multiple_of(37)) {
                    self.both(|sender, now| sender.on_segment(&ack, now));
                }
            }
            13 => {
                let sends = self.usual.next_timer();
                assert_eq!(sends, self.long.next_timer());
                let due = [sends, self.receiver.next_timer()];
                self.now = due
                    .into_iter()
                    .flatten()
                    .min()
                    .map_or(self.now, |due| due.max(self.now));
                self.receiver.on_timer(self.now);
                self.answer();
                self.both(Sender::on_timer);
            }
            14 => self.both(|sender, _| sender.write(u64::from(draw) * 40)),
            15 => self
                .both(|sender, _| sender.set_local_queue(Bytes::new(u64::from(draw % 3) * 9_000))),
            _ if draw.is_multiple_of(50) => self.both(|sender, _| sender.close()),
            _ => self.both(|sender, _| sender.write_endless()),
        }
    }
}

fn ecn() -> impl Strategy<Value = EcnMode> {
    prop_oneof![
        3 => Just(EcnMode::Off),
        1 => Just(EcnMode::Classic(Codepoint::Ect0)),
        1 => Just(EcnMode::Dctcp(Codepoint::Ect1)),
        1 => Just(EcnMode::Accurate(Codepoint::Ect1)),
    ]
}

proptest! {
    #[test]
    fn shorter_ways_lead_where_the_long_one_does(
        kind in 0..KINDS.len(),
        ecn in ecn(),
        (gso, pacing, endless) in any::<(bool, bool, bool)>(),
        hz in prop::sample::select(vec![0_u32, 250, 1_000]),
        window in prop::sample::select(vec![0_u64, 20_000, 1 << 30]),
        steps in prop::collection::vec((0_u8..18, any::<u16>()), 100..600),
    ) {
        let control = CcConfig::new(KINDS[kind].name, &[]).unwrap().unwrap();
        let ticks = if hz == 0 { Ticks::EXACT } else { Ticks::new(hz, Time::from_micros(321)) };
        let mut sender = SenderConfig::new(control);
        (sender.ecn, sender.gso, sender.pacing, sender.ticks) = (ecn, gso, Some(pacing), ticks);
        let mut receiver = ReceiverConfig::new(ecn);
        receiver.ticks = ticks;
        receiver.window = Bytes::new(window);
        receiver.buffer = (window == 0).then_some(ReceiveBuffer { initial: Bytes::new(131_072), most: Bytes::new(6 << 20) });
        let mut twins = Twins::new(&sender, &receiver);
        if endless {
            twins.both(|sender, _| sender.write_endless());
        }
        for (kind, draw) in steps {
            twins.step(kind, draw);
        }
    }
}
