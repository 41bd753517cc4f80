//! `quell completions` and `quell man`: the arguments for shells and for man(1).

use std::fs;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;
use quell_lab::scenario::keys::{KEYS, Section};
use quell_lab::scenario::start::STARTS;

use crate::command_line::Arguments;
use crate::failure::Failure;
use crate::output::page::Page;
use crate::values;

/// Prints the script that completes arguments in `shell`.
pub(crate) fn completions(shell: Shell, page: &mut Page) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = with_words(Arguments::command());
    clap_complete::generate(shell, &mut command, "quell", &mut script);
    let mut script = String::from_utf8(script).map_err(Failure::failed)?;
    if shell == Shell::Fish {
        fish_words(&command, "", &mut script);
    }
    page.line(script.trim_end());
    Ok(())
}

/// The commands with the words that each argument may have: of queues, controls, keys and the rest there are tables. A word may be
/// continued, which a parser of these words alone would refuse.
fn with_words(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match words(&name, &argument) {
        words if words.is_empty() => argument,
        words => argument.value_parser(PossibleValuesParser::new(words)),
    });
    command.mut_subcommands(with_words)
}

/// Adds what `clap_complete` leaves out for fish: the words of arguments without an option. `above` is the condition of the
/// command, empty for the first.
fn fish_words(command: &Command, above: &str, script: &mut String) {
    for command in command.get_subcommands() {
        let name = command.get_name();
        let condition = match above {
            "" => format!("__fish_quell_using_subcommand {name}"),
            above => format!("{above}; and __fish_seen_subcommand_from {name}"),
        };
        let words = command.get_positionals().flat_map(Arg::get_possible_values);
        let words: Vec<String> = words
            .filter(|word| !word.is_hide_set())
            .map(|word| word.get_name().to_owned())
            .collect();
        if !words.is_empty() {
            let words = words.join(" ");
            script.push_str(&format!(
                "complete -c quell -n \"{condition}\" -f -a \"{words}\"\n"
            ));
        }
        fish_words(command, &condition, script);
    }
}

/// What an argument of a command may begin with; nothing where nobody knows.
fn words(command: &str, argument: &Arg) -> Vec<&'static str> {
    let queues = || quell_aqm::disciplines::kinds().map(|kind| kind.name);
    let controls = || quell_tcp::cc::kinds().map(|kind| kind.name);
    match (command, argument.get_id().as_str()) {
        (_, "queue" | "queues" | "down_queue" | "up_queue" | "against") => queues().collect(),
        ("queues", "name") => queues().collect(),
        (_, "cc" | "far_cc") | ("load" | "unload", "name") => controls().collect(),
        ("apps", "name") => quell_app::NAMES.to_vec(),
        ("values", "name") => values::names().collect(),
        ("new", "name") => STARTS.iter().map(|start| start.name).collect(),
        ("keys", "name") => paths(|_| true, ""),
        (_, "sets") => paths(|section| SETTABLE.contains(&section), "="),
        _ => Vec::new(),
    }
}

/// The sections whose keys have a path that `--set` takes as it is: those of a group have its name in them.
const SETTABLE: [Section; 3] = [Section::Link, Section::Reverse, Section::Run];

/// The paths of the keys of some sections, with `end` behind each. The program ends when they are printed, so they may stay.
fn paths(wanted: impl Fn(Section) -> bool, end: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().filter(|key| wanted(key.section));
    let paths = keys.map(|key| &*format!("{}{end}", key.path()).leak());
    let mut paths: Vec<&'static str> = paths.collect();
    paths.dedup();
    paths
}

/// Writes a page of the manual for each command into `folder`.
pub(crate) fn pages(folder: &Path, page: &mut Page) -> Result<(), Failure> {
    let cannot = |error| Failure::failed(format!("cannot write {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot)?;
    let command = Arguments::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).map_err(cannot)?;
    page.line(format_args!(
        "manual pages written to {}; man -l {} shows the first",
        folder.display(),
        folder.join("quell.1").display()
    ));
    Ok(())
}
