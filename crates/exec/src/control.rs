//! The control socket: a Unix stream socket in the file system, on which whoever may open it changes the link while the program runs.
//!
//! One JSON object a line, and one line of answer to each, in their order:
//!
//! | request | answer |
//! | --- | --- |
//! | `{"set":{"down":"5mbit","down.queue.target":"9ms"}}` | `{"changed":{"time_s":12.5}}` |
//! | `{"cut":{"how":"rst","to":":443","older":"10s"}}` | `{"cut":3}`: connections; `fin` and `silent` are the other ways, `to` and `older` may be missing |
//! | `{"cut":{"how":"refuse","to":":443"}}` | `{"cut":0}`: from now on for new connections, so `blackhole`, `accept-delay=3s`, `limit=1MB`, and `accept` |
//! | `{"set":{"new":"refuse to :443","cut":"rst older than 10s"}}` | both as changes like any other |
//! | `{"get":"summary"}` | `{"summary":{…}}`: as `summary.json`, up to now |
//! | `{"get":"felt"}` | `{"felt":{…}}`: what the user felt up to now, as in `exec.json` |
//! | `{"get":"link"}` | `{"link":"…"}`: the link in a few words, with what it was told to be since |
//! | `{"get":"program"}` | `{"program":4711}`: its process on this host, for those who join it |
//! | `{"get":"scenario"}` | `{"scenario":"…"}`: the link with all of its changes, as TOML |
//!
//! What cannot be done is answered with `{"error":"…"}`. The file has mode 0600, and is removed at the end. A file that a killed quell has
//! left is replaced; one on which somebody still listens is not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use quell_results::held::{Held, Identity, parent};
use rustix::fs::Mode;
use rustix::process::umask;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::join;
use crate::option_error::OptionError;
use crate::remote::{ChangeError, Remote};

/// The longest request, in bytes.
pub const LONGEST_REQUEST: usize = 64 << 10;
/// The most connections at once.
pub const MOST_CONNECTIONS: usize = 8;
/// How long the other end may take nothing of an answer.
const STALL: Duration = Duration::from_secs(5);
/// Who asks, in results.
const BY: &str = "control";

/// Why a request has another answer than it asked for.
#[derive(Debug, thiserror::Error)]
enum RefusedRequest {
    #[error(
        "{0}; a request is a line such as {{\"set\":{{\"down\":\"5mbit\"}}}}, {{\"get\":\"summary\"}}, {{\"get\":\"felt\"}}, {{\"get\":\"link\"}} or {{\"get\":\"scenario\"}}"
    )]
    Form(#[from] serde_json::Error),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error(transparent)]
    Cut(#[from] OptionError),
}

/// A request.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    Set(BTreeMap<String, Given>),
    Cut(Wish),
    Get(What),
}

/// A value: a number or a word, as a scenario has it.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Given {
    Flag(bool),
    Whole(i64),
    Real(f64),
    Text(String),
}

/// What is to be cut.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    how: String,
    to: Option<String>,
    older: Option<String>,
}

impl Wish {
    /// As results have it.
    fn words(&self) -> String {
        let to = self.to.as_ref().map(|to| format!(" to {to}"));
        let older = self.older.as_ref().map(|age| format!(" older than {age}"));
        format!(
            "{}{}{}",
            self.how,
            to.unwrap_or_default(),
            older.unwrap_or_default()
        )
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Summary,
    Felt,
    Link,
    Program,
    Scenario,
}

impl Given {
    fn text(self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// A socket at its place, on which nobody is answered yet. Its file is removed when this is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The folder around it.
    around: Held,
    /// What the file is: another that somebody has put in its place is left alone.
    file: Identity,
}

impl ControlSocket {
    /// Listens at `path`. For a process with one thread: for a moment its new files have no right for others.
    ///
    /// # Errors
    ///
    /// There is a file already, on which somebody listens or which is no socket, or the system refuses one.
    pub fn bind(path: &Path) -> Result<Self> {
        let refused = |source: io::Error| Error::System {
            doing: format!("listen at {}", path.display()),
            source,
        };
        // So that it can be removed from wherever the program goes.
        let path = std::path::absolute(path).map_err(refused)?;
        // Whoever connects gives the whole path.
        SocketAddr::from_pathname(&path).map_err(refused)?;
        let around = Held::open(parent(&path)).map_err(refused)?;
        let name = path.file_name().unwrap_or_default();
        let here = around.path().join(name);
        if is_left_over(&here) {
            around.remove_file(name).map_err(refused)?;
        }
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(&here);
        umask(before);
        let listener = listener.map_err(refused)?;
        let found = fs::symlink_metadata(&here).map_err(refused)?;
        Ok(Self {
            listener,
            file: (found.dev(), found.ino()),
            around,
            path,
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Answers from now on, in threads that end with the process or when `self` is dropped.
    pub(crate) fn answer(&self, remote: Remote) -> Result<()> {
        let refused = |source| Error::System {
            doing: "answer on the control socket".to_owned(),
            source,
        };
        let listener = self.listener.try_clone().map_err(refused)?;
        let work = move || {
            let open = Arc::new(AtomicUsize::new(0));
            // It ends when the socket is shut.
            while let Ok((stream, _)) = listener.accept() {
                welcome(stream, &remote, &open);
            }
        };
        let thread = thread::Builder::new().name("quell-control".to_owned());
        thread.spawn(work).map(drop).map_err(refused)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Wakes the thread that accepts.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let name = self.path.file_name().unwrap_or_default();
        if self.around.leads(name, self.file) {
            let _ = self.around.remove_file(name);
        }
    }
}

/// Whether there is a socket on which nobody listens.
fn is_left_over(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

/// Gives a connection a thread of its own, where there is room.
fn welcome(stream: UnixStream, remote: &Remote, open: &Arc<AtomicUsize>) {
    let _ = stream.set_write_timeout(Some(STALL));
    if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
        open.fetch_sub(1, Ordering::Relaxed);
        let why = format!("{MOST_CONNECTIONS} connections are open already; close one");
        let _ = tell(&stream, &json!({ "error": why }));
        return;
    }
    let (remote, open) = (remote.clone(), open.clone());
    let closed = open.clone();
    let work = move || {
        // Whoever breaks a connection knows it.
        let _ = converse(&stream, |line| reply(line, &remote));
        open.fetch_sub(1, Ordering::Relaxed);
    };
    let thread = thread::Builder::new().name("quell-control".to_owned());
    if thread.spawn(work).is_err() {
        closed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers line by line until the other end has finished, or has sent a line that is too long.
fn converse(stream: &UnixStream, mut answer: impl FnMut(&[u8]) -> Value) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let most = LONGEST_REQUEST as u64 + 1;
        reader.by_ref().take(most).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if line.len() > LONGEST_REQUEST {
            let why = format!("a request may have {LONGEST_REQUEST} bytes at most");
            tell(stream, &json!({ "error": why }))?;
            return stream.shutdown(Shutdown::Both);
        }
        if !line.trim_ascii().is_empty() {
            tell(stream, &answer(&line))?;
        }
    }
}

fn tell(mut stream: &UnixStream, answer: &Value) -> io::Result<()> {
    stream.write_all(format!("{answer}\n").as_bytes())
}

fn reply(line: &[u8], remote: &Remote) -> Value {
    done(line, remote).unwrap_or_else(|why| json!({ "error": why.to_string() }))
}

fn done(line: &[u8], remote: &Remote) -> Result<Value, RefusedRequest> {
    match read(line)? {
        Request::Set(set) => {
            let wishes = set.into_iter().map(|(key, value)| (key, value.text()));
            let at = remote.change(&wishes.collect::<Vec<_>>(), BY)?;
            Ok(json!({ "changed": { "time_s": at.as_nanos() as f64 / 1e9 } }))
        }
        Request::Cut(wish) => {
            let words = wish.words();
            let count = remote.cut(words.parse()?, words, BY)?;
            Ok(json!({ "cut": count }))
        }
        Request::Get(What::Summary) => Ok(json!({ "summary": remote.summary()? })),
        Request::Get(What::Felt) => Ok(json!({ "felt": remote.impact()? })),
        Request::Get(What::Link) => Ok(json!({ "link": remote.describe() })),
        Request::Get(What::Program) => Ok(join::said(remote.program())),
        Request::Get(What::Scenario) => {
            Ok(json!({ "scenario": remote.plan().scenario().to_toml() }))
        }
    }
}

fn read(line: &[u8]) -> Result<Request, RefusedRequest> {
    Ok(serde_json::from_slice(line)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn requests_are_read_or_refused_in_words() {
        let set = |key: &str, value| Request::Set(BTreeMap::from([(key.to_owned(), value)]));
        for (line, expected) in [
            (
                r#"{"set":{"down":"5mbit"}}"#,
                set("down", Given::Text("5mbit".into())),
            ),
            (
                r#"{"set":{"link.overhead":14}}"#,
                set("link.overhead", Given::Whole(14)),
            ),
            (r#"{"set":{"a":0.25}}"#, set("a", Given::Real(0.25))),
            (r#" {"set":{"a":true}} "#, set("a", Given::Flag(true))),
            (r#"{"get":"summary"}"#, Request::Get(What::Summary)),
            (r#"{"get":"felt"}"#, Request::Get(What::Felt)),
            (r#"{"get":"scenario"}"#, Request::Get(What::Scenario)),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap(), expected, "{line}");
        }
        for line in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"get":"all"}"#,
            r#"{"set":{"down":[1]}}"#,
            r#"{"set":{"down":null}}"#,
            r#"{"set":"down"}"#,
            r#"{"get":"summary","set":{}}"#,
            r#"{"end":1}"#,
            "{\"set\":{\"\u{0}",
        ] {
            let why = read(line.as_bytes()).unwrap_err().to_string();
            assert!(why.contains("a request is a line"), "{line}: {why}");
        }
        let deep = "{\"set\":{\"a\":".repeat(1_000);
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn the_file_is_the_owners_alone_and_goes_with_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let control = ControlSocket::bind(&path).unwrap();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Another one does not take its place.
        let error = ControlSocket::bind(&path).unwrap_err().to_string();
        assert!(error.contains("control"), "{error}");
        drop(control);
        assert!(!path.exists());
        // What a killed process has left is replaced, another file is not.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(ControlSocket::bind(&path).unwrap());
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        assert!(ControlSocket::bind(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        // What somebody has put in its place stays, too.
        fs::remove_file(&path).unwrap();
        let control = ControlSocket::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        drop(control);
        assert!(path.exists());
        let long = folder.path().join("x".repeat(200));
        assert!(ControlSocket::bind(&long).is_err());
    }

    #[test]
    fn each_line_has_an_answer_and_one_that_is_too_long_ends_the_connection() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || converse(&ours, |line| json!(line.len())));
        let mut there = &theirs;
        there.write_all(b"ab\n\n  \nabc\n").unwrap();
        let mut lines = BufReader::new(&theirs).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "3");
        assert_eq!(lines.next().unwrap().unwrap(), "4");
        there.write_all(&vec![b'x'; LONGEST_REQUEST + 1]).unwrap();
        assert!(lines.next().unwrap().unwrap().contains("bytes at most"));
        assert!(lines.next().is_none());
        server.join().unwrap().unwrap();
    }
}
