//! Packet values: what the delivery of a packet is worth, and which share of a flow is worth how much.
//!
//! Source: the Per Packet Value framework (Nádas, Turányi and Rácz, GLOBECOM 2016; ppv.elte.hu). A *throughput-value function* v(x)
//! is the worth of the marginal bit of a flow at rate x; it falls. Marked packets carry that value, and a bottleneck that
//! discards what is worth no more than a threshold c leaves of each flow the rate at which v(x) = c. Flows with the same function
//! thus get the same rate, and v(2x) gets half of it, whatever their congestion controls do.
//!
//! * [`code`]: values as 16-bit codes on a logarithmic scale, 0 for unmarked packets; a larger code is worth more.
//! * [`curve`]: the shapes of functions; [`function`]: a function tabulated in codes, [`ValueFunction`].
//! * [`histogram`]: the amount of traffic of each code.

pub mod code;
pub mod curve;
pub mod function;
pub mod histogram;

pub use code::CodeScale;
pub use curve::{Curve, CurvePoint};
pub use function::{FUNCTIONS, ValueFunction};
pub use histogram::ValueHistogram;

/// The value of an unmarked packet.
pub const UNMARKED: u16 = 0;
