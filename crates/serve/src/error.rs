//! What the server refuses, and why.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use parquet::errors::ParquetError;
use quell_lab::RunError;
use quell_lab::results::plot;
use quell_lab::sim::SimError;
use quell_scenario::Problems;

/// Why a request cannot be read, or asks for what no run can be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It is no JSON of the kind that a page sends.
    #[error("this is no request that quell knows: {0}")]
    Unknown(#[from] serde_json::Error),
    /// A speed that is NaN.
    #[error("a speed must be a number")]
    NoNumber,
    /// A word in place of a speed.
    #[error("a speed must be a number, or max")]
    NoSpeed,
    /// A speed of the command line that is too slow, too fast or none.
    #[error("must be from {slowest} to {fastest}, or max")]
    SpeedBounds {
        /// The slowest speed.
        slowest: f64,
        /// The fastest speed.
        fastest: f64,
    },
    /// A step that is no length of time.
    #[error("a step must be a number of ns")]
    NoStep,
    /// A change whose key or value is too long.
    #[error("a key or value may have {most} bytes at most")]
    LongChange {
        /// The most bytes.
        most: usize,
    },
    /// No run, or too many.
    #[error("{runs} runs are not between 1 and {most}")]
    Runs {
        /// How many were asked for.
        runs: usize,
        /// The most runs.
        most: usize,
    },
    /// Too many flows to be prepared for.
    #[error("{flows} more flows are too many: {most} at most")]
    MoreFlows {
        /// How many were asked for.
        flows: u32,
        /// The most flows.
        most: u32,
    },
    /// Too fast a link to be prepared for.
    #[error("a link of {rate} bit/s is too fast: {most} at most")]
    Fastest {
        /// What was asked for.
        rate: f64,
        /// The fastest.
        most: f64,
    },
}

/// Why what a page asks is not done, or a run does not begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The request.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// There is no run to change or to end.
    #[error("no run goes on")]
    NoRun,
    /// There is no run of this place.
    #[error("there is no run {0}")]
    NoSuchRun(usize),
    /// Several runs of the live world, changed.
    #[error("there is one run only")]
    OneRun,
    /// Several links behind which a program runs, changed.
    #[error("there is one link only")]
    OneLink,
    /// Several runs of the live world, opened.
    #[error("real packets go through one link at a time: choose one queue, not two side by side")]
    OneQueue,
    /// Another speed in the live world.
    #[error("real packets go in real time: they know no pause and no other speed")]
    RealTime,
    /// Another speed of a program.
    #[error("a program goes in real time: it knows no pause and no other speed")]
    ProgramTime,
    /// Another scenario behind which a program runs.
    #[error("this link carries a program: start quell exec again for another one")]
    CarriesProgram,
    /// The end of a link behind which a program runs.
    #[error("the link ends with its program")]
    EndsWithProgram,
    /// A change of what was.
    #[error("this is a result: what happened in it does not change")]
    IsResult,
    /// The server was too slow for a run.
    #[error("this machine is too busy: {0} messages of rows were lost; the run is not disturbed")]
    LostRows(u64),
    /// The run of the virtual world ended before it began.
    #[error("the run did not begin")]
    NotBegun,
    /// A change of a key.
    #[error(transparent)]
    Change(Box<dyn StdError + Send + Sync>),
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The simulator does not take the run, or the change.
    #[error(transparent)]
    Watched(#[from] quell_watch::Refused),
    /// The simulation broke off.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// A run of another world.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The result of a run.
    #[error(transparent)]
    Result(#[from] ResultError),
}

/// Why a result is not played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The folder holds no result that can be read.
    #[error(transparent)]
    Sources(#[from] plot::Error),
    /// The folder holds no result.
    #[error("{}: there is no result", .0.display())]
    None(PathBuf),
    /// The scenario of a result.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// A text of a result.
    #[error("cannot read {}: {source}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The summary of a result is no JSON.
    #[error("{}: summary.json: {source}", folder.display())]
    Summary {
        /// The result.
        folder: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The file of a series is no Parquet.
    #[error("cannot read {}: {source}", path.display())]
    Series {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
    /// Rows of a series.
    #[error("{series}.parquet: {source}")]
    Rows {
        /// The name of the series.
        series: &'static str,
        /// Why.
        source: ParquetError,
    },
    /// The task that reads has failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What is to be shown cannot be.
    #[error(transparent)]
    Refused(Box<SessionError>),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system gives no randomness, or no thread.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        Self::Refused(Box::new(error))
    }
}
