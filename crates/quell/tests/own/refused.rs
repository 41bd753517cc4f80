//! What cannot be registered.

use quell_aqm::disciplines;
use quell_aqm::own::{OwnKind, OwnQueue};
use quell_aqm::{Packet, Qdisc};
use quell_tcp::cc;
use quell_units::{Origin, OriginError};

use crate::own::blue::Blue;
use crate::own::gaimd::Gaimd;

const ORIGIN: Origin = Origin {
    package: "a test",
    version: "1",
};

/// Nothing of this is registered, so that other tests of this process can.
#[test]
fn a_taken_name_is_refused() {
    let mut fifo = OwnKind::of::<Blue>(ORIGIN);
    fifo.entry.name = "fifo";
    assert_eq!(
        disciplines::register(vec![fifo]),
        Err(OriginError::Taken("fifo"))
    );
    let blue = OwnKind::of::<Blue>(ORIGIN);
    assert_eq!(
        disciplines::register(vec![blue, blue]),
        Err(OriginError::Taken("blue"))
    );
    let mut reno = cc::own::OwnKind::of::<Gaimd>(ORIGIN);
    for (name, kernel) in [("reno", None), ("gaimd", Some("cubic"))] {
        reno.kind.name = name;
        reno.kind.kernel = kernel;
        assert_eq!(cc::own::register(vec![reno]), Err(OriginError::Taken(name)));
    }
}

/// A queue that forgets what it accepts.
#[test]
fn a_queue_that_loses_a_packet_ends_the_run() {
    use quell_aqm::kind::{Entry, QueueKind};
    use quell_aqm::own::Handle;
    use quell_aqm::qdisc::{Backlog, Gauge, Link};
    use quell_aqm::test_cases::{TestCases, Tested};
    use quell_aqm::{Bytes, Observer, ParameterError, Random, Rate, Settings, Time};
    use quell_laws::queue::{Subject, ledger::TestPacket};

    #[derive(Debug)]
    struct Forgetful;
    impl QueueKind for Forgetful {
        const ENTRY: Entry = Entry {
            name: "forgetful",
            summary: "Loses everything.",
            source: "a test",
            parameters: &[],
        };
    }
    impl Tested for Forgetful {
        const TEST_CASES: TestCases = <crate::own::blue::BlueController as Tested>::TEST_CASES;
    }
    impl Qdisc<Handle> for Forgetful {
        fn queues(&self) -> &'static [&'static str] {
            &["queue"]
        }
        fn enqueue(&mut self, _: Handle, _: Time, _: &mut impl Observer<Handle>) {}
        fn dequeue(&mut self, _: Time, _: &mut impl Observer<Handle>) -> Option<Handle> {
            None
        }
        fn configure(
            &mut self,
            _: &str,
            _: &str,
            _: Time,
            _: &mut dyn Observer<Handle>,
        ) -> Result<(), ParameterError> {
            Ok(())
        }
        fn drain(&mut self, _: Time, _: &mut dyn Observer<Handle>) {}
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
        fn status(&self, _: Time, _: &mut dyn FnMut(&'static str, Gauge)) {}
    }
    impl OwnQueue for Forgetful {
        fn create(_: Settings, _: Link, _: Random) -> Result<Self, ParameterError> {
            Ok(Self)
        }
    }

    struct Nobody;
    impl Observer<TestPacket> for Nobody {
        fn dropped(&mut self, _: TestPacket, _: quell_aqm::Drop, _: Time) {}
    }

    let ended = std::panic::catch_unwind(|| {
        let subject = Subject::of::<Forgetful>();
        let mut queue = subject.discipline(&[], Rate::from_mbps(10)).unwrap();
        let packet = TestPacket::new(0, 0, 1_500, quell_aqm::Ecn::NotEct);
        assert_eq!(packet.len(), Bytes::new(1_500));
        queue.enqueue(packet, Time::ZERO, &mut Nobody);
        queue.dequeue(Time::ZERO, &mut Nobody)
    });
    let why = ended.unwrap_err();
    let why = why.downcast_ref::<String>().unwrap();
    assert!(why.contains("forgetful has lost 1 packets"), "{why}");
}
