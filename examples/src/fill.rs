//! The rows that exist before the guard does.

use crate::email;
use futures_util::SinkExt;
use std::io::Cursor;
use std::pin::pin;

fn name(row: u64) -> String {
    format!("User {row}")
}

/// Creates a table and copies rows into it.
pub async fn postgres(db: &tokio_postgres::Client, rows: u64) -> Result<(), tokio_postgres::Error> {
    db.batch_execute("CREATE TABLE users (email text PRIMARY KEY, name text NOT NULL)").await?;
    let mut copy = pin!(db.copy_in("COPY users FROM STDIN").await?);
    for row in 0..rows {
        copy.feed(Cursor::new(format!("{}\t{}\n", email(row), name(row)))).await?;
    }
    copy.finish().await?;
    // Otherwise the server does both later, while something is measured.
    db.batch_execute("VACUUM ANALYZE users").await?;
    db.batch_execute("CHECKPOINT").await
}

/// Sets keys, ten thousand at once.
pub fn redis(db: &mut redis::Connection, rows: u64) -> redis::RedisResult<()> {
    for first in (0..rows).step_by(10_000) {
        let mut pipeline = redis::pipe();
        for row in first..rows.min(first + 10_000) {
            pipeline.set(email(row), name(row)).ignore();
        }
        pipeline.exec(db)?;
    }
    Ok(())
}

/// Creates a table and inserts rows in one transaction.
pub fn sqlite(db: &mut rusqlite::Connection, rows: u64) -> rusqlite::Result<()> {
    db.execute_batch("CREATE TABLE users (email TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID")?;
    let all = db.transaction()?;
    for row in 0..rows {
        all.prepare_cached("INSERT INTO users VALUES (?, ?)")?.execute([email(row), name(row)])?;
    }
    all.commit()?;
    // A long cursor then keeps nobody from writing.
    db.execute_batch("PRAGMA journal_mode = WAL")
}
