use quell_lab::results::read::captured::{Captured, Fate, packets};
use quell_lab::sweep::Stored;
use quell_lab::{GuestOptions, Scenario, World};
use quell_units::{Bytes, Time};
use serde_json::{Value as Json, json};

use super::*;
use crate::experiment::Experiment;

fn read(text: &str) -> Result<Stack, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, text).unwrap();
    Stack::open(&file).map_err(|error| error.to_string())
}

/// The programs of the stack in a run.
fn program(trial: &Trial, run: Run) -> quell_app::kinds::program::Program {
    let scenario = trial.scenario(run).unwrap();
    let mut groups = scenario.groups.iter();
    let group = groups.find(|group| group.name == "stack").unwrap();
    match group.app.config() {
        quell_app::AppConfig::Program(program) => program.clone(),
        _ => panic!("no program"),
    }
}

#[test]
fn each_clause_says_who_asks_what_is_measured_and_has_a_name_of_its_own() {
    let all = clauses();
    assert!(all.len() >= 40, "{}", all.len());
    for one in &all {
        let same = all.iter().filter(|other| other.id == one.id);
        assert_eq!(same.count(), 1, "{}", one.id);
        assert!(one.by.contains("RFC"), "{}: {}", one.id, one.by);
        assert!(
            one.text.ends_with('.') && one.bound.ends_with('.'),
            "{}",
            one.id
        );
    }
    // Every file that is there is read.
    let groups = clause::groups().filter(|group| all.iter().any(|one| one.group == *group));
    assert_eq!(groups.count(), clause::groups().count());
    assert!(all.iter().filter(|one| one.is_quick).count() >= 10);
    assert!(Wanted::named(&["response".to_owned(), "coex-fq".to_owned()]).is_ok());
    let near = Wanted::named(&["law-scalabel".to_owned()]).unwrap_err();
    assert!(
        near.to_string().contains("did you mean law-scalable?"),
        "{near}"
    );
}

#[test]
fn what_is_wrong_with_a_stack_is_one_line_with_the_remedy() {
    const GOOD: &str = "schema = 1\nname = \"a\"\nclient = [\"true\"]\n";
    assert!(read(GOOD).is_ok());
    for (text, why) in [
        (
            "name = \"a\"\nclient = [\"true\"]\n",
            "schema: is missing; must be 1",
        ),
        (
            "schema = 2\nname = \"a\"\nclient = [\"true\"]\n",
            "must be 1",
        ),
        ("schema = 1\nclient = [\"true\"]\n", "name: is missing"),
        (
            "schema = 1\nname = \"a\"\n",
            "of quell's own flows their congestion control (control) or application (app)",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = \"true\"\n",
            "must be a list of words",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = [\"true\"]\nclaims = \"l5s\"\n",
            "must be one of l4s, classic",
        ),
        (
            "schema = 1\nname = \"a\"\napp = \"rtc\"\n",
            "must be a table such as { kind = \"rtc\"",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = [\"true\"]\nsend = \"server\"\n",
            "did you mean sends?",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = [\"./no-such\"]\nbuild = \"make x\"\n",
            "is not there; build it: make x",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = [\"./no-such\"]\n",
            "give the path of a program",
        ),
        (
            "schema = 1\nname = \"a\"\nclient = [\"true\"]\nqlog = \"$RESULT\"\n",
            "must be the variable that names a folder for logs",
        ),
        ("schema = 1\nname = ", "s.toml:2"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// A command line reaches the scenario as it was written, whatever is in it.
#[test]
fn the_words_of_a_stack_are_those_of_its_group() {
    let words = [
        "sh",
        "-c",
        "for x in {a,b}; do echo \"$x\" 'y\\n'; done",
        "é\t$SERVER",
        "{{",
    ];
    let text = format!(
        "schema = 1\nname = \"a\"\nsends = \"server\"\nserver = {0}\nclient = {0}\n",
        json!(words)
    );
    let stack = read(&text).unwrap();
    assert!(stack.has_programs());
    let trial = Trial::new(
        stack,
        &Wanted::All,
        2,
        World::Virtual,
        &GuestOptions::default(),
    )
    .unwrap();
    for run in trial.runs() {
        let program = program(&trial, run);
        for part in quell_app::kinds::program::Part::BOTH {
            let own: Vec<&str> = program.line(part).unwrap().words().collect();
            // Where counts are judged, the environment is set before.
            assert_eq!(own[own.len() - words.len()..], words);
        }
    }
    // A program is named by its path from the file.
    let path = read("schema = 1\nname = \"a\"\nclient = [\"../../bin/true\"]\n");
    assert!(path.is_err() || path.unwrap().has_programs());
}

#[test]
fn a_stack_writes_its_log_where_a_clause_reads_it() {
    let base = "schema = 1\nname = \"a\"\nserver = [\"/bin/sh\"]\nclient = [\"true\"]\n";
    let server = |more: &str, group: &str| {
        let stack = read(&format!("{base}{more}")).unwrap();
        let wanted = Wanted::named(&[group.to_owned()]).unwrap();
        let trial =
            Trial::new(stack, &wanted, 1, World::Virtual, &GuestOptions::default()).unwrap();
        let program = program(&trial, trial.runs()[0]);
        let line = program.line(quell_app::kinds::program::Part::Server);
        line.unwrap().words().collect::<Vec<_>>().join(" ")
    };
    let variable = "qlog = \"QLOGDIR\"\n";
    let variant = "qlog = { server = [\"x\", \"$RESULT\"], client = [\"y\"] }\n";
    for (more, expected) in [
        (variable, "QLOGDIR=$RESULT /bin/sh"),
        (variant, "x $RESULT"),
        ("", "/bin/sh"),
    ] {
        let expected = format!("env SSLKEYLOGFILE=$RESULT/keys {expected}");
        assert_eq!(server(more, "identification"), expected);
    }
    assert_eq!(server(variable, "saturation"), "/bin/sh");
}

#[test]
fn an_application_of_quell_runs_as_its_table_says() {
    let text = "schema = 1\nname = \"a\"\nclaims = \"l4s\"\napp = { kind = \"rtc\", control = \"scream\", fps = 30 }\n";
    let stack = read(text).unwrap();
    assert!(!stack.has_programs());
    let guest = GuestOptions::default();
    let trial = Trial::new(stack, &Wanted::Quick, 1, World::Sim, &guest).unwrap();
    let text = trial.scenario(trial.runs()[0]).unwrap().to_toml();
    for part in [
        "kind = \"rtc\"",
        "control = \"scream\"",
        "fps = 30",
        "ecn = \"ect1\"",
    ] {
        assert!(text.contains(part), "no {part}: {text}");
    }
}

#[test]
fn controls_of_quell_run_with_the_code_that_they_claim() {
    for (claims, code) in [("l4s", "ect1"), ("classic", "ect0"), ("none", "off")] {
        let text =
            format!("schema = 1\nname = \"a\"\ncontrol = \"cubic\"\nclaims = \"{claims}\"\n");
        let stack = read(&text).unwrap();
        assert!(!stack.has_programs());
        let trial = Trial::new(
            stack,
            &Wanted::Quick,
            1,
            World::Sim,
            &GuestOptions::default(),
        )
        .unwrap();
        let scenario = trial.scenario(trial.runs()[0]).unwrap();
        assert!(
            scenario.to_toml().contains(&format!("ecn = \"{code}\"")),
            "{}",
            scenario.to_toml()
        );
    }
}

#[test]
fn seeds_that_do_not_agree_leave_a_clause_open() {
    let of = Verdict::of_seeds;
    assert_eq!(of(&[Verdict::Pass, Verdict::Pass]), Verdict::Pass);
    assert_eq!(of(&[Verdict::Fail]), Verdict::Fail);
    let open = of(&[Verdict::Pass, Verdict::Fail, Verdict::Pass]);
    assert_eq!(open.why(), Some("it passes with 2 of 3 seeds"));
    assert_eq!(of(&[]).name(), "open");
}

/// A clause over one figure, with everything that a clause may say.
const CLAUSE: &str = r#"schema = 1
title = "t"
source = "s"
scenario = "rfc7928/s5-1-mild.toml"
seeds = 2
[axis]
x = [1, 2]
[statement.one]
published = "p"
checked = "c"
check = { each = [], holds = "max(f) <= 1" }
shown = "f up to {max(f):.1}"
clause = { by = "RFC 1", level = "MUST", fail = "max(f) >= 2", na = { "it has none" = "min(f) < 0" }, open = { "it is far" = "max(f) > 9" } }
[figure]
f = "value_of"
"#;

#[test]
fn a_clause_passes_fails_stays_open_or_does_not_apply() {
    let scenario = crate::shipped::paths().next().unwrap();
    let text = CLAUSE.replace("rfc7928/s5-1-mild.toml", scenario);
    let experiment = Experiment::read("e", &text.replace("value_of", "group.value"), &|_| None);
    let experiment = Experiment::read("e", &text.replace("value_of", "run.value"), &|_| None)
        .or(experiment)
        .unwrap();
    let ruled = |values: [f64; 4]| {
        let stored = values.map(|value| Stored::Figures(json!({ "value": value }).to_string()));
        [1, 2].map(|seed| experiment.ruled(&stored, seed).remove(0))
    };
    // Seeds are innermost, and each is judged by itself.
    let [first, second] = ruled([0.5, 1.0, 1.0, 2.5]);
    assert_eq!(first, (Verdict::Pass, "f up to 1.0".to_owned()));
    assert_eq!(second, (Verdict::Fail, "f up to 2.5".to_owned()));
    let [between, absent] = ruled([1.5, -1.0, 1.0, 5.0]);
    assert_eq!(
        between.0,
        Verdict::Open("between the bounds of pass and fail".to_owned())
    );
    assert_eq!(absent.0, Verdict::NotApplicable("it has none".to_owned()));
    let [far, _] = ruled([10.0, 0.0, 1.0, 0.0]);
    assert_eq!(far.0, Verdict::Open("it is far".to_owned()));
    // What failed and what has another form is open, and says why.
    let broken = Stored::Failed("no".to_owned());
    let judged = experiment.ruled(&[broken.clone(), broken.clone(), broken.clone(), broken], 1);
    assert_eq!(judged[0].0.name(), "open");
}

/// What the packets of a modelled Prague say, beside what its own summary counts.
#[test]
fn packets_say_what_was_sent_and_how_long_its_trains_were() {
    let folder = tempfile::tempdir().unwrap();
    let stack = read("schema = 1\nname = \"a\"\ncontrol = \"prague\"\nclaims = \"l4s\"\n").unwrap();
    let named = Wanted::named(&["identification".to_owned()]).unwrap();
    let trial = Trial::new(stack, &named, 1, World::Sim, &GuestOptions::default()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let runs = trial.runs();
    let results: Vec<Stored> = runs
        .iter()
        .map(|run| trial.carry_out(*run, &folder.path().join(trial.folder(*run)), &stop))
        .collect();
    let Stored::Figures(text) = &results[0] else {
        panic!("{results:?}")
    };
    let figures: Json = serde_json::from_str(text).unwrap();
    let data = &figures["traffic"]["forward"]["data"];
    let count = |name: &str| data[name].as_u64().unwrap();
    assert_eq!(
        (count("ect0"), count("not_ect"), count("ce")),
        (0, 0, 0),
        "{data}"
    );
    assert!(count("ect1") > 10_000, "{data}");
    // A fair queue in front of the link, so that packets leave one by one.
    assert!(
        figures["traffic"]["forward"]["train_p99"].as_u64().unwrap() <= 3,
        "{figures}"
    );
    let judged = trial.judged(&results, folder.path());
    let of = |id: &str| judged.iter().find(|one| one.clause.id == id).unwrap();
    assert_eq!(of("id-ect1").verdict, Verdict::Pass, "{:?}", of("id-ect1"));
    assert_eq!(of("fb-quic").verdict.name(), "n/a", "{:?}", of("fb-quic"));
    // The same acknowledgements from receivers with a defect.
    let scenario = trial.scenario(runs[0]).unwrap();
    let file = folder
        .path()
        .join(trial.folder(runs[0]))
        .join("packets.pcapng");
    for (change, expected) in [
        (begin_ace_at_0 as fn(&mut [u8]), "fb-ace"),
        (count_bytes_of_headers, "fb-option"),
    ] {
        let mut watch = traffic::Watch::new(&scenario);
        packets(&file, |packet| {
            let mut header = packet.header.to_vec();
            // Acknowledgements: data is longer, and a SYN agrees on AccECN.
            if packet.length.get() < 300 && header[33] & 2 == 0 {
                change(&mut header);
            }
            watch.see(&Captured {
                header: &header,
                ..packet
            });
        })
        .unwrap();
        let mut figures = figures.clone();
        figures["traffic"] = watch.finish(scenario.run.duration, "".as_ref());
        let judged = trial.judged(&[Stored::Figures(figures.to_string())], folder.path());
        let failed = judged.iter().filter(|one| one.verdict == Verdict::Fail);
        let failed: Vec<&str> = failed.map(|one| one.clause.id.as_str()).collect();
        assert_eq!(failed, [expected], "{judged:?}");
    }
}

/// A defect: the counter of CE packets begins with 0 instead of 5 (RFC 9768 section 3.2.1).
fn begin_ace_at_0(header: &mut [u8]) {
    let ace = (header[32] & 1) << 2 | header[33] >> 6;
    let ace = ace.wrapping_sub(5) & 7;
    header[32] = header[32] & !1 | ace >> 2;
    header[33] = header[33] & 0x3f | (ace & 3) << 6;
}

/// A defect: the option counts 1500 bytes of each CE packet instead of its payload: a twentieth more.
fn count_bytes_of_headers(header: &mut [u8]) {
    let end = 20 + usize::from(header[32] >> 4) * 4;
    let mut at = 40;
    while at < end && header[at] != 0 {
        let length = if header[at] == 1 {
            1
        } else {
            usize::from(header[at + 1])
        };
        if matches!(header[at], 172 | 174) && length >= 8 {
            let counter = header[at + 5..at + 8].iter();
            let payload = counter.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let all = payload + payload / 20;
            header[at + 5..at + 8].copy_from_slice(&all.to_be_bytes()[5..]);
        }
        at += length;
    }
}

/// The counters of AccECN are those of RFC 9768 section 3.2.
#[test]
fn the_counters_of_a_receiver_are_read_from_its_acknowledgements() {
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = \"fifo\"\n[run]\nduration = \"3s\"\n[[group]]\nname = \"stack\"\nrtt = \"20ms\"\napp = \"bulk\"\n";
    let scenario = Scenario::load("t.toml", text, &[], None).unwrap().scenario;
    let mut watch = traffic::Watch::new(&scenario);
    let mut see = |interface, millis, code: u8, flags: [u8; 2], options: &[u8], length, marked| {
        let mut header = vec![0_u8; 40];
        (header[0], header[1], header[9]) = (0x45, code, 6);
        header[32] = (5 + options.len() as u8 / 4) << 4 | flags[0];
        header[33] = flags[1];
        header[30..32].copy_from_slice(&1_460_u16.to_be_bytes());
        header.extend_from_slice(options);
        watch.see(&Captured {
            interface,
            arrival: Time::from_millis(millis),
            header: &header,
            length: Bytes::new(length),
            sojourn: Time::ZERO,
            fate: Fate::Delivered,
            marked,
            group: Some("stack"),
        });
    };
    let option = [172, 11, 0, 0, 1, 0, 5, 0xb4, 0, 0x0b, 0x69, 1];
    see("forward", 0, 1, [1, 0xc2], &[], 40, false);
    see("reverse", 10, 0, [0, 0xd2], &[], 40, false);
    see("forward", 20, 1, [0, 0x10], &[], 1_500, false);
    see("forward", 20, 3, [0, 0x10], &[], 1_500, true);
    see("reverse", 30, 0, [1, 0x90], &option, 52, false);
    see("forward", 1_500, 2, [0, 0x10], &[], 1_500, false);
    let traffic = watch.finish(scenario.run.duration, "".as_ref());
    let (feedback, forward) = (&traffic["feedback"], &traffic["forward"]);
    let of = |part: &Json, names: [&str; 2]| names.map(|name| part[name].as_f64().unwrap());
    assert_eq!(of(feedback, ["syn", "syn_ack"]), [7.0, 3.0]);
    assert_eq!(of(feedback, ["ace", "ce"]), [1.0, 1.0], "{feedback}");
    assert_eq!(of(feedback, ["option_ce", "bytes_ce"]), [1_460.0, 1_460.0]);
    assert_eq!(of(feedback, ["option_off", "options"]), [1_460.0, 1.0]);
    assert_eq!(of(&forward["syn"], ["ect1", "ce"]), [1.0, 0.0]);
    // The same bytes come three times.
    assert_eq!(
        of(&forward["data"], ["ect1", "marked"]),
        [1.0, 0.0],
        "{forward}"
    );
    assert_eq!(
        of(&forward["again"], ["ect0", "marked"]),
        [1.0, 1.0],
        "{forward}"
    );
    assert_eq!(
        of(forward, ["train_max", "silence_s"]),
        [2.0, 1.5],
        "{forward}"
    );
}

/// A stack that keeps its ECT packets to the end is told from one whose kernel says at the end that nobody listens.
#[test]
fn what_a_kernel_says_of_a_program_that_has_ended_is_no_packet_of_the_stack() {
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = \"fifo\"\n[run]\nduration = \"8s\"\n[[group]]\nname = \"stack\"\nrtt = \"20ms\"\napp = \"bulk\"\n";
    let scenario = Scenario::load("t.toml", text, &[], None).unwrap().scenario;
    let last_ect = |protocol: u8| {
        let mut watch = traffic::Watch::new(&scenario);
        for (seconds, protocol) in [(1, 17), (7, protocol)] {
            let mut header = vec![0_u8; 28];
            (header[0], header[1], header[9]) = (0x45, 2, protocol);
            watch.see(&Captured {
                interface: "forward",
                arrival: Time::from_millis(seconds * 1_000),
                header: &header,
                length: Bytes::new(91),
                sojourn: Time::ZERO,
                fate: Fate::Delivered,
                marked: false,
                group: Some("stack"),
            });
        }
        let traffic = watch.finish(scenario.run.duration, "".as_ref());
        traffic["forward"]["last_ect_s"].as_f64().unwrap()
    };
    assert_eq!([last_ect(17), last_ect(1)], [7.0, 1.0]);
}

/// 476 bytes every 8 ms are 476 kbit/s, 640 bytes 640 kbit/s: of these the bucket of 1500 bytes lets 0.78 pass, once it is empty.
#[test]
fn a_stream_of_nqb_may_have_half_a_megabit_a_second_and_one_packet_more() {
    let text = "schema = 1\nname = \"t\"\n[link]\nrate = \"4mbit\"\nqueue = \"fifo\"\n[run]\nduration = \"8s\"\n[[group]]\nname = \"stack\"\nrtt = \"20ms\"\napp = \"bulk\"\n";
    let scenario = Scenario::load("t.toml", text, &[], None).unwrap().scenario;
    let share_beyond = |length: u64, at_once: u64| {
        let mut watch = traffic::Watch::new(&scenario);
        for packet in 0..at_once * 1_000 {
            let mut header = vec![0_u8; 28];
            (header[0], header[1], header[9]) = (0x45, 45 << 2, 17);
            watch.see(&Captured {
                interface: "forward",
                arrival: Time::from_millis(packet / at_once * 8),
                header: &header,
                length: Bytes::new(length),
                sojourn: Time::ZERO,
                fate: Fate::Delivered,
                marked: false,
                group: Some("stack"),
            });
        }
        let traffic = watch.finish(scenario.run.duration, "".as_ref());
        let of = |name: &str| traffic["forward"][name].as_f64().unwrap();
        of("nqb_beyond") / of("nqb")
    };
    assert_eq!(share_beyond(476, 1), 0.0);
    let beyond = share_beyond(640, 1);
    assert!((0.20..0.22).contains(&beyond), "{beyond}");
    // Bursts are beyond although their rate is not: three times 160 bytes are not, three times 600 are.
    assert_eq!(share_beyond(160, 3), 0.0);
    assert!(share_beyond(600, 3) > 0.6);
}

/// The log of a receiver in each form: what comes before the cut, whatever else is there.
#[test]
fn logs_of_each_form_say_the_same() {
    const HANDSHAKE: &str =
        r#"{"header":{"packet_type":"initial"},"frames":[{"frame_type":"ack","ect0":900}]}"#;
    const DATA: &str = r#"{"header":{"packet_type":"1RTT"},"frames":[{"frame_type":"ping"},{"frame_type":"ack","ect0":7,"ect1":1,"ce":3}]}"#;
    const CLIENT: &str = r#""vantage_point":{"type":"client"}"#;
    let object = |(time, name, data): (f64, &str, &str)| {
        format!(r#"{{"time":{time},"name":"transport:{name}","data":{data}}}"#)
    };
    let list =
        |(time, name, data): (f64, &str, &str)| format!(r#"[{time},"transport","{name}",{data}]"#);
    // The last counts come a second after the first packet.
    const OWN: &str = r#"{"congestion_window":3000,"smoothed_rtt":7}"#;
    const OWN_OLD: &str = r#"{"cwnd":3000,"smoothed_rtt":7000}"#;
    let all = |times: [f64; 4], own: &'static str| {
        let data = [HANDSHAKE, own, DATA, r#"{"new":"failed"}"#];
        let names = [
            "packet_sent",
            "metrics_updated",
            "packet_sent",
            "ecn_state_updated",
        ];
        [0, 1, 2, 3].map(|at| (times[at], names[at], data[at]))
    };
    let relative = all([5.0, 20.0, 1_005.0, 1_005.0], OWN);
    let sequence = |mark: &str, fields: &str, events: [(f64, &str, &str); 4]| {
        let head = format!(r#"{{"trace":{{{fields}{CLIENT}}}}}"#);
        let lines = [head].into_iter().chain(events.map(object));
        let lines = lines.map(|line| format!("{mark}{line}\n"));
        lines.collect::<String>()
    };
    let contained = |more: &str, events: [String; 4], end: &str| {
        let events = events.join(",\n");
        format!("{{\"summary\":[1,null],\"traces\":[{{{CLIENT},{more}\"events\":[{events}{end}")
    };
    let units = r#""configuration":{"time_units":"us"},"#;
    let micros = all([5e3, 2e4, 1_005e3, 1_005e3], OWN_OLD).map(list);
    let steps = r#""common_fields":{"time_format":"relative_to_previous_event"},"#;
    let by_step = all([5.0, 15.0, 985.0, 0.0], OWN);
    let broken = "\x1e{\"time\": 3, \"na\n\x1e[]\n\x1e7\n".to_owned() + &"x".repeat(3 << 20);
    let usual = sequence("\x1e", "", relative);
    for (name, text) in [
        ("a.qlog", contained("", relative.map(object), "]}]}")),
        // As picoquic leaves its files when it is ended.
        ("old.qlog", contained(units, micros, ",\n[3, \"transp")),
        ("a.sqlog", usual.clone()),
        ("lines.sqlog", sequence("", "", relative)),
        ("step.sqlog", sequence("\x1e", steps, by_step)),
        ("cut.sqlog", usual + &broken),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("client");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join(name), text).unwrap();
        // What is no log of ours is passed over.
        std::fs::write(folder.path().join("b.log"), "{}").unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("c.qlog")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("d.sqlog")).unwrap();
        let logs = qlog::logs(folder.path());
        assert_eq!(logs.len(), 1, "{name}");
        let (log, sent) = (&logs[0], &logs[0].sent.0);
        let [(at, [1, 7, 3])] = sent[..] else {
            panic!("{name}: {sent:?}")
        };
        assert!((at - 1.0).abs() < 1e-9, "{name}: {at}");
        let rest = (log.is_server, log.received.0.len(), log.ecn_failed);
        assert_eq!(rest, (Some(false), 0, Some(at)), "{name}");
        let [own] = log.samples[..] else {
            panic!("{name}: {:?}", log.samples)
        };
        assert!((own.at - 0.015).abs() < 1e-9, "{name}: {}", own.at);
        assert_eq!(
            (own.cwnd, own.smoothed_rtt_ms),
            (Some(3e3), Some(7.0)),
            "{name}"
        );
    }
}

/// A thousand packets a second, each tenth marked, the first one behind a long header, seen in another order: what may be echoed of them.
#[test]
fn echoed_counts_are_those_of_what_arrived() {
    let stack = read("schema = 1\nname = \"a\"\nclient = [\"true\"]\n").unwrap();
    let figures = |[ect0, ect1, ce]: [u64; 3], logs: usize| {
        let folder = tempfile::tempdir().unwrap();
        let event = |time: u64, frame: &str| {
            format!(r#"{{"time":{time},"name":"packet_sent","data":{{"frames":[{frame}]}}}}"#)
        };
        let frame = format!(r#"{{"frame_type":"ack","ect0":{ect0},"ect1":{ect1},"ce":{ce}}}"#);
        let head = r#"{"trace":{"vantage_point":{"type":"client"}}}"#;
        let text = [head, &event(0, ""), &event(1_500, &frame)].join("\n");
        for log in 0..logs {
            std::fs::write(folder.path().join(format!("{log}.sqlog")), &text).unwrap();
        }
        let mut echo = echo::Echo::read(folder.path(), "", &stack)?;
        for packet in (0..2_000_u64).rev() {
            let code = if packet % 10 == 9 { 3 } else { 2 };
            echo.see(Time::from_millis(500 + packet), code, packet == 0);
        }
        let figures = echo.figures(0.5, folder.path());
        Some(["off", "missing", "connections"].map(|name| figures[name].as_u64().unwrap()))
    };
    for (counts, expected) in [
        // The first packet is of another space, or there is one of this space behind it.
        ([1_349, 0, 150], [0, 0, 1]),
        ([1_350, 0, 150], [0, 0, 1]),
        // Of 150 CE every second one is ECT(1); all are; ECT(0) is ECT(1).
        ([1_350, 75, 75], [150, 0, 1]),
        ([1_350, 150, 0], [300, 0, 1]),
        ([0, 1_350, 150], [2_700, 0, 1]),
        // What was delivered 0.2 s before is there, or not: half of it, then CE.
        ([1_170, 0, 130], [0, 0, 1]),
        ([675, 0, 75], [0, 550, 1]),
        ([1_350, 0, 0], [270, 0, 1]),
    ] {
        assert_eq!(figures(counts, 1), Some(expected), "{counts:?}");
    }
    assert_eq!(figures([1_350, 0, 150], 2).unwrap()[2], 2);
    assert_eq!(figures([1_350, 0, 150], 0), None);
}
