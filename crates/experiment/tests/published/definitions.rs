//! The experiments of the library in full: their section of the book and their verdicts.
//!
//! One test for each section. `QUELL_REPRODUCE_STORE=DIR` keeps the results of runs there for the next time, as `quell reproduce --store`
//! does. Where `QUELL_RELEASE` names the optimised program it runs them first: its results are the same to the bit
//! (`crates/quell/tests/determinism.rs`).

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;

use quell_experiment::registry::{self, sections};
use quell_experiment::{Experiment, Findings, Length, Outcome, Reproduction, Verdict};
use quell_lab::results::present::Table;
use quell_lab::sweep::{self, Options, Store};
use quell_lab::{GuestOptions, World};

use crate::{checked, page, verdicts};

/// What the experiments found, their results from `store`.
pub(crate) fn found<'e>(
    experiments: &[&'e Experiment],
    length: Length,
    store: &Store,
) -> Vec<Findings<'e>> {
    let world = World::Sim;
    let all = Reproduction::new(experiments, length, world, &GuestOptions::default()).unwrap();
    let options = Options {
        shard: None,
        jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        retry_failed: true,
        series: false,
        time_limit: None,
        reuse_live: false,
        stop: &AtomicBool::new(false),
    };
    let report = sweep::run(&all.plan, store, &options, &mut |_| {}).unwrap();
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert!(report.conflicts.is_empty(), "{:#?}", report.conflicts);
    let outcomes = all.outcomes(store).unwrap().into_iter();
    outcomes
        .map(|outcome| match outcome {
            Outcome::Found(findings) => *findings,
            other @ Outcome::Incomplete { .. } => panic!("{other:?}"),
        })
        .collect()
}

/// Runs what is outdated of the section with this title, and checks its tables, its verdicts and its text.
fn check(title: &str) {
    let mut all = sections().iter();
    let section = all.find(|section| section.title == title).unwrap();
    let experiments = checked::outdated(section);
    let unchanged = section.experiments.len() - experiments.len();
    if unchanged > 0 {
        // A colon ends the name.
        quell_testing::not_run(
            &format!("published section {:?}", title.replace(':', ",")),
            &format!(
                "unchanged since it was checked; QUELL_REPRODUCE=all runs it: {unchanged} of its experiments"
            ),
        );
    }
    if experiments.is_empty() {
        return;
    }
    let findings = match std::env::var_os("QUELL_REPRODUCE_STORE") {
        Some(store) => {
            run_optimised(&experiments, &store);
            found(&experiments, Length::Full, &Store::at(Path::new(&store)))
        }
        None => {
            let store = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            found(
                &experiments,
                Length::Full,
                &Store::for_a_while(store.path()),
            )
        }
    };
    let body = page::body(&findings);
    let problems: Vec<String> = findings.iter().flat_map(Findings::problems).collect();
    assert!(problems.is_empty(), "{body}\n{}", problems.join("\n"));
    let mut tables: Vec<(&str, Table)> = Vec::new();
    for (name, table) in findings.iter().flat_map(|one| &one.tables) {
        let name = name.as_str();
        match tables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, whole)) => whole.append(table),
            None => tables.push((name, table.clone())),
        }
    }
    page::check(section, &findings, &tables);
    verdicts::check(&findings);
    findings.iter().for_each(checked::check_text);
}

/// Lets the optimised program, if there is one, run the experiments into the store.
fn run_optimised(experiments: &[&Experiment], store: &OsStr) {
    // It uses every processor.
    static RUNNING: Mutex<()> = Mutex::new(());
    let Some(program) = std::env::var_os("QUELL_RELEASE") else {
        return;
    };
    let _lock = RUNNING.lock().unwrap();
    let mut command = Command::new(program);
    command
        .arg("reproduce")
        .args(experiments.iter().map(|one| &one.id));
    // What it says and returns is judged below, from the store.
    let output = command.arg("--store").arg(store).output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_experiment_takes_quick_runs_and_judges_none_of_them() {
    let store = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = Store::for_a_while(store.path());
    let findings = found(&registry::all(), Length::Quick, &store);
    assert_eq!(findings.len(), registry::all().len());
    for judged in findings.iter().flat_map(Findings::judged) {
        assert_eq!(judged.verdict, Verdict::Quick, "{}", judged.id);
    }
    for one in &findings {
        assert!(
            !one.figures.is_empty(),
            "{:?} has no figure",
            one.experiment()
        );
    }
}

#[test]
fn the_dualq_of_2015_and_its_successors() {
    check("The DualQ of 2015 and its successors");
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_slides_of_2015() {
    check("The slides of 2015: signals, queue sizes, other queues, unlike RTTs");
}

#[test]
fn queue_protection() {
    check("Queue protection: an unresponsive flow that claims to be L4S");
}

#[test]
#[ignore = "takes long: make test-all"]
fn home_gateway_a_call_beside_a_download() {
    check("Home gateway: a call beside a download");
}

#[test]
#[ignore = "takes long: make test-all"]
fn home_gateway_four_controls() {
    check("Home gateway: four controls");
}

#[test]
#[ignore = "takes long: make test-all"]
fn home_gateway_queue_sizes() {
    check("Home gateway: queue sizes in steps of 30 bytes");
}

#[test]
#[ignore = "takes long: make test-all"]
fn vdq_csaqm_experiments_a_and_c1() {
    check("VDQ-CSAQM: experiments A and C1");
}

#[test]
#[ignore = "takes long: make test-all"]
fn vdq_csaqm_experiments_with_bbr() {
    check("VDQ-CSAQM: experiments with BBR");
}

#[test]
#[ignore = "takes long: make test-all"]
fn which_queue_makes_the_shares_independent_of_the_control() {
    check("Which queue makes the shares independent of the control");
}

#[test]
fn bbr_v1() {
    check("BBR v1: start-up, a changing rate, five flows");
}

#[test]
#[ignore = "takes long: make test-all"]
fn bbr_beside_cubic() {
    check("BBR beside CUBIC");
}

#[test]
#[ignore = "takes long: make test-all"]
fn bbr_v2_and_v3() {
    check("BBR v2 and v3");
}

#[test]
#[ignore = "takes long: make test-all"]
fn compound_htcp_and_ledbat() {
    check("Compound, H-TCP and LEDBAT beside others");
}

#[test]
fn cubic() {
    check("CUBIC: back to the last maximum");
}

#[test]
#[ignore = "takes long: make test-all"]
fn global_synchronisation_behind_drop_tail() {
    check("Global synchronisation behind drop-tail");
}

#[test]
#[ignore = "takes long: make test-all"]
fn global_synchronization_protection() {
    check("Global Synchronization Protection");
}

#[test]
fn step_marking() {
    check("Step marking: the sawtooth of DCTCP");
}

#[test]
fn red_adaptive_red_and_curvy_red() {
    check("RED, Adaptive RED and Curvy RED: more and more flows");
}

#[test]
#[ignore = "takes long: make test-all"]
fn overload_and_coupling() {
    check("DualPI2: overload and coupling");
}

#[test]
#[ignore = "takes long: make test-all"]
fn pairs_with_unlike_rtts() {
    check("DualPI2: pairs with unlike RTTs");
}

#[test]
#[ignore = "takes long: make test-all"]
fn prague_shares() {
    check("Prague: shares that do not depend on the RTT");
}

#[test]
#[ignore = "takes long: make test-all"]
fn pie_an_ecn_capable_and_another_flow() {
    check("PIE: an ECN-capable and another flow");
}

#[test]
#[ignore = "takes long: make test-all"]
fn fq_codel_flows_with_and_without_ecn() {
    check("FQ-CoDel: flows with and without ECN");
}

#[test]
#[ignore = "takes long: make test-all"]
fn web_items_beside_a_download() {
    check("Web items: flow completion times beside a download");
}

#[test]
#[ignore = "takes long: make test-all"]
fn web_browsing_as_demonstrated() {
    check("Web items: browsing beside downloads, as demonstrated in 2015");
}

#[test]
#[ignore = "takes long: make test-all"]
fn adaptive_streaming_as_set_up() {
    check("Adaptive streaming beside downloads, as set up in 2015");
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_panorama_of_2015() {
    check("The panorama of 2015: interaction beside downloads");
}

#[test]
#[ignore = "takes long: make test-all"]
fn rendered_video_under_prague() {
    check("Rendered video under Prague, beside SCReAM");
}

#[test]
#[ignore = "takes long: make test-all"]
fn rendered_video_under_scream() {
    check("Rendered video under SCReAM");
}
