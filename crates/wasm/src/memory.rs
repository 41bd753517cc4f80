//! Memory that JavaScript writes into.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::borrow::Cow;

/// Texts are not longer than this: 16 MiB.
const MOST: usize = 16 << 20;

fn layout(length: usize) -> Layout {
    // Never empty, which the allocator does not take.
    Layout::array::<u8>(length.clamp(1, MOST)).unwrap_or(Layout::new::<u8>())
}

/// `length` bytes, all 0; null if they are too many.
pub(crate) fn give(length: usize) -> *mut u8 {
    if length > MOST {
        return std::ptr::null_mut();
    }
    // SAFETY: the layout is not of size 0.
    unsafe { alloc_zeroed(layout(length)) }
}

/// Takes them back; nothing happens for null.
///
/// # Safety
///
/// `pointer` came from [`give`] with this `length`, and was not taken back.
pub(crate) unsafe fn take_back(pointer: *mut u8, length: usize) {
    if !pointer.is_null() {
        // SAFETY: by the contract of this function; the layout is the same.
        unsafe { dealloc(pointer, layout(length)) }
    }
}

/// The text in `length` bytes; what is not UTF-8 in it is replaced.
///
/// # Safety
///
/// `pointer` is null, or came from [`give`] with no fewer bytes, and was not taken back.
pub(crate) unsafe fn text<'a>(pointer: *const u8, length: usize) -> Cow<'a, str> {
    if pointer.is_null() || length > MOST {
        return Cow::Borrowed("");
    }
    // SAFETY: by the contract of this function; every byte was written when it was given.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(pointer, length) })
}
