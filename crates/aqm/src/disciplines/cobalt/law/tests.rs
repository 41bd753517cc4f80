//! The state machine against big numbers, closed forms, and a plain model of `sch_cake.c`.

use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;
use proptest::prelude::*;

use super::*;

const DEFAULTS: Params = Params {
    target: Time::from_millis(5),
    interval: Time::from_millis(100),
    mtu_time: Time::ZERO,
    p_inc: 1 << 24,
    p_dec: 1 << 20,
};

fn two(power: u32) -> BigInt {
    BigInt::from(1) << power
}

/// What C makes of a number in an unsigned type of so many bits.
fn wrap(value: BigInt, bits: u32) -> BigInt {
    ((value % two(bits)) + two(bits)) % two(bits)
}

/// `cobalt_newton_step` as mathematics, cut to its type where C cuts.
fn slow_newton_step(inverse_root: u32, count: u32) -> u32 {
    let x = BigInt::from(inverse_root);
    let squared = &x * &x / two(32);
    let bracket = wrap(two(32) * 3 - squared * count, 64) / two(2);
    wrap(wrap(bracket * x, 64) / two(31), 32).to_u32().unwrap()
}

#[test]
fn the_table_is_the_inverse_root_to_a_unit() {
    for (count, &root) in INVERSE_ROOTS.iter().enumerate().skip(1) {
        // |x − 2³²/√n| ≤ 1 is (x − 1)²·n ≤ 2⁶⁴ ≤ (x + 1)²·n.
        let (x, n) = (BigUint::from(root), BigUint::from(count));
        let one = BigUint::from(1_u32) << 64;
        let square = |x: BigUint| &x * &x * &n;
        assert!(
            square(&x - 1_u32) <= one && one <= square(&x + 1_u32),
            "{count}"
        );
    }
    assert_eq!(INVERSE_ROOTS[0], INVERSE_ROOTS[1]);
}

#[test]
fn the_fraction_follows_the_root_up_and_down() {
    // A change of count by one moves the root by 1/(2n) of itself, and a Newton step leaves 3/2 of the square of that. x² is cut at
    // 2⁻³², which moves the bracket, about 2, by n·2⁻³² at most; the end is cut at a unit.
    let mut vars = Vars::default();
    let up = (1..60_000).chain((0..60_000).rev());
    for count in up {
        vars.step(&DEFAULTS, count);
        let exact = 4_294_967_296.0 / f64::from(count.max(1)).sqrt();
        let error = ((f64::from(vars.inverse_root) - exact) / exact).abs();
        let n = f64::from(count.max(16) - 1);
        let bound = 0.4 / n.powi(2) + n / 8_589_934_592.0 + 2.0 / exact;
        assert!(error <= bound, "{count}: {error} > {bound}");
    }
}

#[test]
fn blue_steps_by_its_closed_form() {
    // n overflows more than a target apart: min(n·p_inc, 2³² − 1). m empty services: max(p − m·p_dec, 0).
    let mut vars = Vars::default();
    let mut now = Time::ZERO;
    let apart = DEFAULTS.target + Time::from_nanos(1);
    for n in 1..=300_u64 {
        now += apart;
        vars.queue_full(&DEFAULTS, now);
        assert_eq!(u64::from(vars.p_drop), (n << 24).min(u64::from(u32::MAX)));
        // Another within the target changes nothing.
        vars.queue_full(&DEFAULTS, now + DEFAULTS.target);
        assert_eq!(u64::from(vars.p_drop), (n << 24).min(u64::from(u32::MAX)));
    }
    for m in 1..=4_200_u64 {
        now += apart;
        vars.queue_empty(&DEFAULTS, now);
        let expected = u64::from(u32::MAX).saturating_sub(m << 20);
        assert_eq!(u64::from(vars.p_drop), expected);
        vars.queue_empty(&DEFAULTS, now + DEFAULTS.target);
        assert_eq!(u64::from(vars.p_drop), expected);
    }
}

#[test]
fn signals_come_at_interval_over_root_count() {
    // A queue that is always late, judged at each nanosecond that matters. The first signals are the kernel's surprise; from the second
    // on the spacing is interval·root, and root is within a unit of 1/√count here.
    let mut vars = Vars::default();
    let late = Time::from_millis(50);
    let mut judge = |at: Time| {
        let verdict = vars.judge(&DEFAULTS, at, late, false, || unreachable!());
        (verdict.drop, vars)
    };
    let mut due = Time::from_secs(10);
    assert!(!judge(due).0);
    let (dropped, _) = judge(due);
    assert!(dropped);
    for count in 2..15_u32 {
        let spacing = (100_000_000_u64 * u64::from(INVERSE_ROOTS[count as usize])) >> 32;
        due += Time::from_nanos(spacing);
        assert!(!judge(due - Time::from_nanos(1)).0, "{count}");
        let (dropped, vars) = judge(due);
        assert!(dropped && vars.count == count + 1, "{count}");
    }
}

#[test]
fn low_rates_raise_target_and_interval() {
    // An MTU of 1 500 bytes at 1 Mbit/s takes 12 ms; the kernel's fraction loses less than a nanosecond in a thousand.
    let at = |bps: u64| {
        let rate = Rate::from_bps(bps);
        let (target, interval) = (Time::from_millis(5), Time::from_millis(100));
        Params::new(target, interval, (0, 0), rate, Bytes::new(1_500))
    };
    let slow = at(1_000_000);
    let error = slow.mtu_time.signed_since(Time::from_millis(12));
    assert!((-12..=0).contains(&error), "{error}");
    assert_eq!(slow.target, slow.mtu_time * 3 / 2);
    assert_eq!(slow.interval, Time::from_millis(95) + slow.target);
    assert_eq!(at(100_000_000).target, Time::from_millis(5));
    assert_eq!(at(100_000_000).interval, Time::from_millis(100));
    assert_eq!(at(u64::MAX).mtu_time, Time::ZERO);
    // 64 bytes/s are the least: 23.4 s for the packet, and twice the target for the interval.
    assert_eq!(at(1).mtu_time, at(512).mtu_time);
    assert_eq!(at(1).interval, at(1).target * 2);
    assert_eq!(at(512).mtu_time, Time::from_nanos(23_437_500_000));
}

/// `cobalt_should_drop`, `cobalt_queue_full` and `cobalt_queue_empty` in signed integers of any size, step by step as they are written.
#[derive(Debug, Default)]
struct Model {
    count: i128,
    root: u32,
    drop_next: i128,
    blue_timer: i128,
    p_drop: i128,
    dropping: bool,
}

impl Model {
    fn inverse_root(&mut self) {
        self.root = match self.count {
            0..16 => INVERSE_ROOTS[self.count as usize],
            _ => slow_newton_step(self.root, self.count as u32),
        };
    }
    fn control(&self, t: i128, params: &Params) -> i128 {
        t + ((i128::from(params.interval.as_nanos() as u32) * i128::from(self.root)) >> 32)
    }
    fn full(&mut self, params: &Params, now: i128) {
        if now - self.blue_timer > i128::from(params.target.as_nanos()) {
            self.p_drop = (self.p_drop + i128::from(params.p_inc)).min((1 << 32) - 1);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }
    fn empty(&mut self, params: &Params, now: i128) {
        if self.p_drop != 0 && now - self.blue_timer > i128::from(params.target.as_nanos()) {
            self.p_drop = (self.p_drop - i128::from(params.p_dec)).max(0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count != 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.inverse_root();
            self.drop_next = self.control(self.drop_next, params);
        }
    }
    fn judge(
        &mut self,
        p: &Params,
        now: i128,
        sojourn: i128,
        ecn: bool,
        draw: u32,
    ) -> (bool, bool) {
        let mut schedule = now - self.drop_next;
        let over_target = sojourn > i128::from(p.target.as_nanos())
            && sojourn > 4 * i128::from(p.mtu_time.as_nanos());
        let mut next_due = self.count != 0 && schedule >= 0;
        let (mut mark, mut drop) = (false, false);
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, p);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            mark = ecn;
            drop = !ecn;
            self.count = (self.count + 1).min((1 << 32) - 1);
            self.inverse_root();
            self.drop_next = self.control(self.drop_next, p);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.inverse_root();
                self.drop_next = self.control(self.drop_next, p);
                schedule = now - self.drop_next;
                next_due = self.count != 0 && schedule >= 0;
            }
        }
        if self.p_drop != 0 {
            drop |= i128::from(draw) < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + i128::from(p.interval.as_nanos());
        } else if schedule > 0 && !drop {
            self.drop_next = now;
        }
        (mark, drop)
    }
}

#[derive(Debug, Clone)]
enum Call {
    Judge { sojourn: u64, ecn: bool, draw: u32 },
    Full,
    Empty,
}

fn call() -> impl Strategy<Value = (u64, Call)> {
    let gap = prop_oneof![
        6 => 0..3_000_000_u64,
        2 => 0..120_000_000_u64,
        1 => Just(3_600_000_000_000_u64),
    ];
    let judge = (
        prop_oneof![0..6_000_000_u64, 0..100_000_000_u64],
        any::<bool>(),
        prop_oneof![any::<u32>(), 0..1_u32 << 26],
    )
        .prop_map(|(sojourn, ecn, draw)| Call::Judge { sojourn, ecn, draw });
    (
        gap,
        prop_oneof![12 => judge, 1 => Just(Call::Full), 1 => Just(Call::Empty)],
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_the_kernel_does(calls in prop::collection::vec(call(), 1..600), bps in prop_oneof![Just(u64::MAX), 1_000..50_000_000_u64]) {
        let (target, interval) = (Time::from_millis(5), Time::from_millis(100));
        let params = Params::new(target, interval, (1 << 24, 1 << 20), Rate::from_bps(bps), Bytes::new(1_500));
        let (mut vars, mut model, mut now) = (Vars::default(), Model::default(), 0_u64);
        for (gap, call) in calls {
            now += gap;
            let at = Time::from_nanos(now);
            match call {
                Call::Judge { sojourn, ecn, draw } => {
                    let verdict = vars.judge(&params, at, Time::from_nanos(sojourn), ecn, || draw);
                    let expected = model.judge(&params, now.into(), sojourn.into(), ecn, draw);
                    prop_assert_eq!((verdict.mark, verdict.drop || verdict.blue), expected);
                }
                Call::Full => {
                    vars.queue_full(&params, at);
                    model.full(&params, now.into());
                }
                Call::Empty => {
                    vars.queue_empty(&params, at);
                    model.empty(&params, now.into());
                }
            }
            prop_assert_eq!(i128::from(vars.count), model.count);
            prop_assert_eq!(vars.inverse_root, model.root);
            prop_assert_eq!(i128::from(vars.drop_next.as_nanos()), model.drop_next);
            prop_assert_eq!(i128::from(vars.blue_timer.as_nanos()), model.blue_timer);
            prop_assert_eq!(i128::from(vars.p_drop), model.p_drop);
            prop_assert_eq!(vars.dropping, model.dropping);
        }
    }

    #[test]
    fn a_newton_step_is_the_kernels(root in any::<u32>(), count in prop_oneof![any::<u32>(), 0..70_000_u32]) {
        prop_assert_eq!(newton_step(root, count), slow_newton_step(root, count));
    }
}
