//! Controls of other crates: written as those of this one, with [`Declared`], and registered at the start of a program.
//!
//! In a connection they are a [`Control::Custom`](super::Control::Custom): each call goes through a box, which the controls of this crate do not
//! pay for. [`register`] sets the list of kinds once, before anything reads it; from then on it never changes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use quell_units::origin::check;
use quell_units::parameter::Table as _;
use quell_units::{Origin, OriginError, Settings};

use super::{CongestionControl, ControlKind, Declared, Host, KINDS, Window};
use crate::ecn::{Codepoint, FeedbackMode};

/// A control that another crate brings along.
#[derive(Debug, Clone, Copy)]
pub struct OwnKind {
    /// Its declaration. With [`ControlKind::kernel`] it says that kernels may have it too, and under which name; without,
    /// it is a model alone, and only the simulator has it.
    pub kind: ControlKind,
    /// The crate that it comes from.
    pub origin: Origin,
    feedback: fn(&Settings) -> FeedbackMode,
    codepoint: fn(&Settings) -> Option<Codepoint>,
    responds_to_marks: fn(&Settings) -> bool,
    create: fn(&Settings, &Host, &mut Window) -> Box<dyn CongestionControl>,
}

impl OwnKind {
    /// The kind of `C`, which comes from `origin`.
    pub fn of<C: Declared + 'static>(origin: Origin) -> Self {
        Self {
            kind: C::KIND,
            origin,
            feedback: |settings| C::feedback(&C::Config::of(settings)),
            codepoint: |settings| C::codepoint(&C::Config::of(settings)),
            responds_to_marks: |settings| C::responds_to_marks(&C::Config::of(settings)),
            create: |settings, host, window| {
                Box::new(C::new(&C::Config::of(settings), host, window))
            },
        }
    }
}

static OWN: OnceLock<Vec<OwnKind>> = OnceLock::new();

/// Registers the controls of other crates: once, at the start of a program, before anything reads the list of controls.
///
/// # Errors
/// A name is taken or is none, a table is wrong, or it is too late. Nothing is registered then.
pub fn register(kinds: Vec<OwnKind>) -> Result<(), OriginError> {
    for (index, own) in kinds.iter().enumerate() {
        let name = own.kind.name;
        check(name, own.kind.parameters)?;
        let names = |kind: &ControlKind| [Some(kind.name), kind.kernel];
        let before = kinds[..index].iter().map(|other| &other.kind);
        let mut before = KINDS.iter().chain(before).flat_map(names).flatten();
        if before.any(|other| names(&own.kind).contains(&Some(other))) {
            return Err(OriginError::Taken(name));
        }
    }
    OWN.set(kinds).map_err(|_| OriginError::Late)
}

/// The controls that were registered, in their order. From the first call on no other can be.
pub fn kinds() -> &'static [OwnKind] {
    OWN.get_or_init(Vec::new)
}

/// The registered control of this name.
pub fn find(name: &str) -> Option<&'static OwnKind> {
    kinds().iter().find(|own| own.kind.name == name)
}

/// A control of another crate, with its options.
#[derive(Clone)]
pub struct OwnConfig {
    own: &'static OwnKind,
    settings: Arc<Settings>,
}

impl OwnConfig {
    /// The registered control `name` with these options, which are of its table.
    pub(super) fn new(name: &str, settings: &Settings) -> Option<Self> {
        Some(Self::of(find(name)?, settings.clone()))
    }
    /// A control that need not be registered, with options of its table: for tests.
    pub fn of(own: &'static OwnKind, settings: Settings) -> Self {
        let settings = Arc::new(settings);
        Self { own, settings }
    }
    pub(super) fn kind(&self) -> &'static ControlKind {
        &self.own.kind
    }
    pub(super) fn feedback(&self) -> FeedbackMode {
        (self.own.feedback)(&self.settings)
    }
    pub(super) fn codepoint(&self) -> Option<Codepoint> {
        (self.own.codepoint)(&self.settings)
    }
    pub(super) fn responds_to_marks(&self) -> bool {
        (self.own.responds_to_marks)(&self.settings)
    }
    pub(super) fn create(&self, host: &Host, window: &mut Window) -> Box<dyn CongestionControl> {
        (self.own.create)(&self.settings, host, window)
    }
}

impl PartialEq for OwnConfig {
    /// Whether both make the same control: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        let values = |config: &Self| config.settings.applicable().collect::<Vec<_>>();
        let (ours, theirs) = (values(self), values(other));
        let same = ours.len() == theirs.len()
            && ours
                .iter()
                .zip(&theirs)
                .all(|((a, va), (b, vb))| a.name == b.name && va == vb);
        self.kind().name == other.kind().name && same
    }
}

impl Eq for OwnConfig {}

impl fmt::Debug for OwnConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind().name, self.settings)
    }
}
