//! `.ci/skips`: a test that is left out fails the check unless the list allows it for this class of machine.

use crate::{Place, said};

/// Success and output for these lines; the list is the one that ships.
fn judge(class: &str, lines: &[&str]) -> (Option<i32>, String) {
    let place = Place::new();
    place.program("id", "echo 0");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    place.write("not-run", &text);
    let output = place.run(
        ".ci/skips",
        &["no-such-file", place.path("not-run").to_str().unwrap()],
        &[("QUELL_CI_CLASS", class)],
    );
    (output.status.code(), said(&output))
}

#[test]
fn the_list_allows_by_class() {
    const ROOT: &str = "not run: a_test: needs root, for network namespaces and packet sockets";
    const BUSY: &str =
        "not run: a_test: not judged: machine busy (others had 43 % of the processors; 3 runs)";
    const DATABASE: &str =
        "not run: advisories: the RustSec database cannot be had: fatal: no network";
    const KERNEL: &str =
        "not run: comparison with the kernel: linux-source-7.2 7.2.13-1: cannot be fetched";
    const PORTABLE: &str = "not run: portable: the standard library for wasm32-unknown-unknown cannot be had: cannot be fetched";
    const NEW: &str = "not run: a_test: nobody has thought of this";
    for (class, line, passes) in [
        ("root-debian", ROOT, false),
        ("user-debian", ROOT, true),
        ("root-debian", BUSY, true),
        ("user-other", BUSY, true),
        ("root-debian", DATABASE, true),
        ("root-debian", KERNEL, false),
        ("root-other", KERNEL, true),
        ("root-debian", PORTABLE, false),
        ("user-other", PORTABLE, true),
        ("root-debian", NEW, false),
        ("user-other", NEW, false),
    ] {
        let (code, said) = judge(class, &[line, line, "unrelated"]);
        assert_eq!(code == Some(0), passes, "{class}: {said}");
        assert_eq!(said.contains("not allowed on"), !passes, "{said}");
        assert!(said.contains(line), "{said}");
        assert!(
            said.contains("1 tests or parts of tests left out"),
            "twice is once: {said}"
        );
    }
    assert_eq!(judge("root-debian", &[]).0, Some(0));
}

#[test]
fn more_than_a_few_unjudged_tests_are_no_check() {
    let lines: Vec<String> = (0..5)
        .map(|n| format!("not run: test_{n}: not judged: machine busy (others had 90 % of the processors; 3 runs)"))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (code, said) = judge("root-debian", &lines[..4]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("of which 4 not judged"), "{said}");
    let (code, said) = judge("root-debian", &lines);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("too many") && said.contains("of which 5 not judged"),
        "{said}"
    );
}

#[test]
fn a_row_that_is_not_whole_is_refused() {
    let place = Place::new();
    place.program("id", "echo 0");
    place.write("list", "# head\n* | * | needs root, *\n");
    let list = place.path("list");
    let output = place.run(
        ".ci/skips",
        &[],
        &[("QUELL_ALLOWED_SKIPS", list.to_str().unwrap())],
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
