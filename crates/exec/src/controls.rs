//! The congestion controls of the program's side and of the far edge.

use quell_hosts::cc::{self, Control, Modules};
use quell_scenario::ControlSpec;

use crate::config::Config;
use crate::error::Result;
use crate::network::Network;

/// The congestion controls that were asked for.
pub(crate) struct Controls {
    pub(crate) inside: Option<Control>,
    pub(crate) outside: Option<Control>,
}

impl Controls {
    /// Looks for them, and loads as BPF what the kernel lacks; a kernel module is not loaded. They are there as long as this is.
    pub(crate) fn find(config: &Config) -> Result<Self> {
        let find = |name: &Option<String>| {
            let find = |name| cc::find(ControlSpec::new(name).kernel_name(), Modules::Leave);
            name.as_deref().map(find).transpose()
        };
        Ok(Self {
            inside: find(&config.control)?,
            outside: find(&config.far_control)?,
        })
    }

    /// Whether the far edge and the program's side have one for L4S that was asked for by its name: Prague.
    pub(crate) fn are_l4s(&self) -> [bool; 2] {
        [&self.outside, &self.inside]
            .map(|control| control.as_ref().map(Control::name) == Some("prague"))
    }

    /// Its name in Linux.
    pub(crate) fn name(&self, control: &Option<Control>) -> Option<String> {
        control
            .as_ref()
            .map(|control| control.kernel_name().to_owned())
    }

    /// Of the program's side and of the far edge, by their names in Linux.
    pub(crate) fn used(&self, network: &Network) -> Result<[String; 2]> {
        let used = |control: &Option<Control>, side| match self.name(control) {
            Some(name) => Ok(name),
            None => network.default_control(side),
        };
        Ok([
            used(&self.inside, &network.inside)?,
            used(&self.outside, &network.outside)?,
        ])
    }
}
