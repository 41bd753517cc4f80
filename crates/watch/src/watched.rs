//! The run itself.

use std::io;
use std::sync::atomic::AtomicBool;

use quell_measure::{Figures, Seeing};
use quell_scenario::sim::{Room, Running, SimError};
use quell_scenario::{
    ArgumentError, Memory, Override, Problems, Scenario, Template, World, all_flows, in_flight,
    largest_window,
};
use quell_units::{Bytes, Rate, Time};
use serde::Serialize;
use serde_json::Value;

use crate::about::about;
use crate::packets;
use crate::rows::Rows;

/// A watched run ends where its watcher stops asking.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The most memory that a run may need by its estimate ([`Memory`]). It is an upper bound: most runs use a twentieth of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub Bytes);

impl Budget {
    /// Of a page: what an estimate may reach where addresses have 32 bits, so that a run that is let in never ends for want of
    /// memory.
    pub const PAGE: Self = Self(Bytes::new(3 << 30));
}

/// What a run is prepared for. Without any it is `quell run`'s to the byte; what it is prepared for costs memory, and larger receive
/// windows may change a few packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Flows that each group may start besides its own.
    pub flows: u32,
    /// The fastest that the link may become; `None` is as fast as the scenario says.
    pub rate: Option<Rate>,
}

impl Preparation {
    fn room(self, scenario: &Scenario) -> Room {
        let mut fastest = scenario.clone();
        for link in &mut fastest.links {
            let forward = &mut link.forward;
            forward.rate = self
                .rate
                .map_or(forward.rate, |rate| rate.max(forward.rate));
        }
        let more = self.flows as usize;
        let groups = 0..scenario.groups.len();
        Room {
            flows: groups
                .map(|group| all_flows(scenario, group) as usize + more)
                .collect(),
            window: largest_window(in_flight(&fastest)),
        }
    }
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A change of a key cannot be read.
    #[error(transparent)]
    Override(#[from] ArgumentError),
    /// The scenario is wrong, or not for the simulator.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// It needs too much memory.
    #[error(
        "a run may need up to {needed_mb} MB, and a page gives it {budget_mb} MB\n  fix: fewer flows, a lower rate or a shorter RTT; `quell run` has more room"
    )]
    Memory {
        /// By the estimate, in MB.
        needed_mb: u64,
        /// What there is, in MB.
        budget_mb: u64,
    },
    /// The simulator does not take it.
    #[error(transparent)]
    Sim(#[from] SimError),
}

/// The files of a run that is over, as `quell run` writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// `summary.json`.
    pub summary: String,
    /// `histograms.json`.
    pub histograms: String,
}

/// A run that is over.
#[derive(Debug)]
pub struct Over {
    /// What was simulated, with every change.
    pub scenario: Scenario,
    /// Figures of the whole.
    pub figures: Figures,
    /// The rows that were not taken yet.
    pub rows: Rows,
}

impl Over {
    /// The scenario of runs that differ in their seeds, and the figures of each: what [`felt()`](crate::felt()) takes. `None` without runs.
    pub fn of_seeds<'a>(runs: &[&'a Self]) -> Option<(&'a Scenario, Vec<&'a Figures>)> {
        let scenario = &runs.first()?.scenario;
        Some((scenario, runs.iter().map(|run| &run.figures).collect()))
    }
}

/// A run under way.
#[derive(Debug)]
pub struct Watched {
    /// The scenario as text, with every change so far.
    template: Template,
    scenario: Scenario,
    seed: u64,
    warnings: Vec<String>,
    running: Running<Seeing>,
    rows: Rows,
    is_over: bool,
}

impl Watched {
    /// A run of the scenario `text`, the content of `file`, which errors name. `changes` are as after `--set`. With no `seed` it is
    /// the scenario's first.
    ///
    /// # Errors
    ///
    /// The scenario, a change or the size of the run is refused, in the words of `quell run`.
    pub fn open(
        file: &str,
        text: &str,
        changes: &[&str],
        seed: Option<u64>,
        preparation: Preparation,
        budget: Budget,
    ) -> Result<Self, Refused> {
        let overrides = changes.iter().map(|change| Override::set(change));
        let overrides: Vec<Override> = overrides
            .chain(seed.map(|seed| Ok(Override::seed(seed))))
            .collect::<Result<_, _>>()?;
        let loaded = Scenario::load(file, text, &overrides, Some(World::Sim))?;
        let mut scenario = loaded.scenario;
        scenario.run.seeds.truncate(1);
        let template = Template::read("scenario.toml", &scenario.to_toml())?;
        let (needed, budget) = (Memory::of(&scenario).total(1), budget.0);
        if needed > budget {
            return Err(Refused::Memory {
                needed_mb: needed.get().div_ceil(1_000_000),
                budget_mb: budget.get() / 1_000_000,
            });
        }
        let seed = scenario.run.seeds.first().copied().unwrap_or(1);
        Ok(Self {
            running: Running::with_room(
                &scenario,
                seed,
                &preparation.room(&scenario),
                Seeing::new,
            )?,
            seed,
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            scenario,
            rows: Rows::default(),
            is_over: false,
            template,
        })
    }

    /// What is simulated, every default resolved.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The seed of its randomness.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Doubts about the scenario, from its check.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What a page needs to read the rows ([`about()`]).
    pub fn about(&self) -> Value {
        about(&self.scenario, self.seed, &self.warnings)
    }

    /// Simulates until `until`, or the end of the run if that is earlier, and returns the time that is reached.
    ///
    /// # Errors
    ///
    /// A change of the scenario's cannot be made, for a reason that was not seen when it was checked.
    pub fn advance(&mut self, until: Time) -> Result<Time, SimError> {
        while !self.is_over && self.running.now() < until {
            let (running, rows) = (&mut self.running, &mut self.rows);
            self.is_over = !running.advance_to(until, &NEVER, rows)?;
        }
        Ok(self.running.now())
    }

    /// From the time that is reached on, `key` is `value`, as after `--set`: the rate of the link, a parameter of a queue, the count of a
    /// group. [`Watched::scenario`] has it as `[[at]]` then, and gives the same run again.
    ///
    /// # Errors
    ///
    /// The key does not change during a run, the value is wrong, or the run is not prepared for it ([`Preparation`]); nothing is
    /// changed.
    pub fn change(&mut self, key: &str, value: &str) -> Result<(), Refused> {
        // At time zero nothing has happened, and a change is one of the scenario itself; the first nanosecond is as good.
        let now = self.running.now().max(Time::from_nanos(1));
        let template = self.template.with_change(now, key, value);
        let scenario = template.scenario(
            &[],
            Some(World::Sim),
            Box::new(|_, _| Err("a run under way reads no files".into())),
        )?;
        self.running.amend(scenario.clone())?;
        (self.template, self.scenario) = (template, scenario);
        Ok(())
    }

    /// Whether the end of the run is reached.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Events of the simulation so far: what a slice costs.
    pub fn events(&self) -> u64 {
        self.running.events()
    }

    /// How many packets left the queues, or were dropped, since they were last taken, and their columns
    /// ([`PACKET_COLUMNS`](crate::PACKET_COLUMNS)): all of them, or an even sample where they are more than some thousands.
    pub fn packets(&mut self) -> (usize, Vec<f64>) {
        let queues = self.running.simulator_mut().observers_mut();
        packets::take(queues)
    }

    /// The rows since they were last taken.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// Ends the run here, and returns its files, and what else is left of it.
    ///
    /// # Errors
    ///
    /// As of [`Watched::advance`].
    pub fn finish(mut self) -> Result<(Finished, Over), SimError> {
        if !self.is_over {
            self.running.end_here();
        }
        let mut measured = self.running.finish(&mut self.rows)?;
        measured.add_warnings_of_check(&self.warnings);
        let finished = Finished {
            summary: file(&measured.summary)?,
            histograms: file(&measured.histograms)?,
        };
        let over = Over {
            scenario: self.scenario,
            figures: measured.summary.figures,
            rows: self.rows,
        };
        Ok((finished, over))
    }
}

/// As a result folder has it. The text is written twice, at first only to know its length: a text that grows as it is written
/// takes up to three times the memory, which a page never gets back.
fn file(value: &impl Serialize) -> Result<String, SimError> {
    let failed = |error: &dyn std::fmt::Display| SimError::Failed(error.to_string());
    // Through one kind of writer: the code that writes is there once.
    let write = |to: &mut dyn io::Write| {
        serde_json::to_writer_pretty(to, value).map_err(|error| failed(&error))
    };
    let mut length = Length(0);
    write(&mut length)?;
    let mut text = Vec::with_capacity(length.0 + 1);
    write(&mut text)?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|error| failed(&error))
}

/// Counts the bytes that are written to it.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
