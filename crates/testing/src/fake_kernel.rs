//! Kernels and kernel sources that are none, but behave as such towards whoever builds and asks them: seconds instead of minutes.
//!
//! The source is a real makefile. Its options are Kconfig's in the one respect that matters here: what the tree does not know is
//! dropped from the configuration without a word.
#![allow(clippy::unwrap_used, reason = "it fails the test that uses it")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::write_program;

/// What a user-mode kernel answers, for `sh`; `CONFIG` is the configuration.
const KERNEL: &str = r#"#!/bin/sh
# User Mode Linux vVERSION
case "$1" in
--version) echo VERSION ;;
--help) printf 'User Mode Linux vVERSION\n\n%s\n' 'HELP' ;;
--showconfig) cat <<'END'
CONFIG
END
;;
esac
"#;

/// Everything that quell asks of a kernel, with a simulated clock.
pub fn whole_config() -> String {
    let minimal = include_str!("../../kernel/src/config/minimal.config");
    let options = minimal.lines().filter(|line| line.starts_with("CONFIG_"));
    let mut text: String = options.map(|line| format!("{line}\n")).collect();
    text.push_str("CONFIG_NET_SCH_FQ=y\nCONFIG_TCP_CONG_DCTCP=y\n");
    text
}

/// Writes an executable to `path` that answers as a kernel of this version and configuration.
pub fn kernel(path: &Path, version: &str, config: &str, help: &str) {
    let text = KERNEL
        .replace("VERSION", version)
        .replace("HELP", help)
        .replace("\nCONFIG\n", &format!("\n{}\n", config.trim_end()));
    write_program(path, &text);
}

/// Adds a kernel to the folder of a store that does what `body` says to `sh`, whatever it is asked.
pub fn stored(store: &Path, name: &str, body: &str, time_travel: bool) {
    let folder = store.join(name);
    fs::create_dir(&folder).unwrap();
    let facts = format!(
        r#"{{"name": "{name}", "version": "7.0.0", "source": "a test", "built_at": 1, "config_hash": "", "time_travel": {time_travel}, "seccomp": true}}"#
    );
    fs::write(folder.join("kernel.json"), facts).unwrap();
    write_program(&folder.join("linux"), &format!("#!/bin/sh\n{body}\n"));
}

const MAKEFILE: &str = r#"# SPDX-License-Identifier: GPL-2.0
VERSION = 7
PATCHLEVEL = 2
SUBLEVEL = 13
EXTRAVERSION = -fake
NAME = Test

allnoconfig:
	@[ "$(ARCH)" = um ]
	@echo "  GEN     Makefile"
	@grep -v -x -f lacks $(KCONFIG_ALLCONFIG) >$(O)/.config
	@sed -n 's/^\tdefault \([0-9]*\)$$/CONFIG_HZ=\1/p' $(KBUILD_KCONFIG) | head -1 >>$(O)/.config

.PHONY: net/ipv4/quell/
net/ipv4/quell/:
	@echo "  CC      $@"
	@! grep -l broken net/ipv4/tcp.h 2>/dev/null

linux:
	@sh ./compile.sh
	@sed -e "/^CONFIG$$/r $(O)/.config" -e '/^CONFIG$$/d' kernel.in >$(O)/linux
	@chmod 755 $(O)/linux
	@echo "  LINK    linux"
"#;

const IPV4: &str = "\
menuconfig TCP_CONG_ADVANCED
\tbool \"TCP: advanced congestion control\"
\thelp
\t  config TCP_CONG_NOT_AN_OPTION
\t  bool \"not this\"

if TCP_CONG_ADVANCED

config TCP_CONG_CUBIC
\ttristate \"CUBIC TCP\"
\tdefault y

config TCP_CONG_DCTCP
\ttristate \"DataCenter TCP (DCTCP)\"

config TCP_CONG_PRAGUE
\ttristate \"TCP Prague\"
endif

config TCP_CONG_CUBIC
\ttristate
\tdepends on !TCP_CONG_ADVANCED
\tdefault y
";

const SCHED: &str = "\
config NET_SCH_FQ
\ttristate \"Fair Queue\"

config NET_SCH_HTB
\ttristate \"HTB\"

config NET_SCH_MQPRIO_LIB
\ttristate
\thelp
\t  Common library.

config NET_SCH_BPF
\tbool \"BPF-based Qdisc\"
\tdepends on BPF_SYSCALL

menuconfig NET_SCH_DEFAULT
\tbool \"Allow override default queue discipline\"

config DEFAULT_NET_SCH
\tstring
";

/// A kernel source in a folder.
pub struct Tree(pub PathBuf);

impl Tree {
    /// Makes one at `folder`.
    pub fn new(folder: PathBuf) -> Self {
        let tree = Self(folder);
        tree.write("Makefile", MAKEFILE);
        tree.write(
            "Kconfig",
            "# top\nmainmenu \"Linux/$(ARCH)\"\n\nconfig HZ\n\tint\n\tdefault 100\n",
        );
        tree.write("arch/um/Kconfig", "config UML\n");
        tree.write("net/ipv4/Kconfig", IPV4);
        tree.write("net/ipv4/Makefile", "obj-y += tcp.o\n");
        tree.write("net/sched/Kconfig", SCHED);
        tree.lacks(&["CONFIG_NET_SCH_BPF=y"]);
        tree.compile("");
        tree.write(
            "kernel.in",
            &KERNEL
                .replace("VERSION", "7.2.13-fake")
                .replace("HELP", "seccomp=<on/auto/off>"),
        );
        tree
    }

    /// Writes a file of the tree, and the folders that it is in.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The lines of a configuration that this tree drops.
    pub fn lacks(&self, lines: &[&str]) {
        self.write("lacks", &lines.join("\n"));
    }

    /// What compiling does beside the kernel, for `sh`.
    pub fn compile(&self, script: &str) {
        let steps = "for i in 1 2 3; do echo \"  CC      $i.o\"; done\n";
        self.write("compile.sh", &format!("{steps}{script}\n"));
    }
}
