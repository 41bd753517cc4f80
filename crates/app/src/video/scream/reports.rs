//! The receiver's reports: one for the packets since the last, behind the last packet of a
//! frame, behind 16 packets, and at the latest 40 ms after the last report (draft, requirements on feedback).

use quell_units::{Bytes, Ecn, Time};

/// Packets until a report.
const PACKETS: u64 = 16;
/// Time from a report to the next, where packets have arrived.
const INTERVAL: Time = Time::from_millis(40);
/// Nanoseconds in the units of times of sending, of delays, and of their span.
const SENT_UNIT: u64 = 64;
const DELAY_UNIT: u64 = 128;
const SPAN_UNIT: u64 = 128_000;
/// Bits of each number.
const SENT: u32 = 30;
const DELAY: u32 = 24;
const SPAN: u32 = 8;
const EXPECTED: u32 = 21;
const COUNTER: u32 = 16;

/// IP length of a report: that of RFC 8888 for 64 packets, which the authors' program sends: headers of
/// IPv4, UDP and RTCP, one block, two bytes for each packet, and a time.
pub const REPORT: Bytes = Bytes::new(28 + 8 + 8 + 2 * 64 + 4);

/// Arrivals so far, and the delays of the packets since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Departure of the newest packet.
    pub sent: Time,
    /// Time that it took, in units of 128 ns; 2.1 s at most.
    pub delay: Time,
    /// Time by which another packet took less, and by which one took more, in units of 128 µs; 33 ms at most.
    pub spread: (Time, Time),
    /// One more than the highest sequence number that arrived.
    pub expected: u64,
    /// Packets of a lower number that did not.
    pub lost: u64,
    /// Packets that were marked.
    pub marked: u64,
    /// Whether packets that are not marked have ECT(1).
    pub scalable: bool,
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The first number not before `before` whose low bits are `low`.
const fn ahead(low: u64, bits: u32, before: u64) -> u64 {
    before.wrapping_add(low.wrapping_sub(before) & mask(bits))
}

impl Report {
    /// The least and the greatest delay.
    pub fn span(&self) -> (Time, Time) {
        (self.delay - self.spread.0, self.delay + self.spread.1)
    }

    pub(crate) fn pack(self) -> [u64; 2] {
        let units = |time: Time, unit: u64, bits: u32| (time.as_nanos() / unit).min(mask(bits));
        let sent = (self.sent.as_nanos() / SENT_UNIT) & mask(SENT);
        // The highest bit belongs to inputs.
        let first = u64::from(self.scalable) << (SENT + DELAY + SPAN)
            | sent << (DELAY + SPAN)
            | units(self.delay, DELAY_UNIT, DELAY) << SPAN
            | units(self.spread.0, SPAN_UNIT, SPAN);
        let second = (self.expected & mask(EXPECTED)) << (2 * COUNTER + SPAN)
            | (self.lost & mask(COUNTER)) << (COUNTER + SPAN)
            | (self.marked & mask(COUNTER)) << SPAN
            | units(self.spread.1, SPAN_UNIT, SPAN);
        [first, second]
    }

    /// The report, at a sender that heard `last` before. Packets left 68 s ago at most, and reports come in their order.
    pub(crate) fn unpack([first, second]: [u64; 2], last: &Self, now: Time) -> Self {
        let units = now.as_nanos() / SENT_UNIT;
        let ago = units.wrapping_sub(first >> (DELAY + SPAN)) & mask(SENT);
        let delay = first >> SPAN & mask(DELAY);
        let span = |word: u64| Time::from_nanos((word & mask(SPAN)) * SPAN_UNIT);
        let lost = second >> (COUNTER + SPAN);
        // Reordering takes losses back.
        let lost = ahead(lost, COUNTER, last.lost.saturating_sub(mask(COUNTER) / 2));
        Self {
            sent: Time::from_nanos(units.saturating_sub(ago) * SENT_UNIT),
            delay: Time::from_nanos(delay * DELAY_UNIT),
            spread: (span(first), span(second)),
            expected: ahead(second >> (2 * COUNTER + SPAN), EXPECTED, last.expected),
            lost,
            marked: ahead(second >> SPAN, COUNTER, last.marked),
            scalable: first >> (SENT + DELAY + SPAN) & 1 == 1,
        }
    }
}

/// Makes the reports.
#[derive(Debug, Clone, Default)]
pub struct Reports {
    report: Report,
    received: u64,
    /// Packets since the last report, and the least and the greatest delay of them.
    packets: u64,
    least: Time,
    most: Time,
    /// Time of the last report.
    made: Time,
}

impl Reports {
    /// Packet `number`, which left at `sent`, arrived, and is the last of its frame or not. Returns a report
    /// if one is due.
    pub fn take(
        &mut self,
        (number, sent): (u64, Time),
        ecn: Ecn,
        is_last: bool,
        now: Time,
    ) -> Option<Report> {
        self.received += 1;
        let took = now - sent;
        let is_first = self.packets == 0;
        self.least = if is_first { took } else { self.least.min(took) };
        self.most = if is_first { took } else { self.most.max(took) };
        self.packets += 1;
        let report = &mut self.report;
        report.marked += u64::from(ecn == Ecn::Ce);
        if ecn != Ecn::Ce {
            report.scalable = ecn == Ecn::Ect1;
        }
        if number >= report.expected {
            (report.sent, report.delay, report.expected) = (sent, took, number + 1);
        }
        report.lost = report.expected.saturating_sub(self.received);
        match is_last || self.packets >= PACKETS {
            true => self.make(now),
            false => self.due(now),
        }
    }

    /// Time of the next report, whatever arrives; [`Time::MAX`] if there is nothing to report.
    pub fn deadline(&self) -> Time {
        match self.packets {
            0 => Time::MAX,
            _ => self.made + INTERVAL,
        }
    }

    /// The report that is due at `now`.
    pub fn due(&mut self, now: Time) -> Option<Report> {
        match self.deadline() <= now {
            true => self.make(now),
            false => None,
        }
    }

    fn make(&mut self, now: Time) -> Option<Report> {
        self.report.spread = (
            self.report.delay - self.least,
            self.most - self.report.delay,
        );
        self.packets = 0;
        self.made = now;
        Some(self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn reports_follow_frames_sixteen_packets_and_forty_milliseconds() {
        let mut reports = Reports::default();
        let mut take = |number, is_last, ms| {
            let packet = (number, MS(ms - 20));
            let report = reports.take(packet, Ecn::Ect1, is_last, MS(ms));
            (report.is_some(), reports.deadline())
        };
        // Nothing was reported for long.
        assert_eq!(take(0, false, 100), (true, Time::MAX));
        assert_eq!(take(1, false, 101), (false, MS(140)));
        assert_eq!(take(2, true, 102), (true, Time::MAX));
        for number in 3..18 {
            assert_eq!(take(number, false, 103), (false, MS(142)));
        }
        assert_eq!(take(18, false, 104), (true, Time::MAX));
        assert_eq!(take(19, false, 110), (false, MS(144)));
        assert_eq!(reports.due(MS(143)), None);
        assert!(reports.due(MS(144)).is_some());
        assert_eq!(reports.due(MS(500)), None);
    }

    #[test]
    fn a_report_counts_and_measures() {
        let mut reports = Reports::default();
        let mut take = |number: u64, took: u64, ecn, is_last| {
            reports.take((number, MS(1_000)), ecn, is_last, MS(1_000 + took))
        };
        take(0, 20, Ecn::Ect1, true);
        take(1, 23, Ecn::Ce, false);
        take(2, 28, Ecn::Ect1, false);
        // 3 and 4 are missing.
        let report = take(5, 25, Ecn::Ce, true).unwrap();
        assert_eq!((report.expected, report.lost, report.marked), (6, 2, 2));
        assert_eq!((report.sent, report.delay), (MS(1_000), MS(25)));
        assert_eq!((report.span(), report.scalable), ((MS(23), MS(28)), true));
        // 4 came late.
        let report = take(4, 45, Ecn::Ect0, true).unwrap();
        assert_eq!(
            (report.expected, report.lost, report.scalable),
            (6, 1, false)
        );
    }

    proptest! {
        #[test]
        fn a_report_survives_the_wire(
            sent in 0_u64..86_400_000_000_000,
            delay in 0_u64..2_100_000_000,
            spread in (0_u64..32_000_000, 0_u64..32_000_000),
            after in 0_u64..60_000_000_000,
            expected in 0_u64..100_000_000,
            more in 0_u64..2_000_000,
            lost in 0_u64..1_000_000,
            marked in 0_u64..1_000_000,
            fewer in 0_u64..30_000,
            scalable: bool,
        ) {
            let in_units = |ns: u64, unit: u64| Time::from_nanos(ns / unit * unit);
            let report = Report {
                sent: in_units(sent, SENT_UNIT),
                delay: in_units(delay, DELAY_UNIT),
                spread: (in_units(spread.0, SPAN_UNIT), in_units(spread.1, SPAN_UNIT)),
                expected: expected + more,
                lost,
                marked,
                scalable,
            };
            let last = Report {
                expected,
                lost: lost.saturating_sub(fewer),
                marked: marked.saturating_sub(fewer),
                ..report
            };
            let now = Time::from_nanos(sent + delay + after);
            prop_assert_eq!(report.pack()[0] >> 63, 0);
            prop_assert_eq!(Report::unpack(report.pack(), &last, now), report);
        }
    }
}
