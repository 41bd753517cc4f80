//! `quell cc`: the modelled congestion controls with their options, what each is in each world, those of this kernel, and those that quell
//! can load.

use quell_hosts::cc::{self, Modules};
use quell_lab::scenario::control::defaults;
use quell_tcp::cc::KINDS;

use crate::Failure;
use crate::arguments::Cc;
use crate::control_worlds::worlds;
use crate::page::Page;
use crate::queues::explain_parameters;

/// Lists the controls, or loads one to test it.
pub(crate) fn controls(action: Option<&Cc>, page: &mut Page) -> Result<(), Failure> {
    match action {
        None | Some(Cc::List) => list(page),
        Some(Cc::Load { name, load_modules }) => {
            let modules = if *load_modules {
                Modules::Load
            } else {
                Modules::Leave
            };
            load(name, modules, page)
        }
        Some(Cc::Unload { name }) => Err(Failure::input(format!(
            "nothing to unload: a run loads the controls that it needs ({name} too) and unloads them when it ends"
        ))),
    }
}

fn list(page: &mut Page) -> Result<(), Failure> {
    page.paragraph(
        0,
        "For the simulator; options are given as congestion-control = { name = \"cubic\", beta = 0.8 }:",
    );
    for kind in KINDS {
        page.line("");
        page.paragraph(0, &format!("{}: {}", kind.name, kind.summary));
        page.paragraph(
            0,
            &format!("Source: {}.", kind.source.trim_end_matches('.')),
        );
        page.paragraph(0, &format!("Defaults of its group: {}.", defaults(kind)));
        explain_parameters(kind.parameters, page);
    }
    page.line("");
    worlds(page)?;
    page.line("");
    page.line("For the live world, without options:");
    let words = |words: Vec<String>| {
        if words.is_empty() {
            "none".to_owned()
        } else {
            words.join(" ")
        }
    };
    let kernel = cc::available().map_err(Failure::failed)?;
    let (ours, own): (Vec<_>, Vec<_>) = kernel
        .into_iter()
        .partition(|name| cc::owner(name).is_some());
    page.line(format_args!("in this kernel   {}", words(own)));
    if !ours.is_empty() {
        page.line(format_args!("loaded by a running quell   {}", words(ours)));
    }
    let loadable = cc::loadable().into_iter().map(str::to_owned).collect();
    page.line(format_args!("loadable by BPF  {}", words(loadable)));
    Ok(())
}

fn load(name: &str, modules: Modules, page: &mut Page) -> Result<(), Failure> {
    let control = cc::find(name, modules).map_err(Failure::failed)?;
    if control.is_bpf() {
        page.paragraph(
            0,
            &format!(
                "{name} loads as BPF ({}). It is unloaded again: each run loads the controls that it needs.",
                control.kernel_name()
            ),
        );
    } else {
        page.line(format_args!("this kernel has {name}"));
    }
    Ok(())
}
