//! A watched run gives the files of an ordinary one.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use quell_lab::{Options, Scenario, World, run};
use quell_units::Time;
use quell_watch::{Budget, Preparation, Watched};

#[test]
fn a_watched_run_gives_the_files_of_an_ordinary_one() {
    let scenarios = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for file in [
        "gsp2014/e2-gsp.toml",
        "web/browsing.toml",
        "home/evening.toml",
    ] {
        let text = fs::read_to_string(scenarios.join(file)).unwrap();
        let mut watched =
            Watched::open(file, &text, &[], None, Preparation::default(), Budget::PAGE).unwrap();
        let mut until = Time::ZERO;
        while !watched.is_over() {
            until += Time::from_millis(777);
            watched.advance(until).unwrap();
        }
        let (files, _) = watched.finish().unwrap();

        let loaded = Scenario::load(file, &text, &[], None).unwrap();
        let mut scenario = loaded.scenario;
        scenario.run.seeds.truncate(1);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let stop = AtomicBool::new(false);
        let options = Options {
            out: Some(out.clone()),
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            ..Options::new(World::Sim, &stop)
        };
        run(&scenario, options, &mut |_| ()).unwrap();
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert!(
            files.summary == read("summary.json"),
            "{file}: summary.json"
        );
        assert!(
            files.histograms == read("histograms.json"),
            "{file}: histograms.json"
        );
    }
}
