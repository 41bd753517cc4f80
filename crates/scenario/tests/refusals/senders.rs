//! Senders that differ, and links of their own.

use quell_scenario::EcnSetting;

use super::*;

/// What the live world refuses because of its kernel or its hosts is possible where those do not matter.
#[test]
fn senders_may_differ_where_they_can() {
    let other = "[[group]]\nname = \"b\"\ngso = false\npacing = false\nrtt = \"7ms\"\napp = { kind = \"bulk\" }\n";
    let text = GOOD.replace("[[at]]", &format!("{other}[[at]]"));
    let load = |text: &str, world| Scenario::load("f.toml", text, &[], Some(world));
    let scenario = load(&text, World::Sim).unwrap().scenario;
    let senders: Vec<_> = scenario
        .groups
        .iter()
        .map(|group| (group.pacing, group.gso))
        .collect();
    assert_eq!(senders, [(None, true), (None, true), (Some(false), false)]);
    // Data of the other direction comes from another host.
    let reverse = text.replace("gso = false", "gso = false\ndirection = \"reverse\"");
    assert!(load(&reverse, World::Live).is_ok());
}

/// Access links of the simulator: what they cannot carry, what they hold in memory, and what they make of the link.
#[test]
fn access_links_are_judged_where_they_exist() {
    let load = |access: &[(&str, &str)]| {
        let sets: Vec<Override> = access
            .iter()
            .map(|(key, value)| Override::set(&format!("{key}={value}")).unwrap())
            .collect();
        let loaded = Scenario::load("f.toml", GOOD, &sets, Some(World::Sim));
        loaded.map(|loaded| {
            let warnings = loaded.warnings.iter().map(ToString::to_string);
            let warnings: Vec<String> = warnings
                .filter(|text| text.contains("access-rate"))
                .collect();
            (loaded.scenario, warnings)
        })
    };
    // 186 bytes every 20 ms are 74.4 kbit/s.
    let error = load(&[("group.voice.access-rate", "74kbit")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set group.voice.access-rate=74kbit: group.voice.access-rate = 74kbit: is too slow for datagrams of 186B every 20ms: \
         they would wait longer and longer"
    );
    assert!(load(&[("group.voice.access-rate", "74400bit")]).is_ok());
    // Two senders, and the datagrams without a link of their own.
    let (a, voice) = ("group.a.access-rate", "group.voice.access-rate");
    assert_eq!(load(&[(a, "1mbit")]).unwrap().1, [""; 0]);
    assert_eq!(load(&[(a, "20mbit"), (voice, "1mbit")]).unwrap().1, [""; 0]);
    assert_eq!(
        load(&[(a, "19mbit"), (voice, "1mbit")]).unwrap().1,
        [
            "--set group.a.access-rate=19mbit: group.a.access-rate = 19mbit: the senders' own links carry 39mbit together, less than \
          link.rate = 40mbit: the link is not the bottleneck"
        ]
    );
    // Three bursts of 64 KiB a flow, where the peer is near, and as many of flows that start later.
    let told = simulated(&[
        ("count = 2\n", "count = 90_000\naccess-rate = \"10gbit\"\n"),
        ("rtt = \"7ms\"", "rtt = \"100us\""),
        (
            "set = { \"link.rate\" = \"20mbit\" }",
            "set = { \"group.a.count\" = 0 }\n[[at]]\ntime = \"6s\"\nset = { \"group.a.count\" = 90_000 }",
        ),
    ]);
    assert!(
        told.contains("group = 180001 flows: the run would take ")
            && told.ends_with("lower access rates, or have fewer flows"),
        "{told}"
    );
    let far = [(a, "1mbit"), ("group.a.count", "99999")];
    assert!(load(&far).is_ok());
    assert!(load(&[(a, "10mbit"), ("group.a.count", "9999")]).is_ok());
    let (scenario, _) = load(&[(a, "20mbit")]).unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
}

/// The controls of the first group in a kernel, of its sending and of its receiving host.
fn kernel_names(scenario: &Scenario) -> [&str; 2] {
    let group = &scenario.groups[0];
    let controls = [group.congestion_control.as_ref(), group.receiver_control()];
    controls.map(|control| control.unwrap().kernel_name())
}

#[test]
fn a_receiver_has_settings_of_its_own_that_agree_with_one_another() {
    let load = |world, sets: &[&str]| {
        let sets: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
        Scenario::load("f.toml", GOOD, &sets, Some(world))
    };
    for (control, receiver, names, has_ecn, lacks) in [
        ("prague", "", ["prague"; 2], true, false),
        ("prague", "accecn = false", ["prague", "cubic"], true, true),
        ("prague", "ecn = false", ["prague", "cubic"], false, true),
        (
            "prague",
            "congestion-control = \"reno\"",
            ["prague", "reno"],
            true,
            true,
        ),
        (
            "cubic",
            "congestion-control = \"prague\"",
            ["cubic", "prague"],
            true,
            false,
        ),
        ("dctcp", "ecn = false", ["dctcp", "cubic"], false, false),
        (
            "cubic",
            "ecn = false, delayed-ack = false",
            ["cubic"; 2],
            false,
            false,
        ),
    ] {
        let control = format!("group.a.congestion-control={control}");
        let receiver = format!("group.a.receiver={{ {receiver} }}");
        let scenario = load(World::Sim, &[&control, &receiver]).unwrap().scenario;
        let group = &scenario.groups[0];
        assert_eq!(kernel_names(&scenario), names, "{receiver}");
        assert_eq!(group.receiver_has_ecn(), has_ecn, "{receiver}");
        assert_eq!(group.lacks_accurate_ecn(), lacks, "{control} {receiver}");
        assert_eq!(group.receiver_acks_each(), receiver.contains("delayed"));
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
    }
    for (world, control, receiver, why) in [
        (
            World::Sim,
            "cubic",
            "accecn = false",
            "receiver.accecn = false: has no effect: cubic does not report marks by AccECN",
        ),
        (
            World::Sim,
            "cubic",
            "congestion-control = \"dctcp\", ecn = false",
            "reports marks in a way that the rest of",
        ),
        (World::Sim, "cubic", "acks = 1", "receiver.acks"),
        (
            World::Sim,
            "cubic",
            "congestion-control = \"vegas\"",
            "the sim world has no such control",
        ),
        (
            World::Live,
            "cubic",
            "congestion-control = { name = \"prague\", first_ce = \"halve\" }",
            "without options",
        ),
    ] {
        let control = format!("group.a.congestion-control={control}");
        let receiver = format!("group.a.receiver={{ {receiver} }}");
        let told = load(world, &[&control, &receiver]).unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
    let dotted = [
        "group.a.congestion-control=prague",
        "group.a.receiver.accecn=false",
    ];
    let scenario = load(World::Sim, &dotted).unwrap().scenario;
    assert!(scenario.groups[0].lacks_accurate_ecn());
    let text = GOOD.replace("[run]", "[[group]]\nname = \"d\"\nrtt = \"9ms\"\napp = { kind = \"cbr\", size = \"200B\", interval = \"9ms\" }\nreceiver = { ecn = false }\n[run]");
    let told = Scenario::parse(&text).unwrap_err().to_string();
    assert!(told.contains("datagrams are not acknowledged"), "{told}");
}

/// `bbr` is a name of Linux that does not say which BBR; BBR sets its own rate, and responds to marks only where asked to.
#[test]
fn bbr_says_which_it_is_and_paces() {
    let load = |world, sets: &[&str]| {
        let sets: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
        Scenario::load("f.toml", GOOD, &sets, Some(world))
    };
    let warnings = |sets: &[&str]| {
        let loaded = load(World::Sim, sets).unwrap();
        let all = loaded.warnings.iter().map(ToString::to_string);
        let about: Vec<String> = all.filter(|text| text.contains("group.a.")).collect();
        (loaded.scenario, about.join("\n"))
    };
    let (scenario, told) = warnings(&["group.a.congestion-control=bbr", "group.a.ecn=off"]);
    assert!(told.contains("the simulator takes bbr for bbr1"), "{told}");
    let control = scenario.groups[0].congestion_control.as_ref().unwrap();
    assert_eq!(control.config().unwrap().unwrap().name(), "bbr1");
    assert_eq!(kernel_names(&scenario), ["bbr"; 2]);
    let (scenario, told) = warnings(&["group.a.congestion-control=bbr1", "group.a.ecn=off"]);
    assert!(!told.contains("bbr"), "{told}");
    assert_eq!(kernel_names(&scenario), ["bbr"; 2]);
    let (_, told) = warnings(&["group.a.congestion-control=bbr1", "group.a.ecn=ect0"]);
    assert!(told.contains("bbr1 does not respond to marks"), "{told}");

    for (world, why) in [
        (World::Sim, "bbr1 sends at a rate that it sets itself"),
        (World::Live, "bbr1 may pace by itself"),
    ] {
        let sets = [
            "group.a.congestion-control=bbr1",
            "group.a.ecn=off",
            "group.a.pacing=false",
        ];
        let error = load(world, &sets).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    let text = GOOD.replace("ecn = \"ect1\"\n", "");
    for (control, ecn) in [
        ("{ name = \"bbr2\", ecn = true }", EcnSetting::Ect0),
        ("\"bbr2\"", EcnSetting::Off),
    ] {
        let text = text.replace(
            "congestion-control = \"dctcp\"",
            &format!("congestion-control = {control}"),
        );
        let scenario = Scenario::parse(&text).unwrap();
        assert_eq!(scenario.groups[0].ecn, ecn, "{control}");
    }

    // With `ecn = true` it counts marks as DCTCP does, and so misses the L4S queue as DCTCP does.
    let told = |control: &str| {
        let control = format!("group.a.congestion-control={control}");
        warnings(&[&control, "link.queue.kind=dualpi2", "group.a.ecn=ect0"]).1
    };
    let with = told("{ name = \"bbr2\", ecn = true }");
    assert!(with.contains("uses the Classic queue of dualpi2"), "{with}");
    let without = told("bbr2");
    assert!(!without.contains("uses the Classic queue"), "{without}");
}
