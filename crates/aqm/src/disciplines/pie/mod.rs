//! PIE: Proportional Integral controller Enhanced, on one queue.
//!
//! Two forms of the same design share one set of parameters:
//!
//! * [`linux`]: `net/sched/sch_pie.c` (6.18), to the integer;
//! * `rfc8033`: RFC 8033 sections 4 and 5 with appendix B.
//!
//! Every `tupdate` a PI controller moves a probability so that the queue delay comes to `target`;
//! its gains grow with the probability. Arriving packets are signalled with it, spaced by an
//! accumulator, except during a burst allowance, while the queue is short, or while the delay is
//! low. The heads of the two files list the deviations from their sources.
//!
//! Needs: arrival times, an update every `tupdate`, randomness; the link's rate only for a limit in time. Promises: the mean delay of
//! greedy flows comes to `target`. Does not: hold the delay of a burst, distinguish flows, or restrain a flow that ignores signals
//! other than by dropping. An idle queue holds 320 bytes and its settings (24 per parameter).
//!
//! | corner case                                       | test                                                                     |
//! | ------------------------------------------------- | ------------------------------------------------------------------------ |
//! | controller, tuning, +2 %, 250 ms, decay, wind-up  | `linux::tests`, `rfc8033::tests`; `tests/kernel/pie.rs` (kernel's code)  |
//! | spacing of signals, 0.85 and 8.5                  | `signals_are_spaced_between_085_and_85` in both                          |
//! | burst allowance                                   | `a_burst_after_a_calm_time_passes_untouched`                             |
//! | marks below 10 %, drops above                     | `ecn_packets_are_marked_below_ten_percent_and_dropped_above`             |
//! | departure-rate estimator                          | `the_departure_rate_is_…` in both                                        |
//! | activity at a third of the limit                  | `it_wakes_at_a_third_of_the_limit_and_rests_when_calm`                   |
//! | limits, lowered limits, rates                     | `the_limit_refuses_and_a_lower_one_drops_from_the_head`                  |
//! | draining, hours without departures                | `a_drained_queue_forgets_…`, `an_hour_without_departures_is_survived`    |
//! | target held                                       | `tests/operating_points.rs`; over TCP `docs/reproduce.md`                         |

#[doc(hidden)]
pub mod linux;
mod parameters;
pub(crate) mod rfc8033;
mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Amount, ParameterError, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, mark};
use crate::random::Random;
use crate::single_buffer::{ControlLaw, SingleBuffer};
use crate::single_queue::{SingleQueue, refuse};
use crate::units::Time;

use parameters::Form;
pub(crate) use parameters::{Decay, LONGEST, Parameters, SHORTEST};
use rfc8033::{Config, Rfc8033};

/// When the kernel's timer fires for the first time: half a second after the start.
pub(crate) const FIRST_UPDATE: Time = Time::from_millis(500);

/// The fate of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop(DropReason),
}

/// A PIE queue.
pub type Pie<P> = SingleBuffer<P, PieController>;

impl QueueKind for PieController {
    const ENTRY: Entry = Entry {
        name: "pie",
        summary: "Proportional Integral controller Enhanced: one queue held at a target delay by random drops or marks.",
        source: "RFC 8033; Linux sch_pie.c (6.18)",
        parameters: Parameters::ROWS,
    };
}

/// The control law of one of the forms, and its timer.
#[derive(Debug)]
pub struct PieController {
    state: PieForm,
    next_update: Time,
    update_interval: Time,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a queue has one; a box would cost each packet a hop"
)]
enum PieForm {
    Linux(Linux),
    Rfc8033(Rfc8033),
}

/// One controller of the Linux form, with its parameters and its randomness.
#[derive(Debug)]
struct Linux {
    params: linux::Params,
    ecn: bool,
    mtu: u64,
    vars: linux::Vars,
    random: Random,
}

impl Linux {
    /// `pie_qdisc_enqueue` after the test of the limit.
    #[inline]
    fn decide<P: Packet>(&mut self, packet: &P, backlog: Backlog) -> Verdict {
        let random = &mut self.random;
        let (len, backlog) = (packet.len().get(), backlog.bytes.get());
        if !self
            .vars
            .drop_early(&self.params, backlog, len, self.mtu, || random.u64())
        {
            return Verdict::Pass;
        }
        // "If packet is ecn capable, mark it if drop probability is lower than 10%, else drop it": above, marks are evidently not obeyed.
        let marks = self.ecn && packet.ecn().is_capable();
        if marks && self.vars.prob <= linux::MAX_PROB / 10 {
            return Verdict::Mark;
        }
        self.vars.accu_prob = 0;
        Verdict::Drop(if marks {
            DropReason::Overload
        } else {
            DropReason::Aqm
        })
    }
}

/// A probability of the Linux form for reports: above 1 it signals as much as at 1.
pub(crate) fn linux_ratio(probability: u64) -> f64 {
    (probability as f64 / linux::MAX_PROB as f64).min(1.0)
}

fn linux_params(parameters: &Parameters) -> linux::Params {
    linux::Params {
        target: linux::ticks(parameters.target),
        alpha: parameters.alpha,
        beta: parameters.beta,
        bytemode: parameters.bytemode,
        dq_rate_estimator: parameters.dq_rate_estimator,
    }
}

impl<P> Pie<P> {
    /// The state of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> Option<&linux::Vars> {
        match &self.law.state {
            PieForm::Linux(form) => Some(&form.vars),
            PieForm::Rfc8033(_) => None,
        }
    }
}

impl ControlLaw for PieController {
    type Parameters = Parameters;
    /// The kernel's `pie_change` drops them.
    const LOWERED_LIMIT_DROPS: bool = true;

    /// The first update is due after half a second (`linux`), or one interval.
    fn new(parameters: &Parameters, link: Link, random: Random) -> Result<Self, ParameterError> {
        let update_interval = parameters.tupdate;
        let (state, next_update) = match parameters.form {
            Form::Linux => {
                let form = Linux {
                    params: linux_params(parameters),
                    ecn: parameters.ecn,
                    mtu: link.mtu.get(),
                    vars: linux::Vars::default(),
                    random,
                };
                (PieForm::Linux(form), FIRST_UPDATE)
            }
            Form::Rfc8033 => {
                let form = Rfc8033::new(Config::of(parameters, link), random);
                (PieForm::Rfc8033(form), update_interval)
            }
        };
        Ok(Self {
            state,
            next_update,
            update_interval,
        })
    }
    fn limit(parameters: &Parameters) -> Amount {
        parameters.limit
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        mut packet: P,
        now: Time,
        obs: &mut impl Observer<P>,
    ) {
        let backlog = queue.backlog();
        let verdict = if !queue.limit.admits(backlog, packet.len()) {
            match &mut self.state {
                PieForm::Linux(form) => form.vars.accu_prob = 0,
                PieForm::Rfc8033(form) => form.overflowed(),
            }
            Verdict::Drop(DropReason::Limit)
        } else {
            match &mut self.state {
                PieForm::Linux(form) => form.decide(&packet, backlog),
                PieForm::Rfc8033(form) => form.decide(&packet, backlog),
            }
        };
        match verdict {
            Verdict::Drop(reason) => refuse(packet, reason, now, obs),
            Verdict::Pass => queue.accept(packet, now, obs),
            Verdict::Mark => {
                mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
                queue.accept(packet, now, obs);
            }
        }
        if let PieForm::Rfc8033(form) = &mut self.state {
            form.arrived(queue.backlog(), queue.limit, now);
        }
    }

    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        queue: &mut SingleQueue<P>,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<P> {
        let packet = queue.pop()?;
        let backlog = queue.backlog();
        match &mut self.state {
            PieForm::Linux(form) => form.vars.process_dequeue(
                &form.params,
                linux::ticks(now),
                linux::ticks(packet.arrival()),
                packet.len().get(),
                backlog.bytes.get(),
            ),
            PieForm::Rfc8033(form) => form.departed(&packet, backlog, now),
        }
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }
    fn update<P: Packet>(&mut self, queue: &SingleQueue<P>, now: Time) {
        let backlog = queue.backlog();
        match &mut self.state {
            PieForm::Linux(form) => form
                .vars
                .calculate_probability(&form.params, backlog.bytes.get()),
            PieForm::Rfc8033(form) => form.update(backlog),
        }
        self.next_update = now + self.update_interval;
    }

    fn adopt(&mut self, parameters: &Parameters, link: Link) {
        self.update_interval = parameters.tupdate;
        match &mut self.state {
            PieForm::Linux(form) => {
                form.params = linux_params(parameters);
                form.ecn = parameters.ecn;
            }
            PieForm::Rfc8033(form) => form.configure(Config::of(parameters, link)),
        }
    }
    fn drained<P: Packet>(&mut self, _queue: &SingleQueue<P>, _now: Time) {
        match &mut self.state {
            PieForm::Linux(form) => {
                form.vars.restart();
                form.vars.qdelay = 0;
            }
            PieForm::Rfc8033(form) => form.drained(),
        }
    }

    fn status<P: Packet>(
        &self,
        queue: &SingleQueue<P>,
        _now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        queue.limit.report(report);
        match &self.state {
            PieForm::Linux(form) => {
                let vars = &form.vars;
                report("probability", Gauge::Ratio(linux_ratio(vars.prob)));
                let accumulated = vars.accu_prob as f64 / linux::MAX_PROB as f64;
                report("accumulated_probability", Gauge::Ratio(accumulated));
                report("measured_delay", Gauge::Delay(linux::time(vars.qdelay)));
                let burst = linux::time(vars.burst_time);
                report("burst_allowance", Gauge::Delay(burst));
            }
            PieForm::Rfc8033(form) => form.status(report),
        }
    }
}
