//! Applications over real sockets: two hosts, a thread each, that run the flows of a scenario.
//!
//! - [`plan`]: which flows there are; [`report`]: what is reported of them; [`error`]: what can go wrong;
//! - [`clock`]: the time of the run, and [`RunEnd`] its end. The kernel's figures of a connection are in [`TcpInfo`].
//! - Inside: `setup` opens and tries everything before the first packet, `host` is the loop of a thread, `end` one end of a flow,
//!   `shared` the state that the two threads share.
//!
//! Applications are those of `quell-app`, the same as on modelled hosts. All sockets are non-blocking, each thread waits in one
//! epoll with a timeout to the nanosecond; memory does not grow with the length of the run.
//!
//! Not done: kernel timestamps of datagrams (their delay includes the wake-up of the receiving thread), several receiver ports
//! per group, TCP Fast Open.

pub mod clock;
mod datagram;
mod end;
mod endpoint;
pub mod error;
mod host;
pub mod plan;
mod poller;
mod repaired;
pub mod report;
mod run_end;
mod setup;
mod shared;
mod socket;
mod tcp_info;
mod ticks;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use quell_units::{Bytes, Time};

pub use clock::Epoch;
pub use endpoint::Host;
pub use error::{EnterError, FlowFailure, TrafficError};
pub use plan::{FlowPlan, TrafficConfig, opener};
pub use report::{FlowReport, Sample, Stretch, Told, TrafficReport, Warning};
pub use run_end::RunEnd;
pub use setup::{Sockets, allow_files_for};
pub use tcp_info::{CongestionState, EcnFeedback, TcpInfo};

use host::Left;
use shared::Shared;

type Outcome = Result<Left, TrafficError>;

/// Traffic that is running. Dropping it stops it.
pub struct Traffic {
    config: Arc<TrafficConfig>,
    shared: Arc<Shared>,
    /// Sender host and receiver host, until they are joined.
    threads: Vec<(Host, JoinHandle<Outcome>)>,
}

impl Traffic {
    /// Starts both hosts and returns when their sockets are ready; flows start at their times.
    ///
    /// The hosts' threads call `enter_sender` and `enter_receiver` first: these move the thread into its namespace and drop
    /// capabilities. `listener` is called from both threads, never at once, and should be quick.
    pub fn start(
        config: TrafficConfig,
        enter_sender: impl FnOnce() -> Result<(), EnterError> + Send + 'static,
        enter_receiver: impl FnOnce() -> Result<(), EnterError> + Send + 'static,
        listener: impl FnMut(Told) + Send + 'static,
    ) -> Result<Self, TrafficError> {
        config.check()?;
        let places = setup::allow_open_files(&config.plans)?;
        #[cfg(test)]
        let places = config.places.unwrap_or(places);
        let shared = Shared::new(config.plans.len(), places, Box::new(listener));
        let shared = shared.map_err(|source| TrafficError::System {
            host: Host::Sender,
            doing: "make the hosts' wakers",
            source,
        })?;
        let mut traffic = Self {
            config: Arc::new(config),
            shared: Arc::new(shared),
            threads: Vec::new(),
        };
        let (ready, is_ready) = mpsc::channel();
        let go_sender = traffic.spawn(Host::Sender, enter_sender, ready.clone())?;
        let go_receiver = traffic.spawn(Host::Receiver, enter_receiver, ready)?;
        // One message from each host that is ready; the channel closes early when one has failed.
        if is_ready.iter().count() < traffic.threads.len() {
            drop((go_sender, go_receiver));
            traffic.join()?;
            // Not reached with a host that failed; one that left silently has panicked, and joining told so.
            return Err(TrafficError::Panicked(Host::Sender));
        }
        for go in [go_sender, go_receiver] {
            // A host that is gone by now tells why when it is joined.
            let _ = go.send(());
        }
        Ok(traffic)
    }

    /// Starts the thread of one host, which waits for the signal to go.
    fn spawn(
        &mut self,
        host: Host,
        enter: impl FnOnce() -> Result<(), EnterError> + Send + 'static,
        ready: Sender<()>,
    ) -> Result<Sender<()>, TrafficError> {
        let (go, may_go) = mpsc::channel();
        let (config, shared) = (self.config.clone(), self.shared.clone());
        let name = if host == Host::Sender {
            "quell-sender"
        } else {
            "quell-receiver"
        };
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                let end_both = EndBoth(Some(shared.clone()));
                enter().map_err(|source| TrafficError::Enter { host, source })?;
                let left = run_host(host, &config, shared, ready, &may_go)?;
                end_both.disarm();
                Ok(left)
            })
            .map_err(|source| TrafficError::System {
                host,
                doing: "start its thread",
                source,
            })?;
        self.threads.push((host, thread));
        Ok(go)
    }

    /// Ends the run now. What was measured is still reported, marked partial.
    pub fn stop(&self) {
        let now = self.config.epoch.elapsed().unwrap_or_default();
        self.config.end.bring_forward(now);
        self.heed_end();
    }

    /// Wakes both hosts after the end of the run was brought forward: they may sleep past it.
    pub fn heed_end(&self) {
        self.shared.wake();
    }

    /// Plans anew when each flow starts and stops, in the order of their plans: for times that are past, at once. A flow that has begun does
    /// not begin again, and one that has ended has ended. A flow that starts at [`Time::MAX`] is there to be started so.
    pub fn replan(&self, lives: impl IntoIterator<Item = (Time, Option<Time>)>) {
        self.shared.replan(lives.into_iter().collect());
    }

    /// Whether a host has ended, at the end of the run or by an error.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(|(_, thread)| thread.is_finished())
    }

    /// Waits for the end of the run.
    pub fn join(mut self) -> Result<TrafficReport, TrafficError> {
        let outcomes: Vec<_> = std::mem::take(&mut self.threads)
            .into_iter()
            .map(|(host, thread)| thread.join().unwrap_or(Err(TrafficError::Panicked(host))))
            .collect();
        let mut left = Vec::new();
        for outcome in outcomes {
            left.push(outcome?);
        }
        Ok(self.report(left))
    }

    fn report(&self, left: Vec<Left>) -> TrafficReport {
        let mut flows: Vec<_> = self
            .config
            .plans
            .iter()
            .zip(&self.shared.flows)
            .map(|(plan, shared)| FlowReport {
                group: plan.group,
                flow: plan.flow,
                up: None,
                delivered: Bytes::new(shared.delivered.load(Ordering::Relaxed)),
                tcp: None,
                stretches: Vec::new(),
                connections: 0,
                not_connected: 0,
                why_not: None,
                failure: None,
            })
            .collect();
        let ended = left.iter().map(|left| left.ended).max().unwrap_or_default();
        let receive_drops = left.iter().map(|left| left.receive_drops).sum();
        // Both hosts have stopped, so their sockets may close, and do at the end of this.
        for host in left {
            for (flow, end) in flows.iter_mut().zip(host.ends) {
                if end.source {
                    flow.up = end.up;
                    flow.tcp = end.tcp;
                }
                report::join(&mut flow.stretches, end.stretches);
                flow.connections = flow.connections.max(end.lost.connections);
                // Both ends may have seen the same ones.
                flow.not_connected = flow.not_connected.max(end.lost.failed);
                flow.why_not = flow.why_not.take().or(end.lost.why);
                flow.failure = flow.failure.take().or(end.failure);
            }
            drop(host.sockets);
        }
        TrafficReport {
            flows,
            receive_drops,
            ended,
            partial: self.config.end.is_early(),
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.shared.abandon();
        for (_, thread) in self.threads.drain(..) {
            // Nobody is left to be told.
            let _ = thread.join();
        }
    }
}

fn run_host(
    host: Host,
    config: &TrafficConfig,
    shared: Arc<Shared>,
    ready: Sender<()>,
    may_go: &Receiver<()>,
) -> Outcome {
    let mut running = setup::set_up(host, config, shared)?;
    // Nobody listens if the other host has failed; then no word to go comes either.
    let _ = ready.send(());
    drop(ready);
    if may_go.recv().is_err() {
        running.context.shared.abandon();
    } else if host == Host::Receiver {
        setup::join_datagrams(&mut running, &config.plans);
    }
    running.run()
}

/// Ends the other host when this one fails or panics.
struct EndBoth(Option<Arc<Shared>>);

impl EndBoth {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for EndBoth {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.abandon();
        }
    }
}

#[cfg(test)]
mod tests;
