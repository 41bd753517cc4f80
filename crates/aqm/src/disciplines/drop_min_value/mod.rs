//! Drop-minimum-value: a full queue drops the packet of the lowest value, wherever it stands and the arriving one among them.
//!
//! The resource node that Per Packet Value starts from: it sends what is worth most, in the order of arrival, and does not
//! distinguish flows. Two forms:
//!
//! * `ideal`: the slides "A Congestion Control Independent L4S Scheduler" (ANRW 2020); any packet can be taken out of the queue;
//! * `fifo`: the emulation of US 11,563,698 for queues where none can; packets are condemned where they stand and dropped at the
//!   head; see the file `fifo`.
//!
//! While an arriving packet does not fit, the lowest value there is goes; if that of the packet is not above it, the packet goes. So
//! two large packets may cost a small one its place and the larger one too: what was dropped before stays dropped, as in the source.
//!
//! Where the sources leave a choice:
//!
//! 1. Of equal values the arriving packet goes, and where it is worth more than they the oldest; without values that is drop-tail.
//!    The sources leave this open. So both forms send the same packets at the same times as long as all are of one length or the
//!    limit is one of packets: the first of a condemned value to come to the head is the oldest.
//! 2. A packet larger than the whole limit is refused for that, and no other packet loses its place.
//! 3. Condemned packets stand in the FIFO beside what `limit` allows. `buffer` bounds the two together; a packet that finds it
//!    full is refused, whatever its value. The patent's excerpts name no bound.
//! 4. A packet of which a part is condemned goes whole.
//! 5. Packets without a value have `default_value` when they arrive; values above `highest_value` count as that in the form `fifo`.
//! 6. A lower limit drops the lowest values, or condemns them; a lower rate does so with the next arrival.
//!
//! Needs: values; the link's rate for a limit in time. Promises: what is in a full queue is worth no less than anything refused; a value
//! that none is dropped of above, the congestion threshold, follows by itself. Does not: keep the delay below the limit, or signal
//! before the queue is full. An empty queue holds 248 bytes and its settings; `fifo` 16 bytes
//! per value too, 1 MiB, of which only pages of values in use are touched.
//!
//! | corner case | test |
//! | --- | --- |
//! | the lowest goes, order is kept | `the_lowest_value_goes_and_the_order_stays`; against a plain list `ideal::tests` |
//! | equal values | `of_equal_values_the_arriving_packet_goes_and_then_the_oldest` |
//! | condemned in place, parts of packets | `condemned_packets_go_at_the_head`, `a_packet_goes_whole` |
//! | room for one packet, packets too large | `a_queue_of_one_packet_keeps_the_best`, `what_never_fits_costs_nobody_a_place` |
//! | lower limits, other units | `a_lower_limit_drops_or_condemns_the_lowest`, `condemned_packets_stay_condemned_in_another_unit` |
//! | a full buffer | `the_buffer_bounds_what_is_condemned` |
//! | one form is the other, to the packet; shares of flows | `tests/values.rs` |

mod fifo;
mod ideal;
mod parameters;
mod test_cases;

use crate::kind::{Entry, QueueKind};
use crate::limit::{LIMIT, QueueLimit};
use crate::observer::{DropReason, Observer, QueueId};
use crate::packet::Packet;
use crate::parameter::{ParameterError, Settings, Table as _};
use crate::qdisc::{Backlog, Gauge, Link, Qdisc};
use crate::random::Random;
use crate::shell::Shell;
use crate::single_queue;
use crate::units::{Bytes, Rate, Time};
use crate::virtual_queue::parameters::Values;
use fifo::Unit;
use parameters::Parameters;

/// A drop-minimum-value queue.
#[derive(Debug)]
pub struct DropMinValue<P> {
    shell: Shell<Parameters>,
    limit: QueueLimit,
    values: Values,
    form: Form<P>,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a queue has one; a box would cost each packet a hop"
)]
enum Form<P> {
    Ideal(ideal::Packets<P>),
    Fifo(Fifo<P>),
}

#[derive(Debug)]
struct Fifo<P> {
    packets: fifo::Packets<P>,
    /// The size of the FIFO, as a multiple of the limit.
    buffer: u64,
}

impl<P> QueueKind for DropMinValue<P> {
    const ENTRY: Entry = Entry {
        name: "drop_min_value",
        summary: "Drop-minimum-value: a full queue drops the packet of the lowest value, in place or at the head.",
        source: "Nádas et al., ANRW 2020; US 11,563,698 (fifo)",
        parameters: Parameters::ROWS,
    };
}

fn unit(limit: QueueLimit) -> Unit {
    match limit {
        QueueLimit::Packets(_) => Unit::Packets,
        QueueLimit::Bytes(_) => Unit::Bytes,
    }
}

/// `limit` in the unit of [`unit()`].
fn amount(limit: QueueLimit) -> u64 {
    match limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(bytes) => bytes.get(),
    }
}

impl<P: Packet> Fifo<P> {
    /// Makes room for `amount` units of `value`; false if they are not worth it.
    #[inline]
    fn make_room(&mut self, limit: QueueLimit, of_packet: u64, value: u16) -> bool {
        let limit = amount(limit);
        loop {
            let excess = self
                .packets
                .kept()
                .saturating_add(of_packet)
                .saturating_sub(limit);
            if excess == 0 {
                return true;
            }
            match self.packets.find_lowest() {
                Some(lowest) if lowest < value => self.packets.condemn(lowest, excess),
                _ => return false,
            }
        }
    }

    /// Whether `packet` finds a place in the FIFO at all.
    #[inline]
    fn has_place(&self, limit: QueueLimit, packet: Bytes) -> bool {
        let buffer = match limit {
            QueueLimit::Packets(packets) => {
                QueueLimit::Packets(packets.saturating_mul(self.buffer))
            }
            QueueLimit::Bytes(bytes) => {
                QueueLimit::Bytes(Bytes::new(bytes.get().saturating_mul(self.buffer)))
            }
        };
        buffer.admits(self.packets.backlog(), packet)
    }
}

impl<P: Packet> DropMinValue<P> {
    /// An empty queue.
    pub fn new(settings: Settings, link: Link, _random: Random) -> Result<Self, ParameterError> {
        let parameters = Parameters::of(&settings);
        let limit = QueueLimit::of(LIMIT, parameters.limit, link)?;
        let values = Values::of(&parameters.values);
        let form = match parameters.form {
            parameters::Form::Fifo => Form::Fifo(Fifo {
                packets: fifo::Packets::new(values.highest(), unit(limit)),
                buffer: parameters.buffer,
            }),
            parameters::Form::Ideal => Form::Ideal(ideal::Packets::new()),
        };
        Ok(Self {
            shell: Shell::new(settings, link),
            limit,
            values,
            form,
        })
    }

    /// A lowered limit drops the lowest values, or condemns them.
    fn shrink(&mut self, now: Time, obs: &mut impl Observer<P>) {
        let limit = self.limit;
        match &mut self.form {
            Form::Ideal(packets) => {
                while limit.is_exceeded(packets.backlog()) {
                    let Some(lowest) = packets.pop_lowest() else {
                        break;
                    };
                    single_queue::drop_queued(lowest, DropReason::Reconfigured, now, obs);
                }
            }
            Form::Fifo(fifo) => {
                while fifo.packets.kept() > amount(limit) {
                    let Some(lowest) = fifo.packets.find_lowest() else {
                        break;
                    };
                    let excess = fifo.packets.kept() - amount(limit);
                    fifo.packets.condemn(lowest, excess);
                }
            }
        }
    }
}

impl<P: Packet> Qdisc<P> for DropMinValue<P> {
    fn queues(&self) -> &'static [&'static str] {
        single_queue::NAMES
    }

    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let (limit, value, len) = (self.limit, self.values.count(packet.value()), packet.len());
        if !limit.admits(Backlog::default(), len) {
            return single_queue::refuse(packet, DropReason::Limit, now, obs);
        }
        match &mut self.form {
            Form::Ideal(packets) => {
                while !limit.admits(packets.backlog(), len) {
                    if packets.lowest_value() >= Some(value) {
                        return single_queue::refuse(packet, DropReason::Value, now, obs);
                    }
                    if let Some(lowest) = packets.pop_lowest() {
                        single_queue::drop_queued(lowest, DropReason::Value, now, obs);
                    }
                }
                obs.enqueued(QueueId::SINGLE, &packet, now);
                packets.push(packet, value);
            }
            Form::Fifo(fifo) => {
                if !fifo.has_place(limit, len) {
                    return single_queue::refuse(packet, DropReason::Limit, now, obs);
                }
                let amount = unit(limit).of(&packet);
                if !fifo.make_room(limit, amount, value) {
                    return single_queue::refuse(packet, DropReason::Value, now, obs);
                }
                obs.enqueued(QueueId::SINGLE, &packet, now);
                fifo.packets.push(packet, value);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let packet = match &mut self.form {
            Form::Ideal(packets) => packets.pop()?,
            Form::Fifo(fifo) => loop {
                let (packet, condemned) = fifo.packets.pop()?;
                if !condemned {
                    break packet;
                }
                single_queue::drop_queued(packet, DropReason::Value, now, obs);
            },
        };
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    /// An empty queue keeps nothing of a packet that passes.
    #[inline]
    fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let admitted = self.limit.admits(Backlog::default(), packet.len());
        if self.backlog().packets > 0 || !admitted {
            self.enqueue(packet, now, obs);
            return self.dequeue(now, obs);
        }
        obs.enqueued(QueueId::SINGLE, &packet, now);
        obs.dequeued(QueueId::SINGLE, &packet, now);
        Some(packet)
    }

    /// A limit in time that has become smaller drops with the next arrival.
    fn set_rate(&mut self, rate: Rate, _now: Time, _obs: &mut dyn Observer<P>) {
        if !rate.is_zero() {
            self.shell.set_rate(rate);
            self.limit = QueueLimit::at_rate(self.shell.parameters().limit, self.shell.link());
        }
    }

    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        let old = self.limit;
        let (parameters, limit) = self.shell.change(key, value, |parameters, link| {
            let limit = if key == LIMIT {
                QueueLimit::of(LIMIT, parameters.limit, link)?
            } else {
                old
            };
            Ok((*parameters, limit))
        })?;
        self.limit = limit;
        self.values = Values::of(&parameters.values);
        if let Form::Fifo(fifo) = &mut self.form {
            fifo.buffer = parameters.buffer;
            fifo.packets.count_in(unit(limit));
        }
        if key == LIMIT {
            self.shrink(now, &mut obs);
        }
        Ok(())
    }

    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        loop {
            let packet = match &mut self.form {
                Form::Ideal(packets) => packets.pop(),
                Form::Fifo(fifo) => fifo.packets.pop().map(|(packet, _)| packet),
            };
            let Some(packet) = packet else { break };
            single_queue::drop_queued(packet, DropReason::Drained, now, &mut obs);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        match &self.form {
            Form::Ideal(packets) => packets.backlog(),
            Form::Fifo(fifo) => fifo.packets.backlog(),
        }
    }

    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        let (head, lowest) = match &self.form {
            Form::Ideal(packets) => (packets.head(), packets.lowest_value()),
            Form::Fifo(fifo) => (fifo.packets.head(), fifo.packets.lowest_value()),
        };
        let delay = head.map_or(Time::ZERO, |packet| packet.sojourn(now));
        report("delay", Gauge::Delay(delay));
        self.limit.report(report);
        report("lowest_value", Gauge::Count(lowest.unwrap_or(0).into()));
        if let Form::Fifo(fifo) = &self.form {
            let name = match unit(self.limit) {
                Unit::Packets => "condemned_packets",
                Unit::Bytes => "condemned_bytes",
            };
            report(name, Gauge::count(fifo.packets.condemned()));
        }
    }
}

#[cfg(test)]
mod tests;
