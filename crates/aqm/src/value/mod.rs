//! Packet values of Per Packet Value: how worth is coded, and how much traffic there is of each.

pub mod histogram;

pub use histogram::ValueHistogram;
