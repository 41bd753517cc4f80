//! The places for connections. Whoever has shown the token keeps its place; the others make room for who comes, the oldest first.
//!
//! A connection shows the token with its first request at the earliest. So a new one is let in even when every place is taken, as long as
//! there is one that has not shown it: programs without the token cannot keep the page's owner out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All places.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// Of the connection that comes next.
    number: u64,
    /// Those that have not shown the token, in the order in which they came: what is notified ends.
    strangers: BTreeMap<u64, Arc<Notify>>,
    /// Those that have.
    known: BTreeSet<u64>,
}

/// The place of one connection, which it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
    end: Arc<Notify>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection; `None` if all of them have shown the token.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Arc<Place>> {
        let mut taken = self.taken();
        if taken.known.len() + taken.strangers.len() >= self.most {
            let (_, oldest) = taken.strangers.pop_first()?;
            oldest.notify_one();
        }
        let (number, end) = (taken.number, Arc::<Notify>::default());
        taken.number += 1;
        taken.strangers.insert(number, end.clone());
        let places = self.clone();
        Some(Arc::new(Place {
            places,
            number,
            end,
        }))
    }
}

impl Place {
    /// The connection has shown the token.
    pub(crate) fn is_known(&self) {
        let mut taken = self.places.taken();
        if taken.strangers.remove(&self.number).is_some() {
            taken.known.insert(self.number);
        }
    }

    /// Returns when the place is needed for another connection.
    pub(crate) async fn is_needed(&self) {
        self.end.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.strangers.remove(&self.number);
        taken.known.remove(&self.number);
    }
}
