//! When an end of a flow begins and stops: as planned, or as planned anew while the run goes on.

use quell_units::Time;

use super::super::clock::{Alarm, Timers};
use super::super::endpoint::Host;
use super::super::plan::FlowPlan;

/// The life of an end. Alarms that were set for an earlier plan ring, and mean nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    /// Whether the flow's start is an event for this end. Streams begin with a connection from one host, which the other one waits for.
    begins: bool,
    /// Whether the flow's stop is one.
    stops: bool,
    start: Time,
    /// The flow's stop; [`Time::MAX`] if never.
    flow_stop: Time,
    has_begun: bool,
}

impl Life {
    pub(super) fn new(plan: &FlowPlan, host: Host) -> Self {
        Self {
            begins: !plan.is_stream() || plan.is_session() || host == plan.opener(),
            stops: plan.stops_at(host),
            start: plan.start,
            flow_stop: plan.stop.unwrap_or(Time::MAX),
            has_begun: false,
        }
    }

    /// When the flow stops; [`Time::MAX`] if never.
    pub(super) fn flow_stop(&self) -> Time {
        self.flow_stop
    }

    /// The same where data or datagrams come from this end, or may, otherwise [`Time::MAX`].
    pub(super) fn stop(&self) -> Time {
        match self.stops {
            true => self.flow_stop,
            false => Time::MAX,
        }
    }

    /// Sets the alarms of the end `index`.
    pub(super) fn set_alarms(&self, index: usize, timers: &mut Timers) {
        if self.begins && !self.has_begun && self.start < Time::MAX {
            timers.set(self.start, index, Alarm::Start);
        }
        if self.stop() < Time::MAX {
            timers.set(self.stop(), index, Alarm::Stop);
        }
    }

    /// Whether an alarm for the time `at` belongs to the present plan. A start is one only once.
    pub(super) fn is_due(&mut self, at: Time, alarm: Alarm) -> bool {
        match alarm {
            Alarm::Start => at == self.start && !std::mem::replace(&mut self.has_begun, true),
            Alarm::Stop => at == self.stop(),
            Alarm::Wake | Alarm::ConnectBy => true,
        }
    }

    /// Plans the end `index` anew; a start that has been stays.
    pub(super) fn replan(
        &mut self,
        index: usize,
        timers: &mut Timers,
        start: Time,
        stop: Option<Time>,
    ) {
        let before = (self.start, self.flow_stop);
        if !self.has_begun {
            self.start = start;
        }
        self.flow_stop = stop.unwrap_or(Time::MAX);
        if before != (self.start, self.flow_stop) {
            self.set_alarms(index, timers);
        }
    }
}
