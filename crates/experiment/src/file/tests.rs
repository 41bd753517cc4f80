use super::*;
use crate::expression::Value;

const GOOD: &str = r#"
schema = 1
title = "t"
source = "s"
scenario = "red/curvy.toml"
[axis.flows]
values = [2, 5]
[axis.queue]
values = [{ label = "A", k = 1, limits = [1, 2] }, { label = "B", set = { "link.queue.kind" = "pie" } }]
[figure]
mean = "queue.queue.delay_ms.mean"
law = { of = "mean * k", where = "k", label = "law" }
[statement.one]
published = "p"
checked = "c"
check = { figure = "mean", above = 1 }
"#;

fn problems(text: &str) -> Vec<String> {
    let files = |name: &str| (name == "rows.csv").then(|| "rtt,name\n5,a\n,\"b, c\"\n".to_owned());
    match read("f.toml", text, &files) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.all().iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_good_file_is_read_and_names_know_on_what_they_depend() {
    let definition = read("f.toml", GOOD, &|_| None).unwrap();
    assert_eq!(definition.axes.len(), 2);
    assert_eq!(definition.figures[0].over, Over::Mean);
    assert_eq!(definition.figures[1].over, Over::Point);
    // The column is of each run, and the other figure of a field of the second axis too.
    assert_eq!(definition.names.of_figure(0), 0b11);
    assert_eq!(definition.names.of_figure(1), 0b11);
    assert_eq!(definition.statements[0].checks[0].each, [0, 1]);
}

#[test]
fn a_csv_file_gives_values_whose_columns_are_fields() {
    let text = GOOD.replace(
        "[axis.flows]\nvalues = [2, 5]",
        "[axis.flows]\nfile = \"rows.csv\"\nlabel = \"{rtt|none}\"",
    );
    let files = |name: &str| (name == "rows.csv").then(|| "rtt,name\n5,a\n,\"b, c\"\n".to_owned());
    let definition = read("f.toml", &text, &files).unwrap();
    let fields: Vec<_> = definition.axes[0]
        .values
        .iter()
        .map(|value| value.fields.clone())
        .collect();
    assert_eq!(fields[0]["rtt"], Value::Number(5.0));
    assert_eq!(fields[1]["rtt"], Value::None);
    assert_eq!(fields[1]["name"], Value::Text("b, c".to_owned()));
}

/// What is changed in the good file, and a part of what is said of it.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "schema = 1",
        "schema = 2",
        "f.toml:2: schema = 2: must be 1",
    ),
    ("title = \"t\"", "", "title: is missing; must be a text"),
    (
        "source = \"s\"",
        "source = 3",
        "f.toml:4: source = 3: must be a text",
    ),
    (
        "source = \"s\"",
        "sources = \"s\"",
        "unknown key (did you mean source?); known are schema",
    ),
    (
        "values = [2, 5]",
        "values = []",
        "must have from 1 to 10000 values",
    ),
    (
        "values = [2, 5]",
        "valeus = [2, 5]",
        "axis.flows: needs one of values, file and parts",
    ),
    (
        "values = [2, 5]",
        "file = \"none.csv\"",
        "there is no such file beside the experiment",
    ),
    (
        "values = [2, 5]",
        "values = { from = 1, to = 2, steps = 1 }",
        "steps must be a whole number from 2 to 10000",
    ),
    (
        "values = [2, 5]",
        "parts = \"days\"",
        "must be one of phases, groups, queues",
    ),
    (
        "[axis.flows]",
        "[axis.\"link.rate\"]",
        "is no name; a name has letters, digits and _",
    ),
    (
        "[axis.flows]",
        "[axis.queue2]\nvalues = [{ k = 1 }]\n[axis.flows]",
        "k is a field of two axes",
    ),
    (
        "[axis.flows]",
        "[axis.mean]",
        "mean has two meanings: rename one",
    ),
    ("mean = \"queue", "mean = \"1 + queue", ""),
    (
        "mean = \"queue.queue.delay_ms.mean\"",
        "mean = \"1 +\"",
        "f.toml:11: figure.mean = \"1 +\": at character 4: the expression has no end",
    ),
    (
        "mean * k",
        "mena * k",
        "at character 1: there is no figure, field or axis mena; did you mean mean?",
    ),
    (
        "mean * k",
        "squrt(k)",
        "there is no function squrt; did you mean sqrt?",
    ),
    ("mean * k", "sqrt(k, 2)", "sqrt takes 1 to 1 values, not 2"),
    (
        "mean * k",
        "path.goodputt(1)",
        "there is no function of a measurement path.goodputt; did you mean path.goodput?",
    ),
    (
        "mean * k",
        "mean[quue = 'A']",
        "there is no axis quue; did you mean queue?",
    ),
    ("mean * k", "law * 2", "law is made of itself"),
    ("mean * k", "published.kk", "there is no field kk"),
    (
        "label = \"law\"",
        "over = \"max\"",
        "must be one of point, mean, median, first, sum, pooled, list",
    ),
    (
        "label = \"law\"",
        "show = \"x\"",
        "is no form; there are d, g, .2, +.1",
    ),
    ("label = \"law\"", "label = \"{law\"", "a { without its }"),
    (
        "published = \"p\"",
        "",
        "statement.one.published: is missing",
    ),
    (
        "published = \"p\"",
        "published = \"a | b\"",
        "must be one line without |",
    ),
    (
        "[statement.one]",
        "[statement.One]",
        "an ID has small letters, digits and hyphens",
    ),
    (
        "check = { figure = \"mean\", above = 1 }",
        "",
        "has no check; give one, or say why it cannot be judged",
    ),
    (
        "checked = \"c\"",
        "checked = \"c\"\ncannot = \"lost\"",
        "cannot be judged, so it has neither check nor differs",
    ),
    (
        "checked = \"c\"",
        "checked = \"c\"\ndiffers = \"{why}\"",
        "there is no why in [reason]",
    ),
    (
        "figure = \"mean\", above",
        "figure = \"maen\", above",
        "there is no figure maen; there are mean, law",
    ),
    (
        "figure = \"mean\", above = 1",
        "figure = \"mean\"",
        "needs within, holds, or a bound",
    ),
    (
        "figure = \"mean\", above = 1",
        "above = 1",
        "needs figure = a name, or value = an expression",
    ),
    (
        "figure = \"mean\", above = 1",
        "figure = \"mean\", within = 5",
        "within needs of = an expression",
    ),
    (
        "above = 1",
        "above = 1, each = [\"rtt\"]",
        "rtt is no axis; axes are flows, queue",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"{flos}.toml\"",
        "there is no figure, field or axis flos; did you mean flows?",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"a\"\nseeds = [1, 1]",
        "must be a number of seeds, a list of different whole numbers",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"a\"\nset = { \"run.seeds\" = 3 }",
        "seeds are given as seeds = …",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"a\"\nmeasure = \"all\"",
        "must be one of summary, bursts, items",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"a\"\nlike = \"b\"",
        "there is no b.toml beside this file",
    ),
    (
        "scenario = \"red/curvy.toml\"",
        "scenario = \"a\"\nskip = [\"\"]",
        "skip = \"\": at character 1: the expression has no end: a value is missing",
    ),
];

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_line_and_key() {
    assert_eq!(problems(GOOD), [""; 0]);
    for (old, new, expected) in WRONG {
        assert!(GOOD.contains(old), "{old}");
        let found = problems(&GOOD.replacen(old, new, 1));
        let is_named = found.iter().any(|problem| problem.contains(expected));
        assert!(
            is_named || (expected.is_empty() && found.is_empty()),
            "{new}: {found:#?}"
        );
    }
}

#[test]
fn what_a_table_or_picture_lacks_is_named() {
    for (more, expected) in [
        ("[table.a]", "needs columns, or heads and lines"),
        (
            "[table.a]\nheads = [\"x\", \"y\"]\nlines = [[\"1\"]]",
            "has 1 cells and not 2",
        ),
        (
            "[table.a]\nkind = \"deviations\"\nfigures = [\"x\"]",
            "there is no figure x",
        ),
        (
            "[table.a]\ncolumns = [[\"x\"]]",
            "must be [\"head\", \"template\"]",
        ),
        ("[[picture]]\ntitle = \"x\"", "needs pairs or curves"),
        (
            "[[picture]]\ntitle = \"x\"\ncurves = [{ name = \"y\" }]",
            "needs ours or published = an expression",
        ),
        ("[page]\ntext = \"{table.none}\"", "there is no table none"),
    ] {
        let found = problems(&format!("{GOOD}{more}\n"));
        assert!(
            found.iter().any(|problem| problem.contains(expected)),
            "{more}: {found:#?}"
        );
    }
}

#[test]
fn a_record_is_read_and_what_is_compared_with_it_needs_a_figure_and_a_world() {
    const RECORD: &str =
        "point,seeds,figure,sim,sim_error,virtual,virtual_error\na,3,used,1,0,1,0\n";
    let files = |name: &str| (name == "r.csv").then(|| RECORD.to_owned());
    let text = |reference: &str, check: &str| {
        format!(
            "schema = 1\ntitle = \"t\"\nsource = \"s\"\nscenario = \"home/evening.toml\"\nmethod = \"covering\"\nstrength = 2\n{reference}\n\
             axis.x = [1, 2]\naxis.y = [1, 2]\n[figure]\nused = \"link.utilisation\"\n[statement.used]\npublished = \"p\"\nchecked = \"c\"\n\
             check = {check}\n"
        )
    };
    let whole = "reference = {file=\"r.csv\", world=\"virtual\", point=\"a\", row=\"r\"}";
    let check = "{figure=\"used\", beside=\"virtual\", within=2}";
    let read = read("e.toml", &text(whole, check), &files).unwrap();
    assert_eq!(read.strength, Some(2));
    let reference = read.reference.unwrap();
    assert_eq!(reference.worlds, ["virtual"]);
    assert_eq!(reference.seeds.unwrap()["a"], 3);
    for (reference, check, why) in [
        ("", check, "virtual is no world of reference"),
        (
            whole,
            "{figure=\"used\", beside=\"live\", within=2}",
            "live is no world of reference",
        ),
        (
            whole,
            "{figure=\"used\", beside=\"virtual\"}",
            "beside needs a figure, and within",
        ),
        (
            "reference = {file=\"x.csv\", world=\"virtual\", point=\"a\", row=\"r\"}",
            check,
            "there is no x.csv",
        ),
        (
            "reference = {file=\"r.csv\", point=\"a\", row=\"r\"}",
            check,
            "must be the world that is recorded",
        ),
        (
            "reference = {file=\"r.csv\", world=\"virtual\"}",
            check,
            "reference.point",
        ),
    ] {
        let problems = super::read("e.toml", &text(reference, check), &files).unwrap_err();
        assert!(problems.to_string().contains(why), "{why}: {problems}");
    }
    for (from, to, why) in [
        ("method = \"covering\"\n", "", "only with method"),
        ("strength = 2\n", "", "covering needs strength"),
        ("strength = 2", "strength = 9", "from 1 to 4"),
    ] {
        let text = text(whole, check).replace(from, to);
        let problems = super::read("e.toml", &text, &files).unwrap_err();
        assert!(problems.to_string().contains(why), "{why}: {problems}");
    }
}
