//! Results on disk, of a world that measures what a real recorder says of an empty link.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::scenario::Scenario;
use quell_lab::{
    GuestOptions, Job, Measurements, Options, Progress, RunError, Task, World, run, run_all, run_in,
};
use quell_measure::{
    Direction, FlowRecorder, GroupInfo, Histograms, Hop, Recorder, RecorderConfig, RunInfo,
    Summary, Timeline,
};
use quell_units::{Rate, Time};

fn scenario(seeds: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"t\"\n[link]\nrate = \"40mbit\"\nqueue = {{ kind = \"fifo\" }}\n[[group]]\nname = \"a\"\n\
         rtt = \"7ms\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"1s\"\nseeds = {seeds}\n"
    );
    Scenario::parse(&text).unwrap()
}

fn idle(job: Job<'_>) -> Result<Measurements, RunError> {
    let run = &job.scenario.run;
    let timeline = Timeline::new(run.warmup, &[], run.settle, run.duration);
    let config = RecorderConfig {
        hop: Hop::FIRST,
        hop_name: Hop::ONLY_NAME.to_owned(),
        direction: Direction::Forward,
        queues: &["queue"],
        groups: vec![true],
        ends: None,
        rate: Rate::from_mbps(40),
        timeline: timeline.clone(),
        interval: Some(run.interval),
    };
    let mut recorder = Recorder::new(config);
    let mut flows = FlowRecorder::new(timeline, Some(run.interval), 1);
    (job.progress)(Time::ZERO);
    recorder.advance(run.duration);
    job.series.queues(recorder.drain_rows())?;
    let groups = vec![GroupInfo {
        name: "a".to_owned(),
        congestion_control: Some("cubic".to_owned()),
        elastic: true,
    }];
    let link = recorder.finish(run.duration);
    let flows = flows.finish(run.duration);
    let info = RunInfo {
        scenario: job.scenario.name.clone(),
        world: "live".to_owned(),
        seed: job.seed,
        duration: run.duration,
        warmup: run.warmup,
        partial: job.stop.load(Ordering::Relaxed),
        warnings: vec!["of the world".to_owned()],
        groups: groups.clone(),
    };
    Ok(Measurements {
        summary: Summary::new(info, &[&link], &flows),
        histograms: Histograms::new(&groups, &[&link]),
        controls: Vec::new(),
        work: None,
    })
}

fn options<'a>(out: &Path, stop: &'a AtomicBool) -> Options<'a> {
    Options {
        out: Some(out.to_owned()),
        warnings: vec!["of the scenario".to_owned()],
        ..Options::new(World::Live, stop)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const FILES: [&str; 6] = [
    "flows.parquet",
    "histograms.json",
    "queues.parquet",
    "run.json",
    "scenario.toml",
    "summary.json",
];

#[test]
fn one_seed_is_one_folder_with_every_file() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    let scenario = scenario("[7]");
    let mut told = Vec::new();
    let outcome = run_in(
        &mut idle,
        &scenario,
        options(&out, &stop),
        &mut |progress| told.push(progress.runs),
    )
    .unwrap();
    assert_eq!(
        (
            outcome.runs.len(),
            outcome.runs[0].seed,
            &outcome.runs[0].folder
        ),
        (1, 7, &out)
    );
    assert!(outcome.aggregate.is_none());
    assert_eq!(told, [1]);
    assert_eq!(names(&out), FILES);
    assert_eq!(names(root.path()), ["out"]);
    let resolved = fs::read_to_string(out.join("scenario.toml")).unwrap();
    assert_eq!(Scenario::parse(&resolved).unwrap(), scenario);
    let text = fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(summary, outcome.runs[0].summary);
    assert_eq!(summary.warnings, ["of the scenario", "of the world"]);
    let facts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(
        (&facts["seed"], &facts["world"]),
        (&7.into(), &"live".into())
    );
}

#[test]
fn several_seeds_are_one_folder_each_and_their_mean() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    let outcome = run_in(
        &mut idle,
        &scenario("[1, 2, 3]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(names(&out), ["aggregate.json", "seed1", "seed2", "seed3"]);
    for run in &outcome.runs {
        assert_eq!(names(&run.folder), FILES);
        let resolved = fs::read_to_string(run.folder.join("scenario.toml")).unwrap();
        assert_eq!(Scenario::parse(&resolved).unwrap().run.seeds, [run.seed]);
    }
    let (folder, mean) = outcome.aggregate.unwrap();
    assert_eq!(
        (folder, mean.seeds.as_slice(), mean.partial),
        (out, &[1, 2, 3][..], false)
    );
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_starts_no_further_seed() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    let mut world = |job: Job<'_>| {
        stop.store(true, Ordering::Relaxed);
        idle(job)
    };
    let outcome = run_in(
        &mut world,
        &scenario("[1, 2]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(names(&out), ["aggregate.json", "seed1"]);
    assert!(outcome.runs[0].summary.partial && outcome.aggregate.unwrap().1.partial);
}

#[test]
fn a_failed_run_leaves_nothing_behind_and_earlier_seeds_whole() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("new/out"), AtomicBool::new(false));
    let fail = |_: Job<'_>| Err(RunError::Failed("the wire broke".to_owned()));
    for seeds in ["[1]", "[1, 2]"] {
        let error = run_in(
            &mut { fail },
            &scenario(seeds),
            options(&out, &stop),
            &mut |_| {},
        )
        .unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.exit_code()),
            ("the wire broke", 1)
        );
        assert_eq!(names(root.path()), [] as [&str; 0]);
    }
    let mut second_fails = |job: Job<'_>| if job.seed == 2 { fail(job) } else { idle(job) };
    run_in(
        &mut second_fails,
        &scenario("[1, 2]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap_err();
    assert_eq!(names(&root.path().join("new")), ["out.incomplete"]);
    let kept = root.path().join("new/out.incomplete");
    assert_eq!(names(&kept), ["seed1"]);
    assert_eq!(names(&kept.join("seed1")), FILES);
}

#[test]
fn several_seeds_appear_with_the_last_of_them_and_are_partial_when_interrupted_between() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    let mut world = |job: Job<'_>| {
        assert!(!out.exists(), "nothing is seen before all is whole");
        let seed = job.seed;
        let measured = idle(job);
        // Between two seeds: those that ran are as long as they should be.
        stop.store(seed == 2, Ordering::Relaxed);
        measured
    };
    let outcome = run_in(
        &mut world,
        &scenario("[1, 2, 3]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(names(&out), ["aggregate.json", "seed1", "seed2"]);
    assert!(outcome.runs.iter().all(|run| !run.summary.partial));
    let (_, mean) = outcome.aggregate.unwrap();
    assert!(mean.partial);
    assert_eq!(mean.seeds, [1, 2]);
}

#[test]
fn a_mean_that_cannot_be_written_leaves_no_folder_under_the_final_name() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    let mut world = |job: Job<'_>| {
        // Where the mean will be written, a folder stands in the way.
        let hidden = root.path().join(names(root.path()).remove(0));
        let _ = fs::create_dir(hidden.join("aggregate.json"));
        idle(job)
    };
    let error = run_in(
        &mut world,
        &scenario("[1, 2]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap_err();
    assert_eq!(error.exit_code(), 1);
    let text = error.to_string();
    assert!(
        text.contains("aggregate.json") && text.contains("2 of 2 seeds are complete"),
        "{text}"
    );
    assert_eq!(names(root.path()), ["out.incomplete"]);
}

#[test]
fn an_error_while_writing_leaves_nothing_behind_and_names_the_path() {
    let root = tempfile::tempdir().unwrap();
    let (out, stop) = (root.path().join("out"), AtomicBool::new(false));
    // The world takes the folder away, as a full or vanished disk would.
    let mut world = |job: Job<'_>| {
        for entry in fs::read_dir(root.path()).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        idle(job)
    };
    let error = run_in(
        &mut world,
        &scenario("[1]"),
        options(&out, &stop),
        &mut |_| {},
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("scenario.toml") && error.exit_code() == 1,
        "{error}"
    );
    assert_eq!(names(root.path()), [] as [&str; 0]);
}

#[test]
fn an_existing_folder_is_refused_before_anything_runs() {
    let root = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut never = |_: Job<'_>| -> Result<Measurements, RunError> { panic!("must not run") };
    for seeds in ["[1]", "[1, 2]"] {
        let error = run_in(
            &mut never,
            &scenario(seeds),
            options(root.path(), &stop),
            &mut |_| {},
        )
        .unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(
            error
                .to_string()
                .ends_with("exists already; results never go over old ones"),
            "{error}"
        );
    }
}

#[test]
fn a_kernel_that_is_not_there_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    {
        let options = Options {
            world: World::Virtual,
            guest: GuestOptions {
                kernel: Some("none-such".to_owned()),
                ..GuestOptions::default()
            },
            ..options(&root.path().join("out"), &stop)
        };
        let error = run(&scenario("[1]"), options, &mut |_| {}).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("there is no kernel none-such in "),
            "{error}"
        );
        assert_eq!(error.exit_code(), 2);
        assert_eq!(names(root.path()), [] as [&str; 0]);
    }
}

/// Every file of a folder with its content, but run.json, which tells when and where.
fn contents(folder: &Path, into: &mut Vec<(String, Vec<u8>)>, below: &str) {
    for name in names(folder) {
        let path = folder.join(&name);
        let told = format!("{below}/{name}");
        if path.is_dir() {
            contents(&path, into, &told);
        } else if name != "run.json" {
            into.push((told, fs::read(path).unwrap()));
        }
    }
}

/// A second of two flows over a narrow link.
fn narrow(name: &str, seeds: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"{name}\"\n[link]\nrate = \"4mbit\"\nqueue = {{ kind = \"fifo\" }}\n[[group]]\nname = \"a\"\n\
         count = 2\nrtt = \"7ms\"\napp = {{ kind = \"bulk\" }}\n[run]\nduration = \"1s\"\nseeds = {seeds}\n"
    );
    Scenario::parse(&text).unwrap()
}

fn simulated<'a>(scenario: &'a Scenario, out: &Path, stop: &'a AtomicBool) -> Task<'a> {
    let options = Options {
        world: World::Sim,
        ..options(out, stop)
    };
    Task { scenario, options }
}

#[test]
fn results_do_not_depend_on_how_many_runs_go_on_at_once() {
    let stop = AtomicBool::new(false);
    let scenarios = [narrow("many", "[5, 1, 3, 2]"), narrow("one", "[9]")];
    let results = [1, 2, 7].map(|jobs| {
        let root = tempfile::tempdir().unwrap();
        let tasks: Vec<Task<'_>> = scenarios
            .iter()
            .map(|scenario| simulated(scenario, &root.path().join(&scenario.name), &stop))
            .collect();
        let mut told = Vec::new();
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let outcomes = run_all(&tasks, jobs, &mut |progress| told.push(progress)).unwrap();
        // Each run has told how it came to its end.
        for run in 0..5 {
            let ended =
                |progress: &&Progress| progress.run == run && progress.elapsed == progress.duration;
            assert!(told.iter().any(|progress| ended(&progress)), "{run}");
        }
        assert!(told.iter().all(|progress| progress.runs == 5));
        let seeds: Vec<Vec<u64>> = outcomes
            .iter()
            .map(|outcome| outcome.runs.iter().map(|run| run.seed).collect())
            .collect();
        assert_eq!(seeds, [vec![1, 2, 3, 5], vec![9]]);
        for run in outcomes.iter().flat_map(|outcome| &outcome.runs) {
            assert_eq!(names(&run.folder), FILES);
        }
        let mut files = Vec::new();
        contents(root.path(), &mut files, "");
        files
    });
    let (first, others) = results.split_first().unwrap();
    assert_eq!(first.len(), 5 * 5 + 1);
    assert!(others.iter().all(|other| other == first));
}

#[test]
fn an_interrupt_ends_all_runs_that_go_on_at_once_and_keeps_them() {
    let root = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let mut scenario = narrow("t", "[1, 2, 3, 4]");
    scenario.run.duration = Time::from_secs(80_000);
    let out = root.path().join("out");
    let jobs = NonZeroUsize::new(2).unwrap();
    let task = simulated(&scenario, &out, &stop);
    let mut begun = [false; 4];
    let outcomes = run_all(&[task], jobs, &mut |progress| {
        begun[progress.run] = true;
        // Once both have told something.
        if begun[0] && begun[1] {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let outcome = outcomes.unwrap().remove(0);
    assert_eq!(outcome.runs.len(), 2);
    assert!(outcome.runs.iter().all(|run| run.summary.partial));
    assert_eq!(names(&out), ["aggregate.json", "seed1", "seed2"]);
    assert!(outcome.aggregate.unwrap().1.partial);
}
