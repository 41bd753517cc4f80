//! The player: when to ask for the next segment, of which level, and when to give one up.
//!
//! It has one request at a time. It asks when the buffer has room for a whole segment more; until then
//! it is off. Its owner reports what arrives and when, and asks with [`Player::next`] what to do
//! whenever no request is in flight. It knows nothing of connections, so anything that carries bytes
//! can drive it.

use quell_units::Time;

use super::estimator::Estimator;
use super::ladder::Ladder;
use super::playback::Playback;
use super::report::{HasReport, Watched};
use super::rule::{Rule, RuleKind};
use super::situation::{Choice, Download, Progress, Situation};

/// A download is judged each time when this much more of it is there…
const PROGRESS_BYTES: u64 = 1_500;
/// … and this much more time has passed: Sabre's 12 000 bits and 50 ms.
const PROGRESS_TIME: Time = Time::from_millis(50);

/// The settings of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Levels and length of segments.
    pub ladder: Ladder,
    /// The most that the buffer holds; at least two segments.
    pub buffer: Time,
    /// The buffer at which playback begins.
    pub startup: Time,
    /// The buffer at which playback goes on after a stall.
    pub resume: Time,
    /// Number of segments; `None` without an end.
    pub segments: Option<u64>,
    /// The choice of levels.
    pub rule: RuleKind,
    /// Whether downloads may be given up.
    pub abandons: bool,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Ask for this segment, and say so with [`Player::asked`].
    Ask {
        /// Counted from 0.
        segment: u64,
        /// Its level.
        quality: usize,
    },
    /// Ask again at this time.
    Wait(Time),
    /// All segments have been downloaded.
    Done,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct Request {
    quality: usize,
    size: u64,
    asked: Time,
    first: Option<Time>,
    arrived: u64,
    /// Time of the last judgement, and the bytes then.
    judged: (Time, u64),
}

/// A player in a session.
#[derive(Debug, Clone)]
pub struct Player {
    plan: Plan,
    playback: Playback,
    estimator: Estimator,
    rule: Rule,
    watched: Watched,
    /// The segment that is asked for next.
    segment: u64,
    /// Level of the last download.
    last: usize,
    request: Option<Request>,
    /// The level of the next request, which has been chosen, and when to ask.
    chosen: Option<(usize, Time)>,
    /// Since when it has waited for room.
    full: Option<Time>,
    /// End of the last request.
    ended: Option<Time>,
    /// Up to when on and off have been counted.
    counted: Time,
}

impl Player {
    /// A player whose session has not begun.
    pub fn new(plan: Plan) -> Self {
        let segment = plan.ladder.segment();
        Self {
            playback: Playback::new(segment, plan.startup, plan.resume, plan.buffer),
            estimator: Estimator::default(),
            rule: Rule::new(plan.rule, &plan.ladder, plan.buffer),
            watched: HasReport::with_room(plan.buffer + segment),
            segment: 0,
            last: 0,
            request: None,
            chosen: None,
            full: None,
            ended: None,
            counted: Time::ZERO,
            plan,
        }
    }

    /// The session begins: its user waits from now on.
    pub fn begin(&mut self, now: Time) {
        self.playback.begin(now);
        self.counted = now;
    }

    /// Counts up to `now`.
    pub fn advance(&mut self, now: Time) {
        let span = now - self.counted;
        self.counted += span;
        match self.request {
            Some(_) => self.watched.on += span,
            None => self.watched.off += span,
        }
        let was_stalled = self.playback.is_stalled();
        self.playback
            .advance(now, &self.plan.ladder, &mut self.watched);
        if self.playback.is_stalled() && !was_stalled {
            self.rule.stalled();
        }
    }

    /// The next step, while no request is in flight.
    pub fn next(&mut self, now: Time) -> Next {
        self.advance(now);
        let segment = self.segment;
        if self.plan.segments.is_some_and(|all| segment >= all) {
            return Next::Done;
        }
        if let Some((quality, at)) = self.chosen {
            return if now < at {
                Next::Wait(at)
            } else {
                Next::Ask { segment, quality }
            };
        }
        let room = self.plan.buffer - self.plan.ladder.segment();
        let above = self.playback.level() - room;
        if !above.is_zero() {
            self.full.get_or_insert(now);
            return Next::Wait(now + above);
        }
        if let Some(since) = self.full.take() {
            self.rule.waited(now - since);
        }
        let choice = self.choose();
        self.chosen = Some((choice.quality, now + choice.wait));
        match choice {
            Choice { wait, .. } if !wait.is_zero() => Next::Wait(now + wait),
            Choice { quality, .. } => Next::Ask { segment, quality },
        }
    }

    fn choose(&mut self) -> Choice {
        if self.segment == 0 {
            return Choice::at_once(0);
        }
        self.rule.decide(&Situation {
            ladder: &self.plan.ladder,
            buffer: self.playback.level(),
            most: self.plan.buffer,
            estimate: self.estimator.read(),
            last: self.last,
            left: self.plan.segments.map(|all| all - self.segment),
        })
    }

    /// The request that [`Player::next`] wanted has been sent; its answer has `size` bytes of payload.
    pub fn asked(&mut self, now: Time, size: u64) {
        self.advance(now);
        let Some((quality, _)) = self.chosen.take() else {
            return;
        };
        if let Some(ended) = self.ended.take()
            && now > ended
        {
            self.watched.pauses.record(now - ended);
        }
        self.request = Some(Request {
            quality,
            size,
            asked: now,
            first: None,
            arrived: 0,
            judged: (now, 0),
        });
    }

    /// The answer begins. Its request, or the connection that was opened for it, was asked for at `from`.
    pub fn began(&mut self, now: Time, from: Time) {
        self.advance(now);
        if let Some(request) = &mut self.request
            && request.first.is_none()
        {
            request.first = Some(now);
            self.watched.flow_startup.record(now - from);
        }
    }

    /// `count` more bytes of payload are there. Whether the download is complete, goes on, or is to be
    /// given up: then [`Player::gave_up`] follows.
    pub fn arrived(&mut self, now: Time, count: u64) -> Arrival {
        self.advance(now);
        let Some(request) = &mut self.request else {
            return Arrival::More;
        };
        request.first.get_or_insert(now);
        let count = count.min(request.size - request.arrived);
        request.arrived += count;
        self.watched.bytes += count;
        let request = *request;
        if request.arrived == request.size {
            self.complete(now, request);
            return Arrival::Complete;
        }
        self.judge(now, request)
            .map_or(Arrival::More, Arrival::GiveUp)
    }

    /// The level that is better than to go on, if there is one.
    fn judge(&mut self, now: Time, request: Request) -> Option<usize> {
        let (at, bytes) = request.judged;
        let is_due = now - at >= PROGRESS_TIME && request.arrived - bytes >= PROGRESS_BYTES;
        // The first segment is of the lowest level: nothing is smaller.
        if !self.plan.abandons || !is_due {
            return None;
        }
        if let Some(request) = &mut self.request {
            request.judged = (now, request.arrived);
        }
        let progress = Progress {
            quality: request.quality,
            size: request.size,
            arrived: request.arrived,
            elapsed: now - request.asked,
            first_byte: request.first.unwrap_or(now) - request.asked,
            buffer: self.playback.level(),
            estimate: self.estimator.read(),
        };
        self.rule.abandon(&self.plan.ladder, &progress)
    }

    fn complete(&mut self, now: Time, request: Request) {
        let is_last = self.plan.segments == Some(self.segment + 1);
        let rate = self.plan.ladder.rate(request.quality);
        self.watched.downloaded.0 += 1;
        self.watched.downloaded.1 += u128::from(rate);
        self.playback
            .push(request.quality, is_last, &mut self.watched);
        let first = request.first.unwrap_or(now);
        // An answer that came all at once says no more than how long it took.
        let span = match now - first {
            Time::ZERO => now - request.asked,
            span => span,
        };
        let download = Download {
            quality: request.quality,
            bytes: request.size,
            took: now - request.asked,
            span,
            buffer: self.playback.level(),
        };
        self.rule.downloaded(&self.plan.ladder, &download);
        let latency = first - request.asked;
        let segment = self.plan.ladder.segment();
        self.estimator.push(request.size, span, latency, segment);
        self.last = request.quality;
        self.segment += 1;
        self.end(now, request);
    }

    fn end(&mut self, now: Time, request: Request) {
        self.watched.requests.record(now - request.asked);
        self.request = None;
        self.ended = Some(now);
    }

    /// The request was given up for one of level `to`, which is asked for next.
    pub fn gave_up(&mut self, now: Time, to: usize) {
        self.advance(now);
        if let Some(request) = self.request {
            self.watched.abandoned += 1;
            let buffer = self.playback.level();
            self.rule.abandoned(&self.plan.ladder, to, buffer);
            self.last = request.quality;
            self.chosen = Some((to, now));
            self.end(now, request);
        }
    }

    /// The connection of the request broke. Its segment is chosen anew.
    pub fn failed(&mut self, now: Time) {
        self.advance(now);
        if let Some(request) = self.request {
            self.watched.failed += 1;
            self.end(now, request);
        }
    }

    /// Whether all has been played.
    pub fn is_over(&self) -> bool {
        self.playback.is_over()
    }
    /// Playing time in the buffer.
    pub fn buffer(&self) -> Time {
        self.playback.level()
    }
    /// Whether a request is in flight.
    pub fn is_on(&self) -> bool {
        self.request.is_some()
    }
    /// The record since the beginning, or since [`Player::forget`].
    pub fn watched(&self) -> &HasReport {
        &self.watched
    }
    /// Forgets what was seen.
    pub fn forget(&mut self) {
        self.watched.forget();
    }
}

/// The meaning of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The download goes on.
    More,
    /// The segment is in the buffer.
    Complete,
    /// The download is to be given up for one of this level.
    GiveUp(usize),
}

#[cfg(test)]
mod tests;
