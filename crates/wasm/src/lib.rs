//! quell for a browser: what JavaScript calls.
//!
//! Texts go in as UTF-8 in memory that [`quell_alloc`] gave. What comes back besides numbers is an *answer*: bytes at
//! [`quell_answer`], [`quell_answer_length`] of them, good until the next call. A run has a handle above 0; 0 instead of a handle, or
//! NaN instead of a number, means that the answer is a message for people. A panic ends the instance; its message is the answer then,
//! which JavaScript can still read.
//!
//! Times are in nanoseconds.

mod memory;
mod state;

use quell_units::{Rate, Time};
use quell_watch::{Budget, Preparation, Series, Watched};

use crate::state::CallError;
/// `length` bytes for a text.
#[unsafe(no_mangle)]
pub extern "C" fn quell_alloc(length: usize) -> *mut u8 {
    memory::give(length)
}

/// Takes back what [`quell_alloc`] gave for `length` bytes.
///
/// # Safety
///
/// It was given for as many bytes, and was not taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_free(pointer: *mut u8, length: usize) {
    // SAFETY: by the contract of this function.
    unsafe { memory::take_back(pointer, length) }
}

/// Opens a run of the scenario in `length` bytes of TOML, with changes of keys in `changes_length` bytes, one `KEY=VALUE` a line.
/// With a `seed` below 0 it is the scenario's first. The run is prepared for so many more flows in each group, and for a link of so
/// many bit/s. The answer is what is needed to read its rows, as JSON.
///
/// # Safety
///
/// Both texts lie in memory of [`quell_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_open(
    text: *const u8,
    length: usize,
    changes: *const u8,
    changes_length: usize,
    seed: f64,
    more_flows: u32,
    fastest: f64,
) -> u32 {
    // SAFETY: by the contract of this function.
    let (text, changes) = unsafe {
        (
            memory::text(text, length),
            memory::text(changes, changes_length),
        )
    };
    let changes: Vec<&str> = changes.lines().filter(|line| !line.is_empty()).collect();
    let seed = (seed >= 0.0).then_some(seed as u64);
    state::with(0, |state| {
        let preparation = Preparation {
            flows: more_flows,
            rate: (fastest > 0.0).then(|| Rate::from_bps(fastest as u64)),
        };
        let run = Watched::open(
            "scenario.toml",
            &text,
            &changes,
            seed,
            preparation,
            Budget::PAGE,
        );
        let run = run?;
        let about = run.about();
        let handle = state.add(run)?;
        state.set_answer(about.to_string());
        Ok(handle)
    })
}

/// Simulates until `until`, and returns the time that is reached: less only at the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn quell_advance(handle: u32, until: f64) -> f64 {
    let until = Time::from_nanos(until.max(0.0) as u64);
    state::with(f64::NAN, |state| {
        let reached = state.run(handle)?.advance(until)?;
        Ok(reached.as_nanos() as f64)
    })
}

/// Changes a key of a run from the time on that it has reached: `KEY=VALUE` in `length` bytes. The answer is about the run as it is
/// now, as that of [`quell_open`]; 1 is returned.
///
/// # Safety
///
/// The text lies in memory of [`quell_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_change(handle: u32, text: *const u8, length: usize) -> f64 {
    // SAFETY: by the contract of this function.
    let text = unsafe { memory::text(text, length) };
    state::with(f64::NAN, |state| {
        let run = state.run(handle)?;
        let (key, value) = text
            .split_once('=')
            .ok_or_else(|| CallError::NoValue(text.to_string()))?;
        run.change(key, value)?;
        let about = run.about();
        state.set_answer(about.to_string());
        Ok(1.0)
    })
}

/// 1 once the end of the run is reached, 0 before.
#[unsafe(no_mangle)]
pub extern "C" fn quell_is_over(handle: u32) -> f64 {
    state::with(f64::NAN, |state| {
        Ok(f64::from(u8::from(state.run(handle)?.is_over())))
    })
}

/// Events of the simulation so far: what a slice costs.
#[unsafe(no_mangle)]
pub extern "C" fn quell_events(handle: u32) -> f64 {
    state::with(f64::NAN, |state| Ok(state.run(handle)?.events() as f64))
}

/// Takes the rows of a series (0 queues, 1 flows, 2 events) since the last call, and returns how many they are. The answer is all
/// values of the first column, then all of the second, and so on, as numbers of 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quell_rows(handle: u32, series: u32) -> f64 {
    state::with(f64::NAN, |state| {
        let known = Series::ALL.get(series as usize);
        let known = known.ok_or(CallError::NoSeries(series))?;
        state.take_rows(handle, *known)
    })
}

/// The same of single packets: those that left the queues, or were dropped, since the last call, or an even sample of them.
#[unsafe(no_mangle)]
pub extern "C" fn quell_packets(handle: u32) -> f64 {
    state::with(f64::NAN, |state| state.take_packets(handle))
}

/// The words of a run's rows, by their places: the answer has one a line, and their number is returned.
#[unsafe(no_mangle)]
pub extern "C" fn quell_words(handle: u32) -> f64 {
    state::with(f64::NAN, |state| {
        let words = state.rows(handle)?.words();
        let (count, text) = (words.len(), words.join("\n"));
        state.set_answer(text);
        Ok(count as f64)
    })
}

/// Ends a run. The answer is `summary.json`, a byte 0, and `histograms.json`; 1 is returned. Rows that are left can still be taken.
#[unsafe(no_mangle)]
pub extern "C" fn quell_finish(handle: u32) -> f64 {
    state::with(f64::NAN, |state| state.finish(handle))
}

/// What a scenario may name, for the controls of a page: the answer is JSON, and 1 is returned.
#[unsafe(no_mangle)]
pub extern "C" fn quell_catalogue() -> f64 {
    state::with(f64::NAN, |state| {
        state.set_answer(quell_watch::catalogue().to_string());
        Ok(1.0)
    })
}

/// What people feel in runs that are over: `length` bytes with a line of handles, with spaces between them, for each queue. The answer is
/// JSON with `words` and `rows`, and 1 is returned.
///
/// # Safety
///
/// The text lies in memory of [`quell_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_felt(text: *const u8, length: usize) -> f64 {
    // SAFETY: by the contract of this function.
    let text = unsafe { memory::text(text, length) };
    state::with(f64::NAN, |state| state.felt(&text))
}

/// Forgets a run.
#[unsafe(no_mangle)]
pub extern "C" fn quell_close(handle: u32) {
    state::with((), |state| {
        state.close(handle);
        Ok(())
    });
}

/// Where the answer of the last call is.
#[unsafe(no_mangle)]
pub extern "C" fn quell_answer() -> *const u8 {
    state::answer().0
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub extern "C" fn quell_answer_length() -> usize {
    state::answer().1
}
