//! A test case of a suite: where it comes from, and the traffic that each queue carries in it.

use std::sync::Arc;

use quell_units::Time;

use crate::characterize::profile::Profile;
use crate::characterize::traffic::Traffic;
use crate::file::Definition;

/// A test case of a suite.
#[derive(Debug)]
pub struct TestCase {
    /// Name of the test case, and of its scenario file. Variants of one scenario share what stands before the first figure: `rtt-5`, `rtt-100`.
    pub id: String,
    /// Document and section that the test case comes from.
    pub source: String,
    /// Weight that the source gives it: must, should, may …
    pub weight: String,
    /// Description in one line.
    pub title: String,
    /// The action of the test case.
    pub content: Content,
    /// Why it has no verdict, where no statement holds for any of the queues.
    pub(crate) unjudged: Option<String>,
    /// Where it stands in a user's file.
    pub(crate) place: Option<String>,
    /// Base RTT of the suite, where nobody asked for another.
    pub(crate) rtt: Option<Time>,
    /// The meaning of names in its texts.
    pub(crate) definition: Arc<Definition>,
}

/// The action of a test case.
#[derive(Debug)]
pub enum Content {
    /// Each queue carries this traffic.
    Runs(Run),
    /// The card describes the queue; nothing runs.
    Description,
    /// The queue carries this traffic with each of its parameters halved and doubled.
    Parameters(Run),
    /// Nothing runs, for this reason.
    NotRun(String),
}

/// Traffic, and which of its figures are reported.
#[derive(Debug)]
pub struct Run {
    /// The scenario of a path and a congestion control.
    pub(crate) traffic: Traffic,
    /// Whether the standard flows have each of the congestion controls that were asked for; else those of the source.
    pub(crate) any_control: bool,
    /// Whether losses of data in the forward direction are looked at one by one.
    pub(crate) losses: bool,
    /// Whether the time from the start to the steady rate is looked at: all flows start at 0 and keep their rate.
    pub(crate) start: bool,
    /// The queue in the other direction, if it has one of the card.
    pub(crate) back: Option<Back>,
    /// Whether each direction is reported by itself, with its losses of ACKs and SYNs.
    pub(crate) directions: bool,
    /// Whether phases are reported.
    pub(crate) phases: bool,
    /// Whether the ratio of the goodputs of two groups of bulk flows is reported.
    pub(crate) ratio: bool,
    /// Packets that every queue holds, if not the bandwidth-delay product of the path.
    pub(crate) buffer: Option<u64>,
    /// Whether a queue that can choose marks ECN-capable packets, also where it would drop them by default.
    pub(crate) marks: bool,
    /// Queue of the first of two links in a row; `None` with one link. The queue of the card is that of the second.
    pub(crate) first: Option<First>,
}

/// The queue in the other direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    /// That of the forward direction.
    Same,
    /// With the bandwidth-delay product of that direction as its buffer.
    OwnBuffer,
}

/// The queue of the first of two links in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// The queue of the scenario file, whatever queue the card is about.
    Written,
    /// The queue of the second link.
    Same,
    /// The queue of the second link with one parameter doubled: `target`, or the first that can be where there is no target; unchanged if none can be.
    Doubled,
}

impl TestCase {
    /// Whether `--only WORD` selects the test case: by its name, or by the part that variants share.
    pub fn is_called(&self, word: &str) -> bool {
        self.id == word
            || self
                .id
                .strip_prefix(word)
                .is_some_and(|rest| rest.starts_with('-'))
    }

    /// Its run; `None` where nothing runs.
    pub(crate) fn run(&self) -> Option<&Run> {
        match &self.content {
            Content::Runs(run) | Content::Parameters(run) => Some(run),
            Content::Description | Content::NotRun(_) => None,
        }
    }

    /// Its name in messages.
    pub(crate) fn shown(&self) -> String {
        let place = self.place.as_deref().unwrap_or_default();
        format!("{place}{}", self.id)
    }

    /// The path of a profile as its suite has it.
    pub(crate) fn path(&self, profile: &Profile) -> Profile {
        profile.with_usual_rtt(self.rtt)
    }
}
