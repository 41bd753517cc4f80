//! Clients of published ports: each connection is begun again towards the program, each datagram sent on, through the link.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use quell_units::Time;
use rustix::net::{SocketFlags, acceptfrom_with};

use super::cut::Way;
use super::events::{CLIENT, OF_PAIRS, watch};
use super::tally::Counts;
use super::tcp::Pair;
use super::{Refusal, Work, has_room, refuse};

/// How long a client waits for a program that does not listen yet.
const PATIENCE: Time = Time::from_secs(5);
/// Between two knocks at its door.
const PAUSE: Time = Time::from_millis(100);

impl Work {
    /// Takes what waits at a published port, up to a batch.
    pub(super) fn welcome(&mut self, index: usize) {
        for _ in 0..64 {
            let door = &self.doors[index];
            if door.published.is_udp {
                let now = self.now();
                let exchanges = &mut self.exchanges;
                let begun = exchanges.welcome(door, self.targets.subnet, &self.maker, now);
                match self.has_begun(begun, now) {
                    true => continue,
                    false => return,
                }
            }
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let Ok((client, from)) = acceptfrom_with(&door.socket, flags) else {
                return;
            };
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            let begun = self.welcome_one(index, client, from);
            self.count(begun);
        }
    }

    /// Takes a client of a published port.
    fn welcome_one(
        &mut self,
        index: usize,
        socket: OwnedFd,
        from: Option<SocketAddr>,
    ) -> std::result::Result<(), Refusal> {
        Counts::add(&self.tally.counts.connections, 1);
        if !has_room(self.open + self.newcomers.held.len(), self.most) {
            return Err(refuse(&socket, Refusal::Full));
        }
        let (door, subnet) = (&self.doors[index], self.targets.subnet);
        let shown = from.map(|from| door.shown(from, subnet.host()));
        let Some(to) = shown else {
            return Err(refuse(&socket, Refusal::Forbidden));
        };
        let inside = Some(door.inside(to, subnet.inside()));
        self.treat(socket, Way { to, inside })
    }

    /// Begins a connection to the program for a client that was accepted `at` that time.
    pub(super) fn serve(
        &self,
        socket: OwnedFd,
        shown: SocketAddr,
        inside: SocketAddr,
        at: Time,
    ) -> std::result::Result<Pair, Refusal> {
        let Ok(client) = self.maker.stream(shown, inside) else {
            return Err(refuse(&socket, Refusal::Unreachable));
        };
        let mut pair = Pair::new(client, socket, shown, at.as_nanos());
        pair.is_served = true;
        pair.other = Some(inside);
        Ok(pair)
    }

    /// Whether a connection to the program is begun again in a moment: it may not listen yet.
    pub(super) fn knocks_again(&mut self, place: usize) -> bool {
        let now = self.now();
        let pair = self.pairs.get(place).and_then(Option::as_ref);
        let waits = pair
            .is_some_and(|pair| pair.is_served && now < Time::from_nanos(pair.began) + PATIENCE);
        if waits {
            self.later.wait(place, now + PAUSE);
        }
        waits
    }

    /// Begins connections again whose time has come.
    pub(super) fn begin_again(&mut self, now: Time) {
        for place in self.later.take_due(now) {
            let Some(pair) = self.pairs.get_mut(place).and_then(Option::as_mut) else {
                continue;
            };
            let Some(inside) = pair.other.filter(|_| pair.is_served && !pair.is_connected) else {
                continue;
            };
            let client = self.maker.stream(pair.to, inside).ok();
            let watched = client
                .filter(|client| watch(&self.epoll, client, (CLIENT, place), OF_PAIRS).is_ok());
            match watched {
                Some(client) => pair.turn_client_to(client),
                None => self.close(place, "refused"),
            }
        }
    }
}

/// Connections to the program that are to be begun again, by their places, and when. Each is there once: the kernel may say twice that one was
/// refused, and two attempts at a time would have the same addresses, which it does not allow.
#[derive(Debug, Default)]
pub(super) struct Later(BTreeMap<usize, Time>);

impl Later {
    fn wait(&mut self, place: usize, until: Time) {
        self.0.entry(place).or_insert(until);
    }

    /// It is gone; its place may be another connection's.
    pub(super) fn forget(&mut self, place: usize) {
        self.0.remove(&place);
    }

    fn take_due(&mut self, now: Time) -> Vec<usize> {
        let due = self.0.extract_if(.., |_, until| *until <= now);
        due.map(|(place, _)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_twice_is_begun_again_once() {
        let ms = Time::from_millis;
        let mut later = Later::default();
        for (place, until) in [(3, 100), (3, 101), (1, 150)] {
            later.wait(place, ms(until));
        }
        assert!(later.take_due(ms(99)).is_empty());
        assert_eq!(later.take_due(ms(100)), [3]);
        later.wait(3, ms(200));
        later.forget(1);
        assert_eq!(later.take_due(ms(200)), [3]);
    }
}
