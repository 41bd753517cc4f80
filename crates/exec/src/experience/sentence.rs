//! The sentence.

use super::impact::{State, Traffic, UserImpact};

/// One way, in ms, that a call may take without anybody's notice: ITU-T G.114 (05/2003), section 4.
const CALL_MS: f64 = 150.0;
/// Web items that take so long, in ms, are the slow ones of `quell reproduce browsing`.
const SLOW_MS: f64 = 200.0;
/// And these are those that a user waits for.
const SLOWER_MS: f64 = 1_000.0;
/// Below this, in ms, nobody feels a wait: a frame of a fast screen takes eight times as long.
pub(super) const NOTHING_MS: f64 = 1.0;

/// What the figures do not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    /// Base RTT of the link in milliseconds.
    pub(super) rtt_ms: f64,
    /// The figures are the most that a click waits.
    pub(super) is_at_most: bool,
    /// There were so few packets that the longest wait stands for the 99th percentile.
    pub(super) few: bool,
}

/// All of it, for people.
pub(super) fn sentence(impact: &UserImpact, circumstances: Circumstances) -> String {
    let so_far = if impact.partial { "so far: " } else { "" };
    let what = match impact.state {
        State::Unused => return format!("{so_far}nothing: no packet crossed the link"),
        State::Unlimited => {
            let rtt = match circumstances.rtt_ms > 0.0 {
                true => format!(
                    ", and every round trip took its {} longer",
                    ms(circumstances.rtt_ms)
                ),
                false => String::new(),
            };
            format!(
                "this link has no rate: nothing waited{rtt}{}",
                losses(impact)
            )
        }
        State::Idle => format!(
            "hardly any data flowed: {}{}",
            click(impact, circumstances),
            losses(impact)
        ),
        State::Busy => format!(
            "while data flowed {}; {}{}",
            click(impact, circumstances),
            call(impact),
            losses(impact)
        ),
    };
    format!("{so_far}{what}")
}

/// How much longer a round trip took.
fn click(impact: &UserImpact, circumstances: Circumstances) -> String {
    let all = impact.traffic.iter();
    let all = all.map(|traffic| longer(traffic, circumstances));
    let all: Vec<String> = all.collect();
    let longest = impact.traffic.iter().map(|traffic| traffic.longer_ms_p99);
    let than = match longest.fold(0.0, f64::max) {
        longest if longest >= SLOWER_MS => ", more than the 1 s of a page that is waited for",
        longest if longest >= SLOW_MS => ", more than the 0.2 s of a slow page",
        _ => "",
    };
    format!("a click or a key took {}{than}", all.join(" and "))
}

fn longer(traffic: &Traffic, circumstances: Circumstances) -> String {
    let kind = match traffic.name.as_deref() {
        Some("l4s") => " as L4S",
        Some("classic") => " as Classic",
        _ => "",
    };
    if traffic.longer_ms_p99 < NOTHING_MS {
        return format!("less than 1 ms longer than on an idle link{kind}");
    }
    let at_most = if circumstances.is_at_most {
        "at most "
    } else {
        ""
    };
    let (median, p99) = (ms(traffic.longer_ms_median), ms(traffic.longer_ms_p99));
    let longer = format!("{at_most}{median} longer than on an idle link{kind}");
    match circumstances.few {
        true => format!("{longer} (once {p99})"),
        false => format!("{longer} (1 in 100: {p99} or more)"),
    }
}

/// What is left of the time that a call may take.
fn call(impact: &UserImpact) -> String {
    let ways = impact.traffic.iter();
    let ways = ways.flat_map(|traffic| [traffic.one_way_ms_down, traffic.one_way_ms_up]);
    let longest = ways.fold(0.0, f64::max);
    match longest > CALL_MS {
        true => format!(
            "a call takes {} one way here alone, more than the 150 ms of ITU-T G.114",
            ms(longest)
        ),
        false => format!(
            "a call takes {} of the 150 ms one way of ITU-T G.114",
            ms(longest)
        ),
    }
}

fn losses(impact: &UserImpact) -> String {
    let percent = |share: f64| match share * 100.0 {
        percent if percent < 0.01 => "less than 0.01 %".to_owned(),
        percent => format!("{percent:.2} %"),
    };
    let ways = [
        (impact.lost_down, impact.lost_outside_down, "down"),
        (impact.lost_up, impact.lost_outside_up, "up"),
    ];
    let ways = ways.into_iter().filter(|(share, ..)| *share > 0.0);
    let lost = ways.map(|(share, outside, way)| match outside > 0.0 {
        false => format!("{} {way}", percent(share)),
        true if outside < share => format!(
            "{} {way}, of which {} outside of the queue",
            percent(share),
            percent(outside)
        ),
        true => format!("{} {way}, outside of the queue", percent(share)),
    });
    let lost: Vec<String> = lost.collect();
    match lost.is_empty() {
        true => "; nothing was lost".to_owned(),
        false => format!("; lost: {}", lost.join(", ")),
    }
}

/// As exact as it is of use.
fn ms(ms: f64) -> String {
    match ms {
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms => format!("{ms:.0} ms"),
    }
}
