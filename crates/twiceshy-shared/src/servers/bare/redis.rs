//! Plain keys and values on a primary of a Redis Cluster: what a shared set is compared with.

use super::super::redis::RedisCluster;
use super::{ABSENT, Bare};
use crate::background;
use crate::engine::EngineError;
use crate::error::Error;
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError};
use std::io;
use std::time::Instant;

impl RedisCluster {
    /// Measures single insertions, batches of 1,000 in one command, and look-ups, over one connection to one primary.
    pub fn bare(&self, insertions: u64, batches: u64) -> io::Result<Bare> {
        let addresses = self.addresses();
        let primary = self.primary().ok_or_else(|| io::Error::other("the cluster has no primary"))?;
        let address = addresses[primary].clone();
        background::block_on(async move {
            let mut connection =
                Client::open(address).map_err(other)?.get_multiplexed_async_connection().await.map_err(other)?;
            measure(&mut connection, insertions, batches).await.map_err(other)
        })
        .map_err(io::Error::other)
    }
}

fn other(error: RedisError) -> Error {
    Error::Engine(EngineError::Failed(error.to_string()))
}

/// A hash tag whose keys are on this server: the others are refused.
async fn own_tag(connection: &mut MultiplexedConnection) -> Result<String, RedisError> {
    let mut number = 0;
    loop {
        let tag = format!("{{bare {number}}}");
        let found = redis::cmd("GET").arg(&tag).query_async::<Option<Vec<u8>>>(connection).await;
        match found {
            Ok(_) => return Ok(tag),
            Err(error) if number == 1_000 => return Err(error),
            Err(_) => number += 1,
        }
    }
}

async fn measure(connection: &mut MultiplexedConnection, insertions: u64, batches: u64) -> Result<Bare, RedisError> {
    let tag = own_tag(connection).await?;
    let key = |number: u64| [tag.as_bytes(), &number.to_be_bytes()].concat();
    let mut insert_ms = Vec::new();
    for number in 0..insertions {
        let begin = Instant::now();
        redis::cmd("SET").arg(key(number)).arg(&[7u8; 16]).query_async::<()>(connection).await?;
        insert_ms.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let begin = Instant::now();
    for batch in 1..=batches {
        let mut command = redis::cmd("MSET");
        (batch * 1_000_000..batch * 1_000_000 + 1_000).for_each(|number| {
            command.arg(key(number)).arg(&[7u8; 16]);
        });
        command.query_async::<()>(connection).await?;
    }
    let batch_keys_per_second = batches as f64 * 1_000.0 / begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for number in 0..2_000 {
        redis::cmd("GET").arg(key(ABSENT + number)).query_async::<Option<Vec<u8>>>(connection).await?;
    }
    let lookups_per_second = 2_000.0 / begin.elapsed().as_secs_f64();
    Ok(Bare { insert_ms, batch_keys_per_second, lookups_per_second })
}
