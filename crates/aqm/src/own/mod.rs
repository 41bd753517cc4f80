//! Disciplines of other crates: written against the same traits as those of this one, registered at the start of a program.
//!
//! A discipline of this crate is a variant of [`Discipline`](crate::Discipline), generic over the packets of each world. One of another crate
//! cannot be: the enum knows no names from outside. It is therefore compiled once, for packets of the type [`Handle`], and stands behind
//! a box ([`Foreign`]). A handle has all that a discipline may know of a packet; the packet itself stays in [`Foreign`] meanwhile. The kinds
//! of this crate pay nothing for it.
//!
//! [`disciplines::register`](crate::disciplines::register) sets the list of kinds once, before anything reads it; from then on it never changes.

mod foreign;
mod handle;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use once_cell::race::OnceBox;
use quell_units::origin::check;
use quell_units::{Origin, OriginError};

use crate::kind::{Entry, QueueKind};
use crate::parameter::{ParameterError, Settings};
use crate::parts::{ControlLaw, SingleBuffer};
use crate::qdisc::{Link, Qdisc};
use crate::random::Random;

pub use foreign::Foreign;
pub use handle::Handle;

use foreign::Erased;

/// A discipline of another crate: besides the contract of every discipline it has what [`Discipline::new`](crate::Discipline::new) needs.
///
/// A [`SingleBuffer`] with a law of one's own is one already.
pub trait OwnQueue: QueueKind + Qdisc<Handle> + fmt::Debug + Send + Sized + 'static {
    /// An empty discipline on `link`. Its randomness is drawn from `random` alone.
    ///
    /// # Errors
    /// The settings do not suit the link.
    fn create(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError>;
}

impl<L> OwnQueue for SingleBuffer<Handle, L>
where
    L: ControlLaw + fmt::Debug + Send + 'static,
    L::Parameters: fmt::Debug + 'static,
{
    fn create(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        Self::new(settings, link, random)
    }
}

/// Makes a discipline that is known by its traits only.
type Make = fn(Settings, Link, Random) -> Result<Box<dyn Erased>, ParameterError>;

/// A kind of discipline that another crate brings along.
#[derive(Debug, Clone, Copy)]
pub struct OwnKind {
    /// Its row in listings.
    pub entry: Entry,
    /// The crate that it comes from.
    pub origin: Origin,
    make: Make,
}

impl OwnKind {
    /// The kind of `Q`, which comes from `origin`.
    pub fn of<Q: OwnQueue>(origin: Origin) -> Self {
        Self {
            entry: Q::ENTRY,
            origin,
            make: |settings, link, random| {
                let made = Q::create(settings, link, random)?;
                Ok(Box::new(made))
            },
        }
    }

    /// Makes a discipline of this kind, whose settings come from the kind's own table.
    ///
    /// # Errors
    /// The settings do not suit each other or the link.
    pub fn create<P>(
        &'static self,
        settings: Settings,
        link: Link,
        random: Random,
    ) -> Result<Foreign<P>, ParameterError> {
        settings.check()?;
        Ok(Foreign::new(self, (self.make)(settings, link, random)?))
    }
}

static OWN: OnceBox<Vec<OwnKind>> = OnceBox::new();

/// Sets the list of kinds beside those of this crate, `known`: [`disciplines::register`](crate::disciplines::register).
pub(crate) fn set(known: &'static [Entry], kinds: Vec<OwnKind>) -> Result<(), OriginError> {
    for (index, kind) in kinds.iter().enumerate() {
        let name = kind.entry.name;
        check(name, kind.entry.parameters)?;
        let before = kinds[..index].iter().map(|other| &other.entry);
        if known.iter().chain(before).any(|other| other.name == name) {
            return Err(OriginError::Taken(name));
        }
    }
    OWN.set(Box::new(kinds)).map_err(|_| OriginError::Late)
}

/// The kinds that were registered, in their order. From the first call on no other can be.
pub fn kinds() -> &'static [OwnKind] {
    OWN.get_or_init(|| Box::new(Vec::new()))
}

/// The registered kind of this name.
pub fn find(name: &str) -> Option<&'static OwnKind> {
    kinds().iter().find(|kind| kind.entry.name == name)
}
