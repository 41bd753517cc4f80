//! What pages ask, without a network and without a clock: for fuzzers.

use quell_scenario::{Override, Scenario};
use quell_units::Time;
use quell_watch::{Budget, Preparation, Watched};

use crate::ask::Ask;
use crate::error::SessionError;

/// Simulated time after each change, so that it has an effect.
const STEP: Time = Time::from_millis(5);

/// A simulated run that is asked.
#[derive(Debug)]
pub struct Session {
    run: Watched,
}

impl Session {
    /// A run of this scenario, with room for two more flows in each group.
    ///
    /// # Errors
    ///
    /// The scenario is refused.
    pub fn open(scenario: &str) -> Result<Self, SessionError> {
        let preparation = Preparation {
            flows: 2,
            rate: None,
        };
        let run = Watched::open(
            "scenario.toml",
            scenario,
            &[],
            None,
            preparation,
            Budget::PAGE,
        );
        Ok(Self { run: run? })
    }

    /// The body of a request: a change is made, and simulated a little; a scenario is read, and does not run.
    ///
    /// # Errors
    ///
    /// It is refused, in words.
    pub fn ask(&mut self, body: &[u8]) -> Result<(), SessionError> {
        match Ask::read(body)? {
            Ask::Open(opening) => {
                for changes in &opening.runs {
                    let changes = changes.iter().map(|change| Override::set(change));
                    let seed = opening.seed.map(|seed| Ok(Override::seed(seed)));
                    let changes = changes.chain(seed).collect::<Result<Vec<_>, _>>();
                    let changes = changes.map_err(|why| SessionError::Change(why.into()))?;
                    Scenario::load("scenario.toml", &opening.scenario, &changes, None)?;
                }
            }
            Ask::Change { key, value, .. } => {
                let before = self.run.scenario().to_toml();
                let changed = self.run.change(&key, &value);
                if let Err(refused) = changed {
                    assert_eq!(self.run.scenario().to_toml(), before, "{refused}");
                    return Err(refused.into());
                }
            }
            Ask::Speed(_) | Ask::Step(_) | Ask::Finish => {}
        }
        let until = self.run.advance(Time::ZERO).unwrap_or_default() + STEP;
        self.run.advance(until)?;
        Ok(())
    }

    /// What repeats the run.
    pub fn scenario(&self) -> String {
        self.run.scenario().to_toml()
    }
}
