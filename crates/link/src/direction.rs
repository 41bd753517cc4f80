//! The two directions of a link.

/// Which way packets travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From port A to port B.
    Forward,
    /// From port B to port A.
    Reverse,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];
    /// 0 for forward, 1 for reverse.
    pub const fn index(self) -> usize {
        self as usize
    }
}
