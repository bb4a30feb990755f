//! The engine of a run: a server that is started for it.

use std::io;
use std::str::FromStr;
use twiceshy_shared::servers::PostgresServer;

/// An engine by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// A PostgreSQL server.
    Postgres,
    /// A Redis Cluster of three primaries and three replicas.
    RedisCluster,
    /// The engine in memory, with members in this process.
    Memory,
}

impl EngineKind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Postgres => "postgres",
            EngineKind::RedisCluster => "redis-cluster",
            EngineKind::Memory => "memory",
        }
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> Result<EngineKind, String> {
        let kinds = [EngineKind::Postgres, EngineKind::RedisCluster, EngineKind::Memory];
        let found = kinds.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("there is no engine {name:?}: use postgres, redis-cluster or memory"))
    }
}

/// A server that is started for a run, and removed after it.
pub(super) enum Server {
    Postgres(PostgresServer),
}

impl Server {
    pub(super) fn start(kind: EngineKind) -> io::Result<Server> {
        match kind {
            EngineKind::Postgres => Ok(Server::Postgres(PostgresServer::start()?)),
            EngineKind::RedisCluster | EngineKind::Memory => Err(io::Error::other("this engine has no server yet")),
        }
    }

    /// The address of a set.
    pub(super) fn address(&self, set: &str) -> String {
        match self {
            Server::Postgres(server) => format!("{}#{set}", server.address()),
        }
    }
}

impl Server {
    /// Ends some connections of members, whatever they are doing.
    pub(super) fn cut(&self, connections: u64) -> io::Result<()> {
        match self {
            Server::Postgres(server) => {
                let members = "application_name = 'twiceshy' AND pid <> pg_backend_pid()";
                server.run_sql(&format!(
                    "SELECT pg_terminate_backend(pid) FROM
                        (SELECT pid FROM pg_stat_activity WHERE {members} ORDER BY random() LIMIT {connections}) chosen"
                ))
            }
        }
    }

    /// Crashes the server and starts it again.
    pub(super) fn crash(&mut self) -> io::Result<()> {
        match self {
            Server::Postgres(server) => server.restart(true),
        }
    }

    /// Removes a set.
    pub(super) fn drop_set(&self, set: &str) -> io::Result<()> {
        match self {
            Server::Postgres(server) => server.run_sql(&format!("DROP SCHEMA \"{set}\" CASCADE")),
        }
    }
}

/// What the bare engine does.
pub(super) struct Bare {
    /// The milliseconds of single insertions.
    pub(super) insert_ms: Vec<f64>,
    /// Rows a second in batches of 1,000.
    pub(super) batch_keys_per_second: f64,
    /// Absent look-ups a second.
    pub(super) lookups_per_second: f64,
}

impl Server {
    /// `true` if sets in it can be exact.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Server::Postgres(_) => true,
        }
    }

    /// Measures a plain table of keys and values.
    pub(super) fn bare(&self, insertions: u64, batches: u64) -> io::Result<Bare> {
        match self {
            Server::Postgres(server) => {
                let bare = server.bare(insertions, batches)?;
                Ok(Bare {
                    insert_ms: bare.insert_ms,
                    batch_keys_per_second: bare.batch_keys_per_second,
                    lookups_per_second: bare.lookups_per_second,
                })
            }
        }
    }
}
