//! What a cell depends on besides its scenario and seed: the program that runs it, and the kernel inside.
//!
//! A version does not say enough: two builds of one version differ. The build takes a hash of the sources instead
//! (`build.rs`), so that builds of equal sources share a store, on any machine. A program with kinds of other crates adds the hash of its own
//! file: nothing less says what they compute.

use std::fmt;

use quell_scenario::World;
use sha2::{Digest as _, Sha256};

use super::probe::{Probe, Watched};
use crate::{GuestOptions, RunError, virtual_world};

/// Hash of the sources that decide what a simulation gives, and of the versions of what they use.
const SIMULATOR: &str = env!("QUELL_SIMULATOR_SOURCES");
/// The same of everything that carries real packets too.
const EVERYTHING: &str = env!("QUELL_SOURCES");

/// Identity of the program and of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The world.
    pub world: String,
    /// Hash of the sources, and of the program if it has kinds of other crates.
    pub code: String,
    /// Of the virtual world: SHA-256 of the kernel's image. Of the live one: the release of the host's kernel.
    pub kernel: Option<String>,
}

impl Identity {
    /// Of this program in `world`.
    ///
    /// # Errors
    ///
    /// The virtual world has no kernel.
    pub fn here(world: World, guest: &GuestOptions) -> Result<Self, RunError> {
        let kernel = match world {
            World::Sim => None,
            World::Virtual => Some(virtual_world::image(guest)?),
            World::Live => {
                let system = rustix::system::uname();
                Some(system.release().to_string_lossy().into_owned())
            }
        };
        let code = match world {
            World::Sim => SIMULATOR,
            World::Virtual | World::Live => EVERYTHING,
        };
        Ok(Self {
            world: world.name().to_owned(),
            code: with_extensions(code)?,
            kernel,
        })
    }

    /// What identifies the cells of a scenario, which is canonical, and of what is measured: all of it but the seed.
    pub(crate) fn cells(
        &self,
        canonical: &str,
        probe: Option<&Probe>,
        watched: Option<&Watched>,
    ) -> Family {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let kernel = self
            .kernel
            .as_deref()
            .map_or_else(|| "null".to_owned(), text);
        let probe = probe.map_or_else(String::new, |probe| {
            let (code, name) = (text(probe.code), text(probe.name));
            format!("\"probe\":{{\"code\":{code},\"name\":{name}}},")
        });
        let watched = watched.map_or_else(String::new, |watched| {
            format!("\"watched\":{},", text(&watched.in_words()))
        });
        let head = format!(
            "{{\"code\":{},\"kernel\":{kernel},{probe}\"scenario\":{canonical},\"seed\":",
            text(&self.code)
        );
        let tail = format!(",{watched}\"world\":{}}}", text(&self.world));
        let mut hash = Sha256::new();
        hash.update(&head);
        Family { head, tail, hash }
    }
}

/// The hash of the sources; of the program too where it has kinds of other crates, whose sources nobody knows here. Such a program shares a
/// store with copies of itself alone.
fn with_extensions(code: &str) -> Result<String, RunError> {
    let program = quell_results::program::sha256();
    let program =
        program.map_err(|error| RunError::Failed(format!("cannot read this program: {error}")))?;
    Ok(match program {
        Some(program) => digest(format!("{code} {program}").as_bytes()),
        None => code.to_owned(),
    })
}

/// The cells of one scenario, which differ by their seed.
pub(crate) struct Family {
    head: String,
    tail: String,
    hash: Sha256,
}

impl Family {
    /// Everything that the cell of a seed depends on, as canonical JSON.
    pub(crate) fn text(&self, seed: u64) -> String {
        format!("{}{seed}{}", self.head, self.tail)
    }

    /// Its hash.
    pub(crate) fn key(&self, seed: u64) -> Key {
        let mut hash = self.hash.clone();
        hash.update(seed.to_string());
        hash.update(&self.tail);
        Key(hash.finalize().into())
    }
}

/// The name of a cell: SHA-256 of the canonical JSON of everything that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// Of canonical JSON.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// From 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.iter().all(is_digit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// SHA-256 of some bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Key(Sha256::digest(bytes).into()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Copies a folder, as a checkout elsewhere would have it.
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), &to).unwrap();
            }
        }
    }

    #[test]
    fn equal_sources_elsewhere_have_the_same_identity_and_others_have_not() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let elsewhere = tempfile::tempdir().unwrap();
        let there = elsewhere.path();
        for entry in fs::read_dir(root.join("crates")).unwrap() {
            let name = Path::new("crates").join(entry.unwrap().file_name());
            if !root.join(&name).join("src").exists() {
                continue;
            }
            copy(
                &root.join(&name).join("src"),
                &there.join(&name).join("src"),
            );
            fs::copy(
                root.join(&name).join("Cargo.toml"),
                there.join(&name).join("Cargo.toml"),
            )
            .unwrap();
        }
        copy(&root.join("bpf"), &there.join("bpf"));
        fs::copy(root.join("Cargo.lock"), there.join("Cargo.lock")).unwrap();
        let hashes = || crate::sweep::sources::hashes(there, &there.join("crates"));
        assert_eq!(hashes(), (SIMULATOR.to_owned(), EVERYTHING.to_owned()));
        // The simulator does not depend on what only the other worlds use.
        fs::write(there.join("crates/link/src/more.rs"), "").unwrap();
        let (simulator, everything) = hashes();
        assert_eq!(simulator, SIMULATOR);
        assert_ne!(everything, EVERYTHING);
        let file = there.join("crates/sim/src/lib.rs");
        fs::write(&file, fs::read_to_string(&file).unwrap() + " ").unwrap();
        assert_ne!(hashes().0, SIMULATOR);
    }

    #[test]
    fn a_key_is_the_hash_of_the_text_and_reads_back() {
        let here = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
        assert_eq!(here.code.len(), 64);
        let cells = here.cells("{\"name\":\"t\"}", None, None);
        let key = cells.key(7);
        assert_eq!(key, Key::of(&cells.text(7)));
        assert_ne!(key, cells.key(8));
        assert_eq!(Key::parse(&key.to_string()), Some(key));
        let json: serde_json::Value = serde_json::from_str(&cells.text(7)).unwrap();
        assert_eq!(
            (json["seed"].as_u64(), json["kernel"].is_null()),
            (Some(7), true)
        );
        // FIPS 180-2, B.1: the hash of "abc".
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Key::of("abc").to_string(), known);
        assert_eq!(digest(b"abc"), known);
        for wrong in ["", "ba", &known.to_uppercase(), &known.replace('b', "g")] {
            assert_eq!(Key::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn another_program_kernel_or_measurement_is_another_cell() {
        let here = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
        let key = |identity: &Identity| identity.cells("{}", None, None).key(1);
        let probe = |name, code| Probe {
            name,
            code,
            measure: |_, _, _| Ok(String::new()),
            reading: None,
        };
        let other = |change: &dyn Fn(&mut Identity)| {
            let mut other = here.clone();
            change(&mut other);
            key(&other)
        };
        let all = [
            key(&here),
            other(&|one| one.code.push('x')),
            other(&|one| one.kernel = Some("6.1".to_owned())),
            other(&|one| one.world = "live".to_owned()),
            here.cells("{}", Some(&probe("a", "x")), None).key(1),
            here.cells("{}", Some(&probe("b", "x")), None).key(1),
            here.cells("{}", Some(&probe("a", "y")), None).key(1),
            here.cells("{}", None, Some(&Watched::Quell)).key(1),
            here.cells("{}", None, Some(&Watched::Kernel("pie".to_owned())))
                .key(1),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
    }
}
