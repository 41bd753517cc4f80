//! Markers: in front of a bottleneck they write into each packet what its delivery is worth.
//!
//! A marker knows flows, so that no bottleneck behind it has to. Every marker promises the *marker
//! requirement*, which its tests check: if every packet worth no more than a threshold c is discarded, what is left of a flow has the rate v⁻¹(c) of its
//! [`ValueFunction`], or all of its rate where that is less.
//!
//! In a scenario a group has a function (see [`function`](crate::value::function)), and may choose the marker and its parameters:
//!
//! ```toml
//! value = "gold"
//! value = { function = "gold", marker = "random", per = "flow", time_constant = "100ms" }
//! value = { function = "gold", marker = "token_bucket", steps = 30, to = "1gbit" } # the regions of the ns-3 module
//! value = { function = "gold", marker = "fast_adapting", bucket = "60kB", step = "1500B" }
//! value = { function = "gold", marker = "table", steps = 64, table_bits = 12 }
//! value = { function = "gold", marker = "multi_timescale", timescales = 3, shortest = "100ms", longest = "10s", boost = 4 }
//! value = { function = ["background", "gold"], marker = "multi_timescale", timescales = 2 } # one for each, from the shortest
//! ```
//!
//! Each kind is one line of [`MARKERS`] with its parameters; [`Marker::new`] makes one, and a world calls [`Marker::mark`] for each packet
//! directly in front of [`Bottleneck::arrive`](crate::Bottleneck::arrive). The memory of flows is bounded: see `flow_table.rs`.

mod fast_adapting;
mod flow_table;
mod multi_timescale;
mod parameters;
mod random;
mod rate;
mod remark;
mod table;
mod token_bucket;

pub use self::remark::{PERIOD, Passage, Remarker};

use self::flow_table::{FlowTable, Place};
use self::parameters::{Flows, Per};
use crate::kind::Entry;
use crate::packet::Packet;
use crate::parameter::{ParameterError, Settings, Table};
use crate::random::Random;
use crate::units::{Bytes, Time};
use crate::value::ValueFunction;

/// The law of a marker: the state of each flow, or of the aggregate, and the value of a packet.
trait MarkerLaw: Sized {
    /// The row of its kind in listings.
    const ENTRY: Entry;
    /// Its parameters.
    type Parameters: Table;
    /// State of a flow.
    type FlowState: Clone + core::fmt::Debug;
    /// Bytes of a flow's place, with its tag, where pointers have 64 bits: estimates of memory are the same on every platform.
    const PLACE: usize;
    /// The law for these functions.
    fn new(
        parameters: &Self::Parameters,
        functions: &[ValueFunction],
    ) -> Result<Self, ParameterError>;
    /// Whether flows are distinguished, and how many are remembered.
    fn flows(parameters: &Self::Parameters) -> Flows;
    /// The state of a flow that begins.
    fn fresh(&self) -> Self::FlowState;
    /// Bytes that a state has on the heap.
    fn heap(&self) -> usize {
        0
    }
    /// The code of a packet that came `since` after the one before it; not 0.
    fn code(
        &self,
        state: &mut Self::FlowState,
        len: Bytes,
        since: Time,
        random: &mut Random,
    ) -> u16;
}

/// The traffic that a marker takes for one sender.
#[derive(Debug)]
enum Scope<S> {
    Flows(FlowTable<S>),
    Aggregate(Place<S>),
}

/// A law with its states.
#[derive(Debug)]
struct Marking<L: MarkerLaw> {
    law: L,
    scope: Scope<L::FlowState>,
    random: Random,
}

impl<L: MarkerLaw> Marking<L> {
    fn new(
        settings: &Settings,
        functions: &[ValueFunction],
        mut random: Random,
    ) -> Result<Self, ParameterError> {
        let parameters = L::Parameters::of(settings);
        let law = L::new(&parameters, functions)?;
        let fresh = law.fresh();
        let Flows { per, flows, idle } = L::flows(&parameters);
        let scope = match per {
            Per::Aggregate => Scope::Aggregate(Place::new(fresh)),
            Per::Flow => Scope::Flows(FlowTable::new(flows, idle, fresh, &mut random)),
        };
        Ok(Self { law, scope, random })
    }

    #[inline]
    fn mark(&mut self, packet: &mut impl Packet, now: Time) {
        let place = match &mut self.scope {
            Scope::Flows(table) => table.place(packet.flow(), now),
            Scope::Aggregate(place) => place,
        };
        let (state, since) = place.visit(now);
        let code = self.law.code(state, packet.len(), since, &mut self.random);
        packet.set_value(code);
    }

    fn memory(&self) -> Memory {
        match &self.scope {
            Scope::Flows(table) => table.memory(L::PLACE + self.law.heap()),
            Scope::Aggregate(_) => Memory::default(),
        }
    }
}

/// The memory of a marker for flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Places for flows; none in a marker of the aggregate.
    pub places: usize,
    /// Bytes of all places, which are allocated at once.
    pub bytes: usize,
    /// Places in use, by idle flows too.
    pub taken: usize,
    /// Packets of flows without a place, which were marked together, as one flow.
    pub crowded: u64,
}

/// Makes the list of kinds, and the static dispatch over them, from one list.
macro_rules! markers {
    ($($variant:ident => $module:ident :: $law:ident,)*) => {
        /// Every kind of marker, in the order of listings; the first is the default.
        pub const MARKERS: &[Entry] = &[$(<$module::$law as MarkerLaw>::ENTRY,)*];

        #[allow(clippy::large_enum_variant, reason = "a group has one; a box would cost each packet a hop")]
        #[derive(Debug)]
        enum AnyMarking { $($variant(Marking<$module::$law>),)* }

        impl AnyMarking {
            fn new(kind: &str, settings: &Settings, functions: &[ValueFunction], random: Random) -> Result<Self, ParameterError> {
                $(if kind == <$module::$law as MarkerLaw>::ENTRY.name {
                    return Marking::new(settings, functions, random).map(Self::$variant);
                })*
                Err(Entry::unknown(MARKERS, kind))
            }
            #[inline]
            fn mark(&mut self, packet: &mut impl Packet, now: Time) {
                match self { $(Self::$variant(marking) => marking.mark(packet, now),)* }
            }
            fn memory(&self) -> Memory {
                match self { $(Self::$variant(marking) => marking.memory(),)* }
            }
        }
    };
}

markers! {
    Random => random::RandomLaw,
    TokenBucket => token_bucket::TokenBucketLaw,
    FastAdapting => fast_adapting::FastAdaptingLaw,
    Table => table::TableLaw,
    MultiTimescale => multi_timescale::MultiTimescaleLaw,
}

/// Any marker, dispatched statically.
#[derive(Debug)]
pub struct Marker(AnyMarking);

impl Marker {
    /// A marker of `kind` in [`MARKERS`], whose settings come from that kind's own table. `functions` is one function; of `multi_timescale`
    /// one for all its timescales, or one for each from the shortest. Its randomness is drawn from `random` alone. Refused with the reason: an
    /// unknown kind, a parameter without effect, another number of functions.
    pub fn new(
        kind: &str,
        settings: &Settings,
        functions: &[ValueFunction],
        random: Random,
    ) -> Result<Self, ParameterError> {
        Entry::find(MARKERS, kind)?;
        settings.check()?;
        AnyMarking::new(kind, settings, functions, random).map(Self)
    }
    /// Sets the value of a packet that comes at `now`, whatever it was before; never to 0. `now` should not fall, but may: time that goes back is
    /// no time.
    #[inline]
    pub fn mark(&mut self, packet: &mut impl Packet, now: Time) {
        self.0.mark(packet, now);
    }
    /// Its memory for flows.
    pub fn memory(&self) -> Memory {
        self.0.memory()
    }
}

/// The entry of `kind`, or an error that lists all kinds.
pub fn find(kind: &str) -> Result<&'static Entry, ParameterError> {
    Entry::find(MARKERS, kind)
}

/// The function of a marker that has one.
fn one(functions: &[ValueFunction]) -> Result<ValueFunction, ParameterError> {
    match functions {
        [function] => Ok(function.clone()),
        _ => Err(ParameterError::new(
            "functions",
            functions.len(),
            "must be one value function",
        )),
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    fn place<L: MarkerLaw>() -> (usize, usize) {
        (
            L::PLACE,
            size_of::<u64>() + size_of::<Place<L::FlowState>>(),
        )
    }

    #[test]
    fn the_memory_of_a_place_is_what_it_takes() {
        for (estimated, taken) in [
            place::<random::RandomLaw>(),
            place::<token_bucket::TokenBucketLaw>(),
            place::<fast_adapting::FastAdaptingLaw>(),
            place::<table::TableLaw>(),
            place::<multi_timescale::MultiTimescaleLaw>(),
        ] {
            assert_eq!(estimated, taken);
        }
    }
}
