//! What the tests of ECN share: the three flags as a number, and a path that notes and alters.

use std::cell::RefCell;
use std::rc::Rc;

use quell_tcp::{Codepoint, EcnMode, EctScope, Flags, ReceiverConfig, Segment, SenderConfig};

use super::{Fate, Path, Script, config, ms};

pub(crate) const MSS: u64 = 1_448;
pub(crate) const OFF: EcnMode = EcnMode::Off;
pub(crate) const CLASSIC: EcnMode = EcnMode::Classic(Codepoint::Ect0);
pub(crate) const DCTCP: EcnMode = EcnMode::Dctcp(Codepoint::Ect0);
pub(crate) const ACCURATE: EcnMode = EcnMode::Accurate(Codepoint::Ect1);

/// AE, CWR and ECE as a number.
pub(crate) fn ace(segment: &Segment) -> u16 {
    let bit = |flag, value| if segment.flags.has(flag) { value } else { 0 };
    bit(Flags::AE, 4) + bit(Flags::CWR, 2) + bit(Flags::ECE, 1)
}
pub(crate) fn set_ace(segment: &mut Segment, value: u16) {
    let all = Flags::AE | Flags::CWR | Flags::ECE;
    let bit = |bit, flag| if value & bit != 0 { flag } else { 0 };
    let flags = bit(4, Flags::AE) | bit(2, Flags::CWR) | bit(1, Flags::ECE);
    segment.flags.0 = segment.flags.0 & !all | flags;
}
pub(crate) fn is_syn(segment: &Segment) -> bool {
    segment.flags.has(Flags::SYN)
}

/// What travelled, as it was sent: whether forward, and the segment.
pub(crate) type Log = Rc<RefCell<Vec<(bool, Segment)>>>;

/// A path whose segments are noted and then altered by `meddle`.
pub(crate) fn noted<'a>(
    sender: &SenderConfig,
    receiver: &ReceiverConfig,
    mut meddle: impl FnMut(&mut Segment, bool) + 'a,
) -> (Path<'a>, Log) {
    let log = Log::default();
    let notes = Rc::clone(&log);
    let mut path = Path::with_receiver(sender, receiver, ms(100));
    path.meddler = Box::new(move |segment, is_forward| {
        notes.borrow_mut().push((is_forward, *segment));
        meddle(segment, is_forward);
    });
    (path, log)
}
pub(crate) fn sender(name: &str, ecn: EcnMode, scope: EctScope) -> SenderConfig {
    SenderConfig {
        ecn,
        ect_scope: Some(scope),
        ..config(name)
    }
}
pub(crate) fn receiver(ecn: EcnMode, scope: EctScope) -> ReceiverConfig {
    ReceiverConfig {
        ect_scope: Some(scope),
        ..ReceiverConfig::new(ecn)
    }
}
pub(crate) fn forward(log: &Log) -> Vec<Segment> {
    let log = log.borrow();
    log.iter()
        .filter(|(is_forward, _)| *is_forward)
        .map(|(_, s)| *s)
        .collect()
}
pub(crate) fn backward(log: &Log) -> Vec<Segment> {
    let log = log.borrow();
    log.iter()
        .filter(|(is_forward, _)| !is_forward)
        .map(|(_, s)| *s)
        .collect()
}

/// Marks of a transfer as they happened: packets and payload bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// Counts what a script marks.
pub(crate) fn count_marks<'a>(
    truth: &Rc<RefCell<Truth>>,
    mut is_marked: impl FnMut(u64) -> bool + 'a,
) -> Script<'a> {
    let truth = Rc::clone(truth);
    Box::new(move |segment, n, _| {
        if !segment.ecn.is_capable() || !is_marked(n) {
            return Fate::Pass;
        }
        let mut truth = truth.borrow_mut();
        truth.packets += 1;
        truth.bytes += u64::from(segment.payload);
        Fate::Mark
    })
}
