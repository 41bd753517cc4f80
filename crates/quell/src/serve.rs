//! `quell serve`.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use quell_lab::World;
use quell_lab::scenario::Scenario;
use quell_serve::{Page as Site, PageError, Server, Settings, Show};

use crate::Failure;
use crate::arguments::Changes;
use crate::check::load;
use crate::interrupt::Interrupt;
use crate::page::{self, Page};
use crate::report;
use crate::serve_arguments::Serve;

/// Serves a page until a signal comes.
pub(crate) fn serve(arguments: &Serve, page: &mut Page) -> Result<(), Failure> {
    let site = match &arguments.page {
        Some(folder) => Site::of_folder(folder),
        None => Site::built_in(),
    };
    let site = site.map_err(Failure::failed)?;
    if let Some(folder) = &arguments.export {
        site.export(folder).map_err(|error| match error {
            PageError::Foreign(_) => Failure::input(error),
            error => Failure::failed(error),
        })?;
        page.line(format_args!("the page is in {}", folder.display()));
        return Ok(());
    }
    let show = show(arguments.what.as_deref())?;
    let settings = Settings {
        listen: arguments.listen,
        read_only: arguments.read_only,
        speed: arguments.speed,
        ..Settings::default()
    };
    let interrupt = Interrupt::listen()?;
    let server = Server::bind(site, show, &settings).map_err(|error| match error {
        quell_serve::Error::Refused(_) => Failure::input(error),
        error => Failure::failed(error),
    })?;
    if !server.address().ip().is_loopback() {
        page::say(
            "warning: other machines can reach this address; whoever has the token, which goes through the network as it is, can use it",
        );
    }
    let url = server.url();
    let mut told = Page::new(page.columns());
    told.line(&url);
    told.show().map_err(Failure::failed)?;
    if !arguments.no_open && io::stdout().is_terminal() && has_display() {
        // The address has been printed: a person can open it too.
        if let Err(failure) = report::open(&url) {
            page::say(&failure.message);
        }
    }
    server.run(interrupt.stop()).map_err(Failure::failed)?;
    Err(interrupt.explain(Failure::failed("the server has ended")))
}

/// Whether this session has a place for a browser.
fn has_display() -> bool {
    let names = ["WAYLAND_DISPLAY", "DISPLAY"];
    let mut values = names.iter().filter_map(std::env::var_os);
    values.any(|value| !value.is_empty())
}

/// What the argument names.
fn show(what: Option<&Path>) -> Result<Show, Failure> {
    match what {
        Some(folder) if folder.is_dir() => Ok(Show::Result(folder.to_owned())),
        Some(file) => {
            let changes = Changes {
                sets: Vec::new(),
                seed: None,
                duration: None,
            };
            let loaded = load(file, &changes, Some(World::Sim))?;
            let text = std::fs::read_to_string(file).ok();
            // As a person wrote it, unless it names files, which a page cannot read.
            let alone = text.filter(|text| Scenario::parse(text).is_ok());
            Ok(Show::Sim {
                scenario: Some(alone.unwrap_or_else(|| loaded.scenario.to_toml())),
            })
        }
        None => Ok(Show::Sim { scenario: None }),
    }
}
