use super::*;

const HEAD: &str = "schema = 1\nscenario = \"a.toml\"\n";

fn problems(text: &str) -> Vec<String> {
    match read("s.toml", text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.all().iter().map(ToString::to_string).collect(),
    }
}

/// The only problem of HEAD with this behind it.
fn problem(rest: &str) -> String {
    let all = problems(&format!("{HEAD}{rest}"));
    assert_eq!(all.len(), 1, "{rest}: {all:?}");
    all[0].clone()
}

#[test]
fn every_kind_of_axis_is_read_whichever_way_its_key_is_written() {
    let text = format!(
        "{HEAD}set = {{ \"run.duration\" = \"1s\" }}\n[axis]\nlink.rate = [\"4mbit\", \"40mbit\"]\n\"group.a.rtt\" = {{ log = [\"5ms\", \"100ms\"], steps = 5 }}\n\
         \"group.a.count\" = {{ from = 1, to = 9, steps = 3 }}\n\"link.queue\" = [\"pie\", \"dualpi2:target=5ms\", {{ kind = \"pie\", target = \"9ms\" }}]\n\
         \"group.a.congestion-control\" = [\"cubic\", {{ name = \"cubic\", beta = 0.8 }}]\n"
    );
    let file = read("s.toml", &text).unwrap();
    let axes = file.axes.unwrap();
    let keys: Vec<&str> = axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "link.rate",
            "group.a.rtt",
            "group.a.count",
            "link.queue",
            "group.a.congestion-control"
        ]
    );
    let texts = |axis: &Axis| match &axis.values {
        Values::List(nodes) => nodes.iter().map(super::text).collect(),
        other => vec![format!("{other:?}")],
    };
    assert_eq!(
        texts(&axes[3]),
        ["pie", "dualpi2:target=5ms", "pie:target=9ms"]
    );
    assert_eq!(texts(&axes[4]), ["cubic", "cubic:beta=0.8"]);
    assert!(
        matches!(&axes[1].values, Values::Steps(range, 5) if range.scale == Scale::Logarithmic)
    );
    assert_eq!(file.set[0].0, "run.duration");
}

#[test]
fn experiments_stand_beside_a_grid_or_alone() {
    let one = "[[experiment]]\nname = \"one\"\nset = { \"link.rate\" = \"4mbit\", \"link.queue\" = { kind = \"pie\", target = \"5ms\" } }\nseeds = [3]\n";
    let file = read("s.toml", &format!("{HEAD}{one}")).unwrap();
    assert!(file.axes.is_none());
    let experiment = &file.experiments[0];
    assert_eq!(
        (experiment.set.len(), experiment.seeds.as_deref()),
        (2, Some(&[3][..]))
    );
    assert!(read("s.toml", &format!("{HEAD}[axis]\nx = [1]\n{one}")).is_ok());
    let no_scenario = format!("schema = 1\n{one}");
    assert!(problems(&no_scenario)[0].contains("experiment.1.scenario: is missing"));
    let own = no_scenario.replace("seeds", "scenario = \"b.toml\"\nseeds");
    assert!(read("s.toml", &own).is_ok());
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_fix() {
    for (rest, expected) in [
        (
            "axes = 1\n[axis]\nx = [1]\n",
            "s.toml:3: axes = 1: unknown key (did you mean axis?); known are",
        ),
        (
            "[axis]\nx = []\n",
            "s.toml:4: x = []: must have from 1 to 100000 values",
        ),
        ("[axis]\n", "s.toml:3: axis: has no keys; give at least one"),
        ("[axis]\nx = 5\n", "s.toml:4: x = 5: must be a list, "),
        ("[axis]\nx = [1, 2, 1]\n", "s.toml:4: x: 1 is there twice"),
        (
            "[axis]\nx = { from = 1, to = 2 }\n",
            "s.toml:4: x.steps: is missing; a grid needs",
        ),
        (
            "[axis]\nx = { from = 1, steps = 2 }\n",
            "s.toml:4: x: needs from and to, or log",
        ),
        (
            "[axis]\nx = { log = [1], steps = 2 }\n",
            "s.toml:4: x.log = [1]: must be [FIRST, LAST]",
        ),
        (
            "[axis]\nx = { log = [0, 5], steps = 2 }\n",
            "s.toml:4: x: must go from one number to another of the same unit, both above 0",
        ),
        (
            "[axis]\nx = { from = \"1ms\", to = \"1mbit\", steps = 2 }\n",
            "such as 5ms and 100ms; found \"1ms\" and \"1mbit\"",
        ),
        (
            "[axis]\nx = { from = 1, to = 9, steps = 1 }\n",
            "s.toml:4: x.steps = 1: must be at least 2",
        ),
        (
            "[axis]\nx = { from = 1, to = 9, steps = 3, stepps = 1 }\n",
            "unknown key (did you mean steps?)",
        ),
        ("[axis]\n\"run.seeds\" = [[1], [2]]\n", "seeds are no axis"),
        (
            "seeds = []\n[axis]\nx = [1]\n",
            "s.toml:3: seeds = []: must be a list of different whole numbers",
        ),
        (
            "seeds = [1, 1]\n[axis]\nx = [1]\n",
            "s.toml:3: seeds = [1, 1]: must be",
        ),
        (
            "seeds = { from = 18446744073709551615, count = 5 }\n[axis]\nx = [1]\n",
            "s.toml:3: seeds: must be",
        ),
        (
            "method = \"sobol\"\n[axis]\nx = [1]\n",
            "s.toml:3: method = \"sobol\": must be \"grid\", \"random\" or \"lhs\"",
        ),
        (
            "method = \"lhs\"\n[axis]\nx = [1]\n",
            "s.toml:1: cells: is missing; method = \"lhs\" needs a number",
        ),
        (
            "cells = 5\n[axis]\nx = [1]\n",
            "s.toml:3: cells = 5: has an effect only with method",
        ),
        (
            "world = \"moon\"\n[axis]\nx = [1]\n",
            "s.toml:3: world = \"moon\": must be \"sim\"",
        ),
        (
            "[axis]\nx = [1]\n[[constraint]]\nskip = { y = 1 }\n",
            "constraint.1.skip.y: is no axis; axes are x",
        ),
        (
            "[axis]\nx = [1]\n[[constraint]]\n",
            "constraint.1: needs skip = ",
        ),
        (
            "[[experiment]]\nset = {}\n",
            "s.toml:3: experiment.1.name: is missing",
        ),
        (
            "[[experiment]]\nname = \"a\"\n[[experiment]]\nname = \"a\"\n",
            "another experiment is called a",
        ),
        (
            "[axis]\nx = [1]\n[objective]\n",
            "s.toml:5: objective: needs minimise or maximise",
        ),
        (
            "[axis]\nx = [1]\n[objective]\nminimise = [\"a\"]\nwithin = [\"z\"]\n",
            "z is no axis; axes are x",
        ),
        ("", "s.toml:1: axis: is missing; give a table of keys"),
    ] {
        let found = problem(rest);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
    assert!(
        problems("scenario = \"a\"\n[axis]\nx = [1]\n")[0]
            .contains("schema: is missing; must be 1")
    );
    assert!(
        problems("schema = 2\nscenario = \"a\"\n[axis]\nx = [1]\n")[0]
            .contains("schema = 2: must be 1")
    );
    assert!(problems("schema = 1\n[axis]\nx = [1]\n")[0].contains("scenario: is missing"));
    assert!(problems("schema = = 1")[0].contains("this is not TOML"));
}

#[test]
fn hostile_files_are_refused_in_little_time() {
    for text in [
        format!(
            "{HEAD}[axis]\nx = {}1{}\n",
            "[".repeat(10_000),
            "]".repeat(10_000)
        ),
        format!("{HEAD}[axis]\n{} = [1]\n", vec!["a"; 10_000].join(".")),
        format!(
            "{HEAD}[axis]\nx = {{ from = 0, to = 18446744073709551615, steps = 99999999999999999999 }}\n"
        ),
        format!("{HEAD}seeds = {{ from = 1, count = 1000000000000 }}\n[axis]\nx = [1]\n"),
        format!("{HEAD}method = \"random\"\ncells = 18446744073709551615\n[axis]\nx = [1]\n"),
        "\u{0}\u{1b}[2J".to_owned(),
    ] {
        assert!(read("s.toml", &text).is_err());
    }
}
