//! The engine on PostgreSQL: a schema with a few tables, and a function for each transaction that does more than one thing.

mod append;
mod line;
mod news;
mod snapshots;

use crate::engine::{
    Append, Appended, Engine, EngineError, Log, Logged, Member, Open, Promise, Renewal, Renewed, Reply, Settle,
    Snapshot, Span,
};
use crate::names::{Announcement, Head, MemberId, Shard, SnapshotId};
#[cfg(feature = "testing")]
pub(crate) use line::before;
use line::{Connect, Failure, Line, With};
use news::{Listener, Teller};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, NoTls, Row, Socket};
use twiceshy::remote::{Generation, Key, Position};

/// The tables and functions of a set.
const SCHEMA: &str = include_str!("schema.sql");

/// The triggers that note rows which are written past the guard.
const TRIGGERS: &str = include_str!("triggers.sql");

/// The longest key that fits into a row of the index.
const LONGEST_KEY: usize = 2_000;

/// The connections for transactions that must be on disk when they return. Those that wait for the disk at once share the wait.
const COMMITTERS: usize = 4;

/// Statements are planned without statistics, and must use the index in any case. The server gives
/// up a statement before its client does, so that the client knows its end.
const SETTINGS: &str = "SET lock_timeout = '2s'; SET statement_timeout = '9s'; SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET client_min_messages = warning; SET default_transaction_isolation = 'read committed'; SET jit = off";

/// For what may be lost in a crash of the server: acknowledgements and notifications.
const QUICK_SETTINGS: &str =
    "SET lock_timeout = '2s'; SET statement_timeout = '9s'; SET synchronous_commit = off; SET enable_seqscan = off; SET enable_bitmapscan = off;
    SET plan_cache_mode = force_generic_plan;
    SET client_min_messages = warning; SET jit = off";

/// A shared set in a PostgreSQL database.
///
/// The set is a schema of the database, with the tables that it needs; several sets can be in one database. The server must not lose
/// what it has committed: `fsync` and `synchronous_commit` must be on (a session's own setting is not touched), and where it fails over,
/// it needs synchronous standbys.
///
/// ```no_run
/// use twiceshy_shared::{PostgresEngine, Set, Shared};
///
/// # async fn example() -> Result<(), twiceshy_shared::Error> {
/// let engine = PostgresEngine::new("postgres://user:password@localhost/database", "users")?;
/// Set::new().expected_keys(1_000_000).create(&engine).await?;
/// let guard = Shared::open(engine).await?;
/// # Ok(())
/// # }
/// ```
pub struct PostgresEngine {
    connect: Arc<dyn Connect>,
    set: String,
    schema: String,
    /// The channel of notifications.
    channel: String,
    committers: [Line; COMMITTERS],
    next: AtomicUsize,
    reader: Line,
    /// A renewal must not wait behind a transaction that waits.
    renewals: Line,
    quick: Arc<Line>,
    teller: Teller,
    listener: Listener,
    /// The triggers are those of this version.
    triggers: OnceCell<()>,
}

impl fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresEngine").field("set", &self.set).finish_non_exhaustive()
    }
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl PostgresEngine {
    /// The set with this name, in the database at this address: a `postgres://` URL or `key=value` pairs. Connects when it is used.
    pub fn new(address: &str, set: &str) -> Result<PostgresEngine, EngineError> {
        PostgresEngine::with_tls(address, set, NoTls)
    }

    /// The same over TLS, with a connector of a crate for it, such as `tokio-postgres-rustls` or `postgres-native-tls`.
    pub fn with_tls<T>(address: &str, set: &str, tls: T) -> Result<PostgresEngine, EngineError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        // The parser's own message could repeat a part of the address, with the password.
        let mut config: Config =
            address.parse().map_err(|_| EngineError::Failed("the address is not one of PostgreSQL".to_owned()))?;
        let is_name =
            |set: &str| set.len() <= 48 && set.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if set.is_empty() || !is_name(set) {
            let message = format!("a set's name has 1 to 48 letters, digits and underscores: not {set:?}");
            return Err(EngineError::Failed(message));
        }
        config.application_name("twiceshy").connect_timeout(Duration::from_secs(5));
        // A standby may lack members, records and values.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.keepalives_idle(Duration::from_secs(10)).tcp_user_timeout(Duration::from_secs(20));
        let connect: Arc<dyn Connect> = Arc::new(With { config, tls });
        let schema = quoted(set);
        let line = |settings| Line::new(Arc::clone(&connect), &schema, settings);
        let quick = Arc::new(line(QUICK_SETTINGS));
        let channel = format!("twiceshy_{set}");
        Ok(PostgresEngine {
            set: set.to_owned(),
            committers: [(); COMMITTERS].map(|()| line(SETTINGS)),
            next: AtomicUsize::new(0),
            reader: line(SETTINGS).for_reading(),
            renewals: line(SETTINGS),
            teller: Teller::start(Arc::clone(&quick), channel.clone()),
            quick,
            listener: Listener::default(),
            triggers: OnceCell::new(),
            channel,
            schema,
            connect,
        })
    }

    fn committer(&self) -> &Line {
        &self.committers[self.next.fetch_add(1, Ordering::Relaxed) % COMMITTERS]
    }

    /// A text with the names of the set.
    fn named(&self, text: &str) -> String {
        text.replace("{set}", &self.schema).replace("{name}", &self.set)
    }

    /// Puts the triggers of this version in the place of others: with those of an older version, or one that somebody has disabled, rows that
    /// are written past the guard may be denied.
    async fn renew_triggers(&self) -> Result<(), EngineError> {
        let text = "SELECT count(*) FROM pg_trigger WHERE tgrelid = '{set}.value'::regclass
            AND tgname IN ('note_row', 'note_key') AND tgenabled = 'A'";
        let rows = self.reader.query(text, &[], &[]).await?;
        if rows.first().is_some_and(|row| row.get::<_, i64>(0) == 2) {
            return Ok(());
        }
        let client = line::open(&self.connect, None).await?;
        line::run_once(&client, SETTINGS).await?;
        let made = line::run_once(&client, &format!("BEGIN; {} COMMIT;", self.named(TRIGGERS))).await;
        made.map_err(|failure| {
            let is_another = matches!(&failure, Failure::Refused { code, .. } if code == SqlState::INSUFFICIENT_PRIVILEGE.code());
            let advice = if is_another { "let the owner of the table open the set once" } else { "open the set again" };
            let error = EngineError::from(failure);
            EngineError::Failed(format!(
                "the triggers on {}.value are not those of this version, so rows could be denied, and they could not be replaced: \
                 {advice} ({error})",
                self.schema
            ))
        })
    }

    async fn make(&self, description: &[u8], shards: u32) -> Result<bool, EngineError> {
        let client = line::open(&self.connect, None).await?;
        let [tables, triggers] = [SCHEMA, TRIGGERS].map(|text| self.named(text));
        let hex: String = description.iter().map(|byte| format!("{byte:02x}")).collect();
        let rows = format!(
            "INSERT INTO {schema}.description (bytes) VALUES ('\\x{hex}');
             INSERT INTO {schema}.shard (id) SELECT generate_series(0, {last});",
            schema = self.schema,
            last = shards - 1
        );
        match client.batch_execute(&format!("BEGIN; {tables} {triggers} {rows} COMMIT;")).await {
            Ok(()) => Ok(true),
            Err(error) => match Failure::from(error) {
                // The schema exists, or is made by another process at this moment.
                Failure::Refused { code, .. } if ["42P06", "23505"].contains(&code.as_str()) => {
                    self.read_description().await?.map(|_| false).ok_or_else(|| {
                        EngineError::Failed(format!("the schema {} is there already and holds no set", self.schema))
                    })
                }
                failure => Err(failure.into()),
            },
        }
    }

    async fn read_description(&self) -> Result<Option<Vec<u8>>, EngineError> {
        match self.reader.query("SELECT bytes FROM {set}.description", &[], &[]).await {
            Ok(rows) => Ok(rows.first().map(|row| row.get(0))),
            // No such schema or table, or a schema that this user may not see.
            Err(Failure::Engine(EngineError::Failed(message)))
                if message.contains("does not exist")
                    && ["relation", "schema"].iter().any(|kind| message.starts_with(kind)) =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure.into()),
        }
    }
}

/// A word as a signed number with the same order.
fn word(word: u64) -> i64 {
    (word ^ (1 << 63)) as i64
}

fn from_word(word: i64) -> u64 {
    word as u64 ^ (1 << 63)
}

fn head(row: &Row, at: usize) -> Head {
    Head { position: row.get::<_, i64>(at) as u64, tag: row.get::<_, i64>(at + 1) as u64 }
}

/// A number that may be above what the server's can be.
fn at_most(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn bytes(keys: &[Key]) -> Vec<&[u8]> {
    keys.iter().map(|key| &**key).collect()
}

impl Engine for PostgresEngine {
    fn promise(&self) -> Promise {
        Promise::Exact
    }

    fn longest_key(&self) -> usize {
        LONGEST_KEY
    }

    fn create<'a>(&'a self, description: &'a [u8], shards: u32) -> Reply<'a, bool> {
        Box::pin(self.make(description, shards))
    }

    fn description(&self) -> Reply<'_, Option<Vec<u8>>> {
        Box::pin(self.read_description())
    }

    fn join(&self, shard: Shard, member: MemberId, root: u64) -> Reply<'_, ()> {
        Box::pin(async move {
            let text = "WITH rooted AS (
                    UPDATE {set}.shard s SET tag = $3, cut_tag = $3 WHERE s.id = $1 AND s.position = 0 AND s.tag <> $3)
                INSERT INTO {set}.member (shard, id, acknowledged)
                SELECT s.id, $2, s.position FROM {set}.shard s WHERE s.id = $1
                ON CONFLICT (shard, id) DO UPDATE SET acknowledged = excluded.acknowledged";
            self.triggers.get_or_try_init(|| self.renew_triggers()).await?;
            let types = [Type::INT4, Type::INT8, Type::INT8];
            let values: [&(dyn ToSql + Sync); 3] = [&(shard.0 as i32), &(member.0 as i64), &(root as i64)];
            self.committer().query(text, &types, &values).await?;
            Ok(())
        })
    }

    fn leave(&self, shard: Shard, member: MemberId) -> Reply<'_, ()> {
        Box::pin(async move {
            let text = "DELETE FROM {set}.member WHERE shard = $1 AND id = $2";
            self.committer().query(text, &[Type::INT4, Type::INT8], &[&(shard.0 as i32), &(member.0 as i64)]).await?;
            Ok(())
        })
    }

    fn renew<'a>(&'a self, renewals: &'a [Renewal]) -> Reply<'a, Vec<Option<Renewed>>> {
        Box::pin(async move {
            // One snapshot for all: the head and the outbox are those of the moment when the statement began.
            let text = "WITH asked AS (
                    SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[]) WITH ORDINALITY a(shard, id, acknowledged, number)),
                renewed AS (
                    UPDATE {set}.member m SET renewed = m.renewed + 1,
                        acknowledged = greatest(m.acknowledged, least(a.acknowledged, s.position))
                    FROM asked a JOIN {set}.shard s ON s.id = a.shard
                    WHERE m.shard = a.shard AND m.id = a.id RETURNING a.number)
                SELECT s.position, s.tag, EXISTS (SELECT 1 FROM {set}.outbox), r.number IS NOT NULL
                FROM asked a JOIN {set}.shard s ON s.id = a.shard LEFT JOIN renewed r ON r.number = a.number
                ORDER BY a.number";
            let shards: Vec<i32> = renewals.iter().map(|renewal| renewal.shard.0 as i32).collect();
            let members: Vec<i64> = renewals.iter().map(|renewal| renewal.member.0 as i64).collect();
            let acknowledged: Vec<i64> = renewals.iter().map(|renewal| at_most(renewal.acknowledged)).collect();
            let types = [Type::INT4_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY];
            let rows = self.renewals.query(text, &types, &[&shards, &members, &acknowledged]).await?;
            let renewed = |row: &Row| {
                let renewed = Renewed { head: head(row, 0), outbox_is_empty: !row.get::<_, bool>(2) };
                row.get::<_, bool>(3).then_some(renewed)
            };
            Ok(rows.iter().map(renewed).collect())
        })
    }

    fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Reply<'_, ()> {
        Box::pin(async move {
            let text = "UPDATE {set}.member m SET acknowledged = greatest(m.acknowledged, least($3, s.position))
                FROM {set}.shard s WHERE s.id = $1 AND m.shard = $1 AND m.id = $2";
            let types = [Type::INT4, Type::INT8, Type::INT8];
            self.quick.query(text, &types, &[&(shard.0 as i32), &(member.0 as i64), &at_most(position)]).await?;
            Ok(())
        })
    }

    fn members(&self, shard: Shard) -> Reply<'_, Vec<Member>> {
        Box::pin(async move {
            let text = "SELECT id, renewed, acknowledged FROM {set}.member WHERE shard = $1 ORDER BY id";
            let rows = self.reader.query(text, &[Type::INT4], &[&(shard.0 as i32)]).await?;
            let number = |row: &Row, at: usize| row.get::<_, i64>(at) as u64;
            let member = |row: &Row| Member {
                id: MemberId(number(row, 0)),
                renewed: number(row, 1),
                acknowledged: number(row, 2),
            };
            Ok(rows.iter().map(member).collect())
        })
    }

    fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Reply<'_, bool> {
        Box::pin(async move {
            let text = "DELETE FROM {set}.member WHERE shard = $1 AND id = $2 AND renewed = $3 RETURNING id";
            let types = [Type::INT4, Type::INT8, Type::INT8];
            let values: [&(dyn ToSql + Sync); 3] = [&(shard.0 as i32), &(member.0 as i64), &(renewed as i64)];
            Ok(!self.committer().query(text, &types, &values).await?.is_empty())
        })
    }

    fn head(&self, shard: Shard) -> Reply<'_, Head> {
        Box::pin(async move {
            let text = "SELECT position, tag FROM {set}.shard WHERE id = $1";
            let rows = self.reader.query(text, &[Type::INT4], &[&(shard.0 as i32)]).await?;
            rows.first().map(|row| head(row, 0)).ok_or_else(|| no_shard(shard))
        })
    }

    fn read(&self, shard: Shard, after: Head, limit: usize) -> Reply<'_, Log> {
        Box::pin(async move {
            let text = "SELECT * FROM {set}.read_log($1, $2, $3, $4)";
            let types = [Type::INT4, Type::INT8, Type::INT8, Type::INT8];
            let values: [&(dyn ToSql + Sync); 4] =
                [&(shard.0 as i32), &(after.position as i64), &(after.tag as i64), &at_most(limit as u64)];
            let rows = self.reader.query(text, &types, &values).await?;
            match rows.first().map(|row| row.get::<_, i32>(0)) {
                Some(1) => Ok(Log::Cut),
                Some(2) => Ok(Log::Broken),
                _ => Ok(Log::Records(rows.iter().map(|row| Logged { at: head(row, 1), record: row.get(3) }).collect())),
            }
        })
    }

    fn candidates<'a>(&'a self, shard: Shard, spans: &'a [Span]) -> Reply<'a, (Head, Vec<Vec<Key>>)> {
        Box::pin(async move {
            let text = "SELECT 0::bigint AS number, s.position, s.tag, NULL::bytea AS key FROM {set}.shard s WHERE s.id = $1
                UNION ALL
                SELECT a.number, 0, 0, e.key
                FROM unnest($2::int[], $3::smallint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY a(generation, ord, first, last, number)
                CROSS JOIN LATERAL (
                    SELECT e.key FROM {set}.entry e WHERE e.shard = $1 AND e.generation = a.generation AND e.ord = a.ord
                    AND e.word BETWEEN a.first AND a.last OFFSET 0) e";
            let generations: Vec<i32> = spans.iter().map(|span| span.generation.0 as i32).collect();
            let orders: Vec<i16> = spans.iter().map(|span| i16::from(span.order.0)).collect();
            let firsts: Vec<i64> = spans.iter().map(|span| word(span.first)).collect();
            let lasts: Vec<i64> = spans.iter().map(|span| word(span.last)).collect();
            let types = [Type::INT4, Type::INT4_ARRAY, Type::INT2_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY];
            let values: [&(dyn ToSql + Sync); 5] = [&(shard.0 as i32), &generations, &orders, &firsts, &lasts];
            let rows = self.reader.query(text, &types, &values).await?;
            let (mut at, mut found) = (None, vec![Vec::new(); spans.len()]);
            for row in &rows {
                match row.get::<_, i64>(0) {
                    0 => at = Some(head(row, 1)),
                    number => found[number as usize - 1].push(Key::from(row.get::<_, &[u8]>(3))),
                }
            }
            at.map(|at| (at, found)).ok_or_else(|| no_shard(shard))
        })
    }

    fn walk<'a>(
        &'a self,
        shard: Shard,
        generation: Generation,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Reply<'a, (Head, Vec<Position>)> {
        Box::pin(async move {
            let text = "SELECT true, s.position, s.tag, NULL::bytea AS key FROM {set}.shard s WHERE s.id = $1
                UNION ALL
                SELECT * FROM (
                    SELECT false, e.word, 0::bigint, e.key FROM {set}.entry e
                    WHERE e.shard = $1 AND e.generation = $2 AND e.ord = 0 AND (e.word, e.key) > ($3, $4)
                    ORDER BY e.word, e.key LIMIT $5) e";
            let first = "SELECT true, s.position, s.tag, NULL::bytea AS key FROM {set}.shard s WHERE s.id = $1
                UNION ALL
                SELECT * FROM (
                    SELECT false, e.word, 0::bigint, e.key FROM {set}.entry e
                    WHERE e.shard = $1 AND e.generation = $2 AND e.ord = 0 AND (e.word, e.key) >= ($3, $4)
                    ORDER BY e.word, e.key LIMIT $5) e";
            let types = [Type::INT4, Type::INT4, Type::INT8, Type::BYTEA, Type::INT8];
            let (text, at, key) = match after {
                Some(after) => (text, word(after.word), &*after.key),
                None => (first, i64::MIN, &[][..]),
            };
            let values: [&(dyn ToSql + Sync); 5] =
                [&(shard.0 as i32), &(generation.0 as i32), &at, &key, &at_most(limit as u64)];
            let rows = self.reader.query(text, &types, &values).await?;
            let (heads, entries): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.get::<_, bool>(0));
            let at = heads.first().map(|row| head(row, 1)).ok_or_else(|| no_shard(shard))?;
            let position =
                |row: &&Row| Position { word: from_word(row.get::<_, i64>(1)), key: Key::from(row.get::<_, &[u8]>(3)) };
            Ok((at, entries.iter().map(position).collect()))
        })
    }

    fn append<'a>(&'a self, append: &'a Append) -> Reply<'a, Appended> {
        Box::pin(async move {
            let appended = self.append_record(append).await?;
            if let Appended::Done(_) = appended {
                self.teller.tell(append.shard, append.head().position);
            }
            Ok(appended)
        })
    }

    fn settle<'a>(&'a self, settle: &'a Settle) -> Reply<'a, bool> {
        Box::pin(async move {
            let mut close: Vec<(i32, i64)> =
                settle.close.iter().map(|(shard, id)| (shard.0 as i32, id.0 as i64)).collect();
            // As others close them: otherwise two transactions could wait for each other.
            close.sort_unstable();
            let (shards, ids): (Vec<i32>, Vec<i64>) = close.into_iter().unzip();
            let keys: Vec<&[u8]> = settle.values.iter().map(|(_, key, _)| &**key).collect();
            let values: Vec<&[u8]> = settle.values.iter().map(|(.., value)| &**value).collect();
            let types = [Type::INT4_ARRAY, Type::INT8_ARRAY, Type::BYTEA_ARRAY, Type::BYTEA_ARRAY];
            let text = "SELECT {set}.settle($1, $2, $3, $4)";
            match self.committer().query(text, &types, &[&shards, &ids, &keys, &values]).await {
                Ok(_) => Ok(true),
                Err(Failure::Refused { code, .. }) if code == "TW001" => Ok(false),
                Err(failure) => Err(failure.into()),
            }
        })
    }

    fn open(&self, shard: Shard) -> Reply<'_, Vec<Open>> {
        Box::pin(async move {
            let text = "SELECT id, member, keys FROM {set}.announcement WHERE shard = $1 ORDER BY id";
            let rows = self.reader.query(text, &[Type::INT4], &[&(shard.0 as i32)]).await?;
            let open = |row: &Row| Open {
                id: Announcement(row.get::<_, i64>(0) as u64),
                member: MemberId(row.get::<_, i64>(1) as u64),
                keys: row.get::<_, Vec<&[u8]>>(2).into_iter().map(Key::from).collect(),
            };
            Ok(rows.iter().map(open).collect())
        })
    }

    fn get<'a>(&'a self, keys: &'a [(Shard, Key)]) -> Reply<'a, Vec<Option<Vec<u8>>>> {
        Box::pin(async move {
            let text = "SELECT a.number, v.value FROM unnest($1::bytea[]) WITH ORDINALITY a(key, number)
                CROSS JOIN LATERAL (SELECT v.value FROM {set}.value v WHERE v.key = a.key OFFSET 0) v";
            let asked: Vec<&[u8]> = keys.iter().map(|(_, key)| &**key).collect();
            let rows = self.reader.query(text, &[Type::BYTEA_ARRAY], &[&asked]).await?;
            let mut values = vec![None; keys.len()];
            rows.iter().for_each(|row| values[row.get::<_, i64>(0) as usize - 1] = Some(row.get(1)));
            Ok(values)
        })
    }

    fn keys_of_values<'a>(&'a self, after: Option<&'a Key>, limit: usize) -> Reply<'a, Vec<Key>> {
        Box::pin(async move {
            let (text, after) = match after {
                Some(after) => ("SELECT key FROM {set}.value WHERE key > $1 ORDER BY key LIMIT $2", &**after),
                None => ("SELECT key FROM {set}.value WHERE key >= $1 ORDER BY key LIMIT $2", &[][..]),
            };
            let rows = self.reader.query(text, &[Type::BYTEA, Type::INT8], &[&after, &at_most(limit as u64)]).await?;
            Ok(rows.iter().map(|row| Key::from(row.get::<_, &[u8]>(0))).collect())
        })
    }

    fn outbox(&self, after: u64, limit: usize) -> Reply<'_, Vec<(u64, Key)>> {
        Box::pin(async move {
            let text = "SELECT id, key FROM {set}.outbox WHERE id > $1 ORDER BY id LIMIT $2";
            let types = [Type::INT8, Type::INT8];
            let rows = self.reader.query(text, &types, &[&at_most(after), &at_most(limit as u64)]).await?;
            Ok(rows.iter().map(|row| (row.get::<_, i64>(0) as u64, Key::from(row.get::<_, &[u8]>(1)))).collect())
        })
    }

    fn save<'a>(&'a self, shard: Shard, snapshot: Snapshot, bytes: &'a [u8]) -> Reply<'a, ()> {
        Box::pin(self.save_chunks(shard, snapshot, bytes))
    }

    fn load(&self, shard: Shard, id: SnapshotId) -> Reply<'_, Option<Vec<u8>>> {
        Box::pin(self.load_chunks(shard, id))
    }

    fn newest(&self, shard: Shard) -> Reply<'_, Option<Snapshot>> {
        Box::pin(self.newest_snapshot(shard))
    }

    fn cut(&self, shard: Shard, up_to: u64) -> Reply<'_, ()> {
        Box::pin(async move {
            let text = "SELECT {set}.cut($1, $2)";
            self.quick.query(text, &[Type::INT4, Type::INT8], &[&(shard.0 as i32), &at_most(up_to)]).await?;
            Ok(())
        })
    }

    fn wait<'a>(&'a self, known: &'a [(Shard, u64)], timeout: Duration) -> Reply<'a, Vec<Shard>> {
        Box::pin(self.listener.wait(&self.connect, &self.reader, &self.channel, known, timeout))
    }
}

fn no_shard(shard: Shard) -> EngineError {
    EngineError::Damaged(format!("there is no shard {}", shard.0))
}
