//! Portable randomness: the same draws on every machine and in every release.
//!
//! PCG XSH-RR 64/32 (O'Neill 2014) from `rand_pcg`, whose output is fixed by published vectors.
//! Each component of a run has a stream of its own, chosen by its name, so that one component's
//! draws never shift another's.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Lcg64Xsh32;

use crate::Probability;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(Lcg64Xsh32);

impl Random {
    /// The stream of `component` in a run with `seed`.
    pub fn new(seed: u64, component: &str) -> Self {
        // FNV-1a separates components by name; SplitMix64 separates neighbouring seeds.
        let stream = component
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&split_mix(seed).to_le_bytes());
        bytes[8..].copy_from_slice(&split_mix(stream).to_le_bytes());
        Self(Lcg64Xsh32::from_seed(bytes))
    }
    /// A uniform 32-bit number.
    #[inline]
    pub fn u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    /// A uniform 64-bit number.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// A uniform number below `bound`, without bias (Lemire 2019); 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.u64()) * u128::from(bound);
        if (product as u64) < bound {
            let reject_below = bound.wrapping_neg() % bound;
            while (product as u64) < reject_below {
                product = u128::from(self.u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
    /// True with probability `p`, exactly: never at 0, always at 1.
    pub fn chance(&mut self, p: Probability) -> bool {
        (self.u64() >> 2) < p.raw()
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): spreads the bits of `seed`, for hashes with a salt.
#[inline]
pub fn split_mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_vector() {
        // pcg32-demo of the PCG distribution, seeds 42 and 54.
        let mut pcg = Lcg64Xsh32::new(42, 54);
        let draws: [u32; 6] = core::array::from_fn(|_| pcg.next_u32());
        assert_eq!(
            draws,
            [
                0xa15c_02b7,
                0x7b47_f409,
                0xba1d_3330,
                0x83d2_f293,
                0xbfa4_784b,
                0xcbed_606e
            ]
        );
        // First output of SplitMix64 from state 0 (Vigna's reference code).
        assert_eq!(split_mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn components_and_seeds_have_streams_of_their_own() {
        let first = |seed, name| Random::new(seed, name).u64();
        assert_eq!(first(1, "queue"), first(1, "queue"));
        assert_ne!(first(1, "queue"), first(2, "queue"));
        assert_ne!(first(1, "queue"), first(1, "flows"));
    }

    #[test]
    fn chance_is_exact_at_its_ends_and_fair_between() {
        let mut random = Random::new(7, "test");
        assert!((0..1_000).all(|_| !random.chance(Probability::ZERO)));
        assert!((0..1_000).all(|_| random.chance(Probability::ONE)));
        let hits = (0..100_000)
            .filter(|_| random.chance(Probability::ratio(1, 10)))
            .count();
        // Four standard deviations of a binomial(100 000, 0.1): ±380.
        assert!((9_620..=10_380).contains(&hits), "{hits}");
    }

    #[test]
    fn below_reaches_every_value_and_no_other() {
        let mut random = Random::new(7, "test");
        let mut seen = [0; 5];
        for _ in 0..5_000 {
            seen[random.below(5) as usize] += 1;
        }
        // Four standard deviations of a binomial(5 000, 0.2): ±113.
        assert!(seen.iter().all(|&n| (887..=1_113).contains(&n)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    /// Below 3·2⁶², four draws of 64 bits fall on three numbers: without rejection every third number would come twice as often.
    #[test]
    fn below_favours_no_number_where_the_draws_do_not_divide_evenly() {
        let mut random = Random::new(7, "test");
        let mut seen = [0; 3];
        for _ in 0..9_000 {
            seen[(random.below(3 << 62) % 3) as usize] += 1;
        }
        // Four standard deviations of a binomial(9 000, 1/3): ±179. Without rejection: 4 500, 2 250, 2 250.
        assert!(
            seen.iter().all(|&n| (2_821..=3_179).contains(&n)),
            "{seen:?}"
        );
    }
}
