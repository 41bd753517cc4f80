//! A connection in the memory of an earlier one.

use quell_tcp::{Connection, ReceiverConfig, Segment, SenderConfig};
use quell_units::Time;

use super::Subject;

/// The segments of both ends in a transfer of 100 segments over a path of 10 ms that loses each
/// seventeenth packet for a while.
fn transfer(client: &mut Connection, server: &mut Connection) -> Vec<(Time, Segment)> {
    let mut log = Vec::new();
    let mut now = Time::from_secs(1);
    let mut flying: Vec<(Time, bool, Segment)> = Vec::new();
    client.open(now);
    // A request: an end that has written nothing gives the connection up when it closes.
    client.write(100);
    server.write(100 * 1_448);
    server.close();
    client.close();
    loop {
        for (is_client, end) in [(true, &mut *client), (false, &mut *server)] {
            while let Some(segment) = end.poll(now) {
                log.push((now, segment));
                if log.len() % 17 != 0 || log.len() > 200 {
                    flying.push((now + Time::from_millis(5), is_client, segment));
                }
            }
        }
        let timers = [client.next_timer(), server.next_timer()];
        let arrival = flying.first().map(|(at, ..)| *at);
        let Some(next) = timers.into_iter().flatten().chain(arrival).min() else {
            break;
        };
        now = next;
        if arrival == Some(now) {
            let (_, is_client, segment) = flying.remove(0);
            if is_client {
                server.on_segment(&segment, now);
            } else {
                client.on_segment(&segment, now);
            }
        } else {
            client.on_timer(now);
            server.on_timer(now);
        }
    }
    assert!(client.is_over() && server.is_over());
    assert_eq!(client.delivered(), 100 * 1_448);
    log
}

/// A connection that is renewed behaves as a new one and allocates less.
pub fn a_renewed_end_behaves_as_a_new_one(subject: &Subject) {
    let name = subject.kind.name;
    let control = subject.config(&[]).expect("the defaults of a control");
    let sender = SenderConfig::new(control);
    let receiver = ReceiverConfig::new(sender.ecn);
    let new = || Connection::new(&sender, &receiver);
    let (mut client, mut server) = (new(), new());
    let mut first = Vec::new();
    let fresh = allocation_counter::measure(|| first = transfer(&mut client, &mut server));
    client.renew(&sender, &receiver);
    server.renew(&sender, &receiver);
    let mut again = Vec::new();
    let renewed = allocation_counter::measure(|| again = transfer(&mut client, &mut server));
    assert!(first == again, "{name}");
    assert!(first.len() > 120, "{name}");
    assert!(
        renewed.count_total < fresh.count_total,
        "{name}: {renewed:?} {fresh:?}"
    );
}
