//! Delays of groups, and the random times of hosts.

use super::*;
use crate::packet::Label;
use crate::sources::HORIZON;
use quell_measure::{Direction, FlowId};
use quell_units::{Bytes, Ecn};

fn one_link(delays: &[Time], jitter: &Jitter, source: usize) -> (Wires, Vec<Vec<Way>>) {
    let groups: Vec<_> = delays.iter().map(|delay| (*delay, Hops::all(1))).collect();
    let impairers = vec![Impairer::new(None, 0, "none"); 2];
    Wires::new(&[Time::ZERO], &groups, jitter, impairers, source).unwrap()
}

#[test]
fn each_group_waits_for_its_own_delay_and_the_smaller_one_goes_first() {
    let ms = Time::from_millis;
    let delays = [ms(10), ms(2), ms(10)];
    let (mut wires, ways) = one_link(&delays, &Jitter::default(), 1);
    let mut sources = Sources::new(5);
    for (group, end) in [(0, 0), (1, 1), (2, 2), (1, 8)] {
        let label = Label {
            flow: FlowId(u32::from(group)),
            group,
            direction: Direction::Forward,
            connection: 0,
        };
        let packet = Packet::datagram(label, 0, ms(end), Bytes::new(100), Ecn::NotEct);
        let departure = Departure {
            start: ms(end),
            end: ms(end),
            link_bytes: Bytes::new(100),
        };
        wires.push(packet, ways[0][usize::from(group)], departure, &mut sources);
    }
    assert_eq!((wires.lanes(), wires.len(0)), ((4, 0), 4));
    let mut released = Vec::new();
    while sources.first().0 < HORIZON {
        let (at, source) = sources.first();
        let packet = wires.pop(source, at, &mut sources).unwrap();
        assert_eq!(packet.release(), at);
        released.push((at, packet.flow_id().0));
    }
    assert_eq!(
        released,
        [(ms(3), 1), (ms(10), 1), (ms(10), 0), (ms(12), 2)]
    );
}

#[test]
fn a_host_takes_its_random_time_and_keeps_the_order_of_a_wire() {
    let ms = Time::from_millis;
    let jitter = Jitter {
        spans: [vec![Time::ZERO, ms(4)], Vec::new()],
        seed: 7,
    };
    let (mut wires, ways) = one_link(&[ms(10); 2], &jitter, 0);
    let mut sources = Sources::new(3);
    assert_eq!(wires.lanes(), (3, 0));
    let mut sum = 0;
    let mut last = Time::ZERO;
    for n in 0..10_000 {
        for (group, later) in [(0, Time::ZERO), (1, ms(4))] {
            let label = Label {
                flow: FlowId(0),
                group,
                direction: Direction::Forward,
                connection: 0,
            };
            let packet = Packet::datagram(label, n, ms(n), Bytes::new(100), Ecn::NotEct);
            // Every fifth comes right behind the one before.
            let end = ms(10 * n) - ms(9) * u64::from(n % 5 == 4);
            let departure = Departure {
                start: end,
                end,
                link_bytes: Bytes::new(100),
            };
            wires.push(packet, ways[0][usize::from(group)], departure, &mut sources);
            let release = wires
                .pop(usize::from(group), end, &mut sources)
                .unwrap()
                .release();
            let (earliest, latest) = (end + ms(10), end + ms(10) + later);
            assert!((earliest..=latest).contains(&release));
            if group == 1 {
                assert!(release >= last, "in order");
                last = release;
                sum += (release - earliest).as_nanos();
            }
        }
    }
    // Half of the span on average; a little more, because none overtakes another.
    let mean = sum / 10_000;
    assert!((1_950_000..2_250_000).contains(&mean), "{mean}");
}
