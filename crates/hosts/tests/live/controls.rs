//! Every control that quell loads as BPF: the kernel takes it, a socket can have it, and nothing stays.

use crate::common::can_load_bpf;
use quell_hosts::cc;
use quell_testing::Turn;
use rustix::net::sockopt::tcp_congestion;
use rustix::net::{AddressFamily, SocketType, socket};

#[test]
fn every_control_loads_and_leaves_nothing() {
    if !can_load_bpf("every_control_loads_and_leaves_nothing") {
        return;
    }
    let _turn = Turn::take();
    let names = cc::loadable();
    assert_eq!(
        names,
        ["bbr2", "bbr3", "compound", "dctcp", "htcp", "prague"]
    );
    for name in names {
        let control = cc::load(name).unwrap();
        let kernel_name = control.kernel_name().to_owned();
        assert!(cc::available().unwrap().contains(&kernel_name), "{name}");
        // A kernel may have its own.
        if control.is_bpf() {
            assert_eq!(cc::owner(&kernel_name), Some(std::process::id()));
        }
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        control.apply(&socket).unwrap();
        assert_eq!(tcp_congestion(&socket).unwrap(), kernel_name);
        drop(socket);
        let is_ours = control.is_bpf();
        assert!(control.unload());
        let stays = cc::available().unwrap().contains(&kernel_name);
        assert_eq!(stays, !is_ours, "{name}");
    }
}
