//! `scripts/test-program`, by which `make test` runs each test program.

use crate::scripts::{Place, said};

/// A program with the harness of Rust, as far as the script sees it: one test passes, one fails, one is left out. The second waited twice
/// for its turn. Its help is long, and fails
/// if nobody reads it to its end.
const HARNESS: &str = r#"
help() {
    lines=0
    while [ $lines -lt 20000 ]; do echo "  --report-time" || exit 101; lines=$((lines + 1)); done
}
case "$*" in *--help*) help; exit ;; esac
case "$*" in *--report-time*) ;; *) echo "times were not asked for"; exit 3 ;; esac
echo "running with ${RUSTC_BOOTSTRAP:-nothing}"
echo "test quick ... ok <0.250s>"
echo "40000 deep::slow" >>"$QUELL_WAITED"
echo "1250 deep::slow" >>"$QUELL_WAITED"
echo "test deep::slow ... FAILED <61.500s>"
echo "test longest ... ignored, takes long: make test-all"
printf 'failures:\n---- deep::slow stdout ----\nit was late\n'
i=0
while [ $i -lt 100 ]; do echo "more"; i=$((i + 1)); done
printf 'failures:\n    deep::slow\ntest result: FAILED\n'
exit 101
"#;

#[test]
fn each_test_has_its_time_and_what_is_left_out_is_named() {
    let place = Place::new();
    place.program("suite-0123abcd", HARNESS);
    let program = place.path("bin/suite-0123abcd");
    let (times, not_run) = (place.path("times"), place.path("not-run"));
    let failed = place.path("failed");
    let environment = [
        ("QUELL_FAILED", failed.to_str().unwrap()),
        ("QUELL_TIMES", times.to_str().unwrap()),
        ("QUELL_NOT_RUN", not_run.to_str().unwrap()),
    ];
    let output = place.run(
        "scripts/test-program",
        &[program.to_str().unwrap()],
        &environment,
    );
    assert_eq!(output.status.code(), Some(101), "{}", said(&output));
    assert!(said(&output).contains("test deep::slow ... FAILED"));
    let times = place.read("times");
    let lines: Vec<&str> = times.lines().collect();
    assert_eq!(
        lines[..2],
        ["0.250 suite::quick", "20.250 suite::deep::slow"]
    );
    assert!(lines[2].ends_with("e-3 suite, all of it"), "{times}");
    assert_eq!(
        place.read("not-run"),
        "not run: suite::longest: takes long: make test-all runs it\n"
    );
    // What the failed test said, but not without end, then its name and that of its program.
    let failed = place.read("failed");
    let lines: Vec<&str> = failed.lines().collect();
    assert_eq!(lines[1], "suite: it was late", "{failed}");
    assert_eq!(
        lines[60..],
        ["suite:     deep::slow", "failed: suite, exit code 101"]
    );
}

#[test]
fn a_program_with_a_harness_of_its_own_is_run_as_it_is() {
    let place = Place::new();
    place.program(
        "own-0123abcd",
        "[ \"$1\" = --help ] && exit\necho \"test all ... done $*\"\n",
    );
    let program = place.path("bin/own-0123abcd");
    let times = place.path("times");
    let output = place.run(
        "scripts/test-program",
        &[program.to_str().unwrap(), "some"],
        &[("QUELL_TIMES", times.to_str().unwrap())],
    );
    assert!(output.status.success());
    assert!(said(&output).contains("test all ... done some"));
    assert!(place.read("times").ends_with("e-3 own, all of it\n"));
}

/// A program in which one test hangs, one waits for a turn that it never gets, and one has a name that gives it more time.
const HANGING: &str = r#"
case "$*" in *--help*) echo "  --report-time"; exit ;; esac
echo "waiting a::waits" >>"$QUELL_WAITED"
for test in a::hangs a::waits a::long_takes_2_minutes; do
    echo "test $test has been running for over 60 seconds"
done
printf 'half a line'
exec sleep 60
"#;

#[test]
fn a_test_that_hangs_is_named_and_ends_its_program() {
    let place = Place::new();
    place.program("suite-0123abcd", HANGING);
    let program = place.path("bin/suite-0123abcd");
    let times = place.path("times");
    let began = std::time::Instant::now();
    let output = place.run(
        "scripts/test-program",
        &[program.to_str().unwrap()],
        &[
            ("QUELL_TIMES", times.to_str().unwrap()),
            ("QUELL_TEST_SECONDS", "50"),
        ],
    );
    let said = said(&output);
    assert_eq!(output.status.code(), Some(124), "{said}");
    assert!(said.contains("test a::hangs hangs: "), "{said}");
    assert!(
        said.contains("suite: ended because of a::hangs\n"),
        "{said}"
    );
    // Less than the program would have gone on.
    assert!(began.elapsed().as_secs() < 50, "{said}");
}
