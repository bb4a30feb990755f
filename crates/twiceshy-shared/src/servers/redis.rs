//! Redis servers, and a cluster of them.

use super::{PATIENCE, Running, User, find, folder, free_port, password};
use rustix::process::Signal;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A Redis server without data.
#[derive(Debug)]
pub struct RedisServer {
    running: Option<Running>,
    user: Option<User>,
    port: u16,
    password: String,
    /// More lines of its configuration.
    options: String,
    /// Last, so that the server has ended when its folder is removed.
    folder: TempDir,
}

impl RedisServer {
    /// `true` if the server and its client are installed.
    pub fn is_installed() -> bool {
        find("redis-server").is_some() && find("redis-cli").is_some()
    }

    /// Starts a server with more lines of configuration.
    pub fn start(options: &str) -> io::Result<RedisServer> {
        RedisServer::with_password(options, &password())
    }

    fn with_password(options: &str, password: &str) -> io::Result<RedisServer> {
        let user = User::for_server("redis")?;
        let (password, options) = (password.to_owned(), options.to_owned());
        let mut server = RedisServer { running: None, user, port: 0, password, options, folder: folder(user)? };
        for _ in 0..20 {
            server.port = free_port();
            if server.run()? {
                return Ok(server);
            }
        }
        Err(io::Error::other("redis-server could not be started"))
    }

    /// Starts the server on its port, with what it has on disk. `false` if it ends at once: another program has taken the port.
    fn run(&mut self) -> io::Result<bool> {
        let missing =
            || io::Error::other("redis-server is not installed (on Debian and Ubuntu: apt-get install redis-server)");
        let program = find("redis-server").ok_or_else(missing)?;
        let RedisServer { port, password, options, .. } = self;
        let path = self.folder.path();
        // Command lines can be seen by others.
        let config = path.join("config");
        let lines = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsave \"\"\nrequirepass {password}\nmasterauth {password}\n{options}\n",
            path.display()
        );
        fs::write(&config, lines)?;
        User::owns(self.user, &config)?;
        let mut command = User::command(self.user, &program, path);
        command.arg("config");
        self.running = Running::start(command, &path.join("log"), "eady to accept connections", Signal::TERM)?;
        Ok(self.running.is_some())
    }

    /// Its address, with the password.
    pub fn address(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `true` if it was not killed.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::KILL);
        }
    }

    /// Pauses it: its connections stay open, and nothing is answered.
    pub fn pause(&self) {
        self.running.iter().for_each(|running| running.signal(Signal::STOP));
    }

    /// Lets it go on after a pause.
    pub fn resume(&self) {
        self.running.iter().for_each(|running| running.signal(Signal::CONT));
    }

    /// Starts it again on the same port, with what it has on disk.
    pub fn restart(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        while !self.run()? {
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other("redis-server could not be started again"));
            }
        }
        Ok(())
    }

    /// `true` if it runs and takes itself for a primary.
    pub fn is_primary(&self) -> bool {
        self.is_running() && self.says("ROLE").is_ok_and(|said| said.contains("master"))
    }

    /// What the server answers to a command.
    pub fn says(&self, command: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(format!("AUTH {}\r\n{command}\r\nQUIT\r\n", self.password).as_bytes())?;
        let mut said = Vec::new();
        stream.read_to_end(&mut said)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// A Redis Cluster: three primaries, and a replica of each.
#[derive(Debug)]
pub struct RedisCluster {
    servers: Vec<RedisServer>,
}

/// How long a primary is silent until it is replaced.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);

impl RedisCluster {
    /// Starts six servers, and makes a cluster of them, which soon replaces a primary that is silent.
    pub fn start() -> io::Result<RedisCluster> {
        RedisCluster::with_timeout(NODE_TIMEOUT)
    }

    /// A cluster that replaces a primary that is silent for this long.
    pub fn with_timeout(silent: Duration) -> io::Result<RedisCluster> {
        let options = format!(
            "appendonly yes\ncluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout {}\n\
             repl-diskless-sync-delay 0",
            silent.as_millis()
        );
        let password = password();
        let servers =
            (0..6).map(|_| RedisServer::with_password(&options, &password)).collect::<io::Result<Vec<_>>>()?;
        let addresses = servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .env("REDISCLI_AUTH", &password)
            .stdin(Stdio::null())
            .output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!(
                "no cluster could be made: {}",
                String::from_utf8_lossy(&made.stdout)
            )));
        }
        let cluster = RedisCluster { servers };
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// The addresses of the servers.
    pub fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(RedisServer::address).collect()
    }

    /// One address for all, with the password.
    pub fn address(&self) -> String {
        let hosts: Vec<String> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        let password = self.servers.first().map_or("", |server| &server.password);
        format!("redis-cluster://:{password}@{}", hosts.join(","))
    }

    /// The servers.
    pub fn servers(&mut self) -> &mut [RedisServer] {
        &mut self.servers
    }

    /// Waits until all servers that run agree that all slots are served, and all replicas follow.
    pub fn wait_until_whole(&self) -> io::Result<()> {
        let begin = Instant::now();
        let is_whole = |server: &RedisServer| {
            let is_ok = server.says("CLUSTER INFO").is_ok_and(|said| said.contains("cluster_state:ok"));
            is_ok && server.says("INFO replication").is_ok_and(|said| !said.contains("master_link_status:down"))
        };
        while !self.servers.iter().filter(|server| server.is_running()).all(is_whole) {
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other("the cluster does not become whole"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The number of a server that is a primary.
    pub fn primary(&self) -> Option<usize> {
        self.servers.iter().position(RedisServer::is_primary)
    }

    /// The number of a replica that follows this primary.
    pub fn replica_of(&self, primary: usize) -> Option<usize> {
        let said = self.servers[primary].says("INFO replication").ok()?;
        let online: Vec<&str> = said.lines().filter(|line| line.contains("state=online")).collect();
        let follows = |server: &RedisServer| online.iter().any(|line| line.contains(&format!("port={},", server.port)));
        self.servers.iter().position(|server| server.is_running() && follows(server))
    }
}
