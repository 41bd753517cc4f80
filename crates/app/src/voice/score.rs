//! The E-model of ITU-T G.107 (2015), narrow band, with its default values: the rating R of a
//! connection from its delay and its loss, and the mean opinion score (MOS) that follows from R.
//!
//! R = Ro − Is − Id + A − Ie,eff with A = 0. Only the delay Ta from mouth to ear and the loss enter;
//! noise, echo loss and levels have the values of table 2 of G.107. `Ie` and `Bpl` are those of G.113
//! appendix I.
//!
//! Deviation: the burst ratio counts as 1 at least. It is below 1 where losses keep away from each
//! other, and G.107 describes bursts.

use crate::elementary::{exp, ln, log2, log10};

/// The basic signal-to-noise ratio, Ro = 15 − 1.5 (SLR + No).
const RO: f64 = 15.0 - 1.5 * (8.0 + NO);
/// The sum of all noise powers, dBm0p.
const NO: f64 = -61.179_214;
/// The impairments together with speech.
const IS: f64 = 1.413_568;
/// Talker echo loudness rating, dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss, dB.
const WEPL: f64 = 110.0;
/// Receive loudness rating at the other end, dB, with 5 dB of the receiver's.
const RLR: f64 = 7.0;

/// Sensitivity of a codec to loss (G.113 appendix I).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impairment {
    /// Ie: the impairment without loss.
    pub equipment: u32,
    /// Bpl: robustness against loss, in tenths.
    pub robustness: u32,
    /// Whether the simplified rating is that of G.729.
    pub is_g729: bool,
}

/// R for a delay of `ta` ms from mouth to ear, a loss ratio and a burst ratio.
pub fn rating(impairment: Impairment, ta: f64, loss: f64, burst: f64) -> f64 {
    let (ie, bpl) = (
        f64::from(impairment.equipment),
        f64::from(impairment.robustness) / 10.0,
    );
    let percent = loss * 100.0;
    let ie_eff = ie + (95.0 - ie) * percent / (percent / burst.max(1.0) + bpl);
    RO - IS - delay_impairment(ta) - ie_eff
}

/// Id = Idte + Idle + Idd: talker echo, listener echo, and delay itself.
fn delay_impairment(ta: f64) -> f64 {
    let root = |x: f64, c: f64| x / 2.0 + (x * x / 4.0 + c).sqrt();
    let terv =
        TELR - 40.0 * log10((1.0 + ta / 10.0) / (1.0 + ta / 150.0)) + 6.0 * exp(-0.3 * ta * ta);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let roe = -1.5 * (NO - 2.0);
    let talker = if ta < 1.0 {
        0.0
    } else {
        (root(roe - re, 100.0) - 1.0) * (1.0 - exp(-ta))
    };
    let rle = 10.5 * (WEPL + RLR) / (2.0 * ta + 1.0).sqrt().sqrt();
    let listener = root(RO - rle, 169.0);
    let delay = if ta <= 100.0 {
        0.0
    } else {
        let x = log2(ta / 100.0);
        let sixth = |x: f64| x * x * x * x * x * x;
        let root = |x: f64| exp(ln(1.0 + sixth(x)) / 6.0);
        25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
    };
    talker + listener + delay
}

/// The mean opinion score of a rating, from 1 to 4.5 (G.107 annex B). The polynomial falls below 1 for R
/// between 0 and 6.5; there it is 1.
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        let score = 1.0 + 0.035 * rating + 7e-6 * rating * (rating - 60.0) * (100.0 - rating);
        score.max(1.0)
    }
}

/// The simplified rating of Cole and Rosenbluth (2001), for comparison with works that use it.
pub fn simplified_rating(impairment: Impairment, ta: f64, loss: f64) -> f64 {
    let delay = 0.024 * ta + 0.11 * (ta - 177.3).max(0.0);
    let by_loss = if impairment.is_g729 {
        11.0 + 40.0 * ln(1.0 + 10.0 * loss)
    } else {
        30.0 * ln(1.0 + 15.0 * loss)
    };
    94.2 - delay - by_loss
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONCEALED: Impairment = Impairment {
        equipment: 0,
        robustness: 251,
        is_g729: false,
    };
    const BARE: Impairment = Impairment {
        robustness: 43,
        ..CONCEALED
    };
    const LOSSES: [f64; 4] = [0.0, 0.01, 0.03, 0.05];

    /// Ta in ms, Id, then R and MOS for each loss with Bpl 25.1, then the same with 4.3. Computed
    /// with flent's function, whose author compared it with the calculator of the ITU.
    type Row = (f64, f64, [f64; 4], [f64; 4], [f64; 4], [f64; 4]);
    const TABLE: [Row; 8] = [
        (
            0.0,
            0.15,
            [93.2, 89.6, 83.1, 77.4],
            [4.41, 4.33, 4.13, 3.92],
            [93.2, 75.3, 54.2, 42.1],
            [4.41, 3.83, 2.79, 2.17],
        ),
        (
            50.0,
            1.60,
            [91.8, 88.1, 81.6, 76.0],
            [4.38, 4.29, 4.08, 3.86],
            [91.8, 73.8, 52.7, 40.7],
            [4.38, 3.77, 2.72, 2.10],
        ),
        (
            100.0,
            2.69,
            [90.7, 87.0, 80.5, 74.9],
            [4.35, 4.26, 4.04, 3.82],
            [90.7, 72.7, 51.6, 39.6],
            [4.35, 3.72, 2.66, 2.04],
        ),
        (
            150.0,
            3.82,
            [89.5, 85.9, 79.4, 73.8],
            [4.33, 4.23, 4.00, 3.77],
            [89.5, 71.6, 50.5, 38.5],
            [4.33, 3.67, 2.60, 1.99],
        ),
        (
            177.3,
            5.30,
            [88.1, 84.4, 77.9, 72.3],
            [4.29, 4.18, 3.94, 3.70],
            [88.1, 70.1, 49.0, 37.0],
            [4.29, 3.60, 2.52, 1.92],
        ),
        (
            200.0,
            7.55,
            [85.8, 82.2, 75.7, 70.0],
            [4.22, 4.10, 3.85, 3.60],
            [85.8, 67.9, 46.8, 34.7],
            [4.22, 3.50, 2.41, 1.81],
        ),
        (
            300.0,
            20.69,
            [72.7, 69.0, 62.5, 56.9],
            [3.72, 3.55, 3.23, 2.94],
            [72.7, 54.7, 33.6, 21.6],
            [3.72, 2.82, 1.76, 1.30],
        ),
        (
            400.0,
            31.11,
            [62.2, 58.6, 52.1, 46.5],
            [3.22, 3.03, 2.69, 2.39],
            [62.2, 44.3, 23.2, 11.2],
            [3.22, 2.28, 1.35, 1.05],
        ),
    ];

    #[test]
    fn ratings_and_scores_are_those_of_the_table() {
        for (ta, id, concealed, its_mos, bare, bare_mos) in TABLE {
            assert!((delay_impairment(ta) - id).abs() < 0.006, "{ta}");
            for (impairment, ratings, scores) in
                [(CONCEALED, concealed, its_mos), (BARE, bare, bare_mos)]
            {
                for (loss, (r, score)) in LOSSES.into_iter().zip(ratings.into_iter().zip(scores)) {
                    let found = rating(impairment, ta, loss, 1.0);
                    assert!((found - r).abs() < 0.0501, "{ta} {loss}: {found} {r}");
                    let found = mos(found);
                    assert!(
                        (found - score).abs() < 0.00501,
                        "{ta} {loss}: {found} {score}"
                    );
                }
            }
        }
    }

    #[test]
    fn scores_are_those_of_annex_b_and_never_below_one() {
        for (r, score) in [
            (50.0, 2.58),
            (60.0, 3.10),
            (70.0, 3.60),
            (80.0, 4.02),
            (90.0, 4.34),
            (93.2, 4.41),
        ] {
            assert!((mos(r) - score).abs() < 0.00501, "{r}: {}", mos(r));
        }
        assert_eq!([-5.0, 3.2, 100.0, 120.0].map(mos), [1.0, 1.0, 4.5, 4.5]);
    }

    #[test]
    fn the_simplified_rating_is_that_of_g711_with_concealment() {
        let difference = |ta: f64, loss: f64| {
            rating(CONCEALED, ta, loss, 1.0) - simplified_rating(CONCEALED, ta, loss)
        };
        let mut worst = 0.0_f64;
        for ta in 0..=300 {
            for loss in 0..=50 {
                worst = worst.max(difference(f64::from(ta), f64::from(loss) / 1_000.0).abs());
            }
        }
        assert!((1.8..1.9).contains(&worst), "{worst}");
        assert!((difference(177.3, 0.0).abs() - worst).abs() < 0.02);
        for ta in [400.0, 450.0, 500.0] {
            for loss in LOSSES {
                let above = difference(ta, loss);
                assert!((1.5..10.0).contains(&above), "{ta} {loss}: {above}");
            }
        }
        let g729 = Impairment {
            is_g729: true,
            ..CONCEALED
        };
        assert!((simplified_rating(g729, 0.0, 0.0) - 83.2).abs() < 1e-9);
    }

    #[test]
    fn bursts_make_the_same_loss_worse() {
        let of = |burst| rating(BARE, 50.0, 0.03, burst);
        assert!(of(2.0) < of(1.0));
        assert_eq!(of(0.5), of(1.0));
    }
}
