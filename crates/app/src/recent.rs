//! Which datagrams have arrived already: a path may deliver copies, of which applications see the first.
//!
//! As the window against replays of RFC 4303 section 3.4.3, of 64 numbers; what is older than that counts as new.

/// The sequence numbers that have arrived lately.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recent {
    /// One more than the highest.
    next: u64,
    /// Those that have arrived, the highest in the lowest bit.
    arrived: u64,
}

impl Recent {
    /// Whether the datagram with this number arrives for the first time.
    pub fn is_new(&mut self, sequence: u64) -> bool {
        if sequence >= self.next {
            let further = sequence - self.next + 1;
            let shift = u32::try_from(further).unwrap_or(u32::MAX);
            self.arrived = self.arrived.checked_shl(shift).unwrap_or(0) | 1;
            self.next = sequence.saturating_add(1);
            return true;
        }
        let bit = match self.next - 1 - sequence {
            age @ 0..64 => 1 << age,
            _ => 0,
        };
        let is_known = self.arrived & bit != 0;
        self.arrived |= bit;
        !is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut recent = Recent::default();
        let arriving = [0, 0, 3, 1, 3, 1, 2, 70, 3, 6, 6, 7, 7, 200, 70];
        let new = [0, 3, 1, 2, 70, 3, 6, 6, 7, 200, 70];
        // 3, 6 and 70 are more than 63 behind the highest then, and 7 is just within.
        let found: Vec<u64> = arriving
            .into_iter()
            .filter(|number| recent.is_new(*number))
            .collect();
        assert_eq!(found, new);
    }
}
