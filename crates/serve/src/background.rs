//! Runs that a page has simulated out of its sight: a minute behind two queues, evenings of a household. Where the program has the page
//! without the simulator, they run here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use quell_units::Time;
use quell_watch::{Budget, Over, Preparation, Refused, Watched, felt};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ask::MOST_RUNS;
use crate::guard::Refusal;

/// The longest run, in ns: an hour.
const LONGEST: f64 = 3_600e9;
/// So much is simulated between two looks whether the page is still there, in ns.
const SLICE: u64 = 1_000_000_000;

/// What a page has simulated: `Task` of `web/src/page/background.ts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    scenario: String,
    /// The changes of each run.
    runs: Vec<Vec<String>>,
    #[serde(default)]
    seed: Option<u64>,
    /// How long each is, in ns.
    length: f64,
    /// Behind how many queues, one after the other, the runs are.
    #[serde(default)]
    queues: Option<usize>,
}

impl Task {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Refusal> {
        let wrong = |why: String| Refusal::new(StatusCode::BAD_REQUEST, why);
        let task: Self = serde_json::from_slice(body).map_err(|why| wrong(why.to_string()))?;
        let runs = task.runs.len();
        if !(1..=MOST_RUNS).contains(&runs) {
            return Err(wrong(format!("{runs} runs: must be 1 to {MOST_RUNS}")));
        }
        if !(0.0..=LONGEST).contains(&task.length) {
            return Err(wrong("length: must be at most an hour, in ns".to_owned()));
        }
        match task.queues {
            Some(0) => Err(wrong("queues: must be 1 or more".to_owned())),
            Some(queues) if !runs.is_multiple_of(queues) => Err(wrong(format!(
                "{runs} runs are not as many behind each of {queues} queues"
            ))),
            _ => Ok(task),
        }
    }

    /// The message `finished` of these runs; nothing once `stop` is set.
    pub(crate) fn simulate(&self, stop: &AtomicBool) -> Result<Option<Value>, Refused> {
        let (mut files, mut all) = (Vec::new(), Vec::new());
        for changes in &self.runs {
            let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
            let preparation = Preparation::default();
            let mut run = Watched::open(
                "scenario.toml",
                &self.scenario,
                &changes,
                self.seed,
                preparation,
                Budget::PAGE,
            )?;
            let end = Time::from_nanos(self.length as u64);
            let mut until = Time::ZERO;
            while until < end && !run.is_over() {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                until = end.min(until + Time::from_nanos(SLICE));
                run.advance(until)?;
            }
            let (finished, over) = run.finish()?;
            files.push(json!({ "summary": finished.summary, "histograms": finished.histograms }));
            all.push(over);
        }
        let mut message = json!({ "type": "finished", "runs": files });
        if let Some(queues) = self.queues {
            let seeds = all.chunks(all.len() / queues);
            let seeds = seeds.map(|seeds| seeds.iter().collect::<Vec<_>>());
            let queues = seeds.filter_map(|seeds| Over::of_seeds(&seeds));
            message["felt"] = felt(&queues.collect::<Vec<_>>());
        }
        Ok(Some(message))
    }
}

/// Tells runs when their page has gone.
#[derive(Debug, Default)]
pub(crate) struct Gone(pub(crate) Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
