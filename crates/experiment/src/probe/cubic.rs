//! The return of a CUBIC flow's window after a loss.
//!
//! The first run finds a loss; the second makes room in the queue right after it, so that no further loss ends the return. The length of
//! the scenario does not matter.

use std::sync::atomic::AtomicBool;

use quell_lab::{RunError, Scenario};
use quell_measure::{Direction, FlowId, Hop};
use quell_sim::LinkChange;
use quell_units::Time;
use serde::{Deserialize, Serialize};

use super::{Nothing, Probed, experiment, failed, run, simulator};

/// How often the window is looked at.
const STEP: Time = Time::from_millis(1);
/// The loss is the first after this time.
const SETTLED: Time = Time::from_secs(40);
/// A window that has not returned by then does not.
const END: Time = Time::from_secs(400);
/// Payload of a packet of 1500 bytes.
const MSS: u64 = 1_448;

/// The return of a window. Times are from the start of the run, in seconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CubicReturn {
    /// The window at the loss, in packets.
    pub maximum: u32,
    /// When all that was sent before is acknowledged.
    pub recovered_s: f64,
    /// When the window is one packet below the maximum.
    pub one_below_s: f64,
    /// When it is at the maximum.
    pub at_maximum_s: f64,
    /// When it is above.
    pub above_s: f64,
}

/// The flow at a moment.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// Window, in packets.
    cwnd: u32,
    /// Bytes acknowledged.
    acknowledged: u64,
    /// Packets sent, each once.
    sent: u64,
    /// Reductions of the window.
    cuts: u64,
}

/// A run whose first flow is watched.
struct Run<'a>(Probed, &'a AtomicBool);

impl<'a> Run<'a> {
    fn new(
        scenario: &Scenario,
        seed: u64,
        change: Option<(Time, LinkChange)>,
        stop: &'a AtomicBool,
    ) -> Result<Self, RunError> {
        let mut config = experiment::simulation(scenario, seed)?;
        config.changes.extend(change);
        Ok(Self(simulator(config, &|_, _| Box::new(Nothing))?, stop))
    }

    /// The flow a step later.
    fn step(&mut self) -> Result<Flow, RunError> {
        let next = self.0.now() + STEP;
        run(&mut self.0, next, self.1)?;
        if next > END {
            return Err(failed("the window does not return"));
        }
        let tcp = self.0.tcp(FlowId(0));
        let tcp = tcp.ok_or_else(|| failed("there is no flow of TCP"))?;
        Ok(Flow {
            cwnd: tcp.cwnd,
            acknowledged: tcp.acknowledged,
            sent: tcp.sent - tcp.retransmitted,
            cuts: tcp.recoveries,
        })
    }

    /// When this holds first, in seconds.
    fn until(&mut self, holds: impl Fn(Flow) -> bool) -> Result<f64, RunError> {
        while !holds(self.step()?) {}
        Ok(self.0.now().as_nanos() as f64 / 1e9)
    }
}

/// The first loss after 40 s.
fn loss(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<Time, RunError> {
    let mut run = Run::new(scenario, seed, None, stop)?;
    let mut before = 0;
    loop {
        let cuts = run.step()?.cuts;
        if run.0.now() > SETTLED && cuts > before {
            return Ok(run.0.now());
        }
        before = cuts;
    }
}

/// What the first flow of `scenario` does after a loss, with `seed`.
///
/// # Errors
///
/// It was stopped, or cannot run, or the window does not return.
pub fn measure(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<CubicReturn, RunError> {
    let loss = loss(scenario, seed, stop)?;
    let room = LinkChange::Queue {
        hop: Hop::FIRST,
        direction: Direction::Forward,
        key: "limit".to_owned(),
        value: "1MB".to_owned(),
    };
    let mut run = Run::new(scenario, seed, Some((loss, room)), stop)?;
    // The window a step before the loss.
    let mut maximum = 0;
    let mut flow = run.step()?;
    while run.0.now() < loss {
        maximum = flow.cwnd;
        flow = run.step()?;
    }
    let sent = flow.sent * MSS;
    Ok(CubicReturn {
        maximum,
        recovered_s: run.until(|flow| flow.acknowledged >= sent)?,
        one_below_s: run.until(|flow| flow.cwnd + 1 >= maximum)?,
        at_maximum_s: run.until(|flow| flow.cwnd >= maximum)?,
        above_s: run.until(|flow| flow.cwnd > maximum)?,
    })
}
