//! Connections to the server: made when they are needed, and made anew when they break.

use crate::background;
use crate::engine::EngineError;
use crate::names::random;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Row, Socket, Statement};

/// How long the server has to answer. A transaction that waits for another is one of milliseconds. The server gives up a statement before
/// this time is over (see the settings of a connection), so that its end is known.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a statement is run that the server gives up.
const ATTEMPTS: u32 = 5;

/// The states in which the server has given up a transaction, so that nothing has happened, and asks for it again: it could not be put in an order
/// with others, it and others waited for each other, or it waited for a lock for too long.
const GIVEN_UP: [&str; 3] = ["40001", "40P01", "55P03"];

/// What a connection receives that nobody asked for.
pub(super) type Heard = Arc<dyn Fn(AsyncMessage) + Send + Sync>;

type Connected = Pin<Box<dyn Future<Output = Result<Client, tokio_postgres::Error>> + Send>>;

/// Connects, and drives the connection on the background threads. With any kind of TLS, or without.
pub(super) trait Connect: Send + Sync {
    fn connect(&self, heard: Option<Heard>) -> Connected;
}

pub(super) struct With<T> {
    pub(super) config: Config,
    pub(super) tls: T,
}

impl<T> Connect for With<T>
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Send + 'static,
    T::TlsConnect: Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    fn connect(&self, heard: Option<Heard>) -> Connected {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        Box::pin(async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(drive(connection, heard));
            Ok(client)
        })
    }
}

/// Carries a connection's messages until it ends. Dropping `heard` tells that it has ended.
async fn drive<S, T>(mut connection: Connection<S, T>, heard: Option<Heard>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
        if let Some(heard) = &heard {
            heard(message);
        }
    }
}

/// One connection, with its prepared statements.
pub(super) struct Line {
    connect: Arc<dyn Connect>,
    /// The quoted name of the set's schema: `{set}` in statements.
    schema: String,
    /// Run once for each connection.
    settings: &'static str,
    /// `true` if its statements change nothing: they are run again on a new connection when one breaks.
    reads: bool,
    made: Mutex<Option<Arc<Made>>>,
}

struct Made {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line")
    }
}

impl Line {
    pub(super) fn new(connect: Arc<dyn Connect>, schema: &str, settings: &'static str) -> Line {
        Line { connect, schema: schema.to_owned(), settings, reads: false, made: Mutex::new(None) }
    }

    /// A line for statements that change nothing.
    pub(super) fn for_reading(self) -> Line {
        Line { reads: true, ..self }
    }

    async fn made(&self) -> Result<Arc<Made>, Failure> {
        let mut made = self.made.lock().await;
        if let Some(made) = made.as_ref().filter(|made| !made.client.is_closed()) {
            return Ok(Arc::clone(made));
        }
        let client = open(&self.connect, None).await?;
        run_once(&client, self.settings).await?;
        let new = Arc::new(Made { client, statements: Mutex::default() });
        *made = Some(Arc::clone(&new));
        Ok(new)
    }

    /// Runs one statement: a transaction of its own. One that the server gave up to let another go on is run again, and so is a read whose
    /// connection broke.
    pub(super) async fn query(
        &self,
        text: &'static str,
        types: &[Type],
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        for attempt in 1..ATTEMPTS {
            match self.query_once(text, types, values).await {
                Err(failure) if self.may_repeat(&failure) => {
                    // Not all at the same moment.
                    let millis = u64::from(attempt) * (1 + random() % 10);
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                answer => return answer,
            }
        }
        self.query_once(text, types, values).await.map_err(|failure| match failure {
            Failure::Engine(error) if self.reads => error.of_read().into(),
            failure => failure,
        })
    }

    fn may_repeat(&self, failure: &Failure) -> bool {
        match failure {
            Failure::Refused { code, .. } => GIVEN_UP.contains(&&**code),
            Failure::Broken(_) | Failure::Engine(EngineError::Unknown(_)) => self.reads,
            Failure::Engine(_) => false,
        }
    }

    async fn query_once(
        &self,
        text: &'static str,
        types: &[Type],
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let made = self.made().await?;
        let answer = async {
            let statement = self.prepare(&made, text, types).await?;
            Ok(made.client.query(&statement, values).await?)
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                // The answer may still come, and must not be taken for that of another statement.
                *self.made.lock().await = None;
                let silent = "the server did not answer in 10 s".to_owned();
                Err(if self.reads { EngineError::Failed(silent) } else { EngineError::Unknown(silent) }.into())
            }
        }
    }

    async fn prepare(&self, made: &Made, text: &'static str, types: &[Type]) -> Result<Statement, Failure> {
        let mut statements = made.statements.lock().await;
        if let Some(statement) = statements.get(text) {
            return Ok(statement.clone());
        }
        let full = text.replace("{set}", &self.schema);
        let statement = made.client.prepare_typed(&full, types).await.map_err(|error| unasked(&error))?;
        statements.insert(text, statement.clone());
        Ok(statement)
    }
}

/// A connection that is driven on the background threads.
pub(super) async fn open(connect: &Arc<dyn Connect>, heard: Option<Heard>) -> Result<Client, Failure> {
    let connect = connect.connect(heard);
    let connected = background::run(async move { Ok(tokio::time::timeout(PATIENCE, connect).await) }).await;
    match connected {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(Ok(Err(error))) => Err(unasked(&error)),
        Ok(Err(_)) => Err(EngineError::Failed("the server did not answer in 10 s".to_owned()).into()),
        Err(error) => Err(EngineError::Failed(error.to_string()).into()),
    }
}

/// Runs statements on a new connection.
pub(super) async fn run_once(client: &Client, statements: &str) -> Result<(), Failure> {
    match tokio::time::timeout(PATIENCE, client.batch_execute(statements)).await {
        Ok(done) => done.map_err(|error| match error.code() {
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => error.into(),
            _ => unasked(&error),
        }),
        Err(_) => Err(EngineError::Failed("the server did not answer in 10 s".to_owned()).into()),
    }
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Failure {
    Engine(EngineError),
    /// The connection broke before anything was asked of the server.
    Broken(EngineError),
    /// The server refused it, for this reason.
    Refused {
        code: String,
        message: String,
    },
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        Failure::Engine(error)
    }
}

impl From<Failure> for EngineError {
    fn from(failure: Failure) -> EngineError {
        match failure {
            Failure::Engine(error) | Failure::Broken(error) => error,
            Failure::Refused { code, message } => EngineError::Failed(format!("{message} ({code})")),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        match error.as_db_error() {
            // It may have committed.
            Some(refused) if breaks(refused) => EngineError::Unknown(refused.message().to_owned()).into(),
            Some(refused) => {
                Failure::Refused { code: refused.code().code().to_owned(), message: refused.message().to_owned() }
            }
            None => EngineError::Unknown(error.to_string()).into(),
        }
    }
}

/// `true` if a server that is being stopped says so, or a pooler that has lost its server.
fn breaks(refused: &DbError) -> bool {
    ["57P", "08"].iter().any(|class| refused.code().code().starts_with(class))
}

/// A failure before anything was asked of the server. Who has waited for a connection for long does not try again.
fn unasked(error: &tokio_postgres::Error) -> Failure {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    let is_late = source.is_some_and(|source| source.kind() == io::ErrorKind::TimedOut);
    match error.as_db_error().map_or(!is_late, breaks) {
        true => Failure::Broken(before(error)),
        false => Failure::Engine(before(error)),
    }
}

/// An error before anything was asked of the server.
pub(crate) fn before(error: &tokio_postgres::Error) -> EngineError {
    let message = error.as_db_error().map_or_else(|| error.to_string(), |refused| refused.message().to_owned());
    let cause = std::error::Error::source(error).filter(|_| error.as_db_error().is_none());
    EngineError::Failed(cause.map_or(message.clone(), |cause| format!("{message}: {cause}")))
}
