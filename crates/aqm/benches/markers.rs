//! Cost of one packet through each marker: the flow's place, the estimate of its rate, the value. The bound is that of the design.
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code, reason = "disciplines have a benchmark of their own")]
mod common;

use std::hint::black_box;

use common::marking::{BOUND, MARKINGS, Marking};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn markers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("marker");
    group.throughput(Throughput::Elements(1));
    for (name, ..) in MARKINGS {
        let mut marking = Marking::of(name);
        group.bench_function(format!("{name} (bound {BOUND} ns)"), |bencher| {
            bencher.iter(|| black_box(marking.step()));
        });
    }
    group.finish();
}

criterion_group!(benches, markers);
criterion_main!(benches);
