//! The scenario that most tests of a whole run start from.

/// The text of a scenario with two groups of downloads: `l4s` by DCTCP with ECT(1), and `classic` by CUBIC.
///
/// ```text
/// l4s_beside_classic!(
///     name: "small",
///     link: "rate = \"10mbit\"\nqueue = { kind = \"dualpi2\" }\n",
///     flows: [2, 2],
///     rtts: ["10ms", "10ms"],
///     then: "[run]\nduration = \"4s\"\n",
/// )
/// ```
///
/// `link` has the keys of `[link]`, `then` what follows the groups. Of `flows` and `rtts` the first is of `l4s`.
#[macro_export]
macro_rules! l4s_beside_classic {
    (
        name: $name:literal,
        link: $link:literal,
        flows: [$l4s:literal, $classic:literal],
        rtts: [$l4s_rtt:literal, $classic_rtt:literal],
        then: $then:literal $(,)?
    ) => {
        concat!(
            "schema = 1\nname = \"",
            $name,
            "\"\n[link]\n",
            $link,
            "[[group]]\nname = \"l4s\"\ncount = ",
            $l4s,
            "\ncongestion-control = \"dctcp\"\necn = \"ect1\"\nrtt = \"",
            $l4s_rtt,
            "\"\napp = { kind = \"bulk\" }\n[[group]]\nname = \"classic\"\ncount = ",
            $classic,
            "\ncongestion-control = \"cubic\"\nrtt = \"",
            $classic_rtt,
            "\"\napp = { kind = \"bulk\" }\n",
            $then
        )
    };
}
