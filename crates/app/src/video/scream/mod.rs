//! Rate control of datagram video by SCReAM v2.
//!
//! A reference window limits what is in flight, and the rate of the video follows from it:
//!
//! * [`delay`]: the queue delay, how much it varies, and whether it stands.
//! * [`version`]: the draft's version, and that of the authors' test record.
//! * [`flight`]: what is in flight, and which losses count.
//! * [`window`]: the window falls with losses, with marks (by α/2, or by a fifth without L4S) and with queue
//!   delay above half of its target, and grows by a full packet per RTT, or by more where congestion is long
//!   ago.
//! * [`media`]: the target of the encoder, from window and RTT; it yields where the sender's queue grows.
//! * [`reports`]: what the receiver answers, and when.
//!
//! In the draft the window is loose: three times of it may be in flight, 1.5 times where the queue delay varies. Packets
//! are paced at 1.5 times the target, and up to four times faster where the target is at its maximum. A queue
//! that is older than 200 ms is discarded.
//!
//! Sources: draft-ietf-ccwg-rfc8298bis-screamv2 (SCReAM v2, successor of RFC 8298), with its constants; what
//! the draft leaves to its authors' program (github.com/EricssonResearch/scream) is taken from there and
//! named at its constant. Deviations:
//!
//! 1. A report carries counts, delays of the newest packet, and the span of the others, in place of one
//!    entry per packet (RFC 8888): no world reorders packets. Marked bytes are marked packets times
//!    the mean length, as the draft proposes for counts.
//! 2. The maximum in flight is that of a span of 50 ms, as in the program, and not of a round trip: between
//!    two frames a short round trip has nothing in flight.
//! 3. A loss that does not count ([`flight`]) does not hide a mark.
//! 4. One stream, and no RTP: lengths are UDP payloads.
//! 5. Without these options of the draft: the higher delay target beside loss-based flows, and the
//!    detection of rate policers. Both are off in the authors' test program.

use quell_units::Time;

pub mod delay;
pub mod flight;
pub mod media;
pub mod reports;
pub mod version;
pub mod window;

#[cfg(test)]
mod tests;

use delay::QueueDelay;
use flight::{Flight, Losses};
use media::Media;
use reports::Report;
use version::{Version, VersionRules};
use window::{Growth, Signs, Window};

/// One, as a part.
pub(crate) const ONE: u64 = 1 << 20;
/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// The RTT below which a flow behaves as if it had this one.
pub(crate) const VIRTUAL_RTT: Time = Time::from_millis(25);
/// The queue delay that is aimed at; the window falls from the half of it on.
pub(crate) const DELAY_TARGET: Time = Time::from_millis(60);
/// The time of a retransmission timeout in the program: a sender that may not send, and has not for so long,
/// forgets what is in flight.
const SILENCE: Time = Time::from_millis(500);
/// Time from one span of the maximum in flight to the next (program).
const SPAN: Time = Time::from_millis(50);
/// Spans that bound the window where the target is at its maximum (program).
const SPANS: usize = 20;
/// Least time from one average of the marks to the next.
const ALPHA_INTERVAL: Time = Time::from_millis(10);
/// Data in flight over the window, at least and at most.
const OVERHEAD: (u64, u64) = (3 * ONE / 2, 3 * ONE);
/// Bits per second: packets are paced at no less, before the headroom.
const LEAST_PACE: u64 = 50_000;
/// The greatest factor of pacing where the target is at its maximum.
const RELAXED: u64 = 4;
/// Age at which a queue is discarded, and least time until the next one is (program).
const QUEUE: Time = Time::from_millis(200);
const DISCARD: Time = Time::from_millis(250);

/// `part` / `of`, with [`ONE`] as one.
pub(crate) fn ratio(part: u64, of: u64) -> u64 {
    let parts = u128::from(part) * u128::from(ONE) / u128::from(of.max(1));
    u64::try_from(parts).unwrap_or(u64::MAX)
}

/// That part of a number.
pub(crate) fn times(number: u64, part: u64) -> u64 {
    let product = u128::from(number) * u128::from(part) / u128::from(ONE);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The control.
#[derive(Debug, Clone)]
pub struct Scream {
    /// Length of a full packet, in bytes.
    packet: u64,
    rules: VersionRules,
    /// Whether marks are those of L4S.
    scalable: bool,
    window: Window,
    delay: QueueDelay,
    flight: Flight,
    losses: Losses,
    media: Media,
    /// Smoothed RTT of every report; zero before the first.
    short_rtt: Time,
    /// Smoothed RTT, and when it was updated.
    srtt: (Time, Time),
    /// Average part of the packets that is marked, and when it was updated.
    alpha: (u64, Time),
    /// Packets and marks since.
    counted: (u64, u64),
    /// Signs of congestion since the window last reacted.
    signs: Signs,
    /// The maxima in flight of the last spans, a ring; the newest is not over.
    most_flying: [u64; SPANS],
    span: usize,
    span_began: Time,
    last: Report,
    /// Departure of the last packet, and time at which the last queue was discarded.
    sent: Time,
    discarded: Time,
}

impl Scream {
    /// A control for packets of at most `packet` bytes, and for video of a rate within `rates`, in bits per
    /// second, from `now` on.
    pub fn new(packet: u64, rates: (u64, u64), now: Time) -> Self {
        Self {
            packet,
            rules: VersionRules::of(Version::Draft),
            scalable: false,
            window: Window::new(packet),
            delay: QueueDelay::new(now),
            flight: Flight::new(),
            losses: Losses::default(),
            media: Media::new(rates),
            short_rtt: Time::ZERO,
            srtt: (Time::ZERO, now),
            alpha: (0, now),
            counted: (0, 0),
            signs: Signs::default(),
            most_flying: [0; SPANS],
            span: 0,
            span_began: now,
            last: Report::default(),
            sent: now,
            discarded: now,
        }
    }

    /// The control of a version.
    #[must_use]
    pub fn of(self, version: Version) -> Self {
        let rules = VersionRules::of(version);
        Self {
            rules,
            media: self.media.with_room(rules.room),
            ..self
        }
    }

    /// Steadiness of the queue delay, where that matters.
    fn steadiness(&self) -> u64 {
        match self.rules.steadies {
            true => self.delay.steadiness(),
            false => ONE,
        }
    }

    /// The rate that the video is to have, in bits per second.
    pub fn target(&self) -> u64 {
        self.media.target()
    }

    /// Limits the rate of the video from now on, in bits per second.
    pub fn limit(&mut self, most: u64) {
        self.media.limit(most);
    }

    /// The newest report.
    pub fn last(&self) -> &Report {
        &self.last
    }

    /// The encoder made a frame of `size` bytes; the oldest one in the sender's queue has waited for `waits`.
    pub fn frame(&mut self, size: u64, waits: Time, now: Time) {
        self.media.frame(size, waits, now);
    }

    /// Whether the queue, whose oldest frame has waited for `waits`, is to be discarded now.
    pub fn discards(&mut self, waits: Time, now: Time) -> bool {
        let is_old = waits > QUEUE && now > self.discarded + DISCARD;
        if is_old {
            self.discarded = now;
        }
        is_old
    }

    /// Whether a packet of this many bytes may leave.
    pub fn may_send(&self, bytes: u64) -> bool {
        let (least, most) = OVERHEAD;
        let overhead = match self.rules.steadies {
            true => least + times(most - least, self.delay.steadiness()),
            false => least,
        };
        self.flight.bytes() + bytes <= times(self.window.bytes(), overhead) + self.packet
    }

    /// Time at which a sender that may not send forgets what is in flight.
    pub fn timeout(&self) -> Time {
        self.sent + SILENCE
    }

    /// Forgets what is in flight.
    pub fn forget(&mut self) {
        self.flight.forget();
    }

    /// A packet of this many bytes leaves.
    pub fn send(&mut self, bytes: u64, now: Time) {
        self.flight.send(bytes);
        self.sent = now;
    }

    /// Time from the beginning of a packet of this many bytes to that of the next.
    pub fn gap(&self, bytes: u64) -> Time {
        let (target, most) = (self.target(), self.media.most());
        let pace = times(target.max(LEAST_PACE), self.rules.pace);
        // From 80 % of the maximum on it is relaxed.
        let above = ratio(target, most).saturating_sub(ONE * 4 / 5) * 5;
        let scale = ONE.saturating_sub(above).clamp(ONE / RELAXED, ONE);
        let bits = u128::from(bytes) * 8 * u128::from(scale) * u128::from(SECOND);
        let gap = bits / u128::from(ONE) / u128::from(pace);
        Time::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// A report arrived.
    pub fn hear(&mut self, report: Report, now: Time) {
        if report.expected <= self.last.expected {
            return;
        }
        self.scalable = report.scalable;
        self.count_flying(now);
        let packets = report.expected - self.last.expected;
        let marked = report.marked.saturating_sub(self.last.marked).min(packets);
        let acked = self.flight.acknowledge(report.expected);
        let lost = self.losses.lost(&report, self.packet, self.window.bytes());
        self.last = report;
        self.measure_rtt(now - report.sent, now);
        self.delay.sample(&report, self.srtt.0, now);
        self.measure_marks(packets - lost.min(packets), marked, now);
        let is_lost = lost > 0 && (self.losses.are_many() || self.delay.is_above(4));
        self.signs.lost |= is_lost;
        self.signs.marked = marked > 0 || (self.signs.marked && self.rules.remembers);
        let growth = Growth {
            acked: acked - acked * marked / packets,
            srtt: self.srtt.0,
            steadiness: self.steadiness(),
            most: self.may_grow_to(),
        };
        self.media.acknowledge(acked, now);
        self.window.locate();
        self.reduce(lost > 0 || marked > 0, now);
        self.window.grow(&growth, now);
        self.media.update(&self.window, self.srtt.0, self.packet);
        if self.delay.stands(now) {
            // Half the rate for some round trips, in which the queue drains.
            self.media
                .halve_until(now + (self.srtt.0 * 5).max(SILENCE * 2 / 5));
        }
        self.bound();
    }

    fn count_flying(&mut self, now: Time) {
        if now >= self.span_began + SPAN {
            self.span = (self.span + 1) % SPANS;
            self.span_began = now;
            self.most_flying[self.span] = 0;
        }
        let most = &mut self.most_flying[self.span];
        *most = (*most).max(self.flight.bytes());
    }

    /// The maximum in flight in the last span that is over.
    const fn flew(&self) -> u64 {
        self.most_flying[(self.span + SPANS - 1) % SPANS]
    }

    /// The window grows to 1.5 times of what was in flight, and while the rate is below its maximum.
    fn may_grow_to(&self) -> u64 {
        if self.target() >= self.media.most() {
            return 0;
        }
        let most = self.most_flying[self.span].max(self.flew());
        self.packet + most * 3 / 2
    }

    /// Every report smooths the RTT, and once in a round trip the result is smoothed again (program).
    fn measure_rtt(&mut self, rtt: Time, now: Time) {
        let rtt = rtt.max(Time::from_nanos(1));
        if self.short_rtt.is_zero() {
            self.short_rtt = rtt;
            self.srtt = (rtt, now);
        }
        self.short_rtt = (self.short_rtt * 7 + rtt) / 8;
        if now >= self.srtt.1 + self.short_rtt {
            self.srtt = ((self.srtt.0 * 7 + self.short_rtt) / 8, now);
        }
    }

    /// α: in the draft a fast attack and a slow decay.
    fn measure_marks(&mut self, delivered: u64, marked: u64, now: Time) {
        self.counted.0 += delivered.max(marked);
        self.counted.1 += marked;
        let (alpha, at) = self.alpha;
        if now < at + ALPHA_INTERVAL.min(self.srtt.0) || self.counted.0 == 0 {
            return;
        }
        let share = ratio(self.counted.1, self.counted.0);
        let (attack, decay) = self.rules.gains;
        let alpha = match (share >= alpha, decay) {
            (true, _) => alpha + ((share - alpha) >> attack),
            (false, Some(decay)) => alpha - (alpha >> decay),
            (false, None) => alpha - ((alpha - share) >> attack),
        };
        self.alpha = (alpha, now);
        self.counted = (0, 0);
    }

    /// Reacts to congestion, at most once per RTT or [`VersionRules::hold`], whichever is shorter.
    fn reduce(&mut self, is_congested: bool, now: Time) {
        if is_congested {
            self.window.congested(now);
        }
        if now < self.window.reacted() + self.rules.hold.min(self.srtt.0) {
            return;
        }
        let signs = Signs {
            scalable: self.scalable.then_some(self.alpha.0),
            delay: self.delay.virtual_alpha(),
            is_short: !self.delay.is_now_above(4),
            steadiness: self.steadiness(),
            splits: self.rules.splits,
            srtt: self.srtt.0,
            is_low: self.media.is_low(),
            flew: self.flew(),
            ..self.signs
        };
        if self.window.reduce(&signs, now) {
            self.signs = Signs::default();
        }
    }

    /// Near the maximum of the rate the window stays near what is in flight (program).
    fn bound(&mut self) {
        let most = self.media.most();
        if self.target() * 20 <= most * 19 {
            return;
        }
        let flew = self.most_flying.iter().fold(0, |most, of| (*of).max(most));
        let span = self.srtt.0 + Time::from_millis(1);
        let needed = bytes_in(most, span) * 3 / 2;
        self.window.bound(flew.max(needed));
    }
}

/// Bytes that a rate in bits per second sends in this time.
pub(crate) fn bytes_in(rate: u64, span: Time) -> u64 {
    let bits = u128::from(rate) * u128::from(span.as_nanos()) / u128::from(SECOND);
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}
