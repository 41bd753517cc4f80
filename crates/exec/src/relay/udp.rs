//! Datagrams of the program: for each pair of addresses a socket that answers in the other host's name, and one of the host.
//!
//! The TOS byte is copied both ways. So a CE mark of the link reaches the remote host, and its answer's ECN field the program: L4S for QUIC,
//! end to end. An exchange that is silent is forgotten, and so is the one that was silent longest when there are too many.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use quell_hosts::relayed::{self, Datagram};
use quell_units::Time;

use super::maker::Maker;
use super::targets::Targets;
use crate::network::{NAME_SERVICE, alike};
use crate::publish::Door;
use crate::subnet::Subnet;

/// An exchange that is silent for so long is forgotten; one with a name server sooner.
const IDLE: Time = Time::from_secs(60);
const IDLE_NAMES: Time = Time::from_secs(10);
/// The most exchanges.
pub(super) const MOST: usize = 4_096;
/// Datagrams of one socket before others have their turn.
const TURN: usize = 64;
/// The largest datagram.
const LARGEST: usize = 65_535;

/// The program's address, and the one that it talks with.
type Key = (SocketAddr, SocketAddr);

/// One exchange.
#[derive(Debug)]
pub(super) struct Exchange {
    key: Key,
    /// Towards the program.
    pub(super) near: OwnedFd,
    /// Towards the other host.
    pub(super) far: OwnedFd,
    target: SocketAddr,
    last: Time,
}

/// All exchanges. Places are numbered, and used again.
#[derive(Debug)]
pub(super) struct Exchanges {
    places: Vec<Option<Exchange>>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    buffer: Vec<u8>,
    most: usize,
}

/// What became of a datagram of a new pair of addresses.
pub(super) enum Begun {
    /// An exchange at this place, whose sockets are to be watched.
    New(usize),
    /// One that was there.
    Known,
    /// It goes nowhere.
    Forbidden,
}

impl Exchanges {
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            buffer: vec![0; LARGEST],
            most: most.clamp(1, MOST),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn get(&self, place: usize) -> Option<&Exchange> {
        self.places.get(place)?.as_ref()
    }

    /// Takes one datagram that arrived at a listener. `Ok(None)` where none waits.
    pub(super) fn accept(
        &mut self,
        listener: &OwnedFd,
        targets: &Targets,
        maker: &Maker,
        now: Time,
    ) -> io::Result<Option<Begun>> {
        let Some(datagram) = self.arrived(listener)? else {
            return Ok(None);
        };
        let (Some(from), Some(to)) = (datagram.from, datagram.to) else {
            return Ok(Some(Begun::Forbidden));
        };
        let Some(target) = targets.of(to) else {
            return Ok(Some(Begun::Forbidden));
        };
        let sockets = || Ok((maker.between(to, from)?, relayed::datagrams_to(target)?));
        let (place, begun) = self.of((from, to), target, now, sockets)?;
        if let Some(exchange) = &self.places[place] {
            let payload = &self.buffer[..datagram.length];
            // An exchange remains where one of its datagrams is lost.
            let _ = relayed::send(&exchange.far, target.is_ipv4(), payload, datagram.tos);
        }
        Ok(Some(begun))
    }

    /// Takes one datagram of a client that arrived at a published port. `Ok(None)` where none waits.
    pub(super) fn welcome(
        &mut self,
        door: &Door,
        subnet: Subnet,
        maker: &Maker,
        now: Time,
    ) -> io::Result<Option<Begun>> {
        let Some(datagram) = self.arrived(&door.socket)? else {
            return Ok(None);
        };
        let Some(client) = datagram.from else {
            return Ok(Some(Begun::Forbidden));
        };
        let shown = door.shown(client, subnet.host());
        let inside = door.inside(shown, subnet.inside());
        let sockets = || {
            let far = relayed::datagrams_at_for(door.published.at, client)?;
            Ok((maker.between(shown, inside)?, far))
        };
        let (place, begun) = self.of((inside, shown), client, now, sockets)?;
        if let Some(exchange) = &self.places[place] {
            let payload = &self.buffer[..datagram.length];
            let _ = relayed::send(&exchange.near, inside.is_ipv4(), payload, datagram.tos);
        }
        Ok(Some(begun))
    }

    /// What waits at a listener, whose payload is in the buffer then.
    fn arrived(&mut self, listener: &OwnedFd) -> io::Result<Option<Datagram>> {
        match relayed::receive(listener, &mut self.buffer) {
            Ok(datagram) => Ok(Some(datagram)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The exchange between two addresses, with new `sockets` towards the program and away from it where there is none.
    fn of(
        &mut self,
        key: Key,
        target: SocketAddr,
        now: Time,
        sockets: impl FnOnce() -> io::Result<(OwnedFd, OwnedFd)>,
    ) -> io::Result<(usize, Begun)> {
        if let Some(&place) = self.by_key.get(&key) {
            if let Some(exchange) = &mut self.places[place] {
                exchange.last = now;
            }
            return Ok((place, Begun::Known));
        }
        self.make_room();
        let (near, far) = sockets()?;
        let place = self.put(Exchange {
            key,
            near,
            far,
            target,
            last: now,
        });
        Ok((place, Begun::New(place)))
    }

    /// Passes on what waits at one socket of an exchange. Returns how many were lost, or an error if the exchange is over.
    pub(super) fn pass(&mut self, place: usize, to_program: bool, now: Time) -> io::Result<u64> {
        let Some(exchange) = self.places.get_mut(place).and_then(Option::as_mut) else {
            return Ok(0);
        };
        exchange.last = now;
        let is_ipv4 = match to_program {
            true => exchange.key.0.is_ipv4(),
            false => exchange.target.is_ipv4(),
        };
        let (from, to) = match to_program {
            true => (&exchange.far, &exchange.near),
            false => (&exchange.near, &exchange.far),
        };
        let mut lost = 0;
        for _ in 0..TURN {
            match relayed::receive(from, &mut self.buffer) {
                Ok(datagram) => {
                    let payload = &self.buffer[..datagram.length];
                    let sent = relayed::send(to, is_ipv4, payload, datagram.tos);
                    lost += u64::from(sent.is_err());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP error of an earlier datagram; the exchange may go on.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
                Err(error) => return Err(error),
            }
        }
        Ok(lost)
    }

    /// Ends an exchange.
    pub(super) fn forget(&mut self, place: usize) {
        if let Some(exchange) = self.places.get_mut(place).and_then(Option::take) {
            self.by_key.remove(&exchange.key);
            self.free.push(place);
        }
    }

    /// Ends the exchanges that are silent.
    pub(super) fn forget_silent(&mut self, now: Time) {
        let is_over = |exchange: &Exchange| {
            let patience = match exchange.key.1.port() {
                NAME_SERVICE => IDLE_NAMES,
                _ => IDLE,
            };
            exchange.last + patience <= now
        };
        let places = self.places.iter().enumerate();
        let over = places.filter(|(_, exchange)| exchange.as_ref().is_some_and(is_over));
        let over: Vec<usize> = over.map(|(place, _)| place).collect();
        over.into_iter().for_each(|place| self.forget(place));
    }

    /// For one more.
    fn make_room(&mut self) {
        if self.by_key.len() >= self.most {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let oldest = self
            .by_key
            .values()
            .copied()
            .min_by_key(|&place| self.places[place].as_ref().map(|exchange| exchange.last));
        if let Some(place) = oldest {
            self.forget(place);
        }
    }

    fn put(&mut self, exchange: Exchange) -> usize {
        debug_assert!(alike(exchange.key.0.ip(), exchange.key.1.ip()));
        let key = exchange.key;
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place] = Some(exchange);
                place
            }
            None => {
                self.places.push(Some(exchange));
                self.places.len() - 1
            }
        };
        self.by_key.insert(key, place);
        place
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    /// With a host at this port, last heard of at `last`.
    fn exchange(client: u16, port: u16, last: Time) -> Exchange {
        let socket = || UdpSocket::bind("127.0.0.1:0").unwrap().into();
        let target = SocketAddr::from(([198, 51, 100, 7], port));
        Exchange {
            key: (SocketAddr::from(([10, 77, 0, 2], client)), target),
            near: socket(),
            far: socket(),
            target,
            last,
        }
    }

    fn clients(exchanges: &Exchanges) -> Vec<u16> {
        let keys = exchanges.by_key.keys();
        keys.map(|(client, _)| client.port()).collect()
    }

    #[test]
    fn silence_ends_an_exchange_after_a_minute_and_one_with_a_name_server_after_ten_seconds() {
        let ms = Time::from_millis;
        let mut exchanges = Exchanges::new(MOST);
        exchanges.put(exchange(1, NAME_SERVICE, ms(500)));
        exchanges.put(exchange(2, 443, ms(500)));
        for (now, left) in [
            (ms(10_499), &[1, 2][..]),
            (ms(10_500), &[2]),
            (ms(60_499), &[2]),
            (ms(60_500), &[]),
        ] {
            exchanges.forget_silent(now);
            assert_eq!(clients(&exchanges), left, "{now}");
        }
    }

    #[test]
    fn the_one_that_was_silent_longest_makes_room_and_only_where_there_is_none() {
        let mut exchanges = Exchanges::new(2);
        for (client, last, left) in [(1, 30, &[1][..]), (2, 10, &[1, 2]), (3, 20, &[1, 3])] {
            exchanges.make_room();
            exchanges.put(exchange(client, 443, Time::from_millis(last)));
            assert_eq!(clients(&exchanges), left);
        }
    }
}
