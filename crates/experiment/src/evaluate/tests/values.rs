use super::*;

const FIGURES: &str = r#"
a = "run.a"
median = { of = "run.a", over = "median" }
first = { of = "run.a", over = "first" }
sum = { of = "run.a", over = "sum" }
some = "run.seed"
ratio = { of = "run.a / run.seed", over = "pooled" }
all = { of = "run.a", over = "list" }
lists = { of = "run.list", over = "list" }
added = { of = "run.list", over = "pooled" }
meant = "run.list"
twice = "2 * a"
big = { of = "a", where = "k > 1", label = "of {queue}", show = ".1" }
spread = { of = "run.a", show = "±1" }
word = "run.word"
each_word = "run.each"
wide = { of = "mean(a)", label = "wide" }
restricted = { of = "run.a", where = "queue == 'B'" }
"#;

/// `a` is 100 for the rate's place, 10 for the queue's and 1 for the seed; the mean of the seeds 1 and 2 is 1.5.
#[test]
fn figures_of_runs_become_one_in_each_way() {
    for (template, expected) in [
        ("{a[rate = 10, queue = 'A']:g}", "111.5"),
        ("{a[rate = 20, queue = 'B']:g}", "221.5"),
        ("{median[rate = 10, queue = 'A']:g}", "112"),
        ("{first[rate = 10, queue = 'A']:g}", "111"),
        ("{sum[rate = 10, queue = 'A']:g}", "223"),
        // Columns are added before: 111 + 112, and only one seed has the other.
        ("{ratio[rate = 10, queue = 'A']:g}", "223"),
        ("{some[rate = 10, queue = 'A']:g}", "1"),
        ("{all[rate = 10, queue = 'A']:g}", "111, 112"),
        ("{lists[rate = 10, queue = 'A']:g}", "1, 1, 1, 1, 1, 2"),
        ("{added[rate = 10, queue = 'B']:g}", "2, 4, 3"),
        ("{meant[rate = 10, queue = 'B']:g}", "1, 2, 1.5"),
        ("{twice[rate = 10, queue = 'A']:g}", "223"),
        ("{word[rate = 10, queue = 'A']}", "w1"),
        ("{each_word[rate = 10, queue = 'A']|differ}", "differ"),
        ("{restricted[rate = 10, queue = 'A']|none}", "none"),
        ("{restricted[rate = 10, queue = 'B']:g}", "121.5"),
        ("{seeds(a[rate = 10, queue = 'A']):g}", "111, 112"),
        ("{error(a[rate = 10, queue = 'A']):g}", "0.5"),
    ] {
        assert_eq!(shown(FIGURES, template), expected, "{template}");
    }
}

#[test]
fn list_functions_go_over_the_free_axes_and_a_selection_frees_or_fixes() {
    for (template, expected) in [
        ("{mean(a):g}", "166.5"),
        ("{mean(a[rate = 10]):g}", "116.5"),
        ("{mean(a)[rate = 20]:g}", "216.5"),
        ("{max(a[queue = 'A']):g}", "211.5"),
        ("{min(a):g}", "111.5"),
        ("{sum(k):g}", "4"),
        ("{count(a > 120):g}", "3"),
        ("{all(a > 120)} {any(a > 120)}", "false true"),
        ("{first(a):g} {last(a):g}", "111.5 221.5"),
        ("{length(a):g} {length(big):g}", "4 2"),
        ("{list(k):g}", "1, 3"),
        ("{jain(k):.2}", "0.80"),
        ("{quantile(a, 0.5):g}", "211.5"),
        ("{at(a, 2):g}{at(a, 4)|!}{at(a, -1)|!}", "211.5!!"),
        ("{sum([]):g} {mean([])|none}", "0 none"),
        ("{mean(max(a)[rate = *])[rate = 10]:g}", "216.5"),
        (
            "{max(a)[rate = 10]:g} {max(a)[rate = *][rate = 10]:g}",
            "121.5 221.5",
        ),
        (
            "{each('; ', '{rate}{queue}: {a:.0}')}",
            "10A: 112; 10B: 122; 20A: 212; 20B: 222",
        ),
        ("{each(', ', '{queue}', k > 1)}", "B"),
        ("{each(', ', '{queue}', k > 9)|nothing}", "nothing"),
        ("{each(' ', '{index(queue)}')}", "0.000 1.00"),
        ("{mean(if(queue == 'A', a, none)):g}", "161.5"),
        (
            "{mean(a[rate = 20, queue = 'A'] / a[rate = 10, queue = 'A']):.3}",
            "1.897",
        ),
        ("{min(2, 3):g} {max(2, 3):g}", "2 3"),
        ("{wide:g} {wide[rate = 10]:g}", "166.5 116.5"),
    ] {
        assert_eq!(shown(FIGURES, template), expected, "{template}");
    }
}

#[test]
fn a_value_is_written_in_its_form() {
    for (template, expected) in [
        (
            "{1 / 3} {1 / 3:.2} {1 / 3:+.1} {2 / 3:d} {0.25:g}",
            "0.333 0.33 +0.3 0.667 0.25",
        ),
        (
            "{each('', '{run.marks.step:g}{run.drops.limit:g}{run.other.x|-}')[rate = 10, queue = 'A']}",
            "00-",
        ),
        ("{none|–} {run_none[rate = 10, queue = 'A']|no}", "– no"),
        ("{big[rate = 10, queue = 'B']}", "121.5"),
        ("{big[rate = 10, queue = 'A']|left out}", "left out"),
        ("{spread[rate = 10, queue = 'A']}", "111.5 ± 0.5"),
        ("{a[rate = 10, queue = 'A']:±2}", "111.50 ± 0.50"),
        ("{a[rate = 10, queue = 'A']:±}", "111.50 ± 0.50"),
        ("{mean(k):±1} {wide:±0}", "2.0 ± 1.0 166 ± 29"),
        ("{true} {'x'} {rate[rate = 10]}", "true x 10"),
        (
            "{text('{none}!')|none} {text('{1}!')} {text(1 / 3, '.1')}",
            "none 1.00! 0.3",
        ),
        ("{{{1}}}", "{1.00}"),
    ] {
        let figures = format!("{FIGURES}run_none = \"run.none\"");
        assert_eq!(shown(&figures, template), expected, "{template}");
    }
}

#[test]
fn a_column_that_no_run_has_is_a_problem_that_names_what_there_is() {
    let shown = |of: &str| {
        let template = format!("{{each('', '{{{of}|-}}')[rate = 10, queue = 'A']}}");
        shown(FIGURES, &template)
    };
    assert_eq!(
        shown("run.wrod"),
        "e: run.wrod: no run has wrod beside a, drops, each, flag, list, marks, none, other, seed, word; did you mean word?"
    );
    assert_eq!(shown("run.none.more"), "-");
}

#[test]
fn none_and_odd_numbers_go_through_operations() {
    for (template, expected) in [
        (
            "{none + 1|none} {none < 1} {none == none} {-none|none}",
            "none false true none",
        ),
        (
            "{not none} {not 0} {not ''} {not []} {not 'x'}",
            "true true true true false",
        ),
        ("{1 / 0:g} {0 / 0:g}", "inf NaN"),
        (
            "{2 ^ 10:g} {4 ^ 0.5:g} {-2 ^ 2:g} {7 - 2 * 3:g} {6 / 4:g}",
            "1024 2 -4 1 1.5",
        ),
        (
            "{1 < 1} {1 <= 1} {2 > 2} {2 >= 2} {1 != 2} {1 == '1'}",
            "false true false true true true",
        ),
        ("{2 in [1, 2]} {'c' in ['a']}", "true false"),
        (
            "{false and 1 / none} {true or none} {true and 0}",
            "false true false",
        ),
        (
            "{if(0, 1, 2):g} {default(none, 3):g} {default(4, 3):g}",
            "2 3 4",
        ),
        (
            "{sqrt(9):g} {cbrt(27):g} {abs(-2):g} {floor(1.7):g} {round(1.6):g}",
            "3 3 2 1 2",
        ),
        (
            "{mod(-1, 4):g} {hypot(3, 4):g} {circular(1490, 20, 1500):g}",
            "3 5 30",
        ),
        ("{finite(1 / 0)}", "false"),
        (
            "{list.least([3, 1, 2]):g} {autocorrelation([1, 2, 1, 2], 2):g}",
            "1 0.5",
        ),
        ("{sqrt(none)|none} {hypot(3, none)|none}", "none none"),
    ] {
        assert_eq!(shown("", template), expected, "{template}");
    }
}

#[test]
fn what_has_no_value_is_a_problem_that_is_named() {
    for (template, expected) in [
        (
            "{a}",
            "e: page: rate is free here: use a list function such as mean(…), or choose with […]",
        ),
        ("{k}", "e: page: queue is free here"),
        ("{rate}", "e: page: rate is free here"),
        ("{index(rate)}", "e: page: rate is free here"),
        ("{index(1)}", "e: page: index has the name of an axis"),
        (
            "{a[rate = 30, queue = 'A']}",
            "e: page: rate has no value 30",
        ),
        ("{'x' + 1}", "e: page: x is no number"),
        ("{1 + 'x'}", "e: page: x is no number"),
        ("{-'x'}", "e: page: x is no number"),
        ("{sqrt('x')}", "e: page: x is no number"),
        ("{mean(['x'])}", "e: page: x is no number"),
        ("{1 in 2}", "e: page: 2 is no list"),
        ("{text(1, 'x')}", "e: page: \"x\" is no form"),
        (
            "{autocorrelation([1], 1)}",
            "e: page: the lag is longer than the list",
        ),
        (
            "{list.least([])}",
            "e: page: list.least: there is no place to look at",
        ),
        (
            "{path.goodput(0, 3, 60)[rate = 10, queue = 'A']|none}",
            "none",
        ),
        ("{value}", "e: page: value has no value here"),
    ] {
        let shown = shown(FIGURES, template);
        assert!(shown.starts_with(expected), "{template}: {shown}");
    }
}

#[test]
fn points_that_are_left_out_are_nowhere() {
    let text = format!(
        "{BEGIN}skip = [\"rate == 20 and queue == 'A'\"]\n{AXES}[figure]\na = \"run.a\"\n{END}[page]\n\
         text = \"{{each(' ', '{{rate}}{{queue}}')}} {{mean(a):g}} {{a[rate = 20, queue = 'A']|out}} {{length(a[queue = 'A']):g}}\"\n"
    );
    let mut results = results();
    results.drain(4..6);
    assert_eq!(
        page_of(&text, &results),
        ("10A 10B 20B 151.5 out 1".to_owned(), Vec::new())
    );
}

#[test]
fn an_axis_without_runs_is_only_gone_over() {
    let text = format!(
        "{BEGIN}[axis.rate]\nvalues = [10, 20]\n[axis.at]\nvalues = {{ from = 0, to = 2, steps = 3 }}\nruns = false\n\
         [figure]\na = \"run.a\"\nlaw = \"a * at\"\n{END}[page]\ntext = \"{{each(' ', '{{law:g}}')}} {{mean(a):g}}\"\n"
    );
    let results = [1, 2].map(|rate| measured(rate, 0, 0));
    let results = [&results[0], &results[0], &results[1], &results[1]].map(Clone::clone);
    assert_eq!(page_of(&text, &results).0, "0 100 200 0 200 400 150");
}

/// Two results: one with two phases, one without, which is one phase itself.
#[test]
fn results_are_divided_into_phases_and_groups() {
    let group = |name: &str, packets: u32| format!(r#"{{"name":"{name}","packets":{packets}}}"#);
    let phase = |start: u32, a: u32, groups: &[String]| {
        format!(
            r#"{{"start_s":{start},"end_s":{},"a":{a},"groups":[{}]}}"#,
            start + 2,
            groups.join(",")
        )
    };
    let phases = [
        phase(0, 1, &[group("g", 5), group("h", 7)]),
        phase(2, 3, &[group("g", 6)]),
    ];
    let with = format!(r#"{{"a":9,"groups":[],"phases":[{}]}}"#, phases.join(","));
    let without = format!(
        r#"{{"a":4,"duration_s":8,"warmup_s":3,"groups":[{}],"phases":[]}}"#,
        group("h", 8)
    );
    let text = |template: &str| {
        format!(
            "{BEGIN}[axis.kind]\nvalues = [\"with\", \"without\"]\nseeds = 1\n[axis.phase]\nparts = \"phases\"\n[axis.class]\nparts = \"groups\"\n\
             [figure]\na = \"run.a\"\npackets = \"class.packets\"\nlong = \"seconds\"\nall = \"whole.a\"\n{END}[page]\ntext = '''{template}'''\n"
        )
    };
    for (template, expected) in [
        (
            "{each(' ', '{kind}{phase}: {a:g}')}",
            "with1: 1 with2: 3 without1: 4",
        ),
        (
            "{each(' ', '{phase}: {long:g}')[kind = 'with']}",
            "1: 2 2: 2",
        ),
        ("{each(' ', '{long:g}')[kind = 'without']}", "5"),
        ("{each(' ', '{kind}: {all:g}')}", "with: 9 without: 4"),
        (
            "{each(' ', '{kind}{phase}{class}: {packets:g}', packets > 0)}",
            "with1g: 5 with1h: 7 with2g: 6 without1h: 8",
        ),
        (
            "{a[kind = 'without', phase = 2]|none} {packets[kind = 'with', phase = 1, class = 'i']|none}",
            "none none",
        ),
        ("{sum(packets[class = 'h']):g}", "15"),
    ] {
        let (page, problems) = page_of(&text(template), &[with.clone(), without.clone()]);
        assert_eq!(
            (page.as_str(), problems),
            (expected, Vec::new()),
            "{template}"
        );
    }
}
