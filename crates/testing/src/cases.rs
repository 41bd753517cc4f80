//! Test programs without the usual harness: cases one after the other, in the only thread of the process.
//!
//! Enough of the harness's interface for `cargo test NAME`, for listing, and for `scripts/test-program`.

use std::env;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// A case, by its name.
pub type Case<C> = (&'static str, C);

/// Those of `cases` whose names contain one of the arguments of this program, or all; none where it is only asked for help or for a list.
#[must_use]
pub fn chosen<C: Copy>(cases: &[Case<C>]) -> Option<Vec<Case<C>>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let asks = |option: &str| arguments.iter().any(|argument| argument == option);
    if asks("--help") {
        println!("[--list] [NAME]...: runs the cases whose names contain one of these, or all");
        return None;
    }
    if asks("--list") {
        cases.iter().for_each(|(name, _)| println!("{name}: test"));
        return None;
    }
    let wanted = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'));
    let wanted: Vec<&String> = wanted.collect();
    let is_chosen = |(name, _): &&Case<C>| {
        wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()))
    };
    Some(cases.iter().filter(is_chosen).copied().collect())
}

/// Runs each case by `run`; one that panics fails the whole, and the end says in which words, as the usual harness does.
pub fn run_cases<C: Copy>(cases: &[Case<C>], run: impl Fn(C)) -> ExitCode {
    let panics = Arc::new(Mutex::new(String::new()));
    let usual = panic::take_hook();
    let heard = Arc::clone(&panics);
    panic::set_hook(Box::new(move |panic| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push_str(&format!("{panic}\n"));
        drop(heard);
        usual(panic);
    }));
    let mut failures = String::new();
    for (name, case) in cases {
        print!("test {name} ... ");
        let _ = std::io::stdout().flush();
        let passed = catch_unwind(AssertUnwindSafe(|| run(*case))).is_ok();
        println!("{}", if passed { "done" } else { "FAILED" });
        let said = std::mem::take(&mut *panics.lock().unwrap_or_else(PoisonError::into_inner));
        if !passed {
            failures.push_str(&format!("---- {name} ----\n{said}\n"));
        }
    }
    if failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failures:\n{failures}test result: FAILED");
    ExitCode::FAILURE
}
