//! What a summary holds, and how it reads as JSON.

use super::*;
use crate::app::AppFigure;
use crate::timeline::Span;
use quell_aqm::impair;
use quell_units::Rate;

const DIST: Dist = Dist {
    mean: 0.1,
    p1: 1.0 / 3.0,
    p25: 2.0,
    p50: 3.0,
    p75: 4.0,
    p90: 5.0,
    p99: 6.0,
    p999: 7.0,
    max: 8.123_456_789,
};

fn figures(hop: Hop, direction: Direction, groups: Vec<Option<GroupPackets>>) -> LinkFigures {
    LinkFigures {
        hop,
        direction,
        span: Span {
            start: Time::from_secs(10),
            end: Time::from_secs(60),
        },
        rate: Rate::from_mbps(40),
        busy: Time::from_secs(25),
        share: None,
        backlogged: Some(Time::from_secs(20)),
        outside: impair::Counts {
            lost: 1,
            ..impair::Counts::default()
        },
        queues: vec![QueueSummary {
            name: "l4s".to_owned(),
            hop: ["wifi", "access"][hop.index()].to_owned(),
            direction,
            packets: 10,
            bytes: 15_000,
            marked: 5,
            dropped: 0,
            mark_ratio: 0.5,
            drop_ratio: 0.0,
            marks: BTreeMap::from([("coupled".to_owned(), 3), ("step".to_owned(), 2)]),
            drops: BTreeMap::from([("aqm".to_owned(), 0), ("limit".to_owned(), 0)]),
            delay_ms: Some(DIST),
            backlog_bytes: None,
        }],
        groups,
    }
}

fn results(hop: Hop, direction: Direction, groups: &[Option<GroupPackets>]) -> LinkResults {
    LinkResults {
        whole: figures(hop, direction, groups.to_vec()),
        phases: vec![figures(hop, direction, groups.to_vec())],
        queue_delays: Vec::new(),
        backlogs_at_dequeue: Vec::new(),
        group_delays: Vec::new(),
        group_crossings: Vec::new(),
    }
}

/// Two groups: two DCTCP downloads, one voice upload.
pub(crate) fn summary(seed: u64, goodput: [f64; 2]) -> Summary {
    let group = |name: &str, congestion_control: Option<&str>| GroupInfo {
        name: name.to_owned(),
        congestion_control: congestion_control.map(str::to_owned),
        elastic: congestion_control.is_some(),
    };
    let packets = |packets| {
        Some(GroupPackets {
            packets,
            marked: 0,
            dropped: 0,
            delay_ms: Some(DIST),
            crossed_ms: None,
        })
    };
    let flows = vec![
        GroupFlows {
            goodput_bps: goodput.to_vec(),
            alive_s: vec![50.0; goodput.len()],
            retransmitted: Some(4),
            rtt_ms: Some(DIST),
        },
        GroupFlows {
            goodput_bps: vec![64_000.0],
            alive_s: vec![50.0],
            retransmitted: Some(0),
            rtt_ms: None,
        },
    ];
    let info = RunInfo {
        scenario: "coexistence".to_owned(),
        world: "sim".to_owned(),
        seed,
        duration: Time::from_secs(60),
        warmup: Time::from_secs(10),
        partial: false,
        warnings: Vec::new(),
        groups: vec![group("l4s", Some("dctcp")), group("voice", None)],
    };
    let flows = FlowResults {
        whole: flows.clone(),
        phases: vec![flows],
    };
    let links = [
        results(Hop::FIRST, Direction::Forward, &[packets(10), None]),
        results(Hop::FIRST, Direction::Reverse, &[None, packets(3)]),
        results(Hop(1), Direction::Forward, &[None, None]),
    ];
    Summary::new(info, &links.each_ref(), &flows)
}

#[test]
fn takes_each_figure_from_where_it_was_measured() {
    let summary = summary(1, [3e6, 1e6]);
    let Figures {
        link,
        links,
        queues,
        groups,
        jain,
        fairness,
        rules: _,
    } = &summary.figures;
    assert_eq!(
        (link.rate_bps, link.utilisation, link.lost_outside),
        (Some(40_000_000), 0.5, 3)
    );
    let named: Vec<_> = links
        .iter()
        .map(|link| (&link.name[..], link.lost_outside))
        .collect();
    assert_eq!(named, [("wifi", 2), ("access", 1)]);
    assert_eq!(
        (links[0].utilisation, links[0].bottleneck_share),
        (0.5, 0.4)
    );
    assert!(links[0].reverse.is_some() && links[1].reverse.is_none());
    let places: Vec<_> = queues
        .iter()
        .map(|queue| (&queue.hop[..], queue.direction))
        .collect();
    let expected = [
        ("wifi", Direction::Forward),
        ("wifi", Direction::Reverse),
        ("access", Direction::Forward),
    ];
    assert_eq!(places, expected);
    assert_eq!((groups[0].packets, groups[1].packets), (10, 3));
    assert_eq!(
        (groups[0].count, groups[0].jain, *jain),
        (2, Some(0.8), Some(0.8))
    );
    // The voice is not elastic, so nothing is shared on its way.
    let expected = Fairness {
        hop: "wifi".to_owned(),
        direction: Direction::Forward,
        flows: 2,
        jain: Some(0.8),
    };
    assert_eq!(fairness, &[expected]);
    assert_eq!(
        (summary.phases[0].start_s, summary.phases[0].end_s),
        (10.0, 60.0)
    );
}

/// Elastic groups with these flows, each over those of three link directions: forward and reverse of the first, forward of the second.
fn shared(groups: &[(&[f64], [bool; 3])]) -> Figures {
    let info = |index: usize| GroupInfo {
        name: format!("g{index}"),
        congestion_control: None,
        elastic: true,
    };
    let infos: Vec<GroupInfo> = (0..groups.len()).map(info).collect();
    let packets = GroupPackets {
        packets: 1,
        marked: 0,
        dropped: 0,
        delay_ms: None,
        crossed_ms: None,
    };
    let ways = [
        (Hop::FIRST, Direction::Forward),
        (Hop::FIRST, Direction::Reverse),
        (Hop(1), Direction::Forward),
    ];
    let several = groups.iter().any(|(_, way)| way[2]);
    let links = ways[..if several { 3 } else { 2 }].iter().enumerate();
    let links = links.map(|(place, &(hop, direction))| {
        let seen = groups.iter().map(|(_, way)| way[place].then_some(packets));
        results(hop, direction, &seen.collect::<Vec<_>>()).whole
    });
    let links: Vec<LinkFigures> = links.collect();
    let flows = groups.iter().map(|(rates, _)| GroupFlows {
        goodput_bps: rates.to_vec(),
        alive_s: vec![1.0; rates.len()],
        retransmitted: None,
        rtt_ms: None,
    });
    let flows: Vec<GroupFlows> = flows.collect();
    Figures::new(&infos, &links.iter().collect::<Vec<_>>(), &flows)
}

#[test]
fn fairness_is_that_of_flows_that_compete() {
    let (down, up) = ([true, false, false], [false, true, false]);
    let reported = |figures: &Figures| -> Vec<(String, Direction, usize, f64)> {
        let all = figures.fairness.iter();
        all.map(|one| (one.hop.clone(), one.direction, one.flows, one.jain.unwrap()))
            .collect()
    };
    let wifi = |direction, flows, jain| ("wifi".to_owned(), direction, flows, jain);
    // Downloads alone: one index says all, as it always did. 8 and 0 are 1/2.
    let figures = shared(&[(&[8e6], down), (&[0.0], down)]);
    assert_eq!((figures.jain, figures.fairness.len()), (Some(0.5), 0));
    // An equal pair down and a lone upload of another rate are each fair; together they would be 0.75.
    let figures = shared(&[(&[4e6, 4e6], down), (&[1e6], up)]);
    assert_eq!(figures.jain, None);
    let both = [
        wifi(Direction::Forward, 2, 1.0),
        wifi(Direction::Reverse, 1, 1.0),
    ];
    assert_eq!(reported(&figures), both);
    // Uploads alone compete with each other.
    let figures = shared(&[(&[3.0, 1.0], up)]);
    assert_eq!(figures.jain, Some(0.8));
    assert_eq!(reported(&figures), [wifi(Direction::Reverse, 2, 0.8)]);
    // A group without flows competes with nobody.
    assert_eq!(shared(&[(&[3.0, 1.0], down), (&[], up)]).jain, Some(0.8));
    // Over two links: one flow crosses both, one the first only.
    let figures = shared(&[(&[3.0], [true, false, true]), (&[1.0], down)]);
    assert_eq!(figures.jain, None);
    let access = ("access".to_owned(), Direction::Forward, 1, 1.0);
    assert_eq!(
        reported(&figures),
        [wifi(Direction::Forward, 2, 0.8), access]
    );
}

#[test]
fn reads_back_what_it_wrote() {
    let mut summary = summary(u64::MAX, [1e6 / 3.0, 0.0]);
    let lateness = serde_json::json!({ "p99": 0.25 });
    summary
        .figures
        .link
        .extra
        .insert("lateness_ms".to_owned(), lateness);
    let mut app = AppSummary::new("bulk");
    app.insert("bytes", AppFigure::Count(7));
    summary.figures.groups[0].app = Some(app);
    let text = serde_json::to_string_pretty(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
}

#[test]
fn what_was_not_measured_is_null() {
    let value = serde_json::to_value(summary(1, [0.0, 0.0])).unwrap();
    for path in [
        "/jain",
        "/groups/0/jain",
        "/groups/1/rtt_ms",
        "/queues/0/backlog_bytes",
    ] {
        assert_eq!(value.pointer(path), Some(&Value::Null), "{path}");
    }
}

#[test]
fn keys_are_those_of_the_result_format_in_its_order() {
    // The key names of "Results" in the design, in the order of the file.
    let text = serde_json::to_string(&summary(1, [1.0, 1.0])).unwrap();
    let order = |keys: &str| {
        let mut rest = &text[..];
        for key in keys.split_whitespace() {
            let key = format!("\"{key}\":");
            let at = rest.find(&key).unwrap_or_else(|| panic!("{key} in {rest}"));
            rest = &rest[at + key.len()..];
        }
    };
    order(
        "schema scenario world seed duration_s warmup_s partial warnings \
         link rate_bps utilisation lost_outside reverse rate_bps utilisation \
         links name rate_bps utilisation bottleneck_share lost_outside reverse \
         queues name hop direction packets bytes marked dropped mark_ratio drop_ratio \
         marks coupled step drops aqm limit delay_ms backlog_bytes \
         groups name count congestion_control goodput_bps alive_s jain packets marked dropped \
         retransmitted delay_ms links rtt_ms app jain fairness hop direction flows jain phases",
    );
    order("delay_ms mean p1 p25 p50 p75 p90 p99 p999 max");
    order("phases start_s end_s link queues groups jain fairness");
    let value: Value = serde_json::from_str(&text).unwrap();
    for (path, count) in [
        ("", 15),
        ("/link", 4),
        ("/link/reverse", 2),
        ("/queues/0", 13),
        ("/groups/0", 14),
        ("/queues/0/delay_ms", 9),
        ("/phases/0", 8),
    ] {
        let object = value.pointer(path).and_then(Value::as_object).unwrap();
        assert_eq!(object.len(), count, "{path}");
    }
    assert_eq!(value["queues"][0]["direction"], "forward");
    // Results of versions that did not name the link read as those of the only one.
    let mut earlier = value;
    for path in ["/queues/0", "/phases/0/queues/0"] {
        let queue = earlier.pointer_mut(path).and_then(Value::as_object_mut);
        queue.unwrap().remove("hop");
    }
    let read: Summary = serde_json::from_value(earlier).unwrap();
    assert_eq!(read.figures.queues[0].hop, "link");
}
