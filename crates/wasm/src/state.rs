//! The runs of an instance, and its answer.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;

use quell_watch::{Over, Refused, Rows, Series, SimError, Watched};

/// Runs that may be open at once: two queues side by side, and some that are being replaced.
const MOST_RUNS: usize = 16;

/// Why a call fails: what JavaScript reads as the answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// No more runs can be open.
    TooManyRuns,
    /// The handle belongs to no run.
    NoRun(u32),
    /// The run of the handle has ended.
    IsOver(u32),
    /// The run of the handle goes on, or it is none.
    IsNotOver(String),
    /// There is no series of this number.
    NoSeries(u32),
    /// A change has no value.
    NoValue(String),
    /// The scenario or the change is refused.
    Refused(Refused),
    /// The simulation broke off.
    Simulation(SimError),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyRuns => write!(f, "{MOST_RUNS} runs are open; close one first"),
            Self::NoRun(handle) => write!(f, "there is no run {handle}"),
            Self::IsOver(handle) => write!(f, "run {handle} is over"),
            Self::IsNotOver(handle) => write!(f, "{handle}: must be a run that is over"),
            Self::NoSeries(series) => write!(f, "there is no series {series}"),
            Self::NoValue(change) => write!(f, "{change}: must be KEY=VALUE"),
            Self::Refused(error) => error.fmt(f),
            Self::Simulation(error) => error.fmt(f),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // They are the message already.
            Self::Refused(error) => error.source(),
            Self::Simulation(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Refused> for CallError {
    fn from(error: Refused) -> Self {
        Self::Refused(error)
    }
}

impl From<SimError> for CallError {
    fn from(error: SimError) -> Self {
        Self::Simulation(error)
    }
}

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::new());
    /// Apart: a panic leaves its message while the state is in use.
    static PANIC: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// A run, or the rows that it left.
enum Run {
    Open(Box<Watched>),
    Over(Box<Over>),
}

impl Run {
    fn rows(&mut self) -> &mut Rows {
        match self {
            Self::Open(run) => run.rows(),
            Self::Over(run) => &mut run.rows,
        }
    }
}

/// What an instance keeps.
pub(crate) struct State {
    runs: Vec<Option<Run>>,
    answer: Vec<u8>,
}

/// What `act` returns; where it fails, `failed`, and the answer is why.
pub(crate) fn with<T>(failed: T, act: impl FnOnce(&mut State) -> Result<T, CallError>) -> T {
    STATE.with_borrow_mut(|state| {
        act(state).unwrap_or_else(|why| {
            state.answer = why.to_string().into_bytes();
            failed
        })
    })
}

/// Where the answer is, and its length.
pub(crate) fn answer() -> (*const u8, usize) {
    let place = |bytes: &[u8]| (bytes.as_ptr(), bytes.len());
    let message = PANIC.with_borrow(|message| message.as_deref().map(place));
    message.unwrap_or_else(|| STATE.with_borrow(|state| place(&state.answer)))
}

impl State {
    fn new() -> Self {
        // Tests have a message of their own.
        #[cfg(not(test))]
        std::panic::set_hook(Box::new(|info| {
            PANIC.set(Some(info.to_string().into_bytes()));
        }));
        Self {
            runs: Vec::new(),
            answer: Vec::new(),
        }
    }

    pub(crate) fn set_answer(&mut self, bytes: impl Into<Vec<u8>>) {
        self.answer = bytes.into();
    }

    /// Keeps `run`, and returns its handle.
    pub(crate) fn add(&mut self, run: Watched) -> Result<u32, CallError> {
        let free = self.runs.iter().position(Option::is_none);
        let place = free.unwrap_or(self.runs.len());
        if place == MOST_RUNS {
            return Err(CallError::TooManyRuns);
        }
        if place == self.runs.len() {
            self.runs.push(None);
        }
        self.runs[place] = Some(Run::Open(Box::new(run)));
        Ok(place as u32 + 1)
    }

    fn place(&mut self, handle: u32) -> Result<&mut Option<Run>, CallError> {
        let place = (handle as usize).checked_sub(1);
        let place = place.and_then(|place| self.runs.get_mut(place));
        let place = place.filter(|run| run.is_some());
        place.ok_or(CallError::NoRun(handle))
    }

    /// The run of `handle`, while it goes on.
    pub(crate) fn run(&mut self, handle: u32) -> Result<&mut Watched, CallError> {
        match self.place(handle)? {
            Some(Run::Open(run)) => Ok(run),
            _ => Err(CallError::IsOver(handle)),
        }
    }

    /// The rows that `handle` has kept.
    pub(crate) fn rows(&mut self, handle: u32) -> Result<&mut Rows, CallError> {
        let run = self.place(handle)?.as_mut();
        run.map(Run::rows).ok_or(CallError::NoRun(handle))
    }

    /// Answers with the rows of `series`, and returns how many they are.
    pub(crate) fn take_rows(&mut self, handle: u32, series: Series) -> Result<f64, CallError> {
        let rows = self.rows(handle)?;
        let (count, columns) = (rows.waiting(series), rows.take(series));
        Ok(self.answer_with(count, &columns))
    }

    /// The same of single packets; a run that is over has kept none.
    pub(crate) fn take_packets(&mut self, handle: u32) -> Result<f64, CallError> {
        let taken = match self.place(handle)? {
            Some(Run::Open(run)) => run.packets(),
            _ => (0, Vec::new()),
        };
        Ok(self.answer_with(taken.0, &taken.1))
    }

    fn answer_with(&mut self, count: usize, columns: &[f64]) -> f64 {
        self.answer.clear();
        for value in columns {
            self.answer.extend_from_slice(&value.to_le_bytes());
        }
        count as f64
    }

    /// Ends a run, whose rows stay.
    pub(crate) fn finish(&mut self, handle: u32) -> Result<f64, CallError> {
        self.run(handle)?;
        let Some(Run::Open(run)) = self.place(handle)?.take() else {
            return Err(CallError::IsOver(handle));
        };
        let (files, over) = run.finish()?;
        *self
            .runs
            .get_mut(handle as usize - 1)
            .ok_or(CallError::NoRun(handle))? = Some(Run::Over(Box::new(over)));
        self.answer = [files.summary, files.histograms].join("\0").into_bytes();
        Ok(1.0)
    }

    /// Answers with what people feel in the runs of `text`: the handles of each queue on a line.
    pub(crate) fn felt(&mut self, text: &str) -> Result<f64, CallError> {
        let over = |handle: &str| -> Result<&Over, CallError> {
            let place = handle
                .parse()
                .ok()
                .and_then(|place: usize| place.checked_sub(1));
            match place.and_then(|place| self.runs.get(place)) {
                Some(Some(Run::Over(run))) => Ok(run),
                _ => Err(CallError::IsNotOver(handle.to_owned())),
            }
        };
        let queues = text.lines().map(|line| line.split(' ').map(over).collect());
        let queues: Vec<Vec<&Over>> = queues.collect::<Result<_, _>>()?;
        let queues = queues.iter().filter_map(|seeds| Over::of_seeds(seeds));
        let felt = quell_watch::felt(&queues.collect::<Vec<_>>());
        self.answer = felt.to_string().into_bytes();
        Ok(1.0)
    }

    /// Forgets a run; nothing happens where there is none.
    pub(crate) fn close(&mut self, handle: u32) {
        if let Ok(place) = self.place(handle) {
            *place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_the_answer() {
        let failed = with(-1.0, |state| state.take_rows(3, Series::Flows));
        assert_eq!(failed, -1.0);
        let (_, length) = answer();
        assert_eq!(length, "there is no run 3".len());
    }
}
