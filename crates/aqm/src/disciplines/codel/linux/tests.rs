//! The kernel's fixed point against big integers, and how far it is from the root that it stands for.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use proptest::prelude::*;

use super::*;

/// `codel_Newton_step` as mathematics: every operation on integers of any size, cut to its type where C cuts.
fn slow_newton_step(inverse_root: u16, count: u32) -> u16 {
    let two = |power: u32| BigInt::from(1) << power;
    let wrap = |value: BigInt, bits: u32| ((value % two(bits)) + two(bits)) % two(bits);
    let x = BigInt::from(inverse_root) * two(16);
    let squared = wrap(&x * &x / two(32), 32);
    let bracket = wrap(
        BigInt::from(3) * two(32) - BigInt::from(count) * squared,
        64,
    ) / two(2);
    let value = wrap(bracket * x, 64) / two(31) / two(16);
    wrap(value, 16).to_u16().unwrap()
}

#[test]
fn a_newton_step_is_the_kernels_at_the_edges() {
    let roots = [0, 1, 2, 255, 256, 0x7fff, 0x8000, 0xb504, 0xfffe, 0xffff];
    let counts = [
        0,
        1,
        2,
        3,
        4,
        15,
        16,
        255,
        65_535,
        65_536,
        1 << 31,
        u32::MAX,
    ];
    for root in roots {
        for count in counts {
            let expected = slow_newton_step(root, count);
            assert_eq!(newton_step(root, count), expected, "{root} {count}");
        }
    }
    // By hand, for 2 from x = 1 − 2⁻¹⁶: x·(3 − 2x²)/2 = ½ + 1.5·2⁻¹⁶ − …
    assert_eq!(newton_step(u16::MAX, 2), 32_769);
    // A step from 0 stays there.
    assert_eq!(newton_step(0, 7), 0);
}

#[test]
fn the_fraction_follows_the_root_as_counts_rise() {
    // From the kernel's start, count by count. Newton doubles correct digits, and count moves the root by 1/(2·count) of itself, so that
    // the relative error after the step to n is about 3/2·(1/2n)² and the rounding, at most 2 units of 2⁻¹⁶ for each step, which the
    // next step mends. The first steps, from 1 to 2 and on, are too far for that: there the kernel is up to 30 % short.
    let mut root = u16::MAX;
    for count in 2..=100_000_u32 {
        root = newton_step(root, count);
        let exact = 65_536.0 / f64::from(count).sqrt();
        let error = (f64::from(root) - exact) / exact;
        let bound = match count {
            2 => 0.30,
            3..=7 => 0.10,
            _ => 0.375 / f64::from(count).powi(2) + 3.0 / exact,
        };
        assert!(error.abs() <= bound, "{count}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_newton_step_is_the_kernels(root in any::<u16>(), count in prop_oneof![any::<u32>(), 0..70_000_u32]) {
        prop_assert_eq!(newton_step(root, count), slow_newton_step(root, count));
    }

    #[test]
    fn the_control_law_is_the_kernels(t in any::<u32>(), interval in any::<u32>(), root in any::<u16>()) {
        let spacing = BigInt::from(interval) * BigInt::from(root) * 65_536 / (BigInt::from(1) << 32);
        let expected: BigInt = (BigInt::from(t) + spacing) % (BigInt::from(1_u64) << 32);
        prop_assert_eq!(control_law(t, interval, root), expected.to_u32().unwrap());
    }
}
