//! Failures of calls: a negative number, and a sentence that the thread can ask for.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use quell_aqm::ParameterError;

/// Done. From functions that give a packet: there is none.
pub const QUELL_OK: i32 = 0;
/// A packet came out.
pub const QUELL_PACKET: i32 = 1;
/// A pointer is null, a text is not UTF-8, a packet has no length.
pub const QUELL_ERROR_ARGUMENT: i32 = -1;
/// A kind or parameter is unknown, or a value is out of its range.
pub const QUELL_ERROR_PARAMETER: i32 = -2;
/// A callback called a function of its own handle.
pub const QUELL_ERROR_BUSY: i32 = -3;
/// A defect of the library. The handle is of no use any more, but to be freed.
pub const QUELL_ERROR_PANIC: i32 = -4;

/// Why a call failed. A text that is not static allocates: only what is not on the packet path has one.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    text: Cow<'static, CStr>,
}

impl Failure {
    pub(crate) const fn argument(text: &'static CStr) -> Self {
        Self {
            code: QUELL_ERROR_ARGUMENT,
            text: Cow::Borrowed(text),
        }
    }
    pub(crate) const BUSY: Self = Self {
        code: QUELL_ERROR_BUSY,
        text: Cow::Borrowed(c"a callback may not call a function of its own handle"),
    };
    pub(crate) const BROKEN: Self = Self {
        code: QUELL_ERROR_PANIC,
        text: Cow::Borrowed(c"an earlier call on this handle panicked; it can only be freed"),
    };
    fn panic(payload: &(dyn Any + Send)) -> Self {
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self {
            code: QUELL_ERROR_PANIC,
            text: owned(&format!("panic: {}", said.unwrap_or("without a word"))),
        }
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self {
            code: QUELL_ERROR_PARAMETER,
            text: owned(&error.to_string()),
        }
    }
}

/// A NUL would cut a text off, so it is replaced.
fn owned(text: &str) -> Cow<'static, CStr> {
    let text = CString::new(text.replace('\0', "\\0"));
    text.map_or(Cow::Borrowed(c"an error"), Cow::Owned)
}

thread_local! {
    static LAST: RefCell<Cow<'static, CStr>> = const { RefCell::new(Cow::Borrowed(c"")) };
}

/// Why the latest failing call of this thread failed; "" if none did. Valid until the next failing call of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn quell_last_error() -> *const c_char {
    // Without storage, in a thread that is ending, there is nothing to report.
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

fn remember(text: Cow<'static, CStr>) {
    let _ended = LAST.try_with(|last| last.replace(text));
}

/// Runs what an entry does; panics and failures become `failed(code)`, and their text the thread's last error.
pub(crate) fn guard<T>(
    failed: impl FnOnce(i32) -> T,
    entry: impl FnOnce() -> Result<T, Failure>,
) -> T {
    // Whatever state a panic leaves behind is never looked at: the handle is broken from then on.
    let failure = match catch_unwind(AssertUnwindSafe(entry)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panic(&*payload),
    };
    remember(failure.text);
    failed(failure.code)
}

/// [`guard`] of an entry that answers with a code.
pub(crate) fn status(entry: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    guard(|code| code, entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the pointer is that of this thread's last error, and nothing fails in between.
        let text = unsafe { CStr::from_ptr(quell_last_error()) };
        text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_text() {
        assert_eq!(last(), "");
        assert_eq!(status(|| panic!("broken {}", 7)), QUELL_ERROR_PANIC);
        assert_eq!(last(), "panic: broken 7");
        assert_eq!(status(|| panic!("broken")), QUELL_ERROR_PANIC);
        assert_eq!(last(), "panic: broken");
        assert_eq!(status(|| std::panic::panic_any(7)), QUELL_ERROR_PANIC);
        assert_eq!(last(), "panic: without a word");
        // Success leaves the text.
        assert_eq!(status(|| Ok(QUELL_OK)), QUELL_OK);
        assert_eq!(last(), "panic: without a word");
        assert_eq!(
            status(|| Err(Failure::argument(c"no"))),
            QUELL_ERROR_ARGUMENT
        );
        assert_eq!(last(), "no");
    }

    #[test]
    fn each_thread_has_its_own_last_error() {
        let _code = status(|| Err(Failure::argument(c"mine")));
        std::thread::spawn(|| assert_eq!(last(), ""))
            .join()
            .unwrap();
        assert_eq!(last(), "mine");
    }

    #[test]
    fn a_nul_in_a_text_is_shown() {
        assert_eq!(&*owned("a\0b"), c"a\\0b");
    }
}
