//! A small process that keeps the rights of a program, so that the program can give them away and still have tasks done that
//! need them.
//!
//! The program starts the broker while it has a single thread, then gives its own rights away. For each task the broker makes a
//! copy of itself, the worker. The worker talks to the program directly, uses the rights for as long as it must, and then gives
//! them away, too. The broker itself reads nothing of a task: it copies itself and waits. It ends when the program is gone, and
//! ends the worker.
//!
//! ```text
//!   program  ──task, requests─▶  worker     the line: frames of a length (4 bytes) and as many bytes
//!            ◀──messages──────
//!            ◀──exit code─────   broker     one byte, when the worker has ended
//! ```

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::child::{self, Child};
use crate::error::Doing as _;
use crate::{Error, Result};

/// The longest frame, in bytes: more than any scenario.
const LONGEST: usize = 64 << 20;

/// The first byte of what the program sends.
const TASK: u8 = b't';
const REQUEST: u8 = b'r';

/// The program's end.
#[derive(Debug)]
pub struct Broker {
    line: UnixStream,
    ends: UnixStream,
    heard: Vec<u8>,
    child: Child,
}

/// What the broker or its worker answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// A message of the worker.
    Said(Vec<u8>),
    /// The worker has ended, with this exit code.
    Ended(u8),
}

/// The worker's end.
#[derive(Debug)]
pub struct Line<'a> {
    stream: &'a UnixStream,
}

impl Broker {
    /// Starts the broker. In it `prepare` runs once, and `work` in each worker, with its task; it returns the exit code.
    ///
    /// # Errors
    ///
    /// There is more than one thread, or the system has no room for another process.
    pub fn start(
        prepare: impl FnOnce() -> std::result::Result<(), crate::confine::Error>,
        work: impl Fn(&[u8], Line<'_>) -> u8,
    ) -> Result<Self> {
        let pair = || UnixStream::pair().doing(|| "make a pair of sockets");
        let ((line, far_line), (ends, far_ends)) = (pair()?, pair()?);
        let near = (line, ends);
        let (mut near, mut far) = (Some(near), Some((far_line, far_ends)));
        let child = child::fork(|| {
            // The copy holds both ends; the program is gone when nobody holds its own.
            near = None;
            let Some((line, ends)) = far.take() else {
                return 1;
            };
            child::leave_signals_to_others();
            let served = prepare()
                .map_err(Error::from)
                .and_then(|()| serve(line, ends, work));
            u8::from(served.is_err())
        })?;
        drop(far);
        let Some((line, ends)) = near else {
            return Err(gone()).doing(|| "talk to the broker");
        };
        Ok(Self {
            line,
            ends,
            heard: Vec::new(),
            child,
        })
    }

    /// The broker's process.
    pub fn id(&self) -> rustix::process::Pid {
        self.child.id()
    }

    /// Starts a worker with a task. The worker before it must have ended.
    pub fn begin(&mut self, task: &[u8]) -> io::Result<()> {
        self.heard.clear();
        write_frame(&mut &self.line, &[&[TASK], task].concat())
    }

    /// Sends a request to the worker.
    pub fn ask(&self, request: &[u8]) -> io::Result<()> {
        write_frame(&mut &self.line, &[&[REQUEST], request].concat())
    }

    /// Waits up to `patience` for the next answer; `None` if there was none.
    pub fn next(&mut self, patience: Duration) -> io::Result<Option<Answer>> {
        loop {
            if let Some(frame) = take_frame(&mut self.heard)? {
                return Ok(Some(Answer::Said(frame)));
            }
            let (has_line, has_ends) = {
                let mut both = [
                    PollFd::new(&self.line, PollFlags::IN),
                    PollFd::new(&self.ends, PollFlags::IN),
                ];
                match wait(&mut both, Some(patience))? {
                    0 => return Ok(None),
                    _ => (
                        both[0].revents().contains(PollFlags::IN),
                        !both[1].revents().is_empty(),
                    ),
                }
            };
            if has_line {
                let mut piece = [0; 4_096];
                match (&self.line).read(&mut piece)? {
                    0 => return Err(gone()),
                    read => self.heard.extend_from_slice(&piece[..read]),
                }
            } else if has_ends {
                // All that the worker said has been read: what is left is what it could not finish.
                self.heard.clear();
                let mut code = [0];
                return match (&self.ends).read_exact(&mut code) {
                    Ok(()) => Ok(Some(Answer::Ended(code[0]))),
                    Err(_) => Err(gone()),
                };
            } else {
                return Err(gone());
            }
        }
    }
}

impl Drop for Broker {
    /// The broker sees the end of the line, and ends.
    fn drop(&mut self) {
        let _ = self.line.shutdown(Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn gone() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the process that keeps this program's rights is gone",
    )
}

impl Line<'_> {
    /// Sends a message to the program; waits until there is room.
    pub fn say(&self, what: &[u8]) -> io::Result<()> {
        write_frame(&mut &*self.stream, what)
    }

    /// Sends a short message, which is lost if there is no room for it now.
    pub fn mention(&self, what: &[u8]) {
        let mut frame = (what.len() as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(what);
        // A short message goes out whole or not at all (unix(7) streams carry each send as one piece).
        let _ = send(
            self.stream,
            &frame,
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        );
    }

    /// The next request of the program, if it is here. Does not wait; `heard` keeps what is not whole yet.
    ///
    /// # Errors
    ///
    /// The program is gone.
    pub fn hear(&self, heard: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(frame) = take_frame(heard)? {
                match frame.split_first() {
                    Some((&REQUEST, request)) => return Ok(Some(request.to_vec())),
                    _ => continue,
                }
            }
            let mut piece = [0; 4_096];
            match recv(self.stream, &mut piece[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(gone()),
                Ok((read, _)) => heard.extend_from_slice(&piece[..read]),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Whether the program has sent a request, or is gone. Does not wait; the request is read.
    pub fn is_called(&self) -> bool {
        let mut piece = [0; 256];
        match recv(self.stream, &mut piece[..], RecvFlags::DONTWAIT) {
            Ok(_) => true,
            Err(errno) => errno != Errno::AGAIN && errno != Errno::INTR,
        }
    }
}

/// Messages that wait for room in the line, up to a bound: whoever puts one here never waits for the program.
#[derive(Debug)]
pub struct Outbox {
    waiting: Vec<u8>,
    room: usize,
}

impl Outbox {
    /// One for so many bytes.
    pub fn new(room: usize) -> Self {
        Self {
            waiting: Vec::new(),
            room,
        }
    }

    /// Puts a message behind those that wait. Returns false, and leaves it out, where there is no room for it.
    #[must_use]
    pub fn put(&mut self, what: &[u8]) -> bool {
        if self.waiting.len() + what.len() > self.room {
            return false;
        }
        self.waiting
            .extend_from_slice(&(what.len() as u32).to_le_bytes());
        self.waiting.extend_from_slice(what);
        true
    }

    /// Sends as much as there is room for now.
    ///
    /// # Errors
    ///
    /// The program is gone.
    pub fn flush(&mut self, line: &Line<'_>) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let mut sent = 0;
        let done = loop {
            if sent == self.waiting.len() {
                break Ok(());
            }
            match send(line.stream, &self.waiting[sent..], flags) {
                Ok(more) => sent += more,
                Err(Errno::AGAIN) => break Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => break Err(errno.into()),
            }
        };
        self.waiting.drain(..sent);
        done
    }

    /// Sends all that waits, however long that takes.
    ///
    /// # Errors
    ///
    /// The program is gone.
    pub fn empty(&mut self, line: &Line<'_>) -> io::Result<()> {
        (&mut &*line.stream).write_all(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }
}

/// Serves until the program is gone.
fn serve(
    line: UnixStream,
    mut ends: UnixStream,
    work: impl Fn(&[u8], Line<'_>) -> u8,
) -> Result<()> {
    let talking = || "talk to the program";
    while let Some(frame) = read_frame(&line).doing(talking)? {
        // A request that came too late for its worker is for nobody.
        let [TASK, task @ ..] = &frame[..] else {
            continue;
        };
        let worker = child::fork(|| work(task, Line { stream: &line }))?;
        let ended = worker.descriptor().doing(|| "watch the worker")?;
        // Nothing is read from the line, only its end noticed.
        let mut both = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::new(&line, PollFlags::empty()),
        ];
        wait(&mut both, None).doing(|| "watch the worker")?;
        if both[0].revents().is_empty() {
            worker.kill();
            worker.wait().doing(|| "wait for the worker")?;
            return Ok(());
        }
        let code = worker.wait().doing(|| "wait for the worker")?;
        ends.write_all(&[code]).doing(talking)?;
    }
    Ok(())
}

fn wait(files: &mut [PollFd<'_>], patience: Option<Duration>) -> io::Result<usize> {
    let patience = patience.map(|patience| Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: i64::from(patience.subsec_nanos()),
    });
    loop {
        match poll(files, patience.as_ref()) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

fn write_frame(stream: &mut &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // In one piece, so that who looks without waiting finds all of a short one or nothing.
    stream.write_all(&[&length.to_le_bytes(), bytes].concat())
}

/// The next frame; `None` at the end.
fn read_frame(mut stream: &UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = checked(u32::from_le_bytes(length))?;
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Takes the first frame out of what was heard, if it is whole.
fn take_frame(heard: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let Some((first, rest)) = heard.split_first_chunk() else {
        return Ok(None);
    };
    let length = checked(u32::from_le_bytes(*first))?;
    let Some(frame) = rest.get(..length) else {
        return Ok(None);
    };
    let frame = frame.to_vec();
    heard.drain(..4 + length);
    Ok(Some(frame))
}

fn checked(length: u32) -> io::Result<usize> {
    match length as usize {
        length if length <= LONGEST => Ok(length),
        length => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {length} bytes"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_whatever_the_pieces() {
        let (near, far) = UnixStream::pair().unwrap();
        write_frame(&mut &near, b"task").unwrap();
        write_frame(&mut &near, b"").unwrap();
        drop(near);
        assert_eq!(read_frame(&far).unwrap().as_deref(), Some(&b"task"[..]));
        assert_eq!(read_frame(&far).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read_frame(&far).unwrap(), None);

        let mut heard = Vec::new();
        let whole = [3, 0, 0, 0, b'a', b'b', b'c', 1, 0, 0, 0, b'd'];
        let mut frames = Vec::new();
        for byte in whole {
            heard.push(byte);
            frames.extend(take_frame(&mut heard).unwrap());
        }
        assert_eq!(frames, [&b"abc"[..], b"d"]);
        assert!(take_frame(&mut u32::MAX.to_le_bytes().to_vec()).is_err());
    }

    #[test]
    fn requests_are_heard_whole_and_without_waiting() {
        let (near, far) = UnixStream::pair().unwrap();
        let line = Line { stream: &far };
        let mut heard = Vec::new();
        assert_eq!(line.hear(&mut heard).unwrap(), None);
        write_frame(&mut &near, b"rone").unwrap();
        write_frame(&mut &near, b"tno request").unwrap();
        (&near).write_all(&[4, 0, 0, 0, REQUEST, b't']).unwrap();
        assert_eq!(line.hear(&mut heard).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(line.hear(&mut heard).unwrap(), None);
        (&near).write_all(b"wo").unwrap();
        assert_eq!(line.hear(&mut heard).unwrap().as_deref(), Some(&b"two"[..]));
        drop(near);
        assert!(line.hear(&mut heard).is_err());
    }

    /// A program that reads nothing makes nobody wait, and loses messages, never a part of one.
    #[test]
    fn an_outbox_takes_what_it_has_room_for_and_sends_messages_whole() {
        let (near, far) = UnixStream::pair().unwrap();
        let line = Line { stream: &far };
        let mut outbox = Outbox::new(1 << 20);
        let message = |number: u32| number.to_le_bytes().repeat(5_000);
        let mut put = Vec::new();
        for number in 0..300 {
            if outbox.put(&message(number)) {
                put.push(number);
            }
            outbox.flush(&line).unwrap();
        }
        assert!(put.len() > 50 && put.len() < 300, "{}", put.len());
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            while let Some(frame) = read_frame(&near).unwrap() {
                all.push(frame);
            }
            all
        });
        outbox.empty(&line).unwrap();
        drop(far);
        let expected: Vec<_> = put.into_iter().map(message).collect();
        assert!(reader.join().unwrap() == expected);
    }

    #[test]
    fn a_process_with_several_threads_starts_no_broker() {
        // The test runs beside the harness's own thread.
        let refused = Broker::start(|| Ok(()), |_, _| 0).unwrap_err();
        assert!(
            matches!(refused, Error::Rights(crate::confine::Error::Threads(_))),
            "{refused}"
        );
    }
}
