//! A PostgreSQL server.

use super::{Running, User, find, folder, free_port, password};
use rustix::process::Signal;
use std::fs;
use std::io;
use std::path::PathBuf;
use tempfile::TempDir;

/// A PostgreSQL server with an empty database.
#[derive(Debug)]
pub struct PostgresServer {
    running: Option<Running>,
    program: PathBuf,
    user: Option<User>,
    port: u16,
    password: String,
    /// Last, so that the server has ended when its folder is removed.
    folder: TempDir,
}

impl PostgresServer {
    /// `true` if the server is installed.
    pub fn is_installed() -> bool {
        find("postgres").is_some() && find("initdb").is_some()
    }

    /// Starts a server. It syncs its log to disk at each commit, as servers do.
    pub fn start() -> io::Result<PostgresServer> {
        let missing =
            || io::Error::other("postgres is not installed (on Debian and Ubuntu: apt-get install postgresql)");
        let (program, initdb) = find("postgres").zip(find("initdb")).ok_or_else(missing)?;
        let user = User::for_server("postgres")?;
        let (folder, password) = (folder(user)?, password());
        let file = folder.path().join("password");
        fs::write(&file, &password)?;
        User::owns(user, &file)?;
        let mut command = User::command(user, &initdb, folder.path());
        command.args(["--no-locale", "-E", "UTF8", "-U", "postgres", "-A", "scram-sha-256", "--pwfile", "password"]);
        let made = command.args(["--no-sync", "data"]).output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let mut server = PostgresServer { running: None, program, user, port: 0, password, folder };
        for _ in 0..5 {
            server.port = free_port();
            if server.run()? {
                return Ok(server);
            }
        }
        let log = fs::read_to_string(server.folder.path().join("log"))?;
        Err(io::Error::other(format!("postgres could not be started: {log}")))
    }

    /// Starts the server on its port, with the data that is there.
    fn run(&mut self) -> io::Result<bool> {
        let mut command = User::command(self.user, &self.program, self.folder.path());
        command.args(["-D", "data", "-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=200"]);
        // On TERM it would wait for its clients.
        let log = self.folder.path().join("log");
        self.running = Running::start(command, &log, "ready to accept connections", Signal::INT)?;
        Ok(self.running.is_some())
    }

    /// The address of its database, with the password.
    pub fn address(&self) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// Ends the server, at once if `crash`, and starts it again with the same data.
    pub fn restart(&mut self, crash: bool) -> io::Result<()> {
        if let Some(mut running) = self.running.take() {
            // On QUIT it ends without saving anything, and recovers from its log.
            running.stop(if crash { Signal::QUIT } else { Signal::INT });
        }
        for _ in 0..50 {
            if self.run()? {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Err(io::Error::other("postgres could not be started again"))
    }
}
