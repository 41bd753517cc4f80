//! Several links in a row.

use super::*;

pub(super) fn two() -> LinkOptions {
    LinkOptions {
        scenario: Some(("x.toml".to_owned(), TWO.to_owned())),
        ..LinkOptions::default()
    }
}

#[test]
fn several_links_are_all_on_the_way() {
    let plan = Plan::new(&two()).unwrap();
    let line = "line 60mbit/20mbit dualpi2/fq_codel + wifi 50mbit/unlimited fifo, 10ms";
    assert_eq!(plan.describe(), line);
    // What they delay, there and back; more if that is asked for, and not less.
    assert_eq!(plan.rtt(), Time::from_millis(10));
    let rtt = |text: &str| {
        let rtt = Some(text.to_owned());
        Plan::new(&LinkOptions { rtt, ..two() })
    };
    assert_eq!(rtt("30ms").unwrap().rtt(), Time::from_millis(30));
    let why = rtt("9ms").unwrap_err().to_string();
    assert!(why.contains("at least 10ms"), "{why}");
    // The RTT of a group that crosses all of them.
    let groups = "[[group]]\nname = \"a\"\npath = [\"line\"]\nrtt = \"70ms\"\napp = \"bulk\"\n[[group]]\nname = \"b\"\nrtt = \"40ms\"\napp = \"bulk\"\n";
    let with_groups = LinkOptions {
        scenario: Some(("x.toml".to_owned(), format!("{TWO}{groups}"))),
        ..LinkOptions::default()
    };
    assert_eq!(
        Plan::new(&with_groups).unwrap().rtt(),
        Time::from_millis(40)
    );
    // Their result gives them again.
    let again = LinkOptions {
        scenario: Some(("scenario.toml".to_owned(), plan.scenario().to_toml())),
        ..LinkOptions::default()
    };
    assert_eq!(Plan::new(&again).unwrap().scenario(), plan.scenario());
}

#[test]
fn of_several_links_each_is_changed_by_its_name() {
    let mut options = two();
    options.queues = vec!["wifi=fq_codel".to_owned(), "line=pie:target=5ms".to_owned()];
    options.sets = vec!["link.wifi.reverse.rate=9mbit".to_owned()];
    options.at = vec![("2s".to_owned(), "link.wifi.rate=15mbit".to_owned())];
    let plan = Plan::new(&options).unwrap();
    assert_eq!(
        plan.describe(),
        "line 60mbit/20mbit pie + wifi 50mbit/9mbit fq_codel, 10ms"
    );
    let rate = |hop, direction, rate| LinkChange::SetRate {
        hop: quell_measure::Hop(hop),
        direction,
        rate: Rate::from_mbps(rate),
    };
    let changes = plan.changes();
    assert_eq!(
        changes,
        [(Time::from_secs(2), rate(1, Direction::Forward, 15))]
    );
    let wish = wishes(&[("link.line.reverse.rate", "1mbit")]);
    let (_, made) = plan.with_changes(Time::from_secs(1), &wish).unwrap();
    assert_eq!(made, [rate(0, Direction::Reverse, 1)]);
}

#[test]
fn what_does_not_say_which_of_several_links_is_refused_with_the_right_key() {
    let refused = |change: &dyn Fn(&mut LinkOptions)| {
        let mut options = two();
        change(&mut options);
        Plan::new(&options).unwrap_err().to_string()
    };
    let text = str::to_owned;
    for (why, part) in [
        (
            refused(&|o| o.down = Some(text("3mbit"))),
            "--set 'link.line.rate=20mbit'",
        ),
        (
            refused(&|o| o.up = Some(text("3mbit"))),
            "link.line.reverse.rate",
        ),
        (
            refused(&|o| o.down_trace = Some(text("x"))),
            "link.line.rate={ trace =",
        ),
        (
            refused(&|o| o.queues = vec![text("pie")]),
            "line=pie or wifi=pie",
        ),
        (
            refused(&|o| o.up_queues = vec![text("wifi=pie")]),
            "link wifi has no rate there",
        ),
        (
            refused(&|o| o.queues = vec![text("lan=pie")]),
            "links are: line, wifi",
        ),
        (
            refused(&|o| o.sets = vec![text("up.queue.target=5ms")]),
            "link.line.reverse.queue.target or link.wifi.reverse.queue.target",
        ),
        (
            refused(&|o| o.sets = vec![text("link.rate=5mbit")]),
            "link.line, link.wifi",
        ),
        (
            refused(&|o| o.at = vec![(text("1s"), text("down=5mbit"))]),
            "--at 1s down=5mbit: there are 2 links, so name one: link.line.rate or link.wifi.rate",
        ),
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let plan = Plan::new(&two()).unwrap();
    let wish = wishes(&[("down", "1mbit")]);
    let why = plan.with_changes(Time::from_secs(1), &wish).unwrap_err();
    assert!(why.to_string().contains("link.wifi.rate"), "{why}");
}
