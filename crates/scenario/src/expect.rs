//! `[[expect]]`: what the results of a run are expected to be.
//!
//! A scenario only holds the words and checks their form. The conditions are those of experiment files, which whoever runs the scenario
//! reads and judges.

use quell_units::parameter::Domain as D;

use super::domain::Domain;
use super::tree::Node;
use super::view::{Keys as _, Reader, View, tables};
use super::written::Field;

/// The most expectations of a scenario.
const MOST: usize = 1_000;

/// The results of several seeds for which a condition has to hold, by their names in files; the first one is the default.
pub const OVER: &[&str] = &["each", "worst", "mean", "median"];
/// What follows where a condition does not hold, by its name in files; the first one is the default.
pub const LEVELS: &[&str] = &["error", "warn"];

keys! {
    /// A condition that the results have to meet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Expect in Expect {
        /// A condition on figures. They have the names of sweep tables; numbers may have units.
        that: String = { default: Required, domain: Domain::Text, example: r#"that = "group.web.completion_ms.p90 < 1s""#, }
        /// For which result of several seeds. each: for that of every seed. worst: the same, reported by the worst one. mean, median: for those of the figures.
        over: &'static str = { default: Is("each"), domain: Domain::Value(D::Word(OVER)), example: r#"over = "mean""#, }
        /// A condition on keys of the scenario: which points of a sweep, or queues side by side, it is about.
        place: String = { name: "where", default: Is(""), domain: Domain::Text, example: r#"where = "link.rate == 10mbit""#, }
        /// Its reason.
        why: String = { default: Is(""), domain: Domain::Text, example: r#"why = "the page is usable""#, }
        /// What follows if it does not hold. error: exit code 3. warn: only a line.
        level: &'static str = { default: Is("error"), domain: Domain::Value(D::Word(LEVELS)), example: r#"level = "warn""#, }
    }
}

// Written under headings of their own.
impl Field for Vec<Expect> {}

/// Reads the list `expect`.
pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<Vec<Expect>> {
    let nodes = tables::list(reader, "expect", node, "a list of tables [[expect]]");
    if nodes.len() > MOST {
        reader.wrong_value(
            "expect",
            node,
            &format!("{} tables", nodes.len()),
            &format!("must be {MOST} at most"),
        );
        return None;
    }
    let mut all = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = format!("expect.{}", index + 1);
        let view = View::new(reader, Expect::ROWS, &path, node)?;
        let read = Expect::finish(Expect::draft(reader, &view));
        for (key, text) in [
            ("that", read.as_ref().map(|read| &read.that)),
            ("where", read.as_ref().map(|read| &read.place)),
            ("why", read.as_ref().map(|read| &read.why)),
        ] {
            let is_missing = key == "that" && text.is_some_and(|text| text.trim().is_empty());
            if is_missing || text.is_some_and(|text| text.contains(char::is_control)) {
                view.refuse(reader, key, "must be a text on one line");
            }
        }
        all.push(read);
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const TEXT: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = \"pie\"\n\
        [[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n[run]\nduration = \"1s\"\n";

    #[test]
    fn an_expectation_is_held_as_written_and_changes_no_result() {
        let expects = "[[expect]]\nthat = \"link.utilisation > 90%\"\nover = \"mean\"\nwhy = \"it is full\"\n[[expect]]\nthat = \"jain > 0\"\nlevel = \"warn\"\nwhere = \"link.rate == 4mbit\"\n";
        let plain = Scenario::parse(TEXT).unwrap();
        assert!(plain.expects.is_empty() && !plain.to_toml().contains("expect"));
        let scenario = Scenario::parse(&format!("{TEXT}{expects}")).unwrap();
        let [full, fair] = &scenario.expects[..] else {
            panic!("{:?}", scenario.expects)
        };
        assert_eq!(
            (full.that.as_str(), full.over, full.why.as_str(), full.level),
            ("link.utilisation > 90%", "mean", "it is full", "error")
        );
        assert_eq!((fair.over, fair.level), ("each", "warn"));
        assert_eq!(
            (full.place.as_str(), fair.place.as_str()),
            ("", "link.rate == 4mbit")
        );
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
        assert_eq!(scenario.canonical(), plain.canonical());
    }

    #[test]
    fn what_is_no_expectation_is_refused_with_its_place() {
        for (expect, expected) in [
            ("over = \"mean\"", "expect.1.that: is missing"),
            ("that = \" \"", "expect.1.that = \" \": must be a text"),
            (
                "that = \"jain > 0\"\nover = \"best\"",
                "expect.1.over = \"best\": must be",
            ),
            (
                "that = \"jain > 0\"\nlevl = \"warn\"",
                "unknown key (did you mean level?)",
            ),
        ] {
            let error = Scenario::parse(&format!("{TEXT}[[expect]]\n{expect}\n")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
