//! Servers for tests and experiments: started with an empty data folder on a free port of this machine alone, and removed afterwards.

mod bare;
mod postgres;
mod redis;

pub use bare::Bare;
pub use postgres::PostgresServer;
pub use redis::{RedisCluster, RedisServer};

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server has to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// The nanoseconds since this machine was started: the same for all its processes.
pub fn now() -> u64 {
    crate::clock::machine_nanos()
}

/// Finds a server's program: in the path, or where Debian puts PostgreSQL.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    debian.sort();
    let folders = std::env::split_paths(&path).chain(debian.into_iter().rev());
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// What to do without a server: a test says that it was skipped, unless this is a run of continuous integration.
pub fn skip(program: &str) {
    assert!(std::env::var_os("CI").is_none(), "{program} is not installed, and CI is set");
    println!("skipped: {program} is not installed");
}

/// A port that nobody listens on now, below those that clients get; and so is the one that a cluster uses beside it.
fn free_port() -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let port = 20_000 + (crate::names::random() % 12_000) as u16;
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    }
}

/// A user other than root for servers that refuse to run as root.
#[derive(Clone, Copy, Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// `None` if this process need not change its user.
    fn for_server(name: &str) -> io::Result<Option<User>> {
        if !rustix::process::getuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let find = |name: &str| {
            let fields =
                users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
            Some(User { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
        };
        Ok(find(name).or_else(|| find("nobody")))
    }

    fn owns(user: Option<User>, path: &Path) -> io::Result<()> {
        user.map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid)))
    }

    /// A command as this user.
    fn command(user: Option<User>, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        command
    }
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
struct Running {
    child: Child,
    signal: rustix::process::Signal,
}

impl Running {
    /// Starts a server and waits until its log says that it is ready; `None` if it has ended instead.
    fn start(
        mut command: Command,
        log: &Path,
        ready: &str,
        signal: rustix::process::Signal,
    ) -> io::Result<Option<Running>> {
        let out = File::create(log)?;
        command.stdout(out.try_clone()?).stderr(out);
        let mut running = Running { child: command.spawn()?, signal };
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if fs::read_to_string(log)?.contains(ready) {
                return Ok(Some(running));
            }
            if running.child.try_wait()?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn stop(&mut self, signal: rustix::process::Signal) {
        self.signal(signal);
        // One that is paused would not hear it.
        self.signal(rustix::process::Signal::CONT);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(self.signal);
    }
}

/// A folder for a server's data.
fn folder(user: Option<User>) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("twiceshy-server").tempdir()?;
    User::owns(user, folder.path())?;
    Ok(folder)
}

/// A password that is on no command line.
fn password() -> String {
    format!("{:016x}{:016x}", crate::names::random(), crate::names::random())
}
