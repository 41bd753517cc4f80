//! From one run to many pages. A run hands each message over once and goes on; what a page is too slow for waits up to a bound, then
//! the oldest rows are lost and counted. No page makes a run or another page wait.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::messages::Message;

/// Bytes that may wait for one page.
pub(crate) const ROOM: usize = 8 << 20;

/// The streams of a server.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// How many streams there are, for a run that wants to know without waiting.
    watching: AtomicUsize,
    room: usize,
}

#[derive(Debug, Default)]
struct State {
    streams: BTreeMap<u64, Stream>,
    next: u64,
    /// What a new stream is told first.
    greeting: Vec<Message>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Stream {
    waiting: VecDeque<Message>,
    bytes: usize,
    /// Messages of rows that were lost so far.
    lost: u64,
    notify: Arc<Notify>,
}

impl Stream {
    fn push(&mut self, message: Message, room: usize) {
        self.bytes += message.len();
        self.waiting.push_back(message);
        // The newest stays: whoever reads on sees the present.
        while self.bytes > room {
            let newest = self.waiting.len() - 1;
            let mut older = self.waiting.iter().take(newest);
            let Some(place) = older.position(|one| matches!(one, Message::Rows(_))) else {
                break;
            };
            if let Some(lost) = self.waiting.remove(place) {
                self.bytes -= lost.len();
                self.lost += 1;
            }
        }
        self.notify.notify_one();
    }
}

impl Hub {
    /// One where so many bytes may wait for each page.
    pub(crate) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            watching: AtomicUsize::new(0),
            room,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody listens.
    pub(crate) fn is_watched(&self) -> bool {
        self.watching.load(Ordering::Relaxed) > 0
    }

    /// Tells every page.
    pub(crate) fn tell(&self, message: &Message) {
        let mut state = self.state();
        for stream in state.streams.values_mut() {
            stream.push(message.clone(), self.room);
        }
    }

    /// Makes every stream look what there is.
    pub(crate) fn wake(&self) {
        for stream in self.state().streams.values() {
            stream.notify.notify_one();
        }
    }

    /// What a stream that comes later is told first.
    pub(crate) fn greet(&self, greeting: Vec<Message>) {
        self.state().greeting = greeting;
    }

    /// Ends every stream once it has had what waits for it.
    pub(crate) fn close(&self, last: &Message) {
        self.tell(last);
        let mut state = self.state();
        state.is_closed = true;
        for stream in state.streams.values() {
            stream.notify.notify_one();
        }
    }

    /// A new stream.
    pub(crate) fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut state = self.state();
        let mut stream = Stream::default();
        for message in &state.greeting {
            stream.push(message.clone(), self.room);
        }
        let notify = stream.notify.clone();
        let id = state.next;
        state.next += 1;
        state.streams.insert(id, stream);
        self.watching.store(state.streams.len(), Ordering::Relaxed);
        Subscription {
            hub: self.clone(),
            id,
            notify,
        }
    }
}

/// A stream; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    id: u64,
    notify: Arc<Notify>,
}

/// What a stream has next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message, as an event.
    Event(String),
    /// None yet.
    Nothing,
    /// None any more.
    End,
}

impl Subscription {
    /// What waits.
    pub(crate) fn take(&self) -> Next {
        let mut state = self.hub.state();
        let is_closed = state.is_closed;
        let Some(stream) = state.streams.get_mut(&self.id) else {
            return Next::End;
        };
        match stream.waiting.pop_front() {
            Some(message) => {
                stream.bytes -= message.len();
                Next::Event(message.event(stream.lost))
            }
            None if is_closed => Next::End,
            None => Next::Nothing,
        }
    }

    /// Waits until there may be something.
    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.streams.remove(&self.id);
        self.hub
            .watching
            .store(state.streams.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Message {
        Message::Rows(text.into())
    }

    fn word(text: &str) -> Message {
        Message::Word(text.into())
    }

    fn all(subscription: &Subscription) -> Vec<String> {
        let next = || match subscription.take() {
            Next::Event(event) => Some(event),
            Next::Nothing | Next::End => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_slow_page_loses_its_oldest_rows_and_nothing_else() {
        let hub = Hub::new(10);
        let (slow, fast) = (hub.subscribe(), hub.subscribe());
        assert!(hub.is_watched());
        let mut fast_got = Vec::new();
        for message in [
            word("open"),
            rows("111"),
            rows("222"),
            rows("333"),
            word("go"),
            rows("444"),
        ] {
            hub.tell(&message);
            fast_got.extend(all(&fast));
        }
        assert_eq!(fast_got.len(), 6);
        assert!(fast_got[5].contains("444,\"lost\":0"), "{fast_got:?}");
        let got = all(&slow);
        assert_eq!(
            got,
            [
                "data: open\n\n",
                "data: go\n\n",
                "data: 444,\"lost\":3}\n\n"
            ]
        );
        drop((slow, fast));
        assert!(!hub.is_watched());
    }

    #[test]
    fn the_newest_rows_stay_however_long_they_are() {
        let hub = Hub::new(4);
        let page = hub.subscribe();
        hub.tell(&rows("long rows"));
        hub.tell(&rows("longer rows"));
        assert_eq!(all(&page), ["data: longer rows,\"lost\":1}\n\n"]);
    }

    #[test]
    fn a_page_that_comes_later_is_greeted_and_one_that_stays_is_told_the_end() {
        let hub = Hub::new(ROOM);
        hub.tell(&word("before"));
        hub.greet(vec![word("opened")]);
        let page = hub.subscribe();
        hub.close(&word("ended"));
        assert_eq!(all(&page), ["data: opened\n\n", "data: ended\n\n"]);
        assert_eq!(page.take(), Next::End);
    }
}
