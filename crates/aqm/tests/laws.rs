//! The laws of every queue discipline, as `quell-laws` has them, and what framing changes.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{Ledger, TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::{Bottleneck, Bytes, DropReason, Ecn, Rate, Time};
use quell_laws::queue::{self, Subject};

#[test]
fn every_discipline_keeps_the_laws() {
    for subject in Subject::all() {
        queue::keeps_the_laws_whatever_happens(&subject, 48);
    }
}

#[test]
fn a_clock_that_jumps_for_hours_loses_nothing() {
    let all: Vec<Subject> = Subject::all().collect();
    // Most of the time goes into a few kinds whose control runs each millisecond.
    let (next, all) = (AtomicUsize::new(0), &all);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(subject) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    queue::loses_nothing_when_the_clock_jumps(subject);
                }
            });
        }
    });
}

#[test]
fn no_discipline_allocates_after_the_first_fill() {
    for subject in Subject::all() {
        queue::allocates_nothing_after_the_first_fill(&subject);
    }
}

#[test]
fn framing_changes_when_packets_leave_and_nothing_else() {
    let depart = |overhead| {
        let qdisc = discipline("fifo", &[("limit", "2p")], Rate::from_mbps(8)).unwrap();
        let framing = Framing {
            overhead,
            mpu: Bytes::ZERO,
        };
        let mut link = Bottleneck::new(qdisc, Rate::from_mbps(8), framing, Ledger::default());
        let mut ends = Vec::new();
        for id in 0..4 {
            link.arrive(
                TestPacket::new(id, 0, 1_000, Ecn::NotEct),
                Time::ZERO,
                &mut |_, d| ends.push(d.end),
            );
        }
        link.advance(Time::from_secs(1), &mut |_, d| ends.push(d.end));
        assert_eq!(link.observer().drops(DropReason::Limit), 1);
        ends
    };
    assert_eq!(depart(0), [1, 2, 3].map(Time::from_millis));
    assert_eq!(depart(14), [1_014, 2_028, 3_042].map(Time::from_micros));
}

#[test]
fn a_refused_change_changes_nothing_and_names_the_parameter_that_was_to_change() {
    for subject in Subject::all() {
        queue::refusals_change_nothing(&subject);
    }
}

#[test]
fn a_rate_makes_no_parameter_unchangeable() {
    for subject in Subject::all() {
        queue::rates_make_no_parameter_unchangeable(&subject);
    }
}

#[test]
fn no_rate_of_the_link_shuts_a_queue() {
    for subject in Subject::all() {
        queue::no_rate_shuts_the_queue(&subject);
    }
}
