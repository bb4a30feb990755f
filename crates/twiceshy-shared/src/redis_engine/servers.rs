//! One server or a cluster: finding the right one, and asking again where that is safe.
//!
//! The cluster client of the `redis` crate is not used: after a connection breaks it sends a request once more on its own, and the answer to
//! the second one, `Moved`, would hide that the first was carried out. Here only reads are sent again, and what was refused.

use super::scripts::Lua;
use super::server::{Server, Trouble};
use super::slots::{Address, Map};
use crate::engine::EngineError;
use redis::{Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, ProtocolVersion, RedisError};
use redis::{ServerErrorKind, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How often a request is sent that was refused for the moment, or could not be sent.
const ATTEMPTS: u32 = 6;

/// The pause before the second attempt. It doubles each time.
const PAUSE: Duration = Duration::from_millis(10);

/// How long one server is asked for the map before the next one is asked, too: one that is stopped answers nothing.
const NEXT: Duration = Duration::from_millis(20);

/// The servers of a set.
pub(super) struct Servers {
    /// Those that were named.
    seeds: Vec<Arc<Server>>,
    /// Their user and password.
    like: ConnectionInfo,
    cluster: Option<Mutex<Cluster>>,
}

#[derive(Debug, Default)]
struct Cluster {
    /// A slot that is not in it must be asked for.
    map: Map,
    /// Those that were met.
    servers: HashMap<Address, Arc<Server>>,
}

/// A request: a command or a script.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) what: What,
    pub(super) slot: u16,
    /// `true` if it changes something, so that it must not be sent twice.
    pub(super) changes: bool,
    pub(super) keys: Vec<String>,
    pub(super) args: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Command(&'static str),
    Script(&'static Lua),
}

impl Call {
    /// The command. A script by its digest, or whole.
    fn command(&self, whole: bool) -> Cmd {
        let mut command = match self.what {
            What::Command(name) => redis::cmd(name),
            What::Script(script) => {
                let mut command = redis::cmd(if whole { "EVAL" } else { "EVALSHA" });
                command.arg(if whole { script.code } else { &script.digest }).arg(self.keys.len());
                command
            }
        };
        command.arg(&self.keys).arg(&self.args);
        command
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.cluster.is_some() { "Cluster" } else { "Server" };
        f.debug_tuple(name).field(&self.seeds).finish()
    }
}

impl Servers {
    pub(super) fn new(urls: &[&str], is_cluster: bool) -> Result<Servers, EngineError> {
        let infos: Vec<ConnectionInfo> = urls.iter().map(|url| parse(url)).collect::<Result<_, _>>()?;
        let like = infos.first().cloned().ok_or_else(|| EngineError::Failed("no server was named".to_owned()))?;
        let seed = |info: &ConnectionInfo| match info.addr() {
            ConnectionAddr::Tcp(host, port) => {
                Server::new(Address { host: host.clone(), port: *port }, info).map(Arc::new).map_err(|_| not_a_url())
            }
            _ => Err(not_a_url()),
        };
        let seeds = infos.iter().map(seed).collect::<Result<_, _>>()?;
        Ok(Servers { seeds, like, cluster: is_cluster.then(Mutex::default) })
    }

    /// Sends a request to the server of its slot.
    pub(super) async fn call(&self, call: &Call) -> Result<Value, EngineError> {
        let (mut command, mut redirected, mut pause) = (call.command(false), None, PAUSE);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (server, asking) = match redirected.take() {
                Some(there) => there,
                None => (self.server(call.slot).await?, false),
            };
            let trouble = match server.send(&command, asking).await {
                Ok(value) => return Ok(value),
                Err(trouble) => trouble,
            };
            let is_last = attempt == ATTEMPTS;
            match trouble {
                Trouble::Refused(error) => match error.kind() {
                    ErrorKind::Server(ServerErrorKind::NoScript) if !is_last => {
                        command = call.command(true);
                        redirected = Some((server, asking));
                        continue;
                    }
                    ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask) if !is_last => {
                        redirected = self.redirect(&server, &error);
                        continue;
                    }
                    ErrorKind::Server(kind) if !is_last && passes(kind) => self.forget(&server),
                    _ => return Err(EngineError::Failed(self.text(&server, &error))),
                },
                Trouble::Lost(error) if call.changes => {
                    self.forget(&server);
                    return Err(EngineError::Unknown(self.text(&server, &error)));
                }
                Trouble::Unsent(error) | Trouble::Lost(error) => {
                    self.forget(&server);
                    if is_last {
                        return Err(EngineError::Failed(self.text(&server, &error)));
                    }
                }
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Servers that may be up, the named ones last: any of them tells what is published in the cluster.
    pub(super) fn any(&self) -> Vec<Arc<Server>> {
        let met = self.cluster().map(|cluster| cluster.servers.values().cloned().collect::<Vec<_>>());
        met.unwrap_or_default().into_iter().chain(self.seeds.iter().cloned()).collect()
    }

    fn cluster(&self) -> Option<MutexGuard<'_, Cluster>> {
        self.cluster.as_ref().map(|cluster| cluster.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The slots of this server must be asked for. Those of others are still known: one server that does not answer is no trouble for them.
    fn forget(&self, server: &Server) {
        if let Some(mut cluster) = self.cluster() {
            cluster.map.forget(&server.address);
        }
    }

    /// The server of a slot.
    async fn server(&self, slot: u16) -> Result<Arc<Server>, EngineError> {
        let known = match self.cluster() {
            None => return Ok(Arc::clone(&self.seeds[0])),
            Some(cluster) => cluster.map.primary(slot).cloned(),
        };
        let address = match known {
            Some(address) => address,
            None => self.ask_for_map(slot).await?,
        };
        self.meet(address)
    }

    fn meet(&self, address: Address) -> Result<Arc<Server>, EngineError> {
        let Some(mut cluster) = self.cluster() else { return Ok(Arc::clone(&self.seeds[0])) };
        if let Some(server) = cluster.servers.get(&address) {
            return Ok(Arc::clone(server));
        }
        let server = Arc::new(Server::new(address.clone(), &self.like).map_err(|_| not_a_url())?);
        cluster.servers.insert(address, Arc::clone(&server));
        Ok(server)
    }

    /// Asks the servers for the map, each some time after the one before it, until one has it.
    async fn ask_for_map(&self, slot: u16) -> Result<Address, EngineError> {
        let mut problem = format!("no server of the cluster has slot {slot}");
        let mut asked = JoinSet::new();
        for (at, server) in (0..).zip(self.any()) {
            asked.spawn(async move {
                sleep(NEXT * at).await;
                let answer = server.send(redis::cmd("CLUSTER").arg("SLOTS"), false).await;
                (server, answer)
            });
        }
        while let Some(Ok((server, answer))) = asked.join_next().await {
            let map = match answer {
                Ok(answer) => Map::parse(&answer, &server.address),
                Err(Trouble::Unsent(error) | Trouble::Lost(error) | Trouble::Refused(error)) => {
                    problem = self.text(&server, &error);
                    None
                }
            };
            let address = map.as_ref().and_then(|map| map.primary(slot)).cloned();
            if let (Some(map), Some(address)) = (map, address) {
                for replica in &map.replicas {
                    self.meet(replica.clone())?;
                }
                if let Some(mut cluster) = self.cluster() {
                    cluster.map = map;
                }
                return Ok(address);
            }
        }
        Err(EngineError::Failed(problem))
    }

    /// The server that another one has named; `None` if it must be looked up.
    fn redirect(&self, by: &Server, error: &RedisError) -> Option<(Arc<Server>, bool)> {
        let is_moved = error.kind() == ErrorKind::Server(ServerErrorKind::Moved);
        if is_moved {
            self.forget(by);
        }
        let address = Address::parse(error.redirect_node()?.0, &by.address)?;
        self.meet(address).ok().map(|server| (server, !is_moved))
    }

    /// A message about an error. A server may repeat a command that it does not know, and the password is in one.
    fn text(&self, server: &Server, error: &RedisError) -> String {
        let text = format!("{server:?}: {error}");
        match self.like.redis_settings().password() {
            Some(password) if !password.is_empty() => text.replace(password, "…"),
            _ => text,
        }
    }
}

/// `true` for a refusal that will pass.
fn passes(kind: ServerErrorKind) -> bool {
    matches!(
        kind,
        ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::ReadOnly
    )
}

/// Reads a URL. An error does not repeat it, since it may have a password.
fn parse(url: &str) -> Result<ConnectionInfo, EngineError> {
    if url.starts_with("rediss:") || url.starts_with("valkeys:") {
        return Err(EngineError::Failed("connections with TLS are not supported: use redis://".to_owned()));
    }
    let info = url.into_connection_info().map_err(|_| not_a_url())?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    Ok(info.set_redis_settings(settings))
}

fn not_a_url() -> EngineError {
    EngineError::Failed("the address is invalid: use redis://[user:password@]host[:port][/database]".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let servers = Servers::new(&["redis://anne:hidden-word@localhost:7000/2"], false).expect("a URL");
        assert!(!format!("{servers:?}").contains("hidden"), "{servers:?}");
        let detail = "unknown command 'AUTH', with args beginning with: 'anne' 'hidden-word'".to_owned();
        let error = RedisError::from((ErrorKind::Client, "ERR", detail));
        let text = servers.text(&servers.seeds[0], &error);
        assert!(text.contains("localhost:7000") && text.contains("AUTH") && !text.contains("hidden"), "{text}");
        for url in
            ["redis//:hidden@host", "rediss://:hidden@host", "http://:hidden@host", "hidden", "redis+unix:///hidden"]
        {
            let error = Servers::new(&[url], false).expect_err("no URL of a server").to_string();
            assert!(!error.contains("hidden"), "{error}");
        }
        assert!(Servers::new(&[], true).is_err());
    }
}
