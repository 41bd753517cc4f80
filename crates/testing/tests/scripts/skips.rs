//! `.ci/skips`: a test that is left out fails the check unless the list allows it for this class of machine.

use crate::scripts::{Place, project, said};

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
    const DATABASE: &str =
        "not run: advisories: the RustSec database cannot be had: fatal: no network";
    const KERNEL: &str =
        "not run: comparison with the kernel: linux-source-7.2 7.2.13-1: cannot be fetched";
    const PORTABLE: &str = "not run: portable: the standard library for wasm32-unknown-unknown cannot be had: cannot be fetched";
    const NEW: &str = "not run: a_test: nobody has thought of this";
    for (class, line, passes) in [
        ("root-debian", ROOT, false),
        ("user-debian", ROOT, true),
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
fn a_row_may_name_several_tests_and_allows_no_other() {
    const REASON: &str = "curl is missing";
    let line = |test: &str| format!("not run: {test}: {REASON}");
    for (test, allowed) in [
        ("curl_loads_a_page_by_its_name", true),
        ("curl_loads_a_page_sooner_behind_dualpi2", true),
        ("curl_does_something_else", false),
    ] {
        let (code, said) = judge("user-debian", &[&line(test)]);
        assert_eq!(code == Some(0), allowed, "{said}");
    }
}

/// The rows of the list, as their fields.
fn rows() -> Vec<Vec<String>> {
    let list = std::fs::read_to_string(project().join(".ci/allowed-skips")).unwrap();
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    rows.filter(|line| !line.is_empty())
        .map(|line| {
            line.split('|')
                .map(|field| field.trim().to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn a_row_for_every_machine_names_its_tests_and_each_name_is_one_of_a_test() {
    let mut sources = String::new();
    let mut folders = vec![project().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    for row in rows() {
        let (class, tests) = (&row[0], &row[1]);
        assert!(
            tests != "*" || !matches!(class.as_str(), "*" | "root-*" | "root-debian"),
            "{row:?}: which tests?"
        );
        // A function's name, not a sentence or a pattern.
        let is_name = |name: &&str| !name.contains(['*', ' ', ':', '.']) && name.contains('_');
        for name in tests.split(',').map(str::trim).filter(is_name) {
            assert!(
                sources.contains(&format!("fn {name}(")),
                "{row:?}: no test {name}"
            );
        }
    }
}

#[test]
fn what_was_never_judged_fails() {
    let place = Place::new();
    place.program(
        "cargo",
        r#"echo "$*" >>"$RECORD"
case "$*" in
*a_rate*) echo "not run: a_rate: not judged: machine busy (others had 43 % of the processors; 3 runs)" >>"$QUELL_NOT_RUN" ;;
*a_delay*) [ "$(grep -c a_delay "$RECORD")" = 2 ] || echo "not run: a_delay: not judged: machine busy (late)" >>"$QUELL_NOT_RUN" ;;
*) exit 101 ;;
esac"#,
    );
    let line = |test: &str| {
        format!(
            "not run: {test}: not judged: machine busy (others had 20 % of the processors; 3 runs)\n"
        )
    };
    for (tests, passes, runs) in [
        (vec!["a_rate"], true, 2),
        (vec!["a_delay"], true, 2),
        (vec!["a_delay", "a_bound"], false, 3),
    ] {
        let _ = std::fs::remove_file(place.path("record"));
        place.write(
            "not-run",
            &tests.iter().map(|test| line(test)).collect::<String>(),
        );
        let file = place.path("not-run");
        let output = place.run(".ci/unjudged", &[file.to_str().unwrap()], &[]);
        assert_eq!(output.status.success(), passes, "{}", said(&output));
        assert_eq!(place.record().lines().count(), runs, "{}", place.record());
        let left = place.read("not-run");
        assert_eq!(left.contains("a_rate"), tests.contains(&"a_rate"), "{left}");
        assert!(!left.contains("a_delay"), "{left}");
    }
    let (code, said) = judge("root-debian", &[line("a_rate").trim()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not judged three times in a row: "), "{said}");
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
