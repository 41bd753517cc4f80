//! What each congestion control is in each world of this machine.

use std::collections::BTreeSet;
use std::fs;

use quell_hosts::cc;
use quell_hosts::confine::capabilities::{self, CapabilitySet};
use quell_kernel::store::Store;
use quell_lab::results::present::{Block, Role, Table};
use quell_tcp::cc::{ControlKind, kinds, own};

use crate::failure::Failure;
use crate::output::page::Page;

/// What the live world runs as a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Live {
    Module,
    BuiltIn,
    Bpf,
    BpfAsRoot,
    ModuleNotLoaded,
}

impl Live {
    /// For programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::BuiltIn => "built-in",
            Self::Bpf => "bpf",
            Self::BpfAsRoot => "bpf-as-root",
            Self::ModuleNotLoaded => "module-not-loaded",
        }
    }
    /// For people.
    fn text(self) -> &'static str {
        match self {
            Self::Module => "kernel, module",
            Self::BuiltIn => "kernel, built in",
            Self::Bpf => "BPF",
            Self::BpfAsRoot => "BPF, as root only",
            Self::ModuleNotLoaded => "module, not loaded: --load-modules",
        }
    }
}

/// What one control is in each world.
pub(crate) struct Row {
    /// In scenarios.
    pub(crate) name: String,
    /// In a kernel, where that differs from its name in scenarios.
    pub(crate) kernel_name: Option<&'static str>,
    /// In the simulator.
    pub(crate) kind: Option<&'static ControlKind>,
    pub(crate) live: Option<Live>,
    /// Names of the stored kernels that have it.
    pub(crate) guests: Vec<String>,
}

/// What this machine can run.
pub(crate) struct Here {
    /// By the names of the kernel that runs; without those that other processes of quell have loaded.
    kernel: Vec<String>,
    /// Modules that are loaded, from /proc/modules.
    modules: Vec<String>,
    loadable: Vec<&'static str>,
    may_load: bool,
    /// Name and controls of each stored kernel that says which it has.
    guests: Vec<(String, Vec<String>)>,
}

impl Here {
    pub(crate) fn look() -> Result<Self, Failure> {
        let mut kernel = cc::available().map_err(Failure::failed)?;
        kernel.retain(|name| cc::owner(name).is_none());
        let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
        let modules = modules.lines().filter_map(|line| line.split(' ').next());
        let needed = CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::NET_ADMIN;
        Ok(Self {
            kernel,
            modules: modules.map(str::to_owned).collect(),
            loadable: cc::loadable(),
            may_load: capabilities::effective().is_ok_and(|held| held.contains(needed)),
            guests: guests(),
        })
    }

    /// What the live world runs, by the kernel's name for it.
    fn live(&self, name: &str) -> Option<Live> {
        let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
        if has(&self.modules, &format!("tcp_{name}")) {
            Some(Live::Module)
        } else if has(&self.kernel, name) {
            Some(Live::BuiltIn)
        } else if self.loadable.contains(&name) {
            Some(match self.may_load {
                true => Live::Bpf,
                false => Live::BpfAsRoot,
            })
        } else {
            cc::has_module(name).then_some(Live::ModuleNotLoaded)
        }
    }

    /// The stored kernels that have it, by the kernel's name for it.
    fn guests(&self, name: &str) -> Vec<String> {
        let having = self
            .guests
            .iter()
            .filter(|(_, controls)| controls.iter().any(|known| known == name));
        having.map(|(guest, _)| guest.clone()).collect()
    }
}

/// Without a store there are none; `quell kernel list` says what is wrong with one.
fn guests() -> Vec<(String, Vec<String>)> {
    let listed = Store::open().and_then(|store| store.list());
    let kernels = listed.map(|listing| listing.kernels).unwrap_or_default();
    kernels
        .into_iter()
        .filter_map(|kernel| Some((kernel.name.clone(), kernel.congestion_controls()?)))
        .collect()
}

/// Each control: those of the simulator in their order, then the others.
pub(crate) fn rows(here: &Here) -> Vec<Row> {
    let row = |name: &str, kernel_name: Option<&'static str>, kind| {
        let in_kernel = kernel_name.unwrap_or(name);
        // A kernel's control of the same name is another.
        let alone = kernel_name.is_none() && own::find(name).is_some();
        Row {
            name: name.to_owned(),
            kernel_name,
            kind,
            live: here.live(in_kernel).filter(|_| !alone),
            guests: if alone {
                Vec::new()
            } else {
                here.guests(in_kernel)
            },
        }
    };
    let mut rows: Vec<Row> = kinds()
        .map(|kind| row(kind.name, kind.kernel, Some(kind)))
        .collect();
    let known = |name: &str| {
        let mut names = kinds().map(|kind| kind.kernel.unwrap_or(kind.name));
        names.any(|known| known == name)
    };
    let guests = here.guests.iter().flat_map(|(_, controls)| controls);
    let others: BTreeSet<&String> = here.kernel.iter().chain(guests).collect();
    for name in others.into_iter().filter(|name| !known(name)) {
        rows.push(row(name, None, None));
    }
    rows
}

/// Prints a row for each control.
pub(crate) fn worlds(page: &mut Page) -> Result<(), Failure> {
    let here = Here::look()?;
    let mut table = Table::new([
        ("control", Role::Label),
        ("sim", Role::Word),
        ("live", Role::Word),
        ("virtual", Role::Word),
    ]);
    let or_none = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    for row in rows(&here) {
        let named = match row.kernel_name {
            Some(kernel) => format!("{} ({kernel})", row.name),
            None => row.name,
        };
        table.row([
            named,
            row.kind.map_or("-", |_| "model").to_owned(),
            row.live.map_or("-", Live::text).to_owned(),
            or_none(row.guests.join(" ")),
        ]);
    }
    page.paragraph(
        0,
        "What each is in the worlds of this machine (in parentheses: its name in a kernel; virtual: the stored kernels that have it):",
    );
    page.blocks(&[Block::Table(table)]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_is_what_this_machine_has_of_it() {
        let here = Here {
            kernel: vec!["cubic".to_owned(), "bbr".to_owned(), "yeah".to_owned()],
            modules: vec!["tcp_bbr".to_owned()],
            loadable: vec!["prague"],
            may_load: false,
            guests: vec![(
                "7.2".to_owned(),
                vec!["prague".to_owned(), "vegas".to_owned()],
            )],
        };
        let rows = rows(&here);
        let of = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(of("cubic").live, Some(Live::BuiltIn));
        // By the kernel's name.
        assert_eq!(
            (of("bbr1").kernel_name, of("bbr1").live),
            (Some("bbr"), Some(Live::Module))
        );
        assert_eq!(of("prague").live, Some(Live::BpfAsRoot));
        assert_eq!(of("prague").guests, ["7.2"]);
        // Those of kernels alone come last.
        assert!(of("yeah").kind.is_none() && of("vegas").kind.is_none());
        assert_eq!(of("vegas").guests, ["7.2"]);
        assert!(rows[..kinds().count()].iter().all(|row| row.kind.is_some()));
    }
}
