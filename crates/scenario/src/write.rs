//! A scenario as TOML with every default explicit. It reads back as the same scenario.

use std::fmt::{Display, Write as _};

use quell_app::Transport;

use super::keys::SCHEMA;
use super::section::Key;
use super::trial_queue::try_out_at_start;
use super::view::Keys as _;
use super::written::{Written, explicit, in_toml, quoted};
use super::{
    DirectionSpec, FunctionSpec, Group, Hop, Link, Scenario, Setting, Side, TimedChange, trace,
    value,
};

impl Scenario {
    /// The resolved scenario. Left out is only what has no value: a stop that is the end of the run, and parameters that a
    /// discipline derives.
    pub fn to_toml(&self) -> String {
        let mut out = Text(String::new());
        out.line("schema", SCHEMA);
        out.keys(self.written());
        self.links.iter().for_each(|link| out.link(self, link));
        out.functions(&self.functions);
        self.groups.iter().for_each(|group| out.group(self, group));
        self.changes
            .iter()
            .for_each(|change| out.change(change, self));
        for expect in &self.expects {
            out.heading("[[expect]]");
            out.keys(expect.written());
        }
        out.heading("[run]");
        out.keys(self.run.written());
        out.0
    }
}

struct Text(String);

impl Text {
    // Writing to a String cannot fail.
    fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.0, "\n{heading}");
    }
    fn line(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    /// Writes the keys that have a value.
    fn keys(&mut self, keys: impl Iterator<Item = (&'static Key, Option<Written>)>) {
        for (key, value) in keys.filter_map(|(key, value)| Some((key, value?))) {
            self.line(key.name, value.toml);
        }
    }

    fn functions(&mut self, functions: &[FunctionSpec]) {
        for function in functions {
            self.heading(&format!("[value.{}]", function.name));
            self.0.push_str(&value::write::function(function));
        }
    }

    /// A table, or one of a list where there are several.
    fn link(&mut self, scenario: &Scenario, link: &Link) {
        let is_one = scenario.links.len() == 1;
        self.heading(if is_one { "[link]" } else { "[[link]]" });
        let keys = scenario
            .keys_of_link(link)
            .filter(|(key, _)| match key.name {
                "name" => !is_one || link.name != Hop::ONLY_NAME,
                "delay" => !is_one,
                _ => true,
            });
        self.keys(keys);
        self.direction("link", &link.forward);
        self.heading("[link.reverse]");
        self.direction("link.reverse", &link.reverse);
    }

    fn direction(&mut self, path: &str, side: &DirectionSpec) {
        let keys = side.written();
        self.keys(keys.filter(|(key, _)| key.name != "rate" || side.course.is_none()));
        if let Some(course) = &side.course {
            self.heading(&format!("[{path}.rate]"));
            self.0.push_str(&trace::table(course));
        }
        self.heading(&format!("[{path}.queue]"));
        self.line("kind", quoted(side.queue.kind));
        let with = |settings| {
            let mut side = side.clone();
            side.queue.settings = settings;
            try_out_at_start(&side).map(drop)
        };
        for (parameter, value) in explicit(&side.queue.settings, with) {
            self.line(parameter.name, in_toml(value));
        }
    }

    fn group(&mut self, scenario: &Scenario, group: &Group) {
        self.heading("[[group]]");
        let is_stream = group.app.transport() == Transport::Stream;
        let keys = group.written().map(|(key, value)| match key.name {
            "path" => (key, scenario.written_path(group)),
            _ => (key, value.filter(|_| is_stream || key.datagrams.is_none())),
        });
        self.keys(keys);
    }

    fn change(&mut self, change: &TimedChange, scenario: &Scenario) {
        self.heading("[[at]]");
        self.line("time", quoted(change.time));
        self.line("phase", change.phase);
        let settings: Vec<String> = change
            .set
            .iter()
            .map(|setting| pair(setting, scenario))
            .collect();
        self.line("set", format!("{{ {} }}", settings.join(", ")));
    }
}

/// One entry of `set`.
fn pair(setting: &Setting, scenario: &Scenario) -> String {
    let groups = &scenario.groups;
    let link = |side: &Side| scenario.side_key(*side);
    match setting {
        Setting::Rate(side, rate) => format!("\"{}.rate\" = \"{rate}\"", link(side)),
        Setting::Queue { side, key, value } => {
            let value = if is_plain(value) {
                value.clone()
            } else {
                quoted(value)
            };
            format!("\"{}.queue.{key}\" = {value}", link(side))
        }
        Setting::Impair { side, key, spec } => {
            format!("\"{}.impair.{key}\" = {}", link(side), spec.value(key))
        }
        Setting::Rtt { group, rtt } => {
            format!("\"group.{}.rtt\" = \"{rtt}\"", groups[*group].name)
        }
        Setting::Count { group, count } => {
            format!("\"group.{}.count\" = {count}", groups[*group].name)
        }
        Setting::App { group, key, app } => {
            let name = &groups[*group].name;
            format!("\"group.{name}.app.{key}\" = {}", app.value(key))
        }
    }
}

/// Whether a value has no quotes in TOML: a switch, or a number without a unit.
fn is_plain(value: &str) -> bool {
    let digits =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    matches!(value, "true" | "false") || (digits(whole) && digits(fraction))
}
