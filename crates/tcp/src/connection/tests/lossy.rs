//! Whatever the path does, both streams arrive whole and in order, and both ends end.

use super::*;
use crate::cc::KINDS;
use crate::ecn::{Codepoint, EctScope};
use crate::ticks::Ticks;
use quell_units::Random;

fn any_end(random: &mut Random, ecn: EcnMode) -> Connection {
    let kind = KINDS[random.below(KINDS.len() as u64) as usize];
    let control = CcConfig::new(kind.name, &[]).unwrap().unwrap();
    let scopes = [
        None,
        Some(EctScope::NewData),
        Some(EctScope::Established),
        Some(EctScope::Everything),
    ];
    let ect_scope = scopes[random.below(4) as usize];
    let ticks = if random.below(2) == 0 {
        Ticks::EXACT
    } else {
        Ticks::new(250, Time::ZERO)
    };
    let mss = [1_448, 536, 100][random.below(3) as usize];
    let sender = SenderConfig {
        ecn,
        ect_scope,
        mss,
        ticks,
        gso: random.below(2) == 0,
        nagle: random.below(2) == 0,
        ..SenderConfig::new(control)
    };
    let window = [2_000, 20_000, 1 << 30][random.below(3) as usize];
    let receiver = ReceiverConfig {
        window: Bytes::new(window),
        ect_scope,
        mss,
        ticks,
        buffer: (random.below(2) == 0).then_some(crate::ReceiveBuffer {
            initial: Bytes::new(131_072),
            most: Bytes::new(4 << 20),
        }),
        ..ReceiverConfig::new(ecn)
    };
    Connection::new(&sender, &receiver)
}

/// Applications of both ends: what is written and when, and when it closes.
struct Plan {
    writes: Vec<(Time, u64)>,
    closes: Time,
}

impl Plan {
    /// The least number of writes.
    fn new(random: &mut Random, least: u64) -> Self {
        let count = random.below(6).max(least);
        let mut writes: Vec<_> = (0..count)
            .map(|_| (ms(random.below(3_000)), 1 + random.below(60_000)))
            .collect();
        writes.sort();
        let last = writes.last().map_or(Time::ZERO, |(at, _)| *at);
        let closes = last + ms(random.below(2) * random.below(500));
        Self { writes, closes }
    }
    fn bytes(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| bytes).sum()
    }
}

#[test]
fn both_streams_arrive_whole_and_both_ends_end() {
    let mut reached = [0_u64; 6];
    for seed in 0..600 {
        let mut random = Random::new(seed, "connection");
        let modes = [
            EcnMode::Off,
            EcnMode::Classic(Codepoint::Ect0),
            EcnMode::Dctcp(Codepoint::Ect0),
            EcnMode::Accurate(Codepoint::Ect1),
        ];
        let modes = [0, 1].map(|_| modes[random.below(4) as usize]);
        let ends = modes.map(|mode| any_end(&mut random, mode));
        // An end that closes with nothing written before it is open gives the connection up.
        let plans = [1, 0].map(|least| Plan::new(&mut random, least));
        let rtt = ms(1 + random.below(200));
        let shares = [0, 1].map(|_| {
            [
                random.below(30),
                random.below(20),
                random.below(20),
                random.below(40),
            ]
        });
        let calm = random.below(5) == 0;
        let mut fates = Random::new(seed, "fates");
        let mut path = Path::of(ends, rtt).with(move |end, _, n| {
            let [lost, late, twice, marked] = shares[end];
            if calm || n > 3_000 {
                return Fate::Pass;
            }
            match fates.below(100) {
                draw if draw < lost => Fate::Drop,
                draw if draw < lost + late => Fate::Delay(ms(fates.below(100))),
                draw if draw < lost + late + twice => Fate::Twice(ms(fates.below(50))),
                draw if draw < lost + late + twice + marked => Fate::Mark,
                _ => Fate::Pass,
            }
        });
        path.open();
        let mut calls: Vec<(Time, usize, Option<u64>)> = Vec::new();
        for (end, plan) in plans.iter().enumerate() {
            calls.extend(
                plan.writes
                    .iter()
                    .map(|(at, bytes)| (*at, end, Some(*bytes))),
            );
            calls.push((plan.closes, end, None));
        }
        calls.sort_by_key(|(at, _, call)| (*at, call.is_none()));
        for (at, end, call) in calls {
            path.run_until(at);
            match call {
                Some(bytes) => path.write(end, bytes),
                None => path.close(end),
            }
        }
        // Each of the first 3,000 segments may need a time-out of its longest. It grows to that where ACKs of a small window are lost: what is
        // sent again is below the edge, so its timestamp is not kept, and the RTT is measured from the first copy.
        let patience = path.now + Time::from_secs(3_000 * 120);
        while !path.ends.iter().all(Connection::is_over) {
            let next = path.next().filter(|at| *at < patience);
            let Some(at) = next else {
                panic!(
                    "seed {seed}: it stands still at {:?}: {:#?}",
                    path.now, path.ends
                );
            };
            path.step(at);
            for end in [CLIENT, SERVER] {
                assert!(
                    path.ends[end].delivered() <= plans[1 - end].bytes(),
                    "seed {seed}"
                );
            }
        }
        path.run_out(Time::from_secs(600));
        for end in [CLIENT, SERVER] {
            let (here, there) = (&path.ends[end], &plans[1 - end]);
            assert_eq!(here.delivered(), there.bytes(), "seed {seed}");
            assert!(here.has_peer_finished() && here.is_over() && !here.is_reset());
            assert_eq!((here.next_timer(), here.unsent()), (None, 0), "seed {seed}");
            assert_eq!(here.sender().stats().in_flight, 0);
            let stats = here.sender().stats();
            let counts = [
                stats.retransmitted,
                stats.recoveries,
                stats.rto_count,
                stats.probes,
                stats.ecn_reductions,
                stats.undone,
            ];
            reached
                .iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }
    assert!(reached.iter().all(|count| *count > 20), "{reached:?}");
}

/// Segments that no honest end sends: nothing panics, no timer lies in the past.
#[test]
fn an_end_stands_whatever_it_is_told() {
    for seed in 0..400 {
        let mut random = Random::new(seed, "hostile");
        let mode = EcnMode::Accurate(Codepoint::Ect1);
        let mut end = any_end(&mut random, mode);
        let mut now = Time::ZERO;
        if random.below(2) == 0 {
            end.open(now);
        }
        for _ in 0..300 {
            now += Time::from_micros(random.below(50_000));
            match random.below(12) {
                0 => end.write(random.below(50_000)),
                1 => end.write_until_retracted(),
                2 => end.retract(random.below(5_000)),
                3 if random.below(20) == 0 => end.close(),
                4 => end.on_timer(now),
                _ => {
                    let mut segment = any_segment(&mut random, &end);
                    segment.timestamp = now;
                    end.on_segment(&segment, now);
                }
            }
            for _ in 0..200 {
                if end.poll(now).is_none() {
                    break;
                }
            }
            if end.next_timer().is_some_and(|due| due <= now) {
                end.on_timer(now);
            }
        }
        end.abort();
        end.poll(now);
        assert_eq!((end.poll(now), end.next_timer()), (None, None));
    }
}
fn any_segment(random: &mut Random, end: &Connection) -> Segment {
    let sent = end.sender.acceptable_seq();
    let next = end.receiver.rcv_nxt();
    let near =
        |random: &mut Random, n: u64| (n + random.below(6_000)).saturating_sub(random.below(6_000));
    let mut flags = random.below(256) as u16;
    if random.below(10) > 0 {
        flags = (flags | Flags::ACK) & !(Flags::RST | Flags::SYN);
    }
    let mut segment = Segment {
        sequence: if random.below(2) == 0 {
            next
        } else {
            near(random, next)
        },
        acknowledgement: if random.below(2) == 0 {
            sent
        } else {
            near(random, sent)
        },
        payload: [0, 100, 1_448][random.below(3) as usize],
        window: [0, 3_000, 1 << 20][random.below(3) as usize],
        flags: Flags(flags),
        ecn: Ecn::from_bits(random.below(4) as u8),
        ..Segment::default()
    };
    for _ in 0..random.below(3) {
        let start = near(random, sent);
        let block = crate::segment::Sack {
            start,
            end: start + random.below(3_000),
        };
        segment.sacks.push(segment.acknowledgement, block);
    }
    segment
}
