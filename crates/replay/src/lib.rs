//! Scripts of TCP segments, in the manner of packetdrill, that quell's TCP and a real Linux answer alike.
//!
//! A script plays one end of a connection. It says what arrives at the other end, the *end under test*, and what that end sends in answer: when,
//! and with which flags. [`model`] replays a script on `quell-tcp`, [`kernel`] on the TCP of a user-mode kernel in virtual time. Both return a
//! [`Transcript`], which [`judge`](judge::judge) compares with the script. The scripts are in `crates/replay/scripts`. The program of this crate,
//! `quell-replay`, replays a script and prints what left in the same language.
//!
//! # The language
//!
//! ```text
//! # Two SACKs say nothing yet, the third starts fast retransmit.
//! sender cubic                      # the end under test and its congestion control; or: receiver
//! 0   open
//! 0   > SYN
//! 98  < SYN
//! 98  > empty
//! 100 write 10
//! 100 > 0-1P 2-3P 4-5P 6-7P 8-9P
//! 198 < ack 0 sack 1-4
//! 198 > 0
//! 198 is cwnd 7 ssthresh 7 Recovery
//! ```
//!
//! The settings come first, one per line: `sender CONTROL` or `receiver`, or for data in both directions `client CONTROL`, which opens, or `server
//! CONTROL`, which is connected to; `ecn off`, `ecn classic` or `ecn accurate` (default: off); `timestamps`
//! (default: none); `kernel 6.18`, the oldest Linux that has what the script tests. `#` begins a comment.
//!
//! Every other line is a time and an event. The time is in milliseconds since the script began; `+5` counts from the line before.
//!
//! | event | meaning |
//! | --- | --- |
//! | `open` | the end under test starts the handshake |
//! | `write 10` | its application writes 10 segments; `write 300B` in bytes |
//! | `close` | its application closes its stream and goes on reading |
//! | `abort` | its application ends the connection at once |
//! | `< SEGMENT` | the segment arrives at it |
//! | `> SEGMENT` | it sends the segment at this time, and nothing else before the next `>` |
//! | `is cwnd 7 ssthresh none resent 1 Open` | its state: windows in segments, number of retransmissions, state of loss recovery |
//! | `end` | nothing more is sent until then; without it the script ends with its last line |
//!
//! A full segment has 1 000 bytes of payload. Segments are numbered from 0 in the order of the stream:
//!
//! | word | meaning |
//! | --- | --- |
//! | `3` `3-5` `3-5P` | segment 3; segments 3 to 5; the same with PSH on the last one. A line may hold several of these |
//! | `200:700` | bytes 200 up to but without 700 |
//! | `SYN` | the SYN of the sender, the SYN-ACK of the receiver |
//! | `empty` | no payload, next sequence number |
//! | `probe` | no payload, last acknowledged sequence number: probe of a closed window |
//! | `ack 3` | everything before segment 3 is acknowledged; `ack 3500B` in bytes |
//! | `sack 5-7 9-9` | segments 5 to 7 and 9 have arrived, in this order; `sack 200:700` in bytes |
//! | `win 20` | receive window in segments; `win 65535B` in bytes. An arriving segment without it has 524 280 bytes. The window of a leaving segment is compared only if the line has this word |
//! | `ECE` `CWR` `AE` `FIN` `RST` | flags. ACK is set on everything but the first SYN |
//! | `ace 6` | the three flags AE, CWR, ECE as a number |
//! | `ect0` `ect1` `ce` | the ECN field of the IP header (default: Not-ECT) |
//! | `e1b 1 ceb 1001 e0b 1` | arriving: AccECN option with these counters in this order (default: no option). Leaving: what the other end knows of these counters afterwards |
//! | `echo 100` | echoes the timestamp of what left at this time (default: of what left last) |
//! | `sent 100` | arriving: its own timestamp is that of this time (default: of now), as if it had been in flight since then |
//!
//! A segment of a client or server, or for one, has numbers and an acknowledgement: `3-5P ack 2`. Without `ack` it acknowledges what the one before
//! it in the same direction did. `ack 2` alone has no payload, and `FIN` as the first word is the FIN alone, with its own number each time. `RST` as
//! the first word is the RST of a host without that connection: its number is what has been acknowledged, and it has no ACK. The
//! application reads everything at once, and writes at once where that is in the line behind.
//!
//! # What is compared, and what is normalised
//!
//! Departures are compared one by one, in order: time, numbers, payload, flags, ECN field and SACK blocks. Three things are normalised:
//!
//! * Initial sequence numbers, ports and timestamp values differ by necessity. They are not compared.
//! * An end may leave out counters of the AccECN option, and choose their order (RFC 9768 section 3.2.3.3). So the comparison uses what the other
//!   end knows after all options so far.
//! * The MSS is chosen so that a full segment has 1 000 bytes of payload, with or without timestamps. The AccECN option reduces the payload, as on a
//!   real path. The script's end scales its window by 8.
//!
//! Both kinds of timers tick alike: a script begins 1 ms after a tick of 250 Hz (`CONFIG_HZ` of quell's kernels) whose number is a multiple of 512, in
//! the kernel as in the model. So times agree within [`judge::MODEL_TOLERANCE`] and [`judge::LINUX_TOLERANCE`]. Choose times such that no time-out
//! ends within a few microseconds of a tick: there a measured RTT that differs by 3 us moves a timer by 4 ms.
//!
//! # Deviations
//!
//! A line that holds for one of the two only begins with `model`, `linux`, `linux<6.18` or `linux>=6.18` (several are separated by commas), and ends
//! with a comment that gives the reason.
//!
//! ```text
//! model 300 > 5                     # limitation 2 of the receiver
//! linux 304 > 5                     # the same
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod folder;
pub mod judge;
pub mod kernel;
pub mod model;
mod play;
pub mod script;
pub mod state;
pub mod transcript;
mod wire;

pub use folder::{differences, model_keeps, scripts};
pub use play::ReplayError;
pub use script::Script;
pub use transcript::Transcript;
