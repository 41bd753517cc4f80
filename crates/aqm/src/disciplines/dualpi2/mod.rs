//! DualPI2: the Dual-Queue Coupled AQM with a PI² base controller.
//!
//! Two forms of the same design share one set of parameters:
//!
//! * [`linux`]: `net/sched/sch_dualpi2.c` (Linux 6.17 and later), to the integer;
//! * [`rfc9332`]: RFC 9332 appendix A, deterministic.
//!
//! Both put packets with ECT(1) or CE into a shallow L4S queue and the rest into a Classic queue,
//! run one PI controller on the longer of the two head sojourn times, and signal with p'² in the
//! Classic queue and k·p' in the L4S queue. They differ in the native L4S marking (step or ramp), in
//! how signals are combined and drawn, in the scheduler, in gains and in limits; the heads of the
//! two files list the deviations from their sources.
//!
//! Both offer every [`scheduler`](crate::scheduler), and queue protection (RFC 9957) in front.
//!
//! Neither form equalises rates. The coupling makes the *windows* roughly equal; with a deep Classic
//! queue beside a shallow L4S queue, equal base RTTs are unequal actual RTTs (RFC 9332 appendix
//! C.2).
//!
//! Needs: arrival times, an update every `tupdate`; randomness in the form of Linux; the link's rate for the buffer of the RFC
//! and for queue protection. Promises: the longer queue of greedy flows comes to `target`, p_CL = k·√p_C, and ECN-capable
//! packets are not dropped before p_C reaches 1/k². Does not: bound the L4S queue under unresponsive L4S traffic (that comes
//! to `target` too), unless queue protection is on. An idle queue is the struct and its settings: no allocation.
//!
//! | corner case | test |
//! | --- | --- |
//! | golden vectors of the controller, saturation | `the_controller_equals_the_golden_vector_to_the_integer`, `the_golden_vector_with_linux_gains_gives_both_derived_columns` |
//! | p_C = p'², p_CL = k·p' as they come out | `frozen_probabilities_couple_by_the_square_law` |
//! | overload, and delay on saturation | `overflow_marks_instead_of_dropping_ecn`, `delay_on_saturation_caps_the_base_probability` |
//! | `recur`, its accumulator above 1 | `recur_signals_on_the_stated_packets`, `recur_keeps_its_long_run_rate_and_stays_bounded` |
//! | no signal below two MTU (Linux) | `linux_gives_no_signal_below_two_mtu` |
//! | step at enqueue, last packet of a burst | `linux_decides_on_arrival_whether_the_step_applies`, `the_rfc_exempts_the_last_packet_of_a_burst` |
//! | ramp and step | `the_ramp_rises_over_its_range_and_may_be_a_step`, `linux_marks_by_a_step_strictly_above_its_threshold` |
//! | AQM at enqueue or dequeue | `the_aqm_acts_at_dequeue_or_at_enqueue` |
//! | CE that came in | `a_packet_that_carries_ce_is_not_counted_as_marked_again` |
//! | schedulers | `backlogged_queues_share_the_link_by_the_schedulers_weights`, `a_time_shifted_fifo_lets_classic_wait_so_much_longer` |
//! | limits, and lowered ones | `limits_count_packets_memory_or_bytes`, `a_lowered_limit_drops_from_the_classic_head_first` |

mod linux;
mod parameters;
mod rfc9332;
mod test_cases;

use crate::dual_buffer::{Arrival, Common, DualBuffer, DualLaw, Native};
use crate::dual_queue::DualQueue;
use crate::kind::{Entry, QueueKind};
use crate::limit::QueueLimit;
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{ParameterError, Table as _};
use crate::qdisc::{Gauge, Link};
use crate::random::Random;
use crate::units::{Probability, Time};

use linux::Linux;
use parameters::{Form, Gains, Parameters};
use rfc9332::Rfc9332;

/// A DualPI2 queue.
pub type DualPi2<P> = DualBuffer<P, DualPi2Controller>;

impl QueueKind for DualPi2Controller {
    const ENTRY: Entry = Entry {
        name: "dualpi2",
        summary: "Dual-Queue Coupled AQM for L4S with a PI2 controller.",
        source: "RFC 9332 appendix A; Linux sch_dualpi2.c (6.17); queue protection: RFC 9957",
        parameters: Parameters::ROWS,
    };
}

/// The control law of one of the forms, and its timer.
#[derive(Debug)]
pub struct DualPi2Controller {
    state: DualPi2Form,
    any_ect: bool,
    next_update: Time,
    update_interval: Time,
}

#[derive(Debug)]
enum DualPi2Form {
    Linux(Linux),
    Rfc9332(Rfc9332),
}

impl Native for DualPi2Controller {
    fn probability(&self, delay: Time, packets: u64) -> Probability {
        match &self.state {
            DualPi2Form::Linux(form) => form.native(delay, packets),
            DualPi2Form::Rfc9332(form) => form.native(delay, packets),
        }
    }
    fn certain(&self, link: Link) -> Time {
        match &self.state {
            DualPi2Form::Linux(form) => form.certain(link),
            DualPi2Form::Rfc9332(form) => form.certain(),
        }
    }
}

impl DualLaw for DualPi2Controller {
    type Parameters = Parameters;
    type Native = Self;
    /// The RFC sizes its buffer so; Linux counts packets.
    const LIMIT_OF_HIGHEST_RATE: bool = true;

    /// The first update is due after one update interval.
    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        let gains = Gains::of(parameters)?;
        Ok(Self {
            state: match parameters.form {
                Form::Linux => DualPi2Form::Linux(Linux::new(parameters, gains, link, random)?),
                Form::Rfc9332 => DualPi2Form::Rfc9332(Rfc9332::new(parameters, gains)),
            },
            any_ect: parameters.any_ect,
            next_update: gains.update_interval,
            update_interval: gains.update_interval,
        })
    }
    fn common(parameters: &Parameters) -> Common {
        Common {
            limit: parameters.limit,
            scheduler: parameters.scheduler,
            protection: parameters.protection,
        }
    }
    fn check_limit(parameters: &Parameters, link: Link) -> Result<QueueLimit, ParameterError> {
        match parameters.form {
            Form::Linux => Linux::limit(parameters.limit).map(QueueLimit::Packets),
            Form::Rfc9332 => Rfc9332::limit(parameters.limit, link),
        }
    }

    #[inline]
    fn any_ect(&self) -> bool {
        self.any_ect
    }
    fn native(&self) -> &Self {
        self
    }

    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        arrival: Arrival,
        packet: &mut P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        match &mut self.state {
            DualPi2Form::Linux(form) => form.arriving(queues, arrival, packet, now, obs),
            DualPi2Form::Rfc9332(form) => form.arriving(queues, arrival),
        }
    }
    #[inline]
    fn may_step(&self, l4s_packets: u64) -> bool {
        match &self.state {
            DualPi2Form::Linux(form) => form.may_step(l4s_packets),
            DualPi2Form::Rfc9332(_) => true,
        }
    }
    #[inline]
    fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)> {
        match &mut self.state {
            DualPi2Form::Linux(form) => form.take(queues, queue, now, obs),
            DualPi2Form::Rfc9332(form) => form.take(queues, queue, now, obs),
        }
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn update<P: Packet>(&mut self, queues: &DualQueue<P>, now: Time) {
        let delay = queues.longest_head_sojourn(now);
        match &mut self.state {
            DualPi2Form::Linux(form) => form.update(delay),
            DualPi2Form::Rfc9332(form) => form.update(delay),
        }
        self.next_update = now + self.update_interval;
    }

    fn configure(&mut self, parameters: &Parameters, link: Link) -> Result<(), ParameterError> {
        let gains = Gains::of(parameters)?;
        match &mut self.state {
            DualPi2Form::Linux(form) => form.configure(parameters, gains, link)?,
            DualPi2Form::Rfc9332(form) => form.configure(parameters, gains),
        }
        self.any_ect = parameters.any_ect;
        self.update_interval = gains.update_interval;
        Ok(())
    }
    fn is_exceeded<P: Packet>(&self, queues: &DualQueue<P>, limit: QueueLimit) -> bool {
        match &self.state {
            DualPi2Form::Linux(form) => form.is_exceeded(queues, limit),
            DualPi2Form::Rfc9332(_) => limit.is_exceeded(queues.backlog()),
        }
    }

    fn status<P: Packet>(
        &self,
        queues: &DualQueue<P>,
        _limit: QueueLimit,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        report("memory_bytes", Gauge::count(queues.memory().get()));
        match &self.state {
            DualPi2Form::Linux(form) => form.status(report),
            DualPi2Form::Rfc9332(form) => form.status(report),
        }
    }
}
