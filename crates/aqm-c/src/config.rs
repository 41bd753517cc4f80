//! The configuration of a discipline.

use std::ffi::{CStr, c_char};

use quell_aqm::{Bytes, Discipline, Random, Rate, Settings, disciplines};

use crate::error::Failure;
use crate::packet::Packet;

/// A rate that serialises in no time.
pub const QUELL_RATE_UNLIMITED: u64 = u64::MAX;

/// A parameter and its value, in the notation of scenarios: "target" and "15ms".
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// See quell_parameter_get.
    pub name: *const c_char,
    /// A quantity with its unit, a number, a word, "true" or "false".
    pub value: *const c_char,
}

/// The configuration of a discipline. Nothing that it points to is needed afterwards.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The discipline, such as "dualpi2"; see quell_kind_get.
    pub kind: *const c_char,
    /// Parameters that are not to have their defaults, or null if there are none.
    pub settings: *const Setting,
    /// Number of settings.
    pub setting_count: usize,
    /// Rate of the link in bit/s; 0 stops it, QUELL_RATE_UNLIMITED serialises in no time.
    pub rate: u64,
    /// Seed of the discipline's random decisions: the same seed and the same calls have the same outcome to the bit.
    pub seed: u64,
    /// The largest IP packet in bytes; 0 means 1500.
    pub mtu: u32,
    /// Only for a link: bytes that each packet occupies on it beyond its IP length, such as 14 for Ethernet.
    pub overhead: i32,
    /// Only for a link: the least that a packet occupies on it.
    pub mpu: u32,
}

/// A text that C passed.
///
/// # Safety
/// `text` is null or ends with a NUL, and does not change while the answer is used.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(c"a text is null"));
    }
    // SAFETY: by the contract of this function.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::argument(c"a text is not UTF-8"))
}

impl Config {
    /// Makes the discipline.
    ///
    /// # Safety
    /// `config` is null or points to a configuration, whose texts end with a NUL and which has as many settings as it says.
    pub(crate) unsafe fn build(config: *const Self) -> Result<(Self, Discipline<Packet>), Failure> {
        // SAFETY: by the contract of this function.
        let config =
            *unsafe { config.as_ref() }.ok_or(Failure::argument(c"the configuration is null"))?;
        // SAFETY: likewise.
        let kind = unsafe { text(config.kind) }?;
        let mut settings = Settings::new(disciplines::find(kind)?.parameters);
        if config.settings.is_null() && config.setting_count > 0 {
            return Err(Failure::argument(c"the settings are null"));
        }
        for index in 0..config.setting_count {
            // SAFETY: by the contract of this function there are so many.
            let setting = unsafe { *config.settings.add(index) };
            // SAFETY: likewise, and their texts end with a NUL.
            let (name, value) = unsafe { (text(setting.name)?, text(setting.value)?) };
            settings.set(name, value)?;
        }
        let link = quell_aqm::Link {
            rate: Rate::from_bps(config.rate),
            mtu: Bytes::new(match config.mtu {
                0 => 1_500,
                mtu => u64::from(mtu),
            }),
        };
        let random = Random::new(config.seed, "queue");
        Ok((config, Discipline::new(kind, settings, link, random)?))
    }
}
