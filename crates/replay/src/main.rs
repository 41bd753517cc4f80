//! `quell-replay`: what quell's TCP, or a kernel, makes of a script.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use quell_kernel::store::Store;
use quell_replay::script::Subject;
use quell_replay::{Script, Transcript, judge::judge, kernel, model};

/// Replay scripts of TCP segments; print what left, and what differs from the script.
#[derive(Debug, Parser)]
#[command(name = "quell-replay")]
struct Options {
    /// Ask the newest user-mode kernel instead of quell's TCP
    #[arg(long)]
    linux: bool,
    /// Ask the kernel of this name (`quell kernel list`)
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Scripts; crates/replay/src/lib.rs describes the language
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    if let Some(code) = kernel::entry() {
        return code;
    }
    let options = Options::parse();
    let mut code = ExitCode::SUCCESS;
    for file in &options.files {
        match replay(&options, file) {
            Ok(true) => {}
            Ok(false) => code = ExitCode::FAILURE,
            Err(error) => {
                eprintln!("quell-replay: {}: {error}", file.display());
                code = ExitCode::from(2);
            }
        }
    }
    code
}

/// Whether the script is kept.
fn replay(options: &Options, file: &Path) -> Result<bool, Failure> {
    let text = fs::read_to_string(file)?;
    let script = Script::parse(&text)?;
    let (subject, transcript) = answer(options, &script, &text)?;
    println!("# {}: {subject}", file.display());
    print!("{transcript}");
    let differences = judge(&script, &transcript, &subject);
    for difference in &differences {
        println!("# {difference}");
    }
    Ok(differences.is_empty())
}

fn answer(
    options: &Options,
    script: &Script,
    text: &str,
) -> Result<(Subject, Transcript), Failure> {
    if !options.linux && options.kernel.is_none() {
        return Ok((Subject::Model, model::replay(script)?));
    }
    let kernel = Store::open()?.find(options.kernel.as_deref())?;
    let program = std::env::current_exe()?;
    let transcript = kernel::replay(&kernel, &program, script, text)?;
    Ok((Subject::Linux(kernel.facts.version), transcript))
}
