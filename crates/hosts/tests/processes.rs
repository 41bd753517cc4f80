//! What only whole processes can show: that a killed one leaves nothing, and that none needs root.
//!
//! Without the usual harness: a case starts this program again in a role, and that process is single-threaded, as entering a
//! user namespace demands.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "live/common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use common::{Cable, can_load_bpf, can_make_networks, connect, has_ecn, not_run};
use quell_hosts::broker::{Answer, Broker, Line};
use quell_hosts::child;
use quell_hosts::confine::capabilities;
use quell_hosts::namespace::Namespace;
use quell_hosts::netlink::{Netlink, VethEnd};
use quell_hosts::pid_namespace::{Keeping, Left, PidNamespace, Work};
use quell_hosts::probe::{self, Need};
use quell_hosts::topology::{GroupConfig, Topology, TopologyConfig};
use quell_hosts::user_namespace::{self, UserNamespaceError};
use quell_hosts::{Error, cc};
use quell_testing::Turn;
use quell_testing::cases::{Case, chosen, run_cases};

/// The cases, by name.
const CASES: &[Case<fn()>] = &[
    (
        "a_killed_process_leaves_no_interface_and_no_namespace",
        a_killed_process_leaves_no_interface_and_no_namespace,
    ),
    (
        "a_killed_process_leaves_no_congestion_control",
        a_killed_process_leaves_no_congestion_control,
    ),
    (
        "two_processes_load_the_same_control",
        two_processes_load_the_same_control,
    ),
    (
        "everything_but_bpf_works_without_root",
        everything_but_bpf_works_without_root,
    ),
    (
        "a_limit_of_no_user_namespaces_is_named",
        a_limit_of_no_user_namespaces_is_named,
    ),
    (
        "a_broker_does_one_task_after_the_other_and_goes_with_its_program",
        a_broker_does_one_task_after_the_other_and_goes_with_its_program,
    ),
    (
        "enclosed_programs_say_how_they_ended_and_go_with_all_that_they_started",
        enclosed_programs_say_how_they_ended_and_go_with_all_that_they_started,
    ),
    (
        "what_needs_a_single_thread_counts_the_threads_of_the_process",
        what_needs_a_single_thread_counts_the_threads_of_the_process,
    ),
];

/// What a process started by a case does.
const ROLES: &[(&str, fn())] = &[
    ("hold-topology", hold_topology),
    ("hold-control", hold_control),
    ("unprivileged", unprivileged),
    ("no-user-namespaces", no_user_namespaces),
];

const ROLE: &str = "QUELL_TEST_ROLE";
const WITNESS: &str = "QUELL_TEST_WITNESS";

fn main() -> ExitCode {
    if let Ok(role) = env::var(ROLE) {
        ROLES.iter().find(|(name, _)| *name == role).unwrap().1();
        return ExitCode::SUCCESS;
    }
    let Some(chosen) = chosen(CASES) else {
        return ExitCode::SUCCESS;
    };
    run_cases(&chosen, |case| {
        let _turn = Turn::take();
        case();
    })
}

/// This program again, in a role. By /proc/self/exe, which another user may run without a way through our folders.
fn in_role(role: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .env(ROLE, role)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Starts a role that says one line when it is ready and then waits to be killed; returns the line.
fn start(command: &mut Command) -> (Child, String) {
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(!line.is_empty(), "the child died: {:?}", child.wait());
    (child, line.trim().to_owned())
}

fn kill_minus_nine(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn ready_until_killed(line: &str) -> ! {
    println!("{line}");
    loop {
        thread::park();
    }
}

/// Asks again until it is so: the kernel takes namespaces down in the background.
fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "not within 10 s: {what}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn interfaces_of(namespace: &Namespace) -> BTreeSet<String> {
    let names = || fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let table = namespace.run(names).unwrap();
    table
        .lines()
        .skip(2)
        .map(|line| line.split(':').next().unwrap().trim().to_owned())
        .collect()
}

/// The witness is a namespace of ours, to which the child joins each of its three by a wire: when the far end of a wire goes,
/// so does the near one.
fn a_killed_process_leaves_no_interface_and_no_namespace() {
    if !can_make_networks("a_killed_process_leaves_no_interface_and_no_namespace") {
        return;
    }
    let (here, witness) = (
        interfaces_of(&Namespace::current().unwrap()),
        Namespace::new().unwrap(),
    );
    let path = format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        witness.as_fd().as_raw_fd()
    );
    let (child, _) = start(in_role("hold-topology").env(WITNESS, path));
    let wires = ["lo", "wire0", "wire1", "wire2"].map(str::to_owned).into();
    assert_eq!(
        interfaces_of(&witness),
        wires,
        "the child holds its namespaces"
    );
    assert_eq!(
        interfaces_of(&Namespace::current().unwrap()),
        here,
        "and touched none of ours"
    );
    kill_minus_nine(child);
    soon("the wires are gone", || {
        interfaces_of(&witness) == ["lo".to_owned()].into()
    });
    assert_eq!(interfaces_of(&Namespace::current().unwrap()), here);
}

fn hold_topology() {
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let witness = fs::File::open(env::var(WITNESS).unwrap()).unwrap();
    for (number, namespace) in [&topology.sender, &topology.link, &topology.receiver]
        .into_iter()
        .enumerate()
    {
        let name = format!("wire{number}");
        let end = |name, last| VethEnd {
            name,
            mac: [2, 0, 0, 0, number as u8, last],
            mtu: 1500,
        };
        let join = || {
            Netlink::open()
                .unwrap()
                .add_veth(&end("witness", 1), &end(&name, 2), &witness)
        };
        namespace.run(join).unwrap().unwrap();
    }
    drop(witness);
    ready_until_killed("ready");
}

fn a_killed_process_leaves_no_congestion_control() {
    if !can_load_bpf("a_killed_process_leaves_no_congestion_control") {
        return;
    }
    let (child, name) = start(&mut in_role("hold-control"));
    assert_eq!(cc::owner(&name), Some(child.id()));
    assert!(cc::available().unwrap().contains(&name));
    kill_minus_nine(child);
    soon("the control is gone", || {
        !cc::available().unwrap().contains(&name)
    });
}

/// Holds a control in use: a connection through a topology runs it.
fn hold_control() {
    let control = cc::load("dctcp").unwrap();
    let topology = Topology::new(&TopologyConfig::default()).unwrap();
    let _cable = Cable::plain(&topology);
    let receiver = topology.groups[0].receiver;
    let connection = connect(&topology.sender, &topology.receiver, receiver, |socket| {
        control.apply(socket).unwrap()
    });
    assert!(has_ecn(&connection.client));
    ready_until_killed(control.kernel_name());
}

fn two_processes_load_the_same_control() {
    if !can_load_bpf("two_processes_load_the_same_control") {
        return;
    }
    let (first, first_name) = start(&mut in_role("hold-control"));
    let (second, second_name) = start(&mut in_role("hold-control"));
    assert_ne!(first_name, second_name);
    kill_minus_nine(first);
    soon("the first is gone", || {
        !cc::available().unwrap().contains(&first_name)
    });
    assert!(
        cc::available().unwrap().contains(&second_name),
        "the second keeps its own"
    );
    kill_minus_nine(second);
    soon("the second is gone", || {
        !cc::available().unwrap().contains(&second_name)
    });
}

/// Runs a role to its end, as nobody when we are root.
fn run_without_root(role: &str) {
    const NOBODY: u32 = 65534;
    let mut command = in_role(role);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success(), "role {role}: {said}");
}

fn user_namespaces_are_allowed(test: &str) -> bool {
    let allowed = user_namespace::check();
    if let Err(error) = &allowed {
        not_run(test, &error.to_string());
    }
    allowed.is_ok()
}

fn everything_but_bpf_works_without_root() {
    if user_namespaces_are_allowed("everything_but_bpf_works_without_root") {
        run_without_root("unprivileged");
    }
}

fn unprivileged() {
    assert!(!rustix::process::geteuid().is_root());
    assert!(capabilities::effective().unwrap().is_empty());
    assert_eq!(
        Namespace::new().unwrap_err().kind(),
        io::ErrorKind::PermissionDenied
    );
    let before = probe::probe(&["cubic", "dctcp"]);
    let finding = |need: Need| before.iter().find(|finding| finding.need == need).unwrap();
    assert!(finding(Need::UserNamespaces).ok);
    let networks = finding(Need::NetworkNamespaces);
    assert!(!networks.ok && networks.fix.is_some(), "{networks:?}");
    let dctcp = Need::CongestionControl("dctcp".to_owned());
    assert!(
        !finding(Need::BpfRights).ok && !finding(dctcp).ok,
        "{before:#?}"
    );

    user_namespace::enter().unwrap();
    let groups = vec![
        GroupConfig::default(),
        GroupConfig {
            ecn: [true; 2],
            ..GroupConfig::default()
        },
    ];
    let topology = Topology::new(&TopologyConfig {
        groups,
        ipv6: true,
        ..TopologyConfig::default()
    })
    .unwrap();
    let cable = Cable::plain(&topology);
    for (group, wanted) in topology.groups.iter().zip([false, true]) {
        let cubic = cc::load("cubic").unwrap();
        let connection = connect(
            &topology.sender,
            &topology.receiver,
            group.receiver,
            |socket| cubic.apply(socket).unwrap(),
        );
        assert_eq!(has_ecn(&connection.client), wanted);
        assert_eq!(connection.transfer(1 << 20), 1 << 20);
        assert_eq!(
            connect(
                &topology.receiver,
                &topology.sender,
                group.sender_v6,
                |_| ()
            )
            .transfer(1 << 20),
            1 << 20
        );
    }
    // A control reserved to administrators is ours to use on our own network, when the kernel has it.
    if cc::available().unwrap().iter().any(|name| name == "bbr") {
        let bbr = cc::load("bbr").unwrap();
        connect(
            &topology.sender,
            &topology.receiver,
            topology.groups[0].receiver,
            |socket| bbr.apply(socket).unwrap(),
        );
    }
    let after = probe::probe(&["cubic"]);
    for need in [
        Need::NetworkNamespaces,
        Need::Veth,
        Need::PacketSockets,
        Need::CongestionControl("cubic".to_owned()),
    ] {
        assert!(
            after
                .iter()
                .any(|finding| finding.need == need && finding.ok),
            "{after:#?}"
        );
    }
    // The cable's thread was started before and keeps its rights; this one gives them up.
    assert_eq!(capabilities::drop_to_network().unwrap(), capabilities::KEPT);
    assert!(topology.link.enter().is_err());
    drop(cable);
}

fn a_limit_of_no_user_namespaces_is_named() {
    if user_namespaces_are_allowed("a_limit_of_no_user_namespaces_is_named") {
        run_without_root("no-user-namespaces");
    }
}

/// The limit of a user namespace may be set to 0 from inside it, and is then met by the next one.
fn no_user_namespaces() {
    user_namespace::enter().unwrap();
    fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    for refused in [user_namespace::check(), user_namespace::enter()] {
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, UserNamespaceError::Limit { limit } if limit == "0"),
            "{error}"
        );
        assert!(error.fix().unwrap().contains("user.max_user_namespaces"));
    }
}

fn what_needs_a_single_thread_counts_the_threads_of_the_process() {
    let is_counted = |refused: &quell_hosts::confine::Error| matches!(refused, quell_hosts::confine::Error::Threads(several) if several.count == 2);
    child::fork(|| 0).unwrap().wait().unwrap();
    thread::scope(|scope| {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || ended.recv());
        for refused in [
            child::fork(|| 0).map(drop).unwrap_err(),
            Broker::start(|| Ok(()), |_, _| 0).map(drop).unwrap_err(),
        ] {
            assert!(
                matches!(&refused, Error::Rights(why) if is_counted(why)),
                "{refused}"
            );
        }
        let refused = user_namespace::enter().unwrap_err();
        assert!(
            matches!(&refused, UserNamespaceError::Threads(why) if is_counted(why)),
            "{refused}"
        );
        drop(end);
    });
    // Threads that have ended are not in the way, although the kernel may not have removed them yet.
    for _ in 0..200 {
        thread::spawn(|| ()).join().unwrap();
        child::fork(|| 0).unwrap().wait().unwrap();
    }
}

fn a_broker_does_one_task_after_the_other_and_goes_with_its_program() {
    let work = |task: &[u8], line: Line<'_>| {
        line.say(task).unwrap();
        while !line.is_called() {
            thread::sleep(Duration::from_millis(5));
        }
        task.len() as u8
    };
    let mut broker = Broker::start(|| Ok(()), work).unwrap();
    let id = broker.id().as_raw_nonzero().get();
    let patience = Duration::from_secs(10);
    for (task, code) in [(&b"one"[..], 3), (b"three", 5)] {
        broker.begin(task).unwrap();
        let said = broker.next(patience).unwrap();
        assert_eq!(said, Some(Answer::Said(task.to_vec())));
        assert_eq!(broker.next(Duration::from_millis(50)).unwrap(), None);
        broker.ask(b"stop").unwrap();
        assert_eq!(broker.next(patience).unwrap(), Some(Answer::Ended(code)));
        // A request that comes too late is for nobody, and no task.
        broker.ask(b"stop").unwrap();
    }
    // A worker that does not hear ends all the same.
    broker.begin(b"for ever").unwrap();
    assert!(broker.next(patience).unwrap().is_some());
    drop(broker);
    assert!(!fs::exists(format!("/proc/{id}")).unwrap());
}

fn enclosed_programs_say_how_they_ended_and_go_with_all_that_they_started() {
    let name = "enclosed_programs_say_how_they_ended_and_go_with_all_that_they_started";
    if !can_make_networks(name) {
        return;
    }
    let network = Namespace::new().unwrap();
    let shell = |script: String| Work {
        prepare: Box::new(|| network.enter()),
        command: Box::new(move || {
            let mut command = Command::new("sh");
            command.args(["-c", &script]).process_group(0);
            Ok(command)
        }),
    };
    // Nobody else sleeps for so long.
    let word = format!("4321{}", std::process::id());
    let works = vec![
        shell("exit 7".to_owned()),
        shell("kill -9 $$".to_owned()),
        shell(format!("sleep {word} & setsid sleep {word} & sleep {word}")),
        Work {
            prepare: Box::new(|| network.enter()),
            command: Box::new(|| Ok(Command::new("/no-such-program"))),
        },
    ];
    let keeping = Keeping {
        left: Left::GroupKilled,
        rights: capabilities::CapabilitySet::empty(),
    };
    let (pid_namespace, waiting) = PidNamespace::fork(works, keeping).unwrap();
    let until = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    let mut started: Vec<_> = waiting.into_iter().map(|one| one.start()).collect();
    let refused = started.pop().unwrap().unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
    let started: Vec<_> = started.into_iter().map(io::Result::unwrap).collect();
    for (one, raw) in started.iter().zip([7 << 8, 9]) {
        let mut status = None;
        until("it has ended", &mut || {
            status = one.ended().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().into_raw(), raw);
    }
    let sleeping = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let line = format!("sleep\0{word}\0");
        lines.filter(|other| other == line.as_bytes()).count()
    };
    until("all three sleep", &mut || sleeping() == 3);
    // It is named as this process numbers it, and leads its group.
    let id = started[2].id();
    assert_eq!(rustix::process::getpgid(Some(id)).unwrap(), id);
    assert_eq!(started[2].ended().unwrap(), None);
    drop(pid_namespace);
    assert_eq!(sleeping(), 0);
}
