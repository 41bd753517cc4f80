//! The page of `quell exec --page`.

use std::path::Path;

use quell_exec::{Plan, Watcher};

/// Who shows the link on a page at this port of the host's loopback; 0 is any free one. It prints the page's address.
#[cfg(feature = "serve")]
pub(crate) fn watcher(port: u16, files: Option<&Path>, plan: &Plan) -> Result<Watcher, String> {
    use quell_serve::Page;

    let page = match files {
        Some(folder) => Page::of_folder(folder),
        None => Page::built_in(),
    };
    let page = page.map_err(|error| error.to_string())?;
    let scenario = plan.scenario().clone();
    Ok(Watcher(Box::new(move |watched| {
        served::begin(page, port, scenario, watched)
    })))
}

/// There is no server in this program.
#[cfg(not(feature = "serve"))]
pub(crate) fn watcher(_: u16, _: Option<&Path>, _: &Plan) -> Result<Watcher, String> {
    Err("--page: this quell was built without its web server".to_owned())
}

#[cfg(feature = "serve")]
mod served {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::thread::{self, JoinHandle};

    use quell_exec::{AnyError, News, Watched};
    use quell_lab::scenario::Scenario;
    use quell_lab::scenario::contract::Row;
    use quell_serve::{Carried, Finished, Happened, Page, Server, Settings, Show};

    use crate::page;

    /// Serves the page until the link has ended.
    pub(super) fn begin(
        files: Page,
        port: u16,
        scenario: Scenario,
        watched: Watched,
    ) -> Result<JoinHandle<()>, AnyError> {
        let (happens, heard) = mpsc::sync_channel(4);
        let stop = Arc::new(AtomicBool::new(false));
        let remote = watched.remote;
        let carried = Carried {
            scenario,
            heard,
            change: Box::new(move |key, value| {
                let wish = (key.to_owned(), value.to_owned());
                let changed = remote.change(&[wish], "page");
                changed.map(drop).map_err(|why| why.to_string())
            }),
            stop: stop.clone(),
        };
        let settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            ..Settings::default()
        };
        let server = Server::bind(files, Show::Carried(Box::new(carried)), &settings);
        let server = server.map_err(|error| format!("--page: {error}"))?;
        page::say(&format!("quell: the link is shown at {}", server.url()));
        let serve = move || {
            let translate = move || {
                for news in watched.news {
                    if happens.send(translated(news)).is_err() {
                        return;
                    }
                }
            };
            thread::scope(|scope| {
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, translate) {
                    page::complain(&format!("the page does not follow the link: {error}"));
                }
                if let Err(error) = server.run(&stop) {
                    page::complain(&format!("the page has failed: {error}"));
                }
            });
        };
        let thread = thread::Builder::new().name("quell-page".to_owned());
        Ok(thread.spawn(serve)?)
    }

    fn translated(news: News) -> Happened {
        match news {
            News::Rows { now, rows, lost } => Happened::Rows {
                now,
                rows: rows.into_iter().map(Row::Queue).collect(),
                lost,
            },
            News::Changed(scenario) => Happened::Changed(scenario),
            News::Finished {
                summary,
                histograms,
            } => Happened::Finished(Finished {
                summary,
                histograms,
            }),
        }
    }
}
