//! Records of events, with what TCP has repaired for them.

use quell_app::{Carrier, Counted as _, Event, Recorded, Repairs};

use super::context::Context;
use super::{End, State};

impl State {
    /// What TCP has repaired so far on what carries an event; `None` where no connection of a session does.
    pub(super) fn counters(&self, carrier: Carrier) -> Option<Repairs> {
        match self {
            Self::Session(session) => session.of(carrier),
            _ => None,
        }
    }
}

impl End {
    /// Hands over a record of each event that the application has begun and not ended.
    pub(in crate::traffic) fn record_unfinished(&self, context: &mut Context) {
        let mut records = Vec::new();
        self.app.unfinished(&mut records);
        let records = records
            .into_iter()
            .map(|event| (self.index, self.recorded(event)));
        context.events.extend(records);
    }

    /// An event of the application, with what TCP has repaired for it.
    pub(super) fn recorded(&self, event: Event) -> Recorded {
        let now = self.state.counters(event.carrier);
        let repairs = self.notes.repairs(&event, now);
        Recorded { event, repairs }
    }
}
