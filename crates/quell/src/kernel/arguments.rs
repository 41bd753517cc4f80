//! The arguments of `quell kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::examples;

/// What is done with the kernels.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelAction {
    /// Build a kernel from source in a few minutes, without root; an unchanged kernel is not built again
    #[command(after_help = examples::KERNEL_BUILD)]
    Build(KernelBuild),
    /// List the kernels; without --kernel a run uses the first one
    List {
        /// Also show each kernel's folder, congestion controls and queue disciplines
        #[arg(long, short)]
        verbose: bool,
    },
    /// Add a user-mode kernel that you built (ARCH=um, CONFIG_UML_TIME_TRAVEL_SUPPORT=y)
    Add {
        /// The kernel executable: the file `linux` of the build; or the folder of a kernel in another store
        path: PathBuf,
        /// Name for this kernel [default: its version]
        #[arg(long)]
        name: Option<String>,
        /// Replace the kernel of that name
        #[arg(long)]
        replace: bool,
    },
    /// Remove a kernel
    Remove {
        /// Name of the kernel in `quell kernel list`
        name: String,
    },
}

/// `quell kernel build`.
#[derive(Debug, Args)]
pub(crate) struct KernelBuild {
    /// Build from this source tree (which stays unchanged), package (.deb) or archive (.tar.xz) [default: the
    /// distribution's newest linux-source package, which quell downloads]
    #[arg(long, value_name = "PATH", conflicts_with = "package")]
    pub(crate) source: Option<PathBuf>,
    /// Download and build this source package of the distribution: linux-source-6.1, or 6.1
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    /// Name for this kernel [default: its version, with the folder of the source tree and the name of FRAGMENT]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// File with more kernel options, one CONFIG_NAME=y per line
    #[arg(long, value_name = "FRAGMENT")]
    pub(crate) config: Option<PathBuf>,
    /// Build everything again; without this option only the files of a source tree that changed are compiled
    #[arg(long)]
    pub(crate) clean: bool,
}
