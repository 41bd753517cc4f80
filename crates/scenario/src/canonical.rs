//! A scenario as canonical JSON: one text for all files that mean the same.
//!
//! Keys are sorted, without blanks between; every default is there. Times are in nanoseconds (`"5000000ns"`), rates in bit/s
//! (`"40000000bit"`), amounts of data in bytes (`"1500B"`), whatever unit the file has; other values are in their notation, as in
//! [`Scenario::to_toml`]. Two scenarios that are equal have the same text. What a group, a queue or an application has twice or
//! in another order has another text: order means something there. Seeds are left out, because each belongs to a run of its own.

use std::fmt::Write as _;

use quell_units::Settings;
use quell_units::parameter::Value;
use quell_units::{Bytes, Rate, Time};

use super::{
    Carried, ControlSpec, DirectionSpec, FunctionSpec, Group, Hop, Link, Run, Scenario, Setting,
    Side, TimedChange,
};
use super::{medium, remark, trace, value};

impl Scenario {
    /// The scenario without its seeds as canonical JSON.
    pub fn canonical(&self) -> String {
        let mut json = Json(String::with_capacity(2048));
        json.object(|json| {
            json.key("at").list(&self.changes, |json, change| {
                json.change(self, change);
            });
            json.key("description").string(&self.description);
            let is_one = self.links.len() == 1;
            json.key("group").list(&self.groups, |json, group| {
                json.group(group, Some(self).filter(|_| !is_one));
            });
            json.key("link");
            match &self.links[..] {
                [link] if is_plain(link) => json.directions(link),
                links => json.list(links, |json, link| json.link(link, &self.groups)),
            }
            json.key("name").string(&self.name);
            json.key("run").run(&self.run);
            json.key("value").list(&self.functions, Json::function);
        });
        json.0
    }
}

/// Whether a lone link has its two directions and nothing else to tell: its text is then what it always was.
fn is_plain(link: &Link) -> bool {
    link.name == Hop::ONLY_NAME && link.remark.is_empty() && link.values == Carried::default()
}

/// A direction, behind the name of its link where there are several.
fn named(scenario: &Scenario, side: Side) -> String {
    let direction = side.direction.name();
    match &scenario.links[..] {
        [_] => direction.to_owned(),
        links => format!("{}.{direction}", links[side.hop.index()].name),
    }
}

/// A text of JSON that grows. Whoever writes an object writes its keys in their order.
struct Json(String);

impl Json {
    fn change(&mut self, scenario: &Scenario, change: &TimedChange) {
        self.object(|json| {
            // A phase starts unless something else is said.
            if !change.phase {
                json.key("phase").plain(false);
            }
            json.key("set").list(&change.set, |json, setting| {
                json.setting(scenario, setting);
            });
            json.key("time").time(change.time);
        });
    }

    fn setting(&mut self, scenario: &Scenario, setting: &Setting) {
        match setting {
            Setting::Rate(side, new) => {
                self.names(&[&named(scenario, *side), "rate"]).rate(*new);
            }
            Setting::Queue { side, key, value } => {
                let side = named(scenario, *side);
                self.names(&[&side, "queue", key]).string(value);
            }
            Setting::App { group, key, app } => {
                let group = &scenario.groups[*group].name;
                self.names(&["app", group, key, app.config().kind()])
                    .settings(app.settings());
            }
            Setting::Count { group, count } => {
                let group = &scenario.groups[*group].name;
                self.names(&["count", group]).plain(count);
            }
        }
        self.0.push(']');
    }

    /// The start of a list that has these strings first, for what comes last.
    fn names(&mut self, names: &[&str]) -> &mut Self {
        self.0.push('[');
        for name in names {
            self.string(name);
            self.0.push(',');
        }
        self
    }

    fn run(&mut self, run: &Run) {
        self.object(|json| {
            json.key("duration").time(run.duration);
            json.key("interval").time(run.interval);
            json.key("settle").time(run.settle);
            json.key("warmup").time(run.warmup);
        });
    }

    fn directions(&mut self, link: &Link) {
        let sides = [&link.forward, &link.reverse];
        self.list(sides, |json, side| json.direction(side));
    }

    fn link(&mut self, link: &Link, groups: &[Group]) {
        self.object(|json| {
            json.key("delay").time(link.delay);
            json.key("directions").directions(link);
            json.key("name").string(&link.name);
            // Only where there is one, as above.
            if !link.remark.is_empty() {
                let networks = remark::write(&link.remark, groups);
                json.key("remark").string(&networks);
            }
            if link.values != Carried::default() {
                json.key("values").string(link.values.name());
            }
        });
    }

    fn direction(&mut self, side: &DirectionSpec) {
        self.object(|json| {
            // Only where there is one: what has none has the text that it always had.
            if let Some(medium) = &side.medium {
                json.key("access").string(&medium::write(medium));
            }
            json.key("bins-per-octave")
                .plain(side.codes.bins_per_octave());
            if let Some(impair) = &side.impair {
                json.key("impair").string(&impair.write());
            }
            json.key("mpu").bytes(side.framing.mpu);
            json.key("overhead").plain(side.framing.overhead);
            let queue = json.key("queue").names(&[side.queue.kind]);
            queue.settings(&side.queue.settings);
            json.0.push(']');
            match &side.course {
                Some(course) => json.key("rate").string(&trace::canonical(course)),
                None => json.key("rate").rate(side.rate),
            };
        });
    }

    /// With the names of the links in `scenario` that it crosses.
    fn group(&mut self, group: &Group, scenario: Option<&Scenario>) {
        self.object(|json| {
            json.key("access-rate").rate(group.access_rate);
            let app = json.key("app").names(&[group.app.config().kind()]);
            app.settings(group.app.settings());
            json.0.push(']');
            let control = group.congestion_control.as_ref();
            json.key("congestion-control")
                .or_null(control, Self::control);
            json.key("count").plain(group.count);
            json.key("direction").string(group.direction.name());
            json.key("ecn").string(group.ecn.name());
            json.key("gso").plain(group.gso);
            json.key("initial-window").plain(group.initial_window);
            json.key("mss").bytes(group.mss);
            json.key("name").string(&group.name);
            json.key("pacing").or_null(group.pacing, Self::plain);
            if let Some(scenario) = scenario {
                let links = group.path.iter();
                let links = links.map(|hop| &scenario.links[hop.index()].name);
                json.key("path").list(links, |json, name| json.string(name));
            }
            json.key("rtt").time(group.rtt);
            json.key("start").time(group.start);
            json.key("stop").or_null(group.stop, Self::time);
            let marker = value::write::group(group.value.as_ref());
            json.key("value").string(&marker);
        });
    }

    fn control(&mut self, control: &ControlSpec) {
        let options = control
            .options()
            .map(|(row, value)| (row.name, value))
            .collect();
        self.names(&[control.name()]).parameters(options);
        self.0.push(']');
    }

    fn function(&mut self, function: &FunctionSpec) {
        self.names(&[&function.name])
            .string(&value::write::function(function));
        self.0.push(']');
    }

    /// The parameters that apply, with their values.
    fn settings(&mut self, settings: &Settings) {
        let rows = settings.applicable();
        let rows = rows.filter_map(|(row, value)| Some((row.name, value?)));
        self.parameters(rows.collect());
    }

    fn parameters(&mut self, mut values: Vec<(&str, Value)>) {
        values.sort_by_key(|(name, _)| *name);
        self.object(|json| {
            for (name, value) in &values {
                json.key(name).parameter(value);
            }
        });
    }

    fn parameter(&mut self, value: &Value) {
        match value {
            Value::Time(value) => self.time(*value),
            Value::Rate(value) => self.rate(*value),
            Value::Bytes(value) => self.bytes(*value),
            Value::Integer(value) => self.plain(value),
            Value::Flag(value) => self.plain(value),
            other => self.string(&other.to_string()),
        }
    }

    fn time(&mut self, time: Time) {
        self.plain(format_args!("\"{}ns\"", time.as_nanos()));
    }

    fn rate(&mut self, rate: Rate) {
        match rate.is_unlimited() {
            true => self.string("unlimited"),
            false => self.plain(format_args!("\"{}bit\"", rate.as_bps())),
        }
    }

    fn bytes(&mut self, bytes: Bytes) {
        self.plain(format_args!("\"{}B\"", bytes.get()));
    }

    fn or_null<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.0.push_str("null"),
        }
    }

    /// What is written as it is displayed.
    fn plain(&mut self, value: impl std::fmt::Display) {
        write!(self.0, "{value}").expect("a string takes everything");
    }

    fn string(&mut self, text: &str) {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        if text.bytes().all(is_plain) {
            self.0.push('"');
            self.0.push_str(text);
            self.0.push('"');
        } else {
            self.plain(serde_json::Value::from(text));
        }
    }

    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.0.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            write(self, item);
        }
        self.0.push(']');
    }

    fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.0.push('{');
        write(self);
        self.0.push('}');
    }

    /// A key of an object, for its value.
    fn key(&mut self, key: &str) -> &mut Self {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.string(key);
        self.0.push(':');
        self
    }
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
