//! `quell doctor`: what this host can do, and the command that mends what it cannot.
//!
//! Each world is tried as a run would: the virtual one with the caller's own credentials, the live one after the same step
//! into a user namespace that a run takes without root.

use quell_hosts::probe;
use quell_lab::scenario::control::names;
use quell_lab::{live, virtual_world};

use crate::Failure;
use crate::page::Page;

/// Tries what the live and the virtual world need. What is missing is no failure of this command.
pub(crate) fn doctor(page: &mut Page) -> Result<(), Failure> {
    let users = probe::user_namespaces();
    let guests = virtual_world::probe();
    // What forbids it is a finding already.
    let _ = live::prepare();
    let mut findings = vec![users];
    findings.extend(probe::hosts(&names()));
    findings.extend(guests);
    for finding in &findings {
        page.line(format_args!(
            "{}  {}",
            if finding.ok { "ok     " } else { "missing" },
            finding.what
        ));
        page.paragraph(9, &finding.detail);
        if let Some(mend) = &finding.mend {
            page.line(format_args!("         mend: {mend}"));
        }
    }
    let missing = findings.iter().filter(|finding| !finding.ok).count();
    page.line("");
    page.line(match missing {
        0 => "This host can do everything.".to_owned(),
        missing => format!("{missing} of {} findings are missing.", findings.len()),
    });
    Ok(())
}
