//! The command line of `quell plot`.

use std::path::PathBuf;

use clap::Args;
use quell_lab::results::plot::OVERVIEW_NAME;

/// `quell plot`.
#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Folders of results, of quell run or quell compare; or a sweep's store, or an experiment file
    #[arg(required_unless_present = "list")]
    pub(crate) results: Vec<PathBuf>,
    /// What to draw; --list says what there is
    #[arg(long, value_name = "KIND", default_value = OVERVIEW_NAME)]
    pub(crate) kind: String,
    /// The file, .svg, .pdf or .png; one of that name is replaced; - is standard output, as SVG [default: KIND.svg here, or figure.svg, if there is none yet]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Pixels of a PNG for each point, from 0.5 to 8: 2 for a screen, 4 for print
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0)]
    pub(crate) scale: f64,
    /// List the kinds
    #[arg(long)]
    pub(crate) list: bool,
    /// Column of a store, or figure of an experiment file [default: queue.*.delay_ms.p99, or the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Option<String>,
    /// Axis below it [default: the first of numbers]
    #[arg(long, value_name = "AXIS")]
    pub(crate) against: Option<String>,
    /// Published points over it: CSV lines of x,y or x,y,label
    #[arg(long, value_name = "FILE")]
    pub(crate) beside: Option<PathBuf>,
    /// Store of the experiment [default: results/reproduce]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}
