//! The DualQ Coupled AQM with Curvy RED: RFC 9332 appendix B.
//!
//! Q_C is the delay of the Classic queue, smoothed over 2^g_C packets. Above minTh, √p_C rises with Q_C over range_C, and p_CL over
//! range_L = range_C / 2^k'. A Classic packet is dropped or marked if √p_C > max of 2·U randoms. An L4S packet is marked if its delay
//! is above T or p_CL > max of U randoms. Unlike in the slides of 2015, both use the *smoothed* queue.
//!
//! Choices and deviations:
//!
//! 1. Figure 9 prints minTh = 500 ms, which is all of range_C and twice the buffer: nothing would ever be signalled. The default is
//!    500 µs, which was probably meant; the integer form has 0.
//! 2. `arithmetic = "exact"` is figure 10 with times in seconds. `"integer"` is figure 11 to the integer: a nanosecond counts as
//!    2^−30 s, so its ranges are 7.4 % wider (500 ms stands for 2²⁹ ns = 536.9 ms); no minTh; Q_C in whole nanoseconds. range_C gives S_C.
//! 3. Random numbers have 32 bits, as in figure 11: a probability is exact to 2⁻³².
//! 4. `cq.time()` after the pop is the sojourn time of the packet that leaves, and so is `lq.time()` in line 5.
//! 5. The RFC leaves overload to the reader, "as DualPI2". From p_CL = 1 on, where p_C = p_Cmax = 1/k², L4S and Classic ECN packets
//!    are dropped with p_C too. With `overflow`, √p_C stays at 1/k and the queues grow instead.
//! 6. As DualPI2's controller does, the filter reads the longer queue (`input = "longest"`): on a Classic departure the longer of both
//!    delays, on an L4S departure its delay unless a Classic packet has waited longer. The listing (`"classic"`) reads Classic
//!    departures only: without them Q_C, and p_CL with it, keeps its last value, and an L4S flood meets no drop.
//! 7. `asymmetric` uses min(Q_C, delay of the Classic queue), as note 3 of B.1 suggests. Its ramp instead of the step is missing.
//!
//! Needs arrival stamps, randomness and the link's rate (for the limit); no updates. Promises: √p_C = p_CL/2^k' at all times. Does not:
//! bound the Classic delay, which is 100 ms at 4 % drops. With `scheduler = "strict"` an L4S flood starves Classic, whose filter then stops.
//! Memory when idle: 448 bytes, the list of given parameters, and 16 bytes per bucket of queue protection.
//!
//! | corner case | test in `tests.rs` |
//! | --- | --- |
//! | minTh as printed, 0 and 0.5 ms | `the_printed_min_th_would_never_signal`, `the_ramps_begin_at_min_th` |
//! | ranges of both arithmetics | `the_integer_form_is_7_4_percent_wider`, `the_integer_form_equals_its_listing` |
//! | k' and the sign of S | `the_l4s_range_is_shorter_by_the_coupling` |
//! | smoothed delay in both queues | `both_queues_feel_the_smoothed_delay` |
//! | integer average that stalls | `the_integer_average_stalls_within_31_ns`, `ewma.rs` |
//! | p_C = (p_CL/k)², measured | `marks_and_drops_obey_the_square_law` |

mod test_cases;

use crate::dual_buffer::{Arrival, Common, DualBuffer, DualLaw};
use crate::dual_queue::{DualQueue, Queued};
use crate::ewma::{Ewma, FRACTION, LARGEST};
use crate::kind::{Entry, QueueKind};
use crate::limit::QueueLimit;
use crate::observer::{DropReason, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Preset, Table as _};
use crate::qdisc::{Gauge, Link, mark};
use crate::queue_protection;
use crate::random::Random;
use crate::scheduler;
use crate::threshold::Threshold;
use crate::units::{Time, name_of, parameters, words};

const ROW: Parameter = Parameter::LIVE.source("RFC 9332 figure 9");

words! {
    /// The word of `arithmetic`.
    pub(crate) enum Arithmetic {
        Exact = "exact",
        Integer = "integer",
    }
}
words! {
    /// The delay that is smoothed.
    pub(crate) enum Input {
        Longest = "longest",
        Classic = "classic",
    }
}

parameters! {
    /// The parameters of the Curvy RED DualQ.
    pub struct Parameters {
        /// What both queues together may hold; a packet of the MTU must fit.
        limit: Amount = ROW.domain(Domain::Limit { plain_is_packets: false }).default("250ms")
            .source("RFC 9332 figure 9 (250 ms at the link's highest rate)"),
        /// Times in seconds, or shifts of nanoseconds, which make ranges 7.4 % wider.
        arithmetic: Arithmetic = ROW.default("exact").fixed().source("RFC 9332 figures 10 and 11"),
        /// L4S is marked 2 to this power as often as the square root of Classic's probability.
        coupling_exponent: u32 = ROW.domain(Domain::Integer(0, 8)).default("1").source("RFC 9332 figure 9 (k')"),
        /// The Classic queue's delay is smoothed with a gain of 2 to minus this power.
        g_c: u32 = ROW.domain(Domain::Integer(0, 20)).default("5"),
        /// Over this range the square root of Classic's probability rises from 0 to 1; a power of two of a second with
        /// arithmetic = "integer".
        range_c: Time = ROW.domain(Domain::Time(Time::from_millis(1), Time::from_secs(4))).default("500ms")
            .source("RFC 9332 figure 9 (2^S_C s)"),
        /// No Classic signal, and none coupled from it, below this smoothed delay.
        min_th: Time = ROW.domain(Domain::Time(Time::ZERO, Time::from_secs(4))).default("500us")
            .only(("arithmetic", "exact")).source("RFC 9332 figure 9, where 500 ms is printed"),
        /// Above this sojourn time, or number of packets in the L4S queue, L4S is marked.
        threshold: Threshold = ROW.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::TimeOrPackets((Time::ZERO, Time::from_nanos(u32::MAX as u64)), (0, u32::MAX as u64)))
            .default("1ms").source("RFC 9332 figure 9 (T)"),
        /// Curviness: L4S probability goes with this power of the delay, Classic with twice it.
        u: u32 = ROW.domain(Domain::Integer(1, 4)).default("1").source("RFC 9332 appendix B.1 (U)"),
        /// Every ECN-capable packet is L4S, not only ECT(1) and CE: for DCTCP in laboratories.
        any_ect: bool = ROW.opposite("l4s_ect").source("tc-dualpi2(8)"),
        /// On overload let the queues grow to their limit instead of dropping ECN packets too.
        overflow: bool = ROW.opposite("drop_on_overload").source("RFC 9332 section 4.2.3 (delay on saturation)"),
        /// What is smoothed: the delay of the longer queue, or of Classic packets that leave.
        input: Input = ROW.default("longest").source("RFC 9332 figure 6 with both queues; figure 10"),
        /// Smooth the rise of the Classic queue and not its fall.
        asymmetric: bool = ROW.source("RFC 9332 appendix B.1, note 3"),
        ..scheduler: scheduler::Parameters = scheduler::rows(
            Preset::Is("ts_fifo"),
            "RFC 9332 figure 9",
        ),
        ..protection: queue_protection::Parameters = queue_protection::ROWS,
    }
}

/// The Curvy RED DualQ of RFC 9332.
pub type DualQCurvyRed<P> = DualBuffer<P, DualQCurvyRedController>;

impl QueueKind for DualQCurvyRedController {
    const ENTRY: Entry = Entry {
        name: "dualq_curvy_red",
        summary: "DualQ Coupled AQM with Curvy RED.",
        source: "RFC 9332 appendix B",
        parameters: Parameters::ROWS,
    };
}

/// The control law.
#[derive(Debug)]
pub struct DualQCurvyRedController {
    curves: Curves,
    average: Average,
    random: Random,
}

/// Q_C.
#[derive(Debug, Clone)]
enum Average {
    Exact(Ewma),
    /// The delay in whole nanoseconds, and g_C.
    Integer(i64, u32),
}

impl Average {
    fn new(parameters: &Parameters) -> Self {
        match parameters.arithmetic {
            Arithmetic::Exact => Self::Exact(Ewma::new(parameters.g_c)),
            Arithmetic::Integer => Self::Integer(0, parameters.g_c),
        }
    }
    fn configure(&mut self, parameters: &Parameters) {
        match self {
            Self::Exact(average) => average.set_bits(parameters.g_c),
            Self::Integer(_, g_c) => *g_c = parameters.g_c,
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
    /// The average in units of 2⁻¹⁶ ns.
    #[inline]
    fn get(&self) -> u64 {
        match self {
            Self::Exact(average) => average.get(),
            // An average of non-negative values, with shifts that round down, is not negative.
            Self::Integer(q_c, _) => (*q_c as u64) << FRACTION,
        }
    }
}

/// The probabilities that follow from the average.
#[derive(Debug, Clone)]
struct Curves {
    /// range_C in ns: 2^(30 + S_C) in the integer form, where `Q_C >> (S_C-2)` is compared with 32 bits.
    range_c: u64,
    /// The threshold in units of 2⁻¹⁶ ns.
    min_th: u64,
    /// k'
    coupling: u32,
    u: u32,
    threshold: Threshold,
    any_ect: bool,
    overflow: bool,
    input: Input,
    asymmetric: bool,
}

impl Curves {
    fn new(parameters: &Parameters) -> Result<Self, ParameterError> {
        let range = parameters.range_c;
        let (range_c, min_th) = match parameters.arithmetic {
            Arithmetic::Exact => (range.as_nanos(), parameters.min_th.as_nanos() << FRACTION),
            Arithmetic::Integer => {
                let Some(range_c) = binary_range(range) else {
                    let allowed =
                        "must be 4s, 2s, 1s, 500ms, 250ms and so on with arithmetic = \"integer\"";
                    let name = name_of!(Parameters, range_c);
                    return Err(ParameterError::new(name, range, allowed));
                };
                (range_c, 0)
            }
        };
        Ok(Self {
            range_c,
            min_th,
            coupling: parameters.coupling_exponent,
            u: parameters.u,
            threshold: parameters.threshold,
            any_ect: parameters.any_ect,
            overflow: parameters.overflow,
            input: parameters.input,
            asymmetric: parameters.asymmetric,
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

fn head<P: Packet>(queues: &DualQueue<P>, queue: QueueId, now: Time) -> Time {
    queues.head_sojourn(queue, now).unwrap_or(Time::ZERO)
}

impl DualQCurvyRedController {
    /// Lines 5 and 6 of figure 10 with overload, for an L4S packet wherever queue protection put it.
    fn signal_l4s<P: Packet>(
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
        // The coupled test comes first, so that it marks p_CL of all packets.
        } else if curves.exceeds(curves.coupled(root), curves.u, &mut self.random) {
            mark(packet, queue, MarkReason::Coupled, now, obs);
        } else if native {
            mark(packet, queue, MarkReason::Step, now, obs);
        }
        None
    }

    /// Lines 10 to 16 of figure 10 with overload.
    fn signal_classic<P: Packet>(
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

impl DualLaw for DualQCurvyRedController {
    type Parameters = Parameters;
    type Native = Threshold;
    const LIMIT_OF_HIGHEST_RATE: bool = true;

    fn new(parameters: &Parameters, _link: Link, random: Random) -> Result<Self, ParameterError> {
        Ok(Self {
            curves: Curves::new(parameters)?,
            average: Average::new(parameters),
            random,
        })
    }
    fn common(parameters: &Parameters) -> Common {
        Common {
            limit: parameters.limit,
            scheduler: parameters.scheduler,
            protection: parameters.protection,
        }
    }

    #[inline]
    fn any_ect(&self) -> bool {
        self.curves.any_ect
    }
    #[inline]
    fn native(&self) -> &Threshold {
        &self.curves.threshold
    }

    /// There must be room for a packet of the MTU, whatever the packet's size (figure 3).
    #[inline]
    fn arriving<P: Packet>(
        &mut self,
        queues: &DualQueue<P>,
        Arrival { limit, mtu, .. }: Arrival,
        _packet: &mut P,
        _now: Time,
        _obs: &mut impl Observer<P>,
    ) -> Option<DropReason> {
        (!limit.admits(queues.backlog(), mtu)).then_some(DropReason::Limit)
    }
    #[inline]
    fn take<P: Packet>(
        &mut self,
        queues: &mut DualQueue<P>,
        queue: QueueId,
        now: Time,
        obs: &mut impl Observer<P>,
    ) -> Option<(P, Option<DropReason>)> {
        let l4s_packets = queues.packets(QueueId::L4S);
        let classic_delay = head(queues, QueueId::CLASSIC, now);
        let Queued {
            mut packet,
            redirected,
            ..
        } = queues.pop(queue)?;
        let sojourn = packet.sojourn(now);
        if queue == QueueId::CLASSIC {
            let smoothed = match self.curves.input {
                Input::Longest => sojourn.max(head(queues, QueueId::L4S, now)),
                Input::Classic => sojourn,
            };
            self.average.update(smoothed);
        } else if self.curves.input == Input::Longest && sojourn >= classic_delay {
            self.average.update(sojourn);
        }
        let root = self.curves.root(self.average.get(), classic_delay);
        let dropped = if queue == QueueId::L4S || redirected {
            let native =
                queue == QueueId::L4S && self.curves.threshold.is_exceeded_by(sojourn, l4s_packets);
            self.signal_l4s(&mut packet, queue, (root, native), now, obs)
        } else {
            self.signal_classic(&mut packet, root, now, obs)
        };
        Some((packet, dropped))
    }

    fn configure(&mut self, parameters: &Parameters, _link: Link) -> Result<(), ParameterError> {
        self.curves = Curves::new(parameters)?;
        self.average.configure(parameters);
        Ok(())
    }

    fn status<P: Packet>(
        &self,
        queues: &DualQueue<P>,
        limit: QueueLimit,
        now: Time,
        report: &mut dyn FnMut(&'static str, Gauge),
    ) {
        let q_c = self.average.get();
        report(
            "delay_smoothed",
            Gauge::Delay(Time::from_nanos(q_c >> FRACTION)),
        );
        let root = self.curves.root(q_c, head(queues, QueueId::CLASSIC, now));
        let one = self.curves.one();
        let power = |value: u64, n: u32| {
            let base = value.min(one) as f64 / one as f64;
            (0..n).fold(1.0, |product, _| product * base)
        };
        let coupled = power(self.curves.coupled(root), self.curves.u);
        report("coupled_probability", Gauge::Ratio(coupled));
        report(
            "classic_probability",
            Gauge::Ratio(power(root, 2 * self.curves.u)),
        );
        limit.report(report);
    }
}

#[cfg(test)]
mod tests;
