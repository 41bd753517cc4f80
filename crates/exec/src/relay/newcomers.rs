//! New connections, of the program and of clients of published ports: begun at once, or as somebody has asked: reset, left without an
//! answer, begun later, or reset after so many bytes.
//!
//! The kernel has accepted each of them before the relay sees it, so its end sees a connection that is reset, not one that is refused.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::result::Result;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quell_hosts::relayed;
use quell_hosts::traffic::TcpInfo;
use quell_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketFlags, acceptfrom_with, getsockname};

use super::cut::{Filter, Treatment, Way};
use super::tally::Counts;
use super::tcp::Pair;
use super::{Refusal, Work, has_room, refuse, targets};

/// The longest wait of the relay.
const LONGEST_WAIT: Time = Time::from_millis(100);

/// What is asked for of new connections, and those that wait therefore.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    /// The last one that fits counts.
    rules: Vec<(Filter, Treatment)>,
    pub(super) held: Vec<Held>,
    /// Places of connections that have reached their limit, and are reset when the other end has everything.
    pub(super) spent: BTreeSet<usize>,
}

/// A connection that is not begun yet.
#[derive(Debug)]
pub(super) struct Held {
    /// What was accepted.
    socket: OwnedFd,
    way: Way,
    /// When it was accepted, and when it is begun; `None` is never.
    at: Time,
    until: Option<Time>,
}

impl Newcomers {
    /// Adds a rule in the place of that for the same connections; to accept all removes every rule.
    pub(super) fn treat(&mut self, filter: Filter, treatment: Treatment) {
        match (treatment, filter == Filter::default()) {
            (Treatment::Accept, true) => self.rules.clear(),
            _ => self.rules.retain(|(known, _)| *known != filter),
        }
        self.rules.push((filter, treatment));
    }

    /// How long nothing has to be done, where something else is to be done at `other`.
    pub(super) fn patience(&self, now: Time, other: Option<Time>) -> Duration {
        let due = self.held.iter().filter_map(|held| held.until).chain(other);
        let wait = due.map(|until| until - now).min();
        Duration::from_nanos(wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT).as_nanos())
    }

    /// Forgets those that the other end has closed.
    pub(super) fn forget_closed(&mut self) {
        let is_open = |held: &Held| {
            let mut ask = [PollFd::new(&held.socket, PollFlags::RDHUP)];
            let asked = poll(&mut ask, Some(&Timespec::default()));
            held.until.is_some() || asked.is_ok_and(|closed| closed == 0)
        };
        self.held.retain(is_open);
    }
}

impl Work {
    /// Accepts what waits at a listener, up to a batch.
    pub(super) fn accept(&mut self, index: usize) {
        for _ in 0..64 {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let client = match acceptfrom_with(&self.streams[index], flags) {
                Ok((client, _)) => client,
                // Nothing waits; or no descriptor is left, and what waits goes on waiting.
                Err(_) => return,
            };
            let begun = self.begin(client);
            self.count(begun);
        }
    }

    /// Counts a connection that was refused.
    pub(super) fn count(&self, begun: Result<(), Refusal>) {
        let counts = &self.tally.counts;
        let refused = match begun {
            Ok(()) => return,
            Err(Refusal::Asked) => &counts.treated[0],
            Err(Refusal::Full) => &counts.refused,
            Err(Refusal::Forbidden) => &counts.forbidden,
            Err(Refusal::Unreachable) => &counts.unreachable,
        };
        Counts::add(refused, 1);
    }

    fn begin(&mut self, client: OwnedFd) -> Result<(), Refusal> {
        let counts = &self.tally.counts;
        Counts::add(&counts.connections, 1);
        if !has_room(self.open + self.newcomers.held.len(), self.most) {
            return Err(refuse(&client, Refusal::Full));
        }
        let to = getsockname(&client).ok();
        let Some(to) = to.and_then(|to| SocketAddr::try_from(to).ok()) else {
            return Err(refuse(&client, Refusal::Forbidden));
        };
        self.treat(client, Way { to, inside: None })
    }

    /// Does with a connection what is asked for.
    pub(super) fn treat(&mut self, socket: OwnedFd, way: Way) -> Result<(), Refusal> {
        let counts = &self.tally.counts;
        let (at, mut rules) = (self.now(), self.newcomers.rules.iter().rev());
        let rule = rules.find(|(filter, _)| filter.fits(way));
        let until = match rule.map_or(Treatment::Accept, |(_, treatment)| *treatment) {
            Treatment::Accept => return self.begin_now(socket, way, at, None),
            Treatment::Limit(bytes) => {
                Counts::add(&counts.treated[3], 1);
                return self.begin_now(socket, way, at, Some(bytes));
            }
            Treatment::Refuse => return Err(refuse(&socket, Refusal::Asked)),
            Treatment::Blackhole => {
                Counts::add(&counts.treated[1], 1);
                None
            }
            Treatment::Delay(time) => {
                Counts::add(&counts.treated[2], 1);
                if way.inside.is_none() {
                    // What the program has sent is waited for at its end.
                    Counts::add(&counts.unfinished, 1);
                }
                Some(at + time)
            }
        };
        let held = &mut self.newcomers.held;
        held.push(Held {
            socket,
            way,
            at,
            until,
        });
        Ok(())
    }

    /// Begins a connection that was accepted `at` that time.
    fn begin_now(
        &mut self,
        socket: OwnedFd,
        way: Way,
        at: Time,
        limit: Option<u64>,
    ) -> Result<(), Refusal> {
        let mut pair = match way.inside {
            Some(inside) => self.serve(socket, way.to, inside, at)?,
            None => self.connect(socket, way.to, at)?,
        };
        pair.left = limit.unwrap_or(u64::MAX);
        self.admit(pair)
    }

    /// Begins those whose time has come, and resets those that have had their limit.
    pub(super) fn begin_held(&mut self, now: Time) {
        let is_due = |held: &mut Held| held.until.is_some_and(|until| until <= now);
        let due: Vec<Held> = self.newcomers.held.extract_if(.., is_due).collect();
        for held in due {
            if held.way.inside.is_none() {
                let unfinished = &self.tally.counts.unfinished;
                unfinished.fetch_sub(1, Ordering::Relaxed);
            }
            let begun = self.begin_now(held.socket, held.way, held.at, None);
            self.count(begun);
        }
        for place in std::mem::take(&mut self.newcomers.spent) {
            let pair = self.pairs.get(place).and_then(Option::as_ref);
            // The place may be another connection's by now.
            let Some(pair) = pair.filter(|pair| pair.is_spent()) else {
                continue;
            };
            match [&pair.client, &pair.server].map(|side| TcpInfo::is_delivered(&side.socket)) {
                [true, true] => self.close(place, "limit"),
                _ => _ = self.newcomers.spent.insert(place),
            }
        }
    }

    /// Connects to where the program wants to go.
    fn connect(&self, client: OwnedFd, to: SocketAddr, at: Time) -> Result<Pair, Refusal> {
        let Some(target) = self.targets.of(to) else {
            return Err(refuse(&client, Refusal::Forbidden));
        };
        let mut other = targets::beside(target);
        let server = relayed::stream_to(target).or_else(|error| match other.take() {
            Some(other) => relayed::stream_to(other),
            None => Err(error),
        });
        let Ok(server) = server else {
            return Err(refuse(&client, Refusal::Unreachable));
        };
        let mut pair = Pair::new(client, server, to, at.as_nanos());
        pair.other = other;
        Ok(pair)
    }
}
