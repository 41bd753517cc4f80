//! The scenarios in the repository.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use quell_scenario::{EcnSetting, Override, Scenario, World, felt, programs, sim};

fn shipped() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                // Files of sweeps name scenarios, and are none.
                if !path.ends_with("sweeps") {
                    folders.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() >= 6);
    found
}

#[test]
fn every_scenario_is_right_described_and_named_as_its_file() {
    for path in shipped() {
        let text = fs::read_to_string(&path).unwrap();
        // No kernel has the options of a control of another date.
        let dated = text.contains("congestion-control = {");
        let world = if dated { World::Sim } else { World::Live };
        let loaded = Scenario::load("f", &text, &[], Some(world))
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert_eq!(
            Some(loaded.scenario.name.as_str()),
            path.file_stem().and_then(|stem| stem.to_str())
        );
        assert!(!loaded.scenario.description.is_empty(), "{path:?}");
        assert!(
            text.starts_with("# "),
            "{path:?} should say where it comes from"
        );
        // These are there to show what goes wrong.
        // Calls and games at home send too little to be in doubt.
        let little = ["evening", "upload", "cubic"];
        let droptail = !little.contains(&loaded.scenario.name.as_str())
            && loaded.scenario.links[0].forward.queue.kind == "fifo"
            && loaded.scenario.groups.iter().any(|group| {
                group.ecn == EcnSetting::Ect1
                    || group.ecn == EcnSetting::Ect0 && group.is_scalable()
            });
        // What sends much without a congestion control.
        let names = ["udp-into-l4s", "unresponsive", "call-l"];
        let unresponsive = names.contains(&loaded.scenario.name.as_str());
        // Not scalable by its definition, and in an L4S queue as the slides have it.
        let in_l4s = text.contains(r#"{ name = "bbr2", ecn = true }"#);
        // A step that is shorter than the wait for the medium is what it shows.
        let short_step = loaded.scenario.name == "access";
        assert_eq!(
            loaded.warnings.is_empty(),
            !(droptail || unresponsive || in_l4s || short_step),
            "{path:?}: {:?}",
            loaded.warnings
        );
    }
}

/// Whether iperf3 is on this machine, and a kernel, is not the scenario's: its programs are named, for whoever can look for them. The simulator,
/// which can run none anywhere, refuses it at the line of the kind.
#[test]
fn scenarios_of_programs_are_refused_by_the_simulator_and_name_what_they_start() {
    let mut of_programs = Vec::new();
    for path in shipped() {
        let text = fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text).unwrap();
        let groups = scenario.groups.iter().flat_map(programs);
        let lines: Vec<String> = groups.map(|(_, line)| line.program().to_owned()).collect();
        if lines.is_empty() {
            continue;
        }
        let refused = Scenario::load("f", &text, &[], Some(World::Sim)).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("the sim world has modelled hosts, which run no programs"),
            "{path:?}: {refused}"
        );
        assert_eq!(refused.lines().count(), 1, "{path:?}: {refused}");
        for world in [World::Virtual, World::Live] {
            let loaded = Scenario::load("f", &text, &[], Some(world)).unwrap();
            let named = loaded.programs.iter().map(|one| one.program.clone());
            assert!(named.eq(lines.iter().cloned()), "{path:?}");
        }
        of_programs.push(scenario.name);
    }
    assert_eq!(of_programs, ["iperf3"]);
}

#[test]
fn what_is_resolved_reads_back_as_the_same_scenario_and_changes_no_more() {
    for path in shipped() {
        let scenario = Scenario::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let text = scenario.to_toml();
        let again =
            Scenario::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}\n{text}"));
        assert_eq!(again, scenario, "{path:?}");
        assert_eq!(again.to_toml(), text, "{path:?}");
    }
}

#[test]
fn everybody_in_a_scenario_feels_something() {
    let short = [
        Override::duration("3s"),
        Override::set("run.warmup=0s").unwrap(),
    ];
    let mut people = 0;
    for path in shipped() {
        let text = fs::read_to_string(&path).unwrap();
        // Some change later than that.
        let Ok(loaded) = Scenario::load("f", &text, &short, None) else {
            continue;
        };
        let scenario = loaded.scenario;
        let kinds = ["web", "has", "voice", "game", "rtc", "panorama"];
        let felt_by = |kind: &str| kinds.contains(&kind);
        if !scenario
            .groups
            .iter()
            .any(|group| felt_by(group.app.kind()))
        {
            continue;
        }
        let ran = sim::run(&scenario, 1, &AtomicBool::new(false), &mut ()).unwrap();
        let figures = &ran.summary.figures;
        let rows = felt::felt(&[figures], &scenario);
        for (group, ran) in scenario.groups.iter().zip(&figures.groups) {
            let feels = rows
                .iter()
                .any(|row| row.who == group.name && row.application != felt::BULK);
            let expected = ran.count > 0 && felt_by(group.app.kind());
            assert_eq!(feels, expected, "{path:?} {}", group.name);
            people += usize::from(feels);
        }
    }
    assert!(people > 20, "{people}");
}
