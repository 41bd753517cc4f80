//! The moves of a link besides its departure clock: a trace of rates or chances, and the access to a medium.

use alloc::boxed::Box;

use crate::link_trace::{Chances, LinkTrace, Steps, Trace};
use crate::medium::{Accesses, Medium};
use crate::units::{Random, Rate, Time};

/// The way in which a link serves its queue; by default at its rate, whenever it is free.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// The trace that the link plays.
    pub trace: Option<LinkTrace>,
    /// The medium that it shares, and the stream of random waiting times. Not together with chances.
    pub medium: Option<(Medium, Random)>,
}

impl Service {
    /// The positions of a link at time zero; `None` where its clock is all that there is.
    pub(crate) fn start(self) -> Option<Box<Moves>> {
        if self.trace.is_none() && self.medium.is_none() {
            return None;
        }
        let mut moves = Moves {
            steps: None,
            chances: None,
            accesses: self
                .medium
                .map(|(medium, random)| Accesses::new(medium, random)),
        };
        if let Some(link_trace) = &self.trace {
            match &link_trace.trace {
                Trace::Rates(trace) => moves.steps = Some(Steps::new(trace, link_trace)),
                Trace::Chances(trace) => moves.chances = Some(Chances::new(trace, link_trace)),
            }
        }
        Some(Box::new(moves))
    }
}

/// The moves of a link. At most one of steps and chances is set, and of chances and accesses.
#[derive(Debug, Clone)]
pub(crate) struct Moves {
    pub(crate) steps: Option<Steps>,
    pub(crate) chances: Option<Chances>,
    pub(crate) accesses: Option<Accesses>,
}

/// A change of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    /// The link's offer from now on.
    pub(crate) offered: Rate,
    /// The rate that the discipline hears, if there is news.
    pub(crate) heard: Option<Rate>,
}

impl Moves {
    /// Whether packets wait for their turn even when the link is free.
    pub(crate) fn takes_turns(&self) -> bool {
        self.chances.is_some() || self.accesses.is_some()
    }

    /// The time at which packets that wait get their turn; `busy` says that a transmission is in progress, `waiting` that there are packets.
    pub(crate) fn turn(&self, busy: bool, waiting: bool) -> Option<Time> {
        if busy || !waiting {
            return None;
        }
        match (&self.chances, &self.accesses) {
            (Some(chances), _) => Some(chances.next()).filter(|at| *at < Time::MAX),
            (None, Some(accesses)) => accesses.granted,
            (None, None) => None,
        }
    }

    /// The time of the next change of the rate.
    pub(crate) fn next_rate(&self) -> Option<Time> {
        match (&self.steps, &self.chances) {
            (Some(steps), _) => Some(steps.next()).filter(|at| *at < Time::MAX),
            (None, Some(chances)) => Some(chances.next_window()),
            (None, None) => None,
        }
    }

    /// Takes the change that is due.
    pub(crate) fn take_rate(&mut self) -> Option<Move> {
        if let Some(steps) = &mut self.steps {
            let rate = steps.take();
            return Some(Move {
                offered: rate,
                heard: Some(rate),
            });
        }
        let window = self.chances.as_mut()?.count();
        Some(Move {
            offered: window.offered,
            heard: window.heard,
        })
    }
}
