//! The difference between a file and what it should be is shown where it begins.

use quell_testing::bless::difference;

#[test]
fn a_difference_is_shown_where_it_begins() {
    let long = "x".repeat(500);
    for (kept, current, shown) in [
        ("a\nb\n", "a\nb\n", None),
        (
            "a\nb\n",
            "a\nc\n",
            Some(vec!["line 2\n", "in the file: \"b\"", "now:         \"c\""]),
        ),
        (
            "",
            "a\n",
            Some(vec!["line 1\n", "in the file: (no such line)", "\"a\""]),
        ),
        (
            "a\nb\n",
            "a\n",
            Some(vec!["line 2\n", "\"b\"", "now:         (no such line)"]),
        ),
        ("a\n", "a", Some(vec!["lines end otherwise"])),
        (
            &format!("{long}1{long}"),
            &format!("{long}2{long}"),
            Some(vec!["in the file: \"xxx", "xxx1xxx", "xxx2xxx"]),
        ),
    ] {
        let found = difference(kept, current);
        let Some(parts) = shown else {
            assert_eq!(found, None);
            continue;
        };
        let found = found.unwrap_or_default();
        assert!(parts.iter().all(|part| found.contains(part)), "{found}");
        assert!(found.len() < 400, "{found}");
    }
}
