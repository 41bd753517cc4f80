//! Whatever the path does, the stream arrives exactly and the connection ends.

use crate::common;

use common::{Fate, Path, config, ms};
use quell_tcp::{
    AccEcnOption, AccEcnOptionUse, Codepoint, EcnMode, EctScope, Flags, Order, Receiver,
    ReceiverConfig, Sack, Segment, Sender, SenderConfig,
};
use quell_units::{Probability, Random, Time};

/// Any control with any feedback.
fn any(random: &mut Random) -> SenderConfig {
    let ecn = [
        EcnMode::Off,
        EcnMode::Classic(Codepoint::Ect0),
        EcnMode::Dctcp(Codepoint::Ect0),
        EcnMode::Accurate(Codepoint::Ect1),
    ];
    let scopes = [
        EctScope::NewData,
        EctScope::Established,
        EctScope::Everything,
    ];
    let usages = [
        AccEcnOptionUse::Never,
        AccEcnOptionUse::Sparing,
        AccEcnOptionUse::Always,
    ];
    SenderConfig {
        ecn: ecn[random.below(4) as usize],
        ect_scope: Some(scopes[random.below(3) as usize]),
        accecn_option: usages[random.below(3) as usize],
        ..config(["reno", "cubic", "dctcp"][random.below(3) as usize])
    }
}

#[test]
fn a_transfer_ends_with_every_byte() {
    for name in ["reno", "cubic", "dctcp"] {
        for bytes in [0, 1, 1_448, 14_480, 1_000_000] {
            let mut path = Path::new(&config(name), ms(50));
            path.transfer(bytes);
            path.finish(Time::from_secs(20));
            assert_eq!(path.receiver.delivered(), bytes);
            assert!(path.receiver.is_finished());
            assert_eq!(path.sender.stats().retransmitted, 0, "{name} {bytes}");
        }
    }
}

#[test]
fn any_pattern_of_loss_reordering_and_duplication_delivers_the_stream() {
    for seed in 0..300 {
        let mut random = Random::new(seed, "fate");
        let loss = random.below(40);
        let reorder = random.below(30);
        let duplicate = random.below(20);
        let mut config = any(&mut random);
        config.gso = random.chance(Probability::ratio(1, 2));
        config.pacing = Some(random.chance(Probability::ratio(1, 3)));
        let rtt = Time::from_micros(100 + random.below(200_000));
        let mut path = Path::new(&config, rtt);
        let mut forward = Random::new(seed, "forward");
        let mut backward = Random::new(seed, "backward");
        let decide = move |random: &mut Random| {
            let draw = random.below(100);
            let later = Time::from_nanos(random.below(2 * rtt.as_nanos()));
            match draw {
                _ if draw < loss => Fate::Drop,
                _ if draw < loss + reorder => Fate::Delay(later),
                _ if draw < loss + reorder + duplicate => Fate::Duplicate(later),
                95.. => Fate::Mark,
                _ => Fate::Pass,
            }
        };
        path.forward = Box::new(move |_, _, _| decide(&mut forward));
        path.backward = Box::new(move |_, _, _| decide(&mut backward));
        let bytes = random.below(300_000);
        path.transfer(bytes);
        path.finish(Time::from_secs(100_000));
        assert_eq!(path.receiver.delivered(), bytes, "seed {seed}");
        assert!(path.receiver.is_finished());
    }
}

/// As where the application of a socket stops writing: what it wrote ahead still leaves.
#[test]
fn what_is_retracted_is_not_sent_and_the_stream_goes_on() {
    let mut path = Path::new(&config("reno"), ms(50));
    path.sender.open(Time::ZERO);
    path.write(0);
    path.run_until(ms(60));
    // A window of 10 leaves at once.
    path.sender.write_endless();
    path.write(0);
    path.sender.retract(2_000);
    path.run_until(Time::from_secs(1));
    assert_eq!(path.receiver.delivered(), 10 * 1_448 + 2_000);
    assert!(path.sender.is_done());
    // Less than is kept is all kept.
    path.sender.write(3_000);
    path.sender.retract(5_000);
    path.write(0);
    path.run_until(Time::from_secs(2));
    assert_eq!(path.receiver.delivered(), 10 * 1_448 + 5_000);
    // An endless stream again, that ends with what has been sent.
    path.sender.write_endless();
    path.write(0);
    path.sender.retract(0);
    path.sender.close();
    path.finish(Time::from_secs(9));
    assert!(path.receiver.is_finished());
    assert_eq!(path.receiver.delivered(), path.sender.stats().acknowledged);
    // And after the end nothing is left to retract.
    path.sender.retract(0);
    assert!(path.sender.is_done());
}

/// A segment that no peer would send.
fn arbitrary(random: &mut Random) -> Segment {
    let mut number = |near: u64| match random.below(4) {
        0 => random.u64(),
        1 => random.below(3),
        _ => near.wrapping_add(random.below(40_000)).wrapping_sub(20_000),
    };
    let mut segment = Segment {
        sequence: number(20_000),
        acknowledgement: number(20_000),
        window: number(60_000) as u32,
        timestamp: Time::from_nanos(number(1_000_000)),
        echo: Time::from_nanos(number(1_000_000)),
        payload: number(1_448) as u32,
        ..Segment::default()
    };
    let blocks: Vec<Sack> = (0..3)
        .map(|_| Sack {
            start: number(30_000),
            end: number(35_000),
        })
        .collect();
    for block in &blocks[..random.below(4) as usize] {
        segment.sacks.push(segment.acknowledgement, *block);
    }
    let order = [Order::Zero, Order::One][random.below(2) as usize];
    let counters = [random.u64(), random.below(3), random.u64()];
    if random.below(2) == 0 {
        segment.accecn = AccEcnOption::new(order, &counters[..random.below(4) as usize]);
    }
    segment.flags = Flags(random.below(64) as u16 | Flags::ACK);
    segment.ecn = quell_units::Ecn::from_bits(random.below(4) as u8);
    segment
}

#[test]
fn nothing_panics_on_arbitrary_segments() {
    for seed in 0..300 {
        let mut random = Random::new(seed, "hostile");
        let config = any(&mut random);
        let mut sender = Sender::new(&config);
        let mut receiver = Receiver::new(&ReceiverConfig::new(config.ecn));
        let mut now = Time::ZERO;
        sender.open(now);
        sender.write_endless();
        for _ in 0..500 {
            let segment = arbitrary(&mut random);
            sender.on_segment(&segment, now);
            receiver.on_segment(&segment, now);
            for _ in 0..100 {
                if sender.poll(now).is_none() {
                    break;
                }
            }
            while receiver.poll(now).is_some() {}
            now += Time::from_nanos(random.below(300_000_000));
            sender.on_timer(now);
            receiver.on_timer(now);
        }
    }
}
