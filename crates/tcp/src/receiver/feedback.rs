//! The receiver's part in ECN: RFC 3168 section 6.1.3, RFC 8257 section 3.2 (Linux `tcp_dctcp.h`),
//! RFC 9768; Linux `include/net/tcp_ecn.h` (`tcp_ecn_rcv_syn`, `tcp_accecn_third_ack`).

use quell_units::{Ecn, Time};

use crate::config::ReceiverConfig;
use crate::ecn::counters::{Counters, SackRoom};
use crate::ecn::decoder::{Ack, Decoder};
use crate::ecn::handshake;
use crate::ecn::option::AccEcnOption;
use crate::ecn::{ACE_MASK, FeedbackMode, Fields, ace};
use crate::ecn::{AccEcnOptionUse, EcnMode, EctScope};
use crate::flags::Flags;
use crate::segment::Segment;

/// The demand of an arrival on the ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing.
    None,
    /// A quick-ack phase of two ACKs.
    Quick,
    /// An ACK at once and, if one is delayed, before it an ACK for what came before, with these flags.
    Change(Flags),
}

/// State of the feedback.
#[derive(Debug, Clone)]
pub(super) struct Feedback {
    mode: EcnMode,
    scope: EctScope,
    usage: AccEcnOptionUse,
    /// RFC 3168's feedback is not enough.
    needs_more: bool,
    agreed: FeedbackMode,
    has_agreed: bool,
    fields: Fields,
    /// IP-ECN fields of the latest SYN and of the latest SYN-ACK.
    syn: Ecn,
    syn_ack: Ecn,
    /// RFC 3168: CE has arrived, and no CWR since. DCTCP: the last arrival had CE (DCTCP.CE).
    echo: bool,
    /// ECN-capable data has arrived (`TCP_ECN_SEEN`); not recorded by a receiver alone.
    has_seen_ect: bool,
    accurate: Option<Box<Accurate>>,
}

/// State of AccECN.
#[derive(Debug, Clone)]
struct Accurate {
    counters: Counters,
    /// `None` if the other half of a [`Connection`](crate::Connection) reads the reports.
    decoder: Option<Decoder>,
    /// Timestamp and end of the segment with the latest report of marks.
    latest: (Time, u64),
}

impl Feedback {
    pub(super) fn new(config: &ReceiverConfig) -> Self {
        Self {
            mode: config.ecn,
            scope: config.ect_scope.unwrap_or(config.ecn.scope()),
            usage: config.accecn_option,
            needs_more: config.needs_more_feedback,
            agreed: FeedbackMode::Off,
            has_agreed: false,
            fields: Fields::NOT_ECT,
            syn: Ecn::NotEct,
            syn_ack: Ecn::NotEct,
            echo: false,
            has_seen_ect: false,
            accurate: None,
        }
    }
    /// Forgets what the SYN asked for.
    pub(super) fn listen_again(&mut self) {
        self.agreed = FeedbackMode::Off;
        self.has_agreed = false;
        self.fields = Fields::NOT_ECT;
        self.accurate = None;
    }
    /// ECN feedback that the handshake has agreed on.
    pub(super) fn agreed(&self) -> FeedbackMode {
        self.agreed
    }
    /// IP-ECN field of an ACK.
    pub(super) fn field(&self) -> Ecn {
        self.fields.others
    }
    /// Number of packets of this end that arrived with CE, as far as the other end has reported.
    pub(super) fn marked(&self) -> u64 {
        let accurate = self.accurate.as_ref();
        let decoder = accurate.and_then(|accurate| accurate.decoder.as_ref());
        decoder.map_or(0, Decoder::ce_packets)
    }
    /// The other half has agreed on this as the client, and passes its counters of arrivals.
    pub(super) fn on_connected(&mut self, agreed: FeedbackMode, counters: Option<Counters>) {
        self.has_agreed = true;
        self.agreed = agreed;
        self.fields = Fields::new(self.mode, self.scope, agreed);
        self.accurate = counters.map(|counters| {
            Box::new(Accurate {
                counters,
                decoder: None,
                latest: (Time::ZERO, 0),
            })
        });
    }
    /// The other half reads the reports of the other end from now on.
    pub(super) fn take_decoder(&mut self) -> Option<Decoder> {
        self.accurate.as_mut()?.decoder.take()
    }
    /// The SYN-ACK arrived again, with CE for the first time.
    pub(super) fn on_ce_syn_ack(&mut self) {
        if let Some(accurate) = &mut self.accurate {
            accurate.counters.on_ce_syn_ack();
        }
    }
    /// The other half has seen an option.
    #[inline]
    pub(super) fn on_option_seen(&mut self) {
        if let Some(accurate) = &mut self.accurate {
            accurate.counters.on_option_seen();
        }
    }
    /// Bytes that the option and what remains of `sacks` beside it take from a full segment that leaves now.
    pub(super) fn room_for_options(&self, sacks: SackRoom, rtt: Option<Time>, now: Time) -> u32 {
        let accurate = self.accurate.as_ref();
        accurate.map_or(sacks.length(), |accurate| {
            accurate.counters.room_for_options(sacks, rtt, now)
        })
    }

    /// A SYN arrived before the connection was established. The first SYN decides; the SYN-ACK echoes
    /// the IP-ECN field of the latest (RFC 9768 section 3.1.5).
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        self.syn = segment.ecn;
        if !self.has_agreed {
            self.has_agreed = true;
            self.agreed = match self.mode {
                // RFC 3168 section 6.1.1 forbids such a SYN (`tcp_ecn_create_request`).
                EcnMode::Classic(_)
                    if self.scope != EctScope::Everything
                        && segment.ecn != Ecn::NotEct
                        && !segment.flags.has(Flags::AE) =>
                {
                    FeedbackMode::Off
                }
                mode => handshake::accept(mode, segment.flags),
            };
            self.fields = Fields::new(self.mode, self.scope, self.agreed);
        }
        if self.agreed != FeedbackMode::Accurate {
            return;
        }
        let (usage, ecn) = (self.usage, segment.ecn);
        let accurate = self.accurate.get_or_insert_with(|| {
            Box::new(Accurate {
                // A CE on the SYN is not counted: the SYN-ACK echoes it (section 3.2.2.2).
                counters: Counters::new(usage, ecn),
                decoder: Some(Decoder::new()),
                latest: (Time::ZERO, 0),
            })
        });
        // The client gives up, or something clears the flags. Section 3.1.5: "MUST NOT set ECT on any
        // packet for the rest of the connection".
        if ace(segment.flags) == 0
            && let Some(decoder) = &mut accurate.decoder
        {
            decoder.on_invalid_transition();
            self.fields = Fields::NOT_ECT;
        }
    }
    /// Flags, IP-ECN field and option of the `attempt`th SYN-ACK after this number of time-outs.
    pub(super) fn syn_ack(&mut self, attempt: u32, timeouts: u32) -> (u16, Ecn, AccEcnOption) {
        let flags = handshake::syn_ack_flags(self.agreed, self.syn, timeouts);
        if self.agreed == FeedbackMode::Accurate && flags == 0 {
            self.fields = Fields::NOT_ECT;
        }
        let is_capable = self.scope == EctScope::Everything;
        self.syn_ack = if is_capable {
            self.fields.others
        } else {
            Ecn::NotEct
        };
        let option = match &self.accurate {
            // Section 3.2.3.2.2: "SHOULD retransmit the SYN/ACK, but with no AccECN Option".
            Some(accurate) if attempt == 1 => accurate.counters.syn_ack_option(),
            _ => AccEcnOption::NONE,
        };
        (flags, self.syn_ack, option)
    }
    /// Reads the first segment after the SYN-ACK (RFC 9768 tables 3 and 4). Returns true if its flags
    /// echo the SYN-ACK, as those of "a pure ACK with no SACK blocks" do, and false if they are a
    /// counter.
    pub(super) fn on_first_ack(&mut self, segment: &Segment) -> bool {
        if self.needs_more && self.agreed == FeedbackMode::Classic {
            self.agreed = FeedbackMode::Off;
            self.fields = Fields::NOT_ECT;
        }
        let Some(accurate) = &mut self.accurate else {
            return false;
        };
        let Some(decoder) = &mut accurate.decoder else {
            return false;
        };
        decoder.on_first_option(&segment.accecn);
        if decoder.has_seen_option() {
            accurate.counters.on_option_seen();
        }
        if segment.payload > 0 || !segment.sacks.is_empty() {
            return false;
        }
        let arrived = handshake::echoed(segment.flags);
        if ace(segment.flags) == 0 {
            decoder.give_up();
        } else if arrived.is_some_and(|arrived| !handshake::is_valid(self.syn_ack, arrived)) {
            decoder.on_invalid_transition();
        }
        if arrived == Some(Ecn::Ce) {
            decoder.on_ce_syn_ack();
        }
        if decoder.is_mangled() {
            self.fields = Fields::NOT_ECT;
        }
        true
    }

    /// Whether AccECN is in use, with counters and options.
    #[inline]
    pub(super) fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }
    /// An acceptable packet without SYN arrived, with AccECN. Its flags are a counter, except on the
    /// handshake's last ACK. `owes_ack` says whether there is data to acknowledge. Returns true if an ACK
    /// is due at once (RFC 9768 section 3.2.2.5.1): after a number of marks and, with data, after a
    /// change of the IP-ECN field. The RFC requires the latter if CE follows something else; Linux
    /// acknowledges each change.
    pub(super) fn on_packet(
        &mut self,
        segment: &Segment,
        has_counter: bool,
        owes_ack: bool,
    ) -> bool {
        let Some(accurate) = &mut self.accurate else {
            return false;
        };
        if has_counter {
            accurate.on_ace(segment);
        }
        if accurate.decoder.as_ref().is_some_and(Decoder::is_mangled) {
            self.fields = Fields::NOT_ECT;
        }
        let payload = u64::from(segment.payload);
        let is_change = accurate.counters.on_packet(segment.ecn, payload);
        (is_change && payload > 0) || accurate.counters.is_ack_due(owes_ack)
    }
    /// A duplicate of the segment that starts at `start` arrived.
    pub(super) fn on_duplicate(&mut self, start: u64) {
        if let Some(accurate) = &mut self.accurate {
            accurate.counters.on_duplicate(start);
        }
    }

    /// A data segment arrived that is no duplicate. RFC 8257 section 3.2: "If the CE codepoint is set and
    /// DCTCP.CE is false, ... send an immediate ACK", and the same for the opposite change.
    #[inline]
    pub(super) fn on_data(&mut self, ecn: Ecn) -> Demand {
        let is_ce = ecn == Ecn::Ce;
        match self.agreed {
            FeedbackMode::Off | FeedbackMode::Accurate => Demand::None,
            FeedbackMode::Classic => {
                if is_ce && !self.echo {
                    self.echo = true;
                    return Demand::Quick;
                }
                Demand::None
            }
            FeedbackMode::Dctcp => {
                if is_ce == self.echo {
                    return Demand::None;
                }
                let before = self.echo_flags();
                self.echo = is_ce;
                Demand::Change(before)
            }
        }
    }
    /// Whether data of this field is not ECN-capable while other data was (`tcp_data_ecn_check`).
    pub(super) fn lacks_ect(&mut self, ecn: Ecn) -> bool {
        if self.agreed == FeedbackMode::Off {
            return false;
        }
        self.has_seen_ect |= ecn != Ecn::NotEct;
        ecn == Ecn::NotEct && self.has_seen_ect
    }
    /// CWR arrived: the sender has reduced its window.
    pub(super) fn on_window_reduced(&mut self) {
        if self.agreed == FeedbackMode::Classic {
            self.echo = false;
        }
    }
    /// Flags of an ACK that leaves now.
    #[inline]
    pub(super) fn flags(&mut self) -> Flags {
        match &mut self.accurate {
            Some(accurate) => Flags(accurate.counters.ace_flags()),
            None => self.echo_flags(),
        }
    }
    fn echo_flags(&self) -> Flags {
        Flags(if self.echo { Flags::ECE } else { 0 })
    }
    /// Option of an ACK that leaves now with `sacks`, and how many of the SACK blocks fit beside the option.
    pub(super) fn option(
        &mut self,
        sacks: SackRoom,
        duplicate: Option<u64>,
        rtt: Option<Time>,
        now: Time,
    ) -> (AccEcnOption, usize) {
        match &mut self.accurate {
            Some(accurate) => accurate.counters.option(sacks, duplicate, rtt, now),
            None => (AccEcnOption::NONE, sacks.blocks),
        }
    }
}

impl Accurate {
    /// Reads the sender's report of marks on ACKs, unless a later segment arrived before.
    fn on_ace(&mut self, segment: &Segment) {
        let Some(decoder) = &mut self.decoder else {
            return;
        };
        let reported = (segment.timestamp, segment.end());
        if reported < self.latest {
            return;
        }
        self.latest = reported;
        decoder.on_ack(&Ack {
            flags: segment.flags,
            option: &segment.accecn,
            // The sender does not report how many ACKs it has seen, and they have no payload.
            packets: 0,
            bytes: 0,
            mss: 1,
            sent: 0,
            // Enough for any value of the first counter.
            controls: ACE_MASK,
        });
        if decoder.has_seen_option() {
            self.counters.on_option_seen();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::Codepoint;

    fn feedback(ecn: EcnMode) -> Feedback {
        let mut feedback = Feedback::new(&ReceiverConfig::new(ecn));
        feedback.on_syn(&Segment {
            flags: Flags(Flags::SYN | handshake::syn_flags(ecn, 1)),
            ..Segment::default()
        });
        feedback
    }

    #[test]
    fn classic_echo_lasts_until_the_window_was_reduced() {
        let mut feedback = feedback(EcnMode::Classic(Codepoint::Ect0));
        assert_eq!(feedback.on_data(Ecn::Ect0), Demand::None);
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::Quick);
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::None);
        feedback.on_data(Ecn::Ect0);
        assert!(feedback.flags().has(Flags::ECE));
        feedback.on_window_reduced();
        assert_eq!(feedback.flags(), Flags(0));
    }

    #[test]
    fn dctcp_echo_mirrors_each_arrival_and_a_change_is_reported_at_once() {
        let mut feedback = feedback(EcnMode::Dctcp(Codepoint::Ect0));
        assert_eq!(feedback.on_data(Ecn::Ect0), Demand::None);
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::Change(Flags(0)));
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::None);
        feedback.on_window_reduced();
        assert_eq!(
            feedback.on_data(Ecn::Ect0),
            Demand::Change(Flags(Flags::ECE))
        );
        assert_eq!(feedback.flags(), Flags(0));
    }

    #[test]
    fn the_ace_counter_counts_packets_modulo_eight_from_five() {
        let mut feedback = feedback(EcnMode::Accurate(Codepoint::Ect1));
        for n in 0..20 {
            assert_eq!(ace(feedback.flags()), (5 + n) % 8);
            for ecn in [Ecn::Ect1, Ecn::Ce] {
                let segment = Segment {
                    ecn,
                    payload: 1_448,
                    ..Segment::default()
                };
                feedback.on_packet(&segment, true, true);
            }
        }
    }
}
