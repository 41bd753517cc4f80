use std::collections::BTreeSet;

use proptest::prelude::*;
use quell_units::Time;

use super::*;
use crate::sweep::Key;

const SCENARIO: &str = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = { kind = \"pie\", target = \"9ms\" }\n\
    [[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n[[group]]\nname = \"b\"\nrtt = \"20ms\"\napp = \"bulk\"\n\
    [run]\nduration = \"100ms\"\nseeds = [4, 2]\n";

/// Plans the sweep file that is the scenario's name and `rest`.
fn plan(rest: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.toml"), SCENARIO).unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, format!("schema = 1\nscenario = \"t.toml\"\n{rest}")).unwrap();
    let plan = Plan::read(&file, None, &GuestOptions::default());
    let folder = format!("{}/", folder.path().display());
    plan.map_err(|error| error.to_string().replace(&folder, ""))
}

fn described(plan: &Plan) -> Vec<String> {
    let cells = plan.cells.iter();
    let cell = cells.map(|cell| {
        let point = plan.describe(&plan.points[cell.point as usize]);
        format!("{point} {}", cell.seed)
    });
    cell.collect()
}

#[test]
fn cells_are_in_the_order_of_the_file_with_the_seeds_innermost() {
    let plan = plan(
        "[axis]\n\"link.rate\" = [\"4mbit\", \"8mbit\"]\n\"group.*.rtt\" = [\"5ms\", \"9ms\"]\n\
         [[constraint]]\nskip = { \"link.rate\" = \"8000kbit\", \"group.*.rtt\" = [\"5ms\"] }\n\
         [[experiment]]\nname = \"e\"\nset = { \"link.queue\" = \"fifo\" }\nseeds = [7]\n",
    )
    .unwrap();
    assert_eq!(
        described(&plan),
        [
            "link.rate=4mbit group.*.rtt=5ms 4",
            "link.rate=4mbit group.*.rtt=5ms 2",
            "link.rate=4mbit group.*.rtt=9ms 4",
            "link.rate=4mbit group.*.rtt=9ms 2",
            "link.rate=8mbit group.*.rtt=9ms 4",
            "link.rate=8mbit group.*.rtt=9ms 2",
            "e link.queue=fifo 7",
        ]
    );
    let (loaded, _) = plan.scenario(&plan.cells[4]).unwrap();
    assert!(
        loaded
            .scenario
            .groups
            .iter()
            .all(|group| group.rtt == Time::from_millis(9))
    );
    assert_eq!(loaded.scenario.run.seeds, [4]);
    let canonical = plan.canonical(&plan.cells[4], &loaded.scenario);
    assert_eq!(Key::of(&canonical), plan.cells[4].key);
}

#[test]
fn a_queue_of_the_files_kind_keeps_the_files_parameters() {
    let plan = plan(
        "[axis]\nlink.queue = [\"pie\", \"fifo\", { kind = \"pie\", target = \"3ms\" }, \"codel:target=2ms\"]\n",
    );
    let plan = plan.unwrap();
    let scenarios = plan
        .cells
        .iter()
        .step_by(2)
        .map(|cell| plan.scenario(cell).unwrap().0.scenario);
    let targets = scenarios.map(|scenario| {
        let queue = &scenario.links[0].forward.queue;
        (
            queue.kind,
            queue
                .settings
                .value("target")
                .map(|value| value.to_string()),
        )
    });
    let of = |text: &str| Some(text.to_owned());
    assert_eq!(
        targets.collect::<Vec<_>>(),
        [
            ("pie", of("9ms")),
            ("fifo", None),
            ("pie", of("3ms")),
            ("codel", of("2ms"))
        ]
    );
}

#[test]
fn what_means_the_same_is_the_same_cell() {
    let keys = |rest: &str| {
        plan(rest)
            .unwrap()
            .cells
            .iter()
            .map(|cell| cell.key)
            .collect::<Vec<_>>()
    };
    let plain = keys("[axis]\n\"link.rate\" = [\"40mbit\"]\n");
    assert_eq!(plain, keys("[axis]\n\"link.rate\" = [\"40000kbit\"]\n"));
    assert_eq!(
        plain,
        keys("[[experiment]]\nname = \"x\"\nset = { link.rate = \"40mbit\" }\n")
    );
    assert_eq!(
        plain,
        keys("set = { link.rate = \"40mbit\" }\n[axis]\n\"link.queue\" = [\"pie\"]\n")
    );
    assert_ne!(plain, keys("[axis]\n\"link.rate\" = [\"41mbit\"]\n"));
}

#[test]
fn a_refused_cell_names_the_line_of_the_axis_and_the_points_that_have_it() {
    let error = |rest: &str| plan(rest).map(|plan| plan.len()).unwrap_err();
    let text = error("[axis]\n\"link.rates\" = [\"4mbit\"]\n");
    assert!(
        text.starts_with(
            "the sweep has 1 error\ns.toml:4: link.rates = 4mbit: unknown key (did you mean rate?)"
        ),
        "{text}"
    );
    let text =
        error("[axis]\n\"link.rate\" = [\n\"4mbit\",\n\"fast\",\n]\n\"group.a.count\" = [1, 2]\n");
    assert!(
        text.contains("\ns.toml:6: link.rate = fast: must be a rate"),
        "{text}"
    );
    assert!(
        text.ends_with("\n  in 2 of 4 points, such as link.rate=fast group.a.count=1"),
        "{text}"
    );
    let text = error("[axis]\n\"group.c.rtt\" = [\"4ms\"]\n");
    assert!(
        text.contains("s.toml:4: group.c.rtt: there is no group c"),
        "{text}"
    );
    let text = error("[axis]\n\"link.queue\" = [\"pie:target\"]\n");
    assert!(
        text.contains(
            "s.toml:4: link.queue = \"pie:target\": must be NAME or NAME:PARAMETER=VALUE"
        ),
        "{text}"
    );
    let text = error("[axis]\n\"run.duration\" = [\"1ns\"]\n");
    assert!(text.contains("s.toml:4: run.duration = "), "{text}");
    let text = error(
        "[axis]\n\"group.a.count\" = { from = 1, to = 3, steps = 9 }\n[[constraint]]\nskip = { \"group.a.count\" = 7 }\n",
    );
    assert!(
        text.contains("s.toml:6: constraint.skip.group.a.count = 7: is no value of the axis"),
        "{text}"
    );
    let text = error(
        "[axis]\n\"group.a.count\" = [1]\n[[constraint]]\nskip = { \"group.a.count\" = 1 }\n",
    );
    assert!(text.contains("the constraints skip every point"), "{text}");
    let many = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let axes: String = [
        "a.count",
        "b.count",
        "a.initial-window",
        "b.initial-window",
        "a.mss",
        "b.mss",
        "a.start",
    ]
    .map(|key| format!("\"group.{key}\" = {many}\n"))
    .concat();
    assert!(error(&format!("[axis]\n{axes}")).contains("10000000 cells are more than 1000000"));
    let missing =
        Plan::read(Path::new("/nowhere/s.toml"), None, &GuestOptions::default()).unwrap_err();
    assert_eq!(missing.exit_code(), 2);
    let text = error("scenario = 3\n");
    assert!(text.contains("s.toml:3"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the axes: a grid has every combination once, each with every seed and a name of its own.
    #[test]
    fn a_grid_is_every_combination(
        rates in prop::collection::btree_set(1_u32..400, 1..4),
        steps in 2_u64..6,
        counts in prop::collection::btree_set(1_u32..5, 1..3),
        seeds in prop::collection::btree_set(0_u64..1_000, 1..4),
    ) {
        let list = |values: Vec<String>| format!("[{}]", values.join(", "));
        let text = format!(
            "seeds = {}\n[axis]\n\"link.rate\" = {}\n\"group.a.rtt\" = {{ log = [\"5ms\", \"90ms\"], steps = {steps} }}\n\"group.b.count\" = {}\n",
            list(seeds.iter().map(ToString::to_string).collect()),
            list(rates.iter().map(|rate| format!("\"{rate}mbit\"")).collect()),
            list(counts.iter().map(ToString::to_string).collect()),
        );
        let plan = plan(&text).unwrap();
        let points = rates.len() * steps as usize * counts.len();
        prop_assert_eq!((plan.points.len(), plan.len()), (points, points * seeds.len()));
        let names: BTreeSet<Key> = plan.cells.iter().map(|cell| cell.key).collect();
        prop_assert_eq!(names.len(), plan.len());
        let words: BTreeSet<String> = described(&plan).into_iter().collect();
        prop_assert_eq!(words.len(), plan.len());
        for cells in plan.cells.chunks(seeds.len()) {
            let own: Vec<u64> = cells.iter().map(|cell| cell.seed).collect();
            prop_assert_eq!(&own, &seeds.iter().copied().collect::<Vec<_>>());
        }
    }

    /// Drawn values lie between the ends, and do not depend on the other axes.
    #[test]
    fn draws_stay_within_their_range(cells in 1_u64..60, seed in 1_u64..u64::MAX, lhs in any::<bool>()) {
        let method = if lhs { "lhs" } else { "random" };
        let text = |more: &str| format!(
            "method = \"{method}\"\ncells = {cells}\nseed = {seed}\nseeds = [1]\n[axis]\n\"link.rate\" = {{ log = [\"1mbit\", \"100mbit\"] }}\n{more}"
        );
        let rates = |plan: &Plan| {
            let cells = plan.cells.iter().map(|cell| plan.scenario(cell).unwrap().0.scenario);
            cells.map(|scenario| scenario.links[0].forward.rate.as_bps()).collect::<Vec<_>>()
        };
        let alone = plan(&text("")).unwrap();
        prop_assert_eq!(alone.len() as u64, cells);
        prop_assert!(rates(&alone).iter().all(|rate| (1_000_000..=100_000_000).contains(rate)));
        let beside = plan(&text("\"group.a.count\" = [1, 2, 3]\n")).unwrap();
        prop_assert_eq!(rates(&alone), rates(&beside));
    }

    /// Any text is planned or refused.
    #[test]
    fn no_text_panics(text in "[a-z0-9=\\[\\]{}\"., \n]{0,200}") {
        let _ = plan(&text);
    }
}

/// Four queues at three rates and three RTTs without one corner, and an experiment: 33 points with three seeds.
#[test]
fn the_sweep_that_ships_is_right() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/sweeps/queues.toml"
    );
    let plan = Plan::read(Path::new(file), None, &GuestOptions::default()).unwrap();
    assert_eq!((plan.points.len(), plan.len()), (33, 99));
}
