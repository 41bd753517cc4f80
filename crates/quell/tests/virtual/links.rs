//! Several links in a row in virtual time.

use std::fs;

use crate::in_a_row::{self, number};
use crate::pcapng;
use crate::stage::Stage;

/// Runs a scenario of the stage, with its result in `out`.
fn run(stage: &Stage, file: &str, world: &str, out: &str) {
    let mut command = stage.quell(&["run", file, "--world", world, "--out", out]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn real_tcp_crosses_two_links_as_simulated_tcp_does() {
    let Some(stage) = Stage::new("real_tcp_crosses_two_links_as_simulated_tcp_does") else {
        return;
    };
    fs::write(stage.path().join("two.toml"), in_a_row::SCENARIO).unwrap();
    let run = |world: &str, out: &str, more: &[&str]| {
        let mut command = stage.quell(&["run", "two.toml", "--world", world, "--out", out]);
        let output = command.args(more).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        stage.json(&format!("{out}/summary.json"))
    };
    let sim = run("sim", "sim", &[]);
    let real = run("virtual", "virtual", &[]);
    for summary in [&sim, &real] {
        in_a_row::check(summary);
        let [before, after] = in_a_row::busy(summary);
        assert!(
            before[0] > 0.97 && after[0] > 0.9 && after[1] < 0.6,
            "{before:?} {after:?}"
        );
        assert_eq!(number(summary, "/links/0/lost_outside"), 0.0);
    }
    // One run of each: the means of many runs are in docs/evidence/validation.md.
    for figure in [
        "/phases/0/groups/0/goodput_bps/0",
        "/phases/0/groups/0/delay_ms/mean",
        "/phases/0/groups/2/goodput_bps/0",
        "/phases/0/links/1/utilisation",
    ] {
        let (sim, real) = (number(&sim, figure), number(&real, figure));
        assert!(
            (real / sim - 1.0).abs() < 0.15,
            "{figure}: {real} beside {sim}"
        );
    }

    // Every packet once at each link, with the mark that an earlier one gave it.
    let marking = ["--set", "group.through.ecn=ect0"];
    let packets = ["--packets", "--duration", "7s"];
    let marked = run("virtual", "packets", &[&marking[..], &packets].concat());
    let packets = pcapng::read(&stage.path().join("packets/packets.pcapng"));
    let at = |interface: &str| {
        let all = packets.iter().filter(|one| one.interface == interface);
        all.filter(|one| one.says("group") == "through").count()
    };
    let (first, second) = (at("first.forward"), at("second.forward"));
    let dropped = packets.iter().filter(|one| {
        one.interface == "first.forward"
            && one.says("group") == "through"
            && one.says("fate").starts_with("dropped")
    });
    let lost = dropped.count();
    assert!(
        second > 1_000 && first - lost - second < 100,
        "{first} {lost} {second}"
    );
    let ce = packets
        .iter()
        .filter(|one| one.interface == "second.forward" && one.ecn() == 3);
    let marks = number(&marked, "/groups/0/marked");
    // Those of the warm-up are in the file only.
    assert!(marks > 0.0 && ce.count() as f64 >= marks);
}

#[test]
fn what_knows_one_link_refuses_several() {
    let Some(stage) = Stage::new("what_knows_one_link_refuses_several") else {
        return;
    };
    fs::write(stage.path().join("two.toml"), in_a_row::SCENARIO).unwrap();
    for (option, why) in [
        (
            &["--watch"][..],
            "--watch measures one link from outside, and the scenario has 2",
        ),
        (
            &["--kernel-queue", "codel"],
            "with --kernel-queue there is one link",
        ),
    ] {
        let mut command = stage.quell(&["run", "two.toml", "--world", "virtual", "--out", "no"]);
        let output = command.args(option).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        assert!(!output.status.success() && errors.contains(why), "{errors}");
    }
}

/// What happens on the path: a trace of delays and losses; and delay, losses and order that change at their times.
const MOVING: [(&str, &str); 2] = [
    (
        r#"trace = { data = "time_s,delay_ms,loss\n0,5,0\n3,25,0.001\n6,10,0\n9,40,0.002\n12,5,0.0005\n15,,\n" }"#,
        "",
    ),
    (
        r#"loss = 0.001, delay = "5ms", reorder = 0.005, hold = "8ms""#,
        r#"[[at]]
time = "5s"
repeat = "10s"
set = { "link.impair.delay" = "30ms", "link.impair.loss" = 0.0, "link.impair.reorder" = 0.0 }
[[at]]
time = "10s"
repeat = "10s"
set = { "link.impair.delay" = "5ms", "link.impair.loss" = 0.002, "link.impair.reorder" = 0.01 }
"#,
    ),
];

/// No figure differs by more than 5 % and 2.3 standard errors of what the seeds scatter; both worlds repeat to the digit.
#[test]
fn paths_that_move_carry_as_much_in_the_simulator_as_with_the_real_tcp() {
    let Some(stage) =
        Stage::new("paths_that_move_carry_as_much_in_the_simulator_as_with_the_real_tcp")
    else {
        return;
    };
    for (place, (impair, at)) in MOVING.iter().enumerate() {
        let text = format!(
            "schema = 1\nname = \"moving\"\n[link]\nrate = \"20mbit\"\nqueue = {{ kind = \"fifo\", limit = \"100ms\" }}\n\
             impair = {{ {impair} }}\n[[group]]\nname = \"bulk\"\ncount = 2\nrtt = \"25ms\"\napp = \"bulk\"\n{at}\
             [run]\nduration = \"30s\"\nwarmup = \"3s\"\nseeds = [1, 2, 3, 4]\n"
        );
        std::fs::write(stage.path().join("moving.toml"), text).unwrap();
        let runs = ["sim", "virtual"].map(|world| {
            let out = format!("{world}{place}");
            run(&stage, "moving.toml", world, &out);
            [1, 2, 3, 4].map(|seed| {
                let summary = stage.json(&format!("{out}/seed{seed}/summary.json"));
                let group = &summary["groups"][0];
                let goodput = group["goodput_bps"].as_array().unwrap().iter();
                [
                    goodput.map(|bps| bps.as_f64().unwrap()).sum(),
                    number(&summary, "/queues/0/delay_ms/mean"),
                    number(&summary, "/groups/0/rtt_ms/mean"),
                    number(&summary, "/groups/0/retransmitted"),
                ]
            })
        });
        for figure in 0..4 {
            let of = |world: usize| {
                let values = runs[world].map(|seed: [f64; 4]| seed[figure]);
                let mean = values.iter().sum::<f64>() / 4.0;
                let squares = values.map(|value| (value - mean).powi(2));
                (mean, squares.iter().sum::<f64>() / 12.0)
            };
            let ((sim, of_sim), (guest, of_guest)) = (of(0), of(1));
            let bound = guest * 0.05 + 2.3 * (of_sim + of_guest).sqrt();
            assert!((sim - guest).abs() < bound, "{impair}: {figure}: {runs:?}");
        }
    }
}

#[test]
fn rules_decide_on_real_packets_as_on_simulated_ones() {
    let Some(stage) = Stage::new("rules_decide_on_real_packets_as_on_simulated_ones") else {
        return;
    };
    let text = "schema = 1\nname = \"rules\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\nimpair = { rules = [\
         { name = \"hole\", to = \"drop\", probability = 0.1 }, { name = \"mark\", to = \"ce\", unsafe = true, probability = 0.3 }, \
         { name = \"long\", longer = \"499B\", to = \"drop\", probability = 0 }, { name = \"train\", to = \"ect1\", every = \"1s\", packets = 3 }] }\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
         app = { kind = \"cbr\", size = \"500B\", interval = \"5ms\" }\n[[at]]\ntime = \"2s\"\n\
         set = { \"link.impair.rules.mark.probability\" = 0.6 }\n[[at]]\ntime = \"3.5s\"\n\
         set = { \"link.impair.rules.long.probability\" = 1 }\n[run]\nduration = \"4s\"\n";
    fs::write(stage.path().join("rules.toml"), text).unwrap();
    let [sim, real] = ["sim", "virtual"].map(|world| {
        run(&stage, "rules.toml", world, world);
        stage.json(&format!("{world}/summary.json"))
    });
    assert_eq!(sim["rules"], real["rules"]);
    assert_eq!(number(&sim, "/phases/0/rules/3/matched"), 3.0);
    assert!(number(&sim, "/rules/1/matched") > 200.0, "{sim:#}");
    // Those of 500 bytes in half a second, of which a tenth did not come so far.
    let long = number(&sim, "/rules/2/matched");
    assert!((75.0..=100.0).contains(&long), "{long}");
}

/// From 2 s on packets of the usual length do not fit: Linux makes them shorter if it is told, and nothing comes otherwise.
#[test]
fn a_sender_that_hears_what_fits_goes_on_with_shorter_packets() {
    let Some(stage) = Stage::new("a_sender_that_hears_what_fits_goes_on_with_shorter_packets")
    else {
        return;
    };
    for (signal, shares) in [(true, 0.8..1.0), (false, 0.0..0.05)] {
        let text = format!(
            "schema = 1\nname = \"tunnel\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\nimpair = {{ rules = [\
             {{ name = \"mtu\", longer = \"1300B\", to = \"drop\", signal = {signal}, probability = 0 }}] }}\n[[group]]\nname = \"a\"\n\
             rtt = \"20ms\"\napp = \"bulk\"\n[[at]]\ntime = \"2s\"\nset = {{ \"link.impair.rules.mtu.probability\" = 1 }}\n\
             [run]\nduration = \"5s\"\nwarmup = \"1s\"\n"
        );
        fs::write(stage.path().join("tunnel.toml"), text).unwrap();
        let out = format!("tunnel-{signal}");
        run(&stage, "tunnel.toml", "virtual", &out);
        let summary = stage.json(&format!("{out}/summary.json"));
        let share = number(&summary, "/phases/1/groups/0/goodput_bps/0") / 10e6;
        assert!(shares.contains(&share), "{share}: {summary:#}");
        let dropped = number(&summary, "/phases/1/rules/0/matched");
        assert!((1.0..100.0).contains(&dropped), "{dropped}");
    }
}

/// In both worlds a receiver decides how marks come back, and how many ACKs there are.
#[test]
fn a_receiver_of_its_own_is_the_same_host_in_the_simulator_and_in_linux() {
    let Some(stage) =
        Stage::new("a_receiver_of_its_own_is_the_same_host_in_the_simulator_and_in_linux")
    else {
        return;
    };
    let bulk = "app = \"bulk\"";
    for (place, (control, receiver, app, is_marked, is_each)) in [
        ("prague", "", bulk, true, false),
        ("prague", "accecn = false", bulk, false, false),
        (
            "prague",
            "accecn = false",
            "app = \"bulk\"\ndirection = \"reverse\"",
            false,
            false,
        ),
        (
            "prague",
            "congestion-control = \"cubic\", delayed-ack = false",
            bulk,
            false,
            true,
        ),
        (
            "dctcp",
            "congestion-control = \"cubic\"",
            bulk,
            false,
            false,
        ),
        ("dctcp", "ecn = false", bulk, false, false),
    ]
    .into_iter()
    .enumerate()
    {
        let side = "rate = \"20mbit\"\nqueue = \"dualpi2\"\nimpair = { rules = [{ name = \"acks\", match = [\"ack\"], to = \"copy\", probability = 0 }] }\n";
        let text = format!(
            "schema = 1\nname = \"receiver\"\n[link]\n{side}[link.reverse]\n{side}[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
             congestion-control = \"{control}\"\nreceiver = {{ {receiver} }}\n{app}\n[[group]]\nname = \"b\"\nrtt = \"20ms\"\n\
             congestion-control = \"cubic\"\necn = \"ect0\"\n{app}\n[run]\nduration = \"12s\"\nwarmup = \"2s\"\n"
        );
        fs::write(stage.path().join("receiver.toml"), text).unwrap();
        let runs = ["sim", "virtual"].map(|world| {
            let out = format!("{world}{place}");
            run(&stage, "receiver.toml", world, &out);
            stage.json(&format!("{out}/summary.json"))
        });
        for summary in &runs {
            assert_eq!(
                number(summary, "/groups/0/marked") > 0.0,
                is_marked,
                "{control} {receiver} {app}"
            );
            assert!(
                number(summary, "/groups/1/marked") > 0.0,
                "the other group keeps ECN: {receiver}"
            );
        }
        let shares = runs
            .each_ref()
            .map(|summary| number(summary, "/groups/0/goodput_bps/0") / 20e6);
        assert!(
            (shares[0] - shares[1]).abs() < 0.15,
            "{control} {receiver} {app}: {shares:?}"
        );
        // With AccECN marks ask for more of them.
        if app == bulk && !is_marked {
            let acks = runs.each_ref().map(|summary| {
                let codes = &summary["rules"].as_array().unwrap().last().unwrap()["codes"];
                let rows = codes.as_array().unwrap().iter();
                rows.flat_map(|row| row.as_array().unwrap())
                    .map(|cell| cell.as_f64().unwrap())
                    .sum::<f64>()
            });
            let segments = runs.each_ref().map(|summary| {
                number(summary, "/groups/0/packets") + number(summary, "/groups/1/packets")
            });
            let ratio = [0, 1].map(|world| acks[world] / segments[world]);
            assert!(
                ratio.iter().all(|ratio| (*ratio > 0.7) == is_each),
                "{receiver}: {ratio:?}"
            );
        }
    }
}
