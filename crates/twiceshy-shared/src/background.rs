//! The threads on which a process follows its sets: independent of the caller's runtime, if there is one.

use std::future::Future;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::Error;

/// Never dropped: a runtime must not be dropped inside another one.
static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

/// The runtime of all shared guards of this process.
pub(crate) fn handle() -> Result<&'static Handle, Error> {
    let start =
        || Builder::new_multi_thread().worker_threads(2).thread_name("twiceshy-shared").enable_all().build().ok();
    let runtime = RUNTIME.get_or_init(start).as_ref();
    runtime.map(Runtime::handle).ok_or_else(|| Error::Filter("no thread could be started".to_owned()))
}

/// Runs a future in the background, and waits for its result in any runtime or none.
pub(crate) async fn run<T: Send + 'static>(
    future: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    // A task ends early only if it panics.
    handle()?.spawn(future).await.unwrap_or(Err(Error::Closed))
}

/// The same for a thread that may block.
pub(crate) fn block_on<T: Send + 'static>(
    future: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    handle()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv().unwrap_or(Err(Error::Closed))
}
