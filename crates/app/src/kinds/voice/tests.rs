use super::*;
use crate::kinds::find;
use crate::{AppConfig, KindReport as _, answer};
use quell_units::{Ecn, Settings};

fn voice(settings: &[(&str, &str)]) -> Result<Voice, ParameterError> {
    let entry = find("voice").unwrap();
    let mut values = Settings::new(entry.parameters);
    for (key, value) in settings {
        values.set(key, value)?;
    }
    match entry.configure(&values)? {
        AppConfig::Voice(voice) => Ok(voice),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_codec_gives_the_packets() {
    // Rates at IP in bit/s: 80, 96, 24, 40 and 74.4 kbit/s.
    let cases = [
        ("g711", 80_000),
        ("g711-10", 96_000),
        ("g729", 24_000),
        ("opus-24", 40_000),
        ("caia-2011", 74_400),
    ];
    for (codec, rate) in cases {
        let speech = voice(&[("codec", codec)]).unwrap().speech;
        let seconds = speech.gap().as_nanos() as f64 / 1e9;
        let found = speech.size.get() as f64 * 8.0 / seconds;
        assert!((found - f64::from(rate)).abs() < 1e-6, "{codec} {found}");
    }
    let g729 = voice(&[("codec", "g729")]).unwrap();
    assert_eq!(
        (g729.impairment.equipment, g729.look_ahead),
        (11, Time::from_millis(5))
    );
    let own = voice(&[("codec", "opus-24"), ("size", "140B"), ("interval", "40ms")]).unwrap();
    assert_eq!(
        (own.speech.size, own.speech.gap()),
        (Bytes::new(140), Time::from_millis(40))
    );
    let tgax = voice(&[("codec", "tgax")]).unwrap().datagrams().unwrap();
    assert_eq!((tgax.size, tgax.least), (Bytes::new(73), Bytes::new(47)));
}

#[test]
fn what_has_no_effect_or_does_not_go_together_is_refused() {
    let refused = |settings: &[(&str, &str)]| voice(settings).unwrap_err().key;
    assert_eq!(refused(&[("buffer", "20ms")]), "buffer");
    assert_eq!(refused(&[("playout", "fixed"), ("max", "1s")]), "max");
    assert_eq!(refused(&[("talk", "1s")]), "pause");
    assert_eq!(refused(&[("playout", "ramjee")]), "playout");
    assert_eq!(
        refused(&[("codec", "g729"), ("concealment", "false")]),
        "concealment"
    );
    voice(&[("playout", "ramjee"), ("codec", "tgax")]).unwrap();
    voice(&[("playout", "ramjee"), ("talk", "1s"), ("pause", "1s")]).unwrap();
    let bare = voice(&[("concealment", "false")]).unwrap();
    assert_eq!(bare.impairment.robustness, 43);
}

#[test]
fn both_ends_talk_and_listen() {
    let call = voice(&[]).unwrap();
    let random = Random::new(1, "call");
    let mut ends = [Role::Sender, Role::Receiver].map(|role| call.end(role, random.clone()));
    let begin = Time::from_millis(5);
    for end in &mut ends {
        let actions = answer(end, begin, Input::Started);
        assert!(matches!(actions[0], Action::Datagram { .. }));
        assert_eq!(end.sent(), 1);
    }
    for end in &mut ends {
        let arrived = Input::Datagram {
            sequence: 0,
            sent: begin,
            size: Bytes::new(200),
            ecn: Ecn::NotEct,
            content: [0; 2],
        };
        assert!(answer(end, Time::from_millis(15), arrived).is_empty());
    }
    let [server, user] = ends;
    let mut report = user.report(1).unwrap();
    assert!(report.back.calls.is_empty());
    report.merge(&server.report(1).unwrap());
    for heard in [report.heard, report.back] {
        assert_eq!((heard.datagrams.received, heard.calls[0].played), (1, 1));
        // 20 ms of packet, 10 of network, 80 of buffer.
        assert_eq!(heard.mouth_to_ear.max(), Some(Time::from_millis(110)));
    }
}

#[test]
fn one_way_is_silent_on_the_other() {
    let call = voice(&[("both", "false")]).unwrap();
    let random = Random::new(1, "call");
    let mut user = call.end(Role::Receiver, random.clone());
    assert!(answer(&mut user, Time::ZERO, Input::Started).is_empty());
    assert!(call.end(Role::Sender, random).report(0).is_none());
    assert!(!call.datagrams().unwrap().both_ways);
}

#[test]
fn the_plan_of_each_direction_is_its_own() {
    let call = voice(&[("codec", "caia-2011")]).unwrap();
    let plan = |call: &Voice, role| {
        let mut end = call.end(role, Random::new(3, "call"));
        let (mut now, mut input, mut times) = (Time::ZERO, Input::Started, Vec::new());
        while times.len() < 50 {
            for action in answer(&mut end, now, input) {
                if let Action::WakeAt(at) = action {
                    times.push(at);
                    (now, input) = (at, Input::Wake);
                }
            }
        }
        times
    };
    assert_ne!(plan(&call, Role::Sender), plan(&call, Role::Receiver));
    // Whether the other end talks does not move this one.
    let one_way = Voice {
        both: false,
        ..call
    };
    assert_eq!(plan(&call, Role::Sender), plan(&one_way, Role::Sender));
}
