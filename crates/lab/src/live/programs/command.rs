//! The command line of a program: its words, its environment and where its output goes.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use quell_app::kinds::program::{Part, Program};
use quell_hosts::topology::GroupAddresses;
use quell_hosts::traffic::Host;
use quell_scenario::Group;
use quell_units::CommandLine;

use crate::live::groups::host;
use crate::program_env::ProgramEnv;

/// All that a program is executed with.
pub(super) struct Line {
    pub(super) words: Vec<String>,
    /// Where its output goes, without the extension.
    pub(super) output: PathBuf,
    pub(super) program_env: Arc<ProgramEnv>,
}

impl Line {
    /// The command; makes the files of its output.
    pub(super) fn command(&self) -> io::Result<Command> {
        let output = |extension: &str| File::create_new(self.output.with_extension(extension));
        let ProgramEnv {
            directory,
            variables,
            ..
        } = &*self.program_env;
        // The user of a guest may not enter every folder of its host.
        let can_enter = fs::metadata(directory.join(".")).is_ok();
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .current_dir(if can_enter { directory } else { Path::new("/") })
            .env_clear()
            .envs(variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(output("out")?)
            .stderr(output("err")?)
            .process_group(0);
        Ok(command)
    }
}

/// The words of a command line, with what stands for addresses and folders.
pub(super) fn substituted(
    line: &CommandLine,
    program: &Program,
    group: &Group,
    addresses: GroupAddresses,
    kept: &Path,
) -> Vec<String> {
    let address = |part| match host(program, group, part) {
        Host::Sender => addresses.sender.to_string(),
        Host::Receiver => addresses.receiver.to_string(),
    };
    let names = [
        ("SERVER", address(Part::Server)),
        ("CLIENT", address(Part::Client)),
        ("RESULT", kept.display().to_string()),
    ];
    line.words().map(|word| substitute(word, &names)).collect()
}

/// Puts the values in place of their names behind a `$`. What else has a `$` stays.
fn substitute(word: &str, names: &[(&str, String)]) -> String {
    let mut parts = word.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(part.len());
        match names.iter().find(|(name, _)| *name == &part[..end]) {
            Some((_, value)) => out.extend([value, &part[end..]]),
            None => out.extend(["$", part]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_where_their_names_stood() {
        let names = [
            ("SERVER", "10.0.0.1".to_owned()),
            ("RESULT", "/r".to_owned()),
        ];
        for (word, expected) in [
            ("$SERVER", "10.0.0.1"),
            ("http://$SERVER:80/$RESULT", "http://10.0.0.1:80//r"),
            ("$SERVERS $HOME $ $$SERVER", "$SERVERS $HOME $ $10.0.0.1"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(substitute(word, &names), expected, "{word}");
        }
    }
}
