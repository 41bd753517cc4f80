//! PIE: Proportional Integral controller Enhanced, on one queue.
//!
//! Two forms of the same design behind one set of parameters:
//!
//! * [`linux`]: `net/sched/sch_pie.c` (6.18), to the integer;
//! * `rfc8033`: RFC 8033 sections 4 and 5 with appendix B.
//!
//! Every `tupdate` a PI controller moves a probability so that the queue delay comes to `target`;
//! its gains grow with the probability. Arriving packets are signalled with it, spaced by an
//! accumulator, except during a burst allowance, while the queue is short, or while the delay is
//! low. The heads of the two files number what deviates from their sources.
//!
//! Needs: arrival times, an update every `tupdate`, randomness; the link's rate only for a limit in time. Promises: the mean delay of
//! greedy flows comes to `target`. Does not: hold the delay of a burst, tell flows apart, or restrain a flow that ignores signals
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
//! | target held                                       | `tests/operating_points.rs`; over TCP `docs/evidence/published.md`                |

#[doc(hidden)]
pub mod linux;
mod parameters;
pub(crate) mod rfc8033;

use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::random::Random;
use crate::single_queue::{self, Limit, SingleQueue};
use crate::units::{Rate, Time};

pub(crate) use parameters::{LONGEST, SHORTEST};
use rfc8033::{Config, Rfc8033};

/// When the kernel's timer fires for the first time: half a second after the start.
pub(crate) const FIRST_UPDATE: Time = Time::from_millis(500);

/// What happens to an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop(DropReason),
}

/// A PIE queue.
#[derive(Debug)]
pub struct Pie<P> {
    settings: Settings,
    /// With the last rate that was not zero.
    link: Link,
    limit: Limit,
    queue: SingleQueue<P>,
    form: Form,
    next_update: Time,
    update_interval: Time,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a queue has one; a box would cost each packet a hop"
)]
enum Form {
    Linux(Linux),
    Rfc8033(Rfc8033),
}

/// One controller of the Linux form and what one queue adds.
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

/// What one controller of the Linux form reads of the settings.
pub(crate) fn linux_params(settings: &Settings) -> linux::Params {
    linux::Params {
        target: linux::ticks(settings.time("target")),
        alpha: settings.number("alpha"),
        beta: settings.number("beta"),
        bytemode: settings.flag("bytemode"),
        dq_rate_estimator: settings.flag("dq_rate_estimator"),
    }
}

/// A probability of the Linux form for reports: what exceeds 1 signals as much as 1 does.
pub(crate) fn linux_ratio(probability: u64) -> f64 {
    (probability as f64 / linux::MAX_PROB as f64).min(1.0)
}

impl<P> Kind for Pie<P> {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str = "Proportional Integral controller Enhanced: one queue held at a target delay by random drops or marks.";
    const SOURCE: &'static str = "RFC 8033; Linux sch_pie.c (6.18)";
    const PARAMETERS: &'static [Parameter] = parameters::TABLE;
}

impl<P> Pie<P> {
    /// The state of the form `linux`, for its comparison with the kernel.
    #[doc(hidden)]
    pub fn linux_vars(&self) -> Option<&linux::Vars> {
        match &self.form {
            Form::Linux(form) => Some(&form.vars),
            Form::Rfc8033(_) => None,
        }
    }
}

impl<P: Packet> Pie<P> {
    /// An empty queue. The first update is due after half a second (`linux`), or one interval.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let update_interval = settings.time("tupdate");
        let (form, next_update) = if settings.word("form") == "rfc8033" {
            let form = Rfc8033::new(Config::of(&settings, link), random);
            (Form::Rfc8033(form), update_interval)
        } else {
            let form = Linux {
                params: linux_params(&settings),
                ecn: settings.flag("ecn"),
                mtu: link.mtu.get(),
                vars: linux::Vars::default(),
                random,
            };
            (Form::Linux(form), FIRST_UPDATE)
        };
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            settings,
            link,
            queue: SingleQueue::new(),
            form,
            next_update,
            update_interval,
        })
    }
}

impl<P: Packet> Qdisc<P> for Pie<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, mut packet: P, now: Time, obs: &mut impl Observer<P>) {
        let backlog = self.queue.backlog();
        let verdict = if !self.limit.admits(backlog, packet.len()) {
            match &mut self.form {
                Form::Linux(form) => form.vars.accu_prob = 0,
                Form::Rfc8033(form) => form.overflowed(),
            }
            Verdict::Drop(DropReason::Limit)
        } else {
            match &mut self.form {
                Form::Linux(form) => form.decide(&packet, backlog),
                Form::Rfc8033(form) => form.decide(&packet, backlog),
            }
        };
        match verdict {
            Verdict::Drop(reason) => single_queue::refuse(packet, reason, now, obs),
            Verdict::Pass => self.queue.accept(packet, now, obs),
            Verdict::Mark => {
                mark(&mut packet, QueueId::SINGLE, MarkReason::Aqm, now, obs);
                self.queue.accept(packet, now, obs);
            }
        }
        if let Form::Rfc8033(form) = &mut self.form {
            form.arrived(self.queue.backlog(), self.limit, now);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = self.queue.pop()?;
        let backlog = self.queue.backlog();
        match &mut self.form {
            Form::Linux(form) => form.vars.process_dequeue(
                &form.params,
                linux::ticks(now),
                linux::ticks(packet.arrival()),
                packet.len().get(),
                backlog.bytes.get(),
            ),
            Form::Rfc8033(form) => form.departed(&packet, backlog, now),
        }
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        let backlog = self.queue.backlog();
        match &mut self.form {
            Form::Linux(form) => form
                .vars
                .calculate_probability(&form.params, backlog.bytes.get()),
            Form::Rfc8033(form) => form.update(backlog),
        }
        self.next_update = now + self.update_interval;
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        if !rate.is_zero() {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
        }
    }

    /// A lowered limit drops from the head, as the kernel's `pie_change` does.
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        self.limit = Limit::of(&settings, self.link)?;
        self.update_interval = settings.time("tupdate");
        match &mut self.form {
            Form::Linux(form) => {
                form.params = linux_params(&settings);
                form.ecn = settings.flag("ecn");
            }
            Form::Rfc8033(form) => form.configure(Config::of(&settings, self.link)),
        }
        self.settings = settings;
        if key == "limit" {
            let limit = self.limit;
            let too_much = |backlog| limit.is_exceeded(backlog);
            self.queue
                .drop_heads_while(too_much, DropReason::Reconfigured, now, obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queue.drain(now, obs);
        match &mut self.form {
            Form::Linux(form) => {
                form.vars.restart();
                form.vars.qdelay = 0;
            }
            Form::Rfc8033(form) => form.drained(),
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        tell("delay", Gauge::Delay(self.queue.head_sojourn(now)));
        self.limit.tell(tell);
        match &self.form {
            Form::Linux(form) => {
                let vars = &form.vars;
                tell("probability", Gauge::Ratio(linux_ratio(vars.prob)));
                let accumulated = vars.accu_prob as f64 / linux::MAX_PROB as f64;
                tell("accumulated_probability", Gauge::Ratio(accumulated));
                tell("measured_delay", Gauge::Delay(linux::time(vars.qdelay)));
                tell(
                    "burst_allowance",
                    Gauge::Delay(linux::time(vars.burst_time)),
                );
            }
            Form::Rfc8033(form) => form.status(tell),
        }
    }
}
