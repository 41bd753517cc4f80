//! quell where a container engine has put it: masked and read-only parts of `/proc`, the engine's capabilities, its filter of system calls.
//!
//! The lists are those of the engines' defaults: masked and read-only paths of moby's `oci/defaults.go`, capabilities of `oci/caps/defaults.go`,
//! refused calls as Docker's page on seccomp profiles names them. Another process makes the container, as process 1 of its own ids, and becomes
//! quell.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use quell_hosts::confine::capabilities::{CapabilitySet, hand_on_only};
use quell_hosts::confine::user::{NOBODY, become_user};
use quell_testing::not_run;
use quell_testing::program::{copy_program, text};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::Case;
use crate::clients::{ROLE, WORDS};
use crate::fixture::{Fake, QUELL, SERVER, WHO};

pub(crate) const CASES: &[Case] = &[
    (
        "a_program_runs_behind_a_link_in_containers_as_the_guide_starts_them",
        a_program_runs_behind_a_link_in_containers_as_the_guide_starts_them,
    ),
    (
        "the_live_world_runs_in_containers_as_the_guide_starts_them",
        the_live_world_runs_in_containers_as_the_guide_starts_them,
    ),
    (
        "where_a_container_allows_no_network_the_first_line_names_the_virtual_world",
        where_a_container_allows_no_network_the_first_line_names_the_virtual_world,
    ),
];

/// What the program in the container is to be, in a role.
const INNER_ROLE: &str = "QUELL_TEST_INNER_ROLE";
const INNER_WORDS: &str = "QUELL_TEST_INNER_WORDS";

const READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];
const MASKED_FILES: [&str; 5] = [
    "kcore",
    "keys",
    "timer_list",
    "sched_debug",
    "latency_stats",
];
const MASKED_FOLDERS: [&str; 3] = ["/proc/acpi", "/proc/scsi", "/sys/firmware"];

/// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of include/uapi/linux/sched.h.
const NEW_NAMESPACES: u64 = 0x7e02_0000;

/// How a container is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As root, with nothing asked for.
    Root,
    /// As an ordinary user, with nothing asked for.
    User,
    /// As root, with `--cap-add SYS_ADMIN,NET_ADMIN,NET_RAW`.
    RootOfNetworks,
    /// As an ordinary user, with `--security-opt seccomp=unconfined`.
    UserUnfiltered,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::Root,
        Self::User,
        Self::RootOfNetworks,
        Self::UserUnfiltered,
    ];

    fn capabilities(self) -> CapabilitySet {
        let usual = CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::FSETID
            | CapabilitySet::FOWNER
            | CapabilitySet::MKNOD
            | CapabilitySet::NET_RAW
            | CapabilitySet::SETGID
            | CapabilitySet::SETUID
            | CapabilitySet::SETFCAP
            | CapabilitySet::SETPCAP
            | CapabilitySet::NET_BIND_SERVICE
            | CapabilitySet::SYS_CHROOT
            | CapabilitySet::KILL
            | CapabilitySet::AUDIT_WRITE;
        match self {
            Self::Root => usual,
            Self::RootOfNetworks => usual | CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN,
            Self::User | Self::UserUnfiltered => CapabilitySet::empty(),
        }
    }

    fn is_root(self) -> bool {
        matches!(self, Self::Root | Self::RootOfNetworks)
    }
}

/// In the process that becomes quell: makes the container.
pub(crate) fn enter(number: usize, words: &[&str]) {
    let kind = Kind::ALL[number];
    mask().unwrap();
    if kind != Kind::UserUnfiltered {
        filter(kind == Kind::RootOfNetworks);
    }
    if !kind.is_root() {
        become_user(NOBODY, NOBODY, false).unwrap();
    }
    hand_on_only(kind.capabilities()).unwrap();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_remove(ROLE).env_remove(WORDS);
    for (from, to) in [(INNER_ROLE, ROLE), (INNER_WORDS, WORDS)] {
        if let Ok(value) = env::var(from) {
            command.env(to, value);
        }
    }
    panic!("{}", command.exec());
}

fn mask() -> std::io::Result<()> {
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )?;
    mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
    let closed = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // As an engine does: what this kernel does not have needs no cover.
    let paths = READ_ONLY.map(|name| format!("/proc/{name}"));
    for path in paths.iter().filter(|path| Path::new(path).exists()) {
        mount_bind(path, path)?;
        mount_remount(path, MountFlags::BIND | closed, "")?;
    }
    for name in MASKED_FILES {
        let path = format!("/proc/{name}");
        if Path::new(&path).exists() {
            mount_bind("/dev/null", &path)?;
        }
    }
    for path in MASKED_FOLDERS {
        if Path::new(path).is_dir() {
            mount("tmpfs", path, "tmpfs", closed, None)?;
        }
    }
    Ok(mount_remount("/sys", MountFlags::BIND | closed, "")?)
}

/// Refuses what an engine's filter refuses; less, where the container has CAP_SYS_ADMIN.
fn filter(may_administer: bool) {
    let always = [
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_request_key,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_userfaultfd,
        libc::SYS_swapon,
        libc::SYS_reboot,
    ];
    let administer = [
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_sethostname,
    ];
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        always.into_iter().map(|call| (call, Vec::new())).collect();
    let condition = |argument, length, how, value| {
        SeccompRule::new(vec![
            SeccompCondition::new(argument, length, how, value).unwrap(),
        ])
        .unwrap()
    };
    // Only personalities that change nothing: without ADDR_NO_RANDOMIZE.
    let other = SeccompCmpOp::MaskedEq(0x0004_0000);
    refused.insert(
        libc::SYS_personality,
        vec![condition(0, SeccompCmpArgLen::Dword, other, 0x0004_0000)],
    );
    if !may_administer {
        refused.extend(administer.into_iter().map(|call| (call, Vec::new())));
        let bits = (0..32)
            .map(|bit| 1 << bit)
            .filter(|bit| NEW_NAMESPACES & bit != 0);
        let each =
            bits.map(|bit| condition(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit));
        refused.insert(libc::SYS_clone, each.collect());
        // The C library then makes threads by clone(2), whose flags a filter can see.
        apply(
            BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
            libc::ENOSYS,
        );
    }
    apply(refused, libc::EPERM);
}

fn apply(refused: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) {
    let arch = env::consts::ARCH.try_into().unwrap();
    let action = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, action, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).unwrap();
}

/// A folder that everybody may read, with quell and this program; none, and `test` named as not run, where no container can be made.
struct Image {
    folder: tempfile::TempDir,
}

impl Image {
    fn new(test: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            not_run(test, "only root can make what an engine makes");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let own = env::current_exe().unwrap();
        for (from, name) in [(Path::new(QUELL), "quell"), (&own, "role")] {
            let to = folder.path().join(name);
            if fs::hard_link(from, &to).is_err() {
                copy_program(from, &to);
            }
        }
        Some(Self { folder })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// What quell does in a container of this kind, with a role for the program behind the link.
    fn run(&self, fake: &Fake, kind: Kind, words: &str, role: (&str, &str)) -> Output {
        let number = Kind::ALL.iter().position(|one| *one == kind).unwrap();
        let mut command = Command::new("unshare");
        command
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--uts",
                "--ipc",
                "--kill-child",
            ])
            .arg(self.path("role"))
            .current_dir(self.folder.path())
            .env(ROLE, "container")
            .env(WORDS, format!("{number} {} {words}", self.path("quell")))
            .env(INNER_ROLE, role.0)
            .env(INNER_WORDS, role.1)
            .env("TMPDIR", self.folder.path())
            .env_remove("QUELL_DEPTH")
            .stdin(Stdio::null());
        fake.output(&mut command)
    }

    /// The same, which must succeed; what it printed, and its errors.
    fn succeed(&self, fake: &Fake, kind: Kind, words: &str, role: (&str, &str)) -> [String; 2] {
        let output = self.run(fake, kind, words, role);
        let [said, errors] = [text(&output.stdout), text(&output.stderr)];
        assert!(output.status.success(), "{kind:?} {words}: {errors}{said}");
        [said, errors]
    }
}

/// As the guide starts containers for real networks.
const ALLOWED: [Kind; 2] = [Kind::RootOfNetworks, Kind::UserUnfiltered];

fn a_program_runs_behind_a_link_in_containers_as_the_guide_starts_them(fake: &Fake) {
    let Some(image) = Image::new("exec in containers") else {
        return;
    };
    let role = image.path("role");
    for kind in ALLOWED {
        let link = "exec --rate 20mbit --rtt 10ms";
        let asked = format!("{SERVER}:{WHO}");
        let words = format!("{link} -- {role}");
        let [said, errors] = image.succeed(fake, kind, &words, ("connect", &asked));
        assert_eq!(said.trim(), asked, "{kind:?}: {errors}");
        // Root has a /proc of its own for its settings; nobody else gets one.
        let is_short_of = errors.contains("/proc/sys cannot be written");
        assert_eq!(
            is_short_of,
            kind == Kind::UserUnfiltered,
            "{kind:?}: {errors}"
        );
        // Answers that come from a port below 1024.
        let [said, _] = image.succeed(fake, kind, &words, ("names", "some.test"));
        assert!(said.contains(SERVER), "{kind:?}: {said}");
        let words = format!("{link} --ipv4-only --ecn on -- {role}");
        let [said, _] = image.succeed(fake, kind, &words, ("connect", &asked));
        assert_eq!(said.trim(), asked, "{kind:?}");
        let words = format!("{link} --net none --far-cc reno -- {role}");
        image.succeed(fake, kind, &words, ("sleep", "0"));
        let [said, _] = image.succeed(fake, kind, "doctor", ("", ""));
        for works in [
            "hosts of the live world",
            "relay of quell exec",
            "veth",
            "packet sockets",
        ] {
            let ok = said
                .lines()
                .any(|line| line.starts_with("ok") && line.ends_with(works));
            assert!(ok, "{kind:?}: {works}: {said}");
        }
    }
}

const SCENARIO: &str = "schema = 1\nname = \"a\"\n[link]\nrate = \"10mbit\"\nqueue = \"fifo\"\n[[group]]\nname = \"a\"\nrtt = \"10ms\"\n\
     app = { kind = \"bulk\" }\n[run]\nduration = \"1s\"\n";

fn the_live_world_runs_in_containers_as_the_guide_starts_them(fake: &Fake) {
    let Some(image) = Image::new("the live world in containers") else {
        return;
    };
    fs::write(image.path("a.toml"), SCENARIO).unwrap();
    for kind in ALLOWED {
        let words = format!("run a.toml --world live --out {kind:?}");
        let [said, errors] = image.succeed(fake, kind, &words, ("", ""));
        assert!(said.contains("Mbit/s"), "{kind:?}: {said}{errors}");
    }
}

fn where_a_container_allows_no_network_the_first_line_names_the_virtual_world(fake: &Fake) {
    let Some(image) = Image::new("containers without networks") else {
        return;
    };
    fs::write(image.path("a.toml"), SCENARIO).unwrap();
    for kind in [Kind::Root, Kind::User] {
        for words in [
            "exec --rate 10mbit -- true",
            "run a.toml --world live --out refused",
        ] {
            let output = image.run(fake, kind, words, ("", ""));
            let errors = text(&output.stderr);
            let first = errors.lines().next().unwrap_or_default();
            assert!(!output.status.success(), "{kind:?} {words}");
            assert!(
                first.contains("--world virtual"),
                "{kind:?} {words}: {errors}"
            );
        }
        let doctor = image.run(fake, kind, "doctor", ("", ""));
        // Its lines are broken between words.
        let said = text(&doctor.stdout);
        let words: Vec<&str> = said.split_whitespace().collect();
        let names_it = words.windows(2).any(|two| two == ["--world", "virtual"]);
        assert!(names_it, "{kind:?}: {said}");
    }
}
