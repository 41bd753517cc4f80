//! The end of the process that started this one, seen at a pipe whose other end only that process holds.
//!
//! The kernel closes that end whatever ended the process, and sends SIGIO here then (fcntl(2): `F_SETOWN`, `O_ASYNC`). So no thread has to
//! wait for it, and namespaces and rights can be changed afterwards.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::time::Timespec;

/// From now on SIGIO comes when the other end of the pipe or socket `descriptor` closes, or writes. Returns whether it has done so already.
/// Programs that this one starts do not get the descriptor.
///
/// # Errors
///
/// It is not open, or neither pipe nor socket.
pub fn watch(descriptor: RawFd) -> io::Result<bool> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is borrowed for this function alone, and whoever names it has left it open for this purpose. If it is not open, each call
    // fails with EBADF.
    let pipe = unsafe { BorrowedFd::borrow_raw(descriptor) };
    match FileType::from_raw_mode(fstat(pipe)?.st_mode) {
        FileType::Fifo | FileType::Socket => {}
        _ => return Err(io::Error::other("it is neither a pipe nor a socket")),
    }
    fcntl_setfd(pipe, FdFlags::CLOEXEC)?;
    let set = |command: libc::c_int, value: libc::c_int| {
        // SAFETY: these commands take a number and touch no memory.
        match unsafe { libc::fcntl(descriptor, command, value) } {
            -1 => Err(io::Error::last_os_error()),
            result => Ok(result),
        }
    };
    set(libc::F_SETOWN, rustix::process::getpid().as_raw_pid())?;
    let flags = set(libc::F_GETFL, 0)?;
    set(libc::F_SETFL, flags | libc::O_ASYNC)?;
    // What happened before sends no signal.
    let mut polled = [PollFd::new(&pipe, PollFlags::IN)];
    Ok(poll(&mut polled, Some(&Timespec::default()))? > 0)
}
