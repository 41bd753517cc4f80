//! A sender against a script of acknowledgements, in the manner of packetdrill.
//!
//! A line is the time since the line before in milliseconds, what happens, and behind `>` the segments
//! that leave meanwhile and then; without `>` none may. `write 5` is the application, `ack 3 5-7 8-9`
//! everything up to segment 3 and two SACK blocks, `win 2` the receive window in segments, `run`
//! nothing but time, `is cwnd 7` a check. A segment without payload is a `probe`. There are no
//! timestamps, the RTT is that of the SYN, and offload and pacing are off.

mod common;

use common::{config, ms};
use quell_tcp::{
    Codepoint, EcnMode, Flags, Receiver, ReceiverConfig, Sack, Segment, Sender, SenderConfig,
};
use quell_units::Time;

const MSS: u64 = 1_000;

struct Exchange {
    sender: Sender,
    now: Time,
    window: u32,
    left: Vec<String>,
}

impl Exchange {
    fn new(name: &str, rtt: Time) -> Self {
        let mut sender = Sender::new(&SenderConfig {
            mss: MSS as u32,
            gso: false,
            ..config(name)
        });
        sender.open(Time::ZERO);
        while sender.poll(Time::ZERO).is_some() {}
        let mut exchange = Self {
            sender,
            now: rtt,
            window: 1 << 30,
            left: Vec::new(),
        };
        let flags = Flags(Flags::SYN | Flags::ACK);
        exchange.arrive(Segment {
            flags,
            ..Segment::default()
        });
        assert_eq!(exchange.left, ["probe"], "the handshake's last ACK");
        exchange
    }
    fn arrive(&mut self, mut segment: Segment) {
        segment.window = self.window;
        self.left.clear();
        self.sender.on_segment(&segment, self.now);
        self.poll();
    }
    fn poll(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            self.left.push(match segment.payload {
                0 => "probe".to_string(),
                _ => (segment.sequence / MSS).to_string(),
            });
        }
    }
    /// Time passes, with timers.
    fn pass(&mut self, until: Time) {
        while let Some(due) = self.sender.next_timer().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.sender.on_timer(self.now);
            self.poll();
        }
        self.now = until;
    }
    fn line(&mut self, line: &str) {
        let (action, expected) = line.split_once('>').unwrap_or((line, ""));
        let mut words = action.split_whitespace();
        let mut next = || words.next().unwrap_or("");
        let wait: u64 = next().parse().expect("a time in front");
        self.left.clear();
        self.pass(self.now + ms(wait));
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match next() {
            "run" => {}
            "write" => {
                self.sender.write(number(next()) * MSS);
                self.poll();
            }
            "ack" => {
                let mut segment = Segment {
                    acknowledgement: number(next()) * MSS,
                    flags: Flags(Flags::ACK),
                    ..Segment::default()
                };
                loop {
                    match next() {
                        "" => break,
                        "win" => self.window = (number(next()) * MSS) as u32,
                        block => {
                            let (start, end) = block.split_once('-').expect("a block");
                            let (start, end) = (number(start) * MSS, number(end) * MSS);
                            let acknowledgement = segment.acknowledgement;
                            segment.sacks.push(acknowledgement, Sack { start, end });
                        }
                    }
                }
                let earlier = std::mem::take(&mut self.left);
                self.arrive(segment);
                self.left.splice(0..0, earlier);
            }
            "is" => loop {
                let stats = self.sender.stats();
                match next() {
                    "" => break,
                    "cwnd" => assert_eq!(u64::from(stats.cwnd), number(next()), "{line}"),
                    "ssthresh" => assert_eq!(u64::from(stats.ssthresh), number(next()), "{line}"),
                    "undone" => assert_eq!(stats.undone, number(next()), "{line}"),
                    "resent" => assert_eq!(stats.retransmitted, number(next()), "{line}"),
                    "unreduced" => assert_eq!(stats.ssthresh, u32::MAX, "{line}"),
                    state => assert_eq!(format!("{:?}", self.sender.state()), state, "{line}"),
                }
            },
            other => panic!("{other}: no such action"),
        }
        let mut segments = Vec::new();
        for word in expected.split_whitespace() {
            match word.split_once('-') {
                Some((first, last)) => {
                    segments.extend((number(first)..=number(last)).map(|n| n.to_string()));
                }
                None => segments.push(word.to_string()),
            }
        }
        assert_eq!(self.left, segments, "{line}");
    }
}

#[track_caller]
fn play(name: &str, rtt: u64, script: &str) {
    let mut exchange = Exchange::new(name, ms(rtt));
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        exchange.line(line);
    }
}

/// Appropriate byte counting (RFC 3465 without its limit, as Linux): slow start grows by what an ACK
/// acknowledges, however many segments that are.
#[test]
fn slow_start_counts_segments_not_acks() {
    for acks in [
        &[10][..],
        &[5, 10],
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        &[9, 10],
    ] {
        let mut exchange = Exchange::new("reno", ms(100));
        exchange.line("0 write 100 > 0-9");
        exchange.line("100 run");
        let mut sent = 10;
        let mut acked = 0;
        for &ack in acks {
            let more = 2 * (ack - acked);
            exchange.line(&format!("0 ack {ack} > {sent}-{}", sent + more - 1));
            (sent, acked) = (sent + more, ack);
        }
        exchange.line("0 is cwnd 20 unreduced");
    }
}

/// Linux's packetdrill test `tcp_fast_recovery_prr-ss-10pkt-lost-1`: in flight is the threshold all
/// the way, so one segment leaves for each that is delivered. CUBIC leaves 0.7 of ten.
#[test]
fn recovery_at_the_threshold_sends_one_for_one() {
    play(
        "cubic",
        100,
        "0 write 10 > 0-9
         110 ack 0 1-2
         10 ack 0 1-3
         10 ack 0 1-4 > 0
         10 is Recovery cwnd 7 ssthresh 7
         10 write 7
         10 ack 0 1-5 > 10
         10 ack 0 1-6 > 11
         10 ack 0 1-7 > 12
         10 ack 0 1-8 > 13
         10 ack 0 1-9 > 14
         10 ack 0 1-10 > 15
         20 ack 10 > 16
         10 is Open cwnd 7 ssthresh 7
         30 ack 12
         20 ack 14
         20 ack 16
         20 ack 17
         0 is Open resent 1",
    );
}

/// Linux's packetdrill test `tcp_fast_recovery_prr-ss-30pkt-lost1_4`: at the end of recovery the
/// window is the threshold, whatever was in flight.
#[test]
fn recovery_of_four_losses_leaves_the_threshold() {
    play(
        "cubic",
        10,
        "0 write 10 > 0-9
         10 ack 0 4-5
         2 ack 0 4-6
         0 ack 0 4-7 > 0
         0 ack 0 4-8 > 1
         0 ack 0 4-9 > 2
         0 ack 0 4-10 > 3
         10 ack 1 4-10
         0 ack 2 4-10
         0 ack 3 4-10
         0 ack 10
         10 write 10 > 10-16",
    );
}

/// Linux's packetdrill test `tcp_fast_recovery_prr-ss-30pkt-lost-1_4-11_16`: limited transmit, then
/// proportional rate reduction, then its bound and its slow start, and a retransmission that is lost.
#[test]
fn recovery_below_the_threshold_catches_up() {
    play(
        "cubic",
        10,
        "0 write 20 > 0-9
         10 ack 0 4-5 > 10
         2 ack 0 4-6 > 11
         2 ack 0 4-7 > 0
         2 ack 0 4-8 > 1
         2 ack 0 4-9 > 2
         2 ack 0 4-10 > 3
         2 ack 0 4-11 > 12
         2 ack 0 4-12 > 13
         10 ack 1 4-12 > 14 15
         2 ack 1 2-12 > 1 16
         2 ack 1 2-13 > 17
         2 ack 1 2-14 > 18",
    );
}

/// RFC 6675 and RFC 2018: several holes are filled from the lowest, each once, while the window allows.
#[test]
fn holes_are_filled_from_the_lowest_and_once() {
    play(
        "reno",
        100,
        "0 write 12 > 0-9
         100 ack 1 > 10 11
         0 ack 1 2-3
         0 ack 1 4-5 2-3
         0 ack 1 6-7 4-5 2-3 > 1
         0 ack 1 7-8 6-7 4-5
         0 ack 1 6-9 4-5 2-3 > 3
         0 ack 1 6-10 4-5 2-3 > 5
         0 ack 1 6-12 4-5 2-3
         0 is Recovery resent 3
         100 ack 3 6-12 4-5
         0 ack 5 6-12
         0 ack 12
         0 is Open resent 3",
    );
}

/// RFC 9293 section 3.8.6.1, Linux `tcp_send_probe0`: a closed window is probed after each time-out,
/// doubled each time, with an old number; once open, data goes and the backoff is over.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    play(
        "reno",
        100,
        "0 write 4 > 0-3
         100 ack 4 win 0
         0 write 3
         299 run
         1 run > probe
         100 ack 4 win 0
         499 run
         1 run > probe
         100 ack 4 win 0
         1099 run
         1 run > probe
         100 ack 4 win 100 > 4-6
         100 ack 7
         0 is Open resent 0 cwnd 10 unreduced",
    );
}

/// A window update that opens a part of the window lets as much go, without a probe.
#[test]
fn a_window_update_lets_data_go_at_once() {
    play(
        "reno",
        100,
        "0 write 10 > 0-9
         100 ack 10 win 0
         10 write 5
         50 ack 10 win 2 > 10 11
         100 ack 12 win 2 > 12 13
         100 ack 14 win 100 > 14
         0 is Open resent 0",
    );
}

/// RFC 8985 section 7.4: the D-SACK shows that original and probe have both arrived, so the window
/// stays; the acknowledgement of something newer, without, shows that the probe repaired a loss.
#[test]
fn a_probe_costs_the_window_only_where_it_repaired() {
    let probed = "0 write 10 > 0-9
         100 ack 8
         201 run
         1 run > 9
         0 is resent 1";
    play(
        "reno",
        100,
        &format!("{probed}\n 50 ack 10\n 50 ack 10 9-10\n 0 is Open unreduced"),
    );
    play(
        "reno",
        100,
        &format!("{probed}\n 50 write 3 > 10-12\n 100 ack 13\n 0 is Open ssthresh 9"),
    );
}

/// RFC 3708 and Linux `tcp_try_undo_dsack`: a reduction is undone once every retransmission has proved
/// needless, and not before. Both originals were only late; there are no timestamps to tell.
#[test]
fn dsacks_for_every_retransmission_undo_the_reduction() {
    let late = "0 write 40 > 0-9
         100 ack 1 > 10 11
         0 ack 1 3-4 > 12
         0 ack 1 3-5 > 13
         0 ack 1 3-6 > 1
         0 ack 1 3-7
         0 ack 1 3-8 > 2
         0 is Recovery resent 2 ssthresh 5
         50 ack 2 3-8
         0 ack 8 > 14
         50 ack 8 1-2
         0 is Recovery undone 0";
    play(
        "reno",
        100,
        &format!("{late}\n 0 ack 8 2-3 > 15-18\n 0 is Open undone 1 cwnd 11 unreduced"),
    );
    // The other retransmission was needed. Congestion avoidance counts the six segments of the last ACK
    // towards the next one of five.
    play(
        "reno",
        100,
        &format!("{late}\n 0 ack 14 > 15-19\n 0 is Open undone 0 cwnd 6 ssthresh 5"),
    );
}

/// Linux `tcp_cwnd_application_limited` (RFC 2861): each time-out during which a trickle leaves most of
/// the window unused, it moves half-way to what was used, but not below the initial window.
#[test]
fn an_unused_window_shrinks_towards_what_is_used() {
    let mut exchange = Exchange::new("reno", ms(100));
    exchange.line("0 write 70 > 0-9");
    exchange.line("100 ack 10 > 10-29");
    exchange.line("100 ack 30 > 30-69");
    exchange.line("100 ack 70");
    let mut windows = vec![exchange.sender.stats().cwnd];
    for n in 70..120 {
        exchange.line(&format!("0 write 1 > {n}"));
        exchange.line(&format!("100 ack {}", n + 1));
        let cwnd = exchange.sender.stats().cwnd;
        if windows.last() != Some(&cwnd) {
            windows.push(cwnd);
        }
    }
    let first = windows[0];
    let mut expected = vec![first];
    let mut window = first;
    while window > 11 {
        window = (window + 10) / 2;
        expected.push(window);
    }
    assert!(
        first >= 40 && windows.starts_with(&expected[..expected.len() - 1]),
        "{windows:?}"
    );
}

/// What a receiver answers to segments of 1 000 bytes: each arrival is (millisecond, first segment, CE,
/// CWR), each ACK (millisecond, everything up to, ECE).
fn answers(
    receiver: &ReceiverConfig,
    arrivals: &[(u64, u64, bool, bool)],
) -> Vec<(u64, u64, bool)> {
    let mut receiver = Receiver::new(receiver);
    let syn = Segment {
        flags: Flags(Flags::SYN | Flags::ECE | Flags::CWR),
        ..Segment::default()
    };
    receiver.on_segment(&syn, Time::ZERO);
    while receiver.poll(Time::ZERO).is_some() {}
    let handshake = Segment {
        flags: Flags(Flags::ACK),
        ..Segment::default()
    };
    receiver.on_segment(&handshake, Time::ZERO);
    let mut acks = Vec::new();
    let mut pass = |receiver: &mut Receiver, now: Time| {
        while let Some(ack) = receiver.poll(now) {
            let millis = now.as_nanos() / 1_000_000;
            acks.push((millis, ack.acknowledgement / MSS, ack.flags.has(Flags::ECE)));
        }
    };
    for &(at, number, ce, cwr) in arrivals {
        while let Some(due) = receiver.next_timer().filter(|due| *due <= ms(at)) {
            receiver.on_timer(due);
            pass(&mut receiver, due);
        }
        let segment = Segment {
            sequence: number * MSS,
            payload: MSS as u32,
            flags: Flags(Flags::ACK | if cwr { Flags::CWR } else { 0 }),
            ecn: if ce {
                quell_units::Ecn::Ce
            } else {
                quell_units::Ecn::Ect0
            },
            ..Segment::default()
        };
        receiver.on_segment(&segment, ms(at));
        pass(&mut receiver, ms(at));
    }
    while let Some(due) = receiver.next_timer() {
        receiver.on_timer(due);
        pass(&mut receiver, due);
    }
    acks
}
fn receiver(quick_ack: bool, ecn: EcnMode) -> ReceiverConfig {
    ReceiverConfig {
        mss: MSS as u32,
        quick_ack,
        ..ReceiverConfig::new(ecn)
    }
}

/// RFC 5681 section 4.2 and Linux's `TCP_ATO_MIN`, `__tcp_ack_snd_check`: each segment at once in the
/// quick-ack phase; afterwards every second one, or one after 40 ms; one beyond a gap and one that
/// fills it at once.
#[test]
fn acks_wait_for_a_second_segment_or_forty_milliseconds() {
    let plain = |at, number| (at, number, false, false);
    for (quick, arrivals, expected) in [
        (
            true,
            &[plain(0, 0), plain(1, 1), plain(2, 2)][..],
            &[(0, 1), (1, 2), (2, 3)][..],
        ),
        (
            false,
            &[plain(0, 0), plain(1, 1), plain(2, 2)],
            &[(1, 2), (42, 3)],
        ),
        (false, &[plain(0, 0)], &[(40, 1)]),
        (false, &[plain(0, 0), plain(39, 1)], &[(39, 2)]),
        (false, &[plain(0, 1), plain(5, 0)], &[(0, 0), (5, 2)]),
    ] {
        let found: Vec<_> = answers(&receiver(quick, EcnMode::Off), arrivals)
            .into_iter()
            .map(|(at, ack, _)| (at, ack))
            .collect();
        assert_eq!(found, expected, "{quick} {arrivals:?}");
    }
}

/// RFC 3168 section 6.1.3: ECE from the first CE until CWR, also on ACKs of what had none; a CE beside
/// CWR begins anew. Linux acknowledges CWR at once, and two segments after the first CE.
#[test]
fn ece_lasts_until_cwr() {
    let classic = receiver(false, EcnMode::Classic(Codepoint::Ect0));
    let arrivals = [
        (0, 0, false, false),
        (1, 1, false, false),
        (2, 2, true, false),
        (3, 3, false, false),
        (4, 4, false, false),
        (5, 5, false, false),
        (6, 6, false, true),
        (7, 7, false, false),
        (8, 8, false, false),
        (9, 9, true, true),
    ];
    let acks = answers(&classic, &arrivals);
    let echoed: Vec<_> = acks.iter().map(|(_, ack, ece)| (*ack, *ece)).collect();
    for (ack, ece) in &echoed {
        let expected = (3..=6).contains(ack) || *ack == 10;
        assert_eq!(*ece, expected, "{echoed:?}");
    }
    assert!(
        acks.contains(&(6, 7, false)),
        "CWR is acknowledged at once: {acks:?}"
    );
}
