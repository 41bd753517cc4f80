//! Names of congestion controls, as the kernel has them.

/// Longest name of a control: TCP_CA_NAME_MAX without its final zero.
pub const NAME_MAX: usize = 15;
