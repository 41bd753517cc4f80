//! Quantiles and means of the laws against closed forms and published figures.

use super::*;

const DRAWS: usize = 1_000_000;

fn sorted(sizes: &str) -> Vec<u64> {
    let law = RandomSize::new(&Sizes::parse(sizes).unwrap());
    draws(&law)
}

fn draws(law: &RandomSize) -> Vec<u64> {
    let mut random = Random::new(11, "sizes");
    let mut sizes: Vec<u64> = (0..DRAWS).map(|_| law.draw(&mut random)).collect();
    sizes.sort_unstable();
    sizes
}

fn mean(sizes: &[u64]) -> f64 {
    sizes.iter().sum::<u64>() as f64 / sizes.len() as f64
}

/// Four deviations of a binomial distribution around each quantile: `cdf` there is as it should be.
fn has_quantiles(sizes: &[u64], quantiles: &[(f64, f64)]) {
    for (share, size) in quantiles {
        let below = sizes.partition_point(|drawn| (*drawn as f64) < *size) as f64;
        let count = sizes.len() as f64;
        // Sizes are rounded to a byte, published ones too: as much as one byte carries there.
        let width = |size: f64| sizes.partition_point(|drawn| (*drawn as f64) < size) as f64;
        let byte = width(size + 1.0) - width(size - 1.0);
        let allowed = 4.0 * (count * share * (1.0 - share)).sqrt() + byte;
        assert!(
            (below - share * count).abs() <= allowed,
            "{share} at {size}: {}",
            below / count
        );
    }
}

#[test]
fn logarithms_and_powers_are_those_of_floating_point() {
    let mut random = Random::new(1, "log2");
    for _ in 0..100_000 {
        let value = random.u64() >> random.below(64);
        let log = log2(value);
        let expected = (value.max(1) as f64).log2() * 2_f64.powi(32);
        assert!((log as f64 - expected).abs() < 16.0, "{value}");
        if value > 1 << 33 {
            let back = exp2(log, 0) as f64 / value as f64;
            assert!((back - 1.0).abs() < 1e-9, "{value} {back}");
        }
    }
    for (whole, power) in [(-1, 0), (0, 1), (1, 2), (40, 1 << 40), (63, 1 << 63)] {
        assert_eq!(
            (exp2(whole << 32, 0), log2(power) >> 32),
            (power, whole.max(0))
        );
    }
    assert_eq!((exp2(-1 << 32, 64), exp2(64 << 32, 0)), (1 << 63, u64::MAX));
    // 2^(1/2), 2^(1/1000) in units of 2^-62.
    for part in [1_i64 << 31, (1 << 32) / 1_000, (1 << 32) - 1] {
        let expected = (part as f64 / 2_f64.powi(32)).exp2() * 2_f64.powi(62);
        assert!((exp2(part, 62) as f64 / expected - 1.0).abs() < 2_f64.powi(-31));
    }
}

/// The items of the L4S demonstration (Pareto 0.9, 1 kB to 1 MB): its closed form.
#[test]
fn items_of_the_demonstration_have_their_quantiles_and_their_mean() {
    let sizes = sorted(r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#);
    has_quantiles(
        &sizes,
        &[
            (0.10, 1_124.0),
            (0.25, 1_376.0),
            (0.50, 2_155.0),
            (0.75, 4_635.0),
            (0.90, 12_663.0),
            (0.95, 26_769.0),
            (0.99, 136_533.0),
            (0.999, 637_210.0),
        ],
    );
    // Standard deviation 39 426 B: four standard errors, and half a byte of rounding.
    assert!(
        (mean(&sizes) - 8_975.0).abs() < 4.0 * 39.4 + 1.0,
        "{}",
        mean(&sizes)
    );
    let (first, last) = (sizes[0], sizes[DRAWS - 1]);
    assert!(
        first == 1_000 && (990_000..1_000_000).contains(&last),
        "{first} {last}"
    );
    // A segment of 1 448 B, and an initial window of ten.
    has_quantiles(&sizes, &[(0.284, 1_449.0), (0.912, 14_481.0)]);
}

/// As published for `ccafct`: P5 64 KiB, P95 2 MiB, from which follow median and mean.
#[test]
fn percentiles_define_a_log_normal_law() {
    let sizes = sorted(r#"{ p5 = "64KiB", p95 = "2MiB" }"#);
    let (p5, p95) = (65_536.0, 2_097_152.0);
    has_quantiles(&sizes, &[(0.05, p5), (0.5, 370_728.0), (0.95, p95)]);
    // Standard deviation 1.43 times the mean.
    let error = 4.0 * 1.43 * 645_683.0 / 1_000.0;
    assert!((mean(&sizes) - 645_683.0).abs() < error, "{}", mean(&sizes));
    let same = sorted(r#"{ median = "370728B", sigma = 1.0534 }"#);
    has_quantiles(&same, &[(0.05, p5), (0.5, 370_728.0), (0.95, p95)]);
}

/// 3GPP's pages, as ns-3 draws them: both ends cut off.
#[test]
fn objects_of_3gpp_have_the_means_of_their_truncated_laws() {
    let law = RandomSize::log_normal(83_459, 13_660, (100, 2_000_000));
    let main = draws(&law);
    has_quantiles(&main, &[(0.5, 4_235.0), (0.9, 24_317.0)]);
    assert!(
        (mean(&main) / 10_734.0 - 1.0).abs() < 0.01,
        "{}",
        mean(&main)
    );
    let embedded = draws(&RandomSize::log_normal(61_657, 23_625, (50, 2_000_000)));
    has_quantiles(&embedded, &[(0.5, 790.0), (0.9, 12_524.0)]);
    let found = mean(&embedded);
    assert!((found / 8_212.0 - 1.0).abs() < 0.02, "{found}");
}

#[test]
fn an_empirical_law_has_its_points_and_is_even_in_the_logarithm_between_them() {
    let sizes = sorted(r#"{ empirical = [["1kB", 0.2], ["10kB", 0.6], ["1MB", 1]] }"#);
    // Half of the share between 1 kB and 10 kB lies below √10 kB.
    let quantiles = [(0.4, 3_162.0), (0.6, 10_000.0), (0.8, 100_000.0)];
    has_quantiles(&sizes, &quantiles);
    let smallest = sizes.partition_point(|size| *size <= 1_000) as f64;
    assert!((smallest / 1e6 - 0.2).abs() < 0.002, "{smallest}");
    let even = sorted(r#"{ empirical = [["1kB", 0], ["2kB", 1]] }"#);
    assert_eq!((even[0], even[DRAWS - 1]), (1_000, 1_999));
}

#[test]
fn a_fixed_size_draws_nothing_and_a_number_has_its_size_whatever_was_asked_before() {
    let mut random = Random::new(1, "fixed");
    let law = RandomSize::new(&Sizes::parse("7kB").unwrap());
    assert_eq!(law.draw(&mut random), 7_000);
    assert_eq!(random.u64(), Random::new(1, "fixed").u64());

    let pareto = Sizes::parse(r#"{ pareto = 0.9, min = "1kB", max = "1MB" }"#).unwrap();
    let one = NumberedSizes::new(&pareto, &mut Random::new(1, "flow"));
    let other = NumberedSizes::new(&pareto, &mut Random::new(1, "flow"));
    let forward: Vec<u64> = (0..1_000).map(|number| one.of(number)).collect();
    let mut backward: Vec<u64> = (0..1_000).rev().map(|number| other.of(number)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    // Neighbours are independent: their order is up and down by halves.
    let rises = forward.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((450..550).contains(&rises), "{rises}");
}

#[test]
fn the_widest_laws_stay_in_their_range() {
    for text in [
        r#"{ pareto = 0.01, min = "1B", max = "1GB" }"#,
        r#"{ pareto = 10, min = "1B", max = "1GB" }"#,
        r#"{ pareto = 10, min = "999999998B", max = "1GB" }"#,
        r#"{ median = "1B", sigma = 4, max = "2B" }"#,
        r#"{ median = "4kB", sigma = 0.000001, min = "4kB", max = "8kB" }"#,
        r#"{ p5 = "1B", p95 = "490kB" }"#,
    ] {
        let sizes = Sizes::parse(text).unwrap();
        let (law, (low, high)) = (RandomSize::new(&sizes), sizes.range());
        let mut random = Random::new(5, "wide");
        for _ in 0..20_000 {
            let size = law.draw(&mut random);
            assert!((low.get()..=high.get()).contains(&size), "{text}: {size}");
        }
    }
}
