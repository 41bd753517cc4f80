//! Tests of both ends over a path that loses, marks, repeats, delays and overtakes, but forges nothing.

use quell_tcp::{Segment, SenderStats};
use quell_units::{Ecn, Time};

use super::ends::{Ends, WatchedReceiver, WatchedSender};
use crate::choices::Choices;

/// Segments of one write, at most.
const LONGEST_WRITE: u64 = 40;
/// Events after which a transfer over a path without loss must have ended.
const PATIENCE: usize = 400_000;

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Write {
        bytes: u64,
    },
    Close,
    /// A segment that is in flight arrives; which of them, counted from the oldest.
    Arrive {
        forward: bool,
        which: u64,
        fate: Fate,
    },
    /// The oldest segments arrive.
    Flush {
        forward: bool,
        count: u64,
    },
    /// Time passes, with timers.
    Pass {
        time: Time,
    },
    /// Until the next timer rings.
    Ring,
}

/// The fate of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Delivered,
    Lost,
    Marked,
    Repeated,
}

/// The operations that the bytes encode.
pub fn of(choices: &mut Choices<'_>) -> Vec<Operation> {
    let mut operations = Vec::new();
    while !choices.is_empty() {
        operations.push(operation(choices));
    }
    operations
}

fn operation(choices: &mut Choices<'_>) -> Operation {
    match choices.byte() % 16 {
        0..5 => Operation::Flush {
            forward: choices.flag(),
            count: 1 + choices.byte() % 20,
        },
        5..9 => Operation::Arrive {
            forward: choices.flag(),
            which: choices.byte() % 8,
            fate: choices.of(&[Fate::Delivered, Fate::Lost, Fate::Marked, Fate::Repeated]),
        },
        9..12 => Operation::Pass {
            time: choices.time(),
        },
        12..13 => Operation::Ring,
        13..15 => {
            let bytes = match choices.byte() {
                0..128 => choices.byte() % LONGEST_WRITE * 1_448,
                _ => choices.number(2) % 5_000,
            };
            Operation::Write { bytes }
        }
        // A stream that is closed early ends what there is to see.
        _ => match choices.byte() % 8 {
            7 => Operation::Close,
            _ => Operation::Flush {
                forward: true,
                count: 100,
            },
        },
    }
}

/// Twice the same fate, and every byte delivered once. Gives how the sender ended.
pub fn keep_the_laws(ends: &Ends, operations: &[Operation]) -> SenderStats {
    let first = run(ends, operations);
    let second = run(ends, operations);
    assert_eq!(first, second, "same calls, same fate");
    first.0
}

struct World {
    sender: WatchedSender,
    receiver: WatchedReceiver,
    now: Time,
    /// Segments on the way forward, and on the way back; the oldest first.
    in_flight: [Vec<Segment>; 2],
}

impl World {
    fn new(ends: &Ends) -> Self {
        Self {
            sender: WatchedSender::new(&ends.sender),
            receiver: WatchedReceiver::new(&ends.receiver),
            now: Time::ZERO,
            in_flight: [Vec::new(), Vec::new()],
        }
    }
    /// Until nothing more is to be done at this instant.
    fn serve(&mut self) {
        let [forward, back] = &mut self.in_flight;
        self.sender.serve(self.now, |segment| forward.push(segment));
        self.receiver.serve(self.now, |segment| back.push(segment));
    }
    fn arrive(&mut self, forward: bool, segment: &Segment) {
        if forward {
            self.receiver.arrive(segment, self.now);
        } else {
            self.sender.arrive(segment, self.now);
        }
        self.serve();
    }
    fn next_timer(&self) -> Option<Time> {
        let timers = [self.sender.tcp.next_timer(), self.receiver.tcp.next_timer()];
        timers.into_iter().flatten().min()
    }
    fn pass(&mut self, until: Time) {
        while let Some(due) = self.next_timer().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.serve();
        }
        self.now = until;
        self.serve();
    }
    fn happen(&mut self, operation: &Operation) {
        match *operation {
            Operation::Write { bytes } => self.sender.write(bytes),
            Operation::Close => self.sender.close(),
            Operation::Arrive {
                forward,
                which,
                fate,
            } => {
                let way = &mut self.in_flight[usize::from(!forward)];
                if way.is_empty() {
                    return;
                }
                let mut segment = way.remove(which as usize % way.len());
                if fate == Fate::Marked && segment.ecn.is_capable() {
                    segment.ecn = Ecn::Ce;
                }
                let times = match fate {
                    Fate::Lost => 0,
                    Fate::Repeated => 2,
                    Fate::Delivered | Fate::Marked => 1,
                };
                (0..times).for_each(|_| self.arrive(forward, &segment));
            }
            Operation::Flush { forward, count } => {
                let way = &mut self.in_flight[usize::from(!forward)];
                let count = way.len().min(count as usize);
                let oldest: Vec<Segment> = way.drain(..count).collect();
                oldest
                    .iter()
                    .for_each(|segment| self.arrive(forward, segment));
            }
            Operation::Pass { time } => self.pass(self.now + time),
            Operation::Ring => {
                if let Some(due) = self.next_timer() {
                    self.pass(self.now.max(due));
                }
            }
        }
        self.serve();
    }
}

/// The figures of the sender at its end, the bytes delivered, and the time.
fn run(ends: &Ends, operations: &[Operation]) -> (SenderStats, u64, Time) {
    let mut world = World::new(ends);
    world.sender.tcp.open(Time::ZERO);
    world.serve();
    for operation in operations {
        world.happen(operation);
    }
    // From now on nothing is lost, and everything that was written arrives.
    world.sender.close();
    world.serve();
    let rtt = Time::from_millis(20);
    for _ in 0..PATIENCE {
        if world.sender.is_done() {
            break;
        }
        if world.in_flight.iter().all(Vec::is_empty) {
            let due = world.next_timer();
            let due = due.unwrap_or_else(|| {
                panic!("nothing is left to happen: {:?}", world.sender.tcp.stats())
            });
            world.pass(world.now.max(due));
        } else {
            world.pass(world.now + rtt / 2);
            for forward in [true, false] {
                world.happen(&Operation::Flush {
                    forward,
                    count: u64::MAX,
                });
            }
        }
    }
    let stats = world.sender.tcp.stats();
    assert!(world.sender.is_done(), "not done: {stats:?}");
    assert_eq!(stats.in_flight, 0, "{stats:?}");
    assert!(
        world.receiver.has_all_of(world.sender.written),
        "each byte once: {}",
        world.receiver.tcp.delivered()
    );
    (stats, world.receiver.tcp.delivered(), world.now)
}
