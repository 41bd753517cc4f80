//! `quell doctor`: what this host supports, and how to fix what is missing.
//!
//! Each world is tried as a run would try it: the virtual world with the caller's own credentials, the live world after the same
//! step into a user namespace that a run without root takes.

use quell_hosts::probe;
use quell_lab::scenario::control::names;
use quell_lab::{live, virtual_world};

use crate::failure::Failure;
use crate::output::page::Page;

/// Tries what the live and the virtual world need. The command succeeds whatever is missing.
pub(crate) fn doctor(page: &mut Page) -> Result<(), Failure> {
    let users = probe::user_namespaces();
    let guests = virtual_world::probe();
    // Where this is forbidden, a finding above says so.
    let _ = live::prepare();
    let mut findings = vec![users];
    findings.extend(probe::hosts(&names()));
    findings.extend(guests);
    for finding in &findings {
        page.line(format_args!(
            "{}  {}",
            if finding.ok { "ok     " } else { "missing" },
            finding.need
        ));
        page.paragraph(9, &finding.detail);
        if let Some(fix) = &finding.fix {
            page.line(format_args!("         fix: {fix}"));
        }
    }
    let missing = findings.iter().filter(|finding| !finding.ok).count();
    page.line("");
    page.line(match missing {
        0 => "This host supports everything.".to_owned(),
        missing => format!(
            "{missing} of {} checks found something missing.",
            findings.len()
        ),
    });
    Ok(())
}
