//! When the application reads: at once, or as the hosts of the other worlds do with bulk data, which they wake
//! for so many bytes (SO_RCVLOWAT).
//!
//! What is not read yet is not acknowledged for its PSH, and takes memory of the buffer. Hosts wake for a
//! hundredth of what arrived in the last interval, a power of two between 2 and 16 KiB, and below that for
//! each segment.

use quell_aqm::Time;

/// Bounds of what they are woken for.
const LEAST: u64 = 2 << 10;
const MOST: u64 = 16 << 10;
/// How often in an interval.
const READS_PER_INTERVAL: u64 = 100;

/// The reader of one connection.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Between two looks at how much arrives; `None` where everything is read at once.
    interval: Option<Time>,
    next_look: Time,
    /// What had arrived at the last look.
    arrived: u64,
    /// It reads when so much waits.
    threshold: u64,
    /// What it has read.
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
    /// Something will arrive at `now`; so much has until then.
    #[inline]
    pub(super) fn look(&mut self, arrived: u64, now: Time) {
        if now >= self.next_look
            && let Some(interval) = self.interval
        {
            self.adapt(arrived, interval, now);
        }
    }
    fn adapt(&mut self, arrived: u64, interval: Time, now: Time) {
        // Nothing at all came in an interval that was not looked at.
        let is_recent = now < self.next_look + interval;
        let bytes = if is_recent { arrived - self.arrived } else { 0 };
        let share = (bytes / READS_PER_INTERVAL).min(MOST);
        self.threshold = if share < LEAST { 1 } else { 1 << share.ilog2() };
        self.arrived = arrived;
        self.next_look = interval * (now.as_nanos() / interval.as_nanos() + 1);
    }
    /// Bytes that wait of what is complete up to `next`.
    #[inline]
    pub(super) fn unread(&self, next: u64) -> u64 {
        next - self.read
    }
    /// Whether so much waits that the application is woken.
    #[inline]
    pub(super) fn is_woken(&self, next: u64) -> bool {
        self.unread(next) >= self.threshold
    }
    /// It has read everything up to `next`.
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
    fn a_reader_is_woken_for_a_hundredth_of_an_interval() {
        for (mbps, threshold) in [
            (1, 1),
            (16, 1),
            (17, 2_048),
            (40, 4_096),
            (100, 8_192),
            (1_000, 16_384),
        ] {
            let mut reading = Reading::new(Some(Time::from_millis(100)));
            assert!(reading.is_woken(1));
            reading.look(0, Time::from_millis(150));
            reading.look(12_500 * mbps, Time::from_millis(200));
            assert_eq!(reading.threshold, threshold, "{mbps}");
            assert_eq!(reading.is_woken(4_000), threshold <= 4_000);
            // Then a pause.
            reading.look(12_500 * mbps + 1, Time::from_millis(450));
            assert_eq!(reading.threshold, 1);
        }
        let mut prompt = Reading::new(None);
        prompt.look(1 << 30, Time::from_secs(1));
        assert!(prompt.is_woken(1));
    }
}
