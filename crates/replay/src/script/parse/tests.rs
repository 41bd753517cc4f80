use super::*;
use crate::script::{Event, Script, Subject};
use quell_tcp::Flags;

const SENDER: &str = "sender reno\n";

fn events(text: &str) -> Vec<Event> {
    let script = Script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    script.lines.into_iter().map(|line| line.event).collect()
}

fn leaving(text: &str) -> Vec<Segment> {
    let segments = events(text).into_iter().flat_map(|event| match event {
        Event::Leave(segments) => segments,
        _ => Vec::new(),
    });
    segments.map(|expected| expected.segment).collect()
}

#[test]
fn numbers_are_those_of_segments_and_only_the_last_of_a_burst_is_pushed() {
    let segments = leaving(&format!("{SENDER}0 > 0-2P 3 5000:5200P"));
    let found: Vec<_> = segments
        .iter()
        .map(|segment| {
            (
                segment.sequence,
                segment.payload,
                segment.flags.has(Flags::PSH),
            )
        })
        .collect();
    let expected = [
        (0, 1_000, false),
        (1_000, 1_000, false),
        (2_000, 1_000, true),
        (3_000, 1_000, false),
        (5_000, 200, true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_syn_has_an_acknowledgement_where_it_answers() {
    let flags = |text: &str| {
        leaving(text)
            .iter()
            .map(|segment| segment.flags.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(flags("sender reno\n0 > SYN"), [Flags::SYN]);
    assert_eq!(
        flags("receiver\n0 > SYN ECE"),
        [Flags::SYN | Flags::ACK | Flags::ECE]
    );
    assert_eq!(
        flags("receiver\n0 > ack 0 ace 6"),
        [Flags::ACK | Flags::AE | Flags::CWR]
    );
}

#[test]
fn empty_segments_have_the_next_number_and_probes_an_old_one() {
    let text = format!("{SENDER}0 > 0-3\n1 < ack 4 win 0\n2 > empty\n3 > probe");
    let numbers: Vec<_> = leaving(&text)
        .iter()
        .map(|segment| segment.sequence)
        .collect();
    assert_eq!(numbers[4..], [4_000, 3_999]);
}

#[test]
fn times_are_absolute_or_follow_the_line_before() {
    let script = Script::parse("sender reno\n1.5 open\n+0.25 end\n2 end").unwrap();
    let times: Vec<_> = script.lines.iter().map(|line| line.at).collect();
    assert_eq!(times, [1_500, 1_750, 2_000].map(Time::from_micros));
}

#[test]
fn a_line_for_some_is_for_nobody_else() {
    let text =
        "receiver\nmodel 1 end # a\nlinux<6.18 2 end # b\nmodel,linux>=6.18 3 end # c\n4 end";
    let script = Script::parse(text).unwrap();
    let times = |subject: Subject| -> Vec<u64> {
        script
            .lines_for(&subject)
            .map(|line| line.at.as_nanos() / 1_000_000)
            .collect()
    };
    assert_eq!(times(Subject::Model), [1, 3, 4]);
    assert_eq!(times(Subject::Linux("6.12.117".into())), [2, 4]);
    assert_eq!(times(Subject::Linux("7.2.1".into())), [3, 4]);
}

#[test]
fn what_is_no_script_is_refused_with_its_line() {
    for (text, line, why) in [
        ("", 0, "is missing"),
        ("0 open", 1, "comes first"),
        ("sender reno\nsender cubic", 2, "one end"),
        (
            "sender reno\n5 open\n4 write 1",
            3,
            "before the line before",
        ),
        ("sender reno\nmodel 5 open", 2, "why"),
        ("sender reno\n5 open now", 2, "no meaning"),
        ("sender reno\n5 < 3", 2, "one direction"),
        ("receiver\n5 > 3", 2, "one direction"),
        ("receiver\n5 write 3", 2, "neither opens nor writes"),
        ("receiver\n5 >", 2, "`ack` is missing"),
        ("sender reno\n5 >", 2, "segment is missing"),
        ("sender reno\n5 > probe", 2, "segment is missing"),
        ("sender reno\n5 > 5-3", 2, "no range"),
        ("sender reno\n5 > 0:70000", 2, "too long"),
        ("sender reno\n5 > 9999999", 2, "no range"),
        ("sender reno\n5 < ack 3 blue", 2, "says nothing"),
        ("sender reno\n5 < ack 3 win 600", 2, "cannot be said"),
        (
            "sender reno\ntimestamps\n5 < ack 3 sack 5-5 7-7 e0b 1 ceb 0 e1b 1",
            3,
            "40 bytes",
        ),
        ("sender reno\n5 is cwnd seven", 2, "no number"),
        ("sender reno\n5 is Shut", 2, "no state"),
        ("sender reno\n5.1234567 open", 2, "no time"),
        ("sender reno\nwindows 5 open # no", 2, "no setting"),
    ] {
        let error = Script::parse(text).unwrap_err();
        assert!(
            error.line == line && error.what.contains(why),
            "{text:?}: {error}"
        );
    }
}

/// What leaves a client, with its numbers, payload, acknowledgement and flags.
fn two_way(text: &str) -> Vec<(u64, u32, u64, u16)> {
    leaving(&format!("client reno\n{text}"))
        .iter()
        .map(|one| (one.sequence, one.payload, one.acknowledgement, one.flags.0))
        .collect()
}

#[test]
fn where_data_flows_both_ways_each_segment_has_numbers_and_an_acknowledgement() {
    let (ack, fin) = (Flags::ACK, Flags::FIN);
    let found = two_way(
        "0 > SYN\n1 < SYN\n1 > ack 0\n2 > 0-1 FIN ack 3\n3 < 0-4 ack 1\n4 > empty\n5 > FIN ack 5\n6 > probe\n7 > RST\n8 > empty RST",
    );
    let expected = [
        (0, 0, 0, Flags::SYN),
        (0, 0, 0, ack),
        (0, 1_000, 3_000, ack),
        // Only the last segment ends the stream; its FIN occupies number 2000.
        (1_000, 1_000, 3_000, ack | fin),
        // It acknowledges what the one before did.
        (2_001, 0, 3_000, ack),
        (2_000, 0, 5_000, ack | fin),
        // Before what the peer has acknowledged.
        (999, 0, 5_000, ack),
        // Of a host without the connection, and of this end.
        (1_000, 0, 0, Flags::RST),
        (2_001, 0, 5_000, ack | Flags::RST),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_end_that_opens_sends_the_first_syn() {
    let flags = |text: &str| leaving(text)[0].flags.0;
    assert_eq!(flags("client reno\n0 > SYN"), Flags::SYN);
    assert_eq!(flags("server reno\n0 > SYN"), Flags::SYN | Flags::ACK);
    assert!(Script::parse("server reno\n0 open").is_err());
    assert!(Script::parse("sender reno\n0 close").is_err());
    assert_eq!(
        events("server reno\n0 write 300B\n1 close\n2 abort"),
        [Event::Write(300), Event::Close, Event::Abort]
    );
}
