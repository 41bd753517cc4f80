//! A process that keeps copies of descriptors, so that the one that uses them can end without waiting until the kernel has closed them.
//!
//! Closing a packet socket waits for a grace period of the kernel (`packet_release` in net/packet/af_packet.c), 10 to 20 ms each. The last
//! copy pays for it: a process that nobody waits for, and that ends when the one that uses the descriptors does, however it does.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::confine::capabilities::{CapabilitySet, keep_only};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::Result;
use crate::child;
use crate::error::Doing as _;

/// The line to the process. It ends soon after this is dropped, or this process has ended.
#[derive(Debug)]
pub struct FdHolder {
    line: UnixStream,
}

impl FdHolder {
    /// Starts it: no child of this process, in a session of its own, without rights, with no other descriptor than its line.
    ///
    /// # Errors
    ///
    /// There is another thread, or the system has no room for another process.
    pub fn start() -> Result<Self> {
        let (line, theirs) = UnixStream::pair().doing(|| "make a line to another process")?;
        // Twice, so that the second is nobody's child: whoever waits for children must not see it.
        let between = child::fork(|| {
            let second = child::fork(|| {
                keep(&theirs);
                0
            });
            u8::from(second.is_err())
        })?;
        match between.wait().doing(|| "wait for another process")? {
            0 => Ok(Self { line }),
            _ => Err(io::Error::from(io::ErrorKind::WouldBlock)).doing(|| "copy this process"),
        }
    }

    /// Lets it keep a copy.
    ///
    /// # Errors
    ///
    /// It has ended.
    pub fn hold(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = SendFlags::NOSIGNAL;
        sendmsg(&self.line, &[IoSlice::new(b"k")], &mut control, flags)?;
        Ok(())
    }
}

/// Keeps what comes until the other end of the line is gone.
fn keep(line: &UnixStream) {
    child::leave_signals_to_others();
    // Whatever of this cannot be done, keeping and ending can.
    let _ = rustix::process::setsid();
    let _ = keep_only(CapabilitySet::empty());
    child::keep_out_of_sight();
    child::close_all_but(&[line.as_fd()]);
    let mut kept: Vec<OwnedFd> = Vec::new();
    loop {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut byte)];
        match recvmsg(line, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) if message.bytes > 0 => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => return,
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                kept.extend(descriptors);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::io::Read as _;

    /// What [`keep`] does with what it is handed, in a thread instead of a process, without the part that closes all else.
    #[test]
    fn what_is_handed_over_stays_open_until_the_line_ends() {
        let (line, theirs) = UnixStream::pair().unwrap();
        let fd_holder = FdHolder { line };
        let (mut one, other) = UnixStream::pair().unwrap();
        fd_holder.hold(other.as_fd()).unwrap();
        drop(other);
        one.set_nonblocking(true).unwrap();
        // The copy in the line keeps it open.
        let error = one.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(theirs);
        drop(fd_holder);
        assert_eq!(one.read(&mut [0]).unwrap(), 0);
    }
}
