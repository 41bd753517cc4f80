//! Names behind the link: answers that need TCP, and resolv.conf where it is a link to a file elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use quell_exec::resolver::RESOLV_CONF;
use quell_hosts::namespace;
use quell_testing::program::text;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_bind_recursive, mount_change};

use crate::Case;
use crate::fixture::{Fake, LONG_NAME, SERVER};

pub(crate) const CASES: &[Case] = &[
    (
        "an_answer_that_is_cut_short_is_asked_for_again_by_tcp",
        an_answer_that_is_cut_short_is_asked_for_again_by_tcp,
    ),
    (
        "resolv_conf_is_replaced_where_it_is_a_link",
        resolv_conf_is_replaced_where_it_is_a_link,
    ),
];

fn an_answer_that_is_cut_short_is_asked_for_again_by_tcp(fake: &Fake) {
    let (said, report) = fake.role(&[], "names", LONG_NAME);
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[1..], [SERVER], "{report:#}");
    let listed = report["exec"]["connections"].as_array().unwrap();
    let to = |one: &serde_json::Value| one["to"].as_str().unwrap().to_owned();
    let to: Vec<String> = listed.iter().map(to).collect();
    assert!(to.iter().any(|to| to.ends_with(":53")), "{to:?}");
}

/// Makes `/etc` of this thread a folder of links into the real one, in which resolv.conf is a link to `target`.
fn link_resolv_conf(folder: &Path, target: &Path) -> std::io::Result<()> {
    namespace::own_mounts()?;
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )?;
    let real = folder.join("etc");
    fs::create_dir(&real)?;
    mount_bind_recursive("/etc", &real)?;
    let here = fs::canonicalize(RESOLV_CONF)?;
    // What the link leads to has the host's content.
    fs::write(target, fs::read(here)?)?;
    let made = folder.join("made");
    fs::create_dir(&made)?;
    for entry in fs::read_dir(&real)? {
        let entry = entry?;
        if entry.file_name() != "resolv.conf" {
            symlink(entry.path(), made.join(entry.file_name()))?;
        }
    }
    symlink(target, made.join("resolv.conf"))?;
    Ok(mount_bind(&made, "/etc")?)
}

fn resolv_conf_is_replaced_where_it_is_a_link(fake: &Fake) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("resolv.conf");
    let script = format!("cat {RESOLV_CONF}; echo; readlink {RESOLV_CONF}");
    let mut command = fake.quell(&["exec", "--quiet", "--", "sh", "-c", &script]);
    // On a thread of its own; what it starts has its mounts, too, and they go with them.
    let (output, left) = fake.run(|| {
        link_resolv_conf(folder.path(), &target).unwrap();
        (
            command.output().unwrap(),
            fs::read_to_string(&target).unwrap(),
        )
    });
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("nameserver 10.77.0.53\n"), "{said}");
    assert!(!said.contains("127.0.0.53"), "{said}");
    assert_eq!(said.lines().last(), target.to_str());
    assert!(left.contains("nameserver 127.0.0.53"), "{left}");
}
