//! The sender's part in ECN: RFC 3168 section 6.1.2, RFC 9768; Linux `include/net/tcp_ecn.h`
//! (`tcp_ecn_send_syn`, `tcp_ecn_rcv_synack`), `tcp_output.c` (`tcp_ecn_send`).
//!
//! A sender with AccECN counts marks on the ACKs that it gets, and reports them in its data, or in
//! an ACK of ACKs if it has no data to send.

use quell_units::{Ecn, Time};

use crate::config::SenderConfig;
use crate::ecn::counters::{Counters, SackRoom};
use crate::ecn::decoder::{Ack, Decoder, Marks};
use crate::ecn::handshake;
use crate::ecn::option::AccEcnOption;
use crate::ecn::{AccEcnOptionUse, EcnMode, EctScope};
use crate::ecn::{FeedbackMode, Fields};
use crate::segment::Segment;

/// ECN state of a sender.
#[derive(Debug, Clone)]
pub(super) struct SenderEcn {
    mode: EcnMode,
    scope: EctScope,
    usage: AccEcnOptionUse,
    /// RFC 3168's feedback is not enough for a scalable response: it goes on without ECN (`TCP_CONG_NO_FALLBACK_RFC3168`).
    needs_more: bool,
    pub(super) agreed: FeedbackMode,
    pub(super) fields: Fields,
    /// IP-ECN field of the last SYN.
    syn: Ecn,
    accurate: Option<Box<Accurate>>,
    /// The next new segment carries CWR (`TCP_ECN_QUEUE_CWR`).
    pub(super) queue_cwr: bool,
}

/// State of AccECN.
#[derive(Debug, Clone)]
struct Accurate {
    /// Counters of arrivals; `None` if the other half of a [`Connection`](crate::Connection) counts and reports.
    counters: Option<Counters>,
    decoder: Decoder,
    /// IP-ECN field of the latest SYN-ACK.
    syn_ack: Ecn,
    has_ce_syn_ack: bool,
    /// Number of ECN-capable packets without payload sent.
    controls: u64,
}

impl SenderEcn {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            mode: config.ecn,
            scope: config.ect_scope.unwrap_or(config.ecn.scope()),
            usage: config.accecn_option,
            needs_more: config.congestion_control.kind().scalable
                && matches!(config.ecn, EcnMode::Accurate(_)),
            agreed: FeedbackMode::Off,
            fields: Fields::NOT_ECT,
            syn: Ecn::NotEct,
            accurate: None,
            queue_cwr: false,
        }
    }
    /// Flags and IP-ECN field of the `attempt`th SYN.
    pub(super) fn syn(&mut self, attempt: u32) -> (u16, Ecn) {
        let flags = handshake::syn_flags(self.mode, attempt);
        // Linux clears the flags of a repeated SYN, not the ECT that a control which needs ECN has asked for (`tcp_ecn_clear_syn`); RFC
        // 9768 section 3.1.4.1 advises against it.
        let needs_ecn = self.needs_more || matches!(self.mode, EcnMode::Dctcp(_));
        let is_capable = self.scope == EctScope::Everything && (flags != 0 || needs_ecn);
        self.syn = if is_capable {
            self.mode.codepoint()
        } else {
            Ecn::NotEct
        };
        (flags, self.syn)
    }
    /// The first SYN-ACK decides (RFC 9768 section 3.1.5: "MUST NOT switch into a different feedback
    /// mode"). Returns true if the SYN had arrived with CE.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment) -> bool {
        self.agreed = handshake::confirm(self.mode, segment.flags);
        if self.needs_more && self.agreed == FeedbackMode::Classic {
            self.agreed = FeedbackMode::Off;
        }
        self.fields = Fields::new(self.mode, self.scope, self.agreed);
        if self.agreed != FeedbackMode::Accurate {
            return false;
        }
        let mut counters = Counters::new(self.usage, segment.ecn);
        if segment.accecn.is_present() {
            // "SHOULD include an AccECN Option in the first ACK" and "on the first data segment" (RFC
            // 9768 section 3.2.3.2.1).
            counters.demand(2);
            counters.on_option_seen();
        }
        let mut accurate = Box::new(Accurate {
            counters: Some(counters),
            decoder: Decoder::new(),
            syn_ack: segment.ecn,
            has_ce_syn_ack: false,
            controls: 0,
        });
        accurate.on_syn_ack(segment.ecn);
        accurate.decoder.on_first_option(&segment.accecn);
        // The reserved 101 does not echo the SYN (section 3.1.3).
        let arrived = handshake::echoed(segment.flags);
        if arrived.is_some_and(|arrived| !handshake::is_valid(self.syn, arrived)) {
            accurate.decoder.on_invalid_transition();
        }
        self.accurate = Some(accurate);
        self.disable_if_mangled();
        arrived == Some(Ecn::Ce)
    }
    /// The SYN-ACK arrived again: its flags no longer count, but its IP-ECN field and its option do. Returns
    /// true if it has CE for the first time.
    pub(super) fn on_repeated_syn_ack(&mut self, segment: &Segment) -> bool {
        self.accurate.as_mut().is_some_and(|accurate| {
            accurate.decoder.on_first_option(&segment.accecn);
            accurate.heed_decoder();
            accurate.on_syn_ack(segment.ecn)
        })
    }
    /// Whether an option has arrived, with which the counters of this end leave too.
    #[inline]
    pub(super) fn has_seen_option(&self) -> bool {
        let accurate = self.accurate.as_ref();
        accurate.is_some_and(|accurate| accurate.decoder.has_seen_option())
    }
    /// Flags of the ACK of the SYN-ACK.
    pub(super) fn handshake_flags(&self) -> u16 {
        self.accurate
            .as_ref()
            .map_or(0, |accurate| handshake::echo(accurate.syn_ack))
    }

    /// A segment without SYN arrived.
    #[inline]
    pub(super) fn on_arrival(&mut self, segment: &Segment) {
        if let Some(counters) = self.counters() {
            counters.on_packet(segment.ecn, segment.payload.into());
        }
    }
    /// Returns the marks that an ACK reports, which no other ACK has superseded.
    pub(super) fn decode(&mut self, segment: &Segment, delivered: Delivered) -> Marks {
        let Some(accurate) = &mut self.accurate else {
            return Marks::default();
        };
        let marks = accurate.decoder.on_ack(&Ack {
            flags: segment.flags,
            option: &segment.accecn,
            packets: delivered.packets,
            bytes: delivered.bytes,
            mss: delivered.mss,
            sent: delivered.sent,
            controls: accurate.controls,
        });
        accurate.heed_decoder();
        self.disable_if_mangled();
        marks
    }
    fn disable_if_mangled(&mut self) {
        let is_mangled = |accurate: &Accurate| accurate.decoder.is_mangled();
        if self.accurate.as_deref().is_some_and(is_mangled) {
            self.fields = Fields::NOT_ECT;
        }
    }

    /// Whether AccECN is in use, with counters and options of this half.
    #[inline]
    pub(super) fn is_accurate(&self) -> bool {
        self.accurate
            .as_ref()
            .is_some_and(|accurate| accurate.counters.is_some())
    }
    fn counters(&mut self) -> Option<&mut Counters> {
        self.accurate.as_mut()?.counters.as_mut()
    }
    /// The ACE field of a segment that leaves; zero without AccECN.
    #[cold]
    pub(super) fn ace_flags(&mut self) -> u16 {
        self.counters().map_or(0, Counters::ace_flags)
    }
    /// Whether an ACK of ACKs is due.
    #[inline]
    pub(super) fn owes_ack(&self) -> bool {
        let counters = self.accurate.as_ref().and_then(|a| a.counters.as_ref());
        counters.is_some_and(|counters| counters.is_ack_due(false))
    }
    /// The option of a segment that leaves now.
    #[cold]
    pub(super) fn option(&mut self, rtt: Option<Time>, now: Time) -> AccEcnOption {
        match self.counters() {
            Some(counters) => counters.option(SackRoom::NO_BLOCKS, None, rtt, now).0,
            None => AccEcnOption::NONE,
        }
    }
    /// Payload of a full segment that leaves now; `mss` is the payload of a segment without option.
    #[cold]
    pub(super) fn full_payload(&self, mss: u32, rtt: Option<Time>, now: Time) -> u32 {
        match self.accurate.as_ref().and_then(|a| a.counters.as_ref()) {
            None => mss,
            Some(counters) => {
                let room = counters.room_for_options(SackRoom::NO_BLOCKS, rtt, now);
                mss.saturating_sub(room).max(1)
            }
        }
    }
    /// The other half of the connection counts and reports arrivals from now on.
    pub(super) fn take_counters(&mut self) -> Option<Counters> {
        self.accurate.as_mut()?.counters.take()
    }
    /// The other half has agreed on this as the server, and `decoder` has read the first report.
    pub(super) fn accept(&mut self, agreed: FeedbackMode, decoder: Option<Decoder>) {
        self.agreed = agreed;
        self.fields = Fields::new(self.mode, self.scope, agreed);
        self.accurate = decoder.map(|decoder| {
            Box::new(Accurate {
                counters: None,
                decoder,
                syn_ack: Ecn::NotEct,
                has_ce_syn_ack: false,
                controls: 0,
            })
        });
        self.disable_if_mangled();
    }

    /// An ACK without payload left.
    pub(super) fn on_control_sent(&mut self) {
        if self.fields.others.is_capable()
            && let Some(accurate) = &mut self.accurate
        {
            accurate.controls += 1;
        }
    }
}

impl Accurate {
    /// Options leave once one has arrived.
    fn heed_decoder(&mut self) {
        if let Some(counters) = &mut self.counters
            && self.decoder.has_seen_option()
        {
            counters.on_option_seen();
        }
    }
    fn on_syn_ack(&mut self, ecn: Ecn) -> bool {
        self.syn_ack = ecn;
        // "no more than once no matter how many CE-marked SYN/ACKs it receives" (section 3.2.2.2).
        if ecn == Ecn::Ce && !self.has_ce_syn_ack {
            self.has_ce_syn_ack = true;
            if let Some(counters) = &mut self.counters {
                counters.on_ce_syn_ack();
            }
            return true;
        }
        false
    }
}

/// The deliveries of an ACK, and the number of bytes sent so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivered {
    pub(super) packets: u32,
    pub(super) bytes: u64,
    pub(super) mss: u32,
    pub(super) sent: u64,
}
