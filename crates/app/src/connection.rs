//! The name of a connection.

/// One connection of a flow. The end that opens it chooses the number, which is small and free
/// again after `Input::Closed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// The connection of a flow that has one at a time.
    pub const ONLY: Self = Self(0);
}
