//! The states of flows, in a table of fixed size.
//!
//! A flow belongs to one set of eight places, by a salted hash of its key, so that no sender can choose flows that collide. A flow that
//! is not there takes a place that is free or whose flow has been idle for long; if all eight are in use it shares one extra place with all
//! others that found none. So a flood of new flows costs no memory and takes no place from a flow that keeps sending, and is itself
//! measured as what it is, one thing: it gets the low values of its whole rate, and so do honest flows that begin during the flood, until the
//! flood's places have become idle.
//!
//! With half as many active flows as places 2 % of them share the extra place, with a quarter 0.02 %. Keys are compared whole: two flows
//! never share a place by accident.

use alloc::boxed::Box;
use alloc::vec;

use super::Memory;
use crate::random::{Random, split_mix};
use crate::units::Time;

/// Places of a set: their tags are one cache line.
const WAYS: usize = 8;

/// A state, and when its flow sent last.
#[derive(Debug, Clone)]
pub(crate) struct Place<S> {
    last: Option<Time>,
    state: S,
}

impl<S> Place<S> {
    pub(crate) const fn new(state: S) -> Self {
        Self { last: None, state }
    }
    /// Begins anew as `fresh`, in the memory that there is.
    fn renew(&mut self, fresh: &Self)
    where
        S: Clone,
    {
        self.last = fresh.last;
        self.state.clone_from(&fresh.state);
    }
    /// The state, and how long ago the packet before this one came: no time for the first, and after a clock that went back.
    #[inline]
    pub(crate) fn visit(&mut self, now: Time) -> (&mut S, Time) {
        let since = now - self.last.unwrap_or(now);
        self.last = Some(now);
        (&mut self.state, since)
    }
}

/// States `S` of flows.
#[derive(Debug)]
pub(crate) struct FlowTable<S> {
    /// Hashes of flows, which distinguish them as their keys do. A free place has one that belongs to another set.
    tags: Box<[u64]>,
    places: Box<[Place<S>]>,
    /// The shift that makes a hash the number of its set.
    shift: u32,
    salt: u64,
    idle: Time,
    fresh: Place<S>,
    /// The state of all that found no place.
    shared: Place<S>,
    crowded: u64,
    used: usize,
}

impl<S: Clone> FlowTable<S> {
    /// A table with at least `flows` places, a power of two of at least 16. A flow that has not sent for `idle` may lose its place.
    pub(crate) fn new(flows: u64, idle: Time, fresh: S, random: &mut Random) -> Self {
        let fresh = Place::new(fresh);
        let sets = (flows as usize).div_ceil(WAYS).next_power_of_two().max(2);
        let shift = 64 - sets.trailing_zeros();
        let tags = (0..sets * WAYS).map(|place| !(((place / WAYS) as u64) << shift));
        Self {
            tags: tags.collect(),
            places: vec![fresh.clone(); sets * WAYS].into_boxed_slice(),
            shift,
            salt: random.u64(),
            idle,
            shared: fresh.clone(),
            fresh,
            crowded: 0,
            used: 0,
        }
    }

    /// The place of the flow with this key.
    #[inline]
    pub(crate) fn place(&mut self, key: u64, now: Time) -> &mut Place<S> {
        // A bijection: equal hashes are equal keys.
        let tag = split_mix(key ^ self.salt);
        let set = (tag >> self.shift) as usize * WAYS;
        let tags = &self.tags[set..set + WAYS];
        match tags.iter().position(|&other| other == tag) {
            Some(way) => &mut self.places[set + way],
            None => self.admit(tag, set, now),
        }
    }

    /// Gives a new flow a place, or the shared one.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, tag: u64, set: usize, now: Time) -> &mut Place<S> {
        let belongs = |tag: u64| (tag >> self.shift) as usize * WAYS == set;
        let idle = |place: usize| now - self.places[place].last.unwrap_or(now) >= self.idle;
        // Free places first, so that no flow is forgotten without need.
        let places = || set..set + WAYS;
        let free = places().find(|&place| !belongs(self.tags[place]));
        let Some(place) = free.or_else(|| places().find(|&place| idle(place))) else {
            self.crowded += 1;
            return &mut self.shared;
        };
        self.used += usize::from(free.is_some());
        self.tags[place] = tag;
        self.places[place].renew(&self.fresh);
        &mut self.places[place]
    }

    /// The memory in use, if a place takes `place` bytes.
    pub(crate) fn memory(&self, place: usize) -> Memory {
        Memory {
            places: self.places.len(),
            bytes: self.places.len() * place,
            taken: self.used,
            crowded: self.crowded,
        }
    }
}
