//! `scripts/advisories`: with a database, with a local copy of it, and without any.

use crate::scripts::{Place, said};

/// Its outcome, and what cargo was called with; `git` reaches what `reached` matches, a pattern of the shell.
fn check(place: &Place, reached: &str, environment: &[(&str, &str)]) -> (String, String) {
    place.write("deny.toml", "[bans]\n");
    place.program(
        "git",
        &format!("case $1 in ls-remote) case $2 in {reached}) ;; *) echo 'fatal: no way' >&2; exit 128 ;; esac ;; esac"),
    );
    place.program(
        "cargo",
        r#"echo "$* with ${GIT_CONFIG_KEY_0:-} for ${GIT_CONFIG_VALUE_0:-}" >>"$RECORD""#,
    );
    let output = place.run("scripts/advisories", &[], environment);
    assert!(output.status.success(), "{}", said(&output));
    (said(&output), place.record())
}

#[test]
fn where_the_database_is_out_of_reach_that_is_said_and_the_rest_is_checked() {
    let place = Place::new();
    let (said, calls) = check(&place, "none", &[]);
    let line = "not run: advisories: the RustSec database cannot be had: fatal: no way\n";
    assert_eq!(said, line);
    assert_eq!(place.read("target/setup/not-run-check"), line);
    let lines: Vec<&str> = calls.lines().collect();
    assert_eq!(lines.len(), 2, "the project and its fuzz targets: {calls}");
    for call in lines {
        assert!(call.contains("check advisories with url.file://"), "{call}");
        assert!(
            call.ends_with(
                "/target/advisories/none.insteadOf for https://github.com/RustSec/advisory-db"
            ),
            "{call}"
        );
    }
    let config = place.read("target/advisories/deny.toml");
    assert!(
        config.starts_with("[bans]\n") && config.contains("yanked = \"deny\""),
        "{config}"
    );
}

#[test]
fn a_database_at_hand_or_in_reach_leaves_nothing_out() {
    let place = Place::new();
    let (said, calls) = check(&place, "https://github.com/*", &[]);
    assert_eq!(said, "");
    assert!(
        calls
            .lines()
            .all(|call| call.ends_with("check advisories with  for ")),
        "{calls}"
    );
    let place = Place::new();
    place.write("copy/HEAD", "");
    let copy = place.path("copy");
    let (said, calls) = check(
        &place,
        "file:///*",
        &[("QUELL_ADVISORIES", copy.to_str().unwrap())],
    );
    assert_eq!(said, "");
    assert_eq!(place.read("target/setup/not-run-check"), "");
    assert!(
        calls
            .lines()
            .all(|call| call.contains("/copy.insteadOf for https://")),
        "{calls}"
    );
}
