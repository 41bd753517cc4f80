//! `quell new`: a scenario to start from, with comments.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use quell_experiment::link_profile::LinkProfile;
use quell_lab::scenario::closest;
use quell_lab::scenario::start::{STARTS, Start};

use crate::failure::Failure;
use crate::output::page::Page;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["name", "profile"])))]
pub(crate) struct New {
    /// Scenario to start from: access, home, lan, datacentre or satellite [default: list them]
    name: Option<String>,
    /// Start from the link of a profile, such as dsl or 3g: quell profiles lists them
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Write the scenario to this file, which must not exist yet [default: - for standard output]
    #[arg(short, long, value_name = "FILE", requires = "what")]
    output: Option<PathBuf>,
}

/// Prints or writes one, or lists them.
pub(crate) fn new(arguments: &New, page: &mut Page) -> Result<(), Failure> {
    let text = match (&arguments.name, &arguments.profile) {
        (Some(name), _) => Some(find(name)?.text.to_owned()),
        (None, Some(name)) => {
            let profile = LinkProfile::named(name).map_err(Failure::input)?;
            Some(profile.scenario())
        }
        (None, None) => None,
    };
    let Some(text) = text else {
        for start in STARTS {
            page.line(format_args!("{:10}  {}", start.name, start.summary));
        }
        page.line("");
        page.line("quell new NAME prints one; quell new NAME -o FILE writes it.");
        return Ok(());
    };
    match arguments.output.as_deref() {
        None => page.line(text.trim_end()),
        Some(path) if path == Path::new("-") => page.line(text.trim_end()),
        Some(path) => {
            write(path, &text)?;
            page.line(format_args!(
                "{} written; try: quell run {0}",
                path.display()
            ));
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<&'static Start, Failure> {
    let found = STARTS.iter().find(|start| start.name == name);
    found.ok_or_else(|| {
        let names = || STARTS.iter().map(|start| start.name);
        // As it is spelled elsewhere.
        let usual = name.replace("center", "centre").replace("data-", "data");
        let meant = closest(&usual, names());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let all: Vec<&str> = names().collect();
        Failure::input(format!(
            "there is no scenario {name} to start from: must be one of {}{meant}",
            all.join(", ")
        ))
    })
}

/// Never over anything that is there.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::input(format!("{shown} exists; name another file")),
        _ => Failure::input(format!("cannot write {shown}: {error}")),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Half of it would be in the way of the next try.
        let _ = fs::remove_file(path);
        Failure::failed(format!("cannot write {shown}: {error}"))
    })
}
