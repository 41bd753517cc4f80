//! The reference window: how much should be in flight.

use quell_units::Time;

use super::{ONE, VIRTUAL_RTT, ratio, times};

/// Fraction bits of the window.
const BITS: u32 = 16;
/// The least window, in bytes.
const LEAST: u64 = 3_000;
/// Part of the window that remains after a loss, and after a mark without L4S.
const BETA_LOSS: u64 = ONE * 7 / 10;
const BETA_ECN: u64 = ONE * 8 / 10;
/// The window grows by this part of itself per round trip, beside the packet.
const MULTIPLICATIVE: u64 = ONE / 50;
/// Round trips after congestion until growth is back to full.
const POST_CONGESTION: u64 = 100;
/// Round trips without a reaction after which the window may be far from the bytes in flight.
const LONG: u64 = 100;

/// Signs of congestion, and the state beside them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signs {
    /// A loss that counts.
    pub lost: bool,
    /// A mark.
    pub marked: bool,
    /// α, if marks are those of L4S.
    pub scalable: Option<u64>,
    /// The part of the packets that the queue delay would mark.
    pub delay: Option<u64>,
    /// The queue delay is below a quarter of its target.
    pub is_short: bool,
    /// Steadiness of the queue delay.
    pub steadiness: u64,
    /// A reaction is less in a long round trip.
    pub splits: bool,
    /// Smoothed RTT.
    pub srtt: Time,
    /// The target of the video is well below what arrives.
    pub is_low: bool,
    /// The maximum in flight, in bytes.
    pub flew: u64,
}

/// Growth of the window.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Bytes that were acknowledged, less those that were marked.
    pub acked: u64,
    /// Smoothed RTT.
    pub srtt: Time,
    /// Steadiness of the queue delay.
    pub steadiness: u64,
    /// It grows to this at most, in bytes.
    pub most: u64,
}

/// The reference window.
#[derive(Debug, Clone)]
pub struct Window {
    /// Length of a full packet, in bytes.
    packet: u64,
    /// Window in bytes, with [`BITS`].
    size: u64,
    /// Inflection point, the window at which congestion began last, in bytes; and whether the window grew since.
    inflection: u64,
    grew: bool,
    /// Distance of the window from it when the newest report arrived.
    distance: u64,
    /// Time of the last congestion, and of the window's last reaction.
    congested: Option<Time>,
    reacted: Option<Time>,
}

impl Window {
    /// The least window, for packets of this many bytes.
    pub const fn new(packet: u64) -> Self {
        Self {
            packet,
            size: LEAST << BITS,
            inflection: 1,
            grew: true,
            distance: ONE,
            congested: None,
            reacted: None,
        }
    }

    /// It has this many bytes, far from its inflection point.
    #[cfg(test)]
    pub(super) fn widen(&mut self, bytes: u64) {
        (self.size, self.inflection, self.grew) = (bytes << BITS, 1, false);
    }

    /// Window in bytes.
    pub const fn bytes(&self) -> u64 {
        self.size >> BITS
    }

    /// A full packet as a part of the window; at most one.
    pub fn ratio(&self) -> u64 {
        ratio(self.packet, self.bytes()).min(ONE)
    }

    /// Time of the window's last reaction; zero for never.
    pub fn reacted(&self) -> Time {
        self.reacted.unwrap_or(Time::ZERO)
    }

    /// A loss or a mark was detected.
    pub fn congested(&mut self, now: Time) {
        self.congested = Some(now);
    }

    /// Limits the window to this many bytes.
    pub fn bound(&mut self, bytes: u64) {
        self.size = self.size.min(bytes << BITS).max(LEAST << BITS);
    }

    /// A report arrived: its reaction and its growth depend on how far the window is from its inflection point now. That is its
    /// eight-fold distance in parts of the point, squared, from a tenth to one.
    pub fn locate(&mut self) {
        let far = ratio(self.bytes().abs_diff(self.inflection), self.inflection);
        let far = far.saturating_mul(8).min(ONE);
        self.distance = times(far, far).max(ONE / 10);
    }

    /// Reacts to congestion, if there is any.
    pub fn reduce(&mut self, signs: &Signs, now: Time) -> bool {
        if !signs.lost && !signs.marked && signs.delay.is_none() {
            return false;
        }
        if self.grew {
            self.inflection = self.bytes().max(1);
            self.grew = false;
        }
        // More than one reaction in a long round trip, and so each is less.
        let long = match signs.splits {
            true => ratio(signs.srtt.as_nanos(), VIRTUAL_RTT.as_nanos()).max(ONE),
            false => ONE,
        };
        let low = if signs.is_low { ONE / 4 } else { ONE };
        let by = |alpha: u64| ONE - times(ratio(alpha / 2, long), low).min(ONE);
        let remains = match (signs.lost, signs.marked, signs.scalable) {
            (true, ..) => BETA_LOSS,
            (_, true, None) => BETA_ECN,
            (_, true, Some(alpha)) => {
                let span = VIRTUAL_RTT.max(signs.srtt) * LONG;
                if now > self.reacted() + span && signs.flew > 0 {
                    self.size = self.size.min(signs.flew << BITS);
                }
                match signs.is_short {
                    true => {
                        let near = times(self.distance.max(ONE / 4), signs.steadiness.max(ONE / 4));
                        by(times(alpha, near))
                    }
                    false => by(alpha),
                }
            }
            _ => by(signs.delay.unwrap_or(0)),
        };
        self.size = times(self.size, remains).max(LEAST << BITS);
        self.reacted = Some(now);
        true
    }

    /// Grows by a packet per round trip (of at least the virtual RTT), by less near the inflection point or where the
    /// delay varies, and by a part of itself too where congestion is long ago.
    pub fn grow(&mut self, growth: &Growth, now: Time) {
        let since = self.congested.map_or(ONE, |at| {
            let span = VIRTUAL_RTT.max(growth.srtt) * POST_CONGESTION;
            ratio((now - at).as_nanos(), span.as_nanos()).min(ONE)
        });
        let packets = u128::from(self.bytes()) * u128::from(MULTIPLICATIVE);
        let multiplicative = u64::try_from(packets / u128::from(self.packet)).unwrap_or(u64::MAX);
        let factor = [
            ratio(growth.srtt.as_nanos(), VIRTUAL_RTT.as_nanos()).min(ONE),
            self.distance.max(ONE / 4),
            growth.steadiness.max(ONE / 10),
            ONE + times(times(multiplicative, since), self.distance),
        ]
        .into_iter()
        .fold(self.ratio(), times);
        let size = self
            .size
            .saturating_add(times(growth.acked << BITS, factor));
        if size <= growth.most << BITS && size > self.size {
            self.size = size;
            self.grew = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn window(bytes: u64) -> Window {
        Window {
            size: bytes << BITS,
            ..Window::new(1_000)
        }
    }

    const CALM: Signs = Signs {
        lost: false,
        marked: false,
        scalable: Some(ONE / 5),
        delay: None,
        is_short: true,
        steadiness: ONE,
        splits: true,
        srtt: Time::from_millis(25),
        is_low: false,
        flew: 1_000_000,
    };

    /// The remainder of 100 000 bytes, in thousandths.
    fn remains(signs: Signs) -> u64 {
        let mut window = window(100_000);
        window.reduce(&signs, MS(1));
        (window.bytes() + 50) / 100
    }

    #[test]
    fn the_window_falls_by_each_sign_of_congestion() {
        assert_eq!(remains(CALM), 1_000);
        let marked = Signs {
            marked: true,
            ..CALM
        };
        // Half of α, which is a fifth.
        assert_eq!(remains(marked), 900);
        let classic = Signs {
            scalable: None,
            ..marked
        };
        assert_eq!(remains(classic), 800);
        assert_eq!(
            remains(Signs {
                lost: true,
                ..marked
            }),
            700
        );
        let delayed = Signs {
            delay: Some(ONE / 2),
            ..CALM
        };
        assert_eq!(remains(delayed), 750);
        // A mark comes before delay, and a long round trip has several reactions.
        assert_eq!(
            remains(Signs {
                delay: Some(ONE),
                ..marked
            }),
            900
        );
        assert_eq!(
            remains(Signs {
                srtt: MS(100),
                ..marked
            }),
            975
        );
        assert_eq!(
            remains(Signs {
                srtt: MS(100),
                splits: false,
                ..marked
            }),
            900
        );
        assert_eq!(
            remains(Signs {
                srtt: MS(5),
                ..marked
            }),
            900
        );
        // The target is low already.
        assert_eq!(
            remains(Signs {
                is_low: true,
                ..marked
            }),
            975
        );
        // A delay that varies is less of a sign while the queue is short.
        let unsteady = Signs {
            steadiness: ONE / 2,
            ..marked
        };
        assert_eq!(remains(unsteady), 950);
        assert_eq!(
            remains(Signs {
                is_short: false,
                ..unsteady
            }),
            900
        );
        assert_eq!(
            remains(Signs {
                steadiness: 0,
                ..marked
            }),
            975
        );
    }

    #[test]
    fn near_the_inflection_point_the_window_moves_by_a_quarter() {
        let mut window = window(100_000);
        let marked = Signs {
            marked: true,
            ..CALM
        };
        window.reduce(&marked, MS(1));
        assert_eq!((window.inflection, window.grew), (100_000, false));
        // The growth of the same report has the distance from before the reaction.
        assert_eq!(window.distance, ONE);
        // At 90 % the distance is (8 × 0.1)² = 0.64, and at 95 % 0.16.
        window.locate();
        assert!(window.distance.abs_diff(ONE * 64 / 100) < 20);
        window.size = 95_000 << BITS;
        window.locate();
        window.reduce(&marked, MS(30));
        assert_eq!(window.bytes(), 92_625, "a fortieth");
        // It did not grow, so the point is where it was.
        assert_eq!(window.inflection, 100_000);
        let growth = Growth {
            acked: 95_000,
            srtt: MS(25),
            steadiness: ONE,
            most: 1_000_000,
        };
        window.size = 95_000 << BITS;
        window.congested(MS(30));
        window.grow(&growth, MS(30));
        assert_eq!(window.bytes(), 95_249, "a quarter of a packet");
        window.reduce(&marked, MS(60));
        assert_eq!(window.inflection, 95_249);
    }

    #[test]
    fn the_window_grows_by_a_packet_in_a_round_trip_and_by_more_later() {
        let after = |srtt: u64, since: Option<u64>, steadiness| {
            let mut window = window(100_000);
            window.congested = since.map(|rtts| MS(10_000 - 25 * rtts));
            let growth = Growth {
                acked: 100_000,
                srtt: MS(srtt),
                steadiness,
                most: 1_000_000,
            };
            window.grow(&growth, MS(10_000));
            window.bytes() - 100_000
        };
        let near = |is: u64, expected: u64| assert!(is.abs_diff(expected) <= 2, "{is} {expected}");
        near(after(25, Some(0), ONE), 1_000);
        near(after(5, Some(0), ONE), 200);
        near(after(100, Some(0), ONE), 1_000);
        near(after(25, Some(0), ONE / 2), 500);
        near(after(25, Some(0), 0), 100);
        // And 2 % of the window: in part 50 round trips after congestion, and in full after 100.
        near(after(25, Some(50), ONE), 2_000);
        near(after(25, Some(100), ONE), 3_000);
        near(after(25, None, ONE), 3_000);
    }

    #[test]
    fn two_marks_in_a_round_trip_hold_the_window() {
        // Every 50th of 100 packets is marked, so α is a fiftieth: half of it is one packet per round trip.
        let mut window = window(100_000);
        let signs = Signs {
            marked: true,
            scalable: Some(ONE / 50),
            ..CALM
        };
        let growth = Growth {
            acked: 98_000,
            srtt: MS(25),
            steadiness: ONE,
            most: 1_000_000,
        };
        for round in 0..200 {
            let now = MS(25 * (round + 1));
            window.congested(now);
            window.locate();
            window.reduce(&signs, now);
            window.grow(&growth, now);
        }
        let bytes = window.bytes();
        assert!((90_000..=101_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn the_window_stays_within_its_bounds() {
        let mut window = window(100_000);
        let growth = Growth {
            acked: 100_000,
            srtt: MS(25),
            steadiness: ONE,
            most: 100_500,
        };
        window.grow(&growth, MS(1));
        assert_eq!(window.bytes(), 100_000, "more is not in flight");
        window.bound(50_000);
        assert_eq!(window.bytes(), 50_000);
        for round in 0..50 {
            window.reduce(&Signs { lost: true, ..CALM }, MS(25 * round));
        }
        assert_eq!(window.bytes(), LEAST);
        // Long after the last reaction the window is brought back to what is in flight.
        window.size = 500_000 << BITS;
        let late = Signs {
            marked: true,
            flew: 80_000,
            ..CALM
        };
        window.reduce(&late, MS(25 * 49 + 2_501));
        assert_eq!(window.bytes(), 72_000);
    }
}
