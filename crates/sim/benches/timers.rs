//! Which structure keeps the timers: the wheel of `src/timers.rs` against four others, under the
//! times that the simulator sets.
//!
//! * `cbr`: each timer rings and is set again 20 ms later, give or take a millisecond, as for
//!   datagrams.
//! * `paced`: as TCP with pacing: each rings and is set again about 1 ms later.
//! * `tcp`: as TCP without: timers are put off by 200 ms at each of 40 acknowledgements, and hardly
//!   ever ring. A structure must not pay for that.
//!
//! Each step is one ring and its setting (or one putting off). Nanoseconds a step, for 20 and for
//! 20 000 timers, on one core of a virtual machine with two:
//!
//! |              | cbr     | paced   | tcp         |
//! | ------------ | ------- | ------- | ----------- |
//! | wheel        | 24, 38  | 27, 38  | 2.6, 3.6    |
//! | binary heap  | 17, 53  | 18, 53  | 2.3, 2.4    |
//! | 4-ary heap   | 26, 99  | 26, 99  | 3.1, 3.1    |
//! | radix heap   | 81, 105 | 81, 101 | 13, 2 990   |
//! | tournament   | 27, 162 | 29, 162 | 2.0, 14.6   |
//!
//! The wheel is the fastest where timers are many and so cost something. The binary heap is ahead
//! with few, but keeps what was set to an earlier time and so grows with pacing, where the
//! time-out behind each paced departure is left in it again and again; the wheel never grows.

#[path = "../src/timers.rs"]
#[allow(dead_code)]
mod wheel;

#[path = "timers/others.rs"]
mod others;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use others::{Fourary, Heap, Radix, Tournament};
use quell_units::{Random, Time};

/// What a structure of timers can do.
trait Queue {
    const NAME: &str;
    fn new(count: usize) -> Self;
    fn set(&mut self, timer: u32, at: Time, now: Time);
    /// A time before which nothing rings.
    fn next(&self) -> Time;
    fn pop(&mut self, now: Time) -> Option<u32>;
}

impl Queue for wheel::Timers {
    const NAME: &str = "wheel";
    fn new(count: usize) -> Self {
        Self::new(count)
    }
    fn set(&mut self, timer: u32, at: Time, now: Time) {
        self.set(timer, at, now);
    }
    fn next(&self) -> Time {
        self.next()
    }
    fn pop(&mut self, now: Time) -> Option<u32> {
        self.pop(now)
    }
}

const STEPS: u64 = 100_000;

/// Rings `STEPS` times; each timer is set again after `mean` and up to `spread` more.
fn ring<Q: Queue>(count: u32, mean: u64, spread: u64) -> u64 {
    let mut queue = Q::new(count as usize);
    let mut random = Random::new(1, "timers");
    let mut after = |now: Time| now + Time::from_nanos(mean + random.below(spread));
    for timer in 0..count {
        queue.set(timer, after(Time::ZERO), Time::ZERO);
    }
    let mut rung = 0;
    let mut sum = 0;
    while rung < STEPS {
        let now = queue.next();
        while let Some(timer) = queue.pop(now) {
            rung += 1;
            sum ^= now.as_nanos();
            queue.set(timer, after(now), now);
        }
    }
    sum
}

/// Puts timers off, 40 times as often as they would ring.
fn put_off<Q: Queue>(count: u32) -> u64 {
    let mut queue = Q::new(count as usize);
    let span = Time::from_millis(200);
    let mut now = Time::ZERO;
    let mut rung = 0;
    for step in 0..STEPS {
        now += Time::from_nanos(5_000_000 / u64::from(count));
        while queue.next() <= now {
            let at = queue.next();
            while let Some(timer) = queue.pop(at) {
                rung += 1;
                queue.set(timer, at + span, at);
            }
        }
        queue.set((step % u64::from(count)) as u32, now + span, now);
    }
    rung
}

fn all<Q: Queue>(criterion: &mut Criterion) {
    for count in [20, 20_000] {
        let mut group = criterion.benchmark_group(format!("timers/{count}"));
        group
            .throughput(Throughput::Elements(STEPS))
            .sample_size(10);
        let id = |load| BenchmarkId::new(load, Q::NAME);
        group.bench_function(id("cbr"), |b| {
            b.iter(|| ring::<Q>(count, 19_000_000, 2_000_000))
        });
        group.bench_function(id("paced"), |b| {
            b.iter(|| ring::<Q>(count, 1_000_000, 400_000))
        });
        group.bench_function(id("tcp"), |b| b.iter(|| put_off::<Q>(count)));
        group.finish();
    }
}

fn timers(criterion: &mut Criterion) {
    all::<wheel::Timers>(criterion);
    all::<Heap>(criterion);
    all::<Fourary>(criterion);
    all::<Radix>(criterion);
    all::<Tournament>(criterion);
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(400));
    targets = timers
}
criterion_main!(benches);
