//! The user's end: a player on a connection.

use quell_units::{Random, Time};

use super::Has;
use super::player::{Arrival, Next, Player};
use super::report::HasReport;
use super::variation::Variation;
use crate::exchange::{Incoming, REQUEST, RESPONSE, Tls};
use crate::{Action, Carrier, ConnectionId, Data, Event, Input, Message, Outcome};

/// The connection of the video.
const VIDEO: ConnectionId = ConnectionId(0);
/// That of the sound.
const AUDIO: ConnectionId = ConnectionId(1);
/// Time from the failure of a connection to the request for the next one.
const BACK_OFF: Time = Time::from_secs(1);
/// Fraction bits of a segment's factor.
const FACTOR_BITS: u32 = 32;

/// Whether a connection carries requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// Not asked for.
    Down,
    /// Asked for, or in its handshake.
    Rising,
    Up,
    /// This end has finished.
    Finished,
}

/// A request for video.
#[derive(Debug, Clone, Copy)]
struct Asked {
    segment: u64,
    quality: usize,
    /// Bytes of the segment.
    size: u64,
    at: Time,
    /// Time of the request for its connection, if nothing was asked for on it before; else as `at`.
    starting: Time,
    first: Option<Time>,
    /// Bytes of the answer's headers that are still to come.
    headers: u64,
}

/// Sound: as many segments as of video.
#[derive(Debug, Clone)]
struct Audio {
    link: Link,
    /// Bytes of a segment.
    size: u64,
    /// Segments that were asked for.
    asked: u64,
    /// Bytes of the answer that are still to come.
    left: u64,
}

/// A player, and what carries its requests.
#[derive(Debug, Clone)]
pub struct Client {
    player: Player,
    levels: Vec<u64>,
    variation: Variation,
    /// Segment and factor of its size, in units of 2^−32.
    factor: Option<(u64, u64)>,
    request: u64,
    response: u64,
    tls: Tls,
    /// The arrivals of each connection.
    incoming: [Incoming; 2],
    link: Link,
    /// Time of the request for the connection of the video, until something is asked for on it.
    opening: Option<Time>,
    asked: Option<Asked>,
    audio: Option<Audio>,
}

impl Client {
    pub(super) fn new(has: &Has, sizes: Random) -> Self {
        let ladder = &has.plan.ladder;
        let audio = has.audio.map(|rate| {
            let bits = u128::from(rate.as_bps()) * u128::from(ladder.segment().as_nanos());
            Audio {
                link: Link::Down,
                size: u64::try_from(bits / 8_000_000_000)
                    .unwrap_or(u64::MAX)
                    .max(1),
                asked: 0,
                left: 0,
            }
        });
        Self {
            player: Player::new(has.plan.clone()),
            levels: (0..ladder.levels())
                .map(|level| ladder.bytes(level))
                .collect(),
            variation: Variation::new(has.variation.into(), sizes),
            factor: None,
            request: has.request.get(),
            response: has.response.get(),
            tls: has.tls,
            incoming: [Incoming::NONE; 2],
            link: Link::Down,
            opening: None,
            asked: None,
            audio,
        }
    }

    pub(super) fn advance(&mut self, now: Time) {
        self.player.advance(now);
    }
    pub(super) fn start_counting(&mut self) {
        self.player.forget();
    }
    pub(super) fn report(&self) -> HasReport {
        self.player.watched().clone()
    }
    pub(super) fn unfinished(&self, records: &mut Vec<Event>) {
        let event = self
            .asked
            .as_ref()
            .map(|asked| event(asked, Outcome::Unfinished, None));
        records.extend(event);
    }

    pub(super) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => {
                self.player.begin(now);
                self.open(actions);
            }
            Input::Wake if self.link == Link::Down => self.open(actions),
            Input::Wake => self.play(now, actions),
            Input::Opened {
                connection, asked, ..
            } => {
                if connection == VIDEO {
                    self.opening = Some(asked);
                }
                self.incoming[connection.0 as usize] = Incoming::NONE;
                if self.tls.begin(connection, actions) {
                    self.ready(now, connection, actions);
                }
            }
            Input::Message {
                connection,
                message,
            } => {
                if message.kind == RESPONSE {
                    self.began(now, connection);
                }
                let whole = self.incoming[connection.0 as usize].header(message);
                self.received(now, connection, whole, actions);
            }
            Input::Bytes { connection, count } => {
                let whole = self.incoming[connection.0 as usize].body(count);
                self.arrived(now, connection, count, actions);
                self.received(now, connection, whole, actions);
            }
            Input::Failed { connection } => self.failed(now, connection, actions),
            _ => {}
        }
    }

    /// Opens what is not open.
    fn open(&mut self, actions: &mut Vec<Action>) {
        let audio = self.audio.as_mut().map(|audio| (&mut audio.link, AUDIO));
        for (link, connection) in [(&mut self.link, VIDEO)].into_iter().chain(audio) {
            if *link == Link::Down {
                *link = Link::Rising;
                actions.push(Action::Open(connection));
            }
        }
    }

    /// A message has arrived: of a handshake, it may allow requests.
    fn received(
        &mut self,
        now: Time,
        connection: ConnectionId,
        whole: Option<Message>,
        actions: &mut Vec<Action>,
    ) {
        if let Some(message) = whole
            && self.tls.proceed(connection, message, actions)
        {
            self.ready(now, connection, actions);
        }
    }

    /// Requests may follow.
    fn ready(&mut self, now: Time, connection: ConnectionId, actions: &mut Vec<Action>) {
        if connection == VIDEO {
            self.link = Link::Up;
            self.play(now, actions);
        } else if let Some(audio) = &mut self.audio {
            audio.link = Link::Up;
            self.listen(actions);
        }
    }

    /// Asks for the next segment, or waits until it is time to.
    fn play(&mut self, now: Time, actions: &mut Vec<Action>) {
        if self.link != Link::Up || self.asked.is_some() {
            return;
        }
        self.open(actions);
        match self.player.next(now) {
            Next::Wait(until) => actions.push(Action::WakeAt(until)),
            Next::Ask { segment, quality } => self.ask(now, segment, quality, actions),
            Next::Done => {
                self.link = Link::Finished;
                actions.push(Action::Finish(VIDEO));
            }
        }
        self.listen(actions);
    }

    fn ask(&mut self, now: Time, segment: u64, quality: usize, actions: &mut Vec<Action>) {
        let factor = match self.factor {
            Some((of, factor)) if of == segment => factor,
            _ => self.variation.next(1 << FACTOR_BITS),
        };
        self.factor = Some((segment, factor));
        let scaled = (u128::from(self.levels[quality]) * u128::from(factor)) >> FACTOR_BITS;
        let size = u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, 1 << 40);
        actions.push(Action::Note {
            note: 0,
            carrier: Carrier::Connection(VIDEO),
        });
        self.send(VIDEO, segment, size, actions);
        self.player.asked(now, size);
        self.asked = Some(Asked {
            segment,
            quality,
            size,
            at: now,
            starting: self.opening.take().unwrap_or(now),
            first: None,
            headers: self.response - Message::HEADER,
        });
    }

    /// A request for `size` bytes and their headers.
    fn send(&self, connection: ConnectionId, segment: u64, size: u64, actions: &mut Vec<Action>) {
        let reply = self.response + size;
        let message = Message::new(self.request, REQUEST, segment as u32, reply);
        actions.push(Action::Send(connection, Data::Message(message)));
    }

    /// Asks for sound, if there is more video than sound.
    fn listen(&mut self, actions: &mut Vec<Action>) {
        let wanted = self.factor.map_or(0, |(segment, _)| segment + 1);
        let Some(audio) = &mut self.audio else { return };
        if audio.link != Link::Up || audio.left > 0 {
            return;
        }
        if audio.asked < wanted {
            let (segment, size) = (audio.asked, audio.size);
            audio.asked += 1;
            audio.left = self.response - Message::HEADER + size;
            self.send(AUDIO, segment, size, actions);
        } else if self.link == Link::Finished {
            audio.link = Link::Finished;
            actions.push(Action::Finish(AUDIO));
        }
    }

    /// An answer begins.
    fn began(&mut self, now: Time, connection: ConnectionId) {
        if connection == VIDEO
            && let Some(asked) = &mut self.asked
        {
            asked.first = Some(now);
            self.player.began(now, asked.starting);
        }
    }

    fn arrived(
        &mut self,
        now: Time,
        connection: ConnectionId,
        count: u64,
        actions: &mut Vec<Action>,
    ) {
        if connection == AUDIO {
            if let Some(audio) = &mut self.audio {
                audio.left = audio.left.saturating_sub(count);
                self.listen(actions);
            }
            return;
        }
        let Some(asked) = &mut self.asked else {
            return;
        };
        if asked.first.is_none() {
            // Of the handshake.
            return;
        }
        let headers = count.min(asked.headers);
        asked.headers -= headers;
        match self.player.arrived(now, count - headers) {
            Arrival::More => {}
            Arrival::Complete => {
                self.over(now, Outcome::Complete, actions);
                self.play(now, actions);
            }
            Arrival::GiveUp(to) => {
                self.over(now, Outcome::Abandoned, actions);
                self.player.gave_up(now, to);
                actions.push(Action::Abort(VIDEO));
                self.link = Link::Down;
                self.open(actions);
            }
        }
    }

    fn failed(&mut self, now: Time, connection: ConnectionId, actions: &mut Vec<Action>) {
        if connection == VIDEO {
            self.link = Link::Down;
            if self.asked.is_some() {
                self.over(now, Outcome::Failed, actions);
                self.player.failed(now);
            }
            actions.push(Action::WakeAt(now + BACK_OFF));
        } else if let Some(audio) = &mut self.audio {
            // A lost part of the sound is not missed. It goes on with the next segment of video.
            audio.link = Link::Down;
            audio.left = 0;
        }
    }

    /// A request is over.
    fn over(&mut self, now: Time, outcome: Outcome, actions: &mut Vec<Action>) {
        if let Some(asked) = self.asked.take() {
            actions.push(Action::Record(event(&asked, outcome, Some(now))));
        }
    }
}

fn event(asked: &Asked, outcome: Outcome, ended: Option<Time>) -> Event {
    let is_whole = outcome == Outcome::Complete;
    Event {
        kind: "segment",
        number: asked.segment,
        started: asked.at,
        first: asked.first,
        last: ended.filter(|_| is_whole),
        ended,
        size: asked.size,
        outcome,
        value: asked.quality as u64,
        // It is asked for when its request can leave.
        wait: Some(Time::ZERO),
        carrier: Carrier::Connection(VIDEO),
        note: Some(0),
    }
}
