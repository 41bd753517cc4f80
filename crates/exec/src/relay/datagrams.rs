//! Datagrams of either side that begin an exchange.

use std::io;

use quell_units::Time;
use rustix::event::epoll::EventFlags;

use super::Work;
use super::events::{FAR, NEAR, watch};
use super::tally::Counts;
use super::udp::Begun;

impl Work {
    /// Takes what waits at a listener, up to a batch.
    pub(super) fn begin_exchanges(&mut self, index: usize) {
        for _ in 0..64 {
            let now = self.now();
            let begun =
                self.exchanges
                    .accept(&self.datagrams[index], &self.targets, &self.maker, now);
            if !self.has_begun(begun, now) {
                return;
            }
        }
    }

    /// Watches a new exchange; whether there may be more.
    pub(super) fn has_begun(&mut self, begun: io::Result<Option<Begun>>, now: Time) -> bool {
        match begun {
            Ok(None) => return false,
            Ok(Some(Begun::Known)) => {}
            Ok(Some(Begun::Forbidden)) => Counts::add(&self.tally.counts.forbidden, 1),
            Ok(Some(Begun::New(place))) => {
                Counts::add(&self.tally.counts.exchanges, 1);
                if self.watch(place).is_err() {
                    self.exchanges.forget(place);
                }
                self.count_open(now);
            }
            Err(_) => Counts::add(&self.tally.counts.lost_datagrams, 1),
        }
        true
    }

    fn watch(&self, place: usize) -> rustix::io::Result<()> {
        let Some(exchange) = self.exchanges.get(place) else {
            return Ok(());
        };
        for (socket, kind) in [(&exchange.near, NEAR), (&exchange.far, FAR)] {
            watch(&self.epoll, socket, (kind, place), EventFlags::IN)?;
        }
        Ok(())
    }
}
