//! `quell completions` and `quell man`: the arguments for shells and for man(1).

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Failure;
use crate::arguments::Arguments;
use crate::page::Page;

/// Prints the script that completes arguments in `shell`.
pub(crate) fn completions(shell: Shell, page: &mut Page) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "quell", &mut script);
    let script = String::from_utf8(script).map_err(Failure::failed)?;
    page.line(script.trim_end());
    Ok(())
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
