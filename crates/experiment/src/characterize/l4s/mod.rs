//! Low latency, low loss and scalable throughput: the tests that Heist and Morton published in November 2020
//! (github.com/heistp/l4s-tests, `l4s.batch`), and the requirements of RFC 9331 section 4.3 on a scalable congestion control.
//!
//! [`thresholds`] has what both say of the results. Deviations from the tests:
//!
//! * Their Prague was version 0.5 of August 2020, whose module has no RTT independence and no detection of Classic ECN by default. Here it
//!   is version 0.6 without a target RTT (`PRAGUE_2020`), whose window follows the same law; its bursts have two packets at least.
//! * Of every test there is one path or a few: S1 has six pairs of RTTs at two rates, S2 four rates at two RTTs, S4 three links. S3 is
//!   complete but for CUBIC at 20 ms. Its hosts asked for ECN with CUBIC too, which FQ-CoDel had off then (`noecn`); here CUBIC does not ask.
//! * S6 is one link as in the tests. `s6-first`, `s6-second` and `s6-shift` are quell's own: the shared queue stands in front of a link
//!   whose queue knows L4S, as where an access network is renewed and what feeds it is not.
//! * Bursty paths (`netem slot`), tunnels and real applications are not run.
//! * The measurement follows a warm-up, and lasts as long as the profile says; the tests last 60 s, S1 180 s.
//!
//! Requirements are judged with Prague as it is now.

pub mod thresholds;

use quell_units::{Rate, Time};

use crate::characterize::test_case::{Content, First, Run, Setting, TestCase};
use crate::characterize::traffic::{FIRST, Group, Traffic};

/// The module that the tests of 2020 used: `prague_rtt_scaling` and `prague_ecn_fallback` were 0.
const PRAGUE_2020: &str = "{ name = \"prague\", variant = \"0.6\", rtt_target = \"0s\" }";
/// Prague as it is now.
const PRAGUE: &str = "\"prague\"";
/// What every queue holds: S1's `pfifo(1000)`.
const BUFFER: u64 = 1_000;
/// Rate of the link in Mbit/s, where nothing else is said.
const RATE: u64 = 50;

const S1: &str = "L4S tests of 2020, S1";
const S2: &str = "L4S tests of 2020, S2";
const S3: &str = "L4S tests of 2020, S3";
const S6: &str = "L4S tests of 2020, S6";
const SHARED: &str = "S6 over two links";
const CALL: &str = "L4S tests of 2020, bursty traffic";

/// Every one.
pub const TEST_CASES: &[TestCase] = &[
    test(
        "s1-10",
        S1,
        "a Prague flow of 2020 beside a CUBIC flow, both at 10 ms",
        |_| pair(PRAGUE_2020, 10),
    ),
    test(
        "s1-20",
        S1,
        "a Prague flow of 2020 beside a CUBIC flow, both at 20 ms",
        |_| pair(PRAGUE_2020, 20),
    ),
    test(
        "s1-80",
        S1,
        "a Prague flow of 2020 beside a CUBIC flow, both at 80 ms",
        |_| pair(PRAGUE_2020, 80),
    ),
    test(
        "s1-unequal",
        S1,
        "two Prague flows of 2020, at 10 ms and at 160 ms",
        |_| distances(PRAGUE_2020, 10, 160),
    ),
    test(
        "s1-now",
        S1,
        "a Prague flow of now beside a CUBIC flow, both at 10 ms",
        |_| pair(PRAGUE, 10),
    ),
    step(
        "s2-25",
        "a Prague flow of 2020 at 80 ms; the rate falls to 25 Mbit/s",
        |setting| fall(setting, 25),
    ),
    step(
        "s2-5",
        "a Prague flow of 2020 at 80 ms; the rate falls to 5 Mbit/s",
        |setting| fall(setting, 5),
    ),
    step(
        "s2-1",
        "a Prague flow of 2020 at 80 ms; the rate falls to 1 Mbit/s",
        |setting| fall(setting, 1),
    ),
    changing(
        "s3",
        "a Prague flow of 2020 at 20 ms; the rate changes from 100 to 50, 10, 90 and 5 Mbit/s",
        |setting| varying(setting, flow("prague", PRAGUE_2020, 20)),
    ),
    changing(
        "s3-80",
        "s3 at 80 ms: a Prague flow of 2020; from 100 to 50, 10, 90 and 5 Mbit/s",
        |setting| varying(setting, flow("prague", PRAGUE_2020, 80)),
    ),
    changing(
        "s3-80-cubic",
        "s3 at 80 ms with CUBIC without ECN; from 100 to 50, 10, 90 and 5 Mbit/s",
        |setting| varying(setting, flow("cubic", "\"cubic\"", 80)),
    ),
    TestCase {
        content: Content::Runs(marking(both_ways).in_both_ways().with_directions()),
        ..test(
            "s4",
            "L4S tests of 2020, S4",
            "four Prague flows of 2020 in each direction at 20 ms, 100 Mbit/s and 5 Mbit/s",
            both_ways,
        )
    },
    TestCase {
        content: Content::NotRun(
            "a tunnel hides flows from the queue, and no scenario has one; s6 is what the tests found within",
        ),
        ..test(
            "s5",
            "L4S tests of 2020, S5",
            "a Prague flow beside a CUBIC or Reno flow in one tunnel through fq_codel",
            |_| pair(PRAGUE_2020, 20),
        )
    },
    test(
        "s6-ecn",
        S6,
        "a Prague flow of 2020 beside a CUBIC flow with ECN in one queue that marks as RFC 3168 says, 20 ms",
        |_| shared(PRAGUE_2020, Some("ect0")),
    ),
    test(
        "s6-drop",
        S6,
        "a Prague flow of 2020 beside a CUBIC flow without ECN in the same queue, 20 ms",
        |_| shared(PRAGUE_2020, None),
    ),
    test(
        "s6-now",
        S6,
        "a Prague flow of now beside a CUBIC flow with ECN in the same queue, 20 ms",
        |_| shared(PRAGUE, Some("ect0")),
    ),
    shared_first(
        "s6-first",
        "a Prague flow of 2020 beside a CUBIC flow with ECN, 20 ms; 50 Mbit/s behind CoDel that marks, then 60 Mbit/s behind the queue",
        |_| behind_codel(50, 60),
    ),
    shared_first(
        "s6-second",
        "s6-first with 60 Mbit/s behind CoDel that marks, then 50 Mbit/s behind the queue",
        |_| behind_codel(60, 50),
    ),
    TestCase {
        content: Content::Runs(marking(shifting).behind(First::Written).with_phases()),
        ..shared_first(
            "s6-shift",
            "s6-second; in the middle the first link falls to 40 Mbit/s and becomes the bottleneck",
            shifting,
        )
    },
    test(
        "call-l",
        CALL,
        "a video call marked as L4S beside a Prague flow of 2020, 20 Mbit/s, 160 ms",
        |_| call("ect1"),
    ),
    test(
        "call-c",
        CALL,
        "a video call without ECN beside a Prague flow of 2020, 20 Mbit/s, 160 ms",
        |_| call("off"),
    ),
    requirement(
        "replace",
        1,
        "must",
        "requirement 1: can be replaced by a Classic control",
        Content::NotRun(
            "not judged: it is a choice of the host; the key congestion-control of a scenario makes it",
        ),
    ),
    requirement(
        "loss",
        2,
        "must",
        "requirement 2: a Prague flow beside a Reno flow at 20 ms; behind drop-tail only losses signal",
        Content::Runs(Run::new(|_| beside_reno(RATE, 20, None).queue("fifo")).with_buffer(BUFFER)),
    ),
    requirement(
        "monitor",
        3,
        "must",
        "requirement 3: detects a queue that marks as RFC 3168 says, and falls back",
        Content::NotRun(
            "not judged: Prague has no detection here, as its module with the default prague_ecn_fallback = 0; shared-4 and s6 show what follows",
        ),
    ),
    requirement(
        "shared-4",
        3,
        "must",
        "severity without requirement 3: a Prague flow beside a Reno flow with ECN in one queue, 4 Mbit/s, 10 ms",
        Content::Runs(marking(|_| beside_reno(4, 10, Some("ect0")))),
    ),
    requirement(
        "round-trips",
        4,
        "must",
        "requirement 4: two Prague flows, at 5 ms and at 25 ms",
        Content::Runs(marking(|_| distances(PRAGUE, 5, 25))),
    ),
    requirement(
        "few",
        5,
        "should",
        "requirement 5: four Prague flows at 5 ms on 4 Mbit/s, with windows below half a segment",
        Content::Runs(marking(few)),
    ),
    requirement(
        "reordering",
        6,
        "should",
        "requirement 6: tolerates reordering for a time, not for a number of packets",
        Content::NotRun(
            "not judged: no link here reorders; crates/tcp/tests/recovery.rs has the waiting time of its RACK",
        ),
    ),
    requirement(
        "bursts",
        7,
        "should",
        "requirement 7: bursts of at most 250 µs",
        Content::NotRun(
            "not judged: a result has no lengths of bursts; crates/tcp/tests/prague.rs has those of Prague",
        ),
    ),
];

/// In a queue that marks what is ECN-capable, if it can.
const fn marking(traffic: fn(&Setting<'_>) -> Traffic) -> Run {
    Run::new(traffic).with_buffer(BUFFER).with_marks()
}

const fn test(
    id: &'static str,
    source: &'static str,
    title: &'static str,
    traffic: fn(&Setting<'_>) -> Traffic,
) -> TestCase {
    TestCase {
        id,
        source,
        weight: "test",
        title,
        content: Content::Runs(marking(traffic).with_start()),
    }
}

const fn step(
    id: &'static str,
    title: &'static str,
    traffic: fn(&Setting<'_>) -> Traffic,
) -> TestCase {
    TestCase {
        content: Content::Runs(marking(traffic).with_phases()),
        ..test(id, S2, title, traffic)
    }
}

/// A flow through rates that change.
const fn changing(
    id: &'static str,
    title: &'static str,
    traffic: fn(&Setting<'_>) -> Traffic,
) -> TestCase {
    TestCase {
        content: Content::Runs(marking(traffic).with_phases()),
        ..test(id, S3, title, traffic)
    }
}

/// A queue that knows RFC 3168 alone stands in front of that of the card.
const fn shared_first(
    id: &'static str,
    title: &'static str,
    traffic: fn(&Setting<'_>) -> Traffic,
) -> TestCase {
    TestCase {
        weight: "quell",
        content: Content::Runs(marking(traffic).behind(First::Written)),
        ..test(id, SHARED, title, traffic)
    }
}

const fn requirement(
    id: &'static str,
    number: usize,
    weight: &'static str,
    title: &'static str,
    content: Content,
) -> TestCase {
    const SOURCES: [&str; 8] = [
        "",
        "RFC 9331 section 4.3, item 1",
        "RFC 9331 section 4.3, item 2",
        "RFC 9331 section 4.3, item 3",
        "RFC 9331 section 4.3, item 4",
        "RFC 9331 section 4.3, item 5",
        "RFC 9331 section 4.3, item 6",
        "RFC 9331 section 4.3, item 7",
    ];
    TestCase {
        id,
        source: SOURCES[number],
        weight,
        title,
        content,
    }
}

/// A bulk flow; `control` in TOML.
fn flow(name: &str, control: &str, ms: u64) -> Group {
    Group::new(name, Time::from_millis(ms), "\"bulk\"").with("congestion-control", control)
}

/// The scenario file has a queue for L4S.
fn link(mbit: u64, groups: impl IntoIterator<Item = Group>) -> Traffic {
    Traffic::of(groups)
        .link(Rate::from_bps(mbit * 1_000_000), BUFFER)
        .queue("dualpi2")
}

/// The same, and the scenario file has a queue as RFC 3168 knows it.
fn one_queue(mbit: u64, groups: impl IntoIterator<Item = Group>) -> Traffic {
    link(mbit, groups).queue("codel, ecn = true")
}

fn pair(prague: &str, ms: u64) -> Traffic {
    // Hosts of the tests asked for ECN with every control.
    let cubic = flow("cubic", "\"cubic\"", ms).with("ecn", "\"ect0\"");
    link(RATE, [flow("prague", prague, ms), cubic])
}

fn distances(prague: &str, near: u64, far: u64) -> Traffic {
    link(RATE, [flow("near", prague, near), flow("far", prague, far)])
}

/// In the middle of the measurement.
fn fall(setting: &Setting<'_>, mbit: u64) -> Traffic {
    let (warmup, half) = (setting.profile.warmup(), setting.profile.duration / 2);
    let rate = format!("\"{mbit}mbit\"");
    link(RATE, [flow("prague", PRAGUE_2020, 80)]).change(warmup + half, "link.rate", &rate)
}

/// At 25, 30, 35 and 50 s of 60 s.
fn varying(setting: &Setting<'_>, flow: Group) -> Traffic {
    let (warmup, duration) = (setting.profile.warmup(), setting.profile.duration);
    let mut traffic = link(100, [flow]);
    for (second, mbit) in [(25, 50), (30, 10), (35, 90), (50, 5)] {
        let at = warmup + duration * second / 60;
        traffic = traffic.change(at, "link.rate", &format!("\"{mbit}mbit\""));
    }
    traffic
}

fn both_ways(_setting: &Setting<'_>) -> Traffic {
    let up = flow("up", PRAGUE_2020, 20).with("direction", "\"reverse\"");
    let groups = [flow("down", PRAGUE_2020, 20).count(4), up.count(4)];
    link(100, groups).reverse(Rate::from_bps(5_000_000))
}

fn shared(prague: &str, ecn: Option<&str>) -> Traffic {
    let cubic = flow("cubic", "\"cubic\"", 20);
    let cubic = match ecn {
        Some(ecn) => cubic.with("ecn", format!("\"{ecn}\"")),
        None => cubic,
    };
    one_queue(RATE, [flow("prague", prague, 20), cubic])
}

/// A first link behind one queue that marks as RFC 3168 says, and a second one that has a queue for L4S.
fn behind_codel(first: u64, second: u64) -> Traffic {
    let cubic = flow("cubic", "\"cubic\"", 20).with("ecn", "\"ect0\"");
    let first = Rate::from_bps(first * 1_000_000);
    link(second, [flow("prague", PRAGUE_2020, 20), cubic]).behind(first, "codel, ecn = true")
}

/// In the middle of the measurement.
fn shifting(setting: &Setting<'_>) -> Traffic {
    let (warmup, half) = (setting.profile.warmup(), setting.profile.duration / 2);
    let rate = format!("link.{FIRST}.rate");
    behind_codel(60, 50).change(warmup + half, &rate, "\"40mbit\"")
}

fn beside_reno(mbit: u64, ms: u64, ecn: Option<&str>) -> Traffic {
    let reno = flow("reno", "\"reno\"", ms);
    let reno = match ecn {
        Some(ecn) => reno.with("ecn", format!("\"{ecn}\"")),
        None => reno,
    };
    one_queue(mbit, [flow("prague", PRAGUE, ms), reno])
}

/// The tests had a call of Skype, with bursts; here it is the encoder of RFC 8593.
fn call(ecn: &str) -> Traffic {
    let app = "{ kind = \"rtc\", preset = \"video-call\" }";
    let call = Group::new("call", Time::from_millis(160), app).with("ecn", format!("\"{ecn}\""));
    link(20, [flow("prague", PRAGUE_2020, 160), call])
}

/// 1 Mbit/s each is 0.42 segments in flight.
fn few(_setting: &Setting<'_>) -> Traffic {
    link(4, [flow("prague", PRAGUE, 5).count(4)])
}
