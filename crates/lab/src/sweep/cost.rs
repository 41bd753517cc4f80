//! What cells cost: in packets, for the order in which they run and for shards, and in time, for an estimate.

use std::num::NonZeroUsize;
use std::time::Duration;

use quell_scenario::{Direction, Scenario, World};

use super::cell::Cell;

/// Packets that a core simulates in a second, and what a cell takes besides (`docs/evidence/speed.md`).
const SIMULATED: (f64, f64) = (3e6, 0.002);
/// The same of a guest. Between 38 000 packets a second (800 Mbit/s, drop-tail) and 110 000 (1 Gbit/s, VDQ-CSAQM) in the runs of
/// `docs/evidence/reproduce-virtual.md`; half a second for the kernel's start and end.
const VIRTUAL: (f64, f64) = (5e4, 0.5);
/// Seconds that a live cell takes besides its run.
const LIVE: f64 = 2.0;

/// Packets of full size that the links could carry in the time, where there is anything to carry, and a little for the run itself.
pub(super) fn cost(scenario: &Scenario) -> u64 {
    let bits = |direction: Direction| {
        let used = scenario
            .groups
            .iter()
            .any(|group| group.direction == direction);
        let side = scenario.links[0].direction(direction);
        let rate = if side.rate.is_unlimited() || !used {
            0
        } else {
            side.rate.as_bps()
        };
        u128::from(rate) * u128::from(scenario.run.duration.as_nanos()) / 1_000_000_000
    };
    let packets = (bits(Direction::Forward) + bits(Direction::Reverse)) / 12_000;
    u64::try_from(packets)
        .unwrap_or(u64::MAX >> 32)
        .min(u64::MAX >> 24)
        + 1_000
}

/// About how long `cells` take in `world`, `jobs` of them in parallel.
pub(super) fn estimate<'a>(
    world: World,
    cells: impl Iterator<Item = &'a Cell>,
    jobs: NonZeroUsize,
) -> Duration {
    let of_packets =
        |(per_second, besides): (f64, f64), cell: &Cell| cell.cost as f64 / per_second + besides;
    let seconds = |cell: &Cell| match world {
        World::Sim => of_packets(SIMULATED, cell),
        World::Virtual => of_packets(VIRTUAL, cell),
        World::Live => cell.duration.as_nanos() as f64 / 1e9 + LIVE,
    };
    let all: f64 = cells.map(seconds).sum();
    let parallel = match world {
        World::Live => 1,
        World::Sim | World::Virtual => jobs.get(),
    };
    Duration::try_from_secs_f64(all / parallel as f64).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use quell_units::Time;

    use super::super::identity::Key;
    use super::*;

    #[test]
    fn time_follows_the_packets_in_a_simulated_clock_and_the_duration_in_the_real_one() {
        let cell = Cell {
            point: 0,
            seed: 1,
            key: Key::of("a cell"),
            cost: 1_500_000,
            duration: Time::from_secs(450),
        };
        let cells = [cell; 4];
        let seconds = |world, jobs| {
            let jobs = NonZeroUsize::new(jobs).unwrap();
            estimate(world, cells.iter(), jobs).as_secs_f64()
        };
        for (world, jobs, expected) in [
            (World::Sim, 1, 2.008),
            (World::Sim, 2, 1.004),
            (World::Virtual, 1, 122.0),
            (World::Virtual, 2, 61.0),
            (World::Live, 1, 1_808.0),
            (World::Live, 2, 1_808.0),
        ] {
            let is = seconds(world, jobs);
            assert!((is - expected).abs() < 1e-6, "{world:?} {jobs}: {is}");
        }
    }

    #[test]
    fn a_cell_costs_what_the_link_could_carry_one_way() {
        let text = |app: &str, duration: &str| {
            format!(
                "schema = 1\nname = \"a\"\n[link]\nrate = \"12mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"g\"\ncongestion-control = \"cubic\"\nrtt = \"10ms\"\napp = {app}\n[run]\nduration = \"{duration}\"\n"
            )
        };
        let of = |text: &str| {
            let loaded = Scenario::load("a.toml", text, &[], Some(World::Sim));
            cost(&loaded.unwrap().scenario)
        };
        let bulk = "{ kind = \"bulk\" }";
        // 1000 packets of 1500 bytes a second, one way.
        assert_eq!(of(&text(bulk, "10s")), 11_000);
        assert_eq!(of(&text(bulk, "20s")), 21_000);
    }
}
