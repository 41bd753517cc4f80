//! What an end with AccECN counts of arrivals, and when and how it reports it to the other end: RFC 9768
//! sections 3.2.1, 3.2.2.5.1 and 3.2.3.3; Linux `tcp_ecn_received_counters`,
//! `tcp_options_fit_accecn`, `tcp_accecn_option_beacon_check`.
//!
//! Deviations from Linux: 1. a host sends an ACK after two packets with CE, or three if it owes none for
//! data ("'n' SHOULD be 2", "3 and MUST be no less than 3"; Linux waits for six); 2. the option has the
//! shorter order of fields, without the fields that never changed (section 3.2.3.3; Linux always writes
//! order 1, and all three fields if they fit); 3. beacons are sent only after a counter has changed; 4.
//! the option is sent even if the other end does not send it (section 3.2.3.2.3: "it SHOULD continue to
//! send AccECN Options itself").

use quell_units::{Ecn, Time};

use super::option::{AccEcnOption, Order};
use super::{FIRST_BYTES, FIRST_CE_PACKETS, ace_flags};
use crate::ecn::AccEcnOptionUse;

/// Bytes for options beside the timestamps, of 40 in all.
const OPTION_ROOM: u64 = 40 - 12;
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
    /// Option of a packet that leaves now with `blocks` SACK blocks, and how many of them remain beside
    /// it. `duplicate` is the start of a D-SACK among them.
    pub(crate) fn option(
        &mut self,
        blocks: usize,
        duplicate: Option<u64>,
        rtt: Option<Time>,
        now: Time,
    ) -> (AccEcnOption, usize) {
        self.dsack_with_option = None;
        if !self.is_option_due(rtt, now) {
            return (AccEcnOption::NONE, blocks);
        }
        let (order, required, wanted) = self.layout();
        let Some((fields, blocks)) = fit(required, wanted, blocks) else {
            return (AccEcnOption::NONE, blocks);
        };
        self.dsack_with_option = duplicate;
        self.news = 0;
        self.demand = self.demand.saturating_sub(1);
        self.last_option = now;
        (self.encode(order, fields), blocks)
    }
    /// Bytes that the option takes from a full segment that leaves now.
    pub(crate) fn room_for_option(&self, rtt: Option<Time>, now: Time) -> u32 {
        if !self.is_option_due(rtt, now) {
            return 0;
        }
        let (order, _, wanted) = self.layout();
        self.encode(order, wanted).padded_length(false) as u32
    }
    fn is_option_due(&self, rtt: Option<Time>, now: Time) -> bool {
        if self.is_blocked {
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
    /// The order of the fields, how many the option must have and how many it should have.
    fn layout(&self) -> (Order, usize, usize) {
        if self.changed == 0 {
            return (Order::One, 0, 3);
        }
        let last = |order: Order, set: u8| {
            let fields = order.fields();
            let last = fields
                .iter()
                .rposition(|&ecn| place(ecn).is_some_and(|place| set & (1 << place) != 0));
            last.map_or(0, |last| last + 1)
        };
        let lengths = |order| (last(order, self.news), last(order, self.changed));
        let (zero, one) = (lengths(Order::Zero), lengths(Order::One));
        let (order, (required, wanted)) = if zero < one {
            (Order::Zero, zero)
        } else {
            (Order::One, one)
        };
        (order, required, wanted)
    }
    fn encode(&self, order: Order, fields: usize) -> AccEcnOption {
        let counters = order
            .fields()
            .map(|ecn| place(ecn).map_or(0, |place| self.bytes[place]));
        AccEcnOption::new(order, &counters[..fields])
    }
}

/// The number of fields that fit, and of `blocks` SACK blocks that remain beside them; `None` if fewer than
/// `required` fields fit.
fn fit(required: usize, wanted: usize, blocks: usize) -> Option<(usize, usize)> {
    let mut kept = blocks;
    loop {
        let sacks = if kept == 0 { 0 } else { 4 + 8 * kept as u64 };
        let room = OPTION_ROOM.saturating_sub(sacks);
        let fits = |&fields: &usize| {
            let option = AccEcnOption::new(Order::One, &[0; 3][..fields]);
            option.padded_length(kept > 0) <= room
        };
        if let Some(fields) = (required..=wanted).rev().find(fits) {
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
        Counters::new(usage, Ecn::NotEct)
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
        assert_eq!(read(counters.option(0, None, RTT, Time::ZERO).0), first);
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
            let (option, _) = counters.option(0, None, RTT, Time::ZERO);
            assert_eq!(read(option), expected);
        }
    }

    #[test]
    fn a_mark_on_a_packet_without_payload_counts_as_a_packet_only() {
        let mut counters = counters(AccEcnOptionUse::Always);
        counters.on_packet(Ecn::Ce, 0);
        assert_eq!(ace(Flags(counters.ace_flags())), 6);
        assert_eq!(
            read(counters.option(0, None, RTT, Time::ZERO).0)[1],
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

    /// Section 3.2.3.3; the sizes of Linux's packetdrill test `tcp_accecn_sack_space_grab_with_ts`.
    #[test]
    fn the_option_takes_the_place_of_a_third_sack_block_only() {
        // (fields that must be there, that should, SACK blocks) -> (fields, blocks).
        for (required, wanted, blocks, expected) in [
            (1, 3, 0, Some((3, 0))),
            (3, 3, 1, Some((3, 1))),
            (1, 3, 2, Some((2, 2))),
            (2, 3, 3, Some((2, 2))),
            (1, 1, 3, Some((1, 2))),
            (3, 3, 2, None),
            (3, 3, 3, None),
            // Fields without news replace no block.
            (0, 3, 3, Some((0, 3))),
        ] {
            let found = fit(required, wanted, blocks);
            assert_eq!(found, expected, "{required} {wanted} {blocks}");
        }
    }

    #[test]
    fn sparing_use_reports_changes_twice_then_three_times_per_round() {
        let ms = Time::from_millis;
        let mut counters = counters(AccEcnOptionUse::Sparing);
        let reports = |counters: &mut Counters, ecn, at| {
            counters.on_packet(ecn, 1_000);
            counters.option(0, None, RTT, ms(at)).0.is_present()
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
            let (option, _) = counters.option(0, None, Some(Time::MAX / 4), Time::ZERO);
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
            let blocks = usize::from(duplicate.is_some());
            let (option, _) = counters.option(blocks, duplicate, RTT, Time::ZERO);
            option.is_present()
        };
        assert!(reply(None));
        assert!(reply(Some(0)));
        assert!(!reply(Some(0)));
        assert!(!reply(None));
    }

    #[test]
    fn never_means_never() {
        let mut counters = counters(AccEcnOptionUse::Never);
        counters.on_packet(Ecn::Ce, 1_000);
        counters.demand(2);
        assert!(!counters.syn_ack_option().is_present());
        assert!(!counters.option(0, None, RTT, Time::ZERO).0.is_present());
        assert_eq!(counters.room_for_option(RTT, Time::ZERO), 0);
    }
}
