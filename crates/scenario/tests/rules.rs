//! Rules for packets behind queues: marker, bleacher, black hole, relabel, and what is refused.

use std::sync::atomic::AtomicBool;

use quell_measure::{Figures, RuleSummary};
use quell_scenario::{Override, Problems, Scenario, World, sim};

/// One link with these rules, or the links that are given instead, and a flow.
fn with(rules: &str, flow: &str) -> String {
    let link = match rules.contains("[[link]]") {
        true => rules.to_owned(),
        false => format!("[link]\nrate = \"20mbit\"\nqueue = \"fifo\"\n{rules}\n"),
    };
    format!(
        "schema = 1\nname = \"rules\"\n{link}[[group]]\nname = \"a\"\nrtt = \"20ms\"\napp = \"bulk\"\n{flow}\n[run]\nduration = \"10s\"\n"
    )
}

/// The scenario, which reads back as the same from what is written of it.
pub(crate) fn load(text: &str, sets: &[&str]) -> Result<Scenario, Problems> {
    let sets: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let scenario = Scenario::load("f.toml", text, &sets, Some(World::Sim))?.scenario;
    assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
    Ok(scenario)
}

fn figures(text: &str, sets: &[&str]) -> Figures {
    let scenario = load(text, sets).unwrap_or_else(|why| panic!("{text}{why}"));
    let run = sim::run(&scenario, 1, &AtomicBool::new(false), &mut ());
    run.unwrap().summary.figures
}

fn total(rule: &RuleSummary) -> u64 {
    rule.codes.as_flattened().iter().sum()
}

const DCTCP: &str = "congestion-control = \"dctcp\"\necn = \"ect1\"";

#[test]
fn a_marker_marks_its_share_and_a_scalable_flow_halves_its_window_where_the_share_doubles() {
    let marker = "impair = { rules = [{ name = \"marker\", from = [\"ect0\", \"ect1\"], to = \"ce\", probability = 0.05 }] }";
    let goodput = |sets: &[&str]| {
        let figures = figures(&with(marker, DCTCP), sets);
        let [rule] = &figures.rules[..] else {
            panic!("{:?}", figures.rules);
        };
        assert_eq!((rule.name.as_str(), rule.hop.as_str()), ("marker", "link"));
        assert_eq!(total(rule), figures.queues[0].packets);
        assert_eq!(rule.codes[1][3], rule.matched);
        (
            figures.groups[0].goodput_bps[0],
            rule.matched as f64 / total(rule) as f64,
        )
    };
    let (once, five) = goodput(&[]);
    let (twice, ten) = goodput(&["link.impair.rules.marker.probability=0.1"]);
    // Of 7 000 packets or more: a standard deviation is 0.4 %. W = 2 / p (RFC 8257).
    assert!(
        (five - 0.05).abs() < 0.016 && (ten - 0.1).abs() < 0.016,
        "{five} {ten}"
    );
    assert!((1.7..2.4).contains(&(once / twice)), "{once} {twice}");
}

#[test]
fn a_rule_that_nothing_matches_changes_nothing() {
    let never = "rules = [{ name = \"never\", from = [\"ce\"], to = \"drop\" }]";
    for beside in ["", "loss = 0.01, jitter = \"1ms\", reorder = 0.01, "] {
        let without = format!("impair = {{ {} }}", beside.trim_end_matches(", "));
        let plain = if beside.is_empty() { "" } else { &without };
        let plain = figures(&with(plain, ""), &[]);
        let mut ruled = figures(&with(&format!("impair = {{ {beside}{never} }}"), ""), &[]);
        let rule = ruled.rules.remove(0);
        assert!(rule.matched == 0 && total(&rule) > 1_000);
        assert_eq!(ruled, plain, "{beside}");
    }
}

#[test]
fn a_relabel_in_front_of_a_dual_queue_makes_classic_ecn_l4s_and_the_sender_sees_what_it_sent() {
    let link = |name: &str, keys: &str| format!("[[link]]\nname = \"{name}\"\n{keys}\n");
    let relabel = |name: &str, from: &str, to: &str| {
        let rule = format!("{{ name = \"{name}\", from = [\"{from}\"], to = \"{to}\" }}");
        link(
            name,
            &format!("rate = \"unlimited\"\nqueue = \"fifo\"\nimpair = {{ rules = [{rule}] }}"),
        )
    };
    let line = link("line", "rate = \"20mbit\"\nqueue = \"dualpi2\"");
    let links = relabel("before", "ect0", "ect1") + &line + &relabel("behind", "ect1", "ect0");
    let figures = figures(
        &with(&links, "congestion-control = \"dctcp\"\necn = \"ect0\""),
        &[],
    );
    let l4s = figures
        .queues
        .iter()
        .find(|queue| queue.hop == "line" && queue.name == "l4s");
    let (l4s, [before, behind]) = (l4s.unwrap(), &figures.rules[..]) else {
        panic!("{:?}", figures.rules);
    };
    assert!(l4s.packets > 10_000 && l4s.marked > 100, "{l4s:?}");
    assert_eq!(
        [total(before), l4s.packets],
        [before.matched, before.codes[2][1]]
    );
    assert_eq!(behind.codes[3][3], total(behind) - behind.codes[1][2]);
    assert!(behind.codes[3][3] > 100 && figures.groups[0].goodput_bps[0] > 12e6);
}

#[test]
fn a_wrong_rule_is_refused_with_the_remedy() {
    let rules = |rules: &str| with(&format!("impair = {{ rules = [{rules}] }}"), "");
    let hole = "{ name = \"hole\", to = \"drop\" }";
    for (text, expected) in [
        ("{ to = \"drop\" }", "link.impair.rules.1.name: is missing"),
        (
            "{ name = \"x\" }",
            "f.toml:6: link.impair.rules.x.to: is missing; without to or to-dscp",
        ),
        (
            "{ name = \"x\", from = [\"ect2\"], to = \"ce\" }",
            "must be a list of not-ect, ect0, ect1 and ce",
        ),
        (
            "{ name = \"x\", from = [], to = \"ce\" }",
            "must be a list of not-ect",
        ),
        (
            "{ name = \"x\", match = \"syn\", to = \"drop\" }",
            "must be a list of syn, syn-ack",
        ),
        (
            "{ name = \"x\", to = \"ce\" }",
            "give from = [\"ect0\", \"ect1\"], or unsafe = true",
        ),
        (
            "{ name = \"x\", to = \"drop\", unsafe = true }",
            "only where not-ect becomes ce",
        ),
        (
            "{ name = \"x\", from = [\"ce\"], to = \"ce\" }",
            "is what from is",
        ),
        (
            "{ name = \"x\", to = \"drop\", packets = 2 }",
            "has an effect only beside every",
        ),
        (
            "{ name = \"x\", to = \"drop\", leave = 0.5 }",
            "has an effect only beside enter",
        ),
        (
            "{ name = \"x\", to = \"drop\", to-dscp = 2 }",
            "has no effect on packets that are dropped",
        ),
        (
            "{ name = \"x\", dscp = 46, to = \"drop\" }",
            "rules.x.dscp = 46: the sim world has no DSCP",
        ),
        (
            "{ name = \"x\", to = \"drop\", longer = \"1400B\", signal = true }",
            "rules.x.signal = true: the sim world has no path MTU discovery",
        ),
        (
            "{ name = \"x\", to = \"drop\", longer = \"1279B\", signal = true }",
            "needs to = \"drop\", and longer = \"1280B\" or more",
        ),
        (&format!("{hole}, {hole}"), "is that of another rule"),
        ("{ name = \"x\", to = \"drop\", loss = 1 }", "unknown key"),
        ("", "must be a list of 1 to 16 tables"),
    ] {
        let why = load(&rules(text), &[]).unwrap_err().to_string();
        assert!(why.contains(expected), "{text}: {why}");
    }
    assert!(load(&rules("{ name = \"x\", to = \"ce\", unsafe = true }"), &[]).is_ok());
    // An option makes a rule, too, or changes one.
    let why = load(&rules(hole), &["link.impair.rules.whole.probability=1"])
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("link.impair.rules.whole.to: is missing"),
        "{why}"
    );
    let sets = [
        "link.impair.rules.new.to=copy",
        "link.impair.rules.hole.probability=0",
    ];
    assert!(load(&rules(hole), &sets).is_ok());
    let late = with(
        "",
        "[[at]]\ntime = \"1s\"\nset = { \"link.impair.rules.hole.probability\" = 1 }",
    );
    assert!(
        load(&late, &[])
            .unwrap_err()
            .to_string()
            .contains("cannot change during a run")
    );
}
