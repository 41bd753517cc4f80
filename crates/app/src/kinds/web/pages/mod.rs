//! The user's end of pages: a browser, and somebody who reads.
//!
//! A page begins with its document, on a connection that is kept from the page before or on a new one.
//! When the document is there and parsed, the objects that it reveals are asked for; some of them
//! reveal others. Over HTTP/1.1 a connection carries one object at a time, and the browser opens another
//! one for each object that waits, up to its limit. Over HTTP/2 one connection carries all of them at
//! once. When the last object is there the user reads, and loads the next page.
//!
//! A page whose connection fails is given up. What a page holds, how long it is parsed and read, and how
//! long the server takes for an object, is drawn by numbers: nothing that the network does shifts it.

use std::collections::VecDeque;

use quell_units::{Period, Random, Time};

use super::recipe::{PageModel, PlannedObject};
use super::report::{LoadedPage, PagesReport};
use super::{Protocol, Web};
use crate::exchange::{Delays, Incoming, REQUEST, RESPONSE};
use crate::exponential::draw;
use crate::timed_value::TimedValue;
use crate::{Action, Carrier, ConnectionId, Data, Event, Input, Message, Outcome};

/// Streams of an HTTP/2 connection that are open at once (RFC 9113 recommends at least 100).
const MOST_STREAMS: usize = 100;

/// Repairs of the flow's connections before the page began.
const OF_PAGE: u32 = 0;
/// Repairs of an object's connection before its request left.
const fn of_object(index: usize) -> u32 {
    1 + index as u32
}

/// A browser and its user.
#[derive(Debug, Clone)]
pub struct Browser {
    web: Web,
    model: PageModel,
    /// Seed of the pages' contents.
    contents: u64,
    parsing: Random,
    /// Time for reading, from the end of a page on.
    period: TimedValue<Period>,
    reading: Random,
    delays: Delays,
    /// Pages that have begun.
    pages: u64,
    /// Number of the first object of the present page.
    first_object: u64,
    page: Option<Page>,
    /// Memory of the plan of a page.
    plan: Vec<PlannedObject>,
    connections: Vec<Connection>,
    /// Time at which the objects that the document reveals are known.
    parsed_at: Option<Time>,
    /// Beginning of the next page.
    read_at: Option<Time>,
    /// Time at which connections without use are closed.
    close_at: Option<Time>,
    /// The wish that the host knows of.
    wish: Option<Time>,
    report: PagesReport,
    now: Time,
}

/// A page that is loading.
#[derive(Debug, Clone)]
struct Page {
    number: u64,
    started: Time,
    objects: Vec<Object>,
    /// Objects that are known and not asked for.
    waiting: VecDeque<usize>,
    /// Objects that were asked for and are not complete.
    open: usize,
    complete: usize,
    /// Bytes of all objects, and those that have arrived, with the headers of responses.
    total: u64,
    arrived: u64,
    first_byte: Option<Time>,
    document: Option<Time>,
    half: Option<Time>,
    parse: Time,
    /// Connections that it opened, and whether its document did.
    opened: u64,
    is_cold: bool,
}

#[derive(Debug, Clone, Copy)]
struct Object {
    planned: PlannedObject,
    /// Whether it reveals others.
    reveals: bool,
    /// Bytes of the response.
    length: u64,
    arrived: u64,
    /// Time at which the browser knew of it, and at which its request left, and its connection.
    known: Time,
    asked: Time,
    /// Time of the request for its connection, for the first object on it; else time at which its request left.
    starting: Time,
    carrier: Carrier,
    first: Option<Time>,
    last: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Free,
    /// Not ready for requests.
    Opening,
    Ready,
    /// This end has finished.
    Closing,
}

#[derive(Debug, Clone, Copy)]
struct Connection {
    state: ConnectionState,
    incoming: Incoming,
    /// Whether a request over HTTP/1.1 is not answered.
    is_busy: bool,
    /// Time of the request for it, until it carries an object.
    asked: Option<Time>,
}

impl Connection {
    const FREE: Self = Self {
        state: ConnectionState::Free,
        incoming: Incoming::NONE,
        is_busy: false,
        asked: None,
    };
}

impl Browser {
    pub(super) fn new(web: &Web, random: &mut Random, delays: Delays) -> Self {
        Self {
            web: *web,
            model: PageModel::new(web.recipe, web.objects, web.object_size),
            contents: random.u64(),
            parsing: Random::new(random.u64(), "parse"),
            period: TimedValue::new(web.reading),
            reading: Random::new(random.u64(), "reading"),
            delays,
            pages: 0,
            first_object: 0,
            page: None,
            plan: Vec::new(),
            connections: Vec::new(),
            parsed_at: None,
            read_at: None,
            close_at: None,
            wish: None,
            report: PagesReport::default(),
            now: Time::ZERO,
        }
    }

    pub(super) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => self.read_at = Some(now),
            Input::Wake => self.wish = None,
            Input::Opened {
                connection, asked, ..
            } => {
                let tls = self.web.tls;
                let Some(known) = self.known(connection) else {
                    return;
                };
                known.asked = Some(asked);
                if tls.begin(connection, actions) {
                    known.state = ConnectionState::Ready;
                }
            }
            Input::Message {
                connection,
                message,
            } => {
                let Some(known) = self.known(connection) else {
                    return;
                };
                let whole = known.incoming.header(message);
                self.progress(now, message, Message::HEADER);
                self.received(now, connection, whole, actions);
            }
            Input::Bytes { connection, count } => {
                let Some(known) = self.known(connection) else {
                    return;
                };
                let part = known.incoming.part();
                let whole = known.incoming.body(count);
                if let Some(message) = part {
                    self.progress(now, message, count);
                }
                self.received(now, connection, whole, actions);
            }
            Input::Ended { connection } => {
                let Some(known) = self.known(connection) else {
                    return;
                };
                // A server that closes first has been stopped.
                if known.state != ConnectionState::Closing {
                    known.state = ConnectionState::Closing;
                    actions.push(Action::Finish(connection));
                    self.give_up(now, Outcome::Unfinished, actions);
                }
            }
            Input::Closed { connection } => self.free(connection),
            Input::Failed { connection } => {
                self.free(connection);
                self.give_up(now, Outcome::Failed, actions);
            }
            Input::Sent { .. } | Input::Datagram { .. } => {}
        }
        self.go_on(now, actions);
    }

    fn known(&mut self, connection: ConnectionId) -> Option<&mut Connection> {
        let known = self.connections.get_mut(connection.0 as usize)?;
        (known.state != ConnectionState::Free).then_some(known)
    }

    fn free(&mut self, connection: ConnectionId) {
        if let Some(known) = self.known(connection) {
            *known = Connection::FREE;
        }
    }

    /// Does what is due, and asks to be polled for what is not.
    fn go_on(&mut self, now: Time, actions: &mut Vec<Action>) {
        let is_due = |at: &mut Option<Time>| at.take_if(|at| *at <= now).is_some();
        if is_due(&mut self.close_at) {
            self.close_idle(actions);
        }
        if is_due(&mut self.read_at) {
            self.begin(now, actions);
        }
        if is_due(&mut self.parsed_at)
            && let Some(page) = &mut self.page
        {
            page.reveal(0, now);
        }
        self.ask(now, actions);
        let times = [self.close_at, self.read_at, self.parsed_at];
        let next = times.into_iter().flatten().min();
        if let Some(at) = next
            && self.wish != next
        {
            self.wish = next;
            actions.push(Action::WakeAt(at));
        }
    }

    fn begin(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.web.pages.is_some_and(|most| self.pages >= most.into()) {
            return;
        }
        self.close_at = None;
        actions.push(Action::Note {
            note: OF_PAGE,
            carrier: Carrier::Flow,
        });
        self.plan.clear();
        let mut contents = Random::new(self.contents.wrapping_add(self.pages), "page");
        self.model.plan(&mut contents, &mut self.plan);
        let header = self.web.response_header.get();
        let object = |planned: &PlannedObject| Object {
            planned: *planned,
            reveals: false,
            length: (planned.size + header).max(Message::HEADER),
            arrived: 0,
            known: now,
            asked: now,
            starting: now,
            carrier: Carrier::Nothing,
            first: None,
            last: None,
        };
        let mut objects: Vec<Object> = self.plan.iter().map(object).collect();
        for parent in self.plan.iter().filter_map(|planned| planned.parent) {
            objects[parent].reveals = true;
        }
        self.report.started += 1;
        self.page = Some(Page {
            number: self.pages,
            started: now,
            waiting: VecDeque::from([0]),
            open: 0,
            complete: 0,
            total: objects.iter().map(|object| object.length).sum(),
            arrived: 0,
            first_byte: None,
            document: None,
            half: None,
            parse: draw(self.web.parse, &mut self.parsing),
            opened: 0,
            is_cold: false,
            objects,
        });
        self.pages += 1;
    }

    /// Asks for what waits, as far as connections allow.
    fn ask(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Some(page) = &mut self.page else { return };
        if page.waiting.is_empty() {
            return;
        }
        let protocol = self.web.protocol;
        for (number, connection) in self.connections.iter_mut().enumerate() {
            if connection.state != ConnectionState::Ready {
                continue;
            }
            let number = ConnectionId(number as u32);
            let has_room = |connection: &Connection, page: &Page| match protocol {
                Protocol::Http1 => !connection.is_busy,
                Protocol::Http2 => page.open < MOST_STREAMS,
            };
            while has_room(connection, page)
                && let Some(index) = page.waiting.pop_front()
            {
                let object = &mut page.objects[index];
                object.asked = now;
                object.starting = connection.asked.take().unwrap_or(now);
                object.carrier = Carrier::Connection(number);
                actions.push(Action::Note {
                    note: of_object(index),
                    carrier: object.carrier,
                });
                page.open += 1;
                connection.is_busy = true;
                let stream = (self.first_object + index as u64) as u32;
                let length = self.web.request.get();
                let request = Message::new(length, REQUEST, stream, object.length);
                actions.push(Action::Send(number, Data::Message(request)));
            }
        }
        let in_state = |state| self.connections.iter().filter(|c| c.state == state).count();
        let mut opening = in_state(ConnectionState::Opening);
        let mut open = opening + in_state(ConnectionState::Ready);
        let most = self.web.most_connections();
        let wanted = |opening: usize| match protocol {
            Protocol::Http1 => page.waiting.len() > opening,
            Protocol::Http2 => opening == 0 && !page.waiting.is_empty(),
        };
        while open < most && wanted(opening) {
            let is_free = |c: &Connection| c.state == ConnectionState::Free;
            let free = self.connections.iter().position(is_free);
            let number = match free {
                Some(number) => number,
                None if self.connections.len() < 2 * most => {
                    self.connections.push(Connection::FREE);
                    self.connections.len() - 1
                }
                // Those of the page before are not closed yet.
                None => break,
            };
            self.connections[number].state = ConnectionState::Opening;
            actions.push(Action::Open(ConnectionId(number as u32)));
            page.opened += 1;
            page.is_cold |= page.document.is_none();
            opening += 1;
            open += 1;
        }
    }

    /// Further bytes of a response.
    fn progress(&mut self, now: Time, message: Message, count: u64) {
        let first = self.first_object;
        let Some(page) = &mut self.page else { return };
        if message.kind != RESPONSE {
            return;
        }
        page.arrived += count;
        if page.arrived * 2 >= page.total {
            page.half.get_or_insert(now);
        }
        page.first_byte.get_or_insert(now);
        let object = page.object(message, first);
        let object = object.map(|index| &mut page.objects[index]);
        if let Some(object) = object.filter(|object| object.first.is_none()) {
            object.first = Some(now);
            self.report.flow_startup.record(now - object.starting);
        }
    }

    fn received(
        &mut self,
        now: Time,
        connection: ConnectionId,
        whole: Option<Message>,
        actions: &mut Vec<Action>,
    ) {
        let Some(message) = whole else { return };
        let tls = self.web.tls;
        let is_ready = tls.proceed(connection, message, actions);
        let is_response = message.kind == RESPONSE;
        if let Some(known) = self.known(connection) {
            if is_ready {
                known.state = ConnectionState::Ready;
            }
            known.is_busy &= !is_response;
        }
        let first = self.first_object;
        let Some(page) = self.page.as_mut().filter(|_| is_response) else {
            return;
        };
        let Some(index) = page.object(message, first) else {
            return;
        };
        let object = &mut page.objects[index];
        object.arrived += message.length;
        if object.arrived < object.length {
            return;
        }
        object.last = Some(now);
        page.open -= 1;
        page.complete += 1;
        self.report.objects += 1;
        self.report.object.record(now - object.asked);
        actions.push(Action::Record(object.event(index, first, page.number)));
        if page.complete == page.objects.len() {
            page.document.get_or_insert(now);
            self.complete(now, index, actions);
        } else if index == 0 {
            page.document = Some(now);
            self.parsed_at = Some(now + page.parse);
        } else {
            page.reveal(index, now);
        }
    }

    /// The page is complete with the object `last`.
    fn complete(&mut self, now: Time, last: usize, actions: &mut Vec<Action>) {
        let Some(page) = self.page.take() else { return };
        // The waits besides the network: on the way to the last object.
        let mut besides = Time::ZERO;
        let mut step = Some(last);
        while let Some(index) = step {
            besides += self.delays.of((self.first_object + index as u64) as u32);
            step = page.objects[index].planned.parent;
            if step == Some(0) {
                besides += page.parse;
            }
        }
        let since = |at: Option<Time>| at.unwrap_or(now) - page.started;
        self.report.complete(&LoadedPage {
            load: now - page.started,
            document: since(page.document),
            first_byte: since(page.first_byte),
            half: since(page.half),
            besides,
            bytes: page.objects.iter().map(|object| object.planned.size).sum(),
            objects: page.objects.len() as u64,
            opened: page.opened,
            is_cold: page.is_cold,
        });
        let mut event = page.event(Outcome::Complete);
        event.last = Some(now);
        event.ended = Some(now);
        actions.push(Action::Record(event));
        self.end(now, page.objects.len());
    }

    /// The page will not be complete. Answers that are on their way would be those of no page.
    fn give_up(&mut self, now: Time, outcome: Outcome, actions: &mut Vec<Action>) {
        let Some(page) = self.page.take() else { return };
        match outcome {
            Outcome::Failed => self.report.failed += 1,
            _ => self.report.cut_short += 1,
        }
        actions.push(Action::Record(page.event(outcome)));
        for (number, connection) in self.connections.iter_mut().enumerate() {
            let state = &connection.state;
            if matches!(state, ConnectionState::Opening | ConnectionState::Ready) {
                *connection = Connection::FREE;
                actions.push(Action::Abort(ConnectionId(number as u32)));
            }
        }
        self.end(now, page.objects.len());
    }

    pub(super) fn change(&mut self, at: Time, to: &Web) {
        self.period.change(at, to.reading);
    }

    /// The user reads.
    fn end(&mut self, now: Time, objects: usize) {
        self.first_object += objects as u64;
        self.parsed_at = None;
        self.read_at = Some(now + draw(self.period.at(now), &mut self.reading));
        self.close_at = Some(now + self.web.keep_alive);
    }

    fn close_idle(&mut self, actions: &mut Vec<Action>) {
        for (number, connection) in self.connections.iter_mut().enumerate() {
            if matches!(connection.state, ConnectionState::Ready) {
                connection.state = ConnectionState::Closing;
                actions.push(Action::Finish(ConnectionId(number as u32)));
            }
        }
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn start_counting(&mut self) {
        self.report = PagesReport::default();
    }

    pub(super) fn unfinished(&self, records: &mut Vec<Event>) {
        let Some(page) = &self.page else { return };
        records.push(page.event(Outcome::Unfinished));
        for (index, object) in page.objects.iter().enumerate() {
            if object.last.is_none() {
                let mut event = object.event(index, self.first_object, page.number);
                event.outcome = Outcome::Unfinished;
                records.push(event);
            }
        }
    }

    pub(super) fn report(&self) -> PagesReport {
        let mut report = self.report.clone();
        report.in_flight = u64::from(self.page.is_some());
        report.oldest = self
            .page
            .as_ref()
            .map(|page| self.now.max(page.started) - page.started);
        report
    }
}

impl Page {
    /// The objects that the end of `index` reveals are known.
    fn reveal(&mut self, index: usize, now: Time) {
        if !self.objects[index].reveals {
            return;
        }
        let objects = self.objects.iter_mut().enumerate();
        let children = objects.filter(|(_, object)| object.planned.parent == Some(index));
        self.waiting.extend(children.map(|(index, object)| {
            object.known = now;
            index
        }));
    }

    /// The object of a response.
    fn object(&self, message: Message, first: u64) -> Option<usize> {
        let index = message.stream.wrapping_sub(first as u32) as usize;
        (index < self.objects.len()).then_some(index)
    }

    fn event(&self, outcome: Outcome) -> Event {
        Event {
            kind: "page",
            number: self.number,
            started: self.started,
            first: self.first_byte,
            last: None,
            ended: None,
            size: self.objects.iter().map(|object| object.planned.size).sum(),
            outcome,
            value: self.opened,
            wait: self.objects.first().and_then(Object::wait),
            carrier: Carrier::Flow,
            note: Some(OF_PAGE),
        }
    }
}

impl Object {
    /// Time until its request left.
    fn wait(&self) -> Option<Time> {
        (self.carrier != Carrier::Nothing).then(|| self.asked - self.known)
    }

    /// The event of the object `index` of a page, whose first one has the number `first`.
    fn event(&self, index: usize, first: u64, page: u64) -> Event {
        Event {
            kind: "object",
            number: first + index as u64,
            started: self.asked,
            first: self.first,
            last: self.last,
            ended: self.last,
            size: self.planned.size,
            outcome: Outcome::Complete,
            value: page,
            wait: self.wait(),
            carrier: self.carrier,
            note: Some(of_object(index)),
        }
    }
}

#[cfg(test)]
mod tests;
