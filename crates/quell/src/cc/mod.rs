//! `quell cc`: the modelled congestion controls with their options, what each is in each world, those of this kernel, and those that quell
//! can load.

pub(crate) mod arguments;
mod worlds;

use quell_hosts::cc::{self, Modules};
use quell_lab::scenario::ControlSpec;
use quell_lab::scenario::control::defaults;
use quell_tcp::cc::{ControlKind, kinds, own};
use quell_units::parameter::Parameter;
use serde_json::{Value, json};

use crate::cc::arguments::Cc;
use crate::cc::worlds::{Here, Live, Row, rows, worlds};
use crate::failure::Failure;
use crate::output::page::Page;
use crate::queues::{default, explain_parameters};

/// Lists the controls, or loads one to test it.
pub(crate) fn controls(action: Option<&Cc>, json: bool, page: &mut Page) -> Result<(), Failure> {
    match action {
        None | Some(Cc::List) if json => print_json(page),
        None | Some(Cc::List) => list(page),
        Some(_) if json => Err(Failure::input("--json has an effect only on the list")),
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
    for kind in kinds() {
        page.line("");
        explain(kind, page);
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

/// Summary, source, defaults and options of a control of the simulator.
pub(crate) fn explain(kind: &ControlKind, page: &mut Page) {
    page.paragraph(0, &format!("{}: {}", kind.name, kind.summary));
    page.paragraph(
        0,
        &format!("Source: {}.", kind.source.trim_end_matches('.')),
    );
    page.paragraph(0, &format!("Defaults of its group: {}.", defaults(kind)));
    if let Some(own) = own::find(kind.name) {
        page.paragraph(0, &format!("It comes from {}.", own.origin));
    }
    explain_parameters(kind.parameters, page);
}

/// The list as one object: what each control is in each world, and of those that the simulator has their options.
fn print_json(page: &mut Page) -> Result<(), Failure> {
    let controls: Vec<Value> = rows(&Here::look()?).iter().map(object).collect();
    let all = json!({ "controls": controls });
    let text = serde_json::to_string_pretty(&all).map_err(Failure::failed)?;
    page.line(text);
    Ok(())
}

fn object(row: &Row) -> Value {
    let kind = row.kind;
    let parameters = kind.map(|kind| {
        let parameter = |parameter: &Parameter| {
            json!({
                "name": parameter.name,
                "help": parameter.help,
                "default": default(parameter),
                "allowed": parameter.domain.to_string(),
                "source": parameter.source,
            })
        };
        kind.parameters.iter().map(parameter).collect::<Vec<_>>()
    });
    json!({
        "name": row.name,
        "kernel_name": row.kernel_name,
        "sim": kind.is_some(),
        "live": row.live.map(Live::word),
        "virtual": row.guests,
        "summary": kind.map(|kind| kind.summary),
        "source": kind.map(|kind| kind.source),
        "group_defaults": kind.map(defaults),
        "parameters": parameters,
    })
}

fn load(name: &str, modules: Modules, page: &mut Page) -> Result<(), Failure> {
    let control =
        cc::find(ControlSpec::new(name).kernel_name(), modules).map_err(Failure::failed)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the simulator with its options, of a kernel alone without.
    #[test]
    fn an_object_says_what_a_control_is() {
        let row = |name: &str, kind| Row {
            name: name.to_owned(),
            kernel_name: None,
            kind,
            live: Some(Live::BpfAsRoot),
            guests: vec!["7.2".to_owned()],
        };
        let kind = kinds().find(|kind| kind.name == "cubic");
        let cubic = object(&row("cubic", kind));
        assert_eq!(cubic["sim"], true);
        assert_eq!(cubic["live"], "bpf-as-root");
        assert_eq!(cubic["virtual"], json!(["7.2"]));
        let parameters = cubic["parameters"].as_array().unwrap();
        assert_eq!(parameters.len(), kind.unwrap().parameters.len());
        let beta = parameters.iter().find(|one| one["name"] == "beta").unwrap();
        assert_eq!(beta["allowed"], "a fraction from 0.001 to 0.999");
        let other = object(&row("vegas", None));
        assert_eq!(
            (&other["sim"], &other["parameters"]),
            (&json!(false), &Value::Null)
        );
    }
}
