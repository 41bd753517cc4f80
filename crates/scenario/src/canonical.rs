//! A scenario as canonical JSON: one text for all files that mean the same.
//!
//! Keys are sorted, without blanks between; every default is there. Times are in nanoseconds (`"5000000ns"`), rates in bit/s
//! (`"40000000bit"`), amounts of data in bytes (`"1500B"`), whatever unit the file has; other values are in their notation, as in
//! [`Scenario::to_toml`]. Two scenarios that are equal have the same text. What a group, a queue or an application has twice or
//! in another order has another text: order means something there. Seeds are left out, because each belongs to a run of its own.

use quell_units::Settings;
use quell_units::parameter::Value;
use quell_units::{Bytes, Rate, Time};

use super::value;
use super::{ControlSpec, DirectionSpec, FunctionSpec, Group, Scenario, Setting, TimedChange};

impl Scenario {
    /// The scenario without its seeds as canonical JSON.
    pub fn canonical(&self) -> String {
        let changes = list(self.changes.iter().map(|change| self.change(change)));
        let functions = list(self.functions.iter().map(function));
        let groups = list(self.groups.iter().map(group));
        let run = &self.run;
        object(vec![
            ("at", changes),
            ("description", string(&self.description)),
            ("group", groups),
            (
                "link",
                list([&self.link.forward, &self.link.reverse].map(direction)),
            ),
            ("name", string(&self.name)),
            (
                "run",
                object(vec![
                    ("duration", time(run.duration)),
                    ("interval", time(run.interval)),
                    ("settle", time(run.settle)),
                    ("warmup", time(run.warmup)),
                ]),
            ),
            ("value", functions),
        ])
    }

    fn change(&self, change: &TimedChange) -> String {
        let set = change.set.iter().map(|setting| match setting {
            Setting::Rate(direction, new) => {
                list([string(direction.name()), string("rate"), rate(*new)])
            }
            Setting::Queue {
                direction,
                key,
                value,
            } => list([
                string(direction.name()),
                string("queue"),
                string(key),
                string(value),
            ]),
            Setting::App { group, key, app } => list([
                string("app"),
                string(&self.groups[*group].name),
                string(key),
                string(app.config().kind()),
                settings(app.settings()),
            ]),
            Setting::Count { group, count } => list([
                string("count"),
                string(&self.groups[*group].name),
                count.to_string(),
            ]),
        });
        object(vec![("set", list(set)), ("time", time(change.time))])
    }
}

fn direction(side: &DirectionSpec) -> String {
    object(vec![
        ("bins-per-octave", side.codes.bins_per_octave().to_string()),
        ("mpu", bytes(side.framing.mpu)),
        ("overhead", side.framing.overhead.to_string()),
        (
            "queue",
            list([string(side.queue.kind), settings(&side.queue.settings)]),
        ),
        ("rate", rate(side.rate)),
    ])
}

fn group(group: &Group) -> String {
    let control = |control: &ControlSpec| {
        let options = control.options();
        let options = options.map(|(row, value)| (row.name, parameter(value)));
        list([string(control.name()), object(options.collect())])
    };
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
    object(vec![
        ("access-rate", rate(group.access_rate)),
        (
            "app",
            list([
                string(group.app.config().kind()),
                settings(group.app.settings()),
            ]),
        ),
        (
            "congestion-control",
            or_null(group.congestion_control.as_ref().map(control)),
        ),
        ("count", group.count.to_string()),
        ("direction", string(group.direction.name())),
        ("ecn", string(group.ecn.name())),
        ("gso", group.gso.to_string()),
        ("initial-window", group.initial_window.to_string()),
        ("mss", bytes(group.mss)),
        ("name", string(&group.name)),
        (
            "pacing",
            or_null(group.pacing.map(|pacing| pacing.to_string())),
        ),
        ("rtt", time(group.rtt)),
        ("start", time(group.start)),
        ("stop", or_null(group.stop.map(time))),
        ("value", string(&value::write::group(group.value.as_ref()))),
    ])
}

fn function(function: &FunctionSpec) -> String {
    list([
        string(&function.name),
        string(&value::write::function(function)),
    ])
}

/// The parameters that apply, with their values.
fn settings(settings: &Settings) -> String {
    let rows = settings.applicable();
    let rows = rows.filter_map(|(row, value)| Some((row.name, parameter(value?))));
    object(rows.collect())
}

fn parameter(value: Value) -> String {
    match value {
        Value::Time(value) => time(value),
        Value::Rate(value) => rate(value),
        Value::Bytes(value) => bytes(value),
        Value::Integer(value) => value.to_string(),
        Value::Flag(value) => value.to_string(),
        other => string(&other.to_string()),
    }
}

fn time(time: Time) -> String {
    format!("\"{}ns\"", time.as_nanos())
}

fn rate(rate: Rate) -> String {
    if rate.is_unlimited() {
        return "\"unlimited\"".to_owned();
    }
    format!("\"{}bit\"", rate.as_bps())
}

fn bytes(bytes: Bytes) -> String {
    format!("\"{}B\"", bytes.get())
}

/// A string of JSON.
fn string(text: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        return format!("\"{text}\"");
    }
    serde_json::Value::from(text).to_string()
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

fn object(mut entries: Vec<(&str, String)>) -> String {
    entries.sort_by_key(|(key, _)| *key);
    let entries = entries.into_iter();
    let entries: Vec<String> = entries
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Override;
    use crate::start::STARTS;

    const TEXT: &str = r#"
schema = 1
name = "t"
[link]
rate = "4mbit"
queue = "dualpi2"
[[group]]
name = "a"
rtt = "20ms"
app = "bulk"
congestion-control = "cubic"
[[at]]
time = "500ms"
set = { "link.rate" = "2mbit", "group.a.count" = 3 }
[run]
duration = "1s"
seeds = [1, 2]
"#;

    fn canonical(sets: &[&str]) -> String {
        let sets: Vec<_> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
        let loaded = Scenario::load("t", TEXT, &sets, None).unwrap();
        loaded.scenario.canonical()
    }

    #[test]
    fn the_notation_and_the_seeds_do_not_matter() {
        let plain = canonical(&[]);
        for same in [
            "link.rate=4000kbit",
            "group.a.rtt=0.02s",
            "run.seeds=[9]",
            "link.queue.target=15ms",
            "group.a.count=1",
        ] {
            assert_eq!(canonical(&[same]), plain, "{same}");
        }
    }

    #[test]
    fn every_value_matters() {
        let mut all = vec![canonical(&[])];
        for other in [
            "name=u",
            "description=x",
            "link.rate=5mbit",
            "link.overhead=14",
            "link.reverse.rate=5mbit",
            "link.queue.target=5ms",
            "link.queue=pie",
            "group.a.rtt=21ms",
            "group.a.count=2",
            "group.a.congestion-control=reno",
            "group.a.ecn=ect0",
            "group.a.app.kind=transfer",
            "group.a.pacing=true",
            "group.a.gso=false",
            "group.a.mss=1000B",
            "group.a.stop=700ms",
            "group.a.start=1ms",
            "group.a.initial-window=4",
            "run.duration=2s",
            "run.warmup=100ms",
            "run.interval=50ms",
        ] {
            let sets: &[&str] = match other {
                "group.a.app.kind=transfer" => &[other, "group.a.app.size=10kB"],
                _ => &[other],
            };
            all.push(canonical(sets));
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// serde_json sorts the keys of an object where it was not built to keep their order, so that order is checked by hand.
    #[test]
    fn it_is_json_with_sorted_keys_and_equal_for_the_resolved_file() {
        let texts = STARTS.iter().map(|start| start.text).chain([TEXT]);
        for text in texts {
            let scenario = Scenario::parse(text).unwrap();
            let json = scenario.canonical();
            let value: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert!(sorted(&value));
            assert_eq!(value.to_string(), json);
            let again = Scenario::parse(&scenario.to_toml()).unwrap();
            assert_eq!(again.canonical(), json);
        }
    }

    fn sorted(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Object(fields) => {
                let keys: Vec<&String> = fields.keys().collect();
                keys.is_sorted() && fields.values().all(sorted)
            }
            serde_json::Value::Array(items) => items.iter().all(sorted),
            _ => true,
        }
    }
}
