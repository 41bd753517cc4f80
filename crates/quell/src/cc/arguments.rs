//! The arguments of `quell cc`.

use clap::Subcommand;

/// What is done with a congestion control.
#[derive(Debug, Subcommand)]
pub(crate) enum Cc {
    /// List the modelled controls with their options, and what each control is in each world
    List,
    /// Load a control as BPF to test it; a run loads the controls that it needs by itself
    Load {
        /// Name of the control, as in scenarios
        name: String,
        /// Let the kernel load a module for the control; the module stays loaded, for every program of the host
        #[arg(long)]
        load_modules: bool,
    },
    /// Unload a control
    Unload {
        /// Name of the control, as in scenarios
        name: String,
    },
}
