//! DualPI2: the Dual-Queue Coupled AQM with a PI² base controller.
//!
//! Two forms of the same design behind one set of parameters:
//!
//! * [`linux`]: `net/sched/sch_dualpi2.c` (Linux 6.17 and later), to the integer;
//! * [`rfc9332`]: RFC 9332 appendix A, deterministic.
//!
//! Both put packets with ECT(1) or CE into a shallow L4S queue and the rest into a Classic queue,
//! run one PI controller on the longer of the two head sojourn times, and signal with p'² in the
//! Classic queue and k·p' in the L4S queue. They differ in the native L4S marking (step or ramp), in
//! how signals are combined and drawn, in the scheduler, in gains and in limits; the heads of the
//! two files number what deviates from their sources.
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

use crate::dual_queue::{self, DualQueue, classify};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{Parameter, ParameterError, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc};
use crate::queue_protection::QueueProtection;
use crate::random::Random;
use crate::scheduler::Scheduler;
use crate::units::{Probability, Rate, Time};

use linux::Linux;
use rfc9332::Rfc9332;

/// A DualPI2 queue.
#[derive(Debug)]
pub struct DualPi2<P> {
    settings: Settings,
    link: Link,
    queues: DualQueue<P>,
    scheduler: Scheduler,
    protection: QueueProtection,
    any_ect: bool,
    form: Form,
    next_update: Time,
    update_interval: Time,
}

#[derive(Debug)]
enum Form {
    Linux(Linux),
    Rfc9332(Rfc9332),
}

impl Form {
    /// The native L4S marking probability at a delay and a number of packets.
    fn native(&self, delay: Time, packets: u64) -> Probability {
        match self {
            Self::Linux(form) => form.native(delay, packets),
            Self::Rfc9332(form) => form.native(delay, packets),
        }
    }
    /// The delay above which native L4S marking is certain.
    fn certain(&self, link: Link) -> Time {
        match self {
            Self::Linux(form) => form.certain(link),
            Self::Rfc9332(form) => form.certain(),
        }
    }
}

impl<P> Kind for DualPi2<P> {
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str = "Dual-Queue Coupled AQM for L4S with a PI2 controller.";
    const SOURCE: &'static str =
        "RFC 9332 appendix A; Linux sch_dualpi2.c (6.17); queue protection: RFC 9957";
    const PARAMETERS: &'static [Parameter] = parameters::TABLE;
}

impl<P: Packet> DualPi2<P> {
    /// An empty pair of queues. The first update is due after one update interval.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let gains = parameters::Gains::from_settings(&settings)?;
        let salted = random.clone();
        let form = if settings.word("form") == "rfc9332" {
            Form::Rfc9332(Rfc9332::new(&settings, gains, link)?)
        } else {
            Form::Linux(Linux::new(&settings, gains, link, random)?)
        };
        Ok(Self {
            scheduler: Scheduler::new(&settings, link),
            protection: QueueProtection::new(&settings, link, |link| form.certain(link), &salted),
            any_ect: settings.flag("any_ect"),
            settings,
            link,
            queues: DualQueue::new(),
            form,
            next_update: gains.update_interval,
            update_interval: gains.update_interval,
        })
    }
}

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    fn queues(&self) -> &'static [&'static str] {
        dual_queue::NAMES
    }

    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let class = classify(packet.ecn(), self.any_ect);
        let queues = &mut self.queues;
        let queue = if class == QueueId::CLASSIC {
            class
        } else {
            let form = &self.form;
            let native = |delay, packets| form.native(delay, packets);
            self.protection.place(&packet, queues, now, native)
        };
        let place = (class, queue);
        match &mut self.form {
            Form::Linux(form) => form.enqueue(queues, packet, place, now, obs),
            Form::Rfc9332(form) => form.enqueue(queues, packet, place, now, obs),
        }
    }

    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let (queues, scheduler) = (&mut self.queues, &mut self.scheduler);
        match &mut self.form {
            Form::Linux(form) => form.dequeue(queues, scheduler, now, obs),
            Form::Rfc9332(form) => form.dequeue(queues, scheduler, now, obs),
        }
    }

    fn next_update(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn update(&mut self, now: Time) {
        let delay = self.queues.longest_head_sojourn(now);
        match &mut self.form {
            Form::Linux(form) => form.update(delay),
            Form::Rfc9332(form) => form.update(delay),
        }
        self.next_update = now + self.update_interval;
    }

    fn set_rate(&mut self, rate: Rate, now: Time, obs: &mut impl Observer<P>) {
        let form = &self.form;
        self.protection
            .set_rate(rate, &self.settings, |link| form.certain(link));
        // RFC 9332 sizes its buffer by the highest rate of the link; Linux by packets.
        if rate > self.link.rate {
            self.link.rate = rate;
            if let Form::Rfc9332(form) = &mut self.form {
                form.set_limit(&self.settings, self.link)
                    .expect("a higher rate only raises the limit");
            }
        }
        let _ = (now, obs);
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let gains = parameters::Gains::from_settings(&settings)?;
        match &mut self.form {
            Form::Linux(form) => form.configure(&settings, gains, self.link)?,
            Form::Rfc9332(form) => form.configure(&settings, gains, self.link)?,
        }
        self.scheduler.configure(&settings, self.link);
        self.any_ect = settings.flag("any_ect");
        let form = &self.form;
        self.protection
            .configure(&settings, |link| form.certain(link));
        self.settings = settings;
        self.update_interval = gains.update_interval;
        match &self.form {
            Form::Linux(form) => self.queues.drop_heads_while(
                |queues| form.is_beyond_limits(queues),
                DropReason::Reconfigured,
                now,
                obs,
            ),
            Form::Rfc9332(form) => self.queues.drop_heads_while(
                |queues| form.is_beyond_limit(queues),
                DropReason::Reconfigured,
                now,
                obs,
            ),
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, obs: &mut impl Observer<P>) {
        self.queues
            .drop_heads_while(|_| true, DropReason::Drained, now, obs);
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn status(&self, now: Time, tell: &mut dyn FnMut(&'static str, Gauge)) {
        let head = |queue| self.queues.head_sojourn(queue, now).unwrap_or(Time::ZERO);
        tell("delay_l4s", Gauge::Delay(head(QueueId::L4S)));
        tell("delay_classic", Gauge::Delay(head(QueueId::CLASSIC)));
        let memory = i64::try_from(self.queues.memory().get()).unwrap_or(i64::MAX);
        tell("memory_bytes", Gauge::Count(memory));
        match &self.form {
            Form::Linux(form) => form.status(tell),
            Form::Rfc9332(form) => form.status(tell),
        }
        self.scheduler.tell(tell);
        self.protection.tell(tell);
    }
}
