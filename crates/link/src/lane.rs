//! One direction with its sockets' halves and its counts.

use quell_aqm::Observer;
use quell_units::Time;

use crate::frames::{Descriptor, Pool};
use crate::path::chain::Chain;
use crate::ports::{Egress, Ingress};
use crate::report::{DirectionReport, Inside, Lost};
use crate::time::Stamps;

/// One direction.
#[derive(Debug)]
pub(crate) struct Lane<O> {
    pub(crate) ingress: Ingress,
    pub(crate) stamps: Stamps,
    pub(crate) path: Chain<O>,
    pub(crate) egress: Egress,
    /// Counted as it happens; [`Lane::report`] adds the counts of the parts.
    pub(crate) counts: DirectionReport,
}

impl<O: Observer<Descriptor>> Lane<O> {
    pub(crate) fn new(path: Chain<O>, zeros: bool) -> Self {
        Self {
            ingress: Ingress::new(zeros),
            stamps: Stamps::default(),
            path,
            egress: Egress::new(),
            counts: DirectionReport::default(),
        }
    }

    /// Gives the slots of dropped packets back.
    pub(crate) fn collect_dropped(&mut self, pool: &mut Pool) {
        for id in self.path.dropped() {
            pool.give_back(id);
            self.counts.dropped += 1;
        }
        for id in self.path.lost() {
            pool.give_back(id);
        }
    }

    /// The report up to `now`; `socket` frames were lost in the ingress socket.
    pub(crate) fn report(&self, socket: u64, now: Time) -> DirectionReport {
        let truncated = self.ingress.truncated();
        DirectionReport {
            received: self.counts.received + truncated,
            transmitted: self.egress.transmitted(now),
            values: self.path.header_values(),
            marked: self.path.marks(),
            impaired: self.path.impaired(),
            lost: Lost {
                socket,
                truncated,
                refused: self.egress.lost(),
            },
            inside: Inside {
                queue: self.path.queued(),
                delay_line: self.path.delayed() + self.egress.held(now),
                egress: self.egress.waiting(),
            },
            late_arrivals: self.path.late_arrivals(),
            retried: self.egress.retried(),
            lateness: self.egress.lateness().summary(),
            ..self.counts.clone()
        }
    }
}
