use super::tree::Node;
use super::*;

/// An expression with every operation in brackets.
fn shape(text: &str) -> String {
    fn of(expression: &Expression) -> String {
        let all = |list: &[Expression]| list.iter().map(of).collect::<Vec<_>>().join(" ");
        match &expression.node {
            Node::Value(value) => value.plain(),
            Node::Name(name)
            | Node::Column(name)
            | Node::Published(name)
            | Node::Quantity(name) => name.clone(),
            Node::List(list) => format!("[{}]", all(list)),
            Node::Call(name, list) | Node::Measured(name, list) => format!("{name}({})", all(list)),
            Node::Each(between, ..) => format!("each({between})"),
            Node::Written(_) => "text".to_owned(),
            Node::Select(inner, axes) => {
                let axes = axes.iter().map(|(axis, value)| {
                    let value = value.as_ref().map_or("*".to_owned(), of);
                    format!("{axis}={value}")
                });
                format!("{}[{}]", of(inner), axes.collect::<Vec<_>>().join(" "))
            }
            Node::Unary(operation, inner) => format!("({operation:?} {})", of(inner)),
            Node::Binary(operation, left, right) => {
                format!("({} {operation:?} {})", of(left), of(right))
            }
        }
    }
    let read = parse(text).or_else(|_| parse_with_units(text));
    of(&read.unwrap())
}

#[test]
fn operations_bind_as_in_a_textbook() {
    for (text, expected) in [
        ("1 + 2 * 3", "(1 Plus (2 Times 3))"),
        ("1 - 2 - 3", "((1 Minus 2) Minus 3)"),
        ("-2 ^ 2", "(Minus (2 Power 2))"),
        ("2 ^ -3 ^ 2", "(2 Power (Minus (3 Power 2)))"),
        ("not a == 1 and b or c", "(((Not (a Equal 1)) And b) Or c)"),
        ("a in [1, 'x']", "(a In [1 x])"),
        (
            "queue.l4s-5.delay_ms.p99 - 1",
            "(queue.l4s-5.delay_ms.p99 Minus 1)",
        ),
        (
            "max(ratio[case = 'A', rtt = *])",
            "max(ratio[case=A rtt=*])",
        ),
        (
            "path.goodput(0, 3, 60) / 2.5e-1",
            "(path.goodput(0 3 60) Over 0.25)",
        ),
        ("each('; ', '{a}: {b:.2}')[rtt = 5]", "each(; )[rtt=5]"),
        (
            "a.b < 1.5ms and c.d > 1 %",
            "((a.b Less 1.5ms) And (c.d More 1%))",
        ),
        (
            "a.b within 5 % of 2 * c.d",
            "(a.b Within [5 (2 Times c.d)])",
        ),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_expression_is_named_with_its_place() {
    for (text, expected) in [
        (
            "",
            "at character 1: the expression has no end: a value is missing",
        ),
        (
            "a +",
            "at character 4: the expression has no end: a value is missing",
        ),
        ("a b", "at character 3: b is too much"),
        ("f(a", "at character 4: ) is missing; here is the end"),
        ("'a", "at character 1: this text has no end: a ' is missing"),
        (
            "5ms",
            "at character 2: a number ends here, and a unit has no place in an expression",
        ),
        (
            "1 < 2 < 3",
            "at character 7: comparisons have no order; write a < b and b < c",
        ),
        ("a ; b", "at character 3: ';' has no meaning here"),
        ("x[1]", "at character 3: the name of an axis is missing"),
    ] {
        assert_eq!(parse(text).unwrap_err().show(text), expected, "{text}");
    }
    for (text, expected) in [
        (
            "a within 5 of b",
            "at character 10: write A within 5 % of B",
        ),
        ("a within 5% b", "at character 10: write A within 5 % of B"),
        ("a < 5ms 3", "at character 9: 3 is too much"),
    ] {
        let error = parse_with_units(text).unwrap_err();
        assert_eq!(error.show(text), expected, "{text}");
    }
    let deep = "(".repeat(1_000) + "1";
    assert!(parse(&deep).unwrap_err().why.contains("nested"));
    let minus = "-".repeat(100_000);
    assert!(parse(&minus).is_err());
    let each = "each('', '{each('''', ''{a}'')}')";
    assert!(parse(each).is_ok());
}

#[test]
fn a_template_has_texts_values_and_tables() {
    let read = Template::read("{{{rtt} ms}}: {x:+.1|–}{table.main}").unwrap();
    assert_eq!(read.0.len(), 5, "{read:?}");
    assert!(matches!(&read.0[4], Piece::Table(name) if name == "main"));
    for (text, expected) in [
        (
            "{a",
            "at character 2: a { without its }; write {{ for one in the text",
        ),
        (
            "a}",
            "at character 2: a } that closes nothing; write }} for one in the text",
        ),
        (
            "{a:x}",
            "at character 3: \"x\" is no form; there are d, g, .2, +.1, ±, ±2, time, rate",
        ),
        (
            "ä{1 +}",
            "at character 6: the expression has no end: a value is missing",
        ),
    ] {
        assert_eq!(
            Template::read(text).unwrap_err().show(text),
            expected,
            "{text}"
        );
    }
}
