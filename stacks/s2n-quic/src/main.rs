//! A server that sends without end to every client that asks, and a client that reads and discards: s2n-quic behind a test bed.
//!
//!     quell-s2n-quic server ADDRESS cubic|bbr [SECONDS] | client ADDRESS
//!
//! For so many SECONDS from the end of the handshake on the server offers 800 bytes each 10 ms.

// The only way of s2n-quic to a client that accepts every certificate.
#![allow(deprecated)]

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Endpoint};
use s2n_quic::provider::tls::rustls::{self as tls, rustls};
use s2n_quic::{Connection, client::Connect};
use tokio::time::{Instant, interval};

#[path = "../../any_certificate.rs"]
mod any_certificate;
#[path = "../../no_processor_randomness.rs"]
mod no_processor_randomness;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

async fn serve<Control: Endpoint>(address: &str, control: Control, slow: &str) -> Outcome {
    let own = rcgen::generate_simple_self_signed(["quell".to_owned()])?;
    let key = own.signing_key.serialize_der();
    let tls = tls::Server::builder().with_certificate(&own.cert.der()[..], key)?;
    let mut server = s2n_quic::Server::builder()
        .with_tls(tls.build()?)?
        .with_io(format!("{address}:4433").as_str())?
        .with_congestion_controller(control)?
        .start()?;
    let slow = Duration::from_secs_f64(slow.parse()?);
    while let Some(connection) = server.accept().await {
        tokio::spawn(answer(connection, Instant::now() + slow));
    }
    Ok(())
}

async fn answer(mut connection: Connection, fast: Instant) -> Outcome {
    while let Some(mut stream) = connection.accept_bidirectional_stream().await? {
        stream.receive().await?;
        let mut clock = interval(Duration::from_millis(10));
        while clock.tick().await < fast && stream.send(vec![0; 800].into()).await.is_ok() {}
        while stream.send(vec![0; 65536].into()).await.is_ok() {}
    }
    Ok(())
}

async fn fetch(address: &str) -> Outcome {
    let mut tls = any_certificate::client();
    // What its server speaks unless it is set.
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let client = s2n_quic::Client::builder()
        .with_tls(tls::Client::from(tls))?
        .with_io("0.0.0.0:0")?
        .start()?;
    let server = Connect::new((address.parse::<IpAddr>()?, 4433)).with_server_name("quell");
    let mut connection = client.connect(server).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(vec![0].into()).await?;
    while stream.receive().await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    no_processor_randomness::start()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["0"]).collect();
    match words[..] {
        ["client", address, ..] => fetch(address).await,
        ["server", address, "cubic", slow, ..] => serve(address, Cubic::default(), slow).await,
        ["server", address, "bbr", slow, ..] => serve(address, Bbr::default(), slow).await,
        _ => Err("usage: quell-s2n-quic server ADDRESS CONTROL [SECONDS] | client ADDRESS".into()),
    }
}
