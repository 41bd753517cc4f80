//! Once the window has reached its size, nothing is allocated, in loss recovery neither.

use crate::common;

use common::{Fate, Path, config, ms, window};
use quell_tcp::cc::KINDS;
use quell_units::{Probability, Random, Time};

#[test]
fn a_connection_in_steady_state_allocates_nothing() {
    for kind in KINDS {
        let name = kind.name;
        let config = config(name);
        let mut path = Path::with_receiver(&config, &window(300_000, config.ecn), ms(20));
        let mut random = Random::new(1, "loss");
        let p = Probability::ratio(1, 1_000);
        path.forward = Box::new(move |_, _, now| match now.as_nanos() % 5_000_000_000 {
            // Every five seconds everything is lost for a while.
            0..500_000_000 => Fate::Drop,
            _ if random.chance(p) => Fate::Drop,
            _ => Fate::Pass,
        });
        path.now = ms(1_000);
        path.start();
        // Compound allocates for the last time between 510 and 520 s.
        path.run_until(Time::from_secs(600));
        let before = path.sender.stats();
        let allocated = allocation_counter::measure(|| path.run_until(Time::from_secs(720)));
        let after = path.sender.stats();
        assert!(after.retransmitted > before.retransmitted + 20);
        assert!(after.rto_count > before.rto_count);
        assert_eq!(allocated.count_total, 0, "{name}");
    }
}
