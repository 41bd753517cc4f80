//! A link that follows a trace given as an option.

use std::fs;
use std::path::Path;

use quell_testing::{Missed, Run, bound, live};
use serde_json::Value;

use crate::Case;
use crate::fixture::{COUNT, Fake, SERVER, SOURCE};

pub(crate) const CASES: &[Case] = &[
    (
        "a_download_follows_a_trace_of_rates",
        a_download_follows_a_trace_of_rates,
    ),
    (
        "an_upload_leaves_at_the_chances_of_a_mahimahi_trace",
        an_upload_leaves_at_the_chances_of_a_mahimahi_trace,
    ),
    ("traces_are_refused_in_words", traces_are_refused_in_words),
];

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

/// Takes down how late the link was.
fn note(run: &mut Run, report: &Value, direction: &str) {
    let late = number(report, &format!("/summary/link/{direction}/p99"));
    run.was_late(late, 1.0);
}

fn a_download_follows_a_trace_of_rates(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("steps.csv");
    // Half of the time 20 Mbit/s, half of the time 4.
    fs::write(&trace, "time_s,rate_mbps\n0,20\n1,4\n2,\n").unwrap();
    let out = folder.path().join("out");
    live("a_download_follows_a_trace_of_rates", |run| {
        let _ = fs::remove_dir_all(&out);
        let options = [
            // A file in the place of a rate is a trace.
            "--down",
            path(&trace),
            "--rtt",
            "10ms",
            "--queue",
            "fifo:limit=50ms",
            "--far-cc",
            "cubic",
            "--out",
            path(&out),
        ];
        let (said, report) = fake.role(&options, "read", &format!("{SERVER}:{SOURCE} 4"));
        note(run, &report, "lateness_ms");
        assert_eq!(report["exec"]["link"], "trace/unlimited 10ms fifo");
        let goodput = said.trim().parse::<f64>().unwrap() * 8.0 / 4.0 / 1e6;
        // The mean of both rates, of which 1448 of 1500 bytes are payload, and less where the rate rises.
        bound!((8.0..=11.6).contains(&goodput), "{goodput} Mbit/s");
        // It is the link in both halves, although most of the time in the second it carries a fifth of the first rate.
        let share = number(&report, "/exec/limited_by/down/link");
        bound!(share > 0.75, "{:#}", report["exec"]["limited_by"]);
        // The trace stands in the result, and the result gives the same link.
        let text = fs::read_to_string(out.join("scenario.toml")).unwrap();
        assert!(text.contains("data = '''"), "{text}");
        assert!(text.contains("1000000000,4000000"), "{text}");
        Ok::<(), Missed>(())
    });
    fs::remove_file(&trace).unwrap();
    let result = out.join("scenario.toml");
    let (said, report) = fake.role(&["--scenario", path(&result)], "sleep", "0");
    assert_eq!(
        (said.as_str(), &report["exec"]["rtt_ms"]),
        ("", &Value::from(10.0))
    );
    assert_eq!(report["exec"]["link"], "trace/unlimited 10ms fifo");
}

fn an_upload_leaves_at_the_chances_of_a_mahimahi_trace(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("12mbps");
    // A chance each millisecond: 12 Mbit/s.
    fs::write(&trace, "1\n").unwrap();
    let test = "an_upload_leaves_at_the_chances_of_a_mahimahi_trace";
    live(test, |run| {
        let halved = format!("{}:framing=mahimahi,scale=0.5", path(&trace));
        let bytes = 3_000_000.0;
        for (option, scale) in [(path(&trace), 1.0), (halved.as_str(), 0.5)] {
            let options = ["--up-trace", option, "--cc", "cubic"];
            let words = format!("{SERVER}:{COUNT} {bytes}");
            let (_, report) = fake.role(&options, "count", &words);
            let _ = fake.ends.recv();
            note(run, &report, "reverse_lateness_ms");
            let seconds = number(&report, "/summary/duration_s");
            let least = bytes * 8.0 / (12e6 * scale);
            bound!(
                (least..1.6 * least).contains(&seconds),
                "{option}: {seconds} s"
            );
            // What nobody uses of a chance is lost: nothing but full packets fills them.
            let used = number(&report, "/summary/link/reverse/utilisation");
            bound!(used > 0.6, "{used}");
        }
        Ok::<(), Missed>(())
    });
}

fn traces_are_refused_in_words(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.csv");
    fs::write(&bad, "time_s,rate_mbps\n0,12\n1,fast\n").unwrap();
    let good = folder.path().join("good.csv");
    fs::write(&good, "time_s,rate_mbps\n0,12\n1,6\n2,\n").unwrap();
    let (bad, good) = (path(&bad), path(&good));
    let unknown = format!("{good}:scael=2");
    let framed = format!("{good}:framing=mahimahi");
    let line = format!("{bad}:3: ");
    for (options, why) in [
        (&["--down-trace", bad][..], line.as_str()),
        (&["--up-trace", "no-such.csv"], "cannot read no-such.csv"),
        (&["--down-trace", unknown.as_str()], "there is no scael"),
        (&["--down-trace", framed.as_str()], "only with mode"),
        (
            &["--down-trace", good, "--down", "3mbit"],
            "cannot stand beside it",
        ),
        (
            &["--down-trace", good, "--rate", "3mbit"],
            "cannot stand beside it",
        ),
        (
            &["--up-trace", good, "--up", "3mbit"],
            "cannot stand beside it",
        ),
        (
            &["--up-trace", good, "--rate", "3mbit"],
            "cannot stand beside it",
        ),
        (
            &["--down-trace", good, "--at", "1s", "down=3mbit"],
            "follows a trace",
        ),
    ] {
        let arguments = [&["exec"], options, &["--", "true"]].concat();
        let output = fake.output(&mut fake.quell(&arguments));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{options:?}: {errors}");
        assert!(errors.contains(why), "{options:?}: {errors}");
    }
}
