//! The structures that the wheel is compared with. All note a later time without moving anything,
//! as the wheel does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quell_units::Time;

use super::Queue;

const NEVER: u64 = u64::MAX;

/// When a timer shall ring, and where it is queued.
#[derive(Clone, Copy)]
struct Entry {
    wanted: u64,
    queued: u64,
}

const UNSET: Entry = Entry {
    wanted: NEVER,
    queued: NEVER,
};

/// A binary heap of packed 128-bit keys; what was moved stays in it and is skipped.
pub(super) struct Heap {
    entries: Vec<Entry>,
    heap: BinaryHeap<Reverse<u128>>,
}

impl Queue for Heap {
    const NAME: &str = "binary heap";
    fn new(count: usize) -> Self {
        Self {
            entries: vec![UNSET; count],
            heap: BinaryHeap::new(),
        }
    }
    fn set(&mut self, timer: u32, at: Time, _now: Time) {
        let entry = &mut self.entries[timer as usize];
        entry.wanted = at.as_nanos();
        if entry.wanted < entry.queued {
            entry.queued = entry.wanted;
            self.heap
                .push(Reverse(u128::from(entry.wanted) << 32 | u128::from(timer)));
        }
    }
    fn next(&self) -> Time {
        let key = self.heap.peek().map_or(NEVER, |key| (key.0 >> 32) as u64);
        Time::from_nanos(key)
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        while self.next() <= now {
            let Reverse(key) = self.heap.pop()?;
            let (at, timer) = ((key >> 32) as u64, key as u32);
            let entry = &mut self.entries[timer as usize];
            if entry.queued != at {
                continue;
            }
            entry.queued = NEVER;
            if entry.wanted <= at {
                entry.wanted = NEVER;
                return Some(timer);
            }
            let wanted = Time::from_nanos(entry.wanted);
            self.set(timer, wanted, now);
        }
        None
    }
}

/// A heap of four children per node that knows where each timer is.
pub(super) struct Fourary {
    entries: Vec<Entry>,
    place: Vec<u32>,
    heap: Vec<(u64, u32)>,
}

impl Fourary {
    fn put(&mut self, index: usize, node: (u64, u32)) {
        self.heap[index] = node;
        self.place[node.1 as usize] = index as u32;
    }
    fn up(&mut self, mut index: usize, node: (u64, u32)) {
        while index > 0 {
            let parent = (index - 1) / 4;
            if self.heap[parent] <= node {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, node);
    }
    fn down(&mut self, mut index: usize, node: (u64, u32)) {
        loop {
            let first = 4 * index + 1;
            let children = first..(first + 4).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else {
                break;
            };
            if self.heap[least] >= node {
                break;
            }
            self.put(index, self.heap[least]);
            index = least;
        }
        self.put(index, node);
    }
}

impl Queue for Fourary {
    const NAME: &str = "4-ary heap";
    fn new(count: usize) -> Self {
        Self {
            entries: vec![UNSET; count],
            place: vec![0; count],
            heap: Vec::with_capacity(count),
        }
    }
    fn set(&mut self, timer: u32, at: Time, _now: Time) {
        let entry = &mut self.entries[timer as usize];
        entry.wanted = at.as_nanos();
        if entry.wanted >= entry.queued {
            return;
        }
        let node = (entry.wanted, timer);
        let index = if entry.queued == NEVER {
            self.heap.push(node);
            self.heap.len() - 1
        } else {
            self.place[timer as usize] as usize
        };
        entry.queued = entry.wanted;
        self.up(index, node);
    }
    fn next(&self) -> Time {
        Time::from_nanos(self.heap.first().map_or(NEVER, |node| node.0))
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        while let Some(&(at, timer)) = self.heap.first().filter(|node| node.0 <= now.as_nanos()) {
            let entry = &mut self.entries[timer as usize];
            if entry.wanted > at && entry.wanted != NEVER {
                entry.queued = entry.wanted;
                let node = (entry.wanted, timer);
                self.down(0, node);
                continue;
            }
            let rings = entry.wanted <= at;
            *entry = UNSET;
            if let Some(last) = self.heap.pop()
                && !self.heap.is_empty()
            {
                self.down(0, last);
            }
            if rings {
                return Some(timer);
            }
        }
        None
    }
}

/// A radix heap (Ahuja et al. 1990): buckets by the highest bit that differs from the last time.
pub(super) struct Radix {
    entries: Vec<Entry>,
    buckets: [Vec<(u64, u32)>; 65],
    last: u64,
}

impl Radix {
    fn bucket(&self, at: u64) -> usize {
        (64 - (at ^ self.last).leading_zeros()) as usize
    }
    fn first(&self) -> Option<usize> {
        self.buckets.iter().position(|bucket| !bucket.is_empty())
    }
}

impl Queue for Radix {
    const NAME: &str = "radix heap";
    fn new(count: usize) -> Self {
        Self {
            entries: vec![UNSET; count],
            buckets: [const { Vec::new() }; 65],
            last: 0,
        }
    }
    fn set(&mut self, timer: u32, at: Time, _now: Time) {
        let entry = &mut self.entries[timer as usize];
        entry.wanted = at.as_nanos();
        if entry.wanted < entry.queued {
            entry.queued = entry.wanted;
            let node = (entry.wanted, timer);
            let bucket = self.bucket(node.0);
            self.buckets[bucket].push(node);
        }
    }
    fn next(&self) -> Time {
        let first = self.first().map(|bucket| &self.buckets[bucket]);
        let least = first.and_then(|bucket| bucket.iter().map(|node| node.0).min());
        Time::from_nanos(least.unwrap_or(NEVER))
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        while self.next() <= now {
            let bucket = self.first()?;
            if bucket > 0 {
                self.last = self.next().as_nanos();
                for node in std::mem::take(&mut self.buckets[bucket]) {
                    let bucket = self.bucket(node.0);
                    self.buckets[bucket].push(node);
                }
                continue;
            }
            let (at, timer) = self.buckets[0].pop()?;
            let entry = &mut self.entries[timer as usize];
            if entry.queued != at {
                continue;
            }
            entry.queued = NEVER;
            if entry.wanted <= at {
                entry.wanted = NEVER;
                return Some(timer);
            }
            let wanted = Time::from_nanos(entry.wanted);
            self.set(timer, wanted, now);
        }
        None
    }
}

/// A tournament tree over all timers.
pub(super) struct Tournament {
    wanted: Vec<u64>,
    tree: Vec<(u64, u32)>,
    leaves: usize,
}

impl Tournament {
    fn put(&mut self, timer: u32, at: u64) {
        let mut node = self.leaves + timer as usize;
        self.tree[node] = (at, timer);
        while node > 1 {
            let winner = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            self.tree[node] = winner;
        }
    }
}

impl Queue for Tournament {
    const NAME: &str = "tournament";
    fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        Self {
            wanted: vec![NEVER; count],
            tree: vec![(NEVER, 0); 2 * leaves],
            leaves,
        }
    }
    fn set(&mut self, timer: u32, at: Time, _now: Time) {
        self.wanted[timer as usize] = at.as_nanos();
        if at.as_nanos() < self.tree[self.leaves + timer as usize].0 {
            self.put(timer, at.as_nanos());
        }
    }
    fn next(&self) -> Time {
        Time::from_nanos(self.tree[1].0)
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        while self.next() <= now {
            let (at, timer) = self.tree[1];
            let wanted = self.wanted[timer as usize];
            if wanted <= at {
                self.wanted[timer as usize] = NEVER;
                self.put(timer, NEVER);
                return Some(timer);
            }
            self.put(timer, wanted);
        }
        None
    }
}
