//! A server that sends without end to every client that asks, and a client that reads and discards: s2n-quic behind a test bed.
//!
//!     quell-s2n-quic server ADDRESS cubic|bbr | client ADDRESS

// The only way of s2n-quic to a client that accepts every certificate.
#![allow(deprecated)]

use std::error::Error;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use s2n_quic::Connection;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Endpoint};
use s2n_quic::provider::tls::rustls::{self as tls, rustls};

#[path = "../../any_certificate.rs"]
mod any_certificate;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;
const PORT: u16 = 4433;

async fn serve<Control: Endpoint>(address: &str, control: Control) -> Outcome {
    let own = rcgen::generate_simple_self_signed(["quell".to_owned()])?;
    let key = own.signing_key.serialize_der();
    let tls = tls::Server::builder().with_certificate(&own.cert.der()[..], key)?;
    let mut server = s2n_quic::Server::builder()
        .with_tls(tls.build()?)?
        .with_io(format!("{address}:{PORT}").as_str())?
        .with_congestion_controller(control)?
        .start()?;
    while let Some(connection) = server.accept().await {
        tokio::spawn(answer(connection));
    }
    Ok(())
}

async fn answer(mut connection: Connection) -> Outcome {
    while let Some(mut stream) = connection.accept_bidirectional_stream().await? {
        stream.receive().await?;
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
    let server: SocketAddr = format!("{address}:{PORT}").parse()?;
    let connect = Connect::new(server).with_server_name("quell");
    let mut connection = client.connect(connect).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(vec![0].into()).await?;
    while stream.receive().await?.is_some() {}
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os("OPENSSL_ia32cap").is_none() {
        // No random numbers of the processor, so that a run repeats.
        let mut again = Command::new(std::env::current_exe()?);
        again.env("OPENSSL_ia32cap", "~0x4000000000000000");
        return Err(again.args(&words).exec().into());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["client", address] => fetch(address).await,
        ["server", address, "cubic"] => serve(address, Cubic::default()).await,
        ["server", address, "bbr"] => serve(address, Bbr::default()).await,
        _ => Err("usage: quell-s2n-quic server ADDRESS cubic|bbr | client ADDRESS".into()),
    }
}
