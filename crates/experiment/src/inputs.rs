//! What decides the verdicts of an experiment, as a hash. Equal inputs have equal verdicts, because the simulator repeats to the bit; so an
//! experiment whose inputs were judged before need not run again.

use std::collections::BTreeSet;
use std::path::Path;

use quell_lab::World;
use quell_lab::results::read;
use quell_lab::scenario::{Origin, Override, ReadFile, Scenario};
use quell_lab::sweep::{Identity, Key, Wanted};

use crate::cell::Length;
use crate::experiment::Experiment;
use crate::reproduction::runs_of;

/// Every source of the crate below `src/` with its hash, in order.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
/// Sources that decide no verdict: what they read is among the inputs itself, or they show what was judged, or only refuse files.
const OTHERS: [&str; 9] = [
    "book.rs",
    "file/keys.rs",
    "file/schema.rs",
    "inputs.rs",
    "lib.rs",
    "link_profile.rs",
    "live.rs",
    "registry.rs",
    "shipped.rs",
];
/// The same of `reference/`: they write records and pages.
const OF_RECORDS: [&str; 2] = ["record.rs", "report.rs"];
/// Files of `probe/` and `function/` that only the measurement of this name needs, or functions of lists; what is in the others all share.
const SEPARATE: [&str; 6] = ["cubic", "items", "list", "path", "rounds", "sizes"];
/// Bytes at most of a file that a scenario names.
const LONGEST_NAMED: u64 = 512 << 20;

/// A hash of some texts, which do not run into each other.
pub fn hash<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let hashes = texts.into_iter().map(|text| Key::of(text).to_string());
    Key::of(&hashes.collect::<String>()).to_string()
}

/// A hash of what decides the verdicts of an experiment where this program runs it in full: the program and the kernel, the sources that
/// judge, its files, and each of its runs. `None` if a run is not possible in this world.
pub fn of(experiment: &Experiment, world: World, identity: &Identity) -> Option<String> {
    let program = [&identity.world, &identity.code].map(String::as_str);
    let mut texts: Vec<String> = program.map(str::to_owned).to_vec();
    texts.push(format!("{:?}", identity.kernel));
    let named = named(experiment);
    let judging = SOURCES
        .iter()
        .filter(|(path, _)| judges(experiment, &named, path));
    for (path, code) in judging {
        texts.extend([*path, *code].map(str::to_owned));
    }
    for (path, key) in experiment.files() {
        texts.extend([path.clone(), key.to_string()]);
    }
    let mut before: Option<&Wanted> = None;
    let runs = runs_of(experiment, Length::Full, world);
    for run in &runs {
        let is_same = |one: &Wanted| one.file == run.file && one.sets == run.sets;
        if !before.is_some_and(is_same) {
            texts.push(scenario(run, world)?.canonical());
        }
        let probe = run.probe.map(|probe| probe.name);
        texts.push(format!("{} {probe:?} {:?}", run.seed, run.watched));
        before = Some(run);
    }
    Some(hash(texts.iter().map(String::as_str)))
}

/// The measurements that an experiment names, and `list`.
fn named(experiment: &Experiment) -> BTreeSet<&str> {
    let functions = experiment.definition().names.functions();
    let cells = experiment.cells().iter();
    let measured = cells.filter_map(|cell| cell.measurement().map(|name| name as &str));
    functions.chain(measured).collect()
}

/// Whether a source decides the verdicts of the experiment, which names these measurements.
fn judges(experiment: &Experiment, named: &BTreeSet<&str>, path: &str) -> bool {
    match path.split_once('/') {
        Some(("characterize" | "expectation", _)) => false,
        Some(("reference", file)) => {
            let definition = experiment.definition();
            let has_record = definition.reference.is_some() || definition.strength.is_some();
            has_record && !OF_RECORDS.contains(&file)
        }
        Some(("probe" | "function", file)) => {
            let name = file.trim_end_matches(".rs");
            !named.is_empty() && (named.contains(name) || !SEPARATE.contains(&name))
        }
        _ => !OTHERS.contains(&path),
    }
}

/// The scenario of a run, as [`Plan::of`](quell_lab::sweep::Plan::of) resolves it.
fn scenario(run: &Wanted, world: World) -> Option<Scenario> {
    let sets = run.sets.iter().map(|set| Override::set(set).ok());
    let sets: Option<Vec<Override>> = sets.collect();
    let folder = run.folder.clone();
    let files: ReadFile = Box::new(move |name, origin| {
        let path = match origin {
            Origin::Argument(_) => Path::new(name).to_owned(),
            Origin::Line(_) | Origin::Named(_) => folder.join(name),
        };
        Ok(read::text(&path, LONGEST_NAMED)?)
    });
    let loaded = Scenario::load_with_files(&run.file, &run.text, &sets?, Some(world), files);
    loaded.ok().map(|loaded| loaded.scenario)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use quell_lab::GuestOptions;

    use super::*;
    use crate::registry;

    fn here() -> Identity {
        Identity::here(World::Sim, &GuestOptions::default()).unwrap()
    }

    const PAPER: &str = "schema = 1\ntitle = \"t\"\nsource = \"s\"\nscenario = \"home.toml\"\n[axis.row]\nfile = \"rows.csv\"\n[figure]\nused = \"link.utilisation\"\n\
        [statement.used]\npublished = \"p\"\nchecked = \"c\"\ncheck = { figure = \"used\", above = 0.5 }\n";
    const HOME: &str = "schema = 1\nname = \"home\"\n[link]\nrate = { trace = \"t.csv\" }\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n\
        [run]\nduration = \"6s\"\n";

    #[test]
    fn every_file_that_decides_something_is_among_the_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let inputs = || {
            let paper = Experiment::open(&folder.path().join("paper.toml")).unwrap();
            of(&paper, World::Sim, &here())
        };
        let all = [
            ("paper.toml", PAPER, "above = 0.5", "above = 0.6"),
            ("rows.csv", "k\n1\n2\n", "2", "3"),
            ("home.toml", HOME, "20ms", "30ms"),
            ("t.csv", "time_s,rate_mbps\n0,10\n1,20\n", "20", "30"),
        ];
        for (name, text, ..) in all {
            write(name, text);
        }
        let first = inputs();
        assert!(first.is_some());
        for (name, text, old, new) in all {
            write(name, &text.replace(old, new));
            assert_ne!(inputs(), first, "{name}");
            write(name, text);
        }
        // A comment in a scenario decides nothing.
        write("home.toml", &format!("# Mine.\n{HOME}"));
        assert_eq!(inputs(), first);
        // Without the trace nothing runs.
        fs::remove_file(folder.path().join("t.csv")).unwrap();
        assert_eq!(inputs(), None);
    }

    #[test]
    fn another_program_or_kernel_has_other_inputs() {
        let all = registry::find("contrast/curvy-red").unwrap();
        let inputs = |identity: &Identity| of(all[0], World::Sim, identity).unwrap();
        let with = |change: fn(&mut Identity)| {
            let mut other = here();
            change(&mut other);
            inputs(&other)
        };
        let mut found = vec![
            inputs(&here()),
            with(|one| one.code.push('x')),
            with(|one| one.kernel = Some("7.2".to_owned())),
        ];
        found.dedup();
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn sources_count_where_they_decide_something() {
        let counted = |id: &str| {
            let one = registry::find(id).unwrap()[0];
            let all = SOURCES.iter().map(|(path, _)| *path);
            all.filter(|path| judges(one, &named(one), path))
                .collect::<Vec<_>>()
        };
        let plain = counted("contrast/curvy-red");
        assert!(plain.contains(&"statement.rs") && plain.contains(&"evaluate/judge.rs"));
        for (id, more) in [
            (
                "controls/bbr-v1",
                &[
                    "function/mod.rs",
                    "function/path.rs",
                    "probe/captured.rs",
                    "probe/experiment.rs",
                    "probe/mod.rs",
                    "probe/path.rs",
                ][..],
            ),
            (
                "validation/grid",
                &[
                    "reference/covering.rs",
                    "reference/mod.rs",
                    "reference/rounded.rs",
                ],
            ),
        ] {
            let mut own = counted(id);
            own.retain(|path| !plain.contains(path));
            assert_eq!(own, more, "{id}");
        }
        for path in OTHERS {
            assert!(SOURCES.iter().any(|(known, _)| *known == path), "{path}");
        }
    }

    #[test]
    fn what_a_measurement_has_for_itself_no_other_names() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (path, _) in SOURCES {
            let Some(("probe" | "function", file)) = path.split_once('/') else {
                continue;
            };
            let name = file.trim_end_matches(".rs");
            let text = fs::read_to_string(folder.join(path)).unwrap();
            for other in SEPARATE
                .into_iter()
                .filter(|other| *other != name && name != "mod")
            {
                let is_named =
                    ["super", "probe", "function"].map(|above| format!("{above}::{other}"));
                assert!(
                    !is_named.iter().any(|one| text.contains(one)),
                    "{path}: {other}"
                );
            }
        }
    }
}
