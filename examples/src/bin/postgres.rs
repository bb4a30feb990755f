//! A guard beside PostgreSQL: `examples/run postgres`.

use futures_util::TryStreamExt;
use std::sync::Arc;
use tokio::{runtime::Handle, time};
use tokio_postgres::{Client, Error, NoTls, Statement};
use twiceshy_examples::{Bench, Failure, Subject, fill, round_trip};
use twiceshy_store::{Beside, Guard, Resynced};

/// The users of an application: rows of a table, and a guard beside them.
struct Users {
    db: Client,
    select: Statement,
    guard: Arc<Beside>,
}

impl Users {
    /// What the application did before it had a guard.
    async fn select(&self, email: &str) -> Result<Option<String>, Error> {
        round_trip();
        Ok(self.db.query_opt(&self.select, &[&email]).await?.map(|row| row.get(0)))
    }

    /// Asks the database unless the guard knows that the user is absent.
    async fn find(&self, email: &str) -> Result<Option<String>, Error> {
        self.guard.get_or_load_async(email, |email| self.select(email)).await
    }

    /// After an error nobody may know whether the row is there. The ticket is dropped then: such a key is always looked up.
    async fn insert(&self, email: &str, name: &str) -> Result<(), Failure> {
        let ticket = self.guard.announce_async([email]).await?;
        self.db.execute("INSERT INTO users VALUES ($1, $2)", &[&email, &name]).await?;
        Ok(ticket.done_async().await?)
    }

    async fn delete(&self, email: &str) -> Result<(), Failure> {
        let ticket = self.guard.retire([email])?;
        self.db.execute("DELETE FROM users WHERE email = $1", &[&email]).await?;
        Ok(ticket.done_async().await?)
    }

    /// Tells a new guard which rows exist. All writers of the table are in this process, and take tickets.
    fn adopt(&self) -> Result<Resynced, Failure> {
        Ok(self.guard.adopt(|| {
            let mut rows = Box::pin(Handle::current().block_on(async {
                // Wait until all transactions have ended that are open now: the cursor would not see their rows.
                let now: String = self.db.query_one("SELECT pg_current_xact_id()::text", &[]).await?.get(0);
                let ended = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::text::xid8";
                while !self.db.query_one(ended, &[&now]).await?.get::<_, bool>(0) {
                    time::sleep(time::Duration::from_millis(100)).await;
                }
                self.db.query_raw("SELECT email FROM users", [""; 0]).await
            })?);
            let next = move || Handle::current().block_on(rows.try_next()).transpose();
            Ok(std::iter::from_fn(next).map(|row| row?.try_get::<_, String>(0)))
        })?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut bench = Bench::from_arguments("PostgreSQL")?;
    let (db, connection) = tokio_postgres::connect(bench.server(), NoTls).await?;
    tokio::spawn(connection);
    fill::postgres(&db, bench.rows()).await?;
    let select = db.prepare("SELECT name FROM users WHERE email = $1").await?;
    let users = Users { db, select, guard: bench.plain()? };
    bench.adopt(|| tokio::task::block_in_place(|| users.adopt()))?;
    bench.measure_async(Subject::Bare, async |email: &str| users.select(email).await).await?;
    bench.measure_async(Subject::Plain, async |email: &str| users.find(email).await).await?;
    drop(users.guard);
    // The guard knows the rows already. Now it learns.
    let users = Users { guard: bench.counted(Guard::beside(bench.path("guard"))?), ..users };
    bench.measure_async(Subject::Guarded, async |email: &str| users.find(email).await).await?;
    users.insert("new@example.org", "New").await?;
    assert_eq!(users.find("new@example.org").await?.as_deref(), Some("New"));
    users.delete("new@example.org").await?;
    assert_eq!(users.find("new@example.org").await?, None);
    bench.finish()
}
