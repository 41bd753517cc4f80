//! A server that sends without end to every client that asks, and a client that reads and discards: quinn behind a test bed.
//!
//!     quell-quinn server ADDRESS [cubic|bbr|reno [SECONDS]]
//!     quell-quinn client ADDRESS
//!
//! For so many SECONDS after a client's first packet the server offers 800 bytes each 10 ms.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint, Incoming, ServerConfig, TransportConfig};
use rustls::{self, pki_types::PrivatePkcs8KeyDer};
use tokio::time::{Instant, interval};

#[path = "../../any_certificate.rs"]
mod any_certificate;

type Outcome = Result<(), Box<dyn Error>>;
type Control = Arc<dyn ControllerFactory + Send + Sync>;
const PORT: u16 = 4433;
const USAGE: &str = "usage: quell-quinn server ADDRESS [CONTROL [SECONDS]] | client ADDRESS";

async fn serve(address: &str, control: Control, slow: Duration) -> Outcome {
    let own = rcgen::generate_simple_self_signed(["quell".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![own.cert.into()], key.into())?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, format!("{address}:{PORT}").parse()?)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(answer(incoming, Instant::now() + slow));
    }
    Ok(())
}

async fn answer(incoming: Incoming, fast: Instant) -> Result<(), ConnectionError> {
    let (mut send, mut receive) = incoming.await?.accept_bi().await?;
    let mut block = [0; 65536];
    let asked = receive.read_exact(&mut block[..1]).await;
    let mut clock = interval(Duration::from_millis(10));
    while clock.tick().await < fast && send.write_all(&block[..800]).await.is_ok() {}
    while asked.is_ok() && send.write_all(&block).await.is_ok() {}
    Ok(())
}

async fn fetch(address: &str) -> Outcome {
    let tls = QuicClientConfig::try_from(any_certificate::client())?;
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(tls)));
    let server = format!("{address}:{PORT}").parse()?;
    let connection = endpoint.connect(server, "quell")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&[0]).await?;
    while receive.read_chunk(usize::MAX, true).await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (address, control, slow) = match words[..] {
        ["client", address] => return fetch(address).await,
        ["server", address] => (address, "cubic", "0"),
        ["server", address, control] => (address, control, "0"),
        ["server", address, control, slow] => (address, control, slow),
        _ => return Err(USAGE.into()),
    };
    let control: Control = match control {
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        _ => return Err(USAGE.into()),
    };
    serve(address, control, Duration::from_secs_f64(slow.parse()?)).await
}
