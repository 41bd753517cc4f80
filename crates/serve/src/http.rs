//! The answers.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /`, `GET /NAME` | a file of the page |
//! | `GET /api/about` | what is served |
//! | `GET /api/catalogue` | what a scenario may name |
//! | `GET /api/messages` | what happens, as server-sent events |
//! | `POST /api/ask` | 204, or why not; what comes of it is a message |
//! | `POST /api/background` | what came out of runs that nobody watches |

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::ask::{Ask, Speed};
use crate::background::{Gone, Task};
use crate::error::ResultError;
use crate::guard::{self, Asked, HEADERS, Refusal, Shown};
use crate::hub::{self, Hub};
use crate::messages;
use crate::page::Page;
use crate::places::Place;
use crate::player::{Play, Player};
use crate::settings::Limits;
use crate::sim::ROWS_INTERVAL;
use crate::token::Token;

/// Between two signs of life in a stream that has nothing to tell.
const ALIVE: Duration = Duration::from_secs(15);
/// The longest time before a stream notices that its page has gone.
const LOOK: Duration = Duration::from_secs(1);

/// What every request needs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) page: Page,
    pub(crate) token: Token,
    pub(crate) hub: Arc<Hub>,
    /// To the runs, where there are some.
    pub(crate) asks: Option<SyncSender<Ask>>,
    /// The results that are played, once there are some.
    pub(crate) player: OnceLock<Arc<Player>>,
    pub(crate) read_only: bool,
    pub(crate) speed: Mutex<Speed>,
    pub(crate) facts: Facts,
    pub(crate) streams: Arc<Semaphore>,
    /// One task in the background at a time.
    pub(crate) background: Arc<Semaphore>,
    pub(crate) limits: Limits,
}

/// What is served.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) mode: &'static str,
    pub(crate) world: String,
    pub(crate) kernel: Value,
    pub(crate) scenario: Option<String>,
    pub(crate) name: String,
    /// What pages are told at the end.
    pub(crate) farewell: &'static str,
}

/// Our end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Local(pub(crate) SocketAddr);

/// An answer as JSON.
struct Json(Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let content_type = HeaderValue::from_static("application/json");
        ([(CONTENT_TYPE, content_type)], self.0.to_string()).into_response()
    }
}

/// Every answer.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/about", get(about))
        .route("/api/catalogue", get(catalogue))
        .route("/api/messages", get(tell))
        .route("/api/ask", post(ask))
        .route("/api/background", post(background))
        .fallback(get(file))
        .layer(from_fn_with_state(shared.clone(), guarded))
        .with_state(shared)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "why": self.why }))).into_response()
    }
}

async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let allowed = match request.extensions().get::<Local>() {
        None => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "a connection without an address",
        )),
        Some(Local(local)) => {
            let asked = Asked {
                method: request.method(),
                uri: request.uri(),
                headers: request.headers(),
                local: *local,
                is_page: shared.page.at(request.uri().path()).is_some(),
            };
            guard::check(&asked, &shared.token)
        }
    };
    let mut response = match allowed {
        Ok(shown) => {
            if shown == Shown::Token
                && let Some(place) = request.extensions().get::<Arc<Place>>()
            {
                place.is_known();
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn file(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Some(file) = shared.page.at(request.uri().path()) else {
        return Refusal::new(StatusCode::NOT_FOUND, "there is no such file").into_response();
    };
    let content_type = (CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    let vary = (VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip(request.headers()) {
        let encoding = (CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return ([content_type, vary, encoding], file.packed.clone()).into_response();
    }
    match file.plain() {
        Ok(plain) => ([content_type, vary], plain).into_response(),
        Err(error) => {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").map(str::parse::<f32>);
            matches!(weight, Some(Ok(0.0)))
        });
        is_gzip && !is_refused
    })
}

async fn about(State(shared): State<Arc<Shared>>) -> Json {
    let facts = &shared.facts;
    let speed = shared.speed();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": facts.mode,
        "world": facts.world,
        "kernel": shared.player.get().map_or(&facts.kernel, |player| &player.kernel),
        "read_only": shared.read_only,
        "speed": speed.json(),
        "scenario": facts.scenario,
        "wasm": shared.page.has_simulator(),
        "name": facts.name,
    }))
}

async fn catalogue() -> Json {
    Json(quell_watch::catalogue())
}

async fn body(shared: &Shared, request: Request) -> Result<Bytes, Refusal> {
    let limits = shared.limits;
    match timeout(limits.head, to_bytes(request.into_body(), limits.body)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => {
            let why = format!("a request may have {} bytes at most", limits.body);
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why))
        }
        Err(_) => {
            let why = "the request came too slowly";
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why))
        }
    }
}

/// Runs of a page, one task at a time; a page that goes takes its task with it.
async fn background(State(shared): State<Arc<Shared>>, request: Request) -> Result<Json, Refusal> {
    let task = Task::read(&body(&shared, request).await?)?;
    if shared.read_only || shared.facts.mode != "sim" {
        let why = "this server simulates nothing for a page";
        return Err(Refusal::new(StatusCode::FORBIDDEN, why));
    }
    let failed = |why: String| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why);
    let turn = shared.background.clone().acquire_owned().await;
    let turn = turn.map_err(|why| failed(why.to_string()))?;
    let gone = Gone::default();
    let stop = gone.0.clone();
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        task.simulate(&stop)
    });
    match done.await.map_err(|why| failed(why.to_string()))? {
        Ok(Some(message)) => Ok(Json(message)),
        Ok(None) => Err(failed("the page has gone".to_owned())),
        Err(why) => Err(Refusal::new(StatusCode::BAD_REQUEST, why.to_string())),
    }
}

async fn ask(State(shared): State<Arc<Shared>>, request: Request) -> Result<StatusCode, Refusal> {
    let body = body(&shared, request).await?;
    let ask =
        Ask::read(&body).map_err(|why| Refusal::new(StatusCode::BAD_REQUEST, why.to_string()))?;
    if shared.read_only && !matches!(ask, Ask::Speed(_) | Ask::Step(_)) {
        let why = "this server only shows; it was started with --read-only";
        return Err(Refusal::new(StatusCode::FORBIDDEN, why));
    }
    let speed = match ask {
        Ask::Speed(speed) => Some(speed),
        _ => None,
    };
    shared.hear(ask)?;
    if let Some(speed) = speed {
        *shared.speed.lock().unwrap_or_else(PoisonError::into_inner) = speed;
    }
    Ok(StatusCode::NO_CONTENT)
}

impl Shared {
    /// How fast runs go on, as a page chose it last.
    pub(crate) fn speed(&self) -> Speed {
        *self.speed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, ask: Ask) -> Result<(), Refusal> {
        let conflict = |why: &str| Refusal::new(StatusCode::CONFLICT, why);
        if let Some(player) = self.player.get() {
            return player.hear(&ask).map_err(|why| conflict(&why.to_string()));
        }
        let Some(asks) = &self.asks else {
            // It is kept, for what will be played.
            if let Ask::Speed(_) = ask {
                return Ok(());
            }
            return Err(conflict("nothing runs yet that could be changed"));
        };
        asks.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) => conflict("too many requests wait; send fewer"),
            TrySendError::Disconnected(_) => conflict("the runs have ended"),
        })
    }
}

/// The body of a stream.
struct Events {
    events: mpsc::Receiver<Bytes>,
    _permit: OwnedSemaphorePermit,
}

impl Stream for Events {
    type Item = Result<Bytes, std::convert::Infallible>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events
            .poll_recv(context)
            .map(|event| event.map(Ok::<_, std::convert::Infallible>))
    }
}

async fn tell(State(shared): State<Arc<Shared>>) -> Result<Response, Refusal> {
    let permit = shared.streams.clone().try_acquire_owned();
    let permit = permit.map_err(|_| {
        let why = format!("{} pages watch already; close one", shared.limits.streams);
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
    })?;
    let (sender, events) = mpsc::channel(1);
    tokio::spawn(pump(shared, sender));
    let body = Body::from_stream(Events {
        events,
        _permit: permit,
    });
    let content_type = HeaderValue::from_static("text/event-stream");
    Ok(([(CONTENT_TYPE, content_type)], body).into_response())
}

/// Hands events to a page, as fast as it takes them.
async fn pump(shared: Arc<Shared>, page: mpsc::Sender<Bytes>) {
    let subscription = shared.hub.subscribe();
    let mut play = None;
    let mut quiet = 0_u32;
    loop {
        let mut events = Vec::new();
        let mut is_behind = false;
        match subscription.take() {
            hub::Next::Event(event) => {
                events.push(event);
                is_behind = true;
            }
            hub::Next::End => return,
            hub::Next::Nothing => {}
        }
        if let Some(player) = shared.player.get() {
            let next = play.take().map_or_else(|| Play::start(player.clone()), Ok);
            match played(next).await {
                Ok((next, more, is_all)) => {
                    play = Some(next);
                    events.extend(more);
                    is_behind |= !is_all;
                }
                Err(why) => {
                    // A page that has gone needs no reason.
                    let _ = page
                        .send(messages::ended(&why.to_string()).event(0).into())
                        .await;
                    return;
                }
            }
        }
        quiet = if events.is_empty() { quiet } else { 0 };
        for event in events {
            if page.send(event.into()).await.is_err() {
                return;
            }
        }
        let wait = if play.is_some() { ROWS_INTERVAL } else { LOOK };
        if is_behind || timeout(wait, subscription.wait()).await.is_ok() {
            continue;
        }
        quiet += 1;
        if page.is_closed() {
            return;
        }
        if wait * quiet >= ALIVE {
            quiet = 0;
            if page.send(Bytes::from_static(b":\n\n")).await.is_err() {
                return;
            }
        }
    }
}

/// What a play tells next. Files are read elsewhere, so that no other request waits for a disk.
async fn played(play: Result<Play, ResultError>) -> Result<(Play, Vec<String>, bool), ResultError> {
    let mut play = play?;
    let read = tokio::task::spawn_blocking(move || {
        let (events, is_all) = play.next()?;
        Ok((play, events, is_all))
    });
    read.await?
}
