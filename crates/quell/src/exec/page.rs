//! The page of `quell exec --page`.

use std::error::Error;
use std::fmt;
use std::path::Path;

use quell_exec::{Plan, Watcher};

/// Why no page shows the link.
#[derive(Debug)]
pub(crate) enum PageError {
    /// There are no files of a page.
    #[cfg(feature = "serve")]
    Files(quell_serve::PageError),
    /// There is no server.
    #[cfg(feature = "serve")]
    Server(quell_serve::Error),
    /// The server gets no thread.
    #[cfg(feature = "serve")]
    Thread(std::io::Error),
    /// This program was built without a server.
    #[cfg(not(feature = "serve"))]
    NotBuilt,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "serve")]
            Self::Files(error) => error.fmt(f),
            #[cfg(feature = "serve")]
            Self::Server(error) => write!(f, "--page: {error}"),
            #[cfg(feature = "serve")]
            Self::Thread(error) => error.fmt(f),
            #[cfg(not(feature = "serve"))]
            Self::NotBuilt => f.write_str("--page: this quell was built without its web server"),
        }
    }
}

impl Error for PageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            #[cfg(feature = "serve")]
            Self::Server(error) => Some(error),
            // The others are the message already.
            _ => None,
        }
    }
}

/// Who shows the link on a page at this port of the host's loopback; 0 is any free one. It prints the page's address.
#[cfg(feature = "serve")]
pub(crate) fn watcher(port: u16, files: Option<&Path>, plan: &Plan) -> Result<Watcher, PageError> {
    use quell_serve::Page;

    let page = match files {
        Some(folder) => Page::of_folder(folder),
        None => Page::built_in(),
    };
    let page = page.map_err(PageError::Files)?;
    let scenario = plan.scenario().clone();
    Ok(Watcher(Box::new(move |watched| {
        served::begin(page, port, scenario, watched).map_err(Into::into)
    })))
}

/// There is no server in this program.
#[cfg(not(feature = "serve"))]
pub(crate) fn watcher(_: u16, _: Option<&Path>, _: &Plan) -> Result<Watcher, PageError> {
    Err(PageError::NotBuilt)
}

#[cfg(feature = "serve")]
mod served {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::thread::{self, JoinHandle};

    use quell_exec::{News, Watched};
    use quell_lab::scenario::Scenario;
    use quell_lab::scenario::contract::Row;
    use quell_serve::{ExecLink, Finished, Happened, Page, Server, Settings, Show};

    use crate::exec::page::PageError;
    use crate::output::page;

    /// Serves the page until the link has ended.
    pub(super) fn begin(
        files: Page,
        port: u16,
        scenario: Scenario,
        watched: Watched,
    ) -> Result<JoinHandle<()>, PageError> {
        let (happens, heard) = mpsc::sync_channel(4);
        let stop = Arc::new(AtomicBool::new(false));
        let remote = watched.remote;
        let link = ExecLink {
            scenario,
            heard,
            change: Box::new(move |key, value| {
                let wish = (key.to_owned(), value.to_owned());
                remote.change(&[wish], "page").map(drop).map_err(Into::into)
            }),
            stop: stop.clone(),
        };
        let settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            ..Settings::default()
        };
        let server = Server::bind(files, Show::ExecLink(Box::new(link)), &settings);
        let server = server.map_err(PageError::Server)?;
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
        thread.spawn(serve).map_err(PageError::Thread)
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
