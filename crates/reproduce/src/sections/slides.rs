//! What the two decks of 2015 say besides the demonstration: the screen's panel at other rates and RTTs, signals in a round trip, queue
//! sizes at dequeue, the other queues of their AQM server, and fairness of unlike RTTs.

mod fairness;
mod others;
mod panel;
mod signals;
mod sizes;

use crate::experiment::Section;

/// `docs/evidence/published.md` has these texts.
pub static SECTION: Section = Section {
    title: "The slides of 2015: signals, queue sizes, other queues, unlike RTTs",
    experiments: &[
        panel::EXPERIMENT,
        signals::EXPERIMENT,
        sizes::EXPERIMENT,
        others::EXPERIMENT,
        fairness::EXPERIMENT,
    ],
};

/// Settings of the DualQ of 2015 that suit every rate: sizes in time.
const DUALQ: &str = "link.queue={ kind = \"dualq_2015\", unit = \"time\" }";
