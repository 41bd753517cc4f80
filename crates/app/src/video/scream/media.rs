//! The target of the encoder: what the window sends in a round trip, less some room.
//!
//! The room is a fifth, and more where the sender's queue is older than a quarter of the frame interval or
//! where frames are longer than they should be.

use quell_units::Time;

use super::window::Window;
use super::{ONE, SECOND, bytes_in, ratio, times};

/// Headers that a packet has beside its payload, as the source counts them.
const OVERHEAD: u64 = 20;
/// The most room that frames that are too long add, and that the queue adds.
const MOST_DEVIATION: u64 = ONE / 5;
const MOST_ADJUSTMENT: i64 = ONE as i64 / 2;
/// A target below this part of what arrives is low.
const LOW: u64 = ONE * 4 / 5;

/// The target and what it depends on.
#[derive(Debug, Clone)]
pub struct Media {
    least: u64,
    most: u64,
    /// The rate of the window over that of the target.
    room: u64,
    /// Rate in bits per second.
    target: u64,
    /// Halved until then.
    halved: Time,
    /// Room because of the queue, and of long frames.
    adjustment: i64,
    deviation: u64,
    /// Time from a frame to the next, and when the last was made.
    period: Time,
    last: Option<Time>,
    /// Rate of arrivals, in bits per second; and bytes since the time that follows.
    acked_rate: u64,
    acked: (u64, Time),
}

impl Media {
    /// A target within these rates, in bits per second.
    pub fn new((least, most): (u64, u64)) -> Self {
        let least = least.min(most).max(1);
        Self {
            least,
            most,
            room: ONE * 6 / 5,
            target: least,
            halved: Time::ZERO,
            adjustment: 0,
            deviation: 0,
            period: Time::from_millis(20),
            last: None,
            acked_rate: 0,
            acked: (0, Time::ZERO),
        }
    }

    /// The rate with another room than a fifth.
    #[must_use]
    pub fn with_room(self, room: u64) -> Self {
        Self { room, ..self }
    }

    /// The target in bits per second.
    pub fn target(&self) -> u64 {
        match self.last.is_some_and(|last| last < self.halved) {
            true => (self.target / 2).max(self.least).min(self.most),
            false => self.target,
        }
    }

    /// The most that it can be.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Limits the rate from now on.
    pub fn limit(&mut self, most: u64) {
        self.most = most.max(1);
        self.target = self.target.min(self.most);
    }

    /// Whether the target is well below what arrives.
    pub fn is_low(&self) -> bool {
        self.target < times(self.acked_rate, LOW)
    }

    /// The target is halved for some time.
    pub fn halve_until(&mut self, until: Time) {
        self.halved = until;
    }

    /// A frame of this many bytes was made while the oldest one in the queue had waited for `waits`.
    pub fn frame(&mut self, size: u64, waits: Time, now: Time) {
        if let Some(last) = self.last {
            self.period = ((now - last) * 9 + self.period) / 10;
        }
        self.last = Some(now);
        let period = self.period.as_nanos().max(1);
        let error = waits.signed_since(Time::from_nanos(period / 4));
        let error = i128::from(error) * i128::from(ONE) / i128::from(period) / 16;
        let adjustment = i128::from(self.adjustment) + error;
        self.adjustment = adjustment.clamp(0, i128::from(MOST_ADJUSTMENT)) as i64;
        let nominal = bytes_in(self.target(), self.period);
        let deviation = ratio(size.saturating_sub(nominal), nominal).min(64 * ONE);
        self.deviation = ((self.deviation * 63 + deviation) / 64).min(MOST_DEVIATION);
    }

    /// A number of bytes arrived.
    pub fn acknowledge(&mut self, bytes: u64, now: Time) {
        let (sum, since) = self.acked;
        let sum = sum + bytes;
        let span = now - since;
        // Two frames, so that it does not matter where in a frame it begins.
        if span < self.period * 2 {
            self.acked.0 = sum;
            return;
        }
        let bits = u128::from(sum) * 8 * u128::from(SECOND) / u128::from(span.as_nanos());
        self.acked_rate = u64::try_from(bits).unwrap_or(u64::MAX);
        self.acked = (0, now);
    }

    /// The window or the RTT has changed.
    pub fn update(&mut self, window: &Window, srtt: Time, packet: u64) {
        let bits = u128::from(window.bytes()) * 8 * u128::from(SECOND);
        let rate = u64::try_from(bits / u128::from(srtt.as_nanos().max(1))).unwrap_or(u64::MAX);
        // A window of few packets is not filled well.
        let few = window.ratio().saturating_sub(ONE / 10).min(ONE / 5);
        let room = self.room + self.adjustment as u64 + self.deviation;
        let part = [ratio(packet, packet + OVERHEAD), ratio(ONE, room)]
            .into_iter()
            .fold(ONE - few, times);
        self.target = times(rate, part).max(self.least).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// A window of at least this many bytes.
    fn window(bytes: u64) -> Window {
        let mut window = Window::new(1_000);
        while window.bytes() < bytes {
            let growth = super::super::window::Growth {
                acked: window.bytes(),
                srtt: MS(25),
                steadiness: ONE,
                most: bytes + 5_000,
            };
            window.grow(&growth, MS(0));
        }
        window
    }

    fn media() -> Media {
        Media::new((1_000_000, 100_000_000))
    }

    #[test]
    fn the_target_is_the_window_over_the_rtt_less_a_fifth() {
        let window = window(100_000);
        let of = |media: &mut Media, srtt| {
            media.update(&window, srtt, 1_000);
            media.target() as f64
        };
        let expected = window.bytes() as f64 * 8.0 / 0.05 / 1.2 * 1_000.0 / 1_020.0;
        let target = of(&mut media(), MS(50));
        assert!(
            (target / expected - 1.0).abs() < 1e-4,
            "{target} {expected}"
        );
        let target = of(&mut media().with_room(ONE), MS(50));
        assert!(
            (target / expected / 1.2 - 1.0).abs() < 1e-4,
            "{target} {expected}"
        );
        assert_eq!(of(&mut media(), MS(1)), 100e6);
        assert_eq!(of(&mut media(), MS(9_000)), 1e6);
    }

    #[test]
    fn a_window_of_few_packets_has_a_lower_target() {
        let few = window(3_000);
        let mut media = media();
        media.update(&few, MS(10), 1_000);
        // A third is a packet: a fifth less.
        let expected = few.bytes() as f64 * 8.0 / 0.01 * 0.8 / 1.2 * 1_000.0 / 1_020.0;
        assert!((media.target() as f64 / expected - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_target_falls_while_the_queue_grows_and_recovers() {
        let window = window(100_000);
        let mut media = media();
        media.update(&window, MS(50), 1_000);
        let before = media.target();
        let nominal = bytes_in(before, MS(20));
        let mut frames = 0..;
        let mut frame = |media: &mut Media, size, waits| {
            media.frame(size, waits, MS(20 * frames.next().unwrap()));
            media.update(&window, MS(50), 1_000);
            media.target()
        };
        // A queue of a quarter of the interval is none.
        for _ in 0..20 {
            assert_eq!(frame(&mut media, 0, MS(5)), before);
        }
        // One and a quarter: a sixteenth per frame, to a half.
        let after = frame(&mut media, 0, MS(25)) as f64 / before as f64;
        assert!((after - 1.2 / 1.2625).abs() < 1e-4, "{after}");
        let mut after = 0.0;
        for _ in 0..20 {
            after = frame(&mut media, 0, MS(25)) as f64 / before as f64;
        }
        assert!((after - 1.2 / 1.7).abs() < 1e-4, "{after}");
        for _ in 0..40 {
            frame(&mut media, 0, MS(0));
        }
        assert_eq!(media.target(), before);
        // Frames of twice the length: a fifth at most.
        for _ in 0..100 {
            after = frame(&mut media, 2 * nominal, MS(0)) as f64 / before as f64;
        }
        assert!((after - 1.2 / 1.4).abs() < 1e-4, "{after}");
    }

    #[test]
    fn a_target_below_four_fifths_of_what_arrives_is_low() {
        let mut media = media();
        media.target = 8_000_000;
        media.acknowledge(50_000, MS(40));
        assert_eq!(media.acked_rate, 10_000_000);
        assert!(!media.is_low());
        media.acknowledge(30_000, MS(60));
        media.acknowledge(21_000, MS(80));
        assert_eq!(media.acked_rate, 10_200_000);
        assert!(media.is_low());
    }

    #[test]
    fn a_lower_maximum_holds_at_once_and_below_the_least_rate_too() {
        let window = window(100_000);
        let mut media = media();
        for most in [100_000_000, 2_000_000, 500_000, 3_000_000] {
            media.limit(most);
            assert!(media.target() <= most);
            media.update(&window, MS(5), 1_000);
            assert_eq!(media.target(), most);
        }
    }

    #[test]
    fn the_target_is_halved_for_a_time() {
        let mut media = media();
        media.target = 8_000_000;
        media.frame(1_000, MS(0), MS(20));
        media.halve_until(MS(100));
        assert_eq!(media.target(), 4_000_000);
        media.frame(1_000, MS(0), MS(100));
        assert_eq!(media.target(), 8_000_000);
    }
}
