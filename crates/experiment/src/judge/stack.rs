//! A stack file: how a server and a client start, and what they claim.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use quell_lab::scenario::tree::{self, Node, Table, TomlType, Tree};
use quell_lab::scenario::{Origin, Problem, Problems};
use serde_json::Value as Json;

use super::keys;
use crate::experiment::{OpenError, text_of};
use crate::file::reader::Reader;

/// Keys of a stack file.
const KEYS: [&str; 16] = [
    "schema",
    "name",
    "version",
    "licence",
    "about",
    "claims",
    "sends",
    "server",
    "client",
    "build",
    "control",
    "app",
    "monitoring",
    "classic",
    "limited",
    "qlog",
];
/// Keys of a variant.
const VARIANT: [&str; 4] = ["server", "client", "control", "app"];
const SENDS: [(&str, &str); 2] = [("server", "server"), ("client", "client")];
const CONTROL: &str = "must be a name, or a table such as { name = \"prague\", variant = \"0.6\" }";
const QLOG: &str = "must be the variable that names a folder for logs, such as \"QLOGDIR\", or the variant that writes them below $RESULT: { server = [...], client = [...] }";
/// What no variable has in its name, but commands do.
const NO_NAME: [char; 4] = ['$', '=', '/', ' '];
const MONITORING: [(&str, bool); 2] = [("off-line", true), ("none", false)];

/// The group of clauses that is judged with the `classic` variant, that of `limited`, and that of the variant that writes qlog.
const CLASSIC: &str = "classic-mode";
const LIMITED: &str = "idle";
const LOGGED: &str = "identification";

/// What a stack says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claims {
    /// It sends ECT(1), by RFC 9331.
    L4s,
    /// It sends ECT(0), by RFC 3168 or RFC 9000.
    Classic,
    /// It sends little and no bursts, with the DSCP of RFC 9956.
    Nqb,
    /// It carries packets of others, with their ECN by RFC 6040.
    Tunnel,
    /// No ECN.
    None,
}

impl Claims {
    /// All by their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("l4s", Self::L4s),
        ("classic", Self::Classic),
        ("nqb", Self::Nqb),
        ("tunnel", Self::Tunnel),
        ("none", Self::None),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        let all = Self::ALL.iter();
        let named = all.clone().find(|(_, claims)| *claims == self);
        named.map_or("", |(name, _)| name)
    }
}

/// A stack with one congestion control.
#[derive(Debug, Clone)]
pub struct Stack {
    /// What rows of a matrix call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in one line.
    pub about: String,
    /// What it claims.
    pub claims: Claims,
    /// The folder of its file, where its programs run.
    pub folder: PathBuf,
    programs: Programs,
    /// How its programs come about.
    build: Option<String>,
    /// It says that its operators watch for Classic queues off line.
    has_monitoring: bool,
    /// The variant without L4S.
    classic: Option<Programs>,
    /// The variant that offers little for ten seconds.
    limited: Option<Programs>,
    /// The variant that writes TLS keys and qlog below `$RESULT`, as far as its programs do.
    logged: Option<Programs>,
    /// It is judged by a claim of ECT(1), which it does not send: links around the queue relabel it.
    pub(super) is_relabelled: bool,
}

/// How it starts: programs, or flows of quell's with a control or an application that has its own.
#[derive(Debug, Clone, Default)]
struct Programs {
    sends: &'static str,
    server: Vec<String>,
    client: Vec<String>,
    /// The control as a scenario has it: its name, or a table with its options.
    control: Option<String>,
    /// The table of the application, likewise.
    app: Option<String>,
}

impl Stack {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or everything that is wrong with it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let text = text_of(path).map_err(|error| OpenError::Unreadable(path.to_owned(), error))?;
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        Self::read(&path.display().to_string(), &text, folder).map_err(OpenError::Wrong)
    }

    fn read(file: &str, text: &str, folder: &Path) -> Result<Self, Problems> {
        let root = tree::read(file, text).map_err(|problem| Problems::new(vec![problem]))?;
        let mut reader = Reader::new(file, &|_| None);
        let read = Self::of(&mut reader, &root, folder);
        let mut problems = reader.problems;
        match read {
            Some(stack) if problems.is_empty() => {
                problems.extend(stack.missing(file));
                if problems.is_empty() {
                    return Ok(stack);
                }
            }
            _ => {}
        }
        Err(Problems::new(problems))
    }

    fn of(reader: &mut Reader<'_>, root: &Node, folder: &Path) -> Option<Self> {
        let table = reader.table("", root, &KEYS)?;
        match table.get("schema") {
            Some(node) if node.found() != "1" => reader.wrong("schema", node, "must be 1"),
            Some(_) => {}
            None => reader.about("schema", root, "is missing; must be 1"),
        }
        let claims = match table.get("claims") {
            Some(node) => reader.word("claims", node, &Claims::ALL),
            None => Some(Claims::Classic),
        };
        let programs = programs(reader, "", root, table, "server");
        let mut variant = |key: &str| {
            let node = table.get(key)?;
            let table = reader.table(key, node, &VARIANT)?;
            Some(self::programs(reader, key, node, table, programs.sends))
        };
        let (classic, limited) = (variant("classic"), variant("limited"));
        let logged = match table.get("qlog").map(|node| (node, &node.value)) {
            None => Some(programs.logging(None, folder)),
            Some((_, Tree::Table(_))) => variant("qlog").map(|own| own.logging(None, folder)),
            Some((_, Tree::Scalar(TomlType::String, name))) if !name.contains(NO_NAME) => {
                Some(programs.logging(Some(name), folder))
            }
            Some((node, _)) => {
                reader.wrong("qlog", node, QLOG);
                None
            }
        };
        let has_monitoring = table
            .get("monitoring")
            .and_then(|node| reader.word("monitoring", node, &MONITORING));
        let _ = reader.text_of("", table, "licence");
        Some(Self {
            name: reader.needed("", root, table, "name"),
            version: reader.text_of("", table, "version").unwrap_or_default(),
            about: reader.text_of("", table, "about").unwrap_or_default(),
            claims: claims?,
            folder: folder.to_owned(),
            programs,
            build: reader.text_of("", table, "build"),
            has_monitoring: has_monitoring.unwrap_or(true),
            classic,
            limited,
            logged,
            is_relabelled: false,
        })
    }

    /// Flows with the usual control, for whoever asks what the clauses are.
    pub(super) fn unknown() -> Self {
        Self {
            name: String::new(),
            version: String::new(),
            about: String::new(),
            claims: Claims::Classic,
            folder: PathBuf::new(),
            programs: Programs {
                control: Some(quoted("cubic")),
                ..Programs::default()
            },
            build: None,
            has_monitoring: true,
            classic: None,
            limited: None,
            logged: None,
            is_relabelled: false,
        }
    }

    /// A program named by its path that is not there.
    fn missing(&self, file: &str) -> Option<Problem> {
        let mut all = [&self.programs.server, &self.programs.client].into_iter();
        let path = all.find_map(|words| {
            let first = words.first().filter(|word| word.contains('/'))?;
            (!self.folder.join(first).exists()).then_some(first)
        })?;
        let build = self.build.as_ref();
        let build = build.map_or_else(
            || "give the path of a program, seen from this file".to_owned(),
            |build| format!("is not there; build it: {build}"),
        );
        Some(Problem {
            file: file.to_owned(),
            origin: Origin::Line(1),
            key: "server".to_owned(),
            found: Some(path.clone()),
            allowed: build,
        })
    }

    /// Whether it is made of programs, so that the simulator cannot run it.
    pub fn has_programs(&self) -> bool {
        let Programs {
            control,
            app,
            client,
            ..
        } = &self.programs;
        control.is_none() && app.is_none() || !client.is_empty()
    }

    /// It shall write no log.
    pub(super) fn forget_log(&mut self) {
        self.logged = None;
    }

    /// Whether its server sends the data.
    pub(super) fn is_sent_by_server(&self) -> bool {
        self.programs.sends == SENDS[0].0
    }

    /// Whether its file says how it starts without L4S.
    pub fn has_classic(&self) -> bool {
        self.classic.is_some()
    }

    /// The same with another claim.
    #[must_use]
    pub fn claiming(mut self, claims: Claims) -> Self {
        self.is_relabelled =
            claims == Claims::L4s && self.claims == Claims::Classic && self.has_programs();
        self.claims = claims;
        self
    }

    /// What it puts into a file of clauses: the keys of so many groups of one flow, and names for conditions.
    pub(super) fn keys(&self, clauses: &str, groups: u64) -> String {
        let variant = match clauses {
            CLASSIC => &self.classic,
            LIMITED => &self.limited,
            LOGGED => &self.logged,
            _ => &None,
        };
        let programs = variant.as_ref().unwrap_or(&self.programs);
        let mut text = String::from("\n[set]\n");
        let mut set = |key: &str, value: &str| {
            for group in 1..=groups {
                let number = if group == 1 {
                    String::new()
                } else {
                    group.to_string()
                };
                let _ = writeln!(text, "\"group.stack{number}.{key}\" = {value}");
            }
        };
        let claims = match clauses {
            CLASSIC if self.has_classic() => Claims::Classic,
            _ => self.claims,
        };
        if self.has_programs() {
            set("app", &programs.table(&self.folder));
        } else {
            if let Some(app) = &programs.app {
                set("app", app);
            }
            set(
                "ecn",
                match claims {
                    Claims::L4s => "\"ect1\"",
                    Claims::Classic => "\"ect0\"",
                    Claims::Nqb | Claims::Tunnel | Claims::None => "\"off\"",
                },
            );
        }
        if let Some(control) = &programs.control {
            set("congestion-control", control);
        }
        let _ = write!(
            text,
            "\n[let]\nclaims = \"'{}'\"\nprograms = {}\nown_app = {}\nmonitoring = {}\nhas_classic = {}\nhas_limited = {}\nrelabel = {}\nsends_ect1 = {}\n",
            claims.name(),
            self.has_programs(),
            self.programs.app.is_some(),
            self.has_monitoring,
            self.has_classic(),
            self.limited.is_some(),
            self.is_relabelled,
            claims == Claims::L4s && !self.is_relabelled,
        );
        text
    }
}

impl Programs {
    /// The same with a file for keys in its environment, and in this variable a folder for qlog.
    fn logging(&self, variable: Option<&str>, folder: &Path) -> Self {
        let with = |words: &[String]| {
            let keys = format!("SSLKEYLOGFILE=$RESULT/{}", keys::FILE);
            let logs = variable.map(|variable| format!("{variable}=$RESULT"));
            let before = ["env".to_owned(), keys].into_iter().chain(logs);
            let before = before.filter(|_| !words.is_empty());
            before.chain(placed(words, folder)).collect()
        };
        Self {
            server: with(&self.server),
            client: with(&self.client),
            ..self.clone()
        }
    }

    fn table(&self, folder: &Path) -> String {
        let list = |words: &[String]| {
            let words = placed(words, folder);
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("[{}]", words.join(", "))
        };
        let mut app = format!("{{ kind = \"program\", sends = \"{}\"", self.sends);
        for (name, words) in [("server", &self.server), ("client", &self.client)] {
            if !words.is_empty() {
                let _ = write!(app, ", {name} = {}", list(words));
            }
        }
        app + " }"
    }
}

/// A command line whose program, where it is a path, is one from the file, wherever quell runs.
fn placed(words: &[String], folder: &Path) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(first) = words.first_mut().filter(|word| word.contains('/')) {
        let path = std::path::absolute(folder.join(&first));
        *first = path.map_or(std::mem::take(first), |path| path.display().to_string());
    }
    words
}

/// A text of TOML in which expressions stand in braces: these are doubled.
fn quoted(text: &str) -> String {
    let doubled = text.replace('{', "{{").replace('}', "}}");
    Json::from(doubled).to_string()
}

fn programs(
    reader: &mut Reader<'_>,
    key: &str,
    root: &Node,
    table: &Table,
    sends: &'static str,
) -> Programs {
    let mut words = |name: &str| match table.get(name) {
        Some(node) if matches!(node.value, Tree::Array(_)) => reader.texts(name, node),
        Some(node) => {
            reader.wrong(
                name,
                node,
                "must be a list of words: [\"program\", \"$SERVER\"]",
            );
            Vec::new()
        }
        None => Vec::new(),
    };
    let (server, client) = (words("server"), words("client"));
    let sends = match table.get("sends") {
        Some(node) => reader.word("sends", node, &SENDS).unwrap_or(sends),
        None => sends,
    };
    let control = match table.get("control") {
        Some(node) if matches!(node.value, Tree::Table(_)) => {
            inline(reader, "control", node, CONTROL)
        }
        _ => reader
            .text_of(key, table, "control")
            .map(|name| quoted(&name)),
    };
    let app = "must be a table such as { kind = \"rtc\", control = \"scream\" }";
    let app = table
        .get("app")
        .and_then(|node| inline(reader, "app", node, app));
    if control.is_none() && app.is_none() && client.is_empty() {
        reader.about(
            "client",
            root,
            "is missing; give server and client, or of quell's own flows their congestion control (control) or application (app)",
        );
    }
    Programs {
        sends,
        server,
        client,
        control,
        app,
    }
}

/// The table of a control or an application, as a line of a scenario; what its keys mean is a scenario's to say.
fn inline(reader: &mut Reader<'_>, name: &str, node: &Node, wrong: &str) -> Option<String> {
    let written = |(key, value): (&str, &Node)| match &value.value {
        Tree::Scalar(TomlType::String, text) => Some(format!("{key} = {}", quoted(text))),
        Tree::Scalar(_, text) => Some(format!("{key} = {text}")),
        _ => None,
    };
    let keys = match &node.value {
        Tree::Table(table) => table.iter().map(written).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    if keys.is_none() {
        reader.wrong(name, node, wrong);
    }
    keys.map(|keys| format!("{{ {} }}", keys.join(", ")))
}
