//! `quell profiles`: links of phones, homes and browsers' presets.

use quell_experiment::link_profile::LinkProfile;

use crate::failure::Failure;
use crate::output::page::Page;

/// Lists the profiles, or explains one.
pub(crate) fn profiles(name: Option<&str>, page: &mut Page) -> Result<(), Failure> {
    if let Some(name) = name {
        let profile = LinkProfile::named(name).map_err(Failure::input)?;
        explain(&profile, page);
        return Ok(());
    }
    let mut all: Vec<LinkProfile> = LinkProfile::all().collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let width = all.iter().map(|profile| profile.name.len()).max();
    for profile in &all {
        let width = width.unwrap_or_default();
        page.line(format_args!(
            "{:width$}  {:16}  {:>5}  {}",
            profile.name,
            profile.rates(),
            profile.rtt,
            profile.title
        ));
    }
    page.line("");
    page.line("quell profiles NAME explains one; quell exec, run and compare --profile NAME use it, quell new --profile NAME prints a scenario with it.");
    Ok(())
}

fn explain(profile: &LinkProfile, page: &mut Page) {
    page.line(&profile.name);
    page.paragraph(4, &format!("{}.", profile.title));
    let origin = match profile.measured {
        true => "Source",
        false => "Numbers",
    };
    page.paragraph(4, &format!("{origin}: {}.", profile.origin()));
    if !profile.notes.is_empty() {
        page.paragraph(4, &profile.notes);
    }
    if !profile.aliases.is_empty() {
        page.paragraph(4, &format!("Also called {}.", profile.aliases.join(", ")));
    }
    page.paragraph(4, &format!("Base RTT {}.", profile.rtt));
    page.line("");
    for line in profile.link.lines() {
        page.line(format!("    {line}").trim_end());
    }
}
