//! Hints for values that cannot be read: units of other tools, numbers without a unit, quotes.
//!
//! Tools disagree, so nothing of this is accepted. `tc` reads `mbps` as megabytes a second and `k` as 1 024 bytes (tc(8),
//! UNITS); `iperf3` reads `10M` as 10 Mbit/s; most others write `Mbps` for megabits a second.

use quell_units::notation;
use quell_units::parameter::{self, Domain as D};

use super::domain::Domain;
use super::problem::closest;
use super::tree::{Node, TomlType, Tree};

/// "; …" that finishes a message about `node`, or nothing.
pub(super) fn of(domain: &Domain, node: &Node) -> String {
    let Tree::Scalar(kind, text) = &node.value else {
        return String::new();
    };
    match domain {
        Domain::Value(domain) => of_parameter(domain, node),
        Domain::Rate(..) => finish(rate(text)),
        Domain::Signed(..) => finish(unquoted(*kind, text, text.parse::<i32>().is_ok())),
        Domain::Seeds if text.parse::<u64>().is_ok() => format!("; write [{text}]"),
        _ => String::new(),
    }
}

/// A hint for a parameter of a discipline, a control, a marker or a function.
pub(super) fn of_parameter(domain: &parameter::Domain, node: &Node) -> String {
    let Tree::Scalar(kind, text) = &node.value else {
        return String::new();
    };
    let text = text.trim();
    finish(match domain {
        D::Time(..) | D::Period(..) | D::Interval(..) => time(text),
        D::Bytes(..) | D::Sizes(..) => bytes(text),
        D::Rate(..) => rate(text),
        D::Limit { .. } | D::TimeOrPackets(..) | D::Packets(..) => limit(text, domain),
        D::Integer(..) | D::Flag => unquoted(*kind, text, domain.parse(text).is_ok()),
        D::Fraction(_, _, of) => {
            unquoted(*kind, text, domain.parse(text).is_ok()).or_else(|| percent(text, *of))
        }
        D::Frequency(..) => None,
        D::CommandLine => Some(format!("write [{}]", in_list(text))),
        D::Rates(named) => closest(text, named.iter().map(|(name, _)| *name))
            .filter(|word| *word != text)
            .map(|word| format!("did you mean \"{word}\"?"))
            .or_else(|| file(text)),
        D::Word(words) => closest(text, words.iter().copied())
            .filter(|word| *word != text)
            .map(|word| format!("did you mean \"{word}\"?")),
    })
}

fn finish(hint: Option<String>) -> String {
    hint.map_or(String::new(), |hint| format!("; {hint}"))
}

/// A number or a switch in quotes, which TOML takes for a text.
fn unquoted(kind: TomlType, text: &str, readable: bool) -> Option<String> {
    (kind == TomlType::String && readable).then(|| format!("write {text} without quotes"))
}

/// The words of a command, each in quotes.
fn in_list(text: &str) -> String {
    let words = text.split_whitespace().map(|word| format!("{word:?}"));
    words.collect::<Vec<_>>().join(", ")
}

/// A text that looks like the name of a file, where a table names one.
fn file(text: &str) -> Option<String> {
    let extension = text.rsplit('.').next().filter(|rest| *rest != text);
    let has_extension = extension.is_some_and(|rest| {
        (1..=5).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let is_short = text.len() <= 64;
    (is_short && (has_extension || text.contains('/')))
        .then(|| format!("a file is {{ file = \"{text}\" }}"))
}

fn percent(text: &str, of: u64) -> Option<String> {
    let number = text.strip_suffix('%')?.trim_end();
    let parts = notation::multiple(number, 100 * of).ok()? / 100 / 100;
    Some(format!("write {}", notation::write_fraction(parts, of)))
}

/// A decimal and what follows it.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    // No unit makes a 0 right: it is out of range.
    if number.chars().all(|c| matches!(c, '0' | '.' | '_')) {
        return None;
    }
    // A message should not grow with what was written.
    (!number.is_empty() && text.len() <= 32).then(|| (number, unit.trim()))
}

/// `number` times `factor`, as short as it can be.
fn times(number: &str, factor: u64) -> Option<String> {
    const PARTS: u64 = 1_000_000;
    let parts = notation::multiple(number, PARTS).ok()?;
    Some(notation::write_fraction(parts.checked_mul(factor)?, PARTS))
}

fn time(text: &str) -> Option<String> {
    let (number, unit) = split(text)?;
    let right = match unit.to_lowercase().as_str() {
        "" => {
            return Some(format!(
                "it has no unit: write \"{number}s\" for seconds or \"{number}ms\" for milliseconds"
            ));
        }
        "m" => {
            return Some(format!(
                "m could be minutes or milliseconds: write \"{number}min\" or \"{number}ms\""
            ));
        }
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "msecs" | "milli" | "millisecond" | "milliseconds" => "ms",
        // The Greek letter beside the sign for a millionth.
        "us" | "\u{3bc}s" | "usec" | "usecs" | "micro" | "microsecond" | "microseconds" => "us",
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => "ns",
        "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => return Some(format!("write \"{}h\"", times(number, 24)?)),
        _ => return None,
    };
    // A value whose form is OK already is only out of range.
    (right != unit && unit != "µs").then(|| format!("write \"{number}{right}\""))
}

/// The letter of a decimal prefix, in lower case, and what follows it.
fn prefix(unit: &str) -> (&str, &str) {
    match unit.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'k' | b'm' | b'g' | b't') => unit.split_at(1),
        _ => ("", unit),
    }
}

fn rate(text: &str) -> Option<String> {
    let (number, unit) = split(text)?;
    let (large, rest) = prefix(unit);
    let large = large.to_ascii_lowercase();
    let bits = format!("\"{number}{large}bit\"");
    let in_bytes = || times(number, 8).map(|number| format!("\"{number}{large}bit\""));
    match rest {
        // So large a number is one of bits.
        "" if large.is_empty() && number.len() > 5 => {
            Some(format!("it has no unit: write \"{number}bit\" for bit/s"))
        }
        "" if large.is_empty() => Some(format!(
            "it has no unit: write \"{number}mbit\" for {number} Mbit/s"
        )),
        "" | "b" | "bits" | "b/s" | "bit/s" | "bits/s" | "bitps" | "Bit/s" => {
            Some(format!("write {bits}"))
        }
        "bps" | "BPS" => Some(format!(
            "write {bits}, or {} for bytes: {unit} is bits a second in most tools and bytes a second in tc",
            in_bytes()?
        )),
        "B" | "B/s" | "Bps" | "byte/s" | "bytes/s" => {
            Some(format!("a rate counts bits: write {}", in_bytes()?))
        }
        _ if rest.eq_ignore_ascii_case("ibit") && !large.is_empty() => Some(format!(
            "{unit} is in steps of 1024, and rates here are in steps of 1000: write {bits} if that is meant"
        )),
        _ => None,
    }
}

fn bytes(text: &str) -> Option<String> {
    let (number, unit) = split(text)?;
    let (large, rest) = prefix(unit);
    let large = large.to_ascii_uppercase();
    let decimal = if large == "K" { "k" } else { &large };
    match rest {
        "" if large.is_empty() => Some(format!("it has no unit: write \"{number}B\"")),
        "b" | "byte" | "bytes" | "octets" if large.is_empty() => {
            Some(format!("write \"{number}B\""))
        }
        "" | "b" | "B" | "byte" | "bytes" if ["K", "M", "G"].contains(&&*large) && unit != "kB" => {
            let is_right = rest == "B" && large != "K";
            (!is_right).then(|| {
                format!(
                    "{unit} is in steps of 1024 in tc and of 1000 elsewhere: write \"{number}{decimal}B\" (1000) or \"{number}{large}iB\" (1024)"
                )
            })
        }
        "ib" if ["K", "M", "G"].contains(&&*large) => Some(format!("write \"{number}{large}iB\"")),
        _ => None,
    }
}

/// A limit in any unit, or a number of packets.
fn limit(text: &str, domain: &parameter::Domain) -> Option<String> {
    let (number, unit) = split(text)?;
    let in_bytes = matches!(domain, D::Limit { .. });
    match unit.to_lowercase().as_str() {
        // Out of range, or a domain that wants its unit.
        "" if in_bytes => Some(format!(
            "it has no unit: write \"{number}p\" for packets, \"{number}kB\" for data or \"{number}ms\" for time"
        )),
        "" => None,
        "pkts" | "pckt" | "pckts" | "packets" | "packet"
            if unit != "packets" && unit != "packet" =>
        {
            Some(format!("write \"{number}p\""))
        }
        "pkts" | "pckt" | "pckts" => Some(format!("write \"{number}p\"")),
        // Of minutes and megabytes it is the latter that a queue holds.
        "m" if in_bytes => bytes(text),
        _ if matches!(domain, D::Packets(..)) => None,
        _ => time(text).or_else(|| bytes(text).filter(|_| in_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Origin;
    use quell_units::{Rate, Time};

    fn hint(domain: &Domain, kind: TomlType, text: &str) -> String {
        let node = Node {
            origin: Origin::Line(1),
            value: Tree::Scalar(kind, text.to_owned()),
        };
        of(domain, &node)
    }

    /// A hint about a unit names what reads back as the quantity that was meant.
    #[test]
    fn what_a_hint_proposes_can_be_read() {
        let rate = Domain::Rate(Rate::from_bps(1), Rate::from_mbps(1_000_000), None);
        let time = Domain::Value(D::Time(Time::ZERO, Time::MAX));
        let bytes = Domain::Value(D::Bytes(0, u64::MAX));
        let limit = Domain::Value(D::Limit {
            plain_is_packets: false,
        });
        for (domain, text, proposed) in [
            (&rate, "10Mbps", &["10mbit", "80mbit"][..]),
            (&rate, "1.5 mbps", &["1.5mbit", "12mbit"]),
            (&rate, "10M", &["10mbit"]),
            (&rate, "10 Mb/s", &["10mbit"]),
            (&rate, "100Mbit/s", &["100mbit"]),
            (&rate, "1Gb", &["1gbit"]),
            (&rate, "10MB/s", &["80mbit"]),
            (&rate, "1.25MBps", &["10mbit"]),
            (&rate, "64kibit", &["64kbit"]),
            (&rate, "40", &["40mbit"]),
            (&time, "60", &["60s", "60ms"]),
            (&time, "60sec", &["60s"]),
            (&time, "5 msecs", &["5ms"]),
            (&time, "5\u{3bc}s", &["5us"]),
            (&time, "5MS", &["5ms"]),
            (&time, "1m", &["1min", "1ms"]),
            (&time, "1d", &["24h"]),
            (&bytes, "1500", &["1500B"]),
            (&bytes, "1500 bytes", &["1500B"]),
            (&bytes, "64k", &["64kB", "64KiB"]),
            (&bytes, "64KB", &["64kB", "64KiB"]),
            (&bytes, "2mb", &["2MB", "2MiB"]),
            (&limit, "100", &["100p", "100kB", "100ms"]),
            (&limit, "100pkts", &["100p"]),
            (&limit, "100msec", &["100ms"]),
            (&limit, "1M", &["1MB", "1MiB"]),
        ] {
            let hint = hint(domain, TomlType::String, text);
            let quoted: Vec<&str> = hint.split('"').skip(1).step_by(2).collect();
            assert_eq!(quoted, proposed, "{text}: {hint}");
            assert!(domain.parse(text).is_none(), "{text} is right as it is");
            for proposal in quoted {
                assert!(domain.parse(proposal).is_some(), "{text}: {hint}");
            }
        }
    }

    #[test]
    fn numbers_and_switches_in_quotes_are_recognised_and_nonsense_is_left_alone() {
        let integer = Domain::Value(D::Integer(0, 9));
        let flag = Domain::Value(D::Flag);
        let fraction = Domain::Value(D::Fraction(0, 1_024, 1_024));
        let word = Domain::Value(D::Word(&["forward", "reverse"]));
        let rate = Domain::Rate(Rate::from_bps(1), Rate::from_mbps(1), None);
        for (domain, kind, text, expected) in [
            (&integer, TomlType::String, "2", "; write 2 without quotes"),
            (&integer, TomlType::Integer, "20", ""),
            (
                &flag,
                TomlType::String,
                "true",
                "; write true without quotes",
            ),
            (&fraction, TomlType::String, "80%", "; write 0.8"),
            (
                &word,
                TomlType::String,
                "revrese",
                "; did you mean \"reverse\"?",
            ),
            (&word, TomlType::String, "sideways", ""),
            (&rate, TomlType::String, "10tbit", ""),
            (&rate, TomlType::String, "fast", ""),
            (&rate, TomlType::String, "", ""),
            (&rate, TomlType::String, &"9".repeat(1_000), ""),
            (&Domain::Seeds, TomlType::Integer, "4", "; write [4]"),
        ] {
            assert_eq!(hint(domain, kind, text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_is_answered() {
        for text in [
            "µ",
            "10µ",
            "1.2.3ms",
            "9999999999999999999Mbps",
            "_",
            ".",
            "10\u{0}",
            "%",
        ] {
            for domain in [
                D::Time(Time::ZERO, Time::MAX),
                D::Bytes(0, 1),
                D::Rate(Rate::ZERO, Rate::from_bps(1)),
                D::Fraction(0, 1, 1),
                D::Limit {
                    plain_is_packets: true,
                },
                D::Packets(0, 1),
            ] {
                hint(&Domain::Value(domain), TomlType::String, text);
            }
        }
    }
}
