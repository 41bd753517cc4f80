//! The C examples, built by the C compiler and run: statically and dynamically linked, beside the same simulation in Rust, under the
//! address sanitizer and under valgrind.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::KINDS;
use quell_aqm::{
    Bottleneck, Bytes, Departure, Discipline, Drop, DropReason, Ecn, Link, MarkReason, Observer,
    Packet as _, QueueId, Random, Rate, Settings, Time,
};
use quell_aqm_c::packet::Packet;
use quell_testing::not_run;

/// Where cargo puts the libraries of this crate for its tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// A compiler for C, unless the machine has none.
fn compiler() -> Option<&'static str> {
    let found = ["cc", "gcc", "clang"];
    found
        .into_iter()
        .find(|name| runs(Command::new(name).arg("--version")))
}

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Builds an example; the flags decide which library it takes.
fn build(compiler: &str, example: &str, name: &str, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(compiler);
    command
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-O1",
            "-g",
            "-I",
        ])
        .arg(root.join("include"))
        .arg(root.join("examples").join(example))
        .args(flags)
        .args(["-pthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    program
}

fn static_library() -> String {
    libraries().join("libquell_aqm_c.a").display().to_string()
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Runs it and returns what it printed.
fn run(command: &mut Command) -> String {
    // Where cargo looks for libraries an older one may lie, of a build by hand.
    let output = command.env_remove("LD_LIBRARY_PATH").output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Every kind with its defaults, and one with options.
fn cases() -> impl Iterator<Item = Vec<&'static str>> {
    let kinds = KINDS.iter().map(|entry| vec![entry.name]);
    kinds.chain([vec!["fifo", "limit=20p", "count_in_service=true"]])
}

/// Counts as `examples/link.c` does.
#[derive(Default)]
struct Totals {
    delivered: u64,
    ce: u64,
    waited: u64,
    drops: Vec<DropReason>,
    marks: Vec<MarkReason>,
}

impl Observer<Packet> for Totals {
    fn marked(&mut self, _queue: QueueId, _packet: &Packet, reason: MarkReason, _now: Time) {
        self.marks.push(reason);
    }
    fn dropped(&mut self, _packet: Packet, drop: Drop, _now: Time) {
        self.drops.push(drop.reason);
    }
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        self.delivered += 1;
        self.ce += u64::from(packet.ecn() == Ecn::Ce);
        self.waited += (departure.start - packet.arrival()).as_nanos();
    }
}

/// What `examples/link.c` prints before the gauges, without C.
fn expected(case: &[&str]) -> String {
    let entry = quell_aqm::disciplines::find(case[0]).unwrap();
    let mut settings = Settings::new(entry.parameters);
    for given in &case[1..] {
        let (name, value) = given.split_once('=').unwrap();
        settings.set(name, value).unwrap();
    }
    let rate = Rate::from_mbps(10);
    let link = Link {
        rate,
        mtu: Bytes::new(1_500),
    };
    let qdisc = Discipline::new(case[0], settings, link, Random::new(1, "queue")).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Totals::default());
    let (mut now, mut state) = (0, 1_u64);
    // 800 µs at 120 %.
    let mean = 1_000 * 8 * 1_000_000_000 / 10_000_000 * 10 / 12;
    for number in 0..20_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        now += (state >> 33) % (2 * mean);
        let packet = Packet {
            user: std::ptr::null_mut(),
            flow: number % 3,
            arrival: 0,
            length: 1_000,
            memory: 0,
            value: 0,
            traffic_class: [0, 2, 1][number as usize % 3],
        };
        link.arrive(packet, Time::from_nanos(now), &mut |_, _| ());
    }
    let waiting = link.backlog().packets;
    let totals = link.observer();
    let mut text = format!(
        "offered 20000\ndelivered {}\nwaiting {waiting}\nmean wait {} ns\nce {}\n",
        totals.delivered,
        totals.waited / totals.delivered,
        totals.ce
    );
    let mut line = |what: &str, reason: &str, count: usize| {
        if count > 0 {
            text += &format!("{what}, {reason} {count}\n");
        }
    };
    for reason in MarkReason::ALL {
        let count = totals.marks.iter().filter(|r| *r == reason).count();
        line("marked", reason.name(), count);
    }
    for reason in DropReason::ALL {
        let count = totals.drops.iter().filter(|r| *r == reason).count();
        line("dropped", reason.name(), count);
    }
    text
}

#[test]
fn c_gets_what_rust_gets_from_every_discipline() {
    let Some(compiler) = compiler() else {
        return not_run("C examples", "there is no C compiler");
    };
    let folder = libraries().display().to_string();
    let programs = [
        build(compiler, "link.c", "link-static", &[&static_library()]),
        build(
            compiler,
            "link.c",
            "link-shared",
            &[
                "-L",
                &folder,
                "-lquell_aqm_c",
                &format!("-Wl,-rpath,{folder}"),
            ],
        ),
    ];
    let mut seen = Vec::new();
    for case in cases() {
        let expected = expected(&case);
        for program in &programs {
            let printed = run(Command::new(program).args(&case));
            assert!(
                printed.starts_with(&expected),
                "{case:?}\n{printed}\n{expected}"
            );
        }
        seen.push(expected);
    }
    // Disciplines differ, and something is dropped and marked.
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 2, "{seen:?}");
    let list = run(&mut Command::new(&programs[0]));
    for entry in KINDS {
        assert!(
            list.contains(&format!("\n{}: {}\n", entry.name, entry.summary)),
            "{list}"
        );
    }
    for (arguments, message) in [
        (&["nothing"][..], "kind = nothing: must be one of"),
        (&["fifo", "limit=0p"], "limit = 0p: must be"),
        (&["fifo", "colour=red"], "colour = red: unknown parameter"),
    ] {
        let output = Command::new(&programs[0]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output).contains(message), "{}", text(&output));
    }
}

#[test]
fn cplusplus_takes_the_header() {
    let Some(compiler) = compiler() else {
        return not_run("the header in C++", "there is no C compiler");
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = root.join("include/quell_aqm.h");
    let mut command = Command::new(compiler);
    command.args([
        "-x",
        "c++",
        "-std=c++11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
    ]);
    let output = command.arg(header).output().unwrap();
    if text(&output).contains("cc1plus") {
        return not_run("the header in C++", "there is no C++ compiler");
    }
    assert!(output.status.success(), "{}", text(&output));
}

/// Runs examples with every kind.
fn all(examples: &[&str], name: &str, flags: &[&str], wrapper: &[&str]) {
    let compiler = compiler().unwrap();
    for example in examples {
        let library = static_library();
        let flags = [flags, &[&library]].concat();
        let program = build(
            compiler,
            &format!("{example}.c"),
            &format!("{example}-{name}"),
            &flags,
        );
        let path = program.display().to_string();
        let check = |case: &Vec<&str>| {
            let words = [wrapper, &[&path], case].concat();
            let printed = run(Command::new(words[0]).args(&words[1..]));
            assert!(printed.contains("\nwaiting "), "{printed}");
        };
        let cases: Vec<_> = cases().collect();
        let half = cases.len().div_ceil(2);
        thread::scope(|scope| {
            for part in cases.chunks(half) {
                scope.spawn(|| part.iter().for_each(check));
            }
        });
    }
}

#[test]
fn a_poll_loop_loses_no_buffer() {
    if compiler().is_none() {
        return not_run("C poll loop", "there is no C compiler");
    }
    all(&["poll"], "plain", &[], &[]);
    let program = build(
        compiler().unwrap(),
        "poll.c",
        "poll-live",
        &[&static_library()],
    );
    let with = |live: &str| {
        run(Command::new(&program)
            .args(["fifo", "limit=20p"])
            .env("LIVE", live))
    };
    assert_ne!(with("limit=5p"), with("limit=40p"));
}

#[test]
fn the_address_sanitizer_finds_nothing() {
    let Some(compiler) = compiler() else {
        return not_run("C under the address sanitizer", "there is no C compiler");
    };
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("empty.c");
    fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let program = empty.with_extension("");
    let mut probe = Command::new(compiler);
    if !runs(probe.args(flags).arg(&empty).arg("-o").arg(&program))
        || !runs(&mut Command::new(&program))
    {
        return not_run("C under the address sanitizer", "this compiler has none");
    }
    all(&["link", "poll"], "asan", &flags, &[]);
}

#[test]
fn valgrind_finds_nothing() {
    if compiler().is_none() || !runs(Command::new("valgrind").arg("--version")) {
        return not_run("C under valgrind", "there is no C compiler, or no valgrind");
    }
    let check = [
        "valgrind",
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,possible",
    ];
    // A tenth of the work, which valgrind makes fifty times as long.
    all(&["poll"], "valgrind", &["-DROUNDS=2000"], &check);
}
