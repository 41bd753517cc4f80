//! A server that sends without end, and a client that reads and discards: quiche, by its tokio-quiche, behind a test bed.
//!
//!     quell-quiche server ADDRESS CONTROL | client ADDRESS

use tokio::net::UdpSocket;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::quic::{HandshakeInfo, QuicheConnection as Connection, connect_with_config};
use tokio_quiche::settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths};
use tokio_quiche::{ApplicationOverQuic, ConnectionParams, QuicResult, listen};
use tokio_stream::StreamExt;
type Outcome = QuicResult<()>;
const PORT: u16 = 4433;

/// A server sends on each stream that a client opened; both read and discard.
struct Endless;

impl ApplicationOverQuic for Endless {
    fn on_conn_established(&mut self, quic: &mut Connection, _: &HandshakeInfo) -> Outcome {
        if !quic.is_server() {
            quic.stream_send(0, &[0], false)?;
        }
        Ok(())
    }
    fn should_act(&self) -> bool {
        true
    }
    async fn wait_for_data(&mut self, _: &mut Connection) -> Outcome {
        std::future::pending().await
    }
    fn process_reads(&mut self, quic: &mut Connection) -> Outcome {
        while let Some(stream) = quic.stream_readable_next() {
            while quic.stream_recv(stream, &mut [0; 65536]).is_ok() {}
        }
        Ok(())
    }
    fn process_writes(&mut self, quic: &mut Connection) -> Outcome {
        let is_server = quic.is_server();
        for stream in quic.writable().filter(|_| is_server) {
            quic.stream_send(stream, &[0; 65536], false).ok();
        }
        Ok(())
    }
}

async fn serve(address: &str, control: &str) -> Outcome {
    let own = rcgen::generate_simple_self_signed(["quell".to_owned()])?;
    let file = std::env::temp_dir().join(format!("quell-quiche-{}.pem", std::process::id()));
    std::fs::write(&file, own.cert.pem() + &own.signing_key.serialize_pem())?;
    let (cert, kind) = (file.to_str().unwrap_or_default(), CertificateKind::X509);
    #[rustfmt::skip]
    let tls = TlsCertificatePaths { cert, private_key: cert, kind };
    let mut settings = QuicSettings::default();
    control.clone_into(&mut settings.cc_algorithm);
    let params = ConnectionParams::new_server(settings, tls, Hooks::default());
    let socket = UdpSocket::bind((address, PORT)).await?;
    let mut listeners = listen([socket], params, DefaultMetrics)?;
    while let Some(connection) = listeners[0].next().await {
        connection?.start(Endless);
    }
    Ok(())
}

async fn fetch(address: &str) -> Outcome {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect((address, PORT)).await?;
    let (socket, hooks) = (socket.try_into()?, Hooks::default());
    let params = ConnectionParams::new_client(QuicSettings::default(), None, hooks);
    let _connection = connect_with_config(socket, Some("quell"), &params, Endless).await?;
    std::future::pending().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(|word| &**word).collect::<Vec<_>>()[..] {
        ["client", address] => fetch(address).await,
        ["server", address, control] => serve(address, control).await,
        _ => Err("usage: quell-quiche server ADDRESS CONTROL | client ADDRESS".into()),
    }
}
