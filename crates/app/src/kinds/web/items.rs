//! The user's end of single items.
//!
//! Arrivals are planned in absolute times and wait for nothing, so a host that is late is polled until
//! it has caught up. An item's time runs from the request for its connection, on a kept one from its
//! arrival.

use std::collections::VecDeque;

use quell_units::{Random, Time};

use super::report::{Fetched, ItemsReport};
use super::{Connection, PARTS, Web};
use crate::exchange::{Incoming, LAST_REQUEST, REQUEST, RESPONSE};
use crate::exponential::minus_ln;
use crate::random_sizes::NumberedSizes;
use crate::timed_value::TimedValue;
use crate::{Action, Carrier, ConnectionId, Data, Event, Input, Message, Outcome};

/// The connection that carries all items, where one does.
const KEPT: ConnectionId = ConnectionId(0);

/// The user's end.
#[derive(Debug, Clone)]
pub struct Client {
    web: Web,
    is_framed: bool,
    arrivals: Arrivals,
    sizes: NumberedSizes,
    /// Items that have arrived, with those refused.
    items: u64,
    /// Items that were not refused.
    accepted: u64,
    /// Connections by their numbers.
    places: Vec<Place>,
    free: Vec<u32>,
    /// Items behind the one that the kept connection carries.
    waiting: VecDeque<Item>,
    report: ItemsReport,
    /// The end of the stretch that is to be reported.
    now: Time,
}

/// Arrivals of items.
#[derive(Debug, Clone)]
struct Arrivals {
    /// Items per second, as in [`Web::rate`].
    rate: TimedValue<u64>,
    random: Random,
    next: Time,
}

impl Arrivals {
    /// After an arrival at `from`, or the start, plans the next one. What is left of a gap when the rate
    /// changes is stretched with it: a change to the same rate changes nothing.
    fn plan(&mut self, from: Time) {
        // In units of 2^-32 of the mean.
        let gap = minus_ln(self.random.u64()).into();
        let span = |rate, left: u128| {
            let span = mean_of(rate).map(|mean| (u128::from(mean.as_nanos()) * left) >> 32);
            let span = span.and_then(|span| u64::try_from(span).ok());
            Time::from_nanos(span.unwrap_or(u64::MAX))
        };
        let parts = |rate, time: Time| {
            let mean = mean_of(rate).map(|mean| u128::from(mean.as_nanos().max(1)));
            mean.map_or(0, |mean| (u128::from(time.as_nanos()) << 32) / mean)
        };
        self.next = self.rate.pass(from, gap, span, parts);
    }

    /// Asks to be polled at the next arrival, if there is one.
    fn wait(&self, actions: &mut Vec<Action>) {
        if self.next < Time::MAX {
            actions.push(Action::WakeAt(self.next));
        }
    }
}

/// The mean time between two items at a rate; `None` where none come.
fn mean_of(rate: u64) -> Option<Time> {
    let mean = (1_000_000_000 * u128::from(PARTS)).checked_div(rate.into())?;
    Some(Time::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
}

/// An item that the user wants.
#[derive(Debug, Clone, Copy)]
struct Item {
    number: u64,
    size: u64,
    asked: Time,
}

/// The use of a connection.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The item that it carries.
    item: Option<Fetch>,
    is_open: bool,
    /// Time at which it was up.
    established: Option<Time>,
    /// Whether requests may be sent.
    is_ready: bool,
    /// Whether it has carried an item, where it is kept.
    is_used: bool,
    incoming: Incoming,
}

/// An item in flight.
#[derive(Debug, Clone, Copy)]
struct Fetch {
    item: Item,
    carrier: Carrier,
    note: Option<u32>,
    /// Time at which its request left, or the server could send it.
    sent: Option<Time>,
    first: Option<Time>,
    last: Option<Time>,
    arrived: u64,
}

impl Place {
    const FREE: Self = Self {
        item: None,
        is_open: false,
        established: None,
        is_ready: false,
        is_used: false,
        incoming: Incoming::NONE,
    };
}

impl Fetch {
    const fn new(item: Item) -> Self {
        Self {
            item,
            carrier: Carrier::Nothing,
            note: None,
            sent: None,
            first: None,
            last: None,
            arrived: 0,
        }
    }
}

impl Client {
    pub(super) fn new(web: &Web, random: Random, sizes: NumberedSizes) -> Self {
        Self {
            web: *web,
            is_framed: web.is_framed(),
            arrivals: Arrivals {
                rate: TimedValue::new(web.rate),
                random,
                next: Time::MAX,
            },
            sizes,
            items: 0,
            accepted: 0,
            places: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            report: ItemsReport::default(),
            now: Time::ZERO,
        }
    }

    pub(super) fn change(&mut self, at: Time, to: &Web) {
        self.arrivals.rate.change(at, to.rate);
    }

    pub(super) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => {
                self.arrivals.plan(now);
                self.arrivals.wait(actions);
            }
            Input::Wake => self.wake(now, actions),
            Input::Opened {
                connection, asked, ..
            } => self.opened(now, connection, asked, actions),
            Input::Bytes { connection, count } if self.is_framed => {
                let Some(place) = self.place(connection) else {
                    return;
                };
                let whole = place.incoming.body(count);
                self.answered(now, connection, whole, actions);
            }
            Input::Bytes { connection, count } => self.received(now, connection, count),
            Input::Message {
                connection,
                message,
            } => {
                if message.kind == RESPONSE {
                    self.began(now, connection);
                }
                let Some(place) = self.place(connection) else {
                    return;
                };
                let whole = place.incoming.header(message);
                self.answered(now, connection, whole, actions);
            }
            Input::Ended { connection } => {
                self.end_of_file(now, connection, actions);
                actions.push(Action::Finish(connection));
            }
            Input::Closed { connection } => {
                self.end_of_file(now, connection, actions);
                self.release(connection);
            }
            Input::Failed { connection } => {
                self.give_up(connection, Outcome::Failed, actions);
                self.release(connection);
            }
            Input::Sent { .. } | Input::Datagram { .. } => {}
        }
    }

    fn place(&mut self, connection: ConnectionId) -> Option<&mut Place> {
        let place = self.places.get_mut(connection.0 as usize)?;
        place.is_open.then_some(place)
    }

    /// One item at a time.
    fn wake(&mut self, now: Time, actions: &mut Vec<Action>) {
        let is_due = self.arrivals.next <= now;
        if is_due {
            self.arrivals.plan(self.arrivals.next);
        }
        self.arrivals.wait(actions);
        if is_due {
            self.arrive(now, actions);
        }
    }

    fn arrive(&mut self, now: Time, actions: &mut Vec<Action>) {
        let number = self.items;
        self.items += 1;
        if !self.has_room() {
            self.report.refused += 1;
            actions.push(Action::Record(Event {
                kind: "item",
                number,
                started: now,
                first: None,
                last: None,
                ended: None,
                size: 0,
                outcome: Outcome::Refused,
                value: 0,
                wait: None,
                carrier: Carrier::Nothing,
                note: None,
            }));
            return;
        }
        let item = Item {
            number,
            size: self.sizes.of(self.accepted),
            asked: now,
        };
        self.accepted += 1;
        self.report.started += 1;
        match self.web.connection {
            Connection::New => {
                self.open(Some(Fetch::new(item)), actions);
            }
            Connection::Kept => {
                self.waiting.push_back(item);
                match self.places.first() {
                    Some(place) if place.is_open => self.next_on_kept(now, actions),
                    _ => self.open(None, actions),
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        let most = self.web.max_concurrent as usize;
        match self.web.connection {
            Connection::New => !self.free.is_empty() || self.places.len() < most,
            Connection::Kept => {
                let carried = self.places.iter().filter(|place| place.item.is_some());
                self.waiting.len() + carried.count() < most
            }
        }
    }

    fn open(&mut self, item: Option<Fetch>, actions: &mut Vec<Action>) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::FREE);
            self.places.len() as u32 - 1
        });
        let carrier = Carrier::Connection(ConnectionId(number));
        self.places[number as usize] = Place {
            item: item.map(|fetch| Fetch { carrier, ..fetch }),
            is_open: true,
            ..Place::FREE
        };
        actions.push(Action::Open(ConnectionId(number)));
    }

    fn opened(
        &mut self,
        now: Time,
        connection: ConnectionId,
        asked: Time,
        actions: &mut Vec<Action>,
    ) {
        let (tls, is_framed, way) = (self.web.tls, self.is_framed, self.web.connection);
        let Some(place) = self.place(connection) else {
            return;
        };
        place.established = Some(now);
        // A real host may have taken a while.
        if let (Connection::New, Some(fetch)) = (way, &mut place.item) {
            fetch.item.asked = asked;
        }
        if is_framed {
            place.is_ready = tls.begin(connection, actions);
            if place.is_ready {
                self.request(now, connection, actions);
            }
        } else if let Some(fetch) = &mut place.item {
            fetch.sent = Some(now);
        }
    }

    /// The connection may carry requests, or has room for one.
    fn request(&mut self, now: Time, connection: ConnectionId, actions: &mut Vec<Action>) {
        let length = self.web.request.get();
        match self.web.connection {
            Connection::New => {
                let fetch = self.place(connection).and_then(|place| place.item.as_mut());
                let Some(fetch) = fetch else {
                    return;
                };
                fetch.sent = Some(now);
                let request = Message::new(length, LAST_REQUEST, 0, fetch.item.size);
                actions.push(Action::Send(connection, Data::Message(request)));
            }
            Connection::Kept => self.next_on_kept(now, actions),
        }
    }

    fn next_on_kept(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(place) = self.places.first_mut() else {
            return;
        };
        if !place.is_open || !place.is_ready || place.item.is_some() {
            return;
        }
        let Some(item) = self.waiting.pop_front() else {
            return;
        };
        let carrier = Carrier::Connection(KEPT);
        // The first one has waited for the handshake.
        let note = std::mem::replace(&mut place.is_used, true).then_some(0);
        place.item = Some(Fetch {
            carrier,
            note,
            sent: Some(now),
            ..Fetch::new(item)
        });
        if let Some(note) = note {
            actions.push(Action::Note { note, carrier });
        }
        let number = item.number as u32;
        let request = Message::new(self.web.request.get(), REQUEST, number, item.size);
        actions.push(Action::Send(KEPT, Data::Message(request)));
    }

    fn answered(
        &mut self,
        now: Time,
        connection: ConnectionId,
        whole: Option<Message>,
        actions: &mut Vec<Action>,
    ) {
        let Some(message) = whole else { return };
        if self.web.tls.proceed(connection, message, actions) {
            if let Some(place) = self.place(connection) {
                place.is_ready = true;
            }
            self.request(now, connection, actions);
        }
        if message.kind != RESPONSE {
            return;
        }
        if let Some(fetch) = self.place(connection).and_then(|place| place.item.as_mut()) {
            fetch.arrived = fetch.item.size;
            fetch.last = Some(now);
        }
        if self.web.connection == Connection::Kept {
            self.complete(now, connection, actions);
            self.next_on_kept(now, actions);
        }
    }

    /// The first byte of an item, or a further one.
    fn began(&mut self, now: Time, connection: ConnectionId) {
        let fetch = self.place(connection).and_then(|place| place.item.as_mut());
        let Some(fetch) = fetch.filter(|fetch| fetch.first.is_none()) else {
            return;
        };
        fetch.first = Some(now);
        // Only what a kept connection carried before has a note: it is up, and others may have been in front.
        let from = match fetch.note {
            Some(_) => fetch.sent.unwrap_or(fetch.item.asked),
            None => fetch.item.asked,
        };
        self.report.flow_startup.record(now - from);
    }

    /// Payload of a connection without messages.
    fn received(&mut self, now: Time, connection: ConnectionId, count: u64) {
        self.began(now, connection);
        let fetch = self.place(connection).and_then(|place| place.item.as_mut());
        if let Some(fetch) = fetch {
            fetch.arrived += count;
            if fetch.arrived >= fetch.item.size {
                fetch.last.get_or_insert(now);
            }
        }
    }

    /// The server sends nothing more.
    fn end_of_file(&mut self, now: Time, connection: ConnectionId, actions: &mut Vec<Action>) {
        let item = self.place(connection).and_then(|place| place.item);
        match item.map(|fetch| fetch.last) {
            Some(Some(_)) => self.complete(now, connection, actions),
            Some(None) => self.give_up(connection, Outcome::Unfinished, actions),
            None => {}
        }
    }

    fn complete(&mut self, now: Time, connection: ConnectionId, actions: &mut Vec<Action>) {
        let Some(place) = self.place(connection) else {
            return;
        };
        let (taken, established) = (place.item.take(), place.established);
        let Some((fetch, last)) = taken.and_then(|fetch| Some((fetch, fetch.last?))) else {
            return;
        };
        let item = fetch.item;
        self.report.complete(
            &Fetched {
                size: item.size,
                asked: item.asked,
                established: established.unwrap_or(item.asked).max(item.asked),
                last,
                ended: now,
            },
            self.web.ideal.as_ref(),
        );
        let mut event = record(&fetch, established, Outcome::Complete);
        event.ended = Some(now);
        actions.push(Action::Record(event));
    }

    /// The item that the connection carries will not be complete.
    fn give_up(&mut self, connection: ConnectionId, outcome: Outcome, actions: &mut Vec<Action>) {
        let Some(place) = self.place(connection) else {
            return;
        };
        let established = place.established;
        if let Some(fetch) = place.item.take() {
            match outcome {
                Outcome::Failed => self.report.failed += 1,
                _ => self.report.cut_short += 1,
            }
            actions.push(Action::Record(record(&fetch, established, outcome)));
        }
    }

    fn release(&mut self, connection: ConnectionId) {
        if let Some(place) = self.place(connection) {
            *place = Place::FREE;
            self.free.push(connection.0);
        }
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn unfinished(&self, records: &mut Vec<Event>) {
        let carried = self.places.iter();
        let carried = carried.filter_map(|place| Some((place.item?, place.established)));
        let waiting = self.waiting.iter().map(|item| (Fetch::new(*item), None));
        let mut all: Vec<_> = carried.chain(waiting).collect();
        all.sort_by_key(|(fetch, _)| fetch.item.number);
        let all = all.iter();
        records.extend(all.map(|(fetch, up)| record(fetch, *up, Outcome::Unfinished)));
    }

    pub(super) fn start_counting(&mut self) {
        self.report = ItemsReport::default();
    }

    pub(super) fn report(&self) -> ItemsReport {
        let carried = self.places.iter().filter_map(|place| place.item);
        let carried = carried.map(|fetch| fetch.item.asked);
        let waiting = self.waiting.iter().map(|item| item.asked);
        let mut report = self.report.clone();
        let mut oldest = Time::MAX;
        for asked in carried.chain(waiting) {
            report.in_flight += 1;
            oldest = oldest.min(asked);
        }
        report.oldest = (report.in_flight > 0).then(|| self.now.max(oldest) - oldest);
        report
    }
}

/// The event of an item that is over. Its value is how long its connection took to be up, in ns.
fn record(fetch: &Fetch, established: Option<Time>, outcome: Outcome) -> Event {
    let item = &fetch.item;
    let handshake = established.map_or(0, |up| {
        up.max(item.asked).as_nanos() - item.asked.as_nanos()
    });
    Event {
        kind: "item",
        number: item.number,
        started: item.asked,
        first: fetch.first,
        last: fetch.last,
        ended: None,
        size: item.size,
        outcome,
        value: handshake,
        wait: fetch.sent.map(|sent| sent.max(item.asked) - item.asked),
        carrier: fetch.carrier,
        note: fetch.note,
    }
}
