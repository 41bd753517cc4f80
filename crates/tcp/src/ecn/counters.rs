//! The counters of arrivals at an end with AccECN, and when and how it reports them to the other end: RFC 9768
//! sections 3.2.1, 3.2.2.5.1 and 3.2.3.3; Linux `tcp_ecn_received_counters`,
//! `tcp_options_fit_accecn`, `tcp_accecn_option_beacon_check`.
//!
//! Deviations from Linux: 1. a host sends an ACK after two packets with CE, or three if it owes none for
//! data ("'n' SHOULD be 2", "3 and MUST be no less than 3"; Linux waits for six); 2. the option has the
//! shorter order of fields, without the fields that never changed (section 3.2.3.3; Linux always writes
//! order 1, and all three fields if they fit), but leaves, and takes the place of a SACK block, where
//! Linux's does; 3. beacons are sent only after a counter has changed.
//!
//! As in Linux no option leaves after the SYN-ACK until one has arrived (`saw_accecn_opt`), though section
//! 3.2.3.2.3 says that an end without the other one's options "SHOULD continue to send AccECN Options itself".

use quell_units::{Ecn, Time};

use super::option::{AccEcnOption, Order};
use super::{FIRST_BYTES, FIRST_CE_PACKETS, ace_flags};
use crate::ecn::AccEcnOptionUse;

/// Number of SACK blocks that the option never replaces (section 3.2.3.3).
const KEPT_BLOCKS: usize = 2;
/// Number of options per RTT while a counter grows (Linux `tcp_ecn_option_beacon`).
const BEACONS: u64 = 3;
/// Section 3.2.3.3: "It SHOULD include each counter at least once for every 2^22 bytes".
const INTERVAL_SHIFT: u32 = 22;

/// Counters of one end, and what it has reported of them.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    /// r.cep.
    ce_packets: u64,
    /// r.e0b, r.ceb and r.e1b.
    bytes: [u64; 3],
    /// Which of `bytes` ever changed, and which since the last option; one bit each.
    changed: u8,
    news: u8,
    /// Number of packets with CE since the last ACE field was sent.
    unreported: u32,
    /// IP-ECN field of the previous packet.
    previous: Ecn,
    /// Number of packets that must carry the option.
    demand: u8,
    usage: AccEcnOptionUse,
    /// Whether the other end has sent an option.
    is_option_seen: bool,
    /// Whether the network drops packets with the option.
    is_blocked: bool,
    /// Start of the D-SACK in the last packet, if that packet had the option too.
    dsack_with_option: Option<u64>,
    last_option: Time,
}

/// Index of a codepoint's byte counter; there is none for Not-ECT.
pub(crate) fn place(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(0),
        Ecn::Ce => Some(1),
        Ecn::Ect1 => Some(2),
    }
}

impl Counters {
    /// `arrived` is the IP-ECN field of the SYN or SYN-ACK that started AccECN.
    pub(crate) fn new(usage: AccEcnOptionUse, arrived: Ecn) -> Self {
        Self {
            ce_packets: FIRST_CE_PACKETS,
            bytes: FIRST_BYTES,
            changed: 0,
            news: 0,
            unreported: 0,
            previous: arrived,
            demand: 0,
            usage,
            is_option_seen: false,
            is_blocked: false,
            dsack_with_option: None,
            last_option: Time::ZERO,
        }
    }
    /// The SYN-ACK had CE. Call this once, no matter how many arrive (section 3.2.2.2).
    pub(crate) fn on_ce_syn_ack(&mut self) {
        self.ce_packets += 1;
        self.unreported += 1;
    }
    /// An acceptable packet arrived, with or without payload (section 3.2). Returns true if its IP-ECN
    /// field differs from that of the previous packet.
    #[inline]
    pub(crate) fn on_packet(&mut self, ecn: Ecn, payload: u64) -> bool {
        let is_ce = ecn == Ecn::Ce;
        if is_ce {
            self.ce_packets += 1;
            self.unreported += 1;
        }
        if payload > 0
            && let Some(place) = place(ecn)
        {
            let before = self.bytes[place];
            self.bytes[place] += payload;
            self.changed |= 1 << place;
            self.news |= 1 << place;
            if (before ^ self.bytes[place]) >> INTERVAL_SHIFT != 0 {
                self.demand = self.demand.max(1);
            }
        }
        let is_edge = ecn != self.previous;
        if is_edge || is_ce {
            self.previous = ecn;
            // Two, so that the second certainly reports this field alone.
            self.demand = 2;
        }
        is_edge
    }
    /// Whether enough packets with CE have arrived for an ACK at once (section 3.2.2.5.1).
    pub(crate) fn is_ack_due(&self, owes_ack: bool) -> bool {
        self.unreported >= if owes_ack { 2 } else { 3 }
    }
    /// ACE field of a packet that leaves now.
    #[inline]
    pub(crate) fn ace_flags(&mut self) -> u16 {
        self.unreported = 0;
        ace_flags(self.ce_packets)
    }
    /// The next `packets` packets must carry the option.
    pub(crate) fn demand(&mut self, packets: u8) {
        self.demand = self.demand.max(packets);
    }
    /// The other end has sent an option, so it reads options.
    #[inline]
    pub(crate) fn on_option_seen(&mut self) {
        self.is_option_seen = true;
    }
    /// A duplicate of the segment that starts at `start` arrived. If the last packet had reported that
    /// beside an option, it was lost as well, probably because of the option (section 3.2.3.2.2; Linux
    /// `tcp_rcv_spurious_retrans`).
    pub(crate) fn on_duplicate(&mut self, start: u64) {
        self.is_blocked |= self.dsack_with_option == Some(start);
    }

    /// Option of a SYN-ACK: all three counters, in Linux's order.
    pub(crate) fn syn_ack_option(&self) -> AccEcnOption {
        match self.usage {
            AccEcnOptionUse::Never => AccEcnOption::NONE,
            _ => self.encode(Order::One, 3),
        }
    }
    /// Option of a packet that leaves now with `sacks`, and how many of the SACK blocks remain beside it.
    /// `duplicate` is the start of a D-SACK among them.
    pub(crate) fn option(
        &mut self,
        sacks: SackRoom,
        duplicate: Option<u64>,
        rtt: Option<Time>,
        now: Time,
    ) -> (AccEcnOption, usize) {
        self.dsack_with_option = None;
        let (option, blocks) = self.plan(sacks, rtt, now);
        if option.is_present() {
            self.dsack_with_option = duplicate;
            self.news = 0;
            self.demand = self.demand.saturating_sub(1);
            self.last_option = now;
        }
        (option, blocks)
    }
    /// Bytes that the option and what remains of `sacks` take from a full segment that leaves now.
    pub(crate) fn room_for_options(&self, sacks: SackRoom, rtt: Option<Time>, now: Time) -> u32 {
        let (option, blocks) = self.plan(sacks, rtt, now);
        (sack_length(blocks) + option.padded_length(blocks > 0)) as u32
    }
    fn plan(&self, sacks: SackRoom, rtt: Option<Time>, now: Time) -> (AccEcnOption, usize) {
        if !self.is_option_due(rtt, now) {
            return (AccEcnOption::NONE, sacks.blocks);
        }
        let Some((most, blocks)) = fit(reach(Order::One, self.news), sacks) else {
            return (AccEcnOption::NONE, sacks.blocks);
        };
        let (order, wanted) = self.layout();
        (self.encode(order, wanted.min(most)), blocks)
    }
    fn is_option_due(&self, rtt: Option<Time>, now: Time) -> bool {
        if self.is_blocked || !self.is_option_seen {
            return false;
        }
        match self.usage {
            AccEcnOptionUse::Never => false,
            AccEcnOptionUse::Always => true,
            AccEcnOptionUse::Sparing => {
                let is_beacon = || (now - self.last_option) * BEACONS >= rtt.unwrap_or_default();
                self.demand > 0 || (self.news != 0 && is_beacon())
            }
        }
    }
    /// The order of the fields, and how many the option should have: the order with fewer fields up to the
    /// last one with news, or else up to the last one that ever changed.
    fn layout(&self) -> (Order, usize) {
        if self.changed == 0 {
            return (Order::One, 3);
        }
        let lengths = |order| (reach(order, self.news), reach(order, self.changed));
        let (zero, one) = (lengths(Order::Zero), lengths(Order::One));
        if zero < one {
            (Order::Zero, zero.1)
        } else {
            (Order::One, one.1)
        }
    }
    fn encode(&self, order: Order, fields: usize) -> AccEcnOption {
        let counters = order
            .fields()
            .map(|ecn| place(ecn).map_or(0, |place| self.bytes[place]));
        AccEcnOption::new(order, &counters[..fields])
    }
}

/// The SACK blocks of a packet, and its room for options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SackRoom {
    pub(crate) blocks: usize,
    /// Bytes of options beside timestamps: 28, or 40 where there are none.
    pub(crate) room: u32,
}

impl SackRoom {
    /// A packet without SACK blocks.
    pub(crate) const NO_BLOCKS: Self = Self {
        blocks: 0,
        room: 40 - 12,
    };
    /// Bytes of the blocks.
    pub(crate) fn length(self) -> u32 {
        sack_length(self.blocks) as u32
    }
}

/// Bytes of this many SACK blocks.
fn sack_length(blocks: usize) -> u64 {
    if blocks == 0 {
        0
    } else {
        4 + 8 * blocks as u64
    }
}

/// Number of fields up to the last one in `set`, which has a bit for each counter.
fn reach(order: Order, set: u8) -> usize {
    let fields = order.fields();
    let last = fields
        .iter()
        .rposition(|&ecn| place(ecn).is_some_and(|place| set & (1 << place) != 0));
    last.map_or(0, |last| last + 1)
}

/// The number of fields of Linux's option that fit, and of SACK blocks that remain beside them; `None` if
/// fewer than `required` fields fit (`tcp_options_fit_accecn`).
fn fit(required: usize, sacks: SackRoom) -> Option<(usize, usize)> {
    let mut kept = sacks.blocks;
    loop {
        let room = u64::from(sacks.room).saturating_sub(sack_length(kept));
        let fits = |&fields: &usize| {
            let option = AccEcnOption::new(Order::One, &[0; 3][..fields]);
            option.padded_length(kept > 0) <= room
        };
        if let Some(fields) = (required..=3).rev().find(fits) {
            return Some((fields, kept));
        }
        if kept <= KEPT_BLOCKS || required == 0 {
            return None;
        }
        kept -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::ace;
    use crate::flags::Flags;

    const RTT: Option<Time> = Some(Time::from_millis(90));

    fn counters(usage: AccEcnOptionUse) -> Counters {
        let mut counters = Counters::new(usage, Ecn::NotEct);
        counters.on_option_seen();
        counters
    }
    fn read(option: AccEcnOption) -> Vec<(Ecn, u32)> {
        option.counters().collect()
    }

    /// RFC 9768 section 3.2.1.
    #[test]
    fn the_counters_begin_at_five_one_zero_and_one() {
        let mut counters = counters(AccEcnOptionUse::Always);
        assert_eq!(ace(Flags(counters.ace_flags())), 5);
        let first = [(Ecn::Ect1, 1), (Ecn::Ce, 0), (Ecn::Ect0, 1)];
        assert_eq!(read(counters.syn_ack_option()), first);
        assert_eq!(
            read(
                counters
                    .option(SackRoom::NO_BLOCKS, None, RTT, Time::ZERO)
                    .0
            ),
            first
        );
    }

    /// The exchange of Linux's packetdrill test `tcp_accecn_ecn_field_updates_opt`, in the shortest
    /// order with the fields that have changed.
    #[test]
    fn packets_are_counted_by_number_and_bytes() {
        use Ecn::{Ce, Ect0, Ect1};
        let mut counters = counters(AccEcnOptionUse::Always);
        for (ecn, expected_ace, expected) in [
            (Ce, 6, &[(Ect1, 1), (Ce, 1_000)][..]),
            (Ect0, 6, &[(Ect0, 1_001), (Ce, 1_000)]),
            (Ce, 7, &[(Ect0, 1_001), (Ce, 2_000)]),
            (Ect1, 7, &[(Ect1, 1_001), (Ce, 2_000), (Ect0, 1_001)]),
            (Ce, 0, &[(Ect1, 1_001), (Ce, 3_000), (Ect0, 1_001)]),
        ] {
            assert!(counters.on_packet(ecn, 1_000));
            assert_eq!(ace(Flags(counters.ace_flags())), expected_ace);
            let (option, _) = counters.option(SackRoom::NO_BLOCKS, None, RTT, Time::ZERO);
            assert_eq!(read(option), expected);
        }
    }

    #[test]
    fn a_mark_on_a_packet_without_payload_counts_as_a_packet_only() {
        let mut counters = counters(AccEcnOptionUse::Always);
        counters.on_packet(Ecn::Ce, 0);
        assert_eq!(ace(Flags(counters.ace_flags())), 6);
        assert_eq!(
            read(
                counters
                    .option(SackRoom::NO_BLOCKS, None, RTT, Time::ZERO)
                    .0
            )[1],
            (Ecn::Ce, 0)
        );
    }

    /// Section 3.2.2.5.1: n is 2 where an ACK is owed and 3 otherwise.
    #[test]
    fn two_or_three_marks_request_an_ack() {
        let mut counters = counters(AccEcnOptionUse::Never);
        let expected = [(false, false), (true, false), (true, true)];
        for expected in expected {
            counters.on_packet(Ecn::Ce, 0);
            let due = (counters.is_ack_due(true), counters.is_ack_due(false));
            assert_eq!(due, expected);
        }
        counters.ace_flags();
        assert!(!counters.is_ack_due(true));
    }

    /// Section 3.2.3.3; the sizes of Linux's packetdrill tests `tcp_accecn_sack_space_grab` and
    /// `_with_ts`.
    #[test]
    fn the_option_takes_the_place_of_a_third_sack_block_only() {
        // (fields that must be there, SACK blocks, room) -> (fields, blocks).
        for (required, blocks, room, expected) in [
            (1, 0, 28, Some((3, 0))),
            (3, 1, 28, Some((3, 1))),
            (1, 2, 28, Some((2, 2))),
            (2, 3, 28, Some((2, 2))),
            (1, 3, 28, Some((2, 2))),
            (3, 2, 28, None),
            (3, 3, 28, None),
            // Fields without news replace no block.
            (0, 3, 28, Some((0, 3))),
            // Without timestamps.
            (3, 3, 40, Some((3, 3))),
        ] {
            let found = fit(required, SackRoom { blocks, room });
            assert_eq!(found, expected, "{required} {blocks} {room}");
        }
    }

    /// Linux counts ECT(0) in the last field, so with timestamps its option gives way to two blocks, and that of
    /// ECT(1) does not.
    #[test]
    fn what_gives_way_depends_on_the_codepoint() {
        for (ecn, is_present, kept) in [
            (Ecn::Ect0, false, 3),
            (Ecn::Ce, true, 2),
            (Ecn::Ect1, true, 2),
        ] {
            let mut counters = counters(AccEcnOptionUse::Always);
            counters.on_packet(ecn, 1_000);
            let sacks = SackRoom {
                blocks: 3,
                room: 28,
            };
            let room = counters.room_for_options(sacks, RTT, Time::ZERO);
            assert!(room <= 28);
            let (option, blocks) = counters.option(sacks, None, RTT, Time::ZERO);
            assert_eq!((option.is_present(), blocks), (is_present, kept), "{ecn:?}");
        }
    }

    #[test]
    fn sparing_use_reports_changes_twice_then_three_times_per_round() {
        let ms = Time::from_millis;
        let mut counters = counters(AccEcnOptionUse::Sparing);
        let reports = |counters: &mut Counters, ecn, at| {
            counters.on_packet(ecn, 1_000);
            counters
                .option(SackRoom::NO_BLOCKS, None, RTT, ms(at))
                .0
                .is_present()
        };
        // A first packet with ECT after a handshake without is a change.
        assert!(reports(&mut counters, Ecn::Ect1, 0));
        assert!(reports(&mut counters, Ecn::Ect1, 1));
        let reported: Vec<u64> = (2..100)
            .filter(|&at| reports(&mut counters, Ecn::Ect1, at))
            .collect();
        assert_eq!(reported, [31, 61, 91]);
        for at in 100..110 {
            assert!(reports(&mut counters, Ecn::Ce, at), "each mark is reported");
        }
        assert!(reports(&mut counters, Ecn::Ect1, 110));
        assert!(reports(&mut counters, Ecn::Ect1, 110));
        assert!(!reports(&mut counters, Ecn::Ect1, 110));
    }

    #[test]
    fn every_four_mebibytes_a_counter_is_reported() {
        let mut counters = counters(AccEcnOptionUse::Sparing);
        let mut reported = Vec::new();
        for n in 0..10_000_u64 {
            counters.on_packet(Ecn::Ect0, 1_000);
            let (option, _) =
                counters.option(SackRoom::NO_BLOCKS, None, Some(Time::MAX / 4), Time::ZERO);
            reported.extend(option.is_present().then_some(n));
        }
        // 1 + 1 000 (n + 1) passes 2²² and 2²³.
        assert_eq!(reported, [0, 1, 4_194, 8_388]);
    }

    /// Linux's packetdrill test `tcp_accecn_client_accecn_options_drop`.
    #[test]
    fn an_option_that_does_not_get_through_twice_is_given_up() {
        let mut counters = counters(AccEcnOptionUse::Always);
        let mut reply = |duplicate| {
            counters.on_packet(Ecn::Ect0, 1_000);
            if let Some(start) = duplicate {
                counters.on_duplicate(start);
            }
            let sacks = SackRoom {
                blocks: usize::from(duplicate.is_some()),
                ..SackRoom::NO_BLOCKS
            };
            let (option, _) = counters.option(sacks, duplicate, RTT, Time::ZERO);
            option.is_present()
        };
        assert!(reply(None));
        assert!(reply(Some(0)));
        assert!(!reply(Some(0)));
        assert!(!reply(None));
    }

    /// `tcp_established_options`: `saw_accecn_opt`.
    #[test]
    fn no_option_leaves_after_the_syn_ack_until_one_has_arrived() {
        let mut counters = Counters::new(AccEcnOptionUse::Always, Ecn::NotEct);
        let leaves = |counters: &mut Counters| {
            let room = counters.room_for_options(SackRoom::NO_BLOCKS, RTT, Time::ZERO);
            let sacks = SackRoom {
                blocks: 3,
                room: 28,
            };
            let (option, blocks) = counters.option(sacks, None, RTT, Time::ZERO);
            assert_eq!(option.is_present(), room > 0);
            (room, blocks)
        };
        assert!(counters.syn_ack_option().is_present());
        counters.on_packet(Ecn::Ce, 1_000);
        assert_eq!(leaves(&mut counters), (0, 3));
        counters.on_option_seen();
        assert_eq!(leaves(&mut counters), (8, 2));
    }

    #[test]
    fn never_means_never() {
        let mut counters = counters(AccEcnOptionUse::Never);
        counters.on_packet(Ecn::Ce, 1_000);
        counters.demand(2);
        assert!(!counters.syn_ack_option().is_present());
        assert!(
            !counters
                .option(SackRoom::NO_BLOCKS, None, RTT, Time::ZERO)
                .0
                .is_present()
        );
        assert_eq!(
            counters.room_for_options(SackRoom::NO_BLOCKS, RTT, Time::ZERO),
            0
        );
    }
}
