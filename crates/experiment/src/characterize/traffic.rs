//! What runs in a scenario of a suite, and the scenario file that it makes.

use std::fmt::Write as _;

use quell_units::{Rate, Time};

use crate::characterize::profile::{PACKET, Profile};

/// The flows of a scenario, and what changes.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    groups: Vec<Group>,
    changes: Vec<(Time, String)>,
    /// What is measured, if not the profile's duration.
    measured: Option<Time>,
    settle: Option<Time>,
    reverse: Option<Rate>,
    link: Option<(Rate, u64)>,
    queue: Option<&'static str>,
    /// Rate and queue of a link in front.
    first: Option<(Rate, &'static str)>,
}

/// The name of the first of two links in a row.
pub const FIRST: &str = "first";
/// That of the second, whose queue is looked at.
pub const SECOND: &str = "second";

/// Flows that are alike: keys of a scenario with their values in TOML.
#[derive(Debug, Clone)]
pub struct Group {
    name: String,
    keys: Vec<(&'static str, String)>,
}

impl Group {
    /// Flows of the application `app`, in TOML, with this base RTT.
    pub fn new(name: &str, rtt: Time, app: &str) -> Self {
        let keys = vec![("rtt", quoted(&rtt)), ("app", app.to_owned())];
        Self {
            name: name.to_owned(),
            keys,
        }
    }

    /// Bulk TCP with a congestion control, written `NAME[:KEY=VALUE,…]`.
    pub fn bulk(name: &str, rtt: Time, control: &str) -> Self {
        Self::new(name, rtt, "\"bulk\"").control(control)
    }

    /// Their number.
    pub fn count(self, count: u64) -> Self {
        self.with("count", count.to_string())
    }

    /// Their congestion control.
    pub fn control(self, control: &str) -> Self {
        self.with("congestion-control", choice("name", control))
    }

    /// Any other key, with its value in TOML.
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.keys.insert(0, (key, value.into()));
        self
    }
}

impl Traffic {
    /// These groups.
    pub fn of(groups: impl IntoIterator<Item = Group>) -> Self {
        Self {
            groups: groups.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Another time than the profile's is measured.
    pub fn measured(mut self, time: Time) -> Self {
        self.measured = Some(time);
        self
    }

    /// From `time` on, which counts from the start of the run, `key` has this value, in TOML.
    pub fn change(mut self, time: Time, key: &str, value: &str) -> Self {
        self.changes.push((time, format!("\"{key}\" = {value}")));
        self
    }

    /// What is left out of each phase at its start.
    pub fn settle(mut self, time: Time) -> Self {
        self.settle = Some(time);
        self
    }

    /// The other direction of the link has this rate.
    pub fn reverse(mut self, rate: Rate) -> Self {
        self.reverse = Some(rate);
        self
    }

    /// Another link than the profile's, with a buffer of so many packets.
    pub fn link(mut self, rate: Rate, buffer: u64) -> Self {
        self.link = Some((rate, buffer));
        self
    }

    /// The scenario file has this queue and not drop-tail: its kind, and more parameters in TOML behind a comma.
    pub fn queue(mut self, kind: &'static str) -> Self {
        self.queue = Some(kind);
        self
    }

    /// In front of the link is another one, [`FIRST`], with a queue that is written like that of [`Traffic::queue`].
    pub fn behind(mut self, rate: Rate, kind: &'static str) -> Self {
        self.first = Some((rate, kind));
        self
    }

    /// The scenario file, with a drop-tail queue, if no other is given, of the profile's buffer. `head` says what it is, in lines of prose.
    pub fn scenario(&self, name: &str, head: &[String], profile: &Profile) -> String {
        let mut text = String::new();
        for line in head {
            text.push_str(&format!("# {line}\n"));
        }
        let description = head.first().map_or("", String::as_str);
        let (rate, buffer) = self.link.unwrap_or((profile.rate, profile.buffer()));
        let of = |queue: &str, buffer: u64| {
            let (kind, more) = match queue.split_once(',') {
                Some((kind, more)) => (kind, format!(",{more}")),
                None => (queue, String::new()),
            };
            format!("{{ kind = \"{kind}\", limit = \"{buffer}p\"{more} }}")
        };
        let queue = |buffer: u64| of(self.queue.unwrap_or("fifo"), buffer);
        let heading = match &self.first {
            None => "[link]".to_owned(),
            Some((rate, kind)) => format!(
                "[[link]]\nname = \"{FIRST}\"\nrate = \"{rate}\"\nqueue = {}\n\n[[link]]\nname = \"{SECOND}\"",
                of(kind, buffer)
            ),
        };
        let mut add = |line: std::fmt::Arguments<'_>| {
            text.write_fmt(line).expect("a string takes everything");
        };
        add(format_args!(
            "\nschema = 1\nname = \"{name}\"\ndescription = \"{description}\"\n\n{heading}\nrate = \"{rate}\"\nqueue = {}\n",
            queue(buffer)
        ));
        if let Some(rate) = self.reverse {
            let buffer = profile.at_rate(rate).buffer();
            add(format_args!(
                "\n[link.reverse]\nrate = \"{rate}\"\nqueue = {}\n",
                queue(buffer)
            ));
        }
        for group in &self.groups {
            add(format_args!("\n[[group]]\nname = \"{}\"\n", group.name));
            for (key, value) in &group.keys {
                add(format_args!("{key} = {value}\n"));
            }
        }
        for (time, set) in &self.changes {
            add(format_args!(
                "\n[[at]]\ntime = \"{time}\"\nset = {{ {set} }}\n"
            ));
        }
        let warmup = profile.warmup();
        let end = warmup + self.measured.unwrap_or(profile.duration);
        add(format_args!(
            "\n[run]\nduration = \"{end}\"\nwarmup = \"{warmup}\"\n"
        ));
        if let Some(settle) = self.settle {
            add(format_args!("settle = \"{settle}\"\n"));
        }
        add(format_args!("interval = \"1s\"\n"));
        text
    }
}

/// `NAME[:KEY=VALUE,…]` as TOML: a name, or a table with the name under `key`.
pub fn choice(key: &str, text: &str) -> String {
    let Some((name, rest)) = text.split_once(':') else {
        return quoted(&text);
    };
    let mut table = format!("{{ {key} = \"{name}\"");
    for part in rest.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        let is_bare = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
        let value = if is_bare {
            value.to_owned()
        } else {
            quoted(&value)
        };
        table.push_str(&format!(", {key} = {value}"));
    }
    table + " }"
}

/// Datagrams of full size at this rate.
pub fn datagrams(rate: Rate) -> String {
    constant(PACKET, rate)
}

/// Datagrams of `bytes` at this rate.
pub fn constant(bytes: u64, rate: Rate) -> String {
    let interval = bytes * 8 * 1_000_000_000 / rate.as_bps().max(1);
    let interval = Time::from_nanos(interval);
    format!("{{ kind = \"cbr\", size = \"{bytes}B\", interval = \"{interval}\" }}")
}

/// A value in quotes.
pub fn quoted(value: &impl std::fmt::Display) -> String {
    format!("\"{value}\"")
}
