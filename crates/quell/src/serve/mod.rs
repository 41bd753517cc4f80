//! `quell serve`.

pub(crate) mod arguments;

use std::io::{self, IsTerminal as _};
use std::path::Path;

use quell_lab::live::privilege_separation;
use quell_lab::scenario::{Loaded, Scenario};
use quell_lab::{GuestOptions, LiveOptions, World};
use quell_serve::{Page as Site, PageError, Server, Settings, Show, Speed};

use crate::arguments::Changes;
use crate::check::worlds;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::page::{self, Page};
use crate::report;
use crate::scenario_file::{load, without_programs};
use crate::serve::arguments::Serve;

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
    let show = show(arguments)?;
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

/// What the arguments name. A process that is to run the live world gives its rights away here.
fn show(arguments: &Serve) -> Result<Show, Failure> {
    let world = World::from(arguments.world);
    let is_of_guest = arguments.kernel.is_some() || arguments.patience.guest_timeout.is_some();
    if world != World::Virtual && (is_of_guest || arguments.out.is_some()) {
        return Err(Failure::input(
            "--kernel, --guest-timeout and --out have an effect only with --world virtual",
        ));
    }
    let real_time = arguments.speed == Speed::Times(1.0);
    if world == World::Live && !real_time {
        return Err(Failure::input(
            "--speed has no effect with --world live: real packets go in real time",
        ));
    }
    let what = arguments.what.as_deref();
    if let Some(folder) = what.filter(|folder| folder.is_dir()) {
        return match world {
            World::Sim => Ok(Show::Result(folder.to_owned())),
            _ => Err(Failure::input(format!(
                "{} is a result, which is played; --world needs a scenario",
                folder.display()
            ))),
        };
    }
    let loaded = what.map(|file| scenario(file, world)).transpose()?;
    let (loaded, text) = loaded.unzip();
    match (world, loaded) {
        (World::Sim, _) => Ok(Show::Sim { scenario: text }),
        (World::Live, loaded) => {
            if let Some(loaded) = &loaded {
                worlds::has_all(loaded, world, &GuestOptions::default())?;
            }
            // While there is one thread only.
            privilege_separation::separate_to_watch().map_err(Failure::input)?;
            Ok(Show::Live {
                scenario: text,
                options: LiveOptions::default(),
            })
        }
        (World::Virtual, None) => Err(Failure::input(
            "--world virtual needs a scenario: it runs to its end before a page can show it",
        )),
        (World::Virtual, Some(loaded)) => {
            let guest = arguments.patience.options(arguments.kernel.clone());
            let guest = guest.map_err(Failure::input)?;
            worlds::has_all(&loaded, world, &guest)?;
            Ok(Show::Virtual {
                warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
                scenario: Box::new(loaded.scenario),
                guest,
                out: arguments.out.clone(),
            })
        }
    }
}

/// A scenario for this world, and its text for a page: as a person wrote it, unless it names files, which a page cannot read.
fn scenario(file: &Path, world: World) -> Result<(Loaded, String), Failure> {
    let changes = Changes::default();
    let loaded = load(file, &changes, Vec::new(), Some(world))?;
    let why = "quell serve runs no programs of a scenario; quell run does, with --world virtual, or with --world live --allow-programs";
    let loaded = without_programs(loaded, why)?;
    let text = std::fs::read_to_string(file).ok();
    let alone = text.filter(|text| Scenario::parse(text).is_ok());
    let text = alone.unwrap_or_else(|| loaded.scenario.to_toml());
    Ok((loaded, text))
}
