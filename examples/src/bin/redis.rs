//! A guard beside Redis: `examples/run redis`.

use redis::{Commands, Connection, RedisResult, ScanOptions};
use std::sync::Arc;
use twiceshy_examples::{Bench, Failure, Subject, fill, round_trip};
use twiceshy_store::{Beside, Guard, Resynced};

/// The users of an application: strings in Redis, and a guard beside them.
struct Users {
    db: Connection,
    guard: Arc<Beside>,
}

impl Users {
    /// What the application did before it had a guard.
    fn get(db: &mut Connection, email: &str) -> RedisResult<Option<String>> {
        round_trip();
        db.get(email)
    }

    /// Asks Redis unless the guard knows that the user is absent.
    fn find(&mut self, email: &str) -> RedisResult<Option<String>> {
        self.guard.get_or_load(email, |email| Users::get(&mut self.db, email))
    }

    /// After an error nobody may know whether the key is there. The ticket is dropped then: such a key is always looked up.
    fn insert(&mut self, email: &str, name: &str) -> Result<(), Failure> {
        let ticket = self.guard.announce([email])?;
        let () = self.db.set(email, name)?;
        Ok(ticket.done()?)
    }

    fn delete(&mut self, email: &str) -> Result<(), Failure> {
        let ticket = self.guard.retire([email])?;
        let () = self.db.del(email)?;
        Ok(ticket.done()?)
    }

    /// Tells a new guard which users exist. All writers of these keys are in this process, and take tickets.
    ///
    /// There are no open transactions to wait for: a command is atomic, and so is MULTI. SCAN may return a key twice, and may
    /// miss one that comes or goes meanwhile; that one has a ticket. Scan the primary: a replica lags behind.
    fn adopt(&mut self) -> Result<Resynced, Failure> {
        let users = ScanOptions::default().with_pattern("user-*").with_count(1_000);
        Ok(self.guard.adopt(|| self.db.scan_options::<String>(users))?)
    }
}

fn main() -> Result<(), Failure> {
    let mut bench = Bench::from_arguments("Redis")?;
    let mut db = redis::Client::open(bench.server())?.get_connection()?;
    fill::redis(&mut db, bench.rows())?;

    let mut users = Users { db, guard: bench.plain()? };
    bench.adopt(|| users.adopt())?;
    bench.measure(Subject::Bare, |email| Users::get(&mut users.db, email))?;
    bench.measure(Subject::Plain, |email| users.find(email))?;
    drop(users.guard);

    // The guard knows the keys already. Now it learns.
    let mut users = Users { guard: bench.counted(Guard::beside(bench.path("guard"))?), ..users };
    bench.measure(Subject::Guarded, |email| users.find(email))?;

    users.insert("user-new@example.org", "New")?;
    assert_eq!(users.find("user-new@example.org")?.as_deref(), Some("New"));
    users.delete("user-new@example.org")?;
    assert_eq!(users.find("user-new@example.org")?, None);
    bench.finish()
}
