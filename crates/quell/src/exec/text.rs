//! The report of `quell exec`, for people.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use quell_exec::{Outcome, Shares};
use quell_measure::{Direction, LinkResults};
use serde_json::Value;

use crate::exec::failure::UnwrittenReport;

/// A relay cannot see why nothing comes: the path is slow, or nothing was asked for.
const BEYOND_DOWN: &str = "the path beyond or what was asked for";

/// Writes the report of `--json` into a file, or to standard output, which the program has left.
pub(crate) fn put_report(path: &Path, report: &str) -> Result<(), UnwrittenReport> {
    let written = match path == Path::new("-") {
        true => io::stdout().lock().write_all(report.as_bytes()),
        false => fs::write(path, report),
    };
    written.map_err(UnwrittenReport::at(path))
}

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
    lines.push(format!("  felt  {}", outcome.impact.sentence));
    lines.extend(
        exec["attached"]
            .as_str()
            .map(|what| format!("  at    {what}")),
    );
    let far = match exec["far_congestion_control"].as_str() {
        Some(control) => format!("{control} at the far edge"),
        None => "what the remote servers use at the other end".to_owned(),
    };
    let tcp = format!("{} in the program, {far}", text("congestion_control"));
    lines.extend(match text("net").as_str() {
        // Whose TCP it is, nobody knows here.
        "attached" => None,
        "relay" => Some(format!(
            "  TCP   {tcp}, by a relay: {}{}{}{}{}{}{}{}",
            counted(relay("connections"), "connection"),
            others(relay("reset"), "reset"),
            others(relay("unreachable"), "unreachable"),
            others(relay("cut"), "cut"),
            others(relay("turned_away"), "turned away"),
            others(relay("unanswered"), "left without an answer"),
            others(relay("delayed"), "begun late"),
            others(relay("limited"), "limited"),
        )),
        _ => Some(format!("  TCP   {tcp}")),
    });
    lines.extend(passed_by(exec));
    lines.extend(code_points(exec).map(|ecn| format!("  ECN   {ecn}")));
    for rule in &outcome.summary.figures.rules {
        let way = ["down", "up"][rule.direction.index()];
        let all: u64 = rule.codes.as_flattened().iter().sum();
        let (name, hop, matched) = (&rule.name, &rule.hop, rule.matched);
        lines.push(format!(
            "  rule  {name} of {hop}, {way}: {matched} of {all} packets matched"
        ));
    }
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

/// What the link was not for.
fn passed_by(exec: &Value) -> Option<String> {
    let [down, up] = ["down", "up"].map(|way| exec[way]["passed_by"].as_u64().unwrap_or(0));
    (down + up > 0).then(|| format!("  others passed the link by: {down} packets down, {up} up"))
}

/// The ECN fields of what each side sent, and of what the other side received of it; nothing where no packet has crossed the link.
fn code_points(exec: &Value) -> Option<String> {
    const KINDS: [(&str, &str); 4] = [
        ("not_ect", "Not-ECT"),
        ("ect0", "ECT(0)"),
        ("ect1", "ECT(1)"),
        ("ce", "CE"),
    ];
    let counts = |way: &str, what: &str| {
        KINDS.map(|(key, name)| (exec[way]["ecn"][what][key].as_u64().unwrap_or(0), name))
    };
    let all = ["down", "up"].map(|way| ["sent", "received"].map(|what| counts(way, what)));
    let mut each = all.iter().flatten().flatten();
    if each.clone().all(|(count, _)| *count == 0) {
        return None;
    }
    if each.all(|(count, name)| *count == 0 || *name == "Not-ECT") {
        return Some("all packets are Not-ECT, in both directions".to_owned());
    }
    let words = |counts: &[(u64, &str); 4]| {
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = some
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        match words.is_empty() {
            true => "nothing".to_owned(),
            false => words.join(", "),
        }
    };
    let [[down, to_program], [up, to_far]] = all.map(|way| way.map(|counts| words(&counts)));
    let [near, far] = match exec["attached"].is_null() {
        true => ["the program", "the far edge"],
        false => ["what is behind the link", "the other side"],
    };
    Some(format!(
        "{far} sent {down}, of which {near} received {to_program}; {near} sent {up}, of which {far} received {to_far}"
    ))
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
        ("losses outside of the queues", shares.losses),
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

pub(crate) fn counted(number: u64, what: &str) -> String {
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
    use serde_json::json;

    #[test]
    fn the_largest_share_comes_first_and_nothing_is_said_of_nothing() {
        let shares = Shares {
            link: 0.25,
            program: 0.002,
            losses: 0.0,
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
    fn code_points_are_those_of_each_side_and_short_where_nobody_uses_ecn() {
        let exec = |sent: [u64; 4], received: [u64; 4]| {
            let fields = |[not_ect, ect0, ect1, ce]: [u64; 4]| json!({ "not_ect": not_ect, "ect0": ect0, "ect1": ect1, "ce": ce });
            let down = json!({ "ecn": { "sent": fields(sent), "received": fields(received) } });
            let up = json!({ "ecn": { "sent": fields([7, 0, 0, 0]), "received": fields([7, 0, 0, 0]) } });
            json!({ "down": down, "up": up })
        };
        assert_eq!(
            code_points(&exec([2, 0, 90, 0], [2, 0, 80, 10])).unwrap(),
            "the far edge sent 2 Not-ECT, 90 ECT(1), of which the program received 2 Not-ECT, 80 ECT(1), 10 CE; \
             the program sent 7 Not-ECT, of which the far edge received 7 Not-ECT"
        );
        let plain = code_points(&exec([2, 0, 0, 0], [2, 0, 0, 0])).unwrap();
        assert!(plain.starts_with("all packets are Not-ECT"), "{plain}");
        assert_eq!(code_points(&json!({})), None);
    }

    #[test]
    fn of_several_links_each_is_named() {
        let share = |name: &str, share| LinkShare {
            name: name.to_owned(),
            share,
        };
        let shares = Shares {
            link: 0.90,
            program: 0.04,
            losses: 0.06,
            beyond: 0.0,
            active_s: 12.0,
            links: vec![share("line", 0.15), share("wifi", 0.75)],
        };
        assert_eq!(
            who("downloads", BEYOND_DOWN, &shares).unwrap(),
            "downloads were limited by wifi 75 %, line 15 %, losses outside of the queues 6 %, the program or its TCP 4 % (of 12.0 s with data)"
        );
    }
}
