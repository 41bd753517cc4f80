//! A 64-bit key for each flow, from addresses, protocol and ports.
//!
//! Unsalted: the same packet has the same key on every machine and in every run, and a discipline
//! that hashes flows mixes in a salt from its own random stream. Fragments have no ports, so all
//! fragments of all flows between two hosts share one key per protocol (as in Linux's flow
//! dissector without its defragmentation). The flow label of IPv6 is not used.
//!
//! Each step is a folded 64 × 64 bit multiplication as in wyhash (Wang Yi, public domain), which
//! passes avalanche tests at a few cycles per word.

const START: u64 = 0xa076_1d64_78bd_642f;
const FACTOR: u64 = 0xe703_7ed1_a0b4_28db;

/// The key of a flow between `addresses` (source, then destination, in 8-byte words).
pub(crate) fn of(addresses: &[u64], protocol: u8, ports: Option<(u16, u16)>) -> u64 {
    let mut key = START;
    for &word in addresses {
        key = mix(key, word);
    }
    let (source, destination) = ports.unwrap_or((0, 0));
    let last = u64::from(protocol) << 32 | u64::from(source) << 16 | u64::from(destination);
    mix(mix(key, last), addresses.len() as u64)
}

fn mix(key: u64, word: u64) -> u64 {
    let product = u128::from(key ^ word) * u128::from(FACTOR);
    // The sum keeps the key alive where the product is zero.
    (product as u64 ^ (product >> 64) as u64).wrapping_add(START)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn flows_that_differ_in_one_field_have_different_keys() {
        let addresses = [0x0a00_0001_0a00_0002];
        let mut keys = HashSet::new();
        for port in 0..=u16::MAX {
            assert!(keys.insert(of(&addresses, 6, Some((port, 80)))));
        }
        assert!(keys.insert(of(&addresses, 17, Some((1, 80)))));
        assert!(keys.insert(of(&addresses, 6, None)));
        assert!(keys.insert(of(&[0x0a00_0001_0a00_0003], 6, Some((1, 80)))));
    }

    #[test]
    fn keys_spread_over_the_buckets_of_a_fair_queue() {
        // 65 536 flows with neighbouring ports in 1 024 buckets: 64 each, standard deviation 8.
        let mut buckets = [0_u32; 1_024];
        for port in 0..=u16::MAX {
            buckets[(of(&[7], 6, Some((port, 5_001))) % 1_024) as usize] += 1;
        }
        let (least, most) = (buckets.iter().min().unwrap(), buckets.iter().max().unwrap());
        assert!(
            *least > 64 - 6 * 8 && *most < 64 + 6 * 8,
            "{least} to {most}"
        );
    }
}
