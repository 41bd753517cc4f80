//! `quell doctor`: what this host can do, and the command that mends what it cannot.

use quell_hosts::probe::probe;
use quell_lab::scenario::control::names;
use quell_lab::virtual_world;

use crate::Failure;
use crate::page::Page;

/// Tries what the live and the virtual world need. What is missing is no failure of this command.
pub(crate) fn doctor(page: &mut Page) -> Result<(), Failure> {
    let mut findings = probe(&names());
    findings.extend(virtual_world::probe());
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
