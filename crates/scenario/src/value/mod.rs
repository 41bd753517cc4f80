//! Packet values of a scenario: throughput-value functions, and which function and marker a group has.
//!
//! ```toml
//! [value.premium]                                  # a function of the scenario's own
//! kind = "piecewise"
//! points = [["1mbit", 1000000], ["10mbit", 20000], ["1gbit", 1]]
//!
//! [[group]]
//! value = "silver"                                 # a function's name, quell's or the scenario's own, or "none"
//! value = { function = "premium", marker = "token_bucket" }
//! value = { function = ["premium", "gold"], marker = "multi_timescale" }
//! ```
//!
//! Kinds and parameters come from the tables of `quell-aqm` and nowhere else. A function is made in codes on the scale of the
//! direction that the group's data takes (`link.bins-per-octave`), so values that meet in a queue can be compared.

pub(super) mod read;
pub(super) mod write;

use quell_aqm::marker::{MARKERS, Marker};
use quell_aqm::value::{CodeScale, CurvePoint, ValueFunction, function};
use quell_units::parameter::{Parameter, Value};
use quell_units::{ParameterError, Random, Settings};

use super::written::{explicit, values};
use super::{DirectionSpec, QueueSpec};

/// The word of a group whose packets carry no value.
pub(crate) const UNMARKED: &str = "none";
/// The default function of a group in front of a queue that looks at values.
pub const DEFAULT_FUNCTION: &str = "gold";
/// The most functions that a group, or a scenario, has.
pub(crate) const MOST_FUNCTIONS: usize = 64;

/// A throughput-value function to be made.
#[derive(Debug, Clone)]
pub struct FunctionSpec {
    /// Its name in groups: the kind's name for one of quell's own.
    pub name: String,
    /// A kind of [`FUNCTIONS`](quell_aqm::value::FUNCTIONS).
    pub kind: &'static str,
    /// Its parameters.
    pub settings: Settings,
    /// The points of `piecewise`; empty for other kinds.
    pub points: Vec<CurvePoint>,
}

impl PartialEq for FunctionSpec {
    /// Whether both are the same function under the same name: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.points == other.points
            && values(&self.settings) == values(&other.settings)
    }
}

impl Eq for FunctionSpec {}

impl FunctionSpec {
    /// A kind under its own name, with its defaults.
    fn known(name: &str) -> Option<Self> {
        let entry = function::find(name).ok()?;
        let needs_points = entry.name == PIECEWISE;
        (!needs_points).then(|| Self {
            name: name.to_owned(),
            kind: entry.name,
            settings: Settings::new(entry.parameters),
            points: Vec::new(),
        })
    }

    /// The function in codes of this scale.
    pub fn build(&self, codes: CodeScale) -> Result<ValueFunction, ParameterError> {
        ValueFunction::new(self.kind, &self.settings, &self.points, codes)
    }
}

/// The kind whose points stand beside its parameters.
pub(crate) const PIECEWISE: &str = "piecewise";

/// The marker that gives packets of a group their values.
#[derive(Debug, Clone)]
pub struct ValueSpec {
    /// One function; for a marker of several timescales perhaps one for each, from the shortest.
    pub functions: Vec<FunctionSpec>,
    /// A kind of [`MARKERS`].
    pub marker: &'static str,
    /// Its parameters.
    pub settings: Settings,
}

impl PartialEq for ValueSpec {
    /// Whether both give the same values: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        self.functions == other.functions
            && self.marker == other.marker
            && values(&self.settings) == values(&other.settings)
    }
}

impl Eq for ValueSpec {}

impl ValueSpec {
    /// A function with the default marker.
    fn with_default_marker(function: FunctionSpec) -> Self {
        let marker = &MARKERS[0];
        Self {
            functions: vec![function],
            marker: marker.name,
            settings: Settings::new(marker.parameters),
        }
    }

    /// The default of a group in front of `queue`.
    fn default(queue: &QueueSpec) -> Option<Self> {
        let gold = FunctionSpec::known(DEFAULT_FUNCTION);
        gold.filter(|_| uses_values(queue))
            .map(Self::with_default_marker)
    }

    /// The marker in front of the queue of `side`, whose randomness is drawn from `random` alone.
    pub fn build(&self, side: &DirectionSpec, random: Random) -> Result<Marker, ParameterError> {
        let functions = self.functions.iter();
        let functions = functions.map(|function| function.build(side.codes));
        let functions: Vec<ValueFunction> = functions.collect::<Result<_, _>>()?;
        Marker::new(self.marker, &self.settings, &functions, random)
    }

    /// Bytes that the marker and its functions take at most, while they are made.
    pub(super) fn memory(&self, side: &DirectionSpec) -> u64 {
        // For each code a rate, in a vector that grows; the index has an entry for each of 2⁷ steps of 42 octaves.
        let tables = self
            .functions
            .iter()
            .filter_map(|one| one.build(side.codes).ok());
        let tables = tables.map(|table| 3 * 8 * (u64::from(table.highest()) + 1) + (2 << 14));
        let memory = self.with_few_flows().map(|marker| marker.memory());
        let place = memory.map_or(0, |memory| memory.bytes / memory.places.max(1));
        let flows = self
            .settings
            .applicable()
            .find_map(|(row, value)| match value {
                Some(Value::Integer(flows)) if row.name == FLOWS => {
                    Some(flows.max(FEWEST).next_power_of_two())
                }
                _ => None,
            });
        let places = flows.unwrap_or(0).saturating_mul(place as u64);
        tables.sum::<u64>().saturating_add(places)
    }

    /// Whether there is such a marker; its table of flows, which may be large, is not made for that.
    fn try_out(&self) -> Result<(), ParameterError> {
        self.settings.check()?;
        self.with_few_flows().map(drop)
    }

    fn explicit(&self) -> Vec<(&'static Parameter, Value)> {
        explicit(&self.settings, |settings| {
            let mut spec = self.clone();
            spec.settings = settings;
            spec.try_out()
        })
    }

    /// Makes the marker with the smallest table of flows.
    fn with_few_flows(&self) -> Result<Marker, ParameterError> {
        let mut settings = self.settings.clone();
        let per_flow = settings.applicable().any(|(row, _)| row.name == FLOWS);
        if per_flow {
            settings.set(FLOWS, &FEWEST.to_string())?;
        }
        let functions = self.functions.iter();
        let functions = functions.map(|function| function.build(CodeScale::default()));
        let functions: Vec<ValueFunction> = functions.collect::<Result<_, _>>()?;
        Marker::new(self.marker, &settings, &functions, Random::new(0, "check"))
    }
}

/// The parameter of markers that says how many flows they remember, and its least value.
const FLOWS: &str = "flows";
const FEWEST: u64 = 16;

/// Whether a queue looks at the values of packets: it then says what those without one are worth.
pub fn uses_values(queue: &QueueSpec) -> bool {
    let mut rows = queue.settings.table().iter();
    rows.any(|row| row.name == "default_value")
}
