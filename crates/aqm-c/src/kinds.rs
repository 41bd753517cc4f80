//! Listings of kinds, their parameters, reasons and gauges. Texts are made once and never freed.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_aqm::parameter::Preset;
use quell_aqm::qdisc;
use quell_aqm::{DropReason, MarkReason, Time};

use crate::error::{Failure, QUELL_OK, guard, status};
use crate::packet::answer;

/// A kind of discipline. Texts are never freed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in configurations.
    pub name: *const c_char,
    /// Description in a sentence.
    pub summary: *const c_char,
    /// Source of the definition.
    pub source: *const c_char,
    /// Number of its parameters.
    pub parameters: usize,
}

/// A parameter of a kind. Texts are never freed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name in settings.
    pub name: *const c_char,
    /// Value if it is not set, or how the value is derived.
    pub default_value: *const c_char,
    /// Allowed values.
    pub allowed: *const c_char,
    /// Effect of the parameter.
    pub help: *const c_char,
    /// Source of name and default.
    pub source: *const c_char,
    /// Whether it can change on a living queue.
    pub live: bool,
}

/// The texts of the tables above; they own what the pointers of [`Kind`] and [`Parameter`] point to.
struct Texts {
    kinds: Vec<KindTexts>,
    drop_reasons: Vec<CString>,
    mark_reasons: Vec<CString>,
}

struct KindTexts {
    name: CString,
    summary: CString,
    source: CString,
    parameters: Vec<ParameterTexts>,
}

struct ParameterTexts {
    name: CString,
    default: CString,
    allowed: CString,
    help: CString,
    source: CString,
    live: bool,
}

fn c(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).expect("no NUL in tables")
}

impl KindTexts {
    fn of(entry: &Entry) -> Self {
        let parameters = entry.parameters.iter().map(|row| ParameterTexts {
            name: c(row.name),
            default: c(match row.default {
                Preset::Required => String::new(),
                Preset::Is(text) | Preset::Derived(text) => text.to_owned(),
                Preset::By(other, choices) => {
                    let choices: Vec<String> = choices
                        .iter()
                        .map(|(word, value)| format!("{value} ({other} = {word})"))
                        .collect();
                    choices.join(", ")
                }
            }),
            allowed: c(row.domain.to_string()),
            help: c(row.help),
            source: c(row.source),
            live: row.live,
        });
        Self {
            name: c(entry.name),
            summary: c(entry.summary),
            source: c(entry.source),
            parameters: parameters.collect(),
        }
    }
}

fn texts() -> &'static Texts {
    static TEXTS: OnceLock<Texts> = OnceLock::new();
    TEXTS.get_or_init(|| Texts {
        kinds: disciplines::KINDS.iter().map(KindTexts::of).collect(),
        drop_reasons: DropReason::ALL.iter().map(|r| c(r.name())).collect(),
        mark_reasons: MarkReason::ALL.iter().map(|r| c(r.name())).collect(),
    })
}

/// The kind of this index, from 0 on. QUELL_ERROR_ARGUMENT if there is none.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_kind_get(index: usize, out: *mut Kind) -> i32 {
    status(|| {
        let kinds = &texts().kinds;
        let kind = kinds
            .get(index)
            .ok_or(Failure::argument(c"there is no such kind"))?;
        let kind = Kind {
            name: kind.name.as_ptr(),
            summary: kind.summary.as_ptr(),
            source: kind.source.as_ptr(),
            parameters: kind.parameters.len(),
        };
        // SAFETY: by the contract of this function.
        unsafe { answer(out, kind) };
        Ok(QUELL_OK)
    })
}

/// The parameter of these indices, from 0 on. QUELL_ERROR_ARGUMENT if there is none.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_parameter_get(
    kind: usize,
    index: usize,
    out: *mut Parameter,
) -> i32 {
    status(|| {
        let kind = texts().kinds.get(kind);
        let row = kind
            .and_then(|kind| kind.parameters.get(index))
            .ok_or(Failure::argument(c"there is no such parameter"))?;
        let parameter = Parameter {
            name: row.name.as_ptr(),
            default_value: row.default.as_ptr(),
            allowed: row.allowed.as_ptr(),
            help: row.help.as_ptr(),
            source: row.source.as_ptr(),
            live: row.live,
        };
        // SAFETY: by the contract of this function.
        unsafe { answer(out, parameter) };
        Ok(QUELL_OK)
    })
}

fn name(names: &'static [CString], index: u32) -> *const c_char {
    let name = usize::try_from(index)
        .ok()
        .and_then(|index| names.get(index));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Why a packet was dropped, such as "aqm" or "limit"; null beyond the last. Names stay, numbers may change with QUELL_ABI. Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn quell_drop_reason(reason: u32) -> *const c_char {
    guard(
        |_| std::ptr::null(),
        || Ok(name(&texts().drop_reasons, reason)),
    )
}

/// Why a packet was marked, such as "aqm" or "step"; null beyond the last. See quell_drop_reason.
#[unsafe(no_mangle)]
pub extern "C" fn quell_mark_reason(reason: u32) -> *const c_char {
    guard(
        |_| std::ptr::null(),
        || Ok(name(&texts().mark_reasons, reason)),
    )
}

/// A pure number, such as a probability.
pub const QUELL_GAUGE_RATIO: u32 = 0;
/// Seconds.
pub const QUELL_GAUGE_DELAY: u32 = 1;
/// Packets, bytes, or another number of things.
pub const QUELL_GAUGE_COUNT: u32 = 2;

/// A value of a discipline's status.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// Name; valid during the callback.
    pub name: *const c_char,
    /// QUELL_GAUGE_RATIO, QUELL_GAUGE_DELAY or QUELL_GAUGE_COUNT.
    pub unit: u32,
    /// The value in that unit.
    pub value: f64,
}

/// Receives each gauge.
pub type Report = Option<unsafe extern "C" fn(context: *mut c_void, gauge: *const Gauge)>;

/// Reports the gauges of a discipline to C. Allocates.
///
/// # Safety
/// `report` is null or a function of this type.
pub(crate) unsafe fn report_status<P: quell_aqm::Packet>(
    qdisc: &impl quell_aqm::Qdisc<P>,
    now: Time,
    report: Report,
    context: *mut c_void,
) -> Result<i32, Failure> {
    let report = report.ok_or(Failure::argument(c"the callback is null"))?;
    qdisc.status(now, &mut |name, gauge| {
        let name = c(name);
        let (unit, value) = match gauge {
            qdisc::Gauge::Ratio(ratio) => (QUELL_GAUGE_RATIO, ratio),
            qdisc::Gauge::Delay(time) => (QUELL_GAUGE_DELAY, time.as_nanos() as f64 / 1e9),
            qdisc::Gauge::Count(count) => (QUELL_GAUGE_COUNT, count as f64),
        };
        let gauge = Gauge {
            name: name.as_ptr(),
            unit,
            value,
        };
        // SAFETY: by the contract of this function; the gauge and its name outlive the call.
        unsafe { report(context, &gauge) };
    });
    Ok(QUELL_OK)
}
