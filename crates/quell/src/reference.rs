//! `quell man --reference`: what `quell keys`, `queues`, `cc`, `apps` and `values` print of each name, as Markdown.

use std::fs;
use std::path::Path;

use quell_lab::scenario::keys::KEYS;

use crate::apps::apps;
use crate::cc;
use crate::failure::Failure;
use crate::keys::keys;
use crate::output::page::Page;
use crate::queues::queues;
use crate::values::{self, values};

/// How wide its lines are.
const COLUMNS: usize = 100;

/// Writes a page for each of the five lists into `folder`.
pub(crate) fn pages(folder: &Path, page: &mut Page) -> Result<(), Failure> {
    let mut paths: Vec<String> = KEYS.iter().map(|key| key.path()).collect();
    paths.dedup();
    let queue_names = quell_aqm::disciplines::kinds().map(|kind| kind.name);
    let controls = quell_tcp::cc::kinds().map(|kind| {
        let mut text = Page::new(COLUMNS);
        cc::explain(kind, &mut text);
        Ok((kind.name, text))
    });
    let lists = [
        ("scenario", list(paths.iter().map(String::as_str), keys)),
        ("queues", list(queue_names, queues)),
        ("controls", controls.collect()),
        ("applications", list(quell_app::NAMES.iter().copied(), apps)),
        ("values", list(values::names(), values)),
    ];
    let cannot = |error| Failure::failed(format!("cannot write {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(cannot)?;
    for (title, list) in lists {
        let mut markdown = format!("# quell: {title}\n");
        for (name, text) in list? {
            markdown += &format!("\n## {name}\n\n```text\n{}```\n", text.text());
        }
        fs::write(folder.join(format!("{title}.md")), markdown).map_err(cannot)?;
    }
    page.line(format_args!("reference written to {}", folder.display()));
    Ok(())
}

type List<'n> = Result<Vec<(&'n str, Page)>, Failure>;

/// What `explain` prints of each name.
fn list<'n>(
    names: impl Iterator<Item = &'n str>,
    explain: fn(Option<&str>, &mut Page) -> Result<(), Failure>,
) -> List<'n> {
    let one = |name| {
        let mut text = Page::new(COLUMNS);
        explain(Some(name), &mut text)?;
        Ok((name, text))
    };
    names.map(one).collect()
}
