//! A connection over a path in virtual time: fixed delays, and a script that decides the fate of
//! each segment.

// Each test file is a program of its own and uses a part of this one.
#![allow(dead_code)]

pub(crate) mod ecn;
pub(crate) mod observer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

use quell_tcp::{
    CcConfig, EcnMode, Flags, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};
use quell_units::{Bytes, Ecn, Time};

/// What the path does to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    Mark,
    /// Arrives later by so much.
    Delay(Time),
    /// Arrives twice, the second time later by so much.
    Duplicate(Time),
}

/// Decides the fate of a segment: it, its number among those of its direction, the time.
pub(crate) type Script<'a> = Box<dyn FnMut(&Segment, u64, Time) -> Fate + 'a>;

/// See [`Path::meddler`].
pub(crate) type Meddler<'a> = Box<dyn FnMut(&mut Segment, bool) + 'a>;

pub(crate) fn pass<'a>() -> Script<'a> {
    Box::new(|_, _, _| Fate::Pass)
}

/// Drops the data segments with these numbers, counted from 1 as they are sent.
pub(crate) fn drop_data<'a>(numbers: &'a [u64]) -> Script<'a> {
    let mut count = 0;
    Box::new(move |segment, _, _| {
        count += u64::from(segment.payload > 0);
        let is_dropped = segment.payload > 0 && numbers.contains(&count);
        if is_dropped { Fate::Drop } else { Fate::Pass }
    })
}

pub(crate) fn control(name: &str, options: &[(&str, &str)]) -> CcConfig {
    CcConfig::new(name, options)
        .expect("a known control")
        .expect("valid options")
}

pub(crate) struct Path<'a> {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) now: Time,
    pub(crate) rtt: Time,
    pub(crate) forward: Script<'a>,
    pub(crate) backward: Script<'a>,
    /// Looks at each segment before its fate is decided, and may alter it; whether it goes forward.
    pub(crate) meddler: Meddler<'a>,
    /// What left and arrived, in words; `None` keeps no record.
    pub(crate) record: Option<String>,
    queue: BinaryHeap<Reverse<(Time, u64, bool, usize)>>,
    slots: Vec<Segment>,
    free: Vec<usize>,
    order: u64,
    sent: [u64; 2],
    mss: u64,
}

impl<'a> Path<'a> {
    pub(crate) fn new(config: &SenderConfig, rtt: Time) -> Self {
        let receiver = ReceiverConfig {
            ect_scope: config.ect_scope,
            ..ReceiverConfig::new(config.ecn)
        };
        Self::with_receiver(config, &receiver, rtt)
    }
    pub(crate) fn with_receiver(
        config: &SenderConfig,
        receiver: &ReceiverConfig,
        rtt: Time,
    ) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(receiver),
            now: Time::ZERO,
            rtt,
            forward: pass(),
            backward: pass(),
            meddler: Box::new(|_, _| {}),
            record: None,
            queue: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            order: 0,
            sent: [0; 2],
            mss: config.mss.into(),
        }
    }

    fn dispatch(&mut self, mut segment: Segment, is_forward: bool) {
        (self.meddler)(&mut segment, is_forward);
        let direction = usize::from(!is_forward);
        self.sent[direction] += 1;
        let script = if is_forward {
            &mut self.forward
        } else {
            &mut self.backward
        };
        let fate = script(&segment, self.sent[direction], self.now);
        if let Some(mut record) = self.record.take() {
            record.push_str(&self.describe(&segment, fate, is_forward));
            self.record = Some(record);
        }
        let half = self.rtt / 2;
        match fate {
            Fate::Drop => return,
            Fate::Mark if segment.ecn.is_capable() => segment.ecn = Ecn::Ce,
            Fate::Duplicate(later) => self.enqueue(segment, is_forward, half + later),
            _ => {}
        }
        let extra = if let Fate::Delay(extra) = fate {
            extra
        } else {
            Time::ZERO
        };
        self.enqueue(segment, is_forward, half + extra);
    }
    fn enqueue(&mut self, segment: Segment, is_forward: bool, delay: Time) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Segment::default());
            self.slots.len() - 1
        });
        self.slots[slot] = segment;
        self.order += 1;
        self.queue
            .push(Reverse((self.now + delay, self.order, is_forward, slot)));
    }
    /// `20.0 > 4 lost`: at 20 ms the sender sends its fifth segment, which is lost; `<` is an
    /// acknowledgement with its SACK blocks.
    fn describe(&self, segment: &Segment, fate: Fate, is_forward: bool) -> String {
        let mut line = format!("{:.1}", self.now.as_nanos() as f64 / 1e6);
        let number = |n: u64| n / self.mss;
        if is_forward {
            let _ = write!(line, " > {}", number(segment.sequence));
            if segment.payload == 0 {
                line.push_str(" empty");
            }
        } else {
            let _ = write!(line, " < {}", number(segment.acknowledgement));
            for block in segment.sack_blocks() {
                let _ = write!(line, " {}-{}", number(block.start), number(block.end));
            }
        }
        for (flag, word) in [
            (Flags::SYN, " SYN"),
            (Flags::FIN, " FIN"),
            (Flags::ECE, " ECE"),
            (Flags::CWR, " CWR"),
            (Flags::AE, " AE"),
        ] {
            if segment.flags.has(flag) {
                line.push_str(word);
            }
        }
        match fate {
            Fate::Pass => {}
            Fate::Drop => line.push_str(" lost"),
            Fate::Mark => line.push_str(" marked"),
            Fate::Delay(_) => line.push_str(" delayed"),
            Fate::Duplicate(_) => line.push_str(" twice"),
        }
        line.push('\n');
        line
    }

    fn poll(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            self.dispatch(segment, true);
        }
        while let Some(segment) = self.receiver.poll(self.now) {
            self.dispatch(segment, false);
        }
    }

    /// Opens and lets the application write without end.
    pub(crate) fn start(&mut self) {
        self.sender.open(self.now);
        self.sender.write_endless();
        self.poll();
    }
    /// Opens and sends so many bytes, then closes.
    pub(crate) fn transfer(&mut self, bytes: u64) {
        self.sender.open(self.now);
        self.sender.write(bytes);
        self.sender.close();
        self.poll();
    }
    pub(crate) fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.poll();
    }

    /// The next event, unless it is after `until`; false if nothing is left before then.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let arrival = self.queue.peek().map(|Reverse((at, ..))| *at);
        let timers = [self.sender.next_timer(), self.receiver.next_timer()];
        let timer = timers.into_iter().flatten().min();
        let next = match (arrival, timer) {
            (Some(arrival), Some(timer)) => arrival.min(timer),
            (arrival, timer) => match arrival.or(timer) {
                Some(next) => next,
                None => return false,
            },
        };
        if next > until {
            return false;
        }
        assert!(
            next >= self.now || timer == Some(next),
            "time runs backwards"
        );
        self.now = self.now.max(next);
        if arrival.is_some_and(|arrival| arrival <= self.now)
            && let Some(Reverse((_, _, is_forward, slot))) = self.queue.pop()
        {
            self.free.push(slot);
            let segment = self.slots[slot];
            if is_forward {
                self.receiver.on_segment(&segment, self.now);
            } else {
                self.sender.on_segment(&segment, self.now);
            }
        } else {
            self.sender.on_timer(self.now);
            self.receiver.on_timer(self.now);
        }
        self.poll();
        true
    }
    pub(crate) fn run_until(&mut self, until: Time) {
        while self.step(until) {}
        self.now = until;
    }
    /// Until the transfer is done; panics if it is not by then.
    pub(crate) fn finish(&mut self, by: Time) {
        while !self.sender.is_done() {
            assert!(self.step(by), "not done by {by}: {:?}", self.sender.stats());
        }
    }
}

/// Linux's defaults with this control.
pub(crate) fn config(name: &str) -> SenderConfig {
    SenderConfig::new(control(name, &[]))
}
pub(crate) fn ms(n: u64) -> Time {
    Time::from_millis(n)
}
pub(crate) fn window(bytes: u64, ecn: EcnMode) -> ReceiverConfig {
    ReceiverConfig {
        window: Bytes::new(bytes),
        ..ReceiverConfig::new(ecn)
    }
}
