//! Work under a time limit: a hang or a panic becomes a sentence.

use super::trouble::Trouble;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The most time for an ordeal. After that it counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Does `work` on a thread of its own. If it takes longer than `limit`, the thread is left behind.
pub(super) fn watched<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let (sender, receiver) = channel();
    let worker = std::thread::Builder::new().name("torture".into());
    let worker = worker.spawn(move || {
        // Nobody listens any more if the time was up.
        drop(sender.send(catch_unwind(AssertUnwindSafe(work))));
    })?;
    let Ok(ended) = receiver.recv_timeout(limit) else {
        return Err(Trouble::answer(format!("it hangs: no answer after {} s", limit.as_secs_f64())));
    };
    drop(worker.join());
    ended.unwrap_or_else(|panic| Err(Trouble::answer(format!("it panicked: {}", message(&*panic)))))
}

/// The words of a panic.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(ended: Result<(), Trouble>) -> String {
        match ended {
            Err(Trouble::Store(wrong)) => wrong.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_hang_and_a_panic_become_sentences_and_an_answer_comes_back() {
        assert!(matches!(watched(Duration::from_secs(60), || Ok(7)), Ok(7)));
        let hangs = watched(Duration::from_millis(20), || {
            std::thread::sleep(Duration::from_secs(2));
            Ok(())
        });
        assert!(sentence(hangs).contains("hangs"));
        let panics = watched(Duration::from_secs(60), || std::panic::resume_unwind(Box::new("a bad day")));
        assert!(sentence(panics).contains("it panicked: a bad day"));
    }
}
