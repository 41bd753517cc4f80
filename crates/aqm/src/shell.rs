//! The part of a discipline besides its control law: its settings, and the link that it feeds.

use core::marker::PhantomData;

use crate::parameter::{ParameterError, Settings, Table};
use crate::qdisc::Link;
use crate::units::Rate;

/// The settings of a discipline with the parameters `T`, and its link.
#[derive(Debug)]
pub(crate) struct Shell<T> {
    settings: Settings,
    /// The link with its last rate that was not zero.
    link: Link,
    table: PhantomData<fn() -> T>,
}

impl<T: Table> Shell<T> {
    pub(crate) fn new(settings: Settings, link: Link) -> Self {
        Self {
            settings,
            link,
            table: PhantomData,
        }
    }

    pub(crate) fn parameters(&self) -> T {
        T::of(&self.settings)
    }
    pub(crate) fn link(&self) -> Link {
        self.link
    }
    /// A link that stands still keeps its last rate.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        if !rate.is_zero() {
            self.link.rate = rate;
        }
    }

    /// Changes a parameter, if the table allows it and `adopt` succeeds. A refusal names `key` and no other parameter.
    pub(crate) fn change<R>(
        &mut self,
        key: &str,
        value: &str,
        adopt: impl FnOnce(&T, Link) -> Result<R, ParameterError>,
    ) -> Result<R, ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let adopted =
            adopt(&T::of(&settings), self.link).map_err(|error| error.of_change(key, value))?;
        self.settings = settings;
        Ok(adopted)
    }
}
