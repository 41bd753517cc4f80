//! What a cell depends on besides its scenario and seed: the program that runs it, and the kernel inside.
//!
//! A version does not say enough: two builds of one version differ. The build takes a hash of the sources instead
//! (`build.rs`), so that builds of equal sources share a store, on any machine.

use std::fmt;

use quell_scenario::World;
use sha2::{Digest as _, Sha256};

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
    /// Hash of the sources.
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
            code: code.to_owned(),
            kernel,
        })
    }

    /// What identifies the cells of a scenario, which is canonical: all of it but the seed.
    pub(crate) fn cells(&self, canonical: &str) -> Family {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let kernel = self
            .kernel
            .as_deref()
            .map_or_else(|| "null".to_owned(), text);
        let head = format!(
            "{{\"code\":{},\"kernel\":{kernel},\"scenario\":{canonical},\"seed\":",
            text(&self.code)
        );
        let tail = format!(",\"world\":{}}}", text(&self.world));
        let mut hash = Sha256::new();
        hash.update(&head);
        Family { head, tail, hash }
    }
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

    #[test]
    fn a_key_is_the_hash_of_the_text_and_reads_back() {
        let here = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
        assert_eq!(here.code.len(), 64);
        let cells = here.cells("{\"name\":\"t\"}");
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
    fn another_program_or_kernel_is_another_cell() {
        let here = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
        let key = |identity: &Identity| identity.cells("{}").key(1);
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
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
    }
}
