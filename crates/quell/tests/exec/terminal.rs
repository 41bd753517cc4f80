//! A program behind the link in a terminal: the keys reach it once, and not quell.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::setsid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::Case;
use crate::fixture::{Fake, QUELL};

pub(crate) const CASES: &[Case] = &[(
    "ctrl_c_reaches_the_program_once_and_the_report_is_printed",
    ctrl_c_reaches_the_program_once_and_the_report_is_printed,
)];

/// No word on the terminal takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// ETX, which a terminal turns into SIGINT (termios(3), VINTR).
const CTRL_C: &[u8] = &[3];

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

fn ctrl_c_reaches_the_program_once_and_the_report_is_printed(fake: &Fake) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let place = ptsname(&master, Vec::new()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env(crate::clients::ROLE, "login")
        .env(crate::clients::WORDS, place.to_str().unwrap())
        .env_remove("QUELL_DEPTH")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = fake.run(|| command.spawn().unwrap());

    let mut screen = std::fs::File::from(master.try_clone().unwrap());
    let (says, said) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut buffer = [0; 4096];
        // It fails once nobody has the terminal open any more.
        while let Ok(read @ 1..) = screen.read(&mut buffer) {
            if says.send(buffer[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut text = String::new();
    let read_until = |word: &str, text: &mut String| {
        while !text.contains(word) {
            let more = said.recv_timeout(PATIENCE);
            let more = more.unwrap_or_else(|error| panic!("no {word:?}: {error}: {text}"));
            text.push_str(&String::from_utf8_lossy(&more));
        }
    };
    read_until("ready", &mut text);
    let mut keyboard = std::fs::File::from(master);
    keyboard.write_all(CTRL_C).unwrap();
    read_until("heard 1\r\n", &mut text);
    read_until("behind 50mbit fifo", &mut text);
    assert!(text.contains("was ended by signal SIGINT"), "{text}");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    drop(keyboard);
    reader.join().unwrap();
}
