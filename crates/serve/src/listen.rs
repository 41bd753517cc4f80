//! Connections: no more than there are places for, none that takes for ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tower::Service as _;

use crate::guard::HEADERS;
use crate::http::Local;
use crate::places::{Place, Places};
use crate::settings::Limits;
use crate::write_timeout::WriteTimeout;

/// The longest head of a request.
const HEAD: usize = 16 << 10;
/// Between two looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Accepts connections until `stop` is set.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    places: Arc<Places>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let stream = match timeout(LOOK, listener.accept()).await {
            Err(_) => continue,
            Ok(Ok((stream, _))) => stream,
            Ok(Err(_)) => {
                // Too many files are open, or the other end has gone already.
                sleep(LOOK).await;
                continue;
            }
        };
        match places.take() {
            Some(place) => {
                let router = router.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        // Whoever breaks a connection knows it.
                        _ = serve(stream, router, limits, place.clone()) => {}
                        () = place.is_needed() => {}
                    }
                });
                // It may have shown the token already: it is looked at before the next one comes.
                yield_now().await;
            }
            None => refuse(stream),
        }
    }
}

async fn serve(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    place: Arc<Place>,
) -> io::Result<()> {
    let local = Local(stream.local_addr()?);
    stream.set_nodelay(true)?;
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(local);
        request.extensions_mut().insert(place.clone());
        router.clone().call(request)
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD);
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.stall));
    server
        .serve_connection(stream, service)
        .await
        .map_err(io::Error::other)
}

/// Answers a connection for which there is no room.
fn refuse(mut stream: TcpStream) {
    let mut answer =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n".to_owned();
    for (name, value) in HEADERS {
        answer += &format!("{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    answer += "\r\n";
    tokio::spawn(async move {
        // It has just been accepted: this fits into its buffer, or nobody is there.
        let _ = timeout(LOOK, stream.write_all(answer.as_bytes())).await;
    });
}
