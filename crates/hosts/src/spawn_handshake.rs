//! The line between a process and a copy of it that is to become a program.
//!
//! The copy prepares itself, says so, waits for the word to start, and becomes the program. Its end of the line is close-on-exec, so that
//! the end of the line is the program's start. Either side sees when the other one is gone.
//!
//! ```text
//!   process  ◀──ready, or an errno─   copy
//!            ──go──────────────────▶
//!            ◀──the end, or an errno
//! ```
//!
//! Exit codes of a copy that becomes no program are those of env(1).

use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::Pid;

/// quell itself failed.
pub const FAILED: u8 = 125;
/// The program cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such program.
pub const NOT_FOUND: u8 = 127;

/// The end of the process.
#[derive(Debug)]
pub struct Line {
    stream: UnixStream,
}

/// The end of the copy.
#[derive(Debug)]
pub struct FarEnd {
    stream: UnixStream,
}

/// What is heard of a copy.
#[derive(Debug)]
pub enum Heard {
    /// It waits for the word to start. Its process id is one of the caller's ids, whichever ids the copy has.
    Ready(Pid),
    /// It could not prepare itself, or become the program.
    Refused(io::Error),
    /// Its end is closed: the program has begun, or the copy is gone.
    Closed,
}

/// Both ends. Make the copy afterwards, and drop in each process the end that is not its own.
///
/// # Errors
///
/// The system has no room for sockets.
pub fn pair() -> io::Result<(Line, FarEnd)> {
    let (stream, far) = UnixStream::pair()?;
    set_socket_passcred(&stream, true)?;
    Ok((Line { stream }, FarEnd { stream: far }))
}

impl Line {
    /// Waits for what comes next.
    ///
    /// # Errors
    ///
    /// The line cannot be read, or what comes is none of this.
    pub fn hear(&mut self) -> io::Result<Heard> {
        let mut answer = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut answer)];
        let read = loop {
            match recvmsg(
                &self.stream,
                &mut into,
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            ) {
                Err(rustix::io::Errno::INTR) => {}
                // A copy that ended with something unread resets the line.
                Err(rustix::io::Errno::CONNRESET) => break 0,
                other => break other?.bytes,
            }
        };
        let sender = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(who) => Some(who.pid),
            _ => None,
        });
        match (read, i32::from_ne_bytes(answer), sender) {
            (0, ..) => Ok(Heard::Closed),
            (4, 0, Some(id)) => Ok(Heard::Ready(id)),
            (4, errno @ 1.., _) => Ok(Heard::Refused(io::Error::from_raw_os_error(errno))),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Lets the copy become the program.
    ///
    /// # Errors
    ///
    /// The copy is gone.
    pub fn go(&mut self) -> io::Result<()> {
        self.stream.write_all(b"g")
    }
}

impl FarEnd {
    /// Prepares, waits and becomes the program, in the copy. Returns only where that fails, with the exit code; `command` is asked for when
    /// the word to start has come.
    pub fn become_program(
        mut self,
        prepare: impl FnOnce() -> io::Result<()>,
        command: impl FnOnce() -> io::Result<Command>,
    ) -> u8 {
        if let Err(error) = prepare() {
            self.refuse(&error);
            return FAILED;
        }
        let ready = self.stream.write_all(&0_i32.to_ne_bytes());
        // Nothing comes where the process has ended meanwhile.
        if ready.is_err() || self.stream.read_exact(&mut [0; 1]).is_err() {
            return FAILED;
        }
        let error = match command() {
            Ok(mut command) => command.exec(),
            Err(error) => {
                self.refuse(&error);
                return FAILED;
            }
        };
        self.refuse(&error);
        match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_EXECUTABLE,
        }
    }

    /// Says that there will be no program.
    pub fn refuse(&mut self, why: &io::Error) {
        let errno = why.raw_os_error().filter(|errno| *errno > 0);
        // A process that is gone needs no reason.
        let _ = self
            .stream
            .write_all(&errno.unwrap_or(libc::EIO).to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_hears_the_other_and_when_it_is_gone() {
        let (mut line, mut far) = pair().unwrap();
        far.stream.write_all(&0_i32.to_ne_bytes()).unwrap();
        let Heard::Ready(id) = line.hear().unwrap() else {
            panic!()
        };
        assert_eq!(id, rustix::process::getpid());
        far.refuse(&io::Error::from_raw_os_error(libc::ENOENT));
        let Heard::Refused(error) = line.hear().unwrap() else {
            panic!()
        };
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        drop(far);
        assert!(matches!(line.hear().unwrap(), Heard::Closed));
    }

    #[test]
    fn a_copy_that_cannot_become_a_program_says_why() {
        for (prepared, command, code, kind) in [
            (
                Err(io::ErrorKind::PermissionDenied),
                "/bin/true",
                FAILED,
                None,
            ),
            (
                Ok(()),
                "/no-such-program",
                NOT_FOUND,
                Some(io::ErrorKind::NotFound),
            ),
            (
                Ok(()),
                "/",
                NOT_EXECUTABLE,
                Some(io::ErrorKind::PermissionDenied),
            ),
        ] {
            let (mut line, far) = pair().unwrap();
            line.go().unwrap();
            let ended = far.become_program(
                || prepared.map_err(io::Error::from),
                || Ok(Command::new(command)),
            );
            assert_eq!(ended, code);
            if kind.is_some() {
                assert!(matches!(line.hear().unwrap(), Heard::Ready(_)));
            }
            let Heard::Refused(error) = line.hear().unwrap() else {
                panic!()
            };
            // An error without a number of the kernel's is one of input and output.
            assert!(kind.is_none_or(|kind| error.kind() == kind), "{error}");
        }
    }

    #[test]
    fn a_copy_whose_process_is_gone_starts_nothing() {
        let (line, far) = pair().unwrap();
        drop(line);
        let ended = far.become_program(|| Ok(()), || panic!("nobody said go"));
        assert_eq!(ended, FAILED);
    }
}
