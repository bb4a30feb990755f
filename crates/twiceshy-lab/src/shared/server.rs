//! The engine of a run: a server that is started for it.

use std::io;
use std::str::FromStr;
use std::time::Duration;
use twiceshy_shared::servers::{Bare, PostgresServer, RedisCluster, now};

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

    /// `true` if sets in it can be exact.
    pub fn is_exact(self) -> bool {
        self != EngineKind::RedisCluster
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
#[derive(Debug)]
pub(super) enum Server {
    Postgres(PostgresServer),
    Redis(RedisCluster),
}

impl Server {
    /// `None` for the engine in memory.
    pub(super) fn start(kind: EngineKind) -> io::Result<Option<Server>> {
        Ok(match kind {
            EngineKind::Postgres => Some(Server::Postgres(PostgresServer::start()?)),
            EngineKind::RedisCluster => Some(Server::Redis(RedisCluster::start()?)),
            EngineKind::Memory => None,
        })
    }

    /// The address of a set.
    pub(super) fn address(&self, set: &str) -> String {
        match self {
            Server::Postgres(server) => format!("{}#{set}", server.address()),
            Server::Redis(cluster) => format!("{}#{set}", cluster.address()),
        }
    }

    /// Ends some connections of members, whatever they are doing.
    pub(super) fn cut(&mut self, connections: u64) -> io::Result<()> {
        match self {
            Server::Postgres(server) => {
                let members = "application_name = 'twiceshy' AND pid <> pg_backend_pid()";
                server.run_sql(&format!(
                    "SELECT pg_terminate_backend(pid) FROM
                        (SELECT pid FROM pg_stat_activity WHERE {members} ORDER BY random() LIMIT {connections}) chosen"
                ))
            }
            Server::Redis(cluster) => {
                // All clients of some of the servers.
                for server in
                    cluster.servers().iter().filter(|server| server.is_running()).take(connections as usize / 2)
                {
                    server.says("CLIENT KILL TYPE normal")?;
                }
                Ok(())
            }
        }
    }

    /// Crashes the server and starts it again; in a cluster a primary, whose replica takes over. Returns the time in which the engine's promise does
    /// not hold.
    pub(super) fn crash(&mut self) -> io::Result<(u64, u64)> {
        let begin = now();
        match self {
            Server::Postgres(server) => {
                server.restart(true)?;
                Ok((begin, begin))
            }
            Server::Redis(cluster) => {
                let Some(primary) = cluster.primary() else { return Ok((begin, begin)) };
                cluster.servers()[primary].kill();
                // Until then the others wait for it to come back.
                std::thread::sleep(Duration::from_millis(1_500));
                cluster.wait_until_whole()?;
                cluster.servers()[primary].restart()?;
                cluster.wait_until_whole()?;
                Ok((begin, now()))
            }
        }
    }

    /// Removes a set. A cluster keeps it: it is small, and gone with the cluster.
    pub(super) fn drop_set(&self, set: &str) -> io::Result<()> {
        match self {
            Server::Postgres(server) => server.run_sql(&format!("DROP SCHEMA \"{set}\" CASCADE")),
            Server::Redis(_) => Ok(()),
        }
    }

    /// Measures plain keys and values.
    pub(super) fn bare(&self, insertions: u64, batches: u64) -> io::Result<Bare> {
        match self {
            Server::Postgres(server) => server.bare(insertions, batches),
            Server::Redis(cluster) => cluster.bare(insertions, batches),
        }
    }
}
