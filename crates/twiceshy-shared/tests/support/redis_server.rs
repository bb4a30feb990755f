//! Real Redis servers for tests, each on a free port with a folder and a password of its own. They end with the test.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a server may take to start.
const STARTING: Duration = Duration::from_secs(20);

/// `true` if the programs are there. Where they must be, it panics if they are not.
pub(crate) fn is_installed() -> bool {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success());
    let installed = runs("redis-server") && runs("redis-cli");
    assert!(installed || std::env::var_os("CI").is_none(), "redis-server is not installed");
    if !installed {
        println!("skipped: redis-server is not installed");
    }
    installed
}

/// A random number.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RedisServer {
    child: Option<Child>,
    folder: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: String,
    options: String,
}

impl RedisServer {
    /// Starts a server with more lines of configuration.
    pub(crate) fn start(options: &str) -> RedisServer {
        RedisServer::with_password(options, &format!("{:016x}", random()))
    }

    fn with_password(options: &str, password: &str) -> RedisServer {
        let folder = std::env::temp_dir().join(format!("twiceshy-redis-{}-{:x}", std::process::id(), random()));
        std::fs::create_dir(&folder).expect("a folder for temporary files");
        let (password, options) = (password.to_owned(), options.to_owned());
        let mut server = RedisServer { child: None, folder, port: 0, password, options };
        for _ in 0..50 {
            server.port = free_port();
            if server.run() {
                return server;
            }
        }
        panic!("no server could be started");
    }

    /// `false` if it ends at once: another program has taken the port.
    fn run(&mut self) -> bool {
        let mut child = Command::new("redis-server")
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let RedisServer { folder, port, password, options, .. } = self;
        let config = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nlogfile log\nsave \"\"\nrequirepass {password}\nmasterauth {password}\n{options}\n",
            folder.display()
        );
        child.stdin.take().expect("it was asked for").write_all(config.as_bytes()).expect("it reads");
        self.child = Some(child);
        let begin = Instant::now();
        while begin.elapsed() < STARTING {
            let ended = self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                return false;
            }
            if self.says("PING").is_some_and(|said| said.contains("PONG")) {
                return true;
            }
            sleep(Duration::from_millis(10));
        }
        false
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
    }

    /// Ends the process at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on the same port, with what it has on disk.
    pub(crate) fn restart(&mut self) {
        let begin = Instant::now();
        while !self.run() {
            assert!(begin.elapsed() < STARTING, "the server does not start again");
        }
    }

    /// What the server answers to a command.
    pub(crate) fn says(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("AUTH {}\r\n{command}\r\nQUIT\r\n", self.password).as_bytes()).ok()?;
        let mut said = Vec::new();
        stream.read_to_end(&mut said).ok()?;
        Some(String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that is free now, and so is the one that a cluster uses beside it.
fn free_port() -> u16 {
    loop {
        let port = 20_000 + (random() % 12_000) as u16;
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    }
}

/// Three primaries, and a replica of each.
#[derive(Debug)]
pub(crate) struct RedisCluster {
    pub(crate) servers: Vec<RedisServer>,
}

impl RedisCluster {
    pub(crate) fn start() -> RedisCluster {
        let options = "appendonly yes\ncluster-enabled yes\ncluster-config-file nodes.conf\ncluster-node-timeout 1000\n\
            repl-diskless-sync-delay 0";
        let password = format!("{:016x}", random());
        let servers: Vec<RedisServer> = (0..6).map(|_| RedisServer::with_password(options, &password)).collect();
        let addresses = servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .env("REDISCLI_AUTH", &password)
            .output()
            .expect("redis-cli is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        let cluster = RedisCluster { servers };
        cluster.wait_until_whole();
        cluster
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(RedisServer::url).collect()
    }

    /// Waits until all servers that run agree that all slots are served, and all replicas follow.
    pub(crate) fn wait_until_whole(&self) {
        let begin = Instant::now();
        let is_whole = |server: &RedisServer| {
            let is_ok = server.says("CLUSTER INFO").is_some_and(|said| said.contains("cluster_state:ok"));
            let follows = server.says("INFO replication").is_some_and(|said| !said.contains("master_link_status:down"));
            is_ok && follows
        };
        while !self.servers.iter().filter(|server| server.child.is_some()).all(is_whole) {
            assert!(begin.elapsed() < STARTING, "the cluster does not become whole");
            sleep(Duration::from_millis(20));
        }
    }

    /// The number of a server that is a primary.
    pub(crate) fn primary(&self) -> usize {
        let is_primary = |server: &RedisServer| server.says("ROLE").is_some_and(|said| said.contains("master"));
        self.servers.iter().position(is_primary).expect("a cluster has primaries")
    }
}
