//! What the receiver says of congestion experienced: RFC 3168 section 6.1.3, RFC 8257 section 3.2
//! (Linux `tcp_dctcp.h`), RFC 9768 section 3.2.2.

use quell_aqm::Ecn;

use crate::config::EcnMode;
use crate::segment::Flags;

/// The ACE counter begins at 5 (RFC 9768 section 3.2.2).
pub(crate) const ACE_START: u64 = 5;

/// What an arrival asks of the acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing.
    None,
    /// A quick-ack phase of two ACKs.
    Quick,
    /// An ACK at once; and before it, if one waits, one for what came before, with these flags.
    Change(Flags),
}

/// The feedback's state.
#[derive(Debug, Clone)]
pub(super) struct Feedback {
    mode: EcnMode,
    /// RFC 3168: CE has come and CWR not since. DCTCP: the last arrival had CE.
    echo: bool,
    /// Packets with CE, from [`ACE_START`].
    ce: u64,
}

impl Feedback {
    pub(super) fn new(mode: EcnMode) -> Self {
        Self {
            mode,
            echo: false,
            ce: ACE_START,
        }
    }
    /// A data segment arrived.
    #[inline]
    pub(super) fn on_data(&mut self, ecn: Ecn) -> Demand {
        let is_ce = ecn == Ecn::Ce;
        match self.mode {
            EcnMode::Off => Demand::None,
            EcnMode::Classic(_) => {
                if is_ce && !self.echo {
                    self.echo = true;
                    return Demand::Quick;
                }
                Demand::None
            }
            EcnMode::Dctcp(_) => {
                if is_ce == self.echo {
                    return Demand::None;
                }
                let before = self.flags();
                self.echo = is_ce;
                Demand::Change(before)
            }
            EcnMode::Accurate(_) => {
                self.ce += u64::from(is_ce);
                Demand::None
            }
        }
    }
    /// The sender says that it has reduced its window.
    pub(super) fn on_window_reduced(&mut self) {
        if matches!(self.mode, EcnMode::Classic(_)) {
            self.echo = false;
        }
    }
    /// The flags of an ACK that leaves now.
    #[inline]
    pub(super) fn flags(&self) -> Flags {
        Flags(match self.mode {
            EcnMode::Accurate(_) => ace_flags(self.ce),
            _ if self.echo => Flags::ECE,
            _ => 0,
        })
    }
}

/// The three low bits of the counter, as flags.
fn ace_flags(count: u64) -> u16 {
    [(1, Flags::ECE), (2, Flags::CWR), (4, Flags::AE)]
        .iter()
        .filter(|(bit, _)| count & bit != 0)
        .map(|(_, flag)| flag)
        .sum()
}

/// The counter's three bits in the flags of an ACK.
pub(crate) fn ace(flags: Flags) -> u64 {
    u64::from(flags.has(Flags::ECE))
        | u64::from(flags.has(Flags::CWR)) << 1
        | u64::from(flags.has(Flags::AE)) << 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Codepoint;

    #[test]
    fn classic_echo_lasts_until_the_window_was_reduced() {
        let mut feedback = Feedback::new(EcnMode::Classic(Codepoint::Ect0));
        assert_eq!(feedback.on_data(Ecn::Ect0), Demand::None);
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::Quick);
        assert_eq!(feedback.on_data(Ecn::Ce), Demand::None);
        feedback.on_data(Ecn::Ect0);
        assert!(feedback.flags().has(Flags::ECE));
        feedback.on_window_reduced();
        assert_eq!(feedback.flags(), Flags(0));
    }

    #[test]
    fn dctcp_echo_mirrors_each_arrival_and_a_change_is_told_at_once() {
        let mut feedback = Feedback::new(EcnMode::Dctcp(Codepoint::Ect0));
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
        let mut feedback = Feedback::new(EcnMode::Accurate(Codepoint::Ect1));
        for n in 0..20 {
            assert_eq!(ace(feedback.flags()), (5 + n) % 8);
            feedback.on_data(Ecn::Ect1);
            feedback.on_data(Ecn::Ce);
        }
    }
}
