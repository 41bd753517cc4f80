//! A server that sends each client video at the rate of its estimate, and a client that receives it: str0m behind a test bed.
//!
//!     quell-str0m server|client ADDRESS

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use str0m::bwe::{Bitrate, BweKind};
use str0m::media::{Direction, Frequency, MediaKind, MediaTime, Mid};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig};

#[path = "../../no_processor_randomness.rs"] mod no_processor_randomness;
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
const FRAME: Duration = Duration::from_micros(33_333);

/// Agrees on a stream over `signals`, and carries it.
fn talk(mut signals: TcpStream, is_server: bool) -> Outcome {
    let config = RtcConfig::new().clear_codecs().enable_vp8(true).enable_bwe(Some(Bitrate::mbps(1)));
    let mut rtc = config.build(Instant::now());
    let socket = UdpSocket::bind((signals.local_addr()?.ip(), 0))?;
    rtc.add_local_candidate(Candidate::host(socket.local_addr()?, "udp")?);
    let (mut lines, mut line) = (BufReader::new(signals.try_clone()?), String::new());
    if !is_server {
        lines.read_line(&mut line)?;
        let answer = rtc.sdp_api().accept_offer(serde_json::from_str(&line)?)?;
        writeln!(signals, "{}", serde_json::to_string(&answer)?)?;
        return carry(rtc, &socket, None);
    }
    let mut change = rtc.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().ok_or("no offer")?;
    writeln!(signals, "{}", serde_json::to_string(&offer)?)?;
    lines.read_line(&mut line)?;
    rtc.sdp_api().accept_answer(pending, serde_json::from_str(&line)?)?;
    rtc.bwe().set_desired_bitrate(Bitrate::mbps(200));
    carry(rtc, &socket, Some(mid))
}

fn carry(mut rtc: Rtc, socket: &UdpSocket, video: Option<Mid>) -> Outcome {
    let (begin, mut frames, mut rate, mut buffer) = (Instant::now(), 0, 1e6, [0; 2_000]);
    loop {
        let now = Instant::now();
        if let Some(mid) = video.filter(|_| now >= begin + FRAME * frames) && let Some(writer) = rtc.writer(mid) {
            let kind = writer.payload_params().next().ok_or("no codec")?.pt();
            let time = MediaTime::new(u64::from(frames) * 3_000, Frequency::NINETY_KHZ);
            writer.write(kind, now, time, vec![0; (rate / 8.0 * FRAME.as_secs_f64()) as usize])?;
            frames += 1;
        }
        let timer = match rtc.poll_output()? {
            Output::Transmit(out) => { socket.send_to(&out.contents, out.destination)?; continue }
            Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => { rate = estimate.as_f64(); continue }
            Output::Event(_) => continue,
            Output::Timeout(timer) if video.is_some() => timer.min(begin + FRAME * frames),
            Output::Timeout(timer) => timer,
        };
        socket.set_read_timeout(Some(timer.saturating_duration_since(now).max(Duration::from_micros(1))))?;
        let received = socket.recv_from(&mut buffer);
        let now = Instant::now();
        rtc.handle_input(match &received {
            Ok((length, from)) => Input::Receive(now, Receive::new(Protocol::Udp, *from, socket.local_addr()?, &buffer[..*length])?),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => Input::Timeout(now),
            Err(error) => return Err(error.to_string().into()),
        })?;
    }
}

fn main() -> Outcome {
    no_processor_randomness::start()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client", address] => talk(TcpStream::connect((address, 4433))?, false),
        ["server", address] => TcpListener::bind((address, 4433))?.incoming().try_for_each(|signals| {
            let signals = signals?;
            std::thread::spawn(|| talk(signals, true).map_err(|error| eprintln!("{error}")));
            Ok(())
        }),
        _ => Err("usage: quell-str0m server|client ADDRESS".into()),
    }
}
