//! `quell kernel`: the kernels of the virtual world.

pub(crate) mod arguments;
mod progress;

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quell_hosts::confine::capabilities::effective;
use quell_kernel::Error;
use quell_kernel::build::{self, Request, Told};
use quell_kernel::config::Outcome;
use quell_kernel::source::Wanted;
use quell_kernel::store::{Kernel, Store, own_controls};
use quell_lab::World;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::arguments::{KernelAction, KernelBuild};
use crate::kernel::progress::Shown;
use crate::output::outcomes::write_as_owner;
use crate::output::page::{self, Page};

/// Executes an action of `quell kernel`.
pub(crate) fn kernel(action: &KernelAction, page: &mut Page) -> Result<(), Failure> {
    let store = Store::open().map_err(failure)?;
    if !matches!(action, KernelAction::List { .. }) {
        write_as_owner(&store.folder().join("kernel"), World::Sim)?;
    }
    match action {
        KernelAction::Build(arguments) => build(&store, arguments, page),
        KernelAction::List { verbose } => list(&store, *verbose, page),
        KernelAction::Add {
            path,
            name,
            replace,
        } => {
            let interrupt = Interrupt::listen()?;
            let (kernel, outcome) = store
                .add(path, name.as_deref(), *replace, interrupt.stop())
                .map_err(|error| interrupt.explain(failure(error)))?;
            page.line(format_args!("added: {}", line(&kernel)));
            missing(&outcome, page);
            Ok(())
        }
        KernelAction::Remove { name } => {
            store.remove(name).map_err(failure)?;
            page.line(format_args!("removed: {name}"));
            Ok(())
        }
    }
}

/// The failure that an error of kernels means, with its exit code.
pub(crate) fn failure(error: Error) -> Failure {
    if error.is_refusal() {
        Failure::input(error)
    } else {
        Failure::failed(error)
    }
}

fn build(store: &Store, arguments: &KernelBuild, page: &mut Page) -> Result<(), Failure> {
    let source = match (&arguments.source, &arguments.package) {
        (Some(path), _) => Wanted::Path(path.clone()),
        (None, Some(package)) => Wanted::Package(package.clone()),
        (None, None) => Wanted::Newest,
    };
    let request = Request {
        source,
        name: arguments.name.clone(),
        fragment: arguments.config.clone(),
        clean: arguments.clean,
    };
    let interrupt = Interrupt::listen()?;
    let mut shown = Shown::new();
    let is_privileged = effective().is_ok_and(|has| !has.is_empty());
    if let (Some(path), true) = (&arguments.source, is_privileged) {
        shown.note(&format!(
            "the makefiles of {} run with the rights of root; build a source that you do not trust as an ordinary user",
            path.display()
        ));
    }
    let result = build::build(store, &request, interrupt.stop(), &mut |told| match told {
        Told::Progress(progress) => shown.tell(progress),
        Told::Note(note) => shown.note(&note),
    });
    shown.end();
    let built = result.map_err(|error| interrupt.explain(failure(error)))?;
    match &built.outcome {
        None => page.line(format_args!("already built: {}", line(&built.kernel))),
        Some(outcome) => {
            page.line(format_args!("built: {}", line(&built.kernel)));
            has("congestion controls", &outcome.congestion_controls, page);
            has("queue disciplines", &outcome.disciplines, page);
            missing(outcome, page);
        }
    }
    page.line(format_args!("folder: {}", built.kernel.folder.display()));
    if let Some(tree) = &built.tree {
        page.line(format_args!(
            "build tree: {}; the next build, or make -C in that folder, compiles only what changed",
            tree.display()
        ));
    }
    Ok(())
}

fn has(what: &str, names: &[String], page: &mut Page) {
    page.line(format_args!("{} {what}:", names.len()));
    page.paragraph(4, &names.join(" ").to_lowercase());
}

/// Prints the optional features that a kernel lacks.
fn missing(outcome: &Outcome, page: &mut Page) {
    if !outcome.left_out.is_empty() {
        page.line("not in this kernel (missing in its source, or a dependency is off):");
        page.paragraph(4, &outcome.left_out.join(" "));
    }
    for wish in &outcome.not_as_wished {
        page::complain(&format!(
            "{wish}, although the fragment sets it: the source lacks the option, or a dependency is off"
        ));
    }
}

fn list(store: &Store, verbose: bool, page: &mut Page) -> Result<(), Failure> {
    let listing = store.list().map_err(failure)?;
    for kernel in &listing.kernels {
        page.line(line(kernel));
        if let Err(why) = kernel.check() {
            page.paragraph(4, &why.to_string());
        }
        if verbose {
            contents(kernel, page);
        }
    }
    for (name, why) in &listing.damaged {
        page.line(format_args!(
            "{name}  damaged: {why}; fix: quell kernel remove {name}, and build or add it again"
        ));
    }
    if listing.kernels.is_empty() {
        page.line(format_args!(
            "no kernel in {}; `quell kernel build` builds one in a few minutes",
            store.folder().display()
        ));
    }
    Ok(())
}

/// Prints the congestion controls and disciplines of a kernel, and its folder.
fn contents(kernel: &Kernel, page: &mut Page) {
    page.line(format_args!("  folder: {}", kernel.folder.display()));
    match kernel.offered() {
        Ok((controls, disciplines)) => {
            for (what, names) in [
                ("congestion controls", controls),
                ("queue disciplines", disciplines),
            ] {
                page.line(format_args!("  {} {what}:", names.len()));
                page.paragraph(4, &names.join(" ").to_lowercase());
            }
        }
        Err(error) => page.line(format_args!("  its configuration: {error}")),
    }
}

/// One kernel on one line.
fn line(kernel: &Kernel) -> String {
    let facts = &kernel.facts;
    let mut line = format!("{}  Linux {}", kernel.name, facts.version);
    let _ = write!(line, "  {}", facts.source);
    let age = SystemTime::now()
        .duration_since(UNIX_EPOCH + Duration::from_secs(facts.built_at))
        .unwrap_or_default();
    let _ = write!(line, "  {}", ago(age));
    let has = kernel.congestion_controls().unwrap_or_default();
    let mut own = own_controls();
    own.retain(|name| has.contains(name));
    if own.is_empty() {
        line.push_str("  none of quell's controls");
    } else {
        let _ = write!(line, "  {}", own.join(" "));
    }
    if facts.seccomp {
        line.push_str("  seccomp");
    }
    if !facts.time_travel {
        line.push_str("  without time travel");
    }
    line
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..120 => format!("{minutes} min ago"),
        120..2_880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1_440),
    }
}
