//! Several links in a row in virtual time.

use std::fs;

use crate::in_a_row::{self, number};
use crate::pcapng;
use crate::stage::Stage;

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

#[test]
fn rules_decide_on_real_packets_as_on_simulated_ones() {
    let Some(stage) = Stage::new("rules_decide_on_real_packets_as_on_simulated_ones") else {
        return;
    };
    let text = "schema = 1\nname = \"rules\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\nimpair = { rules = [\
         { name = \"hole\", to = \"drop\", probability = 0.1 }, { name = \"mark\", to = \"ce\", unsafe = true, probability = 0.3 }, \
         { name = \"train\", to = \"ect1\", every = \"1s\", packets = 3 }] }\n[[group]]\nname = \"a\"\nrtt = \"20ms\"\n\
         app = { kind = \"cbr\", size = \"500B\", interval = \"5ms\" }\n[[at]]\ntime = \"2s\"\n\
         set = { \"link.impair.rules.mark.probability\" = 0.6 }\n[run]\nduration = \"4s\"\n";
    fs::write(stage.path().join("rules.toml"), text).unwrap();
    let [sim, real] = ["sim", "virtual"].map(|world| {
        let mut command = stage.quell(&["run", "rules.toml", "--world", world, "--out", world]);
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        stage.json(&format!("{world}/summary.json"))
    });
    assert_eq!(sim["rules"], real["rules"]);
    assert_eq!(number(&sim, "/phases/0/rules/2/matched"), 3.0);
    assert!(number(&sim, "/rules/1/matched") > 200.0, "{sim:#}");
}
