//! A scenario as canonical JSON: one text for all files that mean the same.
//!
//! Keys are sorted, without blanks between; every default is there. Times are in nanoseconds (`"5000000ns"`), rates in bit/s
//! (`"40000000bit"`), amounts of data in bytes (`"1500B"`), whatever unit the file has; other values are in their notation, as in
//! [`Scenario::to_toml`]. Two scenarios that are equal have the same text. What a group, a queue or an application has twice or
//! in another order has another text: order means something there. Seeds are left out, because each belongs to a run of its own, and
//! expectations, because they change no result.

use serde_json::{Map, Value as Json, json};

use super::section::Key;
use super::view::Keys as _;
use super::written::{self, Written};
use super::{DirectionSpec, Group, Hop, Link, Scenario, Setting, Side, TimedChange};
use super::{trace, value};

impl Scenario {
    /// The scenario without its seeds as canonical JSON.
    pub fn canonical(&self) -> String {
        let mut run = keys(self.run.written());
        run.remove("seeds");
        let functions = self.functions.iter();
        let functions = functions.map(|one| json!([one.name, value::write::function(one)]));
        let link = match &self.links[..] {
            // Its name and its delay are those of every lone link.
            [link] if link.name == Hop::ONLY_NAME && self.keys_of_link(link).count() == 2 => {
                directions(link)
            }
            links => links.iter().map(|one| self.canonical_link(one)).collect(),
        };
        let mut json = json!({
            "at": all(&self.changes, |change| self.canonical_change(change)),
            "description": self.description,
            "group": all(&self.groups, |group| self.canonical_group(group)),
            "link": link,
            "name": self.name,
            "run": run,
            "value": functions.collect::<Json>(),
        });
        json.sort_all_objects();
        json.to_string()
    }

    fn canonical_change(&self, change: &TimedChange) -> Json {
        let mut json = json!({
            "set": all(&change.set, |setting| self.canonical_setting(setting)),
            "time": json_of(&change.time),
        });
        // A phase starts unless something else is said.
        if !change.phase {
            json["phase"] = json!(false);
        }
        json
    }

    fn canonical_setting(&self, setting: &Setting) -> Json {
        let name = |group: &usize| &self.groups[*group].name;
        match setting {
            Setting::Rate(side, new) => json!([self.side_name(*side), "rate", json_of(new)]),
            Setting::Queue { side, key, value } => {
                json!([self.side_name(*side), "queue", key, value])
            }
            Setting::App { group, key, app } => {
                let (kind, settings) = (app.config().kind(), written::settings(app.settings()));
                json!(["app", name(group), key, kind, settings])
            }
            Setting::Impair { side, key, spec } => {
                json!([self.side_name(*side), "impair", key, spec.value(key)])
            }
            Setting::Rtt { group, rtt } => json!(["rtt", name(group), json_of(rtt)]),
            Setting::Count { group, count } => json!(["count", name(group), count]),
        }
    }

    /// A direction, behind the name of its link where there are several.
    fn side_name(&self, side: Side) -> String {
        let direction = side.direction.name();
        match &self.links[..] {
            [_] => direction.to_owned(),
            links => format!("{}.{direction}", links[side.hop.index()].name),
        }
    }

    fn canonical_link(&self, link: &Link) -> Json {
        let mut json = keys(self.keys_of_link(link));
        json.insert("directions".to_owned(), directions(link));
        Json::Object(json)
    }

    fn canonical_group(&self, group: &Group) -> Json {
        let mut json = keys(group.written());
        json.remove("path");
        if group.receiver.is_none() {
            json.remove("receiver");
        }
        if let Some(path) = self.written_path(group) {
            json.insert("path".to_owned(), path.json);
        }
        Json::Object(json)
    }
}

fn directions(link: &Link) -> Json {
    all([&link.forward, &link.reverse], direction)
}

fn direction(side: &DirectionSpec) -> Json {
    let settings = written::settings(&side.queue.settings);
    let mut json = keys(side.written());
    // Only what there is.
    json.retain(|_, value| !value.is_null());
    if let Some(course) = &side.course {
        json.insert("rate".to_owned(), json!(trace::canonical(course)));
    }
    json.insert("queue".to_owned(), json!([side.queue.kind, settings]));
    Json::Object(json)
}

fn all<T>(items: impl IntoIterator<Item = T>, json: impl FnMut(T) -> Json) -> Json {
    items.into_iter().map(json).collect()
}

fn json_of(value: &impl written::Field) -> Json {
    value.written().map_or(Json::Null, |value| value.json)
}

/// Every key, by its name.
fn keys(keys: impl Iterator<Item = (&'static Key, Option<Written>)>) -> Map<String, Json> {
    let keys = keys.map(|(key, value)| {
        let json = value.map_or(Json::Null, |value| value.json);
        (key.name.to_owned(), json)
    });
    keys.collect()
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
