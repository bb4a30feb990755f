//! A guard beside a SQLite file: `examples/run sqlite`.

use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::sync::Arc;
use twiceshy_examples::{Bench, Failure, Subject, fill, round_trip};
use twiceshy_store::{Beside, Guard, Resynced};

/// The users of an application: rows of a table, and a guard beside them.
struct Users {
    db: Connection,
    guard: Arc<Beside>,
}

impl Users {
    /// What the application did before it had a guard.
    fn select(&self, email: &str) -> rusqlite::Result<Option<String>> {
        round_trip();
        let mut select = self.db.prepare_cached("SELECT name FROM users WHERE email = ?")?;
        select.query_row([email], |row| row.get(0)).optional()
    }

    /// Asks the database unless the guard knows that the user is absent.
    fn find(&self, email: &str) -> rusqlite::Result<Option<String>> {
        self.guard.get_or_load(email, |email| self.select(email))
    }

    fn insert(&self, email: &str, name: &str) -> Result<(), Failure> {
        let ticket = self.guard.announce([email])?;
        match self.db.execute("INSERT INTO users VALUES (?, ?)", [email, name]) {
            Ok(_) => Ok(ticket.done()?),
            Err(error) => {
                // Nothing was written. If that is not certain, the ticket is dropped: such a key is always looked up.
                if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
                    ticket.rolled_back()?;
                }
                Err(error.into())
            }
        }
    }

    fn delete(&self, email: &str) -> Result<(), Failure> {
        let ticket = self.guard.retire([email])?;
        self.db.execute("DELETE FROM users WHERE email = ?", [email])?;
        Ok(ticket.done()?)
    }

    /// Tells a new guard which rows exist. All writers of the table are in this process, and take tickets.
    fn adopt(&self) -> Result<Resynced, Failure> {
        let mut select = self.db.prepare("SELECT email FROM users")?;
        let adopted = self.guard.adopt(|| {
            // Wait until the transaction has ended that is open now, if any: the cursor would not see its rows.
            self.db.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            select.query_map([], |row| row.get::<_, String>(0))
        });
        Ok(adopted?)
    }
}

fn main() -> Result<(), Failure> {
    let mut bench = Bench::from_arguments("SQLite")?;
    let mut db = Connection::open(bench.path("users.sqlite"))?;
    fill::sqlite(&mut db, bench.rows())?;

    let users = Users { db, guard: bench.plain()? };
    bench.adopt(|| users.adopt())?;
    bench.measure(Subject::Bare, |email| users.select(email))?;
    bench.measure(Subject::Plain, |email| users.find(email))?;
    drop(users.guard);

    // The guard knows the rows already. Now it learns.
    let users = Users { guard: bench.counted(Guard::beside(bench.path("guard"))?), ..users };
    bench.measure(Subject::Guarded, |email| users.find(email))?;

    users.insert("new@example.org", "New")?;
    assert_eq!(users.find("new@example.org")?.as_deref(), Some("New"));
    users.delete("new@example.org")?;
    assert_eq!(users.find("new@example.org")?, None);
    bench.finish()
}
