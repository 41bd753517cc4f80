//! A player's choice of levels, and of downloads to give up.

use quell_units::Time;

use super::bba;
use super::bola::{Basic, Enhanced, Form};
use super::ladder::Ladder;
use super::mpc::Mpc;
use super::situation::{Choice, Download, Progress, Situation};
use super::throughput::Throughput;

/// A rule, by its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The level that the throughput sustains.
    Throughput,
    /// BOLA of the first paper.
    BolaBasic,
    /// BOLA-E.
    BolaE(Form),
    /// The throughput while the buffer is low, BOLA-E while it is high.
    Dynamic {
        /// BOLA-E's form.
        form: Form,
        /// BOLA-E decides from above this on.
        high: Time,
        /// The throughput decides from below this on.
        low: Time,
    },
    /// BBA-0.
    Bba0,
    /// Robust model-predictive control.
    RobustMpc,
}

/// A rule with its state.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// There is nothing to choose.
    Only,
    Throughput(Throughput),
    BolaBasic(Basic),
    BolaE(Enhanced),
    Dynamic {
        throughput: Throughput,
        bola: Enhanced,
        high: Time,
        low: Time,
        is_bola: bool,
    },
    Bba0,
    RobustMpc(Mpc),
}

impl Rule {
    pub(super) fn new(kind: RuleKind, ladder: &Ladder, buffer: Time) -> Self {
        match kind {
            _ if ladder.levels() == 1 => Self::Only,
            RuleKind::Throughput => Self::Throughput(Throughput::default()),
            RuleKind::BolaBasic => Self::BolaBasic(Basic::new(ladder, buffer)),
            RuleKind::BolaE(form) => Self::BolaE(Enhanced::new(form, ladder, buffer)),
            RuleKind::Dynamic { form, high, low } => Self::Dynamic {
                throughput: Throughput::default(),
                bola: Enhanced::new(form, ladder, buffer),
                high,
                low,
                is_bola: false,
            },
            RuleKind::Bba0 => Self::Bba0,
            RuleKind::RobustMpc => Self::RobustMpc(Mpc::default()),
        }
    }

    /// Chooses for the next segment. The first of a session is of the lowest level, without a choice.
    pub(super) fn decide(&mut self, situation: &Situation<'_>) -> Choice {
        match self {
            Self::Only => Choice::at_once(0),
            Self::Throughput(rule) => rule.decide(situation),
            Self::BolaBasic(rule) => rule.decide(situation),
            Self::BolaE(rule) => rule.decide(situation),
            Self::Dynamic {
                throughput,
                bola,
                high,
                low,
                is_bola,
            } => {
                if *is_bola && situation.buffer < *low {
                    *is_bola = false;
                } else if !*is_bola && situation.buffer > *high {
                    *is_bola = true;
                }
                if *is_bola {
                    bola.decide(situation)
                } else {
                    throughput.decide(situation)
                }
            }
            Self::Bba0 => bba::decide(situation),
            Self::RobustMpc(rule) => rule.decide(situation),
        }
    }

    fn bola(&mut self) -> Option<&mut Enhanced> {
        match self {
            Self::BolaE(bola) | Self::Dynamic { bola, .. } => Some(bola),
            _ => None,
        }
    }

    /// A wait for room in the buffer was over.
    pub(super) fn waited(&mut self, span: Time) {
        if let Some(bola) = self.bola() {
            bola.waited(span);
        }
    }
    /// The buffer ran dry.
    pub(super) fn stalled(&mut self) {
        if let Some(bola) = self.bola() {
            bola.stalled();
        }
    }
    /// A segment is there.
    pub(super) fn downloaded(&mut self, ladder: &Ladder, download: &Download) {
        if let Self::RobustMpc(rule) = self {
            rule.downloaded(download);
        }
        if let Some(bola) = self.bola() {
            bola.downloaded(ladder, download);
        }
    }
    /// A download was given up for one of level `to`.
    pub(super) fn abandoned(&mut self, ladder: &Ladder, to: usize, buffer: Time) {
        if let Some(bola) = self.bola() {
            bola.abandoned(ladder, to, buffer);
        }
    }

    /// The level to ask for instead of going on, if that is better.
    pub(super) fn abandon(&self, ladder: &Ladder, progress: &Progress) -> Option<usize> {
        match self {
            Self::Only | Self::BolaBasic(_) | Self::Bba0 | Self::RobustMpc(_) => None,
            Self::BolaE(bola) => bola.abandon(ladder, progress),
            Self::Dynamic { bola, is_bola, .. } if *is_bola => bola.abandon(ladder, progress),
            Self::Throughput(_) | Self::Dynamic { .. } => Throughput::abandon(ladder, progress),
        }
    }
}
