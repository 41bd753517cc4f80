//! The command line of quell, as a library: [`main`] is the whole program, and [`main_with`] the same with kinds of one's own.
//!
//! It reads arguments, calls `quell-lab`, and prints. Exit codes: 0 done, 1 the run failed or has warnings with `--strict`, 2
//! the input is wrong, 3 the results are not as expected; what was interrupted ends by the signal (130 in a shell).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod apps;
mod arguments;
mod cc;
mod characterize;
mod check;
mod command_line;
mod compare;
mod demo;
mod doctor;
mod exec;
mod expectations;
mod explain;
mod extensions;
mod failure;
mod first_process;
mod interrupt;
mod judge;
mod kernel;
mod keys;
mod link;
mod manual;
mod new;
mod output;
mod plot;
mod profiles;
mod queues;
mod reference;
mod report;
mod reproduce;
mod run;
mod scenario_file;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod sweep;
mod values;

use std::borrow::Cow;
use std::process::ExitCode;

use quell_lab::printable;

use command_line::{Arguments, Command};
use failure::Failure;
use output::page::{self, Page};
use output::terminal;

pub use extensions::Extensions;

/// Carries out the command line of this process, and returns its exit code.
///
/// A program calls this first: quell starts the program itself again as the first process of a container and of a user-mode
/// kernel, and `main` sees to that.
pub fn main() -> ExitCode {
    run_program()
}

/// The same with the queues and controls of another crate: they exist on the command line, in scenarios and in results as
/// those of quell do. Where they cannot be registered, the program says why and fails.
pub fn main_with(extensions: Extensions) -> ExitCode {
    let origin = extensions.origin();
    if let Err(error) = extensions.install() {
        page::complain(&format!("{origin}: {error}"));
        return ExitCode::FAILURE;
    }
    run_program()
}

fn run_program() -> ExitCode {
    if let Some(code) = quell_lab::virtual_world::entry() {
        return code;
    }
    if first_process::is_first() {
        return match first_process::look_after(command) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                page::complain(&format!("as the first process: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    ExitCode::from(command())
}

/// Executes the command line and returns the exit code.
fn command() -> u8 {
    let columns = terminal::columns();
    let arguments = match Arguments::read(columns) {
        Ok(arguments) => arguments,
        Err(error) => return answer(&error),
    };
    interrupt::end_with(arguments.parent_pipe);
    match &arguments.command {
        Command::Exec(_) | Command::Shell(_) if arguments.parent_pipe.is_some() => {
            page::complain(
                "--parent-pipe has no effect with exec and shell: end the program behind the link",
            );
            return quell_exec::run::OWN_FAILURE;
        }
        Command::Exec(arguments) => return exec::exec(arguments),
        Command::Shell(arguments) => return exec::shell(arguments),
        _ => {}
    }
    // Without it the signal would end the process, as it does with every other program.
    let _ = signals::let_limits_be_errors();
    let mut page = Page::new(columns);
    let result = match arguments.command {
        Command::Run(arguments) => {
            page::say_more(arguments.verbosity.verbose);
            run::run(&arguments, &mut page)
        }
        Command::Demo(arguments) => {
            page::say_more(arguments.verbosity.verbose);
            demo::demo(&arguments, &mut page)
        }
        Command::Compare(arguments) => {
            page::say_more(arguments.verbosity.verbose);
            compare::compare(&arguments, &mut page)
        }
        Command::Plot(arguments) => plot::plot(&arguments, &mut page),
        Command::Report(arguments) => report::report(&arguments, &mut page),
        Command::Characterize(arguments) => characterize::characterize(&arguments, &mut page),
        Command::Judge(arguments) => judge::judge(&arguments, &mut page),
        Command::Sweep(arguments) => sweep::sweep(&arguments, &mut page),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::serve(&arguments, &mut page),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments, &mut page),
        Command::Check(arguments) => check::check(&arguments, &mut page),
        Command::Schema { of } => check::schema(of, &mut page),
        Command::New(arguments) => new::new(&arguments, &mut page),
        Command::Explain(arguments) => explain::explain(&arguments, &mut page),
        Command::Keys { name } => keys::keys(name.as_deref(), &mut page),
        Command::Profiles { name } => profiles::profiles(name.as_deref(), &mut page),
        Command::Queues { name } => queues::queues(name.as_deref(), &mut page),
        Command::Apps { name } => apps::apps(name.as_deref(), &mut page),
        Command::Values { name } => values::values(name.as_deref(), &mut page),
        Command::Cc { json, action } => cc::controls(action.as_ref(), json, &mut page),
        Command::Kernel { action } => kernel::kernel(&action, &mut page),
        Command::Link { action } => link::link(&action, &mut page),
        Command::Exec(_) | Command::Shell(_) => Ok(()),
        Command::Doctor => doctor::doctor(&mut page),
        Command::Completions { shell } => manual::completions(shell, &mut page),
        Command::Man {
            folder,
            reference: false,
        } => manual::pages(&folder, &mut page),
        Command::Man { folder, .. } => reference::pages(&folder, &mut page),
    };
    let shown = page.show();
    match (result, shown) {
        (Err(failure), _) => end(&failure),
        (Ok(()), Err(error)) => {
            page::complain(&format!("cannot write to standard output: {error}"));
            1
        }
        (Ok(()), Ok(())) => 0,
    }
}

/// Prints the message, then ends the process by its signal or returns the exit code.
fn end(failure: &Failure) -> u8 {
    page::complain(&failure.message);
    if let Some(signal) = failure.signal {
        interrupt::die_of(signal);
    }
    failure.code
}

/// Prints help, or the error in the arguments: in colour, unless an argument contains control characters, which could pass for
/// colours.
fn answer(error: &clap::Error) -> u8 {
    let coloured = std::env::args_os().any(|argument| {
        let argument = argument.to_string_lossy();
        matches!(printable(&argument), Cow::Owned(_))
    });
    if coloured {
        page::say(error.to_string().trim_end());
    } else {
        // A reader that has gone, of help too, is no error.
        let _ = error.print();
    }
    // Around a program the codes are those of env(1).
    let around = std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "exec" || word == "shell");
    match error.exit_code() {
        0 => 0,
        _ if around => quell_exec::run::OWN_FAILURE,
        code => u8::try_from(code).unwrap_or(2),
    }
}
