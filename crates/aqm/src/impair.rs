//! Impairments of a path behind its queue: it loses some packets, delays them unequally, lets some be overtaken, delivers some twice and
//! damages some.
//!
//! Losses follow the model of Gilbert and Elliott: the path is good or bad, changes at each packet with the probabilities `enter` and
//! `leave`, and loses a packet with a probability of the state it is then in (Gilbert 1960, Elliott 1963; as `loss gemodel` of
//! tc-netem(8), whose `1-h` is `bad` and `1-k` is `good`). With `enter` zero it stays good, and losses are independent.
//!
//! Jitter keeps the order: a packet never leaves before the one in front of it. A packet that is held back leaves later by a fixed
//! time, and those behind it overtake it. Where tc-netem sends some packets early, here some are late: what is decided never has to
//! leave before its time.
//!
//! Losses, jitter and reordering are drawn from one stream, a fixed number of draws for each packet, in integers; copies and damage each
//! from one of their own, so that they move no other draw. A path that was never impaired draws nothing. [Rules](rules) judge what is not lost.
//!
//! Impairments may [change](Impairer::set) at any time: they hold for packets that start their transmission from then on. A bad path stays bad, what
//! is on hold stays so, and the order is kept.

pub mod rules;
pub mod shape;

use alloc::format;
use alloc::vec::Vec;

use crate::path_trace::PathTrace;
use crate::units::{Probability, Random, Time};
use rules::{Active, Header, Outcome, Rule, RuleCounts};
use shape::Shape;

/// The impairments of packets of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Impairment {
    /// Losses.
    pub loss: Loss,
    /// The share of packets that are held back.
    pub reorder: Probability,
    /// The time for which they are held.
    pub hold: Time,
    /// The delay of every packet.
    pub delay: Time,
    /// The longest random delay on top; uniform from zero.
    pub jitter: Time,
    /// How far delays scatter around the delay, base delay and all, in place of jitter.
    pub spread: Time,
    /// How they do.
    pub shape: Shape,
    /// The share of packets that are followed by a copy, at the same instant.
    pub duplicate: Probability,
    /// The share of packets of which one bit behind the IP header is flipped.
    pub corrupt: Probability,
    /// Rules for what is not lost, in their order. Of them only the probabilities [change](Impairer::set).
    pub rules: Vec<Rule>,
}

/// Probabilities of the model of Gilbert and Elliott.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Probability of a change from good to bad.
    pub enter: Probability,
    /// Probability of a change from bad to good.
    pub leave: Probability,
    /// Probability of a loss in the bad state.
    pub bad: Probability,
    /// Probability of a loss in the good state.
    pub good: Probability,
}

impl Impairment {
    /// The longest that a packet is delayed.
    pub fn most_delay(&self) -> Time {
        let hold = if self.reorder == Probability::ZERO {
            Time::ZERO
        } else {
            self.hold
        };
        let [_, late] = self.shape.reach();
        self.delay + self.jitter + self.spread * late / 10 + hold
    }

    /// How much earlier than its delay a packet is at most.
    pub fn most_early(&self) -> Time {
        let [early, _] = self.shape.reach();
        self.spread * early / 10
    }
}

/// What a trace says of a path from a time on; the rest is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathStep {
    /// The delay of every packet.
    pub delay: Option<Time>,
    /// The longest random delay on top.
    pub jitter: Option<Time>,
    /// Probability of a loss in the good state.
    pub good: Option<Probability>,
    /// Probability of a change from good to bad.
    pub enter: Option<Probability>,
    /// Probability of a change from bad to good.
    pub leave: Option<Probability>,
}

impl PathStep {
    /// The impairment where this holds, and `rest` otherwise.
    #[must_use]
    pub fn over(self, rest: &Impairment) -> Impairment {
        Impairment {
            loss: Loss {
                enter: self.enter.unwrap_or(rest.loss.enter),
                leave: self.leave.unwrap_or(rest.loss.leave),
                good: self.good.unwrap_or(rest.loss.good),
                bad: rest.loss.bad,
            },
            delay: self.delay.unwrap_or(rest.delay),
            jitter: self.jitter.unwrap_or(rest.jitter),
            ..rest.clone()
        }
    }
}

/// What happened to packets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that were lost, or dropped by a rule.
    pub lost: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Packets that were damaged.
    pub corrupted: u64,
    /// What came to each rule, in their order.
    pub rules: Vec<RuleCounts>,
}

impl Counts {
    /// The sum of both, of one path.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        self.join(other, |one, other| one + other)
    }
    /// What was counted since `before`.
    #[must_use]
    pub fn since(self, before: &Self) -> Self {
        self.join(before, |now, before| now - before)
    }

    fn join(mut self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        self.lost = with(self.lost, other.lost);
        self.duplicated = with(self.duplicated, other.duplicated);
        self.corrupted = with(self.corrupted, other.corrupted);
        if self.rules.is_empty() {
            self.rules.clone_from(&other.rules);
        } else {
            let both = self.rules.iter_mut().zip(&other.rules);
            both.for_each(|(own, other)| own.join(other, with));
        }
        self
    }
}

/// What becomes of a packet that is not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// When it goes on.
    pub at: Time,
    /// How much less than its base delay it takes from then on, though it is never there before it leaves the link.
    pub early: Time,
    /// Whether it is held back, so that others may overtake it.
    pub is_held: bool,
    /// Whether a copy follows at once.
    pub is_doubled: bool,
    /// Where it is damaged, as a share in 2⁻⁶⁴ of the bits behind its IP header.
    pub damage: Option<u64>,
    /// The same of the bits of its payload, where nobody but the application may notice.
    pub flip: Option<u64>,
}

impl Fate {
    /// Nothing but that the packet goes on `at` this time.
    pub const fn of(at: Time) -> Self {
        Self {
            at,
            early: Time::ZERO,
            is_held: false,
            is_doubled: false,
            damage: None,
            flip: None,
        }
    }
}

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct Impairer {
    /// What is asked for, without its rules.
    impairment: Impairment,
    /// Where there is one, it says a part of that.
    trace: Option<PathTrace<PathStep>>,
    /// What is in force.
    now: Impairment,
    /// Of the shape of what is asked for.
    quantiles: Vec<i64>,
    /// Whether an impairment was set that is more than rules.
    may_delay: bool,
    rules: Vec<Active>,
    random: Random,
    copies: Random,
    damages: Random,
    /// Whether copies or damage were ever possible: only then they are drawn.
    draws_more: bool,
    is_bad: bool,
    /// When the last packet left that was not held back.
    last: Time,
    counts: Counts,
}

impl Impairer {
    /// A path in its good state, which draws from streams of this seed and component.
    pub fn new(impairment: Option<Impairment>, seed: u64, component: &str) -> Self {
        let stream = |of: &str| Random::new(seed, &format!("{component}.{of}"));
        let mut path = Self {
            impairment: Impairment::default(),
            trace: None,
            now: Impairment::default(),
            quantiles: Vec::new(),
            may_delay: false,
            rules: Vec::new(),
            random: stream("impair"),
            copies: stream("duplicate"),
            damages: stream("corrupt"),
            draws_more: false,
            is_bad: false,
            last: Time::ZERO,
            counts: Counts::default(),
        };
        if let Some(impairment) = impairment {
            let rules = impairment.rules.iter();
            let streams = |name: &str| ["rule", "train"].map(|of| stream(&format!("{of}.{name}")));
            let active = |rule: &Rule| Active::new(rule, streams(&rule.name));
            path.rules = rules.map(active).collect();
            path.set(impairment);
        }
        path
    }

    /// Impairs packets like this from now on. Where a good path cannot become bad, it is good.
    pub fn set(&mut self, mut impairment: Impairment) {
        let rules = core::mem::take(&mut impairment.rules);
        self.may_delay |= rules.is_empty() || impairment != Impairment::default();
        for (active, rule) in self.rules.iter_mut().zip(rules) {
            active.rule.probability = rule.probability;
        }
        self.quantiles = impairment.shape.quantiles();
        self.impairment = impairment.clone();
        self.force(impairment);
    }

    fn force(&mut self, now: Impairment) {
        self.is_bad &= now.loss.enter > Probability::ZERO;
        self.draws_more |= now.duplicate.max(now.corrupt) > Probability::ZERO;
        self.now = now;
    }

    /// From now on the path does what `trace` says, and the rest as before.
    pub fn follow(&mut self, trace: PathTrace<PathStep>) {
        self.may_delay = true;
        self.trace = Some(trace);
    }

    /// The next packet starts its transmission at this time: it meets what the trace, if there is one, says of it.
    pub fn start(&mut self, start: Time) {
        if let Some(trace) = &self.trace {
            let now = trace.at(start).over(&self.impairment);
            self.force(now);
        }
    }

    /// Whether packets have to be judged: an impairment was set.
    pub fn is_in_use(&self) -> bool {
        self.may_delay || self.has_rules()
    }

    /// Whether packets may be delayed: an impairment was set that is more than rules.
    pub fn may_delay(&self) -> bool {
        self.may_delay
    }

    /// Whether there are rules, which look at headers.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// How much earlier than its base delay a packet may be.
    pub fn most_early(&self) -> Time {
        self.impairment.most_early()
    }

    /// Whether packets may be damaged.
    pub fn damages(&self) -> bool {
        self.impairment.corrupt > Probability::ZERO
    }

    /// What becomes of the packet that leaves the link at `end`; `None` if it is lost. Ends never run backwards. Rules may change its header.
    pub fn judge(&mut self, end: Time, header: &mut Header) -> Option<Fate> {
        let Impairment {
            loss,
            reorder,
            hold,
            delay,
            jitter,
            spread,
            duplicate,
            corrupt,
            ..
        } = self.now;
        let change = if self.is_bad { loss.leave } else { loss.enter };
        self.is_bad ^= self.random.chance(change);
        let chance = if self.is_bad { loss.bad } else { loss.good };
        let mut is_lost = self.random.chance(chance);
        let is_held = self.random.chance(reorder);
        // Draws are finer than nanoseconds.
        let draw = self.random.u64();
        let later = (u128::from(draw) * u128::from(jitter.as_nanos())) >> 64;
        let mut later = Time::from_nanos(later as u64);
        let mut early = Time::ZERO;
        if !spread.is_zero() {
            let deviation = shape::deviation(draw, spread, &self.quantiles);
            let size = Time::from_nanos(deviation.unsigned_abs());
            (early, later) = if deviation < 0 {
                (size, later)
            } else {
                (early, size)
            };
        }
        let (mut is_doubled, mut damage, mut flip) = (false, None, None);
        if self.draws_more {
            is_doubled = self.copies.chance(duplicate);
            let is_damaged = self.damages.chance(corrupt);
            let place = self.damages.u64();
            damage = is_damaged.then_some(place);
        }
        for active in &mut self.rules {
            let outcome = active.judge(header, end, !is_lost);
            is_lost |= outcome == Outcome::Drop;
            is_doubled |= outcome == Outcome::Copy;
            if outcome == Outcome::Flip {
                // Anywhere, without a draw that would move others.
                flip = Some(end.as_nanos().wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
        if is_lost {
            self.counts.lost += 1;
            return None;
        }
        self.counts.duplicated += u64::from(is_doubled);
        self.counts.corrupted += u64::from(damage.is_some());
        // The order is that of what is left of the delays.
        let mut at = end + delay + later;
        let waits = self.last - (at - early);
        early = early - waits;
        at = at.max(self.last);
        match is_held {
            true => at += hold,
            false => self.last = at - early,
        }
        Some(Fate {
            at,
            early,
            is_held,
            is_doubled,
            damage,
            flip,
        })
    }

    /// A copy could not be made.
    pub fn is_not_doubled(&mut self) {
        self.counts.duplicated -= 1;
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        let rules = self.rules.iter();
        Counts {
            rules: rules.map(|active| active.counts.clone()).collect(),
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests;
