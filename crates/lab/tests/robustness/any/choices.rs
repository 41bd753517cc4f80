//! Choices from bytes.

/// The bytes that are left; a choice without bytes is zero.
pub(super) struct Choices<'a>(pub(super) &'a [u8]);

impl Choices<'_> {
    pub(super) fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }
    pub(super) fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | self.byte())
    }
    /// From zero to `bound` - 1.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        if bound <= 256 {
            self.byte() % bound.max(1)
        } else {
            self.number() % bound
        }
    }
    /// True once in `odds`; never when the bytes have run out.
    pub(super) fn once_in(&mut self, odds: u64) -> bool {
        self.below(odds) == odds - 1
    }
    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
    /// From `low` to `high`, each order of magnitude as likely as the others, and the ends more so.
    pub(super) fn spread(&mut self, (low, high): (u64, u64)) -> u64 {
        match self.byte() {
            0 => low,
            255 => high,
            step => {
                let bits = |n: u64| u64::from(64 - n.leading_zeros());
                let width = bits(low) + (bits(high) - bits(low)) * step / 254;
                let top = 1_u64.checked_shl(width as u32).map_or(u64::MAX, |n| n - 1);
                (top / 2 + self.number() % (top / 2 + 1) + 1).clamp(low, high)
            }
        }
    }
}
