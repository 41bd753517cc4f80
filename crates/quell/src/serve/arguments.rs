//! The arguments of `quell serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use quell_serve::Speed;

use crate::arguments::{Patience, VIRTUAL, Where};

/// `quell serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Scenario file, - for standard input, or the folder of a result [default: what the page opens]
    #[arg(value_name = "SCENARIO|RESULT")]
    pub(crate) what: Option<PathBuf>,
    /// World to run in
    #[arg(long, value_enum, default_value_t = Where::Sim)]
    pub(crate) world: Where,
    /// Address and port to listen at; port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Let pages watch, and set the speed, but open and change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Simulated or played seconds in a second, from 0.005 to 100, or max
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = Speed::parse)]
    pub(crate) speed: Speed,
    /// Kernel to run, by its name in `quell kernel list` [default: the newest]
    #[arg(long, value_name = "NAME", help_heading = VIRTUAL)]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Write the result into this folder, which must not exist [default: a new one in results]
    #[arg(long, value_name = "DIR", help_heading = VIRTUAL)]
    pub(crate) out: Option<PathBuf>,
    /// Write the page into this folder instead, for any web server: it simulates in the browser
    #[arg(long, value_name = "DIR", conflicts_with_all = ["what", "world", "listen", "no_open", "read_only", "speed"])]
    pub(crate) export: Option<PathBuf>,
    /// Take the files of the page from this folder
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) page: Option<PathBuf>,
}
