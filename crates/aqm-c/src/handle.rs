//! The target of an opaque pointer: the object, and whether a call on it is running.

use std::cell::{Cell, UnsafeCell};

use crate::error::{Failure, guard};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Idle,
    /// A call is running.
    Running,
    /// A call panicked, so that the object may be half changed.
    Broken,
}

/// An object that C holds a pointer to.
#[derive(Debug)]
pub(crate) struct Handle<T> {
    state: Cell<CallState>,
    thing: UnsafeCell<T>,
}

/// Leaves the handle broken unless the call came to its end.
struct Call<'a>(&'a Cell<CallState>);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.set(CallState::Broken);
    }
}

impl<T> Handle<T> {
    /// Allocates a handle to give out.
    pub(crate) fn give(thing: T) -> *mut Self {
        Box::into_raw(Box::new(Self {
            state: Cell::new(CallState::Idle),
            thing: UnsafeCell::new(thing),
        }))
    }

    /// Calls `call` with the object, unless another call on it is running or has panicked.
    ///
    /// # Safety
    /// `handle` is null, or comes from [`Handle::give`], has not been taken back, and is used by this thread only.
    pub(crate) unsafe fn call<R>(
        handle: *const Self,
        call: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        // SAFETY: by the contract it is null or points to a handle that lives; no `&mut Handle` of it exists.
        let handle =
            unsafe { handle.as_ref() }.ok_or(const { Failure::argument(c"the handle is null") })?;
        match handle.state.get() {
            CallState::Running => return Err(Failure::BUSY),
            CallState::Broken => return Err(Failure::BROKEN),
            CallState::Idle => handle.state.set(CallState::Running),
        }
        let running = Call(&handle.state);
        // SAFETY: one thread only, and `CallState::Running` keeps its calls from nesting, so this is the only reference.
        let answer = call(unsafe { &mut *handle.thing.get() });
        std::mem::forget(running);
        handle.state.set(CallState::Idle);
        answer
    }

    /// Calls `last` with the object and frees it, unless a call on it is running; a broken one is only freed. Null is ignored.
    ///
    /// # Safety
    /// The contract of [`Handle::call`]; unless a call is running, the pointer is not used again.
    pub(crate) unsafe fn take(handle: *mut Self, last: impl FnOnce(&mut T)) {
        let entry = || {
            // SAFETY: by the contract it is null or points to a handle that lives.
            let Some(state) = (unsafe { handle.as_ref() }).map(|handle| handle.state.get()) else {
                return Ok(());
            };
            match state {
                CallState::Running => return Err(Failure::BUSY),
                CallState::Broken => {}
                // A callback that knows the pointer finds the handle busy. If this panics it is not let go.
                // SAFETY: likewise.
                CallState::Idle => unsafe {
                    Self::call(handle, |thing| {
                        last(thing);
                        Ok(())
                    })
                }?,
            }
            // SAFETY: it comes from `Box::into_raw`, no call is running, and it is not used after this.
            drop(unsafe { Box::from_raw(handle) });
            Ok(())
        };
        guard(|_| (), entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{QUELL_ERROR_ARGUMENT, QUELL_ERROR_BUSY, QUELL_ERROR_PANIC, status};

    /// # Safety
    /// As for [`Handle::call`].
    unsafe fn add(handle: *const Handle<i32>, n: i32) -> i32 {
        status(|| {
            // SAFETY: by the contract of this function.
            unsafe { Handle::call(handle, |thing| Ok(*thing)) }?;
            // SAFETY: likewise.
            unsafe {
                Handle::call(handle, |thing| {
                    *thing += n;
                    assert!(*thing < 10, "too much");
                    Ok(*thing)
                })
            }
        })
    }

    #[test]
    fn calls_do_not_nest_and_a_panic_breaks_the_handle() {
        let handle = Handle::give(0);
        // SAFETY: the handle lives until it is taken, and this thread alone has it.
        unsafe {
            assert_eq!(add(std::ptr::null(), 1), QUELL_ERROR_ARGUMENT);
            assert_eq!(add(handle, 1), 1);
            let nested = Handle::call(handle, |_| {
                Handle::take(handle, |_| panic!("it is in use"));
                Ok(add(handle, 1))
            });
            assert_eq!(nested.unwrap(), QUELL_ERROR_BUSY);
            assert_eq!(add(handle, 1), 2);
            assert_eq!(add(handle, 10), QUELL_ERROR_PANIC);
            assert_eq!(add(handle, 1), QUELL_ERROR_PANIC);
            Handle::take(handle, |_| panic!("it is broken"));
            let handle = Handle::give(3);
            let mut last = 0;
            Handle::take(handle, |thing| last = *thing);
            assert_eq!(last, 3);
            Handle::<i32>::take(std::ptr::null_mut(), |_| panic!("there is none"));
        }
    }
}
