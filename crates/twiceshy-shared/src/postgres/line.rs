//! Connections to the server: made when they are needed, and made anew when they break.

use crate::background;
use crate::engine::EngineError;
use crate::names::random;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
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
        Line { connect, schema: schema.to_owned(), settings, made: Mutex::new(None) }
    }

    async fn made(&self) -> Result<Arc<Made>, EngineError> {
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

    /// Runs one statement: a transaction of its own. One that the server gave up to let another go on is run again.
    pub(super) async fn query(
        &self,
        text: &'static str,
        types: &[Type],
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        for attempt in 1..ATTEMPTS {
            match self.query_once(text, types, values).await {
                Err(Failure::Refused { code, .. }) if GIVEN_UP.contains(&&*code) => {
                    // Not all at the same moment.
                    let millis = u64::from(attempt) * (1 + random() % 10);
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                answer => return answer,
            }
        }
        self.query_once(text, types, values).await
    }

    async fn query_once(
        &self,
        text: &'static str,
        types: &[Type],
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let made = self.made().await?;
        let answer = async {
            let statement = made.prepare(text, &self.schema, types).await?;
            Ok(made.client.query(&statement, values).await?)
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                // The answer may still come, and must not be taken for that of another statement.
                *self.made.lock().await = None;
                Err(EngineError::Unknown("the server did not answer in 10 s".to_owned()).into())
            }
        }
    }
}

impl Made {
    async fn prepare(&self, text: &'static str, schema: &str, types: &[Type]) -> Result<Statement, Failure> {
        let mut statements = self.statements.lock().await;
        if let Some(statement) = statements.get(text) {
            return Ok(statement.clone());
        }
        // Nothing has been asked of the server yet.
        let full = text.replace("{set}", schema);
        let statement =
            self.client.prepare_typed(&full, types).await.map_err(|error| Failure::Engine(before(&error)))?;
        statements.insert(text, statement.clone());
        Ok(statement)
    }
}

/// A connection that is driven on the background threads.
pub(super) async fn open(connect: &Arc<dyn Connect>, heard: Option<Heard>) -> Result<Client, EngineError> {
    let connect = connect.connect(heard);
    let connected = background::run(async move { Ok(tokio::time::timeout(PATIENCE, connect).await) }).await;
    match connected {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(Ok(Err(error))) => Err(before(&error)),
        Ok(Err(_)) => Err(EngineError::Failed("the server did not answer in 10 s".to_owned())),
        Err(error) => Err(EngineError::Failed(error.to_string())),
    }
}

/// Runs statements on a new connection.
pub(super) async fn run_once(client: &Client, statements: &str) -> Result<(), EngineError> {
    match tokio::time::timeout(PATIENCE, client.batch_execute(statements)).await {
        Ok(done) => done.map_err(|error| before(&error)),
        Err(_) => Err(EngineError::Failed("the server did not answer in 10 s".to_owned())),
    }
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Failure {
    Engine(EngineError),
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
            Failure::Engine(error) => error,
            Failure::Refused { code, message } => EngineError::Failed(format!("{message} ({code})")),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        match error.as_db_error() {
            // A server that is being stopped, or one behind a pooler that has lost it, may have committed.
            Some(refused) if ["57P", "08"].iter().any(|class| refused.code().code().starts_with(class)) => {
                EngineError::Unknown(refused.message().to_owned()).into()
            }
            Some(refused) => {
                Failure::Refused { code: refused.code().code().to_owned(), message: refused.message().to_owned() }
            }
            None => EngineError::Unknown(error.to_string()).into(),
        }
    }
}

/// An error before anything was asked of the server.
pub(crate) fn before(error: &tokio_postgres::Error) -> EngineError {
    let message = error.as_db_error().map_or_else(|| error.to_string(), |refused| refused.message().to_owned());
    let cause = std::error::Error::source(error).filter(|_| error.as_db_error().is_none());
    EngineError::Failed(cause.map_or(message.clone(), |cause| format!("{message}: {cause}")))
}
