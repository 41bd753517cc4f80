//! What each congestion control is in each world of this machine.

use std::collections::BTreeSet;
use std::fs;

use quell_hosts::capabilities::{self, CapabilitySet};
use quell_hosts::cc;
use quell_kernel::store::Store;
use quell_tcp::cc::KINDS;

use crate::Failure;
use crate::grid::{Grid, Role};
use crate::page::Page;

/// What this machine can run.
struct Here {
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
    fn look() -> Result<Self, Failure> {
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
    fn live(&self, name: &str) -> String {
        let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
        let what = if has(&self.modules, &format!("tcp_{name}")) {
            "kernel, module"
        } else if has(&self.kernel, name) {
            "kernel, built in"
        } else if self.loadable.contains(&name) {
            match self.may_load {
                true => "BPF",
                false => "BPF, as root only",
            }
        } else if cc::has_module(name) {
            "module, not loaded: --load-modules"
        } else {
            "-"
        };
        what.to_owned()
    }

    /// The stored kernels that have it, by the kernel's name for it.
    fn guests(&self, name: &str) -> String {
        let having = self
            .guests
            .iter()
            .filter(|(_, controls)| controls.iter().any(|known| known == name))
            .map(|(guest, _)| guest.as_str());
        match having.collect::<Vec<_>>().join(" ") {
            none if none.is_empty() => "-".to_owned(),
            names => names,
        }
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

/// Prints a row for each control: those of the simulator in their order, then the others.
pub(crate) fn worlds(page: &mut Page) -> Result<(), Failure> {
    let here = Here::look()?;
    let mut grid = Grid::new(&[
        ("control", Role::Label),
        ("sim", Role::Word),
        ("live", Role::Word),
        ("virtual", Role::Word),
    ]);
    let mut known = BTreeSet::new();
    for kind in KINDS {
        let name = kind.kernel.unwrap_or(kind.name);
        known.insert(name.to_owned());
        let named = match kind.kernel {
            Some(kernel) => format!("{} ({kernel})", kind.name),
            None => kind.name.to_owned(),
        };
        grid.row(vec![
            named,
            "model".to_owned(),
            here.live(name),
            here.guests(name),
        ]);
    }
    let guests = here.guests.iter().flat_map(|(_, controls)| controls);
    let others: BTreeSet<&String> = here.kernel.iter().chain(guests).collect();
    for name in others.into_iter().filter(|name| !known.contains(*name)) {
        grid.row(vec![
            name.clone(),
            "-".to_owned(),
            here.live(name),
            here.guests(name),
        ]);
    }
    page.paragraph(
        0,
        "What each is in the worlds of this machine (in parentheses: its name in a kernel; virtual: the stored kernels that have it):",
    );
    page.line("");
    grid.print(page);
    Ok(())
}
