//! Queues of a scenario tried out, empty: whether they can be made, and what changes do to them.

use quell_aqm::{Discipline, Drop, Observer, Packet, Qdisc as _};
use quell_units::{Random, Rate, Settings, Time};

use super::queue::{explained, text_of};
use super::refusal::Refusal;
use super::tree::Node;
use super::{DirectionSpec, QueueSpec, Setting, Side};

/// An empty discipline of the scenario's kind, to which the changes happen; of packets that the simulator has anyway.
pub(super) struct TrialQueue {
    kind: &'static str,
    pub(super) settings: Settings,
    /// None if the discipline cannot even start, which another check reports.
    discipline: Option<Discipline<quell_sim::Packet>>,
}

impl TrialQueue {
    pub(super) fn new(side: &DirectionSpec) -> Self {
        Self {
            kind: side.queue.kind,
            settings: side.queue.settings.clone(),
            discipline: try_out_at_start(side).ok(),
        }
    }

    /// A queue that could not start at the new rate, because it would hold no packet, cannot go on
    /// with it either.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Time) -> Result<(), Refusal> {
        let Some(discipline) = &mut self.discipline else {
            return Ok(());
        };
        discipline.set_rate(rate, now, &mut Nobody);
        if rate.is_zero() {
            return Ok(());
        }
        let spec = QueueSpec {
            kind: self.kind,
            settings: self.settings.clone(),
        };
        try_out(&spec, rate).map(|_| ()).map_err(Refusal::Queue)
    }

    pub(super) fn setting(
        &mut self,
        side: Side,
        key: &str,
        node: &Node,
        now: Time,
    ) -> Result<Setting, Refusal> {
        let rows = self.settings.table();
        let text = text_of(self.kind, rows, key, node)?;
        self.settings = self
            .settings
            .changed(key, text)
            .map_err(|error| explained(error, rows, key, node))?;
        if let Some(discipline) = &mut self.discipline {
            discipline.configure(key, text, now, &mut Nobody)?;
        }
        Ok(Setting::Queue {
            side,
            key: key.to_owned(),
            value: text.to_owned(),
        })
    }
}

/// Whether a queue can be made at all; the error is the discipline's own.
pub(super) fn try_out(
    spec: &QueueSpec,
    rate: Rate,
) -> Result<Discipline<quell_sim::Packet>, quell_units::ParameterError> {
    spec.build(rate, Random::new(0, "trial"))
}

/// Makes the queue of a side as it is at the start.
pub(super) fn try_out_at_start(
    side: &DirectionSpec,
) -> Result<Discipline<quell_sim::Packet>, quell_units::ParameterError> {
    at_start(side, Random::new(0, "trial"))
}

/// The queue of a side at the start. Where the side follows a trace, a limit in time has to suit its highest rate only: it was written for
/// usual rates, and where the trace has less the queue holds a packet, as later in the trace.
pub(super) fn at_start<P: Packet>(
    side: &DirectionSpec,
    random: Random,
) -> Result<Discipline<P>, quell_units::ParameterError> {
    let made = side.queue.build(side.rate, random.clone());
    let (Err(_), Some(course)) = (&made, &side.course) else {
        return made;
    };
    let mut made = side.queue.build(course.fastest(), random)?;
    made.set_rate(side.rate, Time::ZERO, &mut Nobody);
    Ok(made)
}

/// Watches queues in which nothing waits.
struct Nobody;

impl<P: Packet> Observer<P> for Nobody {
    fn dropped(&mut self, _packet: P, _drop: Drop, _now: Time) {}
}
