//! Remarking between networks: packets that carry the values of one network get values of the function that the next network gives them.
//!
//! Source: "Stateless Resource Sharing in Networks with Multi-Layer Virtualization" (ICC 2019) as far as the P4 remarker of ELTE implements
//! it. Per virtual network the bytes of each incoming value are counted over a period of 10 ms. A packet with value b is taken to stand
//! somewhere above all that was worth more in the last period and up to all that was worth as much: low = Σ bytes of values > b, high = low +
//! bytes of b, r evenly between (as a rate), new value v(r) of the network's own function. So the sum of a network gets that function, whatever its flows
//! have, and what was worth more within it stays worth more.
//!
//! Deviations: 1. a bin is `width` codes, by default one, instead of a fifth of all: order is kept to the code, not only between five
//! classes. 2. The P4 program's other part (a threshold, moved by a policer's colours) belongs to a bottleneck and is left to disciplines.
//! 3. A packet whose bin was empty stands right behind all that was worth more (high = low): so order is kept strictly, and up to a packet per
//! period more survives than the function says, half of one in the mean (0.6 Mbit/s with 1 500 bytes); wider bins are rarely empty. In the
//! first period, and in one after a silent one, nothing is known, and packets get the highest value. 4. Packets without a value count as worth
//! the least. 5. A packet of a network that is not there keeps its value. 6. Networks may have other periods: scenarios have 100 ms unless they say
//! otherwise, because bursts of TCP within 10 ms are measured as a higher rate and so cost their network a part of its share.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::random::draw;
use crate::packet::Packet;
use crate::random::Random;
use crate::units::{Rate, Time};
use crate::value::ValueFunction;

/// The period of the P4 program's counters.
pub const PERIOD: Time = Time::from_millis(10);

/// The shortest period.
const SHORTEST: Time = Time::from_micros(1);

/// Values for packets that go from several networks into one. It needs no state per flow: 16 bytes per network and bin.
#[derive(Debug)]
pub struct Remarker {
    networks: Box<[Network]>,
    width: u16,
    random: Random,
}

/// Traffic of one network.
#[derive(Debug)]
struct Network {
    function: ValueFunction,
    period: Time,
    /// When its period began.
    since: Option<Time>,
    /// Bytes of each bin in this period, from the lowest values.
    counts: Box<[u64]>,
    /// Bytes of each bin and of those above it in the last period; one more, of nothing, at the end.
    above: Box<[u64]>,
}

impl Remarker {
    /// A remarker for as many networks as there are `functions`, each with its own. Values are counted over `period`, at least 1 µs, in bins of
    /// `width` codes, at least 1; codes above `highest` count as that.
    pub fn new(
        functions: &[ValueFunction],
        highest: u16,
        period: Time,
        width: u16,
        random: Random,
    ) -> Self {
        let width = width.max(1);
        let bins = usize::from(highest / width) + 1;
        let period = period.max(SHORTEST);
        let network = |function: &ValueFunction| Network {
            function: function.clone(),
            period,
            since: None,
            counts: vec![0; bins].into_boxed_slice(),
            above: vec![0; bins + 1].into_boxed_slice(),
        };
        Self {
            networks: functions.iter().map(network).collect(),
            width,
            random,
        }
    }

    /// Counts the values of the packets of `network` over `period`, at least 1 µs.
    pub fn with_period(mut self, network: usize, period: Time) -> Self {
        if let Some(network) = self.networks.get_mut(network) {
            network.period = period.max(SHORTEST);
        }
        self
    }

    /// Gives a packet that comes from `network` at `now` its new value.
    pub fn remark(&mut self, packet: &mut impl Packet, network: usize, now: Time) {
        let Some(network) = self.networks.get_mut(network) else {
            return;
        };
        network.turn(now);
        let bin = usize::from(packet.value().max(1) / self.width).min(network.counts.len() - 1);
        network.counts[bin] = network.counts[bin].saturating_add(packet.len().get());
        let rate = |bytes: u64| {
            let bits = u128::from(bytes) * 8_000_000_000;
            let rate = bits / u128::from(network.period.as_nanos());
            Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
        };
        let (low, high) = (rate(network.above[bin + 1]), rate(network.above[bin]));
        let drawn = draw(low, high, &mut self.random);
        packet.set_value(network.function.code_at(drawn));
    }
}

/// The passage from networks with packet values of their own to a link, in front of its queue and behind its markers. Every world has it
/// where a packet arrives at a link, from a host or from the link before.
#[derive(Debug)]
pub struct Passage {
    /// Gives each packet of a network a value of the network's function.
    pub remarker: Remarker,
    /// The network that each group is in, by its number; packets of the others keep their values.
    pub networks: Vec<Option<usize>>,
}

impl Passage {
    /// Gives `packet` of `group`, which comes at `now`, its new value. Times must not run backwards: the networks would begin anew.
    #[inline(never)]
    pub fn mark(&mut self, packet: &mut impl Packet, group: usize, now: Time) {
        if let Some(Some(network)) = self.networks.get(group) {
            self.remarker.remark(packet, *network, now);
        }
    }
}

impl Network {
    /// Begins as many periods as have passed.
    fn turn(&mut self, now: Time) {
        let period = self.period;
        let since = *self.since.get_or_insert(now);
        let passed = (now - since).as_nanos() / period.as_nanos();
        if passed == 0 && now >= since {
            return;
        }
        // Periods follow each other without gaps; after a clock that went back they begin anew, and all is forgotten.
        self.since = Some(if passed > 0 {
            since + period * passed
        } else {
            now
        });
        let mut sum = 0_u64;
        for (count, above) in self.counts.iter_mut().zip(&mut self.above).rev() {
            if passed == 1 {
                sum = sum.saturating_add(*count);
            }
            *above = sum;
            *count = 0;
        }
    }
}
