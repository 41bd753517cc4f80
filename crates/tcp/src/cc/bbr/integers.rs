//! Bandwidth, window and rate in BBR's integers.
//!
//! Products wrap at 2⁶⁴ as in C. They do not get there below 2.9 Tbit/s.

/// One, as a gain or a fraction.
pub const UNIT: u32 = 1 << 8;
/// Bits of a bandwidth behind the binary point.
pub const BW_SCALE: u32 = 24;
/// Payload in bytes of the largest super-segment: 64 KiB without the largest header (`GSO_LEGACY_MAX_SIZE
/// - 1 - MAX_TCP_HEADER`).
pub const LARGEST: u32 = 65_536 - 1 - 320;
/// Below this rate in B/s (1.2 Mbit/s) a super-segment may be a single segment.
const SINGLES: u64 = 150_000;
/// A burst takes 2⁻¹⁰ s (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

/// The bandwidth of `delivered` packets in `interval_us`, rounded down; zero if there is no interval.
#[inline]
pub fn bandwidth_down(delivered: u32, interval_us: u32) -> u32 {
    let scaled = u64::from(delivered) << BW_SCALE;
    scaled.checked_div(interval_us.into()).unwrap_or(0) as u32
}
/// That rate, rounded up.
#[inline]
pub fn bandwidth_up(delivered: u32, interval_us: u32) -> u32 {
    if interval_us == 0 {
        return 0;
    }
    (u64::from(delivered) << BW_SCALE).div_ceil(interval_us.into()) as u32
}
/// The packets that this bandwidth carries in `time_us`, rounded down.
#[inline]
pub fn carried(bw: u32, time_us: u32) -> u32 {
    ((u64::from(bw) * u64::from(time_us)) >> BW_SCALE) as u32
}
/// The bandwidth-delay product times a gain, in packets, rounded up.
#[inline]
pub fn bdp(bw: u32, min_rtt_us: u32, gain: u32) -> u32 {
    let product = u64::from(bw) * u64::from(min_rtt_us);
    let scaled = product.wrapping_mul(gain.into()) >> 8;
    (scaled.wrapping_add((1 << BW_SCALE) - 1) >> BW_SCALE) as u32
}
/// The pacing rate for a bandwidth times a gain, in bytes of payload per second: 1 % below, so that a
/// queue drains in the long run.
#[inline]
pub fn rate(bw: u32, mss: u32, gain: u32) -> u64 {
    let bytes = (u64::from(bw) * u64::from(mss)).wrapping_mul(gain.into()) >> 8;
    bytes.wrapping_mul(1_000_000 / 100 * 99) >> BW_SCALE
}
/// The bandwidth of a window of `cwnd` packets per RTT; 1 ms where there is no RTT yet (zero).
pub fn first_bandwidth(cwnd: u32, srtt_us: u32) -> u32 {
    let rtt = if srtt_us == 0 { 1_000 } else { srtt_us };
    bandwidth_down(cwnd, rtt)
}
/// A fraction of a number, in 1/256, rounded down.
#[inline]
pub fn part(number: u32, of_256: u32) -> u32 {
    ((u64::from(number) * u64::from(of_256)) >> 8) as u32
}
/// The bytes that leave together at this rate.
#[inline]
pub(super) fn burst(pacing_rate: u64) -> u64 {
    pacing_rate >> PACING_SHIFT
}
/// Least number of segments in a super-segment at this rate in B/s: v1 and v2 (`bbr_min_tso_segs`).
#[inline]
pub fn min_tso_segs(pacing_rate: u64) -> u32 {
    if pacing_rate < SINGLES { 1 } else { 2 }
}
/// Whether `a` comes after `b`, of two counts that wrap.
#[inline]
pub(super) fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_448;

    /// The table of the recipe: (delivered, µs), bandwidths, BDPs at 256, 512, 739 (v1) and 128, 256, 512,
    /// 576 (v2, v3); the minimum RTT is the interval.
    #[test]
    fn bandwidth_is_rounded_down_in_v1_and_up_in_v2_and_v3() {
        for (delivered, us, down, v1, up, later) in [
            (10, 10_000, 16_777, [10, 20, 29], 16_778, [6, 11, 21, 23]),
            (33, 10_000, 55_364, [33, 66, 96], 55_365, [17, 34, 67, 75]),
            (
                100,
                20_000,
                83_886,
                [100, 200, 289],
                83_887,
                [51, 101, 201, 226],
            ),
            (
                83,
                10_010,
                139_111,
                [83, 166, 240],
                139_112,
                [42, 84, 167, 187],
            ),
            (1, 12_000, 1_398, [1, 2, 3], 1_399, [1, 2, 3, 3]),
        ] {
            assert_eq!(bandwidth_down(delivered, us), down);
            assert_eq!([256, 512, 739].map(|gain| bdp(down, us, gain)), v1);
            assert_eq!(bandwidth_up(delivered, us), up);
            assert_eq!([128, 256, 512, 576].map(|gain| bdp(up, us, gain)), later);
        }
        assert_eq!((bandwidth_down(10, 0), bandwidth_up(10, 0)), (0, 0));
    }

    #[test]
    fn rates_are_one_percent_below_the_bandwidth() {
        for (bw, low, high) in [
            (16_777, 1_433_501, 4_138_115),
            (55_364, 4_730_546, 13_655_757),
            (83_886, 7_167_593, 20_690_825),
            (139_111, 11_886_262, 34_312_298),
            (1_398, 119_451, 344_822),
        ] {
            assert_eq!((rate(bw, MSS, 256), rate(bw, MSS, 739)), (low, high));
        }
        for (bw, rates) in [
            (
                16_778,
                [1_433_586, 3_975_963, 1_791_983, 1_299_188, 492_795],
            ),
            (
                55_365,
                [4_730_631, 13_120_112, 5_913_289, 4_287_135, 1_626_154],
            ),
            (
                83_887,
                [7_167_678, 19_879_108, 8_959_598, 6_495_708, 2_463_889],
            ),
            (
                139_112,
                [11_886_348, 32_966_044, 14_857_935, 10_772_003, 4_085_932],
            ),
            (1_399, [119_536, 331_527, 149_420, 108_330, 41_090]),
        ] {
            let gains = [256, 710, 320, 232, 88];
            assert_eq!(gains.map(|gain| rate(bw, MSS, gain)), rates);
        }
    }

    #[test]
    fn the_first_rate_is_the_window_per_rtt() {
        let first = |srtt, gain| rate(first_bandwidth(10, srtt), MSS, gain);
        assert_eq!((first(0, 739), first(10_000, 739)), (41_381_651, 4_138_115));
        assert_eq!((first(0, 710), first(10_000, 710)), (39_757_743, 3_975_726));
    }

    #[test]
    fn counts_wrap() {
        assert!(after(1, u32::MAX) && !after(u32::MAX, 1) && !after(5, 5));
    }
}
