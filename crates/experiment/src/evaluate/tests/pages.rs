use super::*;
use crate::figure::{Curve, Figure};
use crate::findings::Findings;

const FIGURES: &str = r#"
[figure]
a = { of = "run.a", label = "figure a" }
law = { of = "run.a", published = "100 * k" }
list = "run.list"
"#;

/// The CSV files and pictures of some tables.
fn made(tables: &str) -> (Vec<(String, String)>, Vec<Figure>) {
    let text = format!("{BEGIN}{AXES}{FIGURES}{END}{tables}");
    made_of(&text, &results())
}

fn made_of(text: &str, results: &[String]) -> (Vec<(String, String)>, Vec<Figure>) {
    let experiment = read(text).unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"));
    let findings = Findings::of(&experiment, &stored(results));
    assert_eq!(findings.problems(), [""; 0], "{text}");
    let tables = findings.tables.iter();
    let tables = tables.map(|(name, table)| (name.clone(), table.to_csv()));
    (tables.collect(), findings.figures.clone())
}

fn csv(lines: &str) -> String {
    let (mut tables, _) = made(&format!("[csv.\"x.csv\"]\n{lines}\n"));
    tables.remove(0).1
}

#[test]
fn a_table_has_a_row_for_each_point_of_its_axes() {
    for (lines, expected) in [
        (
            "columns = [[\"rate\", \"{rate}\"], [\"queue\", \"{queue}\"], [\"a\", \"{a:.1}\"]]",
            "rate,queue,a\n10,A,111.5\n10,B,121.5\n20,A,211.5\n20,B,221.5\n",
        ),
        (
            "rows = [\"queue\", \"rate\"]\nwhere = \"k == 3\"\ncolumns = [[\"rate\", \"{rate}\"], [\"a\", \"{a:.1}\"]]",
            "rate,a\n10,121.5\n20,221.5\n",
        ),
        (
            "columns = [[\"rate\", \"{rate}\"], { each = \"queue\", head = \"{queue}\", cell = \"{a:.0}\" }]\nfoot = [[\"mean\", \"{mean(a):.0}\"]]",
            "rate,A,B\n10,112,122\n20,212,222\nmean,162,172\n",
        ),
        (
            "heads = [\"x\", \"y\"]\nlines = [[\"1\", \"{mean(a):.0}\"], [\"2\", \"{none|–}\"]]",
            "x,y\n1,166\n2,–\n",
        ),
        (
            "heads = [\"x\"]\nrows = [\"rate\"]\nlines = [[\"{rate}\"], [\"{max(a):.0}\"]]",
            "x\n10\n122\n20\n222\n",
        ),
        // Restricted inside of a row too.
        (
            "rows = [\"rate\"]\nwhere = \"queue == 'A'\"\ncolumns = [[\"rate\", \"{rate}\"], [\"mean\", \"{mean(a):.1}\"]]",
            "rate,mean\n10,111.5\n20,211.5\n",
        ),
    ] {
        assert_eq!(csv(lines), expected, "{lines}");
    }
}

#[test]
fn a_file_may_have_what_a_table_of_the_page_has() {
    let (tables, _) =
        made("[table.main]\ncolumns = [[\"r\", \"{rate}\"]]\n[csv.\"x.csv\"]\ntable = \"main\"\n");
    assert_eq!(tables, [("x.csv".to_owned(), "r\n10\n20\n".to_owned())]);
}

#[test]
fn deviations_show_each_figure_once() {
    let table =
        "kind = \"deviations\"\nfigures = [\"law\"]\nplace = \"{rate}{queue}\"\nwithin = 20\n";
    // 111.5 and 211.5 beside 111, which is the field; nothing is printed of B.
    assert_eq!(
        csv(table),
        "figure,rows,within 20 %,furthest off,published / quell,in row\nlaw,2,1,+90.5 %,111 / 212,20A\n"
    );
    let shown = format!("{table}show = \"{{value:.1}} ms\"\nwhere = \"rate == 10\"\n");
    assert!(csv(&shown).ends_with("\nlaw,1,1,+0.5 %,111.0 ms / 111.5 ms,10A\n"));
}

#[test]
fn what_the_source_printed_is_a_value_in_front_of_its_axis() {
    let text = format!(
        "{BEGIN}seeds = 1\n[axis.who]\nvalues = [\"ours\"]\npublished = \"published\"\n[axis.rate]\nvalues = [10, {{ label = \"20\", a = 7 }}]\n\
         [figure]\na = \"run.a\"\nb = {{ of = \"run.a\", published = \"5\" }}\nc = {{ of = \"8\", published = \"index(rate)\" }}\n{END}[csv.\"x.csv\"]\n\
         columns = [[\"who\", \"{{who}}\"], [\"rate\", \"{{rate}}\"], [\"a\", \"{{a:g|–}}\"], [\"b\", \"{{b:g}}\"], [\"c\", \"{{c:g}}\"]]\n\
         [csv.\"y.csv\"]\ncolumns = [[\"rate\", \"{{rate}}\"], {{ each = \"who\", head = \"{{who}}\", cell = \"{{a:g}}\" }}]\n\
         [page]\ntext = \"{{mean(a):g}} {{a[who = 'published', rate = 20]:g}} {{count(a)}}\"\n"
    )
    .replace("seeds = 2\n", "");
    let results = [1, 2].map(|rate| measured(rate, 0, 0));
    let (tables, _) = made_of(&text, &results);
    assert_eq!(
        tables[0].1,
        "who,rate,a,b,c\npublished,10,–,5,0\npublished,20,7,5,1\nours,10,100,100,8\nours,20,200,200,8\n"
    );
    // Columns and lists do not go over what was printed.
    assert_eq!(tables[1].1, "rate,ours\n10,100\n20,200\n");
    assert_eq!(page_of(&text, &results).0, "150 7 2.00");
}

#[test]
fn a_picture_has_pairs_or_curves() {
    let (_, pictures) = made(
        "[[picture]]\ntitle = \"t\"\naxis = \"ms\"\nrows = [\"queue\", \"rate\"]\n\
         pairs = [{ label = \"{rate}{queue}\", ours = \"a\", published = \"law[rate = 10] - 0.5\", where = \"rate == 10\" }, { label = \"k{queue}\", ours = \"k / (k - 1)\", rows = [\"queue\"] }, { label = \"none\", ours = \"none\" }]\n",
    );
    let expected = Figure::pairs("t", "ms")
        .pair("10A", Some(111.0), 111.5)
        .pair("10B", Some(121.0), 121.5)
        // That of A is infinite and has no place.
        .pair("kB", None, 1.5);
    assert_eq!(pictures, [expected]);
    let (_, pictures) = made(
        "[[picture]]\ntitle = \"{queue}\"\neach = [\"queue\"]\naxes = [\"x\", \"y\"]\n\
         curves = [{ name = \"a\", ours = \"a\", over = \"rate\" }, { name = \"l\", ours = \"list[rate = 10]\" }, { name = \"x\", published = \"[1, 2]\", x = \"[5, 6, 7]\" }, { name = \"far\", ours = \"a\", x = \"rate / 10\", over = \"rate\", where = \"rate == 20\" }]\n",
    );
    let names: Vec<String> = pictures
        .iter()
        .map(|one| match one {
            Figure::Curves { title, .. } | Figure::Pairs { title, .. } => title.clone(),
        })
        .collect();
    assert_eq!(names, ["A", "B"]);
    let Figure::Curves { curves, .. } = &pictures[1] else {
        panic!("{pictures:?}");
    };
    let curve = |name: &str, published, points: &[(f64, f64)]| Curve {
        name: name.to_owned(),
        published,
        points: points.to_vec(),
    };
    assert_eq!(
        *curves,
        [
            curve("a", false, &[(10.0, 121.5), (20.0, 221.5)]),
            curve("l", false, &[(0.0, 1.0), (1.0, 2.0), (2.0, 1.5)]),
            curve("x", true, &[(5.0, 1.0), (6.0, 2.0)]),
            curve("far", false, &[(2.0, 221.5)]),
        ]
    );
}

#[test]
fn a_fault_in_one_part_leaves_the_others() {
    let text = format!(
        "{BEGIN}{AXES}{FIGURES}{END}[table.bad]\nheads = [\"x\"]\nlines = [[\"{{a}}\"]]\n[csv.\"bad.csv\"]\ntable = \"bad\"\n\
         [[picture]]\ntitle = \"{{a}}\"\naxis = \"x\"\npairs = [{{ label = \"l\", ours = \"1\" }}]\n[page]\ntext = \"x{{table.bad}}\"\n"
    );
    let (page, problems) = page_of(&text, &results());
    assert_eq!(page, "x");
    let begins = [
        "e: csv.bad.csv: rate is free",
        "e: picture.1: rate is free",
        "e: table.bad: rate is free",
    ];
    assert_eq!(problems.len(), begins.len(), "{problems:?}");
    for (problem, begin) in problems.iter().zip(begins) {
        assert!(problem.starts_with(begin), "{problem}");
    }
}

#[test]
fn a_file_like_another_has_its_axes_and_figures() {
    let text = format!(
        "schema = 1\ntitle = \"t\"\nsource = \"s\"\nlike = \"other\"\n{END}[page]\ntext = \"{{mean(a):g}}\"\n"
    );
    assert_eq!(page_of(&text, &results()).0, "166.5");
}

#[test]
fn runs_have_the_settings_of_their_values_and_of_each_when() {
    let text = format!(
        "{BEGIN}set = {{ \"link.rate\" = \"{{rate}}mbit\", \"queue.kind\" = {{ kind = \"{{queue}}\", limit = 5 }} }}\n{AXES}extra = 1\n{END}\
         [[when]]\nwhere = \"k == 3\"\nset = {{ \"x\" = \"{{law}}\", \"y\" = \"{{rate / 3:.1}}\" }}\nseeds = [7]\nquick = \"20s\"\nover-linux = {{ \"z\" = 1 }}\n"
    );
    let experiment = read(&text).unwrap();
    let cells: Vec<String> = experiment
        .cells()
        .iter()
        .map(|cell| {
            format!(
                "{} {}",
                cell.settings().join(" "),
                cell.settings_over_linux().join(" ")
            )
        })
        .collect();
    assert_eq!(
        cells[1..4],
        [
            "link.rate=10mbit queue.kind={ kind = \"A\", limit = 5 } ",
            // What the source did not print is no setting.
            "link.rate=10mbit queue.kind={ kind = \"B\", limit = 5 } y=3.3 z=1",
            "link.rate=20mbit queue.kind={ kind = \"A\", limit = 5 } ",
        ]
    );
    assert_eq!(cells.len(), 6);
    assert_eq!(experiment.cells()[0].measurement(), Some("experiment"));
}
