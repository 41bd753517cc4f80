//! What a link offers in a stretch of time, whether its rate is fixed, changes or follows a trace: who limited is judged against it.

use quell_aqm::link_trace::{ChanceTrace, LinkTrace, RateTrace, Trace, UNSCALED};
use quell_units::{Rate, Time};

/// IP bytes of a full packet, which a chance carries whatever its framing.
const FULL: u64 = 1_500;

/// What one direction of a link offers.
#[derive(Debug, Clone)]
pub(crate) enum Capacity {
    /// A rate, which may change.
    Rate(Rate),
    /// A trace.
    Trace(LinkTrace),
}

/// What a link offers, forward and reverse.
#[derive(Debug)]
pub(crate) struct LinkCapacities {
    pub(crate) name: String,
    pub(crate) capacities: [Capacity; 2],
}

impl Capacity {
    /// The IP bytes that it offers from `from` until `until`, where its rate has changed to `changed`; `None` without a limit.
    pub(crate) fn between(&self, from: Time, until: Time, changed: Option<Rate>) -> Option<u64> {
        match self {
            Self::Rate(rate) => {
                let rate = changed.unwrap_or(*rate);
                (!rate.is_unlimited()).then(|| rate.bytes_in(until - from).get())
            }
            Self::Trace(course) => Some(of_course(course, from, until)),
        }
    }
}

/// IP bytes that a link with this trace offers from `from` until `until`, since the link began.
fn of_course(course: &LinkTrace, from: Time, until: Time) -> u64 {
    let (from, until) = (from + course.offset, until + course.offset);
    let bytes = match &course.trace {
        Trace::Rates(rates) => of_rates(rates, course.repeat, from, until),
        Trace::Chances(chances) => {
            let chances = [until, from].map(|time| chances_until(chances, course.repeat, time));
            u128::from(chances[0] - chances[1]) * u128::from(FULL)
        }
    };
    (bytes * u128::from(course.scale) / u128::from(UNSCALED)) as u64
}

/// On the trace's own clock, step by step.
fn of_rates(rates: &RateTrace, repeat: bool, from: Time, until: Time) -> u128 {
    const BIT_NANOSECONDS_PER_BYTE: u128 = 8_000_000_000;
    let (steps, length) = (rates.steps(), rates.length());
    let mut now = from;
    let mut sum = 0;
    while now < until {
        let (here, base) = match repeat {
            true => {
                let here = Time::from_nanos(now.as_nanos() % length.as_nanos());
                (here, now - here)
            }
            // The last rate stays.
            false => (now, Time::ZERO),
        };
        let index = steps.partition_point(|(at, _)| *at <= here).max(1) - 1;
        let end = match steps.get(index + 1) {
            Some((at, _)) => base + *at,
            None if repeat => base + length,
            None => until,
        };
        let end = end.min(until);
        let rate: Rate = steps[index].1;
        sum += u128::from(rate.as_bps()) * u128::from((end - now).as_nanos());
        now = end;
    }
    sum / BIT_NANOSECONDS_PER_BYTE
}

/// Chances up to a time on the trace's own clock; none come any more after its end unless it repeats.
fn chances_until(chances: &ChanceTrace, repeat: bool, time: Time) -> u64 {
    let count = |time: Time| chances.times().partition_point(|at| *at <= time) as u64;
    match repeat {
        true => {
            let length = chances.length().as_nanos();
            let here = Time::from_nanos(time.as_nanos() % length);
            time.as_nanos() / length * chances.times().len() as u64 + count(here)
        }
        false => count(time),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// 8 Mbit/s, a kilobyte a millisecond, for 10 ms; then half of that for 20 ms.
    fn steps() -> LinkTrace {
        let rates = vec![
            (Time::ZERO, Rate::from_mbps(8)),
            (ms(10), Rate::from_mbps(4)),
        ];
        LinkTrace::new(Trace::Rates(RateTrace::new(rates, ms(30)).unwrap()))
    }

    #[test]
    fn a_trace_of_rates_offers_its_area() {
        let course = steps();
        for (from, until, bytes) in [
            (0, 0, 0),
            (0, 10, 10_000),
            (5, 15, 7_500),
            (25, 35, 7_500),
            (0, 60, 40_000),
            (0, 300, 200_000),
        ] {
            assert_eq!(
                of_course(&course, ms(from), ms(until)),
                bytes,
                "{from} to {until}"
            );
        }
        let later = LinkTrace {
            offset: ms(10),
            scale: 500,
            ..steps()
        };
        assert_eq!(of_course(&later, ms(0), ms(30)), 10_000);
        // The last rate stays.
        let once = LinkTrace {
            repeat: false,
            ..steps()
        };
        assert_eq!(of_course(&once, ms(30), ms(50)), 10_000);
    }

    #[test]
    fn a_trace_of_chances_offers_a_packet_for_each() {
        let chances = ChanceTrace::new((1..=4).map(ms).collect()).unwrap();
        let course = LinkTrace::new(Trace::Chances(chances));
        for (from, until, packets) in [(0, 4, 4), (0, 2, 2), (2, 6, 4), (0, 400, 400)] {
            let bytes = of_course(&course, ms(from), ms(until));
            assert_eq!(bytes, packets * FULL, "{from} to {until}");
        }
        let once = LinkTrace {
            repeat: false,
            ..course
        };
        assert_eq!(of_course(&once, ms(2), ms(400)), 2 * FULL);
    }
}
