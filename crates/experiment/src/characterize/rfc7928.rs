//! The scenarios of RFC 7928, "Characterization Guidelines for Active Queue Management (AQM)", July 2016.
//!
//! Where the RFC leaves a figure open, the choice stands at the test case. Deviations:
//!
//! * Flows have Linux's initial window of 10 segments, but where the RFC asks for 3 (sections 5.1.1 and 5.1.2).
//! * LEDBAT has a gain of 1: RFC 6817 allows no more, while RFC 7928 section 5.4 asks for 10.
//! * The buffer is the bandwidth-delay product at the profile's RTT throughout, also where a flow has a longer one: "the size of the
//!   buffers … should remain the same across the tests".
//! * Section 9.2 has the bulk flows of section 8.2.2 alone in both directions. Beside them short connections are opened, so that there are
//!   SYNs to lose once the flows are steady.
//! * Section 10.2 names no rates. The first link has half of the second's, as it has half of the flows, so that both queues have work.

use quell_units::{Rate, Time};

use crate::characterize::profile::{Congestion, Profile};
use crate::characterize::test_case::{Content, First, Run, Setting, TestCase};
use crate::characterize::traffic::{Group, SECOND, Traffic, constant, datagrams, quoted};

/// NewReno as the RFC's formulas have it: RFC 5681 equation 3, which counts ACKs. Linux counts segments.
pub const NEWRENO: &str = "reno:growth=acks";
/// A user of the web: pages of 50 objects of 10 kB over six connections at once, one page after the other.
pub const WEB: &str = "{ kind = \"web\", model = \"pages\", recipe = \"equal\", objects = 50, object-size = \"10kB\", protocol = \"http1\", \
                       connections = 6, reading = \"0s\", parse = \"0s\", tls = \"none\", keep-alive = \"0s\" }";
/// Bytes of a datagram at a constant rate.
const CONSTANT: u64 = 1_000;
/// The direction of uploads, in TOML.
const REVERSE: &str = "\"reverse\"";
/// From one change of the rate to the next, where it changes fast (section 8.2.6).
const FAST: Time = Time::from_millis(100);

/// Every one, in the order of the RFC.
pub const TEST_CASES: &[TestCase] = &[
    test_case(
        "sched",
        "RFC 7928 section 4.6",
        "should",
        "queue management and scheduling",
        Content::Description,
    ),
    test_case(
        "friendly",
        "RFC 7928 section 5.1.1",
        "must",
        "one NewReno flow, initial window 3",
        Content::Runs(Run::new(friendly).with_losses().with_start()),
    ),
    test_case(
        "iw-3",
        "RFC 7928 section 5.1.2",
        "must",
        "short flows of 50 packets with an initial window of 3 beside a long NewReno flow",
        Content::Runs(Run::new(|setting| short(setting, 3))),
    ),
    test_case(
        "iw-10",
        "RFC 7928 section 5.1.2",
        "must",
        "short flows of 50 packets with an initial window of 10 beside a long NewReno flow",
        Content::Runs(Run::new(|setting| short(setting, 10))),
    ),
    test_case(
        "aggressive",
        "RFC 7928 section 5.2",
        "must",
        "one CUBIC flow",
        Content::Runs(
            Run::new(|setting| Traffic::of([Group::bulk("cubic", setting.rtt(), "cubic")]))
                .with_losses()
                .with_start(),
        ),
    ),
    test_case(
        "udp-over",
        "RFC 7928 section 5.3",
        "must",
        "UDP at 120 % of the capacity",
        Content::Runs(Run::new(|setting| Traffic::of([udp(setting, 120)]))),
    ),
    test_case(
        "udp-mix",
        "RFC 7928 section 5.3",
        "must",
        "UDP at 75 % of the capacity beside a NewReno flow",
        Content::Runs(Run::new(|setting| {
            Traffic::of([
                Group::bulk("reno", setting.rtt(), setting.control),
                udp(setting, 75),
            ])
        })),
    ),
    test_case(
        "lbe",
        "RFC 7928 section 5.4",
        "may",
        "a LEDBAT flow with a target of 5 ms beside a NewReno flow",
        Content::Runs(Run::new(|setting| {
            let rtt = setting.rtt();
            Traffic::of([
                Group::bulk("reno", rtt, setting.control),
                Group::bulk("ledbat", rtt, "ledbat:target=5ms"),
            ])
        })),
    ),
    test_case(
        "rtt-5",
        "RFC 7928 section 6.2",
        "must",
        "a flow at 100 ms (I) beside one at 5 ms (II)",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 5, None))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "rtt-100",
        "RFC 7928 section 6.2",
        "must",
        "a flow at 100 ms (I) beside one at 100 ms (II)",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 100, None))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "rtt-560",
        "RFC 7928 section 6.2",
        "must",
        "a flow at 100 ms (I) beside one at 560 ms (II)",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 560, None))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "ecn-5",
        "RFC 7928 section 4.5",
        "must",
        "rtt-5 with ECN at the senders",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 5, Some("ect0")))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "ecn-100",
        "RFC 7928 section 4.5",
        "must",
        "rtt-100 with ECN at the senders",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 100, Some("ect0")))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "ecn-560",
        "RFC 7928 section 4.5",
        "must",
        "rtt-560 with ECN at the senders",
        Content::Runs(
            Run::new(|setting| round_trips(setting, 560, Some("ect0")))
                .of_any_control()
                .with_start(),
        ),
    ),
    test_case(
        "burst-1",
        "RFC 7928 section 7.2",
        "must",
        "web and a constant rate",
        Content::Runs(Run::new(|setting| burst(setting, false, false)).of_any_control()),
    ),
    test_case(
        "burst-2",
        "RFC 7928 section 7.2",
        "must",
        "web, a constant rate and a bulk flow",
        Content::Runs(Run::new(|setting| burst(setting, true, false)).of_any_control()),
    ),
    test_case(
        "burst-3",
        "RFC 7928 section 7.2",
        "must",
        "web, a constant rate and video",
        Content::Runs(Run::new(|setting| burst(setting, false, true)).of_any_control()),
    ),
    test_case(
        "burst-4",
        "RFC 7928 section 7.2",
        "must",
        "web, a constant rate, video and a bulk flow",
        Content::Runs(Run::new(|setting| burst(setting, true, true)).of_any_control()),
    ),
    test_case(
        "mild",
        "RFC 7928 section 8.2.2",
        "must",
        "mild congestion: 0.036 S bulk flows",
        Content::Runs(
            Run::new(|setting| congested(setting, Congestion::Mild))
                .of_any_control()
                .with_losses()
                .with_start(),
        ),
    ),
    test_case(
        "medium",
        "RFC 7928 section 8.2.3",
        "must",
        "medium congestion: 0.081 S bulk flows",
        Content::Runs(
            Run::new(|setting| congested(setting, Congestion::Medium))
                .of_any_control()
                .with_losses()
                .with_start(),
        ),
    ),
    test_case(
        "heavy",
        "RFC 7928 section 8.2.4",
        "must",
        "heavy congestion: 0.114 S bulk flows",
        Content::Runs(
            Run::new(|setting| congested(setting, Congestion::Heavy))
                .of_any_control()
                .with_losses()
                .with_start(),
        ),
    ),
    test_case(
        "level",
        "RFC 7928 section 8.2.5",
        "must",
        "mild, medium and heavy congestion in turn, twice",
        Content::Runs(Run::new(levels).of_any_control().with_phases()),
    ),
    test_case(
        "rate-slow",
        "RFC 7928 section 8.2.6",
        "must",
        "a NewReno flow; the rate falls to a tenth and recovers every 20 s",
        Content::Runs(Run::new(slow_changes).with_phases()),
    ),
    test_case(
        "rate-fast",
        "RFC 7928 section 8.2.6",
        "must",
        "a NewReno flow; the rate falls to a tenth and recovers every 100 ms",
        Content::Runs(Run::new(fast_changes)),
    ),
    test_case(
        "small",
        "RFC 7928 section 4.4",
        "discussed",
        "mild congestion, half of the flows with packets of 500 bytes",
        Content::Runs(Run::new(sizes).of_any_control()),
    ),
    test_case(
        "params",
        "RFC 7928 sections 8.3 and 12",
        "discussed",
        "mild congestion with each parameter halved and doubled",
        Content::Parameters(Run::new(|setting| {
            let traffic = congested(setting, Congestion::Mild);
            traffic.measured(setting.profile.duration / 4)
        })),
    ),
    test_case(
        "mix",
        "RFC 7928 section 9.1",
        "recommended",
        "a call, six users of the web, a constant rate, a video and five bulk flows",
        Content::Runs(Run::new(mix).of_any_control()),
    ),
    test_case(
        "both-ways-1",
        "RFC 7928 section 9.2",
        "may",
        "mild congestion in both directions, a tenth of the rate back, and short connections; drop-tail in the other direction",
        Content::Runs(Run::new(both_ways).of_any_control().with_directions()),
    ),
    test_case(
        "both-ways-2",
        "RFC 7928 section 9.2",
        "may",
        "mild congestion in both directions, a tenth of the rate back, and short connections; the queue in both directions",
        Content::Runs(
            Run::new(both_ways)
                .of_any_control()
                .with_directions()
                .in_both_ways(),
        ),
    ),
    test_case(
        "multi-same",
        "RFC 7928 section 10.2",
        "may",
        "two links in a row with the queue at both; half of mild congestion crosses both (A), half the second (B)",
        Content::Runs(Run::new(multi).of_any_control().behind(First::Same)),
    ),
    test_case(
        "multi-params",
        "RFC 7928 section 10.2",
        "may",
        "multi-same; at the first link the queue has its target doubled, or the first other parameter that may be",
        Content::Runs(Run::new(multi).of_any_control().behind(First::Doubled)),
    ),
    test_case(
        "multi-other",
        "RFC 7928 section 10.2",
        "may",
        "multi-same; at the first link CoDel, whatever the queue",
        Content::Runs(Run::new(multi).of_any_control().behind(First::Written)),
    ),
    test_case(
        "cost",
        "RFC 7928 section 11",
        "discussed",
        "time and state per packet",
        Content::NotRun(
            "a card repeats byte for byte, and a time does not; docs/evidence/speed.md has nanoseconds per packet",
        ),
    ),
];

const fn test_case(
    id: &'static str,
    source: &'static str,
    weight: &'static str,
    title: &'static str,
    content: Content,
) -> TestCase {
    TestCase {
        id,
        source,
        weight,
        title,
        content,
    }
}

fn friendly(setting: &Setting<'_>) -> Traffic {
    let reno = Group::bulk("reno", setting.rtt(), setting.control);
    Traffic::of([reno.with("initial-window", "3")])
}

/// "Once steady" a short flow of more than 10 and less than 100 packets; here one after the other, for a mean.
fn short(setting: &Setting<'_>, window: u64) -> Traffic {
    let app = "{ kind = \"transfer\", size = \"73kB\", repeat = \"1s\" }";
    let short = Group::new("short", setting.rtt(), app).control(setting.control);
    Traffic::of([
        Group::bulk("long", setting.rtt(), setting.control),
        short.with("initial-window", window.to_string()),
    ])
}

fn udp(setting: &Setting<'_>, percent: u64) -> Group {
    let rate = Rate::from_bps(setting.profile.rate.as_bps() / 100 * percent);
    Group::new("udp", setting.rtt(), &datagrams(rate))
}

/// "One flow set to 100 ms", the other from 5 ms to 560 ms.
fn round_trips(setting: &Setting<'_>, other: u64, ecn: Option<&str>) -> Traffic {
    let flow = |name, rtt| {
        let flow = Group::bulk(name, rtt, setting.control);
        match ecn {
            Some(ecn) => flow.with("ecn", format!("\"{ecn}\"")),
            None => flow,
        }
    };
    Traffic::of([
        flow("I", Time::from_millis(100)),
        flow("II", Time::from_millis(other)),
    ])
}

/// One hundredth of the link.
fn constant_rate(setting: &Setting<'_>) -> Group {
    let rate = Rate::from_bps(setting.profile.rate.as_bps() / 100);
    Group::new("constant", setting.rtt(), &constant(CONSTANT, rate))
}

fn web(setting: &Setting<'_>) -> Group {
    Group::new("web", setting.rtt(), WEB).control(setting.control)
}

/// Adaptive, with a ladder that the link has room for.
fn video(setting: &Setting<'_>) -> Group {
    let preset = if setting.profile.rate >= Rate::from_bps(50_000_000) {
        "4k"
    } else {
        "smooth"
    };
    let app = format!("{{ kind = \"has\", preset = \"{preset}\" }}");
    Group::new("video", setting.rtt(), &app).control(setting.control)
}

fn burst(setting: &Setting<'_>, with_bulk: bool, with_video: bool) -> Traffic {
    let mut groups = vec![web(setting), constant_rate(setting)];
    if with_video {
        groups.push(video(setting));
    }
    if with_bulk {
        groups.push(Group::bulk("bulk", setting.rtt(), setting.control));
    }
    Traffic::of(groups)
}

fn bulk(setting: &Setting<'_>, count: u64) -> Group {
    Group::bulk("bulk", setting.rtt(), setting.control).count(count)
}

fn congested(setting: &Setting<'_>, level: Congestion) -> Traffic {
    Traffic::of([bulk(setting, setting.profile.flows(level))])
}

/// 20 s each of 60 s; what is left out of each phase is a tenth.
fn levels(setting: &Setting<'_>) -> Traffic {
    let profile = setting.profile;
    let (phase, warmup) = (profile.duration / 3, profile.warmup());
    let levels = [Congestion::Mild, Congestion::Medium, Congestion::Heavy];
    let mut traffic = congested(setting, Congestion::Mild)
        .measured(phase * 6)
        .settle(phase / 10);
    for number in 1..6 {
        let flows = profile.flows(levels[number % 3]);
        let at = warmup + phase * number as u64;
        traffic = traffic.change(at, "group.bulk.count", &flows.to_string());
    }
    traffic
}

fn one_flow(setting: &Setting<'_>) -> Traffic {
    Traffic::of([Group::bulk("reno", setting.rtt(), setting.control)])
}

/// The rate, or a tenth of it.
fn rate_of(profile: &Profile, is_low: bool) -> String {
    let rate = profile.rate.as_bps() / if is_low { 10 } else { 1 };
    format!("\"{}\"", Rate::from_bps(rate))
}

fn slow_changes(setting: &Setting<'_>) -> Traffic {
    let profile = setting.profile;
    let (phase, warmup) = (profile.duration / 3, profile.warmup());
    let mut traffic = one_flow(setting).measured(phase * 4);
    for number in 1..4 {
        let rate = rate_of(profile, number % 2 == 1);
        traffic = traffic.change(warmup + phase * number, "link.rate", &rate);
    }
    traffic
}

fn fast_changes(setting: &Setting<'_>) -> Traffic {
    let profile = setting.profile;
    let mut traffic = one_flow(setting);
    let (mut at, mut number) = (profile.warmup(), 0);
    let end = profile.warmup() + profile.duration;
    while at < end {
        number += 1;
        traffic = traffic.change(at, "link.rate", &rate_of(profile, number % 2 == 1));
        at += FAST;
    }
    traffic
}

fn sizes(setting: &Setting<'_>) -> Traffic {
    let half = (setting.profile.flows(Congestion::Mild) / 2).max(1);
    let group = |name, mss: &str| {
        let group = Group::bulk(name, setting.rtt(), setting.control);
        group.count(half).with("mss", mss)
    };
    Traffic::of([group("small", "\"460B\""), group("full", "\"1460B\"")])
}

fn mix(setting: &Setting<'_>) -> Traffic {
    Traffic::of([
        Group::new("call", setting.rtt(), "\"voice\""),
        web(setting).count(6),
        constant_rate(setting),
        video(setting),
        bulk(setting, 5),
    ])
}

/// Connections that are opened one after the other, a flow for each 10 Mbit/s of the link: bulk flows open at the start alone, and the section
/// is about the packets that open connections.
fn openings(setting: &Setting<'_>, name: &str) -> Group {
    let app = "{ kind = \"transfer\", size = \"1kB\", repeat = \"200ms\" }";
    let count = (setting.profile.rate.as_bps() / 10_000_000).max(1);
    let group = Group::new(name, setting.rtt(), app).control(setting.control);
    group.count(count)
}

fn both_ways(setting: &Setting<'_>) -> Traffic {
    let profile = setting.profile;
    let back = profile.at_rate(Rate::from_bps(profile.rate.as_bps() / 10));
    let up = Group::bulk("up", setting.rtt(), setting.control);
    let up = up.count(back.flows(Congestion::Mild));
    Traffic::of([
        bulk(setting, profile.flows(Congestion::Mild)),
        up.with("direction", REVERSE),
        openings(setting, "opens"),
        openings(setting, "opens-up").with("direction", REVERSE),
    ])
    .reverse(back.rate)
}

/// Router L with senders A, then router M with senders B as well.
fn multi(setting: &Setting<'_>) -> Traffic {
    let profile = setting.profile;
    let half = (profile.flows(Congestion::Mild) / 2).max(1);
    let group = |name| Group::bulk(name, setting.rtt(), setting.control).count(half);
    let beside = group("B").with("path", format!("[{}]", quoted(&SECOND)));
    let rate = Rate::from_bps(profile.rate.as_bps() / 2);
    Traffic::of([group("A"), beside]).behind(rate, "codel")
}
