//! The fate of each packet of one direction: played, late, or lost.
//!
//! A packet that is not there when its turn comes is as good as lost. Packets of one flow keep their order
//! in every world; one that came after a later one would count as late.
//!
//! The score is that of the whole call, and of each 10 s of the run: one bad second disappears in the
//! mean of a minute.

use std::collections::BTreeMap;
use std::ops::Range;

use quell_units::Time;

use super::playout::Playout;
use super::report::{Heard, Tally, hundredths};
use super::score::Impairment;
use crate::datagrams::Receiver;
use crate::{Action, Application as _, Carrier, Delays, Event, EventInfo, Input, Outcome};

/// The length of a window.
pub(crate) const WINDOW: Time = Time::from_secs(10);

/// Fewer packets than these say nothing about their loss: a window has no rating then.
const FEWEST: u64 = 50;

const VALUE: &str = "R × 100, not below 0";

/// The records of listeners: the one at the receiver, and the one at the sender.
pub(crate) const INTERVALS: &[EventInfo] = &[
    EventInfo {
        kind: "interval",
        meaning: "a window of 10 s of the run, as the listener at the receiver heard it; `lost` if nothing was played; none with fewer than 50 packets",
        value: VALUE,
    },
    EventInfo {
        kind: "interval-back",
        meaning: "the same for the listener at the sender",
        value: VALUE,
    },
];

/// After this time a packet does not come any more.
const GONE: Time = Time::from_secs(1);

/// One who listens.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    impairment: Impairment,
    /// Time from the first sample of a packet until it leaves the encoder.
    coding: Time,
    /// The mean time between packets.
    gap: Time,
    playout: Playout,
    /// The report of the network, as for any datagrams.
    datagrams: Receiver,
    /// Packets before this number do not count.
    first: u64,
    /// End of the last stretch.
    cut: Time,
    /// Number and sending time of the last packet.
    last: Option<(u64, Time)>,
    is_losing: bool,
    late: u64,
    call: Tally,
    wait: Delays,
    mouth_to_ear: Delays,
    windows: Windows,
}

/// The windows of 10 s.
#[derive(Debug, Clone, Default)]
struct Windows {
    /// [`Event::kind`].
    kind: &'static str,
    /// Number of the present one, and what was heard in it.
    present: Option<(u64, Tally)>,
    /// One more than the number of the last that is over.
    next: u64,
    /// Ratings of those that are over, × 100, with how often each occurred.
    ratings: BTreeMap<u16, u32>,
    /// Windows that begin before this do not count.
    from: Time,
    /// Ended by a cut, and to be recorded.
    pending: Vec<Event>,
}

impl Listener {
    pub(crate) fn new(
        impairment: Impairment,
        coding: Time,
        gap: Time,
        playout: Playout,
        kind: &'static str,
    ) -> Self {
        Self {
            impairment,
            coding,
            gap,
            playout,
            datagrams: Receiver::default(),
            first: 0,
            cut: Time::ZERO,
            last: None,
            is_losing: false,
            late: 0,
            call: Tally::default(),
            wait: Delays::default(),
            mouth_to_ear: Delays::default(),
            windows: Windows {
                kind,
                ..Windows::default()
            },
        }
    }

    pub(crate) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        actions.extend(self.windows.pending.drain(..).map(Action::Record));
        let Input::Datagram { sequence, sent, .. } = input else {
            return;
        };
        self.datagrams.poll(now, input, actions);
        let delay = now - sent;
        let (expected, before) = match self.last {
            Some((last, before)) => (last + 1, before),
            None => (0, sent),
        };
        let Some(missing) = sequence.checked_sub(expected) else {
            // Its turn was over when the later one came.
            self.late += u64::from(sequence >= self.first);
            return;
        };
        self.lose(expected..sequence, before, sent, actions);
        let silence = sent - before;
        let begins_spurt = silence > self.gap * (missing + 1) + self.gap / 2;
        let point = self.playout.arrive(now, delay, begins_spurt);
        self.last = Some((sequence, sent));
        let ear = self.coding + point;
        let is_played = delay <= point;
        if sequence >= self.first {
            if is_played {
                self.wait.record(point - delay);
                self.mouth_to_ear.record(ear);
            } else {
                self.late += 1;
            }
        }
        self.count(sequence, sent, is_played.then_some(ear), actions);
    }

    /// The packets of these numbers, between those of `before` and `after`, did not come.
    fn lose(&mut self, missing: Range<u64>, before: Time, after: Time, actions: &mut Vec<Action>) {
        let span = u128::from((after - before).as_nanos());
        let parts = u128::from(missing.end - missing.start + 1);
        for (sequence, part) in missing.zip(1_u128..) {
            let sent = before + Time::from_nanos((span * part / parts) as u64);
            self.count(sequence, sent, None, actions);
        }
    }

    /// A packet of `sent` was heard after `heard`, or not at all.
    fn count(&mut self, sequence: u64, sent: Time, heard: Option<Time>, actions: &mut Vec<Action>) {
        let begins_run = heard.is_none() && !self.is_losing;
        self.is_losing = heard.is_none();
        let event = self.windows.count(sent, heard, begins_run, self.impairment);
        actions.extend(event.map(Action::Record));
        if sequence >= self.first {
            self.call.count(heard, begins_run);
        }
    }

    /// A stretch ends at `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        let over = |(number, _): &(u64, Tally)| WINDOW * (number + 1) <= now;
        if self.windows.present.as_ref().is_some_and(over) {
            let event = self.windows.close(self.impairment);
            self.windows.pending.extend(event);
        }
        self.windows.from = now;
        self.cut = now;
    }

    pub(crate) fn start_counting(&mut self, sent: u64) {
        self.datagrams.start_counting(sent);
        self.first = sent;
        self.late = 0;
        self.call = Tally::default();
        self.wait = Delays::default();
        self.mouth_to_ear = Delays::default();
        self.windows.ratings.clear();
    }

    pub(crate) fn report(&self, sent: u64) -> Option<Heard> {
        let mut call = self.call;
        // A packet sent this long ago that is not here is lost. The rest may be in flight.
        if let Some((last, at)) = self.last {
            let after = last.saturating_add(1).max(self.first);
            let overdue = (self.cut - at - GONE).as_nanos() / self.gap.as_nanos().max(1);
            for _ in 0..overdue.min(sent.saturating_sub(after)) {
                call.count(None, false);
            }
        }
        Some(Heard {
            datagrams: self.datagrams.report(sent)?,
            late: self.late,
            wait: self.wait.clone(),
            mouth_to_ear: self.mouth_to_ear.clone(),
            impairment: Some(self.impairment),
            calls: vec![call],
            windows: self.windows.ratings.clone(),
        })
    }

    pub(crate) fn unfinished(&self, records: &mut Vec<Event>) {
        records.extend(&self.windows.pending);
        let present = self.windows.event(self.impairment);
        records.extend(present.map(|event| Event {
            ended: None,
            outcome: Outcome::Unfinished,
            ..event
        }));
    }
}

impl Windows {
    /// A packet of `sent` was heard after `heard`, or not at all. Returns the window that it ends.
    fn count(
        &mut self,
        sent: Time,
        heard: Option<Time>,
        begins_run: bool,
        impairment: Impairment,
    ) -> Option<Event> {
        let window = sent.as_nanos() / WINDOW.as_nanos();
        if window < self.next {
            return None;
        }
        let is_new = self.present.is_none_or(|(number, _)| number < window);
        let event = if is_new { self.close(impairment) } else { None };
        let (_, tally) = self.present.get_or_insert((window, Tally::default()));
        tally.count(heard, begins_run);
        event
    }

    /// Ends the present window.
    fn close(&mut self, impairment: Impairment) -> Option<Event> {
        let event = self.event(impairment);
        if let Some((number, _)) = self.present.take() {
            self.next = number + 1;
        }
        let event = event?;
        if event.started >= self.from {
            *self.ratings.entry(event.value as u16).or_default() += 1;
        }
        Some(event)
    }

    /// The present window, as if it were over.
    fn event(&self, impairment: Impairment) -> Option<Event> {
        let (number, tally) = self.present.as_ref()?;
        if tally.packets() < FEWEST {
            return None;
        }
        let score = tally.score(impairment)?;
        let started = WINDOW * *number;
        Some(Event {
            kind: self.kind,
            number: *number,
            started,
            first: None,
            last: None,
            ended: Some(started + WINDOW),
            size: 0,
            outcome: if tally.played == 0 {
                Outcome::Lost
            } else {
                Outcome::Complete
            },
            value: hundredths(score.rating).into(),
            wait: None,
            carrier: Carrier::Nothing,
            note: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::playout::Rule;
    use quell_units::{Bytes, Ecn};

    const fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn listener(rule: Rule, buffer: Time) -> Listener {
        let impairment = Impairment {
            equipment: 0,
            robustness: 251,
            is_g729: false,
        };
        let playout = Playout::new(rule, buffer, ms(500), ms(20));
        Listener::new(impairment, ms(20), ms(20), playout, "interval")
    }

    /// Packet `sequence`, sent at its time with a packet each 20 ms, arrives after `delay`.
    fn arrive(listener: &mut Listener, sequence: u64, delay: Time) -> Vec<Action> {
        let sent = ms(20 * sequence);
        let input = Input::Datagram {
            sequence,
            sent,
            size: Bytes::new(200),
            ecn: Ecn::NotEct,
            content: [0; 2],
        };
        let mut actions = Vec::new();
        listener.poll(sent + delay, input, &mut actions);
        actions
    }

    #[test]
    fn a_fixed_buffer_plays_all_but_the_packet_that_comes_too_late() {
        let mut listener = listener(Rule::Fixed, ms(60));
        for (sequence, delay) in [10, 10, 10, 90, 10, 10].into_iter().enumerate() {
            arrive(&mut listener, sequence as u64, ms(delay));
        }
        let heard = listener.report(6).unwrap();
        assert_eq!((heard.late, heard.datagrams.lost), (1, 0));
        let call = heard.calls[0];
        assert_eq!((call.played, call.lost, call.runs), (5, 1, 1));
        // 20 ms of packet, and 70 from sending to playing.
        let ear = (heard.mouth_to_ear.min(), heard.mouth_to_ear.max());
        assert_eq!(ear, (Some(ms(90)), Some(ms(90))));
        assert_eq!(heard.wait.max(), Some(ms(60)));
    }

    #[test]
    fn losses_are_counted_in_runs_and_in_the_windows_in_which_they_were_sent() {
        let mut listener = listener(Rule::Fixed, ms(60));
        let mut events = Vec::new();
        // 500 packets in a window; 100 to 109 and 700 are missing, and one in flight at the end.
        for sequence in (0..1_500).filter(|n| !(100..110).contains(n) && *n != 700) {
            events.extend(arrive(&mut listener, sequence, ms(10)));
        }
        listener.advance(ms(30_000));
        let heard = listener.report(1_501).unwrap();
        let call = heard.calls[0];
        assert_eq!((call.played, call.lost, call.runs), (1_489, 11, 2));
        assert_eq!(heard.datagrams.lost, 12);
        let rating = |loss, burst| {
            let r = super::super::score::rating(listener.impairment, 90.0, loss, burst);
            hundredths(r)
        };
        let expected = [(0.02, 10.0 * 0.98), (0.002, 1.0), (0.0, 1.0)].map(|(l, b)| rating(l, b));
        assert_eq!(events.len(), 2, "the third window ends at the cut");
        listener.unfinished(&mut Vec::new());
        let mut actions = Vec::new();
        listener.poll(ms(30_000), Input::Wake, &mut actions);
        events.extend(actions);
        for ((action, value), number) in events.iter().zip(expected).zip(0..) {
            let Action::Record(event) = action else {
                panic!("{action:?}")
            };
            assert_eq!((event.number, event.value), (number, value.into()));
        }
        let counted: u32 = heard.windows.values().sum();
        assert_eq!(counted, 3);
        assert_eq!(*heard.windows.keys().next().unwrap(), expected[0]);
    }

    #[test]
    fn a_cut_leaves_out_what_is_in_flight_and_the_window_that_it_divides() {
        let mut listener = listener(Rule::Fixed, ms(60));
        for sequence in 0..250 {
            arrive(&mut listener, sequence, ms(10));
        }
        listener.advance(ms(5_000));
        assert_eq!(listener.report(251).unwrap().calls[0].lost, 0);
        listener.start_counting(251);
        for sequence in 250..1_100 {
            arrive(&mut listener, sequence, ms(10));
        }
        listener.advance(ms(22_000));
        let heard = listener.report(1_100).unwrap();
        assert_eq!(
            (heard.calls[0].played, heard.datagrams.received),
            (849, 849)
        );
        assert_eq!(heard.windows.values().sum::<u32>(), 1, "10 to 20 s");
    }

    #[test]
    fn what_never_comes_is_lost_after_a_second() {
        let mut listener = listener(Rule::Fixed, ms(60));
        for sequence in 0..100 {
            arrive(&mut listener, sequence, ms(10));
        }
        // The last was sent at 1 980 ms; another 200 should have come until 6 s.
        listener.advance(ms(5_980));
        assert_eq!(listener.report(300).unwrap().calls[0].lost, 150);
    }
}
