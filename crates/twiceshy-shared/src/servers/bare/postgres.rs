//! A plain table of keys and values on a PostgreSQL server: what a shared set is compared with.

use super::super::postgres::PostgresServer;
use super::{ABSENT, Bare};
use crate::background;
use crate::error::Error;
use std::io;
use std::time::Instant;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

impl PostgresServer {
    /// Runs statements.
    pub fn run_sql(&self, statements: &str) -> io::Result<()> {
        let (address, statements) = (self.address(), statements.to_owned());
        let run = async move { connect(&address).await?.batch_execute(&statements).await.map_err(other) };
        background::block_on(run).map_err(io::Error::other)
    }

    /// Measures single insertions, batches of 1,000, and look-ups of a plain table.
    pub fn bare(&self, insertions: u64, batches: u64) -> io::Result<Bare> {
        let address = self.address();
        background::block_on(
            async move { measure(&connect(&address).await?, insertions, batches).await.map_err(other) },
        )
        .map_err(io::Error::other)
    }
}

fn other(error: tokio_postgres::Error) -> Error {
    Error::Engine(crate::postgres::before(&error))
}

async fn connect(address: &str) -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.map_err(other)?;
    tokio::spawn(connection);
    Ok(client)
}

async fn measure(client: &Client, insertions: u64, batches: u64) -> Result<Bare, tokio_postgres::Error> {
    let table = "DROP TABLE IF EXISTS bare; CREATE TABLE bare (key bytea PRIMARY KEY, value bytea NOT NULL)";
    client.batch_execute(table).await?;
    let one = "INSERT INTO bare VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    let insert = client.prepare_typed(one, &[Type::BYTEA, Type::BYTEA]).await?;
    let mut insert_ms = Vec::new();
    for number in 0..insertions {
        let begin = Instant::now();
        client.execute(&insert, &[&&number.to_be_bytes()[..], &&[7u8; 16][..]]).await?;
        insert_ms.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let many = "INSERT INTO bare SELECT * FROM unnest($1::bytea[], $2::bytea[]) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    let insert = client.prepare_typed(many, &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY]).await?;
    let begin = Instant::now();
    for batch in 1..=batches {
        let keys: Vec<[u8; 8]> = (batch * 1_000_000..batch * 1_000_000 + 1_000).map(u64::to_be_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        client.execute(&insert, &[&keys, &vec![&[7u8; 16][..]; 1_000]]).await?;
    }
    let batch_keys_per_second = batches as f64 * 1_000.0 / begin.elapsed().as_secs_f64();
    let get = client.prepare_typed("SELECT value FROM bare WHERE key = $1", &[Type::BYTEA]).await?;
    let begin = Instant::now();
    for number in 0..2_000u64 {
        client.query_opt(&get, &[&&(ABSENT + number).to_be_bytes()[..]]).await?;
    }
    let lookups_per_second = 2_000.0 / begin.elapsed().as_secs_f64();
    Ok(Bare { insert_ms, batch_keys_per_second, lookups_per_second })
}
