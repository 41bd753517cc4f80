//! The marker requirement: what survives a threshold c has the rate v⁻¹(c).

use super::*;

/// How packets of 1 500 bytes follow each other.
#[derive(Debug, Clone, Copy)]
enum Arrivals {
    /// Evenly, each up to half an interval early or late.
    Jittered,
    Poisson,
}

/// Packets of a flow of `mbps`, in the order of their times, for `seconds`.
fn times(arrivals: Arrivals, mbps: u64, seconds: u64) -> Vec<Time> {
    let interval = 12_000_000 / mbps;
    let count = seconds * 1_000_000_000 / interval;
    let mut random = Random::new(11, "arrivals");
    let mut now = 0.0;
    let mut next = |n: u64| match arrivals {
        Arrivals::Jittered => n * 1_000 * interval / 1_000 + random.below(interval),
        Arrivals::Poisson => {
            let even = (f64::from(random.u32()) + 0.5) / 2_f64.powi(32);
            now -= even.ln() * interval as f64;
            now as u64
        }
    };
    (0..count).map(|n| Time::from_nanos(next(n))).collect()
}

/// The codes that a marker gives after eight seconds, and how long it took.
fn codes(marker: &mut Marker, times: &[Time]) -> (Vec<u16>, f64) {
    let warm = Time::from_secs(8);
    let marked = times.iter().map(|&now| (now, mark(marker, 7, 1_500, now)));
    let codes = marked.filter(|(now, _)| *now >= warm).map(|(_, code)| code);
    let span = times[times.len() - 1] - warm;
    (codes.collect(), span.as_nanos() as f64 / 1e9)
}

/// What survives, in bit/s.
fn surviving(codes: &[u16], seconds: f64, threshold: u16) -> f64 {
    let kept = codes.iter().filter(|&&code| code > threshold).count();
    kept as f64 * 12_000.0 / seconds
}

/// Functions by name, and the rates in Mbit/s at which thresholds are set.
fn functions() -> Vec<(&'static str, ValueFunction)> {
    vec![
        ("gold", function("gold")),
        ("silver", function("silver")),
        ("background", function("background")),
        ("linear", function("linear")),
        ("rational", function("rational")),
        ("piecewise", guaranteed()),
    ]
}

impl Arrivals {
    /// How much the rate of a flow itself varies over the time constant of 100 ms, in parts of it: of shot noise with an exponential memory
    /// √(interval / 2τ); of jittered packets, which come no more than half an interval off, half an interval in τ at most.
    fn unsteadiness(self, mbps: u64) -> f64 {
        let packets = 100e6 / (12e6 / mbps as f64);
        match self {
            Self::Jittered => 0.5 / packets,
            Self::Poisson => (0.5 / packets).sqrt(),
        }
    }
}

/// A marker that draws.
struct Drawing {
    kind: &'static str,
    given: Given<'static>,
    /// What it misses on average, in parts of the surviving rate: its head says why.
    bias: f64,
    /// The slowest flow that it measures well, in Mbit/s.
    slowest: u64,
}

const DRAWING: &[Drawing] = &[
    Drawing {
        kind: "random",
        given: &[],
        bias: 0.0,
        slowest: 1,
    },
    // Overruns of a Poisson stream.
    Drawing {
        kind: "fast_adapting",
        given: &[],
        bias: 0.006,
        slowest: 10,
    },
    // A region, 2^(1/64).
    Drawing {
        kind: "table",
        given: &[],
        bias: 0.011,
        slowest: 1,
    },
    // The longest timescale must have settled.
    Drawing {
        kind: "multi_timescale",
        given: &[("longest", "1s")],
        bias: 0.0,
        slowest: 1,
    },
];

#[test]
fn what_survives_any_threshold_has_the_rate_of_the_function() {
    for drawing in DRAWING {
        for (mbps, seconds) in [(100, 16), (10, 28), (1, 108)] {
            if mbps < drawing.slowest {
                continue;
            }
            for arrivals in [Arrivals::Jittered, Arrivals::Poisson] {
                let times = times(arrivals, mbps, seconds);
                for (name, function) in functions() {
                    let mut marker = marker(drawing.kind, drawing.given, &function);
                    let (codes, seconds) = codes(&mut marker, &times);
                    let offered = codes.len() as f64 * 12_000.0 / seconds;
                    let unsteady = arrivals.unsteadiness(mbps);
                    for percent in [5, 20, 50, 80, 95] {
                        let at = Rate::from_bps(mbps * percent * 10_000);
                        // Just below and just above the code of that rate.
                        let code = function.code_at(at);
                        for threshold in [code - 1, code] {
                            let exact = function.rate_above(threshold).as_bps() as f64;
                            let kept = surviving(&codes, seconds, threshold);
                            let share = (exact / offered).min(1.0);
                            // Three standard deviations of as many draws.
                            let sigma = (share * (1.0 - share) / codes.len() as f64).sqrt();
                            let allowed = (3.0 * sigma + drawing.bias * share) * offered;
                            let story = format!(
                                "{} {name} {arrivals:?} {mbps} Mbit/s, threshold {threshold}: {kept:.0} for {exact:.0} of {offered:.0}, allowed {allowed:.0}",
                                drawing.kind
                            );
                            // A flow that is for a while slower than v⁻¹(c) loses that for good: near its own rate less survives, never more.
                            if share < 1.0 - 2.0 * unsteady {
                                assert!((kept - exact).abs() <= allowed, "{story}");
                            } else {
                                assert!(kept <= exact + allowed, "{story}");
                                let least = (1.0 - 4.0 * unsteady) * share * offered;
                                assert!(kept >= least - allowed, "{story}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn token_buckets_keep_the_requirement_at_every_boundary() {
    // Up to which part of the flow's rate: a bucket overflows where fewer packets come in 10 ms than it holds, two at least; of a Poisson stream
    // of 8 in 10 ms that happens.
    for (arrivals, mbps, seconds, part) in [
        (Arrivals::Jittered, 100, 16, 0.5),
        (Arrivals::Poisson, 100, 16, 0.5),
        (Arrivals::Jittered, 10, 28, 0.5),
        (Arrivals::Poisson, 10, 28, 0.1),
    ] {
        let times = times(arrivals, mbps, seconds);
        for (name, function) in functions() {
            let mut marker = marker("token_bucket", &[], &function);
            let (codes, seconds) = codes(&mut marker, &times);
            let boundary = |step: i32| 10_f64.powf(4.0 + f64::from(step) / 10.0);
            let code = |step| function.code_at(Rate::from_bps(boundary(step) as u64));
            // From 40 kbit/s.
            for step in (6..60).take_while(|&step| boundary(step) < mbps as f64 * 1e6 * part) {
                // Where neighbouring boundaries have codes of their own.
                if code(step) == code(step + 1) {
                    continue;
                }
                let rate = boundary(step);
                for threshold in [code(step + 1), code(step) - 1] {
                    let kept = surviving(&codes, seconds, threshold);
                    // What is in the bucket at either end, and a packet.
                    let allowed = ((rate * 0.010).max(24_000.0) + 12_000.0) / seconds + rate * 1e-6;
                    assert!(
                        (kept - rate).abs() <= allowed,
                        "{name} {arrivals:?} {mbps} Mbit/s, region {step}: {kept:.0} for {rate:.0}, allowed {allowed:.0}"
                    );
                }
            }
        }
    }
}
