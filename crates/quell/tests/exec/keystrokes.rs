//! What a person who types over ssh feels while something is downloaded.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use quell_testing::not_run;
use quell_testing::program::{text, wait_until};
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use crate::Case;
use crate::clients::{fill_the_queue, median};
use crate::fixture::{Fake, SERVER};

pub(crate) const CASES: &[Case] = &[(
    "keystrokes_beside_a_download_echo_sooner_behind_dualpi2",
    keystrokes_beside_a_download_echo_sooner_behind_dualpi2,
)];

/// Where the server of ssh listens.
const SSH: u16 = 2222;
const PASSWD: &str = "/etc/passwd";
const KEYS: usize = 40;
/// Of the link, without its queue.
const RTT_MS: f64 = 20.0;

fn keystrokes_beside_a_download_echo_sooner_behind_dualpi2(fake: &Fake) {
    let test = "keystrokes_beside_a_download_echo_sooner_behind_dualpi2";
    if !["dropbear", "dbclient", "dropbearkey"].into_iter().all(has) {
        return not_run(test, "dropbear is missing");
    }
    let server = match Server::start(fake) {
        Ok(server) => server,
        Err(why) => return not_run(test, &why),
    };
    let median = |queue: &str| {
        let options = [
            "--down", "10mbit", "--up", "5mbit", "--rtt", "20ms", "--queue", queue,
            // The control of this machine may keep the queue short by itself: BBR does.
            "--far-cc", "cubic",
        ];
        let key = server.place("key");
        let (said, _) = fake.role(&options, "typist", key.to_str().unwrap());
        let echoes: Vec<f64> = said.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(echoes.len(), KEYS, "{queue}: {said}");
        median(echoes)
    };
    let (drop_tail, dualpi2) = (median("fifo:limit=250ms"), median("dualpi2"));
    println!(
        "{test}: {drop_tail:.0} ms behind drop-tail of 250 ms, {dualpi2:.0} ms behind DualPI2"
    );
    assert!(dualpi2 >= RTT_MS, "{dualpi2} ms");
    assert!(drop_tail > 2.0 * dualpi2, "{drop_tail} ms and {dualpi2} ms");
}

fn has(program: &str) -> bool {
    let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
    folders
        .iter()
        .any(|folder| Path::new(folder).join(program).is_file())
}

/// A server of ssh in the Internet, with keys of its own, for the user that runs this. Its home is a folder of the test: the mounts of this
/// process are its own, and nobody else sees its `/etc/passwd`.
struct Server {
    folder: tempfile::TempDir,
    child: Child,
}

impl Server {
    /// Why there is none otherwise.
    fn start(fake: &Fake) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let keys = place("home/.ssh");
        fs::create_dir_all(&keys).unwrap();
        for part in [place("home"), keys.clone()] {
            fs::set_permissions(part, fs::Permissions::from_mode(0o700)).unwrap();
        }
        make_key(&place("host"));
        let public = make_key(&place("key"));
        fs::write(keys.join("authorized_keys"), public).unwrap();
        fs::set_permissions(
            keys.join("authorized_keys"),
            fs::Permissions::from_mode(0o600),
        )
        .unwrap();
        let user = rustix::process::getuid().as_raw();
        let group = rustix::process::getgid().as_raw();
        let home = place("home");
        let entry = format!("typist:x:{user}:{group}::{}:/bin/sh\n", home.display());
        fs::write(place("passwd"), entry).unwrap();
        mount_bind(place("passwd"), PASSWD).map_err(|why| format!("no mount: {why}"))?;
        let mut command = Command::new("dropbear");
        command
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .args(["-F", "-E", "-s", "-m"])
            .args(["-p", &format!("{SERVER}:{SSH}")])
            .arg("-r")
            .arg(place("host"))
            .arg("-P")
            .arg(place("pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = fake.internet.run(|| command.spawn().unwrap()).unwrap();
        let server = Self { folder, child };
        wait_until("the server of ssh listens", || {
            fake.run(|| TcpStream::connect((SERVER, SSH)).is_ok())
        });
        Ok(server)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = unmount(PASSWD, UnmountFlags::DETACH);
    }
}

/// Makes a key; returns the line of its public half.
fn make_key(place: &Path) -> String {
    let mut command = Command::new("dropbearkey");
    command.args(["-t", "ed25519", "-f"]).arg(place);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let line = said.lines().find(|line| line.starts_with("ssh-"));
    format!("{}\n", line.unwrap())
}

/// Types while a download fills the link; prints how many milliseconds each key took to come back.
pub(crate) fn typist(key: &str) {
    fill_the_queue();
    let port = SSH.to_string();
    let at = format!("typist@{SERVER}");
    let mut client = Command::new("dbclient")
        .args(["-T", "-y", "-y", "-i", key, "-p", &port, &at, "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut into = client.stdin.take().unwrap();
    let mut out = client.stdout.take().unwrap();
    let mut key = |letter: u8| {
        let began = Instant::now();
        into.write_all(&[letter]).unwrap();
        let mut back = [0];
        out.read_exact(&mut back).unwrap();
        assert_eq!(back, [letter]);
        began.elapsed()
    };
    // The first one waits for the handshakes.
    key(b'\n');
    for letter in (b'a'..=b'z').cycle().take(KEYS) {
        thread::sleep(Duration::from_millis(50));
        println!("{:.3}", key(letter).as_secs_f64() * 1e3);
    }
    drop(into);
    client.wait().unwrap();
}
