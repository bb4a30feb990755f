//! One server, and the connection to it.

use super::slots::Address;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, Value};
use std::fmt;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long a connection may take.
pub(super) const CONNECTING: Duration = Duration::from_secs(2);

/// How long an answer may take. Then the connection is taken for dead, and made anew.
const ANSWERING: Duration = Duration::from_secs(5);

/// A server. The connection is made when it is needed, and made anew after it broke.
pub(super) struct Server {
    pub(super) address: Address,
    pub(super) client: Client,
    connection: Mutex<Link>,
}

/// A connection, and how many there were before it.
#[derive(Default)]
struct Link {
    number: u64,
    connection: Option<MultiplexedConnection>,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It was not sent.
    Unsent(RedisError),
    /// It was sent, and nobody knows what became of it.
    Lost(RedisError),
    /// The server refused it, and has changed nothing.
    Refused(RedisError),
}

impl fmt::Debug for Server {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address.host, self.address.port)
    }
}

impl Server {
    /// A server at this address, with the user and the password of another.
    pub(super) fn new(address: Address, like: &ConnectionInfo) -> Result<Server, RedisError> {
        let to = ConnectionAddr::Tcp(address.host.clone(), address.port);
        let client = Client::open(like.clone().set_addr(to))?;
        Ok(Server { address, client, connection: Mutex::default() })
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), RedisError> {
        let mut link = self.connection.lock().await;
        if let Some(connection) = &link.connection {
            return Ok((link.number, connection.clone()));
        }
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECTING)).set_response_timeout(Some(ANSWERING));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        link.number += 1;
        link.connection = Some(connection.clone());
        Ok((link.number, connection))
    }

    /// The next request makes a new connection, unless another one did already.
    async fn give_up(&self, number: u64) {
        let mut link = self.connection.lock().await;
        if link.number == number {
            link.connection = None;
        }
    }

    /// Sends a command. With `asking`, to a server that is taking over the slot.
    pub(super) async fn send(&self, command: &Cmd, asking: bool) -> Result<Value, Trouble> {
        let (number, mut connection) = self.connection().await.map_err(Trouble::Unsent)?;
        let answer = if asking {
            let mut pipeline = redis::pipe();
            pipeline.cmd("ASKING").ignore().add_command(command.clone());
            pipeline.query_async::<Vec<Value>>(&mut connection).await.map(|mut values| values.pop().unwrap_or_default())
        } else {
            command.query_async::<Value>(&mut connection).await
        };
        match answer {
            Ok(value) => Ok(value),
            Err(error) if matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) => {
                Err(Trouble::Refused(error))
            }
            Err(error) => {
                self.give_up(number).await;
                Err(Trouble::Lost(error))
            }
        }
    }
}
