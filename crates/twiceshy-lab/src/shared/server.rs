//! The engine of a run: a server that is started for it.

use crate::workload::rng::Rng;
use std::io;
use std::str::FromStr;
use std::time::{Duration, Instant};
use twiceshy_shared::servers::{Bare, PostgresServer, RedisCluster, RedisServer, now};

/// A primary is replaced when a run says so: a busy machine that made the cluster do it would go unnoticed.
const NEVER: Duration = Duration::from_secs(60);

/// How long a cluster may take to become whole.
const PATIENCE: Duration = Duration::from_secs(30);

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
            EngineKind::RedisCluster => Some(Server::Redis(RedisCluster::with_timeout(NEVER)?)),
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

    /// Crashes the server and starts it again. In a cluster a primary with a part of this set is lost, and its replica takes over. Returns the time in
    /// which the engine may lose what it has acknowledged, or be asked at two servers.
    pub(super) fn crash(&mut self, set: &str, rng: &mut Rng) -> io::Result<(u64, u64)> {
        match self {
            Server::Postgres(server) => {
                let begin = now();
                server.restart(true)?;
                Ok((begin, begin))
            }
            Server::Redis(cluster) => fail_over(cluster, set, rng),
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

/// A primary is killed, or paused until its replica has taken over. The replica is told to take over at once: a cluster does the same after its node
/// timeout.
fn fail_over(cluster: &mut RedisCluster, set: &str, rng: &mut Rng) -> io::Result<(u64, u64)> {
    let (primary, replica) = pair(cluster, set, rng)?;
    let is_killed = rng.below(2) == 0;
    let begin = now();
    if is_killed {
        cluster.servers()[primary].kill();
    } else {
        cluster.servers()[primary].pause();
    }
    let killed = now();
    cluster.servers()[replica].says("CLUSTER FAILOVER TAKEOVER")?;
    if is_killed {
        // It answers nobody from here on: when it is back, it is a replica.
        cluster.servers()[primary].restart()?;
        return Ok((begin, killed));
    }
    std::thread::sleep(Duration::from_millis(100 + rng.below(300)));
    // For a moment it still takes itself for a primary.
    cluster.servers()[primary].resume();
    let resumed = Instant::now();
    while cluster.servers()[primary].is_primary() {
        if resumed.elapsed() > PATIENCE {
            return Err(io::Error::other("a primary that was replaced does not become a replica"));
        }
    }
    Ok((begin, now()))
}

/// A primary that has a shard of this set, and a replica that follows it.
fn pair(cluster: &mut RedisCluster, set: &str, rng: &mut Rng) -> io::Result<(usize, usize)> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        // The one that was replaced last may still be loading.
        cluster.wait_until_whole()?;
        let has_shard = |server: &RedisServer| {
            let keys: String = (0..64).map(|shard| format!("EXISTS twiceshy:{{{set}:{shard}}}:head\r\n")).collect();
            server.is_primary() && server.says(keys.trim_end()).is_ok_and(|said| said.contains(":1\r\n"))
        };
        let primaries: Vec<usize> =
            cluster.servers().iter().enumerate().filter(|(_, server)| has_shard(server)).map(|(at, _)| at).collect();
        let pairs: Vec<(usize, usize)> =
            primaries.into_iter().filter_map(|at| Some((at, cluster.replica_of(at)?))).collect();
        if !pairs.is_empty() {
            return Ok(pairs[rng.below(pairs.len() as u64) as usize]);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(io::Error::other("no primary of the set has a replica"))
}
