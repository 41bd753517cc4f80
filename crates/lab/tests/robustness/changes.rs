//! Every application while what is around it changes, and its own parameters to both ends of their ranges.

use std::collections::BTreeSet;

use quell_lab::World;
use quell_lab::scenario::{Memory, Scenario};
use quell_units::parameter::{Domain, Value};
use quell_units::{Parameter, Rate};

use crate::robustness::measured::measured;
use crate::robustness::space::{agreed, plausible};

/// The least and the most that a scenario may say, as it says it.
fn ends(parameter: &Parameter) -> [String; 2] {
    let values = match parameter.domain {
        // A frame has at most 4095 packets, which bounds the rate more closely.
        Domain::Rate(low, high) => [low, high.min(Rate::from_mbps(500))].map(Value::Rate),
        Domain::Fraction(low, high, of) => [low, high].map(|value| Value::Fraction(value, of)),
        Domain::Period(low, high) | Domain::Interval(low, high) => [low, high].map(Value::Time),
        domain => panic!("{}: say what the ends of {domain:?} are", parameter.name),
    };
    values.map(|value| match value {
        Value::Fraction(..) => value.to_string(),
        value => format!("\"{value}\""),
    })
}

/// `app`, with flows that stop and start, a link that stands still, and these values of `key` one after the other.
fn scenario(app: &str, values: Option<(&str, [String; 2])>) -> String {
    let mut text = format!(
        "schema = 1\nname = \"changes\"\n[link]\nrate = \"20mbit\"\nqueue = \"dualpi2\"\n\
         [[group]]\nname = \"a\"\ncount = 2\nrtt = \"10ms\"\n{app}\n\
         [run]\nduration = \"3s\"\nwarmup = \"200ms\"\n"
    );
    let mut changes: Vec<String> = [
        "\"link.rate\" = \"0bit\"",
        "\"link.rate\" = \"2mbit\"",
        "\"group.a.count\" = 0",
        "\"group.a.count\" = 3",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some((key, [low, high])) = values {
        let set = |value: &str| format!("\"group.a.app.{key}\" = {value}");
        changes.insert(1, set(&high));
        changes.insert(0, set(&low));
        changes.push(set(&high));
        changes.push(set(&low));
    }
    for (index, change) in changes.iter().enumerate() {
        let at = 300 * (index + 1);
        text.push_str(&format!("[[at]]\ntime = \"{at}ms\"\n[at.set]\n{change}\n"));
    }
    text
}

#[test]
fn every_application_survives_changes_of_the_link_of_its_flows_and_of_its_own_parameters() {
    for entry in quell_app::KINDS.iter().filter(|kind| kind.modelled) {
        let mut changed = BTreeSet::new();
        for app in std::iter::once(&entry.example).chain(entry.more_examples) {
            let live = entry.parameters.iter().filter(|row| row.live);
            let live = live.filter(|row| app.contains(&format!(", {} = ", row.name)));
            let each = live.map(|row| Some((row.name, ends(row))));
            for values in std::iter::once(None).chain(each) {
                let key = values.as_ref().map(|(key, _)| *key);
                let text = scenario(app, values);
                let loaded = Scenario::load("changes", &text, &[], Some(World::Sim))
                    .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
                    .scenario;
                let (summary, taken) = measured(&loaded);
                plausible(&loaded, &summary, &text);
                assert_eq!(summary.phases.len(), loaded.changes.len() + 1);
                let group = &summary.figures.groups[0];
                assert!(group.packets > 0, "nothing arrived\n{text}");
                let reckoned = Memory::of(&loaded).total(1).get();
                assert!(
                    taken <= reckoned,
                    "takes {taken} of {reckoned} bytes\n{text}"
                );
                agreed(&loaded, &text);
                changed.extend(key);
            }
        }
        let live = entry.parameters.iter().filter(|row| row.live);
        let live: BTreeSet<&str> = live.map(|row| row.name).collect();
        assert_eq!(changed, live, "{}", entry.name);
    }
}
