//! The path that a card is about, and what follows from it: buffer and number of flows.
//!
//! RFC 7928 section 8.2.1: with N flows of NewReno, a drop-tail queue of B packets and a bandwidth-delay product of P packets, the loss
//! ratio is l = 0.76 N²/S², where S = P + B. So 0.1 %, 0.5 % and 1 % need N = 0.036 S, 0.081 S and 0.114 S flows. The last is truncated
//! in the RFC, √(0.01/0.76) = 0.1147; the printed one is used here.
//!
//! The 0.76 holds for a receiver that acknowledges every second segment and a sender that counts ACKs (RFC 5681 equation 3).
//! Linux's NewReno counts segments, and loses about twice as much.

use std::ops::RangeInclusive;

use quell_lab::scenario::tree::{self, Node, Table, TomlType, Tree};
use quell_lab::scenario::{Origin, Problems};
use quell_units::{Rate, Time, notation};

use crate::characterize::error::{Error, ProfileFault};

/// Bytes of a full packet.
pub const PACKET: u64 = 1_500;

/// Rate and base RTT of the path, and how long is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name of the path in cards.
    pub name: String,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Base RTT of flows for which the RFC gives none.
    pub rtt: Time,
    /// Base RTT that somebody asked for; it also replaces the RTT of a suite that has its own.
    pub asked_rtt: Option<Time>,
    /// Length of the measurement, after the warm-up.
    pub duration: Time,
}

/// How congested the link is: RFC 7928 sections 8.2.2 to 8.2.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// A drop-tail queue loses 0.1 %.
    Mild,
    /// A drop-tail queue loses 0.5 %.
    Medium,
    /// A drop-tail queue loses 1 %.
    Heavy,
}

impl Congestion {
    /// The factor of S, in thousandths.
    fn thousandths(self) -> u128 {
        match self {
            Self::Mild => 36,
            Self::Medium => 81,
            Self::Heavy => 114,
        }
    }
}

impl Profile {
    /// The names of the profiles that are there.
    pub const NAMES: [&'static str; 3] = ["10mbit", "100mbit", "1gbit"];
    /// Length of the measurement of a whole card.
    pub const DURATION: Time = Time::from_secs(60);
    /// The base RTT that the RFC uses throughout.
    const RTT: Time = Time::from_millis(100);

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        let rate = match name {
            "10mbit" => 10_000_000,
            "100mbit" => 100_000_000,
            "1gbit" => 1_000_000_000,
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            rate: Rate::from_bps(rate),
            rtt: Self::RTT,
            asked_rtt: None,
            duration: Self::DURATION,
        })
    }

    /// Reads a profile from the content of a file: `rate`, and optionally `name`, `rtt` and `duration`.
    ///
    /// # Errors
    ///
    /// The text is no profile; the error names file and line.
    pub fn read(file: &str, text: &str) -> Result<Self, Error> {
        let keys = Keys::read(file, text)?;
        let Some((node, text)) = keys.word("rate")? else {
            return Err(keys.wrong(None, ProfileFault::NoRate));
        };
        let (low, high) = (Rate::from_bps(1_000_000), Rate::from_bps(10_000_000_000));
        let rate = notation::rate(text).ok();
        let rate = rate.filter(|rate| (low..=high).contains(rate));
        let allowed = || format!("a rate from {low} to {high}");
        let rate = rate.ok_or_else(|| keys.out_of_range(node, "rate", text, allowed()))?;
        let rtts = Time::from_millis(10)..=Time::from_millis(1_000);
        let asked_rtt = keys.time("rtt", rtts)?;
        let duration = keys.time("duration", Time::from_secs(2)..=Time::from_secs(3_600))?;
        let name = match keys.word("name")? {
            Some((_, name)) => name.to_owned(),
            None => rate.to_string(),
        };
        Ok(Self {
            name,
            rate,
            rtt: asked_rtt.unwrap_or(Self::RTT),
            asked_rtt,
            duration: duration.unwrap_or(Self::DURATION),
        })
    }

    /// Length of the warm-up before the measurement: time 0 of the RFC is when all flows are in congestion avoidance (section 8.2.1).
    pub fn warmup(&self) -> Time {
        self.duration / 6
    }

    /// Bits that are in flight on an empty path, times 10⁹.
    fn product(&self) -> u128 {
        u128::from(self.rate.as_bps()) * u128::from(self.rtt.as_nanos())
    }

    /// The buffer of every queue: one bandwidth-delay product, in full packets.
    pub fn buffer(&self) -> u64 {
        let packets = self.product() / (8 * u128::from(PACKET) * 1_000_000_000);
        u64::try_from(packets).unwrap_or(u64::MAX).max(1)
    }

    /// S: what the path and the buffer hold, in full packets, rounded.
    pub fn held(&self) -> u64 {
        let bits = 8 * u128::from(PACKET) * 1_000_000_000;
        let packets = (2 * self.product() + bits / 2) / bits;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }

    /// N: the number of bulk flows, rounded, at least one.
    pub fn flows(&self, congestion: Congestion) -> u64 {
        let parts = 8 * u128::from(PACKET) * 1_000_000_000 * 1_000;
        let flows = (2 * self.product() * congestion.thousandths() + parts / 2) / parts;
        u64::try_from(flows).unwrap_or(u64::MAX).max(1)
    }

    /// The same path with another base RTT, unless somebody asked for one.
    pub(crate) fn with_usual_rtt(&self, rtt: Option<Time>) -> Self {
        Self {
            rtt: self.asked_rtt.or(rtt).unwrap_or(self.rtt),
            ..self.clone()
        }
    }

    /// The same path with a link of another rate.
    pub fn at_rate(&self, rate: Rate) -> Self {
        Self {
            rate,
            ..self.clone()
        }
    }
}

/// A time in milliseconds.
pub(crate) fn millis(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// The keys of a profile's file.
struct Keys<'a> {
    file: &'a str,
    root: Node,
}

impl<'a> Keys<'a> {
    const KNOWN: [&'static str; 4] = ["name", "rate", "rtt", "duration"];

    fn read(file: &'a str, text: &str) -> Result<Self, Error> {
        let root = tree::read(file, text);
        let root = root.map_err(|problem| Error::Toml(Problems::new(vec![problem])))?;
        let keys = Self { file, root };
        let mut all = keys.table()?.iter();
        if let Some((key, node)) = all.find(|(key, _)| !Self::KNOWN.contains(key)) {
            let fault = ProfileFault::UnknownKey {
                key: key.to_owned(),
                known: &Self::KNOWN,
            };
            return Err(keys.wrong(Some(node), fault));
        }
        drop(all);
        Ok(keys)
    }

    fn table(&self) -> Result<&Table, Error> {
        match &self.root.value {
            Tree::Table(table) => Ok(table),
            _ => Err(self.wrong(None, ProfileFault::NoTable)),
        }
    }

    /// The text of a key, if it is there.
    fn word(&self, key: &str) -> Result<Option<(&Node, &str)>, Error> {
        let Some(node) = self.table()?.get(key) else {
            return Ok(None);
        };
        match &node.value {
            Tree::Scalar(TomlType::String, text) => Ok(Some((node, text.as_str()))),
            _ => Err(self.wrong(Some(node), ProfileFault::NotText(key.to_owned()))),
        }
    }

    /// The time of a key, if it is there.
    fn time(&self, key: &'static str, range: RangeInclusive<Time>) -> Result<Option<Time>, Error> {
        let Some((node, text)) = self.word(key)? else {
            return Ok(None);
        };
        let time = notation::time(text).ok();
        let allowed = || format!("a time from {} to {}", range.start(), range.end());
        time.filter(|time| range.contains(time))
            .map(Some)
            .ok_or_else(|| self.out_of_range(node, key, text, allowed()))
    }

    fn out_of_range(&self, node: &Node, key: &'static str, found: &str, allowed: String) -> Error {
        let fault = ProfileFault::OutOfRange {
            key,
            found: found.to_owned(),
            allowed,
        };
        self.wrong(Some(node), fault)
    }

    /// The error of the whole file, or of the line of a node.
    fn wrong(&self, node: Option<&Node>, fault: ProfileFault) -> Error {
        Error::Profile {
            file: self.file.to_owned(),
            line: node.and_then(|node| match node.origin {
                Origin::Line(line) => Some(line),
                _ => None,
            }),
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_flows_are_those_of_the_formulas() {
        // S = 2 BDP: 166.7, 1666.7 and 16666.7 packets.
        for (name, buffer, held, flows) in [
            ("10mbit", 83, 167, [6, 14, 19]),
            ("100mbit", 833, 1_667, [60, 135, 190]),
            ("1gbit", 8_333, 16_667, [600, 1_350, 1_900]),
        ] {
            let profile = Profile::named(name).unwrap();
            assert_eq!((profile.buffer(), profile.held()), (buffer, held), "{name}");
            let all = [Congestion::Mild, Congestion::Medium, Congestion::Heavy];
            assert_eq!(all.map(|level| profile.flows(level)), flows, "{name}");
        }
    }

    #[test]
    fn flows_give_the_loss_that_their_level_is_named_for() {
        // RFC 7928 section 8.2.1: l = 0.76 N²/S², within the rounding of N.
        let profile = Profile::named("1gbit").unwrap();
        for (level, ratio) in [
            (Congestion::Mild, 0.001),
            (Congestion::Medium, 0.005),
            (Congestion::Heavy, 0.01),
        ] {
            let share = profile.flows(level) as f64 / profile.held() as f64;
            let found = 0.76 * share * share;
            assert!((found / ratio - 1.0).abs() < 0.02, "{level:?} {found}");
        }
    }

    #[test]
    fn a_file_gives_rate_rtt_and_duration_and_says_what_is_wrong() {
        let profile = Profile::read("p", "rate = \"50mbit\"\nrtt = \"40ms\"").unwrap();
        assert_eq!((profile.name.as_str(), profile.buffer()), ("50mbit", 166));
        assert_eq!(profile.duration, Profile::DURATION);
        assert_eq!(profile.asked_rtt, Some(Time::from_millis(40)));
        let usual = Profile::read("p", "rate = \"50mbit\"").unwrap();
        assert_eq!((usual.rtt, usual.asked_rtt), (Profile::RTT, None));
        for (text, expected) in [
            ("rtt = \"40ms\"", "p: rate is missing"),
            (
                "rate = \"1kbit\"",
                "p:1: rate = \"1kbit\": must be a rate from 1mbit to 10gbit",
            ),
            ("rate = 5", "p:1: rate: must be in quotes"),
            ("rate = \"5mbit\"\nspeed = 1", "p:2: speed: unknown key"),
            (
                "rate = \"5mbit\"\nrtt = \"0s\"",
                "p:2: rtt = \"0s\": must be a time from 10ms to 1s",
            ),
        ] {
            let error = Profile::read("p", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
