//! The DualQ Coupled AQM with Curvy RED: RFC 9332 appendix B.
//!
//! Q_C is the Classic queue's delay smoothed over 2^g_C packets. Above minTh it makes √p_C rise over range_C and p_CL over
//! range_L = range_C / 2^k': a Classic packet is dropped or marked if √p_C > max of 2·U randoms, an L4S packet marked if its delay is
//! above T or p_CL > max of U. Unlike the slides of 2015, both feel the *smoothed* queue.
//!
//! Choices and deviations:
//!
//! 1. Figure 9 prints minTh = 500 ms, all of range_C and twice the buffer: nothing would ever be signalled. The default is
//!    500 µs, which must have been meant; 0 is what the integer form has.
//! 2. `arithmetic = "exact"` is figure 10 with times in seconds, `"integer"` figure 11 to the integer: ns taken as 2^−30 s, so that
//!    its ranges are 7.4 % wider (500 ms stands for 2²⁹ ns = 536.9 ms), no minTh, whole nanoseconds of Q_C. S_C is given as range_C.
//! 3. Randoms have 32 bits, as in figure 11: a probability is exact to 2⁻³².
//! 4. `cq.time()` after the pop is the sojourn time of the packet that leaves, and so is `lq.time()` in line 5.
//! 5. Overload is left to the reader "as DualPI2": from p_CL = 1, which is p_C = p_Cmax = 1/k², also L4S and Classic ECN packets
//!    are dropped with p_C; with `overflow`, √p_C stays at 1/k and the queues grow instead.
//! 6. As DualPI2's controller then does, the filter reads the longer queue (`input = "longest"`): on a Classic departure the longer
//!    of both delays, on an L4S departure that delay if no Classic packet has waited longer. The listing (`"classic"`) reads Classic
//!    departures alone: without them Q_C, and with it p_CL, stands still at whatever it was, and an L4S flood meets no drop.
//! 7. `asymmetric` takes min(Q_C, delay of the Classic queue), as note 3 of B.1 suggests. Its ramp instead of the step is not here.
//!
//! Needs arrival stamps, randomness and the link's rate (for the limit); no updates. Promises: √p_C = p_CL/2^k' always. Does not: bound
//! the Classic delay, which is 100 ms at 4 % drops. With `scheduler = "strict"` an L4S flood starves Classic, whose filter then stands still.
//! Idle: 448 bytes and the list of parameters given; 16 bytes a bucket with queue protection.
//!
//! | corner case | test in `tests.rs` |
//! | --- | --- |
//! | minTh as printed, 0 and 0.5 ms | `the_printed_min_th_would_never_signal`, `the_ramps_begin_at_min_th` |
//! | ranges of both arithmetics | `the_integer_form_is_7_4_percent_wider`, `the_integer_form_equals_its_listing` |
//! | k' and the sign of S | `the_l4s_range_is_shorter_by_the_coupling` |
//! | smoothed, not instantaneous | `both_queues_feel_the_smoothed_delay` |
//! | integer average that stalls | `the_integer_average_stalls_within_31_ns`, `ewma.rs` |
//! | p_C = (p_CL/k)² as it comes out | `marks_and_drops_obey_the_square_law` |

use alloc::string::ToString;

use crate::dual_queue::{self, DualQueue, Entry, Threshold, classify, drop_queued, refuse};
use crate::ewma::{Ewma, FRACTION, LARGEST};
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::{Backlog, Gauge, Kind, Link, Qdisc, mark};
use crate::queue_protection::{self, QueueProtection};
use crate::random::Random;
use crate::scheduler::{self, Scheduler};
use crate::single_queue::Limit;
use crate::units::{Rate, Time};

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "RFC 9332 figure 9",
    help: "",
};

const TABLE: &[Parameter] =
    &queue_protection::with_rows::<{ OWN.len() + queue_protection::ROWS.len() }>(OWN);

const OWN: &[Parameter] = &[
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: false,
        },
        default: Preset::Is("250ms"),
        source: "RFC 9332 figure 9 (250 ms at the link's highest rate)",
        help: "What both queues together may hold; a packet of the MTU must fit.",
        ..ROW
    },
    Parameter {
        name: "arithmetic",
        domain: Domain::Word(&["exact", "integer"]),
        default: Preset::Is("exact"),
        live: false,
        source: "RFC 9332 figures 10 and 11",
        help: "Times in seconds, or shifts of nanoseconds, which make ranges 7.4 % wider.",
        ..ROW
    },
    Parameter {
        name: "coupling_exponent",
        domain: Domain::Integer(0, 8),
        default: Preset::Is("1"),
        source: "RFC 9332 figure 9 (k')",
        help: "L4S is marked 2 to this power as often as the square root of Classic's probability.",
        ..ROW
    },
    Parameter {
        name: "g_c",
        domain: Domain::Integer(0, 20),
        default: Preset::Is("5"),
        help: "The Classic queue's delay is smoothed with a gain of 2 to minus this power.",
        ..ROW
    },
    Parameter {
        name: "range_c",
        domain: Domain::Time(Time::from_millis(1), Time::from_secs(4)),
        default: Preset::Is("500ms"),
        source: "RFC 9332 figure 9 (2^S_C s)",
        help: "Over this range the square root of Classic's probability rises from 0 to 1; a power \
               of two of a second with arithmetic = \"integer\".",
        ..ROW
    },
    Parameter {
        name: "min_th",
        domain: Domain::Time(Time::ZERO, Time::from_secs(4)),
        default: Preset::Is("500us"),
        only: Some(("arithmetic", "exact")),
        source: "RFC 9332 figure 9, where 500 ms is printed",
        help: "No Classic signal, and none coupled from it, below this smoothed delay.",
        ..ROW
    },
    Parameter {
        name: "threshold",
        domain: Domain::TimeOrPackets(
            (Time::ZERO, Time::from_nanos(u32::MAX as u64)),
            (0, u32::MAX as u64),
        ),
        default: Preset::Is("1ms"),
        source: "RFC 9332 figure 9 (T)",
        help: "Above this sojourn time, or number of packets in the L4S queue, L4S is marked.",
        ..ROW
    },
    Parameter {
        name: "u",
        domain: Domain::Integer(1, 4),
        default: Preset::Is("1"),
        source: "RFC 9332 appendix B.1 (U)",
        help: "Curviness: L4S probability goes with this power of the delay, Classic with twice it.",
        ..ROW
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        source: "tc-dualpi2(8)",
        help: "Every ECN-capable packet is L4S, not only ECT(1) and CE: for DCTCP in laboratories.",
        ..ROW
    },
    Parameter {
        name: "overflow",
        opposite: Some("drop_on_overload"),
        source: "RFC 9332 section 4.2.3 (delay on saturation)",
        help: "On overload let the queues grow to their limit instead of dropping ECN packets too.",
        ..ROW
    },
    Parameter {
        name: "input",
        domain: Domain::Word(&["longest", "classic"]),
        default: Preset::Is("longest"),
        source: "RFC 9332 figure 6 with both queues; figure 10",
        help: "What is smoothed: the delay of the longer queue, or of Classic packets that leave.",
        ..ROW
    },
    Parameter {
        name: "asymmetric",
        source: "RFC 9332 appendix B.1, note 3",
        help: "Smooth the rise of the Classic queue and not its fall.",
        ..ROW
    },
    Parameter {
        default: Preset::Is("ts_fifo"),
        source: "RFC 9332 figure 9",
        ..scheduler::SCHEDULER
    },
    scheduler::CLASSIC_PROTECTION,
    scheduler::WRR_RATIO,
    scheduler::WRR_UNIT,
    scheduler::TSHIFT,
];

/// The Curvy RED DualQ of RFC 9332.
#[derive(Debug)]
pub struct DualQCurvyRed<P> {
    settings: Settings,
    link: Link,
    limit: Limit,
    queues: DualQueue<P>,
    scheduler: Scheduler,
    protection: QueueProtection,
    curves: Curves,
    average: Average,
    random: Random,
}

/// Q_C.
#[derive(Debug, Clone)]
enum Average {
    Exact(Ewma),
    /// In whole nanoseconds, and g_C.
    Integer(i64, u32),
}

impl Average {
    fn new(settings: &Settings) -> Self {
        let g_c = settings.number("g_c") as u32;
        if settings.word("arithmetic") == "integer" {
            Self::Integer(0, g_c)
        } else {
            Self::Exact(Ewma::new(g_c))
        }
    }
    fn configure(&mut self, settings: &Settings) {
        let new = settings.number("g_c") as u32;
        match self {
            Self::Exact(average) => average.set_bits(new),
            Self::Integer(_, g_c) => *g_c = new,
        }
    }
    /// Figure 10: `Q_C = gamma*cq.time() + (1-gamma)*Q_C`; figure 11: `Q_C += (cq.ns() - Q_C) >> g_C`.
    #[inline]
    fn update(&mut self, delay: Time) {
        match self {
            Self::Exact(average) => average.update(delay.as_nanos()),
            Self::Integer(q_c, g_c) => {
                *q_c += (delay.as_nanos().min(LARGEST) as i64 - *q_c) >> *g_c;
            }
        }
    }
    /// In units of 2⁻¹⁶ ns.
    #[inline]
    fn get(&self) -> u64 {
        match self {
            Self::Exact(average) => average.get(),
            // An average of what is not negative, with shifts that round down, is not negative.
            Self::Integer(q_c, _) => (*q_c as u64) << FRACTION,
        }
    }
}

/// What the average does.
#[derive(Debug, Clone)]
struct Curves {
    /// range_C in ns: 2^(30 + S_C) in the integer form, where `Q_C >> (S_C-2)` is compared with 32 bits.
    range_c: u64,
    /// In units of 2⁻¹⁶ ns.
    min_th: u64,
    /// k'
    coupling: u32,
    u: u32,
    threshold: Threshold,
    any_ect: bool,
    overflow: bool,
    longest: bool,
    asymmetric: bool,
}

impl Curves {
    fn new(settings: &Settings) -> Result<Self, ParameterError> {
        let integer = settings.word("arithmetic") == "integer";
        let range_c = settings.time("range_c");
        Ok(Self {
            range_c: if integer {
                binary_range(range_c).ok_or_else(|| ParameterError {
                    key: "range_c".to_string(),
                    found: range_c.to_string(),
                    allowed:
                        "must be 4s, 2s, 1s, 500ms, 250ms and so on with arithmetic = \"integer\""
                            .to_string(),
                })?
            } else {
                range_c.as_nanos()
            },
            min_th: if integer {
                0
            } else {
                settings.time("min_th").as_nanos() << FRACTION
            },
            coupling: settings.number("coupling_exponent") as u32,
            u: settings.number("u") as u32,
            threshold: Threshold::of(settings, "threshold"),
            any_ect: settings.flag("any_ect"),
            overflow: settings.flag("overflow"),
            longest: settings.word("input") == "longest",
            asymmetric: settings.flag("asymmetric"),
        })
    }

    /// √p_C in units of 2^−16/range_C, at most 1 (2⁴⁸), from Q_C in 2⁻¹⁶ ns and the delay of the Classic queue.
    #[inline]
    fn root(&self, q_c: u64, classic: Time) -> u64 {
        let q_c = if self.asymmetric {
            q_c.min(classic.as_nanos().min(LARGEST) << FRACTION)
        } else {
            q_c
        };
        let most = if self.overflow {
            self.one() >> self.coupling
        } else {
            self.one()
        };
        q_c.saturating_sub(self.min_th).min(most)
    }
    /// p_CL^(1/U) in the same units, at most 2⁸.
    #[inline]
    fn coupled(&self, root: u64) -> u64 {
        root << self.coupling
    }
    /// range_C is at most 2³² (4 · 2³⁰).
    #[inline]
    fn one(&self) -> u64 {
        self.range_c << FRACTION
    }
    /// Whether p_CL has reached 1, and p_C with it p_Cmax = 1/k².
    #[inline]
    fn is_saturated(&self, root: u64) -> bool {
        !self.overflow && self.coupled(root) >= self.one()
    }
    /// `value > maxrand(n)`: value/range > R/2³².
    #[inline]
    fn exceeds(&self, value: u64, n: u32, random: &mut Random) -> bool {
        if value == 0 || value >= self.one() {
            return value != 0;
        }
        // Below 2⁴⁸, shifted by 16 bits; and range_C · (2³² − 1): both fit 64 bits.
        let value = value << (32 - FRACTION);
        (0..n).all(|_| value > u64::from(random.u32()) * self.range_c)
    }
}

/// 2^(30 + S) for a time of 2^S s.
fn binary_range(range: Time) -> Option<u64> {
    (0..=32).map(|bits| 1_u64 << bits).find(|binary| {
        // range / 10⁹ = binary / 2³⁰
        u128::from(range.as_nanos()) << 30 == u128::from(*binary) * 1_000_000_000
    })
}

impl<P> Kind for DualQCurvyRed<P> {
    const NAME: &'static str = "dualq_curvy_red";
    const SUMMARY: &'static str = "DualQ Coupled AQM with Curvy RED.";
    const SOURCE: &'static str = "RFC 9332 appendix B";
    const PARAMETERS: &'static [Parameter] = TABLE;
}

impl<P: Packet> DualQCurvyRed<P> {
    /// An empty pair of queues.
    pub fn new(settings: Settings, link: Link, random: Random) -> Result<Self, ParameterError> {
        let curves = Curves::new(&settings)?;
        let certain = |link| curves.threshold.delay(link);
        Ok(Self {
            limit: Limit::of(&settings, link)?,
            queues: DualQueue::new(),
            scheduler: Scheduler::new(&settings, link),
            protection: QueueProtection::new(&settings, link, certain, &random),
            average: Average::new(&settings),
            curves,
            settings,
            link,
            random,
        })
    }

    fn head(&self, queue: QueueId, now: Time) -> Time {
        self.queues.head_sojourn(queue, now).unwrap_or(Time::ZERO)
    }

    /// Lines 5 and 6 of figure 10 with overload, for an L4S packet wherever queue protection put it.
    fn signal_l4s(
        &mut self,
        packet: &mut P,
        queue: QueueId,
        (root, native): (u64, bool),
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        let curves = &self.curves;
        if curves.is_saturated(root) {
            if curves.exceeds(root, 2 * curves.u, &mut self.random) {
                return Some(DropReason::Overload);
            }
            mark(packet, queue, MarkReason::Overload, now, obs);
        // The coupled test first, so that what it marks is p_CL of all packets.
        } else if curves.exceeds(curves.coupled(root), curves.u, &mut self.random) {
            mark(packet, queue, MarkReason::Coupled, now, obs);
        } else if native {
            mark(packet, queue, MarkReason::Step, now, obs);
        }
        None
    }

    /// Lines 10 to 16 of figure 10 with overload.
    fn signal_classic(
        &mut self,
        packet: &mut P,
        root: u64,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        let curves = &self.curves;
        if !curves.exceeds(root, 2 * curves.u, &mut self.random) {
            return None;
        }
        if packet.ecn() == Ecn::NotEct {
            return Some(DropReason::Aqm);
        }
        if curves.is_saturated(root) {
            return Some(DropReason::Overload);
        }
        mark(packet, QueueId::CLASSIC, MarkReason::Aqm, now, obs);
        None
    }
}

impl<P: Packet> Qdisc<P> for DualQCurvyRed<P> {
    fn queues(&self) -> &'static [&'static str] {
        dual_queue::NAMES
    }

    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let class = classify(packet.ecn(), self.curves.any_ect);
        let queue = if class == QueueId::CLASSIC {
            class
        } else {
            let threshold = self.curves.threshold;
            self.protection
                .place(&packet, &self.queues, now, |delay, packets| {
                    threshold.probability(delay, packets)
                })
        };
        // As in figure 3: whatever its size, there must be room for a packet of the MTU.
        if !self.limit.admits(self.queues.backlog(), self.link.mtu) {
            return refuse(packet, queue, DropReason::Limit, now, obs);
        }
        obs.enqueued(queue, &packet, now);
        let entry = Entry {
            packet,
            apply_step: queue == QueueId::L4S,
            redirected: class != queue,
        };
        self.queues.push(queue, entry);
    }

    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        loop {
            let queue = self.scheduler.next(&self.queues, now)?;
            let (l4s, classic) = self.queues.backlogged();
            let l4s_packets = self.queues.packets(QueueId::L4S);
            let classic_delay = self.head(QueueId::CLASSIC, now);
            let Entry {
                mut packet,
                redirected,
                ..
            } = self.queues.pop(queue)?;
            let sojourn = packet.sojourn(now);
            if queue == QueueId::CLASSIC {
                let longer = if self.curves.longest {
                    sojourn.max(self.head(QueueId::L4S, now))
                } else {
                    sojourn
                };
                self.average.update(longer);
            } else if self.curves.longest && sojourn >= classic_delay {
                self.average.update(sojourn);
            }
            let root = self.curves.root(self.average.get(), classic_delay);
            let dropped = if queue == QueueId::L4S || redirected {
                let native = queue == QueueId::L4S
                    && self.curves.threshold.is_exceeded_by(sojourn, l4s_packets);
                self.signal_l4s(&mut packet, queue, (root, native), now, obs)
            } else {
                self.signal_classic(&mut packet, root, now, obs)
            };
            if let Some(reason) = dropped {
                drop_queued(packet, queue, reason, now, obs);
                continue;
            }
            self.scheduler.served(queue, packet.len(), l4s && classic);
            obs.dequeued(queue, &packet, now);
            return Some(packet);
        }
    }

    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut impl Observer<P>) {
        let threshold = self.curves.threshold;
        self.protection
            .set_rate(rate, &self.settings, |link| threshold.delay(link));
        // The buffer is that of the highest rate.
        if rate > self.link.rate {
            self.link.rate = rate;
            self.limit = self.limit.at(&self.settings, self.link);
        }
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Result<(), ParameterError> {
        let settings = self.settings.changed(key, value)?;
        let curves = Curves::new(&settings)?;
        let limit = Limit::of(&settings, self.link)?;
        self.limit = limit;
        self.curves = curves;
        self.average.configure(&settings);
        self.scheduler.configure(&settings, self.link);
        let threshold = self.curves.threshold;
        self.protection
            .configure(&settings, |link| threshold.delay(link));
        self.settings = settings;
        self.queues.drop_heads_while(
            |queues| limit.is_exceeded(queues.backlog()),
            DropReason::Reconfigured,
            now,
            obs,
        );
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
        let classic = self.head(QueueId::CLASSIC, now);
        tell("delay_l4s", Gauge::Delay(self.head(QueueId::L4S, now)));
        tell("delay_classic", Gauge::Delay(classic));
        let q_c = self.average.get();
        tell(
            "delay_smoothed",
            Gauge::Delay(Time::from_nanos(q_c >> FRACTION)),
        );
        let root = self.curves.root(q_c, classic);
        let one = self.curves.one();
        let power = |value: u64, n: u32| {
            let base = value.min(one) as f64 / one as f64;
            (0..n).fold(1.0, |product, _| product * base)
        };
        let coupled = power(self.curves.coupled(root), self.curves.u);
        tell("coupled_probability", Gauge::Ratio(coupled));
        tell(
            "classic_probability",
            Gauge::Ratio(power(root, 2 * self.curves.u)),
        );
        self.limit.tell(tell);
        self.scheduler.tell(tell);
        self.protection.tell(tell);
    }
}

#[cfg(test)]
mod tests;
