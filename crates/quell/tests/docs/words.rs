//! Wordings that readers stumbled over, and what says the same: none of them comes back into help, README or docs.

use std::collections::BTreeSet;
use std::process::Command;

/// What nobody should have to read twice, and what to write.
const STUMBLES: &[(&str, &str)] = &[
    ("how manieth", "attempt, or a number"),
    ("mend", "fix"),
    ("mends", "fix"),
    ("call it so", "name"),
    ("under way", "in flight, or running"),
    ("time stands still", "the clock stops"),
    ("the least and the most", "the smallest and the largest"),
    ("the least and the greatest", "the smallest and the largest"),
    (
        "from the least to the greatest",
        "from the smallest to the largest",
    ),
    ("without further ado", "nothing"),
    ("tells", "reports, shows, or prints"),
    ("tell what", "report, show, or print"),
];

/// A text as words and blanks alone, with a blank at both ends.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    format!(" {} ", words.join(" "))
}

/// What a text says that it should not.
fn stumbles(text: &str) -> Vec<String> {
    let words = words(text);
    let found = STUMBLES
        .iter()
        .filter(|(wording, _)| words.contains(&format!(" {wording} ")));
    found
        .map(|(wording, instead)| format!("\"{wording}\"; write: {instead}"))
        .collect()
}

fn quell(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help lists.
fn commands(help: &str) -> BTreeSet<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  "))
        // What a description continues with is indented further.
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The help of every command, by its name.
fn helps() -> Vec<(String, String)> {
    let mut helps = vec![("quell".to_owned(), quell(&["--help"]))];
    for command in commands(&helps[0].1) {
        let help = quell(&[&command, "--help"]);
        for action in commands(&help) {
            let help = quell(&[&command, &action, "--help"]);
            helps.push((format!("quell {command} {action}"), help));
        }
        helps.push((format!("quell {command}"), help));
    }
    helps
}

#[test]
fn nobody_stumbles_over_help_readme_and_docs() {
    let helps = helps();
    assert!(helps.len() > 15, "{:?}", helps.len());
    let lists = ["keys", "queues", "values", "apps", "cc", "doctor"];
    let lists = lists.map(|command| (format!("quell {command}"), quell(&[command])));
    let pages = crate::docs::pages();
    let pages = pages.into_iter().map(|page| (page.name, page.text));
    let found: Vec<String> = helps
        .into_iter()
        .chain(lists)
        .chain(pages)
        .flat_map(|(name, text)| {
            let found = stumbles(&text).into_iter();
            found.map(move |what| format!("{name}: {what}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The samples of the English pass, as they shall read.
#[test]
fn the_samples_read_as_they_were_corrected() {
    for (arguments, sentence) in [
        (
            &["--help"][..],
            "Check what this host supports, and how to fix what is missing",
        ),
        (
            &["kernel", "add", "--help"],
            "Name for this kernel [default: its version]",
        ),
        (
            &["run", "--help"],
            "Abort a guest whose clock stops for this long [default: 60s]",
        ),
    ] {
        let help = words(&quell(arguments));
        assert!(help.contains(&words(sentence)), "{sentence}: {help}");
    }
    let limitations = crate::docs::pages()
        .into_iter()
        .find(|page| page.name == "docs/limitations.md")
        .unwrap();
    let sentence = "`--jobs` never starts more runs than fit in memory";
    assert!(words(&limitations.text).contains(&words(sentence)));
}

#[test]
fn a_stumble_is_found_as_a_word_and_not_inside_of_one() {
    assert!(!stumbles("It tells\nyou.").is_empty());
    assert!(!stumbles("packets under\n  way").is_empty());
    assert!(stumbles("We recommend the fix of a satellite.").is_empty());
}
