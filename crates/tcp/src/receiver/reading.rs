//! The reads of the application: at once, or like the bulk readers on the hosts of the other worlds, which
//! are woken for a number of bytes (SO_RCVLOWAT).
//!
//! Unread data is not acknowledged for its PSH, and takes memory of the buffer. A reader is woken for a
//! twenty-fifth of what arrived in the last interval, or a quarter of what it reads in an RTT if that is
//! less, rounded down to a power of two, of at most 64 KiB; below 2 KiB it is woken for each segment. Not
//! modelled: just before each sample those readers read the rest.

use quell_units::Time;

/// Bounds in bytes of what a reader is woken for.
const LEAST: u64 = 2 << 10;
const MOST: u64 = 64 << 10;
/// Number of reads in an interval, and in an RTT.
const READS_PER_INTERVAL: u64 = 25;
const READS_PER_RTT: u64 = 4;

/// The reader of one connection.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Time between two adaptations to what arrives; `None` if everything is read at once.
    interval: Option<Time>,
    next_look: Time,
    /// RCV.NXT at the last adaptation.
    arrived: u64,
    /// Number of unread bytes at which it is woken (`sk_rcvlowat`).
    threshold: u64,
    /// First number that it has not read.
    read: u64,
}

impl Reading {
    pub(super) fn new(interval: Option<Time>) -> Self {
        Self {
            interval: interval.filter(|interval| !interval.is_zero()),
            next_look: Time::ZERO,
            arrived: 0,
            threshold: 1,
            read: 0,
        }
    }
    /// Adapts the threshold if it is time. `arrived` is RCV.NXT, `per_rtt` the number of bytes read in an
    /// RTT as the buffer measures it.
    #[inline]
    pub(super) fn look(&mut self, arrived: u64, per_rtt: impl FnOnce() -> u64, now: Time) {
        if now >= self.next_look
            && let Some(interval) = self.interval
        {
            self.adapt(arrived, per_rtt(), interval, now);
        }
    }
    fn adapt(&mut self, arrived: u64, per_rtt: u64, interval: Time, now: Time) {
        // An interval without any arrival was skipped.
        let is_recent = now < self.next_look + interval;
        let bytes = if is_recent { arrived - self.arrived } else { 0 };
        let share = (bytes / READS_PER_INTERVAL)
            .min(per_rtt / READS_PER_RTT)
            .min(MOST);
        self.threshold = if share < LEAST { 1 } else { 1 << share.ilog2() };
        self.arrived = arrived;
        self.next_look = interval * (now.as_nanos() / interval.as_nanos() + 1);
    }
    /// Number of unread bytes before `next`.
    #[inline]
    pub(super) fn unread(&self, next: u64) -> u64 {
        next - self.read
    }
    /// Whether enough is unread to wake the application.
    #[inline]
    pub(super) fn is_woken(&self, next: u64) -> bool {
        self.unread(next) >= self.threshold
    }
    /// The application has read everything before `next`.
    #[inline]
    pub(super) fn on_read(&mut self, next: u64) {
        self.read = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `quell-hosts` adapts its reads: per interval of 100 ms 12 500 bytes a Mbit/s.
    #[test]
    fn a_reader_is_woken_for_a_part_of_an_interval_and_of_an_rtt() {
        for (mbps, per_rtt, threshold) in [
            (1, u64::MAX, 1),
            (4, u64::MAX, 1),
            (5, u64::MAX, 2_048),
            (40, u64::MAX, 16_384),
            (100, u64::MAX, 32_768),
            (1_000, u64::MAX, 65_536),
            (1_000, 125_000, 16_384),
            (1_000, 8_000, 1),
        ] {
            let per_rtt = || per_rtt;
            let mut reading = Reading::new(Some(Time::from_millis(100)));
            assert!(reading.is_woken(1));
            reading.look(0, per_rtt, Time::from_millis(150));
            reading.look(12_500 * mbps, per_rtt, Time::from_millis(200));
            assert_eq!(reading.threshold, threshold, "{mbps}");
            assert_eq!(reading.is_woken(4_000), threshold <= 4_000);
            // Then a pause.
            reading.look(12_500 * mbps + 1, per_rtt, Time::from_millis(450));
            assert_eq!(reading.threshold, 1);
        }
        let mut prompt = Reading::new(None);
        prompt.look(1 << 30, || u64::MAX, Time::from_secs(1));
        assert!(prompt.is_woken(1));
    }
}
