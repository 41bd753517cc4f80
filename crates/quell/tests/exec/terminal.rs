//! A program behind the link in a terminal: the keys reach it once, and not quell.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::setsid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::Case;
use crate::fixture::{Fake, QUELL};

pub(crate) const CASES: &[Case] = &[
    (
        "ctrl_c_reaches_the_program_once_and_the_report_is_printed",
        ctrl_c_reaches_the_program_once_and_the_report_is_printed,
    ),
    (
        "ctrl_z_stops_the_program_and_fg_lets_it_go_on",
        ctrl_z_stops_the_program_and_fg_lets_it_go_on,
    ),
    (
        "the_terminal_is_given_back_when_a_shell_inside_has_ended",
        the_terminal_is_given_back_when_a_shell_inside_has_ended,
    ),
];

/// What a session runs; a shell for a person where it is empty.
const SCRIPT: &str = "QUELL_TEST_SCRIPT";

/// No word on the terminal takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// ETX, which a terminal turns into SIGINT (termios(3), VINTR).
const CTRL_C: &[u8] = &[3];
/// SUB, which it turns into SIGTSTP (VSUSP).
const CTRL_Z: &[u8] = &[26];

/// The role of a login: a session whose terminal is `place`, and in it `quell exec` with this program in the role `keys`.
pub(crate) fn login(place: &str) {
    setsid().unwrap();
    // The first terminal that the head of a session opens is that of the session.
    let open = || OpenOptions::new().read(true).write(true).open(place);
    let own = std::env::current_exe().unwrap();
    let error = Command::new(QUELL)
        .args(["exec", "--rate", "50mbit", "--"])
        .arg(own)
        .env(crate::clients::ROLE, "keys")
        .env(crate::clients::WORDS, "")
        .stdin(open().unwrap())
        .stdout(open().unwrap())
        .stderr(open().unwrap())
        .exec();
    panic!("{error}");
}

/// The role of a program that counts the keys that reach it, and then ends by the signal.
pub(crate) fn keys() {
    let mut signals = Signals::new([SIGINT]).unwrap();
    println!("ready");
    let mut count = signals.wait().count();
    // One that came twice would be here by now; a slow machine may only miss it.
    thread::sleep(Duration::from_millis(300));
    count += signals.pending().count();
    println!("heard {count}");
    signal_hook::low_level::emulate_default_handler(SIGINT).unwrap();
}

/// A terminal with a keyboard and a screen, and a process in front of it.
struct Screen {
    keyboard: File,
    said: mpsc::Receiver<Vec<u8>>,
    text: String,
    child: Child,
}

impl Screen {
    /// With the role of a login, which gets the terminal and `words`.
    fn with(fake: &Fake, role: &str, words: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let place = ptsname(&master, Vec::new()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(crate::clients::ROLE, role)
            .env(crate::clients::WORDS, place.to_str().unwrap())
            .env(SCRIPT, words)
            .env_remove("QUELL_DEPTH")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = fake.run(|| command.spawn().unwrap());
        let mut screen = File::from(master.try_clone().unwrap());
        let (says, said) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // It fails once nobody has the terminal open any more.
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                if says.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            keyboard: File::from(master),
            said,
            text: String::new(),
            child,
        }
    }

    /// Waits until a word is on the screen, after those that were read before.
    fn read(&mut self, word: &str) {
        while !self.text.contains(word) {
            let more = self.said.recv_timeout(PATIENCE);
            let more = more.unwrap_or_else(|error| panic!("no {word:?}: {error}: {}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&more));
        }
        let end = self.text.find(word).map_or(0, |at| at + word.len());
        self.text.drain(..end);
    }

    fn type_in(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }
}

fn ctrl_c_reaches_the_program_once_and_the_report_is_printed(fake: &Fake) {
    let mut screen = Screen::with(fake, "login", "");
    screen.read("ready");
    screen.type_in(CTRL_C);
    screen.read("heard 1\r\n");
    screen.read("was ended by signal SIGINT");
    screen.read("behind 50mbit fifo");
    assert_eq!(screen.child.wait().unwrap().code(), Some(130));
}

/// The role of a login with a shell that has job control, or runs a script.
pub(crate) fn session(place: &str) {
    setsid().unwrap();
    let open = || OpenOptions::new().read(true).write(true).open(place);
    let script = std::env::var(SCRIPT).unwrap();
    let mut shell = Command::new("sh");
    match script.is_empty() {
        true => shell.arg("-i"),
        false => shell.args(["-c", &script]),
    };
    let error = shell
        .env("PS1", "prompt> ")
        .env("ENV", "")
        .env("QUELL", QUELL)
        .env_remove(crate::clients::ROLE)
        .stdin(open().unwrap())
        .stdout(open().unwrap())
        .stderr(open().unwrap())
        .exec();
    panic!("{error}");
}

fn ctrl_z_stops_the_program_and_fg_lets_it_go_on(fake: &Fake) {
    let mut screen = Screen::with(fake, "session", "");
    screen.read("prompt> ");
    screen.type_in(b"$QUELL exec --quiet -- sh -c 'echo re\"\"ady; read x; echo got $x'\n");
    screen.read("ready");
    screen.type_in(CTRL_Z);
    screen.read("prompt> ");
    screen.type_in(b"jobs; echo is $((1 + 1))\n");
    screen.read("Stopped");
    screen.read("is 2");
    screen.type_in(b"fg\n");
    thread::sleep(Duration::from_millis(200));
    screen.type_in(b"hello\n");
    screen.read("got hello");
    screen.read("prompt> ");
    // A shell inside has job control of its own. dash ends with 2, as docs/limitations.md says.
    screen.type_in(b"PS1='inner> ' $QUELL exec --quiet -- bash --norc --noprofile -i\n");
    screen.read("inner> ");
    // It has the terminal once it speaks, and is one process: a child that stops before its exec would hold sh, which has called vfork.
    screen.type_in(b"sh -c 'echo re\"\"ady; exec sleep 600'\n");
    screen.read("ready");
    screen.type_in(CTRL_Z);
    screen.read("Stopped");
    // With a job that it takes for stopped the shell would not exit.
    screen.type_in(b"kill -9 %1; while kill -0 %1 2>/dev/null; do :; done; exit 3\n");
    screen.read("prompt> ");
    screen.type_in(b"echo code $?\n");
    screen.read("code 3");
    screen.type_in(b"exit\n");
    screen.child.wait().unwrap();
}

fn the_terminal_is_given_back_when_a_shell_inside_has_ended(fake: &Fake) {
    // A shell without job control does not take it back itself: what reads next would be stopped, or see an end.
    let script = "PS1='inner> ' $QUELL exec --quiet -- sh -i; read x; echo got $x";
    let mut screen = Screen::with(fake, "session", script);
    screen.read("inner> ");
    screen.type_in(b"exit\n");
    thread::sleep(Duration::from_millis(200));
    screen.type_in(b"hello\n");
    screen.read("got hello");
    assert!(screen.child.wait().unwrap().success());
}
