use super::*;
use crate::Verdict;
use crate::findings::Findings;

const FIGURES: &str = r#"
[figure]
a = { of = "run.a", label = "figure a" }
law = { of = "run.a", label = "law of {rate}" }
odd = "run.none"
"#;

/// What is shown of a statement with these lines, its misses and broken guards, and that each is met.
fn judged(lines: &str) -> (String, Vec<String>) {
    let text = format!(
        "{BEGIN}what = \"{{rate}}{{queue}}: {{label}}\"\n{AXES}{FIGURES}[statement.one]\npublished = \"p\"\nchecked = \"c\"\n{lines}\n"
    );
    let experiment = read(&text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let findings = Findings::of(&experiment, &stored(&results()));
    let problems = findings.problems().into_iter();
    let problems = problems.map(|one| one.replace("e#one: ", ""));
    (findings.judged()[0].ours.clone(), problems.collect())
}

#[test]
fn checks_are_made_at_each_point_in_their_order() {
    for (lines, shown, problems) in [
        (
            "check = { figure = \"a\", above = 100 }",
            "holds in all 4 cases",
            &[][..],
        ),
        (
            "check = { figure = \"a\", above = 120, below = 220 }",
            "holds in 2 of 4 cases",
            &["10A: figure a", "20B: figure a"],
        ),
        // Bounds: from and to hold at the bound, above and below do not.
        (
            "check = { figure = \"a\", from = 111.5, to = 221.5 }",
            "holds in all 4 cases",
            &[],
        ),
        (
            "check = { figure = \"a\", at-least = 111.5, at-most = 221.5 }",
            "holds in all 4 cases",
            &[],
        ),
        (
            "check = { figure = \"a\", above = 111.5, below = 221.5 }",
            "holds in 2 of 4 cases",
            &["10A: figure a", "20B: figure a"],
        ),
        (
            "check = { figure = \"a\", is = 111.5, each = [\"queue\", \"rate\"] }",
            "holds in 1 of 4 cases",
            &["20A: figure a", "10B: figure a", "20B: figure a"],
        ),
        (
            "check = { figure = \"a\", above = \"100 * k\", where = \"k == 1\" }",
            "holds in all 2 cases",
            &[],
        ),
        (
            "where = \"rate == 10\"\ncheck = { figure = \"a\", below = 150 }",
            "holds in all 2 cases",
            &[],
        ),
        (
            "check = { figure = \"a\", below = 150, only = [\"10\"] }",
            "holds in all 2 cases",
            &[],
        ),
        (
            "check = { figure = \"a\", below = 150, except = [\"20\"] }",
            "holds in all 2 cases",
            &[],
        ),
        (
            "check = { value = \"mean(a)\", is = 166.5, each = [], what = \"w\" }",
            "holds",
            &[],
        ),
        (
            "check = { holds = \"mean(a) > 200\", each = [], what = \"{mean(a):g}\" }",
            "holds in 0 of 1 cases",
            &["166.5"],
        ),
        (
            "check = { figure = \"odd\", above = 1, only = [\"10\"], where = \"k == 1\" }",
            "holds in 0 of 1 cases",
            &["10A: odd: nothing was measured"],
        ),
        (
            "check = { value = \"run.a\", runs = true, below = 200, what = \"{rate} seed {seed}: {value:g}\", where = \"queue == 'A'\" }",
            "holds in 2 of 4 cases",
            &["20 seed 1: 211", "20 seed 2: 212"],
        ),
        // Side by side at each point, because they repeat over the same axes.
        (
            "check = [{ figure = \"a\", below = 0, only = [\"10\"], what = \"x{queue}\" }, { figure = \"a\", below = 0, only = [\"10\"], what = \"y{queue}\" }]",
            "holds in 0 of 4 cases",
            &["xA", "yA", "xB", "yB"],
        ),
        (
            "check = { holds = \"true\", what = \"w\" }\nshown = \"{mean(a):.1} ms\"",
            "166.5 ms",
            &[],
        ),
        (
            "where = \"rate == 20\"\ncheck = { holds = \"true\", what = \"w\" }\nshown = \"{mean(a):.1} {mean(a[rate = 10]):.1} {mean(a)[rate = 10]:.1} {mean(a)[rate = *]:.1}\"",
            "216.5 116.5 116.5 166.5",
            &[],
        ),
    ] {
        let (ours, missed) = judged(lines);
        assert_eq!(
            (ours.as_str(), missed.as_slice()),
            (shown, owned(problems).as_slice()),
            "{lines}"
        );
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The source printed 111 of queue A, and nothing of B; ours are 111.5 and 211.5.
#[test]
fn a_figure_lies_within_percents_of_what_the_source_printed() {
    for (lines, shown, problems) in [
        (
            "check = { figure = \"law\", within = 100 }",
            "2 of 2 within 100 %; furthest 20A: law of 20: 212 (+90.5 %)",
            &[][..],
        ),
        (
            "check = { figure = \"law\", within = 5, only = [\"20\"] }",
            "20A: law of 20: 212 (+90.5 %)",
            &["20A: law of 20: 211.5000, published 111.0000: +90.5 %, band 5 %"],
        ),
        (
            "check = { figure = \"law\", within = 5, or-within = 100.5 }",
            "holds in all 2 cases",
            &[],
        ),
        (
            "check = { figure = \"law\", within = 5, or-within = 100, only = [\"20\"] }",
            "20A: law of 20: 212 (+90.5 %)",
            &["20A: law of 20: 211.5000, published 111.0000: +90.5 %, band 5 %"],
        ),
        (
            "check = { value = \"mean(a)\", near = 160, within = 5, each = [], what = \"w\" }",
            "w: 166 (+4.1 %)",
            &[],
        ),
        (
            "check = { value = \"mean(a)\", of = \"2 * 80\", within = \"1 + 4\", each = [], what = \"w\" }",
            "w: 166 (+4.1 %)",
            &[],
        ),
        (
            "check = { figure = \"law\", within = 100, guard = 20 }",
            "2 of 2 within 100 %; furthest 20A: law of 20: 212 (+90.5 %)",
            &["20A: law of 20: 211.5000, published 111.0000: +90.5 %, guard 20 %"],
        ),
        (
            "check = { figure = \"odd\", of = \"1\", within = 5, each = [\"rate\", \"queue\"], only = [\"20\"], where = \"k == 3\" }",
            "holds in 0 of 1 cases",
            &["20B: odd: nothing was measured"],
        ),
    ] {
        let (ours, missed) = judged(lines);
        assert_eq!(
            (ours.as_str(), missed.as_slice()),
            (shown, owned(problems).as_slice()),
            "{lines}"
        );
    }
}

#[test]
fn guards_hold_where_a_statement_differs_and_decide_nothing() {
    let lines = "differs = \"why\"\ncheck = { figure = \"a\", below = 120, what = \"w\" }\n";
    for (guard, problems) in [
        ("guard = { figure = \"a\", below = 222 }", &[][..]),
        (
            "guard = { figure = \"a\", below = 220 }",
            &["20B: figure a"],
        ),
        ("guard = { figure = \"law\", within = 91 }", &[]),
        (
            "guard = { figure = \"law\", within = 90 }",
            &["20A: law of 20: 211.5000, published 111.0000: +90.5 %, guard 90 %"],
        ),
        (
            "guard = [{ holds = \"mean(a) > 170\", each = [], what = \"x\" }]",
            &["x"],
        ),
    ] {
        let (ours, broken) = judged(&format!("{lines}{guard}"));
        assert_eq!(ours, "holds in 1 of 4 cases", "{guard}");
        assert_eq!(broken, owned(problems), "{guard}");
    }
    let (_, held) = judged("differs = \"why\"\ncheck = { figure = \"a\", above = 0 }");
    assert_eq!(held, ["has a reason why it differs, but every check holds"]);
}

#[test]
fn a_check_that_is_made_nowhere_is_a_problem_and_so_is_one_that_cannot_be_evaluated() {
    let (_, problems) = judged("check = { figure = \"a\", above = 0, where = \"k == 9\" }");
    assert_eq!(problems, ["has no check"]);
    let (_, problems) = judged("check = { figure = \"a\", above = 0, each = [\"rate\"] }");
    assert!(problems.contains(&"e: statement.one: queue is free here: use a list function such as mean(…), or choose with […]".to_owned()), "{problems:?}");
}

#[test]
fn verdicts_follow_from_checks_and_reasons() {
    let reason = "[reason]\nold = \"an old queue\"\n";
    let text = format!(
        "{BEGIN}{AXES}{FIGURES}{reason}[statement.yes]\npublished = \"p\"\nchecked = \"c\"\ncheck = {{ figure = \"a\", above = 0 }}\n\
         [statement.no]\npublished = \"p\"\nchecked = \"c\"\ndiffers = \"{{old}}\"\ncheck = {{ figure = \"a\", above = 999 }}\n\
         [statement.never]\npublished = \"p\"\ncannot = \"it is lost\"\n"
    );
    let experiment = read(&text).unwrap();
    let findings = Findings::of(&experiment, &stored(&results()));
    let verdicts: Vec<Verdict> = findings
        .judged()
        .into_iter()
        .map(|one| one.verdict)
        .collect();
    let expected = [
        Verdict::Reproduced,
        Verdict::Differs("an old queue".to_owned()),
        Verdict::CannotBeJudged("it is lost".to_owned()),
    ];
    assert_eq!(verdicts, expected);
    assert_eq!(findings.problems(), [""; 0]);
}
