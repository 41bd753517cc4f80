//! How many round trips lie between two reductions of a window.

use std::sync::atomic::AtomicBool;

use quell_lab::{RunError, Scenario, sim};
use quell_measure::FlowId;
use quell_units::Time;
use serde::{Deserialize, Serialize};

use super::{Nothing, failed, run, simulator};

/// How often the flow is looked at.
const STEP: Time = Time::from_millis(5);

/// The reductions for loss of the first flow after the warm-up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// Round trips from one reduction to the next, each counted as long as it was then.
    pub between: Vec<f64>,
    /// The window just before each of the reductions that end these stretches, in packets.
    pub windows: Vec<u32>,
}

/// Runs `scenario` with `seed` until its end, or until `stop` is set.
///
/// # Errors
///
/// It was stopped, or cannot run, or its first flow is none of TCP.
pub fn measure(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<Rounds, RunError> {
    let config = sim::simulation(scenario, seed).map_err(failed)?;
    let mut simulator = simulator(config, &|_, _| Box::new(Nothing))?;
    let mut result = Rounds::default();
    let (mut reductions, mut window) = (0, 0);
    // Round trips since the last reduction, from the first one after the warm-up on.
    let mut rounds: Option<f64> = None;
    while simulator.now() < scenario.run.duration {
        let next = simulator.now() + STEP;
        run(&mut simulator, next, stop)?;
        let tcp = simulator.tcp(FlowId(0));
        let tcp = tcp.ok_or_else(|| failed("the first flow is none of TCP"))?;
        let rtt = tcp.srtt.as_nanos().max(1);
        if let Some(rounds) = &mut rounds {
            *rounds += STEP.as_nanos() as f64 / rtt as f64;
        }
        if tcp.recoveries > reductions && next >= scenario.run.warmup {
            if let Some(rounds) = rounds {
                result.between.push(rounds);
                result.windows.push(window);
            }
            rounds = Some(0.0);
        }
        (reductions, window) = (tcp.recoveries, tcp.cwnd);
    }
    Ok(result)
}
