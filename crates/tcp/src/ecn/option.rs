//! The AccECN option (RFC 9768 section 3.2.3): byte counters of 24 bits, kinds 172 and 174.

use std::fmt;

use quell_units::Ecn;

/// Which counter comes first (RFC 9768 figure 3; Linux `TCPOPT_ACCECN0`, `TCPOPT_ACCECN1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Kind 172: ECT(0), CE, ECT(1).
    Zero,
    /// Kind 174: ECT(1), CE, ECT(0).
    One,
}

impl Order {
    /// The codepoints that the fields count, in their order.
    pub const fn fields(self) -> [Ecn; 3] {
        match self {
            Self::Zero => [Ecn::Ect0, Ecn::Ce, Ecn::Ect1],
            Self::One => [Ecn::Ect1, Ecn::Ce, Ecn::Ect0],
        }
    }
    /// TCP option kind.
    pub const fn kind(self) -> u8 {
        match self {
            Self::Zero => 172,
            Self::One => 174,
        }
    }
}

/// An AccECN option with up to three counters, as in the header; or none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct AccEcnOption {
    /// Zero for no option, else the number of fields plus one, plus 8 for order 1.
    shape: u8,
    fields: [[u8; 3]; 3],
}

/// Padding bytes of a SACK option, which has 2 + 8n bytes.
const SACK_PADDING: u64 = 2;
/// The bit of `shape` for order 1.
const ORDER_ONE: u8 = 8;

impl AccEcnOption {
    /// No option.
    pub const NONE: Self = Self {
        shape: 0,
        fields: [[0; 3]; 3],
    };
    /// Value at which a counter wraps.
    pub const MODULUS: u32 = 1 << 24;

    /// The option with the low 24 bits of the first three `counters`, given in this order.
    pub fn new(order: Order, counters: &[u64]) -> Self {
        let mut option = Self::NONE;
        for (field, counter) in option.fields.iter_mut().zip(counters) {
            let [.., high, middle, low] = counter.to_be_bytes();
            *field = [high, middle, low];
        }
        option.shape = counters.len().min(3) as u8 + 1;
        if order == Order::One {
            option.shape |= ORDER_ONE;
        }
        option
    }
    /// Whether there is an option.
    pub const fn is_present(&self) -> bool {
        self.shape != 0
    }
    /// The order of its fields; `None` if there is no option.
    pub const fn order(&self) -> Option<Order> {
        match self.shape {
            0 => None,
            shape if shape & ORDER_ONE != 0 => Some(Order::One),
            _ => Some(Order::Zero),
        }
    }
    /// Number of counters: zero to three.
    pub const fn len(&self) -> usize {
        (self.shape & (ORDER_ONE - 1)).saturating_sub(1) as usize
    }
    /// Whether it has no counter: there is no option, or one of length 2.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Its length in the header without padding: 2, 5, 8 or 11 bytes; zero if there is no option.
    pub const fn length(&self) -> u64 {
        match self.shape {
            0 => 0,
            _ => 2 + 3 * self.len() as u64,
        }
    }
    /// Its length in the header, padded to words of four bytes. It can use the two bytes of padding that
    /// SACK blocks leave (Linux `tcp_options_fit_accecn`).
    pub const fn padded_length(&self, is_beside_sacks: bool) -> u64 {
        let length = self.length();
        let beyond = length % 4;
        if is_beside_sacks && beyond <= SACK_PADDING {
            length - beyond
        } else {
            length.next_multiple_of(4)
        }
    }
    /// Its counters, each below [`MODULUS`](Self::MODULUS), with the codepoint that they count.
    pub fn counters(&self) -> impl Iterator<Item = (Ecn, u32)> + '_ {
        let order = self.order().unwrap_or(Order::Zero);
        let values = self.fields.iter().take(self.len());
        order
            .fields()
            .into_iter()
            .zip(values.map(|&[high, middle, low]| u32::from_be_bytes([0, high, middle, low])))
    }
}

impl fmt::Debug for AccEcnOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.order() {
            None => f.write_str("none"),
            Some(order) => {
                write!(f, "kind {}", order.kind())?;
                f.debug_list().entries(self.counters()).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 figure 3 and table 5.
    #[test]
    fn order_and_length_determine_the_counters() {
        use Ecn::{Ce, Ect0, Ect1};
        let counters = [7, 8, (1 << 24) + 9];
        let cases = [
            (Order::Zero, 3, &[(Ect0, 7), (Ce, 8), (Ect1, 9)][..], 11),
            (Order::One, 3, &[(Ect1, 7), (Ce, 8), (Ect0, 9)], 11),
            (Order::Zero, 2, &[(Ect0, 7), (Ce, 8)], 8),
            (Order::One, 2, &[(Ect1, 7), (Ce, 8)], 8),
            (Order::Zero, 1, &[(Ect0, 7)], 5),
            (Order::One, 1, &[(Ect1, 7)], 5),
            (Order::Zero, 0, &[], 2),
            (Order::One, 0, &[], 2),
        ];
        for (order, count, expected, length) in cases {
            let option = AccEcnOption::new(order, &counters[..count]);
            assert_eq!(option.counters().collect::<Vec<_>>(), expected);
            assert_eq!((option.order(), option.length()), (Some(order), length));
            assert!(option.is_present());
        }
        assert_eq!(AccEcnOption::NONE.length(), 0);
        assert!(!AccEcnOption::NONE.is_present() && AccEcnOption::NONE.is_empty());
        assert_eq!([Order::Zero, Order::One].map(Order::kind), [172, 174]);
    }

    #[test]
    fn the_padding_of_sack_blocks_is_used() {
        let padded = |fields, is_beside_sacks| {
            AccEcnOption::new(Order::One, &[0; 3][..fields]).padded_length(is_beside_sacks)
        };
        assert_eq!([0, 1, 2, 3].map(|n| padded(n, false)), [4, 8, 8, 12]);
        assert_eq!([0, 1, 2, 3].map(|n| padded(n, true)), [0, 4, 8, 12]);
        assert_eq!(AccEcnOption::NONE.padded_length(false), 0);
    }
}
