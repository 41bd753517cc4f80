//! Turns what happened into counters, histograms, series and the summary, the same in every world.
//!
//! Nothing here knows whether packets and hosts are modelled or real, and nothing reads a clock:
//! each call says when it happened, in times that never run backwards.
//!
//! * [`timeline`]: which part of a run counts for what: warm-up, whole, phases.
//! * [`recorder`]: the figures of one direction of the link, from its observer's calls.
//! * [`flows`]: the figures of flows, from samples of their hosts.
//! * [`rows`]: what both hand out each interval, so that memory does not grow with the run.
//! * [`distribution`]: histogram with exact mean and extremes.
//! * [`bursts`], [`windows`]: how far flows are synchronised, by their drops and their windows.
//! * [`summary`], [`app`], [`histograms`], [`mod@aggregate`]: the results, named as in the result files.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod app;
pub mod bursts;
mod counts;
pub mod distribution;
pub mod flows;
pub mod histograms;
mod jain;
pub mod label;
mod link;
mod queue;
pub mod recorder;
pub mod rows;
mod schedule;
pub mod summary;
pub mod timeline;
pub mod windows;

pub use aggregate::{Aggregate, Estimate, aggregate};
pub use app::{AppFigure, AppSummary, AppTimes};
pub use bursts::{BurstRecorder, Bursts, drop_interval_s};
pub use distribution::{Dist, Distribution};
pub use flows::{FlowRecorder, FlowResults, FlowSample, GroupFlows};
pub use histograms::Histograms;
pub use jain::jain;
pub use label::{Direction, FlowId, GroupId, Hop, Labelled};
pub use recorder::{LinkFigures, LinkResults, Recorder, RecorderConfig};
pub use rows::{FlowRow, QueueRow};
pub use summary::{
    Figures, GroupInfo, GroupSummary, LinkSummary, Phase, QueueSummary, ReverseLink, RunInfo,
    Summary,
};
pub use timeline::{Segment, Span, Timeline, Use};
pub use windows::WindowSamples;
