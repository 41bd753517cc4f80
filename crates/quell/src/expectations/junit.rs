//! JUnit XML: a suite for each scenario or queue, a case for each expectation.

use std::fmt::Write as _;

use quell_experiment::expectation::Judged;

use super::Suite;

/// The document.
pub(super) fn document(suites: &[Suite]) -> String {
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let command = command.collect::<Vec<_>>().join(" ");
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for suite in suites {
        let failed = |one: &&Judged| !one.is_met && one.is_error;
        let warned = |one: &&Judged| !one.is_met && !one.is_error;
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\">",
            text(&suite.name),
            suite.judged.len(),
            suite.judged.iter().filter(failed).count(),
            suite.judged.iter().filter(warned).count(),
            suite.seconds
        );
        for one in &suite.judged {
            let _ = writeln!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">",
                text(&suite.name),
                text(&one.text),
                suite.seconds
            );
            let why = if one.why.is_empty() {
                String::new()
            } else {
                format!(" ({})", one.why)
            };
            let message = text(&format!("{}{why}", one.found));
            if failed(&one) {
                let _ = writeln!(out, "      <failure message=\"{message}\"/>");
            } else if warned(&one) {
                // Readers show what was skipped with its message, and count it as no failure.
                let _ = writeln!(out, "      <skipped message=\"warning: {message}\"/>");
            }
            let word = if one.is_met { "met" } else { "not met" };
            let _ = writeln!(
                out,
                "      <system-out>{}</system-out>\n    </testcase>",
                text(&format!("{word}: {}{why}\n{command}", one.found))
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// A text of XML; what XML cannot have becomes a question mark.
fn text(plain: &str) -> String {
    let mut out = String::new();
    for next in plain.chars() {
        match next {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            next if next.is_control() || matches!(next, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            next => out.push(next),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_xml() {
        assert_eq!(
            text("a < b & \"c\"\u{1b}[m"),
            "a &lt; b &amp; &quot;c&quot;?[m"
        );
    }
}
