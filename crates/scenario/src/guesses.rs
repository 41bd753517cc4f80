//! Keys and words that people try first, with what they are called here.
//!
//! The names are those of `tc`, `netem`, `iperf3`, Mininet and ns-3, and of everyday speech.

use super::section::Section;

/// A first guess.
struct Guess {
    /// The table in which the name was written.
    section: Section,
    /// The name in lower case, with `-` for `_`.
    words: &'static [&'static str],
    /// The name in quell: a key of the same table, or a dotted path from the top of the file.
    meant: &'static str,
    /// A hint that finishes the question.
    why: &'static str,
}

const fn guess(
    section: Section,
    words: &'static [&'static str],
    meant: &'static str,
    why: &'static str,
) -> Guess {
    Guess {
        section,
        words,
        meant,
        why,
    }
}

use self::Section::{App, At, Expect, Group, Link, Reverse, Root, Run};

const RATES: &[&str] = &[
    "bandwidth",
    "bw",
    "capacity",
    "speed",
    "bitrate",
    "throughput",
];
const DOWN: &[&str] = &["down", "download", "downlink", "downstream", "forward"];
const UP: &[&str] = &["up", "upload", "uplink", "upstream", "backward"];
const DELAYS: &[&str] = &[
    "delay",
    "latency",
    "base-rtt",
    "ping",
    "propagation",
    "prop-delay",
];
const QUEUES: &[&str] = &["qdisc", "aqm", "discipline", "scheduler"];
const BUFFERS: &[&str] = &[
    "buffer",
    "buffer-size",
    "queue-size",
    "queue-limit",
    "limit",
    "maxq",
];
const CONTROLS: &[&str] = &[
    "cc",
    "tcp",
    "control",
    "algorithm",
    "congestion",
    "cca",
    "ca",
];
const SEEDS: &[&str] = &[
    "seed",
    "random-seed",
    "rng",
    "runs",
    "repetitions",
    "repeat",
    "iterations",
];
const DURATIONS: &[&str] = &["time", "length", "runtime", "end", "stop", "stop-time"];
const RTT: &str = "the base RTT, there and back";

#[rustfmt::skip]
const GUESSES: &[Guess] = &[
    guess(Root, RATES, "link.rate", ""),
    guess(Root, &["rate"], "link.rate", ""),
    guess(Root, DOWN, "link.rate", "the direction from senders to receivers"),
    guess(Root, UP, "link.reverse.rate", ""),
    guess(Root, DELAYS, "group.NAME.rtt", RTT),
    guess(Root, &["rtt"], "group.NAME.rtt", RTT),
    guess(Root, QUEUES, "link.queue", ""),
    guess(Root, &["queue", "queues"], "link.queue", ""),
    guess(Root, &["bottleneck", "path", "network", "interface"], "link", ""),
    guess(Root, &["groups", "flow", "flows", "host", "hosts", "sender", "senders", "traffic"], "group", "a table [[group]] for each kind of flow"),
    guess(Root, CONTROLS, "group.NAME.congestion-control", ""),
    guess(Root, DURATIONS, "run.duration", ""),
    guess(Root, &["duration"], "run.duration", ""),
    guess(Root, &["warmup", "warm-up"], "run.warmup", ""),
    guess(Root, &["interval"], "run.interval", ""),
    guess(Root, SEEDS, "run.seeds", "a list: one run each"),
    guess(Root, &["seeds"], "run.seeds", ""),
    guess(Root, &["change", "changes", "event", "events", "phase", "phases", "timeline"], "at", "a table [[at]] for each instant"),
    guess(Root, &["title", "id"], "name", ""),
    guess(Root, &["version", "format"], "schema", ""),
    guess(Link, RATES, "rate", ""),
    guess(Link, DOWN, "rate", "the direction from senders to receivers"),
    guess(Link, UP, "link.reverse.rate", ""),
    guess(Link, &["rtt", "latency", "base-rtt", "ping", "propagation", "prop-delay"], "group.NAME.rtt", "each group has its base RTT"),
    guess(Link, QUEUES, "queue", ""),
    guess(Link, BUFFERS, "link.queue.limit", ""),
    guess(Reverse, RATES, "rate", ""),
    guess(Reverse, QUEUES, "queue", ""),
    guess(Reverse, BUFFERS, "link.reverse.queue.limit", ""),
    guess(Reverse, DELAYS, "group.NAME.rtt", "half of it in each direction"),
    guess(Group, CONTROLS, "congestion-control", ""),
    guess(Group, DELAYS, "rtt", RTT),
    guess(Group, &["flows", "number", "num", "n", "senders", "connections", "parallel"], "count", ""),
    guess(Group, &["application", "traffic", "type", "kind", "workload"], "app", ""),
    guess(Group, &["dir", "reverse"], "direction", "\"forward\" or \"reverse\""),
    guess(Group, UP, "direction", "an upload is \"reverse\""),
    guess(Group, DOWN, "direction", "a download is \"forward\", the default"),
    guess(Group, &["begin", "from", "start-time", "delay-start"], "start", ""),
    guess(Group, &["end", "until", "to", "stop-time", "duration", "time"], "stop", "the time at which the flows stop"),
    guess(Group, &["rate", "bandwidth", "bw", "speed", "bitrate"], "access-rate", "the rate of each sender's own link; datagrams at a rate of their own are app = { kind = \"cbr\", … }"),
    guess(Group, &["size", "bytes", "amount"], "app", "a transfer of a size is app = { kind = \"transfer\", size = \"1MB\" }"),
    guess(Group, &["l4s", "ect", "ect1", "tos", "dscp", "marking"], "ecn", "\"ect1\" is L4S"),
    guess(Group, &["tso", "offload", "offloads"], "gso", ""),
    guess(Group, &["iw", "initcwnd", "init-cwnd", "initial-cwnd", "icw"], "initial-window", "in segments"),
    guess(Group, &["mtu", "segment-size", "max-segment-size", "packet-size", "advmss"], "mss", "a full packet is 40 bytes longer"),
    guess(Group, &["paced", "pace", "fq"], "pacing", ""),
    guess(App, &["bitrate", "bandwidth", "bw", "speed"], "interval", "with size it gives the rate: 250 B every 20 ms are 100 kbit/s"),
    guess(App, &["packet-size", "payload", "length", "bytes", "amount"], "size", ""),
    guess(App, &["gap", "period", "every", "spacing"], "interval", ""),
    guess(App, &["think", "think-time", "wait", "loop"], "repeat", ""),
    guess(App, &["type", "name", "app"], "kind", ""),
    guess(At, &["when", "at", "start"], "time", ""),
    guess(At, &["change", "changes", "do", "values"], "set", ""),
    guess(Root, &["assert", "check", "checks", "threshold", "thresholds", "budget", "statement"], "expect", "a table [[expect]] for each condition"),
    guess(Expect, &["holds", "condition", "assert", "check", "what"], "that", ""),
    guess(Run, DURATIONS, "duration", ""),
    guess(Run, SEEDS, "seeds", "a list: one run each"),
    guess(Run, &["sample", "sampling", "sample-interval", "step", "resolution"], "interval", ""),
    guess(Run, &["warm", "skip", "transient"], "warmup", ""),
];

/// The name in quell of `name`, which `section` does not have; finishes "did you mean …?".
pub(super) fn key(section: Section, name: &str) -> Option<String> {
    let name = simple(name)?;
    let guess = GUESSES
        .iter()
        .find(|guess| guess.section == section && guess.words.contains(&name.as_str()))?;
    let why = match guess.why {
        "" => String::new(),
        why => format!(", {why}"),
    };
    Some(format!("{}{why}", guess.meant))
}

/// Words for values: the key, the words tried, the word that there is.
#[rustfmt::skip]
const WORDS: &[(&str, &[&str], &str)] = &[
    ("direction", &["up", "upload", "uplink", "upstream"], "reverse"),
    ("direction", &["down", "download", "downlink", "downstream"], "forward"),
    ("ecn", &["l4s", "scalable", "ect(1)", "prague"], "ect1"),
    ("ecn", &["on", "true", "yes", "classic", "ect(0)", "rfc3168", "ect"], "ect0"),
    ("ecn", &["none", "false", "no", "not-ect"], "off"),
    ("kind", &["tcp", "ftp", "iperf", "iperf3", "download", "upload", "greedy", "backlogged", "long"], "bulk"),
    ("kind", &["udp", "ping", "constant"], "cbr"),
    ("kind", &["call", "telephone", "phone", "telephony", "speech", "audio"], "voice"),
    ("kind", &["gaming", "shooter"], "game"),
    ("kind", &["webrtc", "conference", "video-call", "videocall", "cloud-gaming", "interactive"], "rtc"),
    ("kind", &["file", "short"], "transfer"),
    ("kind", &["http", "https", "page", "pages", "browsing", "items", "request"], "web"),
    ("kind", &["burst", "bursty"], "on-off"),
    ("kind", &["video", "streaming", "stream", "adaptive", "dash", "hls", "player", "movie", "film"], "has"),
    ("distribution", &["constant", "none", "deterministic"], "fixed"),
    ("distribution", &["exp", "poisson", "random"], "exponential"),
];

/// The word that `found` stands for as a value of `key`, for the end of a message.
pub(super) fn word(key: &str, found: &str) -> Option<String> {
    let found = simple(found)?;
    let (_, _, meant) = WORDS
        .iter()
        .find(|(name, words, _)| *name == key && words.contains(&found.as_str()))?;
    Some(format!("; did you mean \"{meant}\"?"))
}

/// A short word in the spelling of the tables.
fn simple(word: &str) -> Option<String> {
    (word.len() <= 32).then(|| word.trim().to_lowercase().replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KEYS;

    #[test]
    fn every_answer_is_a_key_and_no_guess_is_one() {
        for guess in GUESSES {
            let inside = guess.section.keys().any(|key| key.name == guess.meant);
            let path = KEYS.iter().any(|key| key.path() == guess.meant);
            // The limit belongs to the table of the queue.
            let of_queue = guess.meant.ends_with("queue.limit");
            assert!(inside || path || of_queue, "{}", guess.meant);
            for (index, word) in guess.words.iter().enumerate() {
                let there = guess.section.keys().any(|key| key.name == *word);
                assert!(!there, "{:?} has {word}", guess.section);
                assert!(!guess.words[..index].contains(word), "{word} twice");
                let first = GUESSES
                    .iter()
                    .find(|other| other.section == guess.section && other.words.contains(word));
                assert_eq!(first.map(|other| other.meant), Some(guess.meant), "{word}");
            }
        }
    }
}
