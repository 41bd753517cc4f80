//! Turns what happened into counters, histograms, series and the summary, the same in every world.
//!
//! Nothing here knows whether packets and hosts are modelled or real, and nothing reads a clock:
//! each call carries the time of its event, and these times never decrease.
//!
//! * [`label`]: names of groups, flows, links and directions.
//! * [`timeline`]: which part of a run is warm-up and which parts are phases.
//! * [`recorder`]: measures one direction of a link, from the calls of its observer.
//! * [`figures`]: the figures of one direction of a link.
//! * [`flows`]: figures of flows, from samples that their hosts take.
//! * [`rows`]: the rows that both recorders return each interval, so that memory does not grow with
//!   the length of a run.
//! * [`distribution`]: a histogram with exact mean and extremes.
//! * [`control_info`]: facts of a group's congestion control.
//! * [`bursts`], [`windows`]: synchronisation of flows, by their drops and by their windows.
//! * [`summary`], [`app`], [`histograms`], [`mod@aggregate`]: the results, named as in the result files.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod app;
pub mod bursts;
pub mod control_info;
mod counts;
pub mod distribution;
pub mod figures;
pub mod flows;
pub mod histograms;
mod jain;
pub mod label;
mod link;
mod queue;
pub mod recorder;
pub mod rows;
mod schedule;
pub mod seeing;
mod several;
pub mod summary;
pub mod timeline;
pub mod windows;

pub use aggregate::{Aggregate, Estimate, aggregate, differ};
pub use app::{AppFigure, AppSummary, AppTimes};
pub use bursts::{BurstRecorder, Bursts, drop_interval_s};
pub use control_info::{Carrier, GroupControl, MarkFeedback};
pub use distribution::{Dist, Distribution};
pub use figures::{GroupPackets, LinkFigures, LinkResults, QueueSummary};
pub use flows::{FlowRecorder, FlowResults, FlowSample, GroupFlows};
pub use histograms::Histograms;
pub use jain::jain;
pub use label::{Direction, FlowId, GroupId, Hop, Hops, Labelled};
pub use recorder::{Recorder, RecorderConfig, Recording};
pub use rows::{FlowRow, QueueRow};
pub use seeing::Seeing;
pub use summary::{
    Fairness, Figures, GroupInfo, GroupLink, GroupSummary, LinkSummary, NamedLink, NamedReverse,
    Phase, ReverseLink, RuleSummary, RunInfo, Summary,
};
pub use timeline::{Segment, Span, Timeline, Use};
pub use windows::WindowSamples;
