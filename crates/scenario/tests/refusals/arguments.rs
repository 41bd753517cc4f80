//! What arguments change, and how their mistakes are named.

use super::*;

#[test]
fn arguments_change_the_scenario_and_errors_name_the_argument() {
    let load =
        |argument: &str| Scenario::load("f.toml", GOOD, &[Override::set(argument).unwrap()], None);
    for (argument, message) in [
        (
            "link.rate=fast",
            "--set link.rate=fast: link.rate = fast: must be a rate from 1kbit to 1tbit",
        ),
        (
            "link.speed=1mbit",
            "--set link.speed=1mbit: link.speed = 1mbit: unknown key (did you mean rate?); [link] has name, rate, overhead, mpu, bins-per-octave, access, impair, delay, remark, values, queue, reverse",
        ),
        (
            "lnik.rate=1mbit",
            "--set lnik.rate=1mbit: lnik = a table: unknown key (did you mean link?); a scenario has schema, name, description, link, value, group, at, expect, run",
        ),
        (
            "group.b.count=1",
            "--set group.b.count=1: group.b.count: there is no group b; groups are: a, voice",
        ),
        (
            "group.voic.count=1",
            "--set group.voic.count=1: group.voic.count: there is no group voic (did you mean voice?); groups are: a, voice",
        ),
        (
            "group.count=1",
            "--set group.count=1: group.count: must name a group and its key, such as group.NAME.count",
        ),
        (
            "at.1.time=1s",
            "--set at.1.time=1s: at.1.time: timed changes are edited in the file",
        ),
        (
            "name.first=x",
            "--set name.first=x: name.first: name is \"good\" here, not a table",
        ),
        (
            "link..rate=1mbit",
            "--set link..rate=1mbit: link..rate: is not a dotted key such as link.queue.target",
        ),
        (
            "link.queue.limit=1kB",
            "--set link.queue.limit=1kB: link.queue.limit = 1kB: never accepts a packet of 1500B; it must be 1500B or more",
        ),
        (
            "group.a.congestion-control.beta=0.8",
            "--set group.a.congestion-control.beta=0.8: group.a.congestion-control.beta = 0.8: unknown key (it is an option of \
          cubic, bbr2); \"dctcp\" has shift_g, alpha_on_init, feedback",
        ),
        (
            "run.warmup=20s",
            "f.toml:22: run.duration = \"10s\": leaves nothing to measure after the warm-up of 20s",
        ),
    ] {
        assert_eq!(load(argument).unwrap_err().to_string(), message);
    }
    let scenario = load("group.a.count=10").unwrap().scenario;
    assert_eq!(scenario.groups[0].count, 10);
    let scenario = load("link.reverse.rate=5mbit").unwrap().scenario;
    assert_eq!(scenario.links[0].reverse.rate.to_string(), "5mbit");
    let scenario = load("group.voice.app={ kind = \"bulk\" }")
        .unwrap()
        .scenario;
    assert_eq!(scenario.groups[1].control_name(), Some("cubic"));
}

/// A control given by its name alone, by none, or as a table takes its options from arguments.
#[test]
fn arguments_give_options_to_a_congestion_control() {
    let load = |text: &str, arguments: &[&str]| {
        let sets: Vec<Override> = arguments
            .iter()
            .map(|argument| Override::set(argument).unwrap())
            .collect();
        Scenario::load("f.toml", text, &sets, Some(World::Sim)).map(|loaded| loaded.scenario)
    };
    let changed = |scenario: &Scenario| {
        let control = scenario.groups[0].congestion_control.as_ref().unwrap();
        let options: Vec<String> = control
            .changed()
            .map(|(parameter, value, _)| format!("{} = {value}", parameter.name))
            .collect();
        (control.name().to_owned(), options.join(", "))
    };
    let named = GOOD.replace("\"dctcp\"", "\"cubic\"");
    let silent = GOOD.replace("congestion-control = \"dctcp\"\n", "");
    let tabled = GOOD.replace("\"dctcp\"", "{ name = \"cubic\", hystart = false }");
    let beta = "group.a.congestion-control.beta=0.8";
    for (text, arguments, control, options) in [
        (&named, &[beta][..], "cubic", "beta = 0.8"),
        (&silent, &[beta], "cubic", "beta = 0.8"),
        (&tabled, &[beta], "cubic", "beta = 0.8, hystart = false"),
        (
            &named,
            &["group.a.congestion-control.variant=freebsd_2010"],
            "cubic",
            "variant = freebsd_2010, beta = 0.8, hystart = false",
        ),
        // Another control leaves the options of the file behind, and keeps those of arguments.
        (
            &tabled,
            &["group.a.congestion-control.name=reno"],
            "reno",
            "",
        ),
        (&tabled, &["group.a.congestion-control=dctcp"], "dctcp", ""),
        (
            &tabled,
            &[
                "group.a.congestion-control.growth=acks",
                "group.a.congestion-control.name=reno",
            ],
            "reno",
            "growth = acks",
        ),
    ] {
        let scenario = load(text, arguments).unwrap();
        assert_eq!(
            changed(&scenario),
            (control.to_owned(), options.to_owned()),
            "{arguments:?}"
        );
        // What is written reads back.
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
    }
    assert_eq!(
        load(&GOOD.replace("dctcp", "westwood"), &[])
            .unwrap_err()
            .to_string(),
        format!(
            "f.toml:11: group.a.congestion-control = \"westwood\": the sim world has no such control; it has {}",
            controls()
        )
    );
}

#[test]
fn another_kind_of_queue_leaves_the_parameters_of_the_file_behind_and_keeps_those_of_arguments() {
    let sets = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| Override::set(text).unwrap())
            .collect::<Vec<_>>()
    };
    let all = sets(&["link.queue.target=5ms", "link.queue.kind=dualpi2"]);
    let queue = Scenario::load("f.toml", GOOD, &all, None)
        .unwrap()
        .scenario
        .links
        .remove(0)
        .forward
        .queue;
    assert_eq!(
        (queue.kind, queue.settings.is_given("limit")),
        ("dualpi2", false)
    );
    assert_eq!(queue.settings.value("target").unwrap().to_string(), "5ms");
    let same = sets(&["link.queue.kind=fifo"]);
    let queue = Scenario::load("f.toml", GOOD, &same, None)
        .unwrap()
        .scenario
        .links
        .remove(0)
        .forward
        .queue;
    assert!(queue.settings.is_given("limit"));
    let queue = Override::queue("dualpi2:target=5ms").unwrap();
    assert_eq!(
        Scenario::load("f.toml", GOOD, &queue, None)
            .unwrap()
            .scenario
            .links
            .remove(0)
            .forward
            .queue
            .kind,
        "dualpi2"
    );
}

#[test]
fn arguments_count_as_the_file_does() {
    let set = Override::set("link.rate=1tbit").unwrap();
    let rtt = Override::set("group.a.rtt=10s").unwrap();
    let count = Override::set("group.a.count=20").unwrap();
    let sets = [set, rtt, count];
    let problems = Scenario::load("f.toml", GOOD, &sets, Some(World::Sim)).unwrap_err();
    let told = problems.to_string();
    assert!(
        told.starts_with("--set link.rate=1tbit: link.rate = 1tbit: the run would take "),
        "{told}"
    );
}

/// In the virtual world options are parameters of a kernel's module: some can be set, and for all groups alike.
#[test]
fn a_guest_takes_the_options_that_its_kernel_has_and_one_setting_of_each() {
    let load = |world, arguments: &[&str]| {
        let own = "group.a.congestion-control={ name = \"prague\", rtt_transition = 500 }";
        let sets: Vec<Override> = [own, "group.voice.app={ kind = \"bulk\" }"]
            .iter()
            .chain(arguments)
            .map(|argument| Override::set(argument).unwrap())
            .collect();
        let loaded = Scenario::load("f.toml", GOOD, &sets, Some(world));
        loaded.map_or_else(|problems| problems.to_string(), |_| "ok".to_owned())
    };
    let same = "group.voice.congestion-control={ name = \"prague\", rtt_transition = 500 }";
    assert_eq!(load(World::Virtual, &[]), "ok");
    assert_eq!(load(World::Virtual, &[same]), "ok");
    // No real host has fq, so nothing need be set.
    let without = "group.a.congestion-control={ name = \"prague\", fq = false }";
    assert_eq!(load(World::Virtual, &[without]), "ok");
    assert_eq!(load(World::Live, &[without]), "ok");
    for (world, argument, words) in [
        (
            World::Virtual,
            "group.voice.congestion-control=prague",
            "has other options than in group a, and the virtual world has one setting of a control for all groups",
        ),
        (
            World::Virtual,
            "group.a.congestion-control.burst=1ms",
            "the virtual world runs prague as the kernel has it and cannot set burst",
        ),
        (
            World::Live,
            "run.seeds=[1]",
            "the live world runs prague as the kernel has it and cannot set rtt_transition",
        ),
    ] {
        let told = load(world, &[argument]);
        assert!(told.contains(words), "{told}");
    }
}
