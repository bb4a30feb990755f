//! What can go wrong between a process and the engine in memory: for tests.

use crate::engine::EngineError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How often things go wrong between a process and the engine, and how long messages take: for tests.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// The chance that a request is lost.
    pub lost_request: f64,
    /// The chance that an answer is lost.
    pub lost_answer: f64,
    /// The chance that a message is late.
    pub late: f64,
    /// The longest time that a late message takes.
    pub delay: Duration,
}

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out, and answered.
    Answered,
    /// The same, after this time.
    Late(Duration),
    /// It is carried out, and answered after this time.
    AnswerLate(Duration),
    /// It is lost.
    Lost,
    /// It is carried out, and the answer is lost.
    AnswerLost,
}

/// Decides what becomes of each request, by the name of its function.
type Script = dyn Fn(&str) -> Fate + Send + Sync;

/// The line to an engine. Clones are the same line.
#[derive(Clone, Default)]
pub(super) struct Line {
    faults: Option<Faults>,
    script: Option<Arc<Script>>,
    /// `true` while nothing gets through.
    is_cut: Arc<AtomicBool>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("faults", &self.faults).finish_non_exhaustive()
    }
}

fn lost(what: &str) -> EngineError {
    EngineError::Unknown(format!("the {what} was lost"))
}

impl Line {
    pub(super) fn bad(faults: Faults) -> Line {
        Line { faults: Some(faults), ..Line::default() }
    }

    pub(super) fn scripted(script: impl Fn(&str) -> Fate + Send + Sync + 'static) -> Line {
        Line { script: Some(Arc::new(script)), ..Line::default() }
    }

    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Release);
    }

    /// Fails if the line is cut, when it is so no more: until then nobody knows.
    pub(super) async fn pass(&self, what: &str) -> Result<(), EngineError> {
        if !self.is_cut.load(Ordering::Acquire) {
            return Ok(());
        }
        while self.is_cut.load(Ordering::Acquire) {
            sleep(Duration::from_millis(5)).await;
        }
        Err(lost(what))
    }

    pub(super) async fn carry_request(&self, name: &str) -> Result<Fate, EngineError> {
        self.pass("request").await?;
        let fate = self.script.as_ref().map_or(Fate::Answered, |script| script(name));
        match fate {
            Fate::Lost => return Err(lost("request")),
            Fate::Late(time) => sleep(time).await,
            Fate::Answered | Fate::AnswerLate(_) | Fate::AnswerLost => {}
        }
        if let Some(faults) = self.faults {
            faults.travel().await;
            self.pass("request").await?;
            if chance(faults.lost_request) {
                return Err(lost("request"));
            }
        }
        Ok(fate)
    }

    pub(super) async fn carry_answer(&self, fate: Fate) -> Result<(), EngineError> {
        if let Some(faults) = self.faults {
            faults.travel().await;
            self.pass("answer").await?;
            if chance(faults.lost_answer) {
                return Err(lost("answer"));
            }
        }
        match fate {
            Fate::AnswerLost => Err(lost("answer")),
            Fate::AnswerLate(time) => {
                sleep(time).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// `true` with this probability.
fn chance(probability: f64) -> bool {
    probability > 0.0 && ((crate::names::random() >> 10) as f64 / (1u64 << 53) as f64) < probability
}

impl Faults {
    async fn travel(&self) {
        if chance(self.late) {
            let share = (crate::names::random() >> 10) as f64 / (1u64 << 53) as f64;
            sleep(self.delay.mul_f64(share)).await;
        }
    }
}
