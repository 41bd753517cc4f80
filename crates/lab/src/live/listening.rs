//! Whether a program listens yet: what /proc tells of its sockets.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::Pid;

/// A TCP socket that listens, and a UDP socket without a peer, as /proc/net numbers them (`include/net/tcp_states.h`).
const TABLES: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];

/// Whether a process of the group has a socket that waits for others, in the network namespace of the calling thread.
pub(super) fn listens(group: Pid) -> bool {
    let waiting: BTreeSet<String> = TABLES
        .iter()
        .flat_map(|(table, state)| {
            let table = fs::read_to_string(format!("/proc/thread-self/net/{table}"));
            waiting(&table.unwrap_or_default(), state)
        })
        .collect();
    !waiting.is_empty() && sockets_of(group).any(|socket| waiting.contains(&socket))
}

/// The inodes of the sockets of a table that are in `state`.
fn waiting(table: &str, state: &str) -> Vec<String> {
    let inode = |line: &str| {
        let mut fields = line.split_whitespace().skip(3);
        (fields.next() == Some(state)).then(|| fields.nth(5).map(str::to_owned))?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// The inodes of the sockets of all processes of a group.
fn sockets_of(group: Pid) -> impl Iterator<Item = String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let members = processes.filter(move |entry| {
        let stat = fs::read_to_string(entry.path().join("stat"));
        stat.is_ok_and(|stat| group_of(&stat) == Some(group.as_raw_nonzero().get()))
    });
    let files =
        members.flat_map(|entry| fs::read_dir(entry.path().join("fd")).into_iter().flatten());
    files.flatten().filter_map(|file| {
        let target = fs::read_link(file.path()).ok()?;
        let inode = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        Some(inode.to_owned())
    })
}

/// The process group in the text of /proc/PID/stat. The name before it may hold anything.
fn group_of(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn a_socket_that_waits_is_found_by_its_process_group() {
        let group = rustix::process::getpgrp();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(listens(group));
        drop(listener);
        let _socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(listens(group));
        // Its number is that of no group.
        assert!(!listens(Pid::from_raw(i32::MAX).unwrap()));
    }

    #[test]
    fn the_tables_of_the_kernel_are_read_as_it_writes_them() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0\n   \
            1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12346 1 0 20 4 30 10 -1\n";
        assert_eq!(waiting(table, "0A"), ["12345"]);
        assert_eq!(group_of("7 (a) b) S 1 42 42 0 -1"), Some(42));
        assert_eq!(group_of("7"), None);
    }
}
