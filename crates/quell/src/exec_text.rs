//! The report of `quell exec`, for people.

use quell_exec::{Outcome, Shares};
use quell_measure::{Direction, LinkResults};

/// A relay cannot see why nothing comes: the path is slow, or nothing was asked for.
const BEYOND_DOWN: &str = "the path beyond or what was asked for";

/// The lines of the report.
pub(crate) fn report(outcome: &Outcome) -> Vec<String> {
    let exec = &outcome.exec;
    let text = |key: &str| exec[key].as_str().unwrap_or_default().to_owned();
    let relay = |key: &str| exec["relay"][key].as_u64().unwrap_or(0);
    let mut lines = vec![format!(
        "quell: {:.1} s behind {}",
        outcome.summary.duration_s,
        text("link")
    )];
    lines.extend(sides(&outcome.links, outcome.summary.duration_s));
    lines.push(format!("  felt  {}", outcome.felt.sentence));
    let far = match exec["far_congestion_control"].as_str() {
        Some(control) => format!("{control} at the far edge"),
        None if exec["net"] == "pasta" => "none in pasta, which sends the downloads".to_owned(),
        None => "what the remote servers use at the other end".to_owned(),
    };
    let tcp = format!("{} in the program, {far}", text("congestion_control"));
    lines.push(match text("net").as_str() {
        "relay" => format!(
            "  TCP   {tcp}, by a relay: {}{}{}",
            counted(relay("connections"), "connection"),
            others(relay("reset"), "reset"),
            others(relay("unreachable"), "unreachable"),
        ),
        _ => format!("  TCP   {tcp}"),
    });
    for (name, beyond, shares) in [
        ("downloads", BEYOND_DOWN, &outcome.limits.down),
        ("uploads", "the path beyond", &outcome.limits.up),
    ] {
        lines.extend(who(name, beyond, shares).map(|who| format!("  {who}")));
    }
    lines.extend(
        outcome
            .folder
            .as_ref()
            .map(|folder| format!("  results in {}", folder.display())),
    );
    lines
}

/// What crossed each direction; of several links, in the order in which packets cross them.
fn sides(links: &[LinkResults], duration_s: f64) -> Vec<String> {
    let of = |direction| {
        let here = links.iter();
        here.filter(move |link| link.whole.direction == direction)
    };
    let (down, mut up) = (
        of(Direction::Forward).collect::<Vec<_>>(),
        of(Direction::Reverse).collect::<Vec<_>>(),
    );
    up.reverse();
    let names = down.iter().map(|link| name_of(link).chars().count());
    let width = names.max().unwrap_or(0);
    let mut lines = Vec::new();
    for (way, links) in [("down", &down), ("up", &up)] {
        for (index, link) in links.iter().enumerate() {
            let way = if index == 0 { way } else { "" };
            let name = match links.len() {
                1 => String::new(),
                _ => format!("{:width$}  ", name_of(link)),
            };
            lines.push(format!("  {way:5} {name}{}", side(link, duration_s)));
        }
    }
    lines
}

/// The name of a link, as its queues have it.
fn name_of(link: &LinkResults) -> &str {
    let queue = link.whole.queues.first();
    queue.map_or("", |queue| queue.hop.as_str())
}

/// What crossed one direction of a link.
fn side(link: &LinkResults, duration_s: f64) -> String {
    let whole = &link.whole;
    let sum = |figure: fn(&quell_measure::QueueSummary) -> u64| -> u64 {
        whole.queues.iter().map(figure).sum()
    };
    let (packets, bytes) = (sum(|queue| queue.packets), sum(|queue| queue.bytes));
    if packets == 0 {
        return "nothing".to_owned();
    }
    let rate = bytes as f64 * 8.0 / duration_s.max(1e-9) / 1e6;
    let mut text = format!("{rate:.2} Mbit/s");
    if !whole.rate.is_unlimited() {
        text += &format!(", {:.0} % of the link", whole.utilisation() * 100.0);
    }
    // Of several queues, each its own.
    for queue in whole.queues.iter().filter(|queue| queue.packets > 0) {
        if let Some(delay) = &queue.delay_ms {
            let name = match whole.queues.len() {
                1 => String::new(),
                _ => format!(" of {}", queue.name),
            };
            text += &format!(
                "; delay{name} mean {:.1} ms, p99 {:.1} ms",
                delay.mean, delay.p99
            );
        }
    }
    text + &format!(
        "; {}, {} marked, {} dropped",
        counted(packets, "packet"),
        sum(|queue| queue.marked),
        sum(|queue| queue.dropped)
    )
}

/// Who limited a direction: the largest share first.
fn who(name: &str, beyond: &str, shares: &Shares) -> Option<String> {
    if shares.active_s <= 0.0 {
        return None;
    }
    let mut parts = vec![
        ("the program or its TCP", shares.program),
        (beyond, shares.beyond),
    ];
    match &shares.links[..] {
        [] => parts.insert(0, ("this link", shares.link)),
        links => parts
            .splice(
                0..0,
                links.iter().map(|link| (link.name.as_str(), link.share)),
            )
            .for_each(drop),
    }
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, share)| *share >= 0.005)
        .map(|(who, share)| format!("{who} {:.0} %", share * 100.0))
        .collect();
    Some(format!(
        "{name} were limited by {} (of {:.1} s with data)",
        parts.join(", "),
        shares.active_s
    ))
}

fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn others(number: u64, what: &str) -> String {
    match number {
        0 => String::new(),
        _ => format!(", {number} {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_exec::LinkShare;

    #[test]
    fn the_largest_share_comes_first_and_nothing_is_said_of_nothing() {
        let shares = Shares {
            link: 0.25,
            program: 0.002,
            beyond: 0.748,
            active_s: 12.0,
            links: Vec::new(),
        };
        assert_eq!(
            who("downloads", BEYOND_DOWN, &shares).unwrap(),
            "downloads were limited by the path beyond or what was asked for 75 %, this link 25 % (of 12.0 s with data)"
        );
        assert_eq!(who("uploads", "", &Shares::default()), None);
    }

    #[test]
    fn of_several_links_each_is_named() {
        let share = |name: &str, share| LinkShare {
            name: name.to_owned(),
            share,
        };
        let shares = Shares {
            link: 0.95,
            program: 0.05,
            beyond: 0.0,
            active_s: 12.0,
            links: vec![share("line", 0.15), share("wifi", 0.8)],
        };
        assert_eq!(
            who("downloads", BEYOND_DOWN, &shares).unwrap(),
            "downloads were limited by wifi 80 %, line 15 %, the program or its TCP 5 % (of 12.0 s with data)"
        );
    }
}
