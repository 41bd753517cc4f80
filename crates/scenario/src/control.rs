//! The congestion control of a group: one of quell's own with its options, or a name that only a kernel knows.
//!
//! Options come from the table of the control in `quell-tcp` and nowhere else, as a queue's parameters come from the
//! registry of `quell-aqm`.

use quell_tcp::cc::own::OwnKind;
use quell_tcp::cc::{self, ControlKind};
use quell_tcp::{CcConfig, Codepoint};
use quell_units::parameter::Value;
use quell_units::{Parameter, ParameterError, Settings};
use serde_json::json;

use super::domain::{Parsed, scalar};
use super::keys::{Section, rows};
use super::queue::{explained, text_of, unknown};
use super::refusal::Refusal;
use super::tree::{Node, Table, TomlType, Tree};
use super::view::{Reader, View};
use super::written::{Field, Written, in_toml, parameters, quoted, values};
use super::{Domain, EcnSetting};

/// Controls of Linux that quell does not model and that never pace by themselves; any other may, as BBR does.
const UNPACED: &[&str] = &[
    "bic",
    "cdg",
    "highspeed",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// A congestion control to be made.
#[derive(Debug, Clone)]
pub struct ControlSpec {
    name: String,
    /// `None` for a control that quell does not have: it has no options.
    options: Option<Settings>,
}

impl PartialEq for ControlSpec {
    /// Whether both make the same control: defaults count as if given.
    fn eq(&self, other: &Self) -> bool {
        let options = |spec: &Self| spec.options.as_ref().map(values);
        self.name == other.name && options(self) == options(other)
    }
}

impl Eq for ControlSpec {}

impl ControlSpec {
    /// The control called `name`, with its defaults.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            options: cc::kind(name).map(|kind| Settings::new(kind.parameters)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in Linux.
    pub fn kernel_name(&self) -> &str {
        self.known()
            .and_then(|kind| kind.kernel)
            .unwrap_or(&self.name)
    }

    /// The control that the simulator takes for a name of Linux that does not say which control it is.
    pub fn taken_for(&self) -> Option<&'static ControlKind> {
        self.known().filter(|kind| kind.name != self.name)
    }

    /// The row of quell's own control; `None` for a control that only a kernel may have.
    pub fn known(&self) -> Option<&'static ControlKind> {
        cc::kind(&self.name)
    }

    /// The control of another crate that no kernel has.
    pub fn model_alone(&self) -> Option<&'static OwnKind> {
        cc::own::find(&self.name).filter(|own| own.kind.kernel.is_none())
    }

    /// Its options, given or not, in the order of its table.
    pub fn options(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        let settings = self.options.iter();
        settings
            .flat_map(|settings| settings.applicable())
            .filter_map(|(parameter, value)| Some((parameter, value?)))
    }

    /// The options that differ from what the control does by itself, with that and their own value.
    pub fn changed(&self) -> impl Iterator<Item = (&'static Parameter, Value, Option<Value>)> + '_ {
        let plain = self.options.as_ref().map(|own| Settings::new(own.table()));
        self.options().filter_map(move |(parameter, value)| {
            let usual = plain.as_ref().and_then(|plain| plain.value(parameter.name));
            (usual != Some(value)).then_some((parameter, value, usual))
        })
    }

    /// Whether a real sender with this control is known to leave without pacing unless it is asked to.
    pub fn leaves_pacing_to_others(&self) -> bool {
        match self.known() {
            Some(kind) => !kind.paced,
            None => UNPACED.contains(&self.name.as_str()),
        }
    }

    /// The modelled control; `None` if quell does not have it.
    pub fn config(&self) -> Option<Result<CcConfig, ParameterError>> {
        CcConfig::with(&self.name, self.options.as_ref()?)
    }

    /// Reads a name, or a table with a name and options.
    pub(super) fn read(
        reader: &mut Reader,
        path: &str,
        node: &Node,
        form: &Domain,
    ) -> Option<Self> {
        let Tree::Table(table) = &node.value else {
            let name =
                scalar(node, &[TomlType::String]).filter(|name| Domain::Word.parse(name).is_some());
            if name.is_none() {
                reader.wrong(path, node, format!("must be {form}"));
            }
            return name.map(Self::new);
        };
        let named = table.get("name");
        let name = View::open(rows(Section::CongestionControl), path, node, table)
            .get::<String>(reader, "name")?;
        let mut spec = Self::new(&name);
        let mut whole = true;
        for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
            if let Err(refusal) = spec.set(table, key, value) {
                reader.wrong(&format!("{path}.{key}"), value, refusal);
                whole = false;
            }
        }
        if let Some(error) = spec.options.as_ref().and_then(|own| own.check().err())
            && whole
        {
            let at = table.get(&error.key).or(named).unwrap_or(node);
            reader.wrong(&format!("{path}.{}", error.key), at, &error.allowed);
            whole = false;
        }
        whole.then_some(spec)
    }

    /// Gives one option its value.
    fn set(&mut self, table: &Table, key: &str, node: &Node) -> Result<(), Refusal> {
        let Some(settings) = &mut self.options else {
            let (name, own) = (self.name.clone(), names().join(", "));
            return Err(Refusal::KernelControl { name, own });
        };
        let rows = settings.table();
        let named = |row: &&Parameter| row.name == key || row.opposite == Some(key);
        let Some(row) = rows.iter().find(named) else {
            return Err(no_option(&self.name, rows, key));
        };
        if row.name != key && table.get(row.name).is_some() {
            return Err(Refusal::SameSwitch(row.name));
        }
        let text = text_of(&self.name, rows, key, node)?;
        let set = settings.set(key, text);
        set.map_err(|error| explained(error, rows, key, node))
    }
}

/// A name, or a table where there are options.
impl Field for ControlSpec {
    fn written(&self) -> Option<Written> {
        let options = || self.options().map(|(row, value)| (row.name, value));
        let json = json!([self.name, parameters(options())]);
        let options = options().map(|(name, value)| format!(", {name} = {}", in_toml(value)));
        let options: String = options.collect();
        let name = quoted(&self.name);
        let toml = match options.is_empty() {
            true => name,
            false => format!("{{ name = {name}{options} }}"),
        };
        Some(Written { toml, json })
    }
}

/// The default follows from the control.
impl Field for EcnSetting {
    fn from_parsed(parsed: Parsed) -> Option<Self> {
        let word = <&str>::from_parsed(parsed)?;
        Self::ALL.into_iter().find(|one| one.name() == word)
    }
    fn written(&self) -> Option<Written> {
        self.name().written()
    }
}

/// The names of quell's own controls.
pub fn names() -> Vec<&'static str> {
    cc::kinds().map(|kind| kind.name).collect()
}

/// The defaults of a group with this control: `ecn = "ect0", pacing = false`.
pub fn defaults(kind: &ControlKind) -> String {
    let ecn = setting(kind.ecn).name();
    format!("ecn = \"{ecn}\", pacing = {}", kind.paced)
}

fn setting(codepoint: Option<Codepoint>) -> EcnSetting {
    match codepoint {
        Some(Codepoint::Ect0) => EcnSetting::Ect0,
        Some(Codepoint::Ect1) => EcnSetting::Ect1,
        None => EcnSetting::Off,
    }
}

/// The default of `ecn`: what the control declares with its options; off for one that only a kernel has.
pub(super) fn default_ecn(control: Option<&ControlSpec>) -> EcnSetting {
    let config = control.and_then(ControlSpec::config);
    setting(config.and_then(|config| config.ok()?.codepoint()))
}

fn no_option(name: &str, rows: &[Parameter], key: &str) -> Refusal {
    // Another control may have what was meant.
    let others = cc::kinds().filter(|kind| kind.parameters.iter().any(|row| row.name == key));
    let others: Vec<&str> = others.map(|kind| kind.name).collect();
    let elsewhere = match others.as_slice() {
        [] => String::new(),
        others => format!(" (it is an option of {})", others.join(", ")),
    };
    unknown(name, rows, key, &elsewhere, "no options")
}
