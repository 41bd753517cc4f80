//! Files that are made to break a program: each ends in an error, soon.

use crate::findings::Findings;
use std::fmt::Write;
use std::time::{Duration, Instant};

use super::*;

/// What is said of a file, when it is read or when it is evaluated.
fn said(text: &str) -> Vec<String> {
    let start = Instant::now();
    let said = match read(text) {
        Err(problems) => problems,
        Ok(experiment) => {
            let results: Vec<String> = experiment
                .cells()
                .iter()
                .map(|_| measured(1, 1, 1))
                .collect();
            Findings::of(&experiment, &stored(&results)).problems()
        }
    };
    let took = start.elapsed();
    assert!(
        took < Duration::from_secs(60),
        "{took:?}: {:?}",
        said.first()
    );
    said
}

fn assert_said(text: &str, expected: &str) {
    let said = said(text);
    let is_said = said.iter().any(|one| one.contains(expected));
    let begin: String = text.chars().take(300).collect();
    let first: String = said
        .first()
        .map_or(String::new(), |one| one.chars().take(300).collect());
    assert!(is_said, "{expected}: {first}\n{begin}");
    // A problem is for people to read, and there are not too many.
    assert!(said.len() <= 101, "{}", said.len());
}

fn page(figures: &str, template: &str) -> String {
    format!("{BEGIN}{AXES}[figure]\n{figures}\n{END}[page]\ntext = '''{template}'''\n")
}

/// Figures `f0` to `f{count - 1}`, each made of the one before.
fn chain(count: usize, first: &str, next: &dyn Fn(usize) -> String) -> String {
    let mut all = format!("f0 = \"{first}\"\n");
    for place in 1..count {
        let _ = writeln!(all, "f{place} = \"{}\"", next(place - 1));
    }
    all
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    for expression in [
        "(".repeat(1_000),
        "-".repeat(60_000),
        "not ".repeat(10_000),
        format!("1{}", " + 1".repeat(15_000)),
        format!("1{}", " and 1".repeat(10_000)),
        format!("1{}", " ^ 1".repeat(10_000)),
        format!("mean(run.a){}", "[rate = *]".repeat(6_000)),
        format!("{}1", "[".repeat(30_000)),
        format!("{}1", "sqrt(".repeat(10_000)),
    ] {
        let deep = said(&page(&format!("x = \"{expression}\""), ""));
        assert!(
            deep.iter()
                .any(|one| one.contains("nested more than")
                    || one.contains("operations in each other")),
            "{:?}",
            deep.first()
                .map(|one| one.chars().rev().take(100).collect::<String>())
        );
    }
    // TOML itself.
    let toml = format!(
        "{BEGIN}[axis.x]\nvalues = {}{}\n{END}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(!said(&toml).is_empty());
}

#[test]
fn figures_and_lets_that_go_in_a_circle_or_too_deep_are_refused() {
    assert_said(&page("x = \"y\"\ny = \"x\"", ""), "is made of itself");
    let lets = format!("{BEGIN}{AXES}[let]\nx = \"y + 1\"\ny = \"z\"\nz = \"x\"\n{END}");
    assert_said(&lets, "is made of itself");
    let deep = chain(900, "1", &|before| format!("f{before} + 1"));
    assert_said(&page(&deep, "{f899}"), "figures are nested too deeply");
    let many = chain(5_000, "1", &|before| format!("f{before}"));
    assert_said(&page(&many, ""), "has more than 1000 names");
    assert_said(
        &format!("schema = 1\ntitle = \"t\"\nsource = \"s\"\nlike = \"e\"\n{END}"),
        "there is no e.toml beside this file",
    );
}

#[test]
fn a_let_that_doubles_itself_takes_too_long_and_is_stopped() {
    let lets = chain(60, "1", &|before| format!("f{before} + f{before}"));
    let text = format!("{BEGIN}{AXES}[let]\n{lets}{END}[page]\ntext = \"{{f59}}\"\n");
    assert_said(&text, "this takes too long");
    // Whether it reads results is found without going through all of it.
    let wide = format!(
        "{BEGIN}{AXES}[let]\n{}{END}[page]\ntext = \"{{f0}}\"\n",
        chain(40, "1", &|before| {
            format!("[{}]", vec![format!("f{before}"); 100].join(", "))
        })
    );
    assert_eq!(said(&wide), [""; 0]);
}

#[test]
fn texts_and_lists_that_grow_are_stopped() {
    let ten = |before: usize| format!("text('{}')", format!("{{f{before}}}").repeat(10));
    assert_said(
        &page(&chain(20, "'abcdefgh'", &ten), "{f19}"),
        "this text is too long",
    );
    let lists = |before: usize| format!("[{}]", vec![format!("f{before}"); 50].join(", "));
    assert_said(
        &page(&chain(7, "[1]", &lists), "{f6}"),
        "this list is too long",
    );
    assert_said(
        &page(&chain(30, "[1]", &|before| format!("[f{before}]")), "{f29}"),
        "lists are nested too deeply",
    );
    let flat = |before: usize| format!("list([{}])", vec![format!("f{before}"); 50].join(", "));
    assert_said(
        &page(&chain(7, "[1]", &flat), "{f6}"),
        "this list is too long",
    );
    let message = "[1, 2][rate = 1]";
    assert!(!said(&page(&format!("x = \"{message}\""), "")).is_empty());
}

#[test]
fn products_of_axes_are_bounded() {
    let axis = |name: &str, more: &str| {
        format!("[axis.{name}]\nvalues = {{ from = 1, to = 9000, steps = 9000 }}\n{more}\n")
    };
    let two = |more: &str| format!("{}{}", axis("x", more), axis("y", more));
    assert_said(
        &format!("{BEGIN}{}{END}", two("")),
        "makes more than 200000 points",
    );
    // An axis without runs makes none, but a list over two of them is as long.
    let loose = |rest: &str| format!("{BEGIN}{}{END}{rest}", two("runs = false"));
    for rest in [
        "[page]\ntext = \"{sum(x * y)}\"\n",
        "[page]\ntext = \"{each('', '{x}{y}')}\"\n",
        "[csv.\"a.csv\"]\ncolumns = [[\"x\", \"{x}{y}\"]]\n",
        "[[picture]]\ntitle = \"t\"\naxis = \"a\"\npairs = [{ label = \"{x}\", ours = \"y\" }]\n",
        "[statement.two]\npublished = \"p\"\nchecked = \"c\"\ncheck = { value = \"x * y\", above = 0 }\n",
        "[statement.two]\npublished = \"p\"\nchecked = \"c\"\nwhere = \"x * y < 0\"\ncheck = { holds = \"true\", what = \"w\" }\n",
    ] {
        assert_said(
            &loose(rest),
            "the axes make more than 200000 points together",
        );
    }
    let skip = format!(
        "{BEGIN}skip = [\"x * y < 0\"]\n{}{END}",
        two("runs = false")
    );
    assert_said(&skip, "the axes make more than 200000 points together");
    // A list in a list in a list.
    let inner = "[page]\ntext = \"{sum(x * sum(y + sum(x[x = *])[x = 1]))}\"\n";
    let said = said(&loose(inner));
    assert!(
        said[0].contains("this takes too long") || said[0].contains("points together"),
        "{said:?}"
    );
}

#[test]
fn runs_and_what_they_share_are_bounded() {
    let points = "[axis.x]\nvalues = { from = 1, to = 9000, steps = 9000 }\n";
    assert_said(
        &format!("{BEGIN}{points}seeds = 10000\n{END}"),
        "this makes more than 200000 runs",
    );
    let long = format!("set = {{ x = \"{}\" }}\n", "a".repeat(60_000));
    assert_said(
        &format!("{BEGIN}{points}{long}{END}"),
        "too much that all of its values share",
    );
    assert_said(
        &format!("{BEGIN}{long}{points}{END}"),
        "the texts are too long together",
    );
    let few = "[axis.x]\nvalues = { from = 1, to = 100, steps = 100 }\nseeds = 50\n";
    assert_said(
        &format!("{BEGIN}{long}{few}{END}"),
        "their changes are too long",
    );
    let list = format!("f = [{}]\n", vec!["1"; 20_000].join(", "));
    assert_said(
        &format!("{BEGIN}{points}{list}{END}"),
        "too much that all of its values share",
    );
    let axes: String = (0..70)
        .map(|place| format!("[axis.x{place}]\nvalues = [1]\n"))
        .collect();
    assert_said(&format!("{BEGIN}{axes}{END}"), "has more than 32 axes");
}

#[test]
fn numbers_at_their_ends_are_refused_or_go_through() {
    for (line, expected) in [
        (
            "values = { from = 0, to = 1, steps = 1e308 }",
            "steps must be a whole number",
        ),
        (
            "values = { from = 0, to = 1, steps = -1 }",
            "steps must be a whole number",
        ),
        (
            "values = { from = -1e308, to = 1e308, steps = 3 }",
            "too far apart",
        ),
        ("values = [1e999]", "must be a finite number"),
        ("values = [nan]", "must be a finite number"),
        ("values = [1]\nseeds = 1e308", "must be a number of seeds"),
        ("values = [1]\nseeds = 18446744073709551615", ""),
        (
            "values = [1]\nseeds = { from = 9223372036854775807, count = 10001 }",
            "must be a number of seeds",
        ),
        (
            "values = [1]\nfile = \"rows.csv\"",
            "needs one of values, file and parts",
        ),
    ] {
        assert_said(&format!("{BEGIN}[axis.x]\n{line}\n{END}"), expected);
    }
    let odd = [
        "1e308 * 10",
        "(0 / 0) ^ 1e308",
        "quantile([1, 2], 0 / 0)",
        "quantile([1, 2], 1e308)",
        "at([1], 1e308)",
        "text(1e308, '.17')",
        "mod(1, 0)",
        "circular(1, 2, 0)",
        "jain([0])",
        "floor(1e308)",
        "text(0 / 0, '±')",
        "autocorrelation([1, 1], 0)",
        "2 ^ -1e308",
    ];
    for expression in odd {
        assert_eq!(
            said(&page(
                &format!("x = \"{expression}\""),
                "{x} {x:g} {x:.3} {x:+.1}"
            )),
            [""; 0],
            "{expression}"
        );
    }
    for expression in [
        "autocorrelation([1, 2], 1e308)",
        "list.plateau([1, 2], 1e308, 1, 1)",
        "list.plateau([1, 2], 0, 0, -1)",
    ] {
        assert_said(&page(&format!("x = \"{expression}\""), "{x}"), "page: ");
    }
    // As many as the axis of a hostile list allows, from as many places.
    let plateau = "list.plateau(list(at), 0, 9000, 9000)";
    let loose = "[axis.at]\nvalues = { from = 1, to = 9000, steps = 9000 }\nruns = false\n";
    assert_said(
        &format!("{BEGIN}{loose}{END}[page]\ntext = \"{{{plateau}}}\"\n"),
        "looks at too many numbers",
    );
}

#[test]
fn long_texts_are_refused() {
    assert_said(
        &format!("{BEGIN}{AXES}{END}#{}", "a".repeat(10 << 20)),
        "has more than 4194304 bytes",
    );
    let long = "a".repeat(100_000);
    assert_said(
        &page(&format!("x = \"{long}\""), ""),
        "longer than 65536 bytes",
    );
    assert_said(&page("", &long), "longer than 65536 bytes");
    // Many problems, each with all that is known.
    let names: String = (0..20_000)
        .map(|place| format!("key{place} = 1\n"))
        .collect();
    assert_said(&format!("{names}{BEGIN}{AXES}{END}"), "unknown key");
    let unknown: Vec<String> = (0..100).map(|place| format!("n{place}")).collect();
    let figures: String = (0..200)
        .map(|place| format!("f{place} = \"[{}]\"\n", unknown.join(", ")))
        .collect();
    assert_said(&page(&figures, ""), "there is no figure, field or axis n");
    let fields: String = (0..20_000).map(|place| format!("g{place} = 1, ")).collect();
    let axis = |name: &str| format!("[axis.{name}]\nvalues = [{{ {fields} k = 1 }}]\n");
    assert_said(
        &format!("{BEGIN}{}{}{END}", axis("x"), axis("y")),
        "is a field of two axes",
    );
}

#[test]
fn only_what_lies_beside_a_file_is_read() {
    let asked = std::cell::RefCell::new(Vec::new());
    let files = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        Some("a\n1\n".to_owned())
    };
    for name in ["/dev/zero", "../secret.csv", "a/../../b.csv", "/etc/passwd"] {
        let text = format!("{BEGIN}[axis.x]\nfile = \"{name}\"\n{END}");
        assert!(Experiment::read("e", &text, &files).is_err(), "{name}");
        let text = format!("{BEGIN}{AXES}{END}").replace("s.toml", name);
        assert!(Experiment::read("e", &text, &files).is_err(), "{name}");
    }
    assert_eq!(*asked.borrow(), [""; 0]);
    let folder = tempfile::tempdir().unwrap();
    assert!(Experiment::open(folder.path()).is_err());
}

#[test]
fn a_table_that_would_be_padded_without_end_is_refused() {
    let wide = "{each('', '{each('''', ''xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{y}'')}')}";
    let loose = |name: &str, steps: u32| {
        format!(
            "[axis.{name}]\nvalues = {{ from = 1, to = {steps}, steps = {steps} }}\nruns = false\n"
        )
    };
    let text = format!(
        "{BEGIN}{}{}{END}[table.main]\nheads = [\"x\"]\nrows = [\"x\"]\nlines = [[\"{{x}}\"]]\nfoot = [[\"{wide}\"]]\n[page]\ntext = \"{{table.main}}\"\n",
        loose("x", 9_000),
        loose("y", 5_000)
    );
    assert_said(&text, "table.main: is too large");
}

#[test]
fn what_many_places_share_is_copied_to_few() {
    let long = "a".repeat(60_000);
    let many = |line: &dyn Fn(usize) -> String| (0..3_000).map(line).collect::<String>();
    let list = format!("[{}]", vec!["1"; 20_000].join(", "));
    let statement = |place: usize, check: &str, more: &str| {
        format!(
            "[statement.s{place}]\npublished = \"p\"\nchecked = \"c\"\ncheck = {{ {check} }}\n{more}\n"
        )
    };
    let holds = "holds = \"true\", what = \"w\"";
    let reasons = many(&|place| statement(place, holds, "differs = \"{old}\""));
    let judged = many(&|place| statement(place, holds, ""));
    let labels = many(&|place| statement(place, "figure = \"a\", above = 1", ""));
    let pairs = vec!["{ label = \"l\", ours = \"1\" }"; 3_000].join(", ");
    let curves = vec!["{ name = \"l\", ours = \"1\" }"; 3_000].join(", ");
    for text in [
        format!("{BEGIN}{reasons}[reason]\nold = \"{long}\"\n"),
        format!("{BEGIN}judged = \"{list}\"\n{judged}"),
        format!("{BEGIN}[figure]\na = {{ of = \"1\", label = \"{long}\" }}\n{labels}"),
        format!(
            "{BEGIN}{END}[[picture]]\ntitle = \"t\"\naxis = \"x\"\nwhere = \"{list}\"\npairs = [{pairs}]\n"
        ),
        format!(
            "{BEGIN}{END}[[picture]]\ntitle = \"t\"\naxes = [\"x\", \"y\"]\nx = \"{list}\"\ncurves = [{curves}]\n"
        ),
    ] {
        assert_said(&text, "too much is repeated in too many places");
    }
    let rows = format!("{}\n{}", "a".repeat(1_000_000), "1\n".repeat(9_000));
    let text = format!("{BEGIN}[axis.x]\nfile = \"rows.csv\"\n{END}");
    let files = |name: &str| {
        Some(if name == "rows.csv" {
            rows.clone()
        } else {
            String::new()
        })
    };
    let problems = Experiment::read("e", &text, &files).unwrap_err();
    assert!(problems.to_string().contains("too many"), "{problems}");
    assert_said(
        &format!("{BEGIN}{END}[csv.\"../x.csv\"]\nheads = []\n"),
        "is no name of a file",
    );
}
