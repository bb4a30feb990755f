//! What the programs share: the traffic, the clock, the count of round trips and the printed table.
//!
//! The programs themselves, in `src/bin`, show what an application would write.

mod arguments;
pub mod fill;
mod report;
mod traffic;

use arguments::Arguments;
use report::{Measured, Report};
use std::io::Write;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use traffic::{Stream, Traffic};
use twiceshy_store::{Adapt, Beside, Options, Resynced};

/// The error of a program.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Every round trip of the process.
static ROUND_TRIPS: AtomicU64 = AtomicU64::new(0);

/// Counts a round trip to the store.
pub fn round_trip() {
    ROUND_TRIPS.fetch_add(1, Ordering::Relaxed);
}

/// Round trips to the store.
#[derive(Clone, Copy)]
struct Trips {
    usual: u64,
    /// Those that checked an absent answer of the filter.
    spot: u64,
}

/// The key of a row. Rows below [`Bench::rows`] are stored; the others are not.
fn email(number: u64) -> String {
    format!("user-{number}@example.org")
}

/// What answers the look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The store alone.
    Bare,
    /// A filter that never learns, and the store. Measure it before [`Subject::Guarded`], which gets its mistakes replayed.
    Plain,
    /// A filter that learns, and the store.
    Guarded,
}

impl Subject {
    const ALL: [Subject; 3] = [Subject::Bare, Subject::Plain, Subject::Guarded];
}

/// A measurement: its settings, from the command line, and its results so far.
#[derive(Debug)]
pub struct Bench {
    arguments: Arguments,
    /// The absent keys that the attacker replays.
    replayed: Vec<u64>,
    /// The guard that is measured, which counts its checks.
    guard: Weak<Beside>,
    report: Report,
}

/// How many look-ups are made between two looks at the clock. Their keys are written before.
const AT_ONCE: usize = 1_000;

/// How many stored keys each subject must find before it is measured.
const FOUND_FIRST: u64 = 1_000;

impl Bench {
    /// Reads the command line of a program that measures the named store.
    pub fn from_arguments(store: &'static str) -> Result<Bench, Failure> {
        let arguments = Arguments::read(std::env::args().skip(1))?;
        let report = Report::new(store, arguments.rows);
        Ok(Bench { arguments, replayed: Vec::new(), guard: Weak::new(), report })
    }

    /// How many rows there are before the guard is opened.
    pub fn rows(&self) -> u64 {
        self.arguments.rows
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.arguments.server
    }

    /// A file or folder of this run.
    pub fn path(&self, name: &str) -> PathBuf {
        self.arguments.folder.join(name)
    }

    /// A guard whose filter never learns and is never checked, to compare with. It is in the folder `guard`.
    pub fn plain(&self) -> Result<Arc<Beside>, Failure> {
        let options = Options::new().expected_keys(self.rows()).adapt(Adapt::Never).spot_check(None);
        Ok(Arc::new(options.beside(self.path("guard"))?))
    }

    /// The guard that is measured from now on: its checks of absent answers are counted apart.
    pub fn counted(&mut self, guard: Beside) -> Arc<Beside> {
        let guard = Arc::new(guard);
        self.guard = Arc::downgrade(&guard);
        guard
    }

    /// The round trips so far, but for checks, and the checks.
    fn trips(&self) -> Trips {
        let spot = self.guard.upgrade().map_or(0, |guard| guard.stats().spot_checks);
        Trips { usual: ROUND_TRIPS.load(Ordering::Relaxed) - spot, spot }
    }

    /// Measures how long it takes to adopt the rows.
    pub fn adopt(&mut self, adopt: impl FnOnce() -> Result<Resynced, Failure>) -> Result<(), Failure> {
        let begun = Instant::now();
        let adopted = adopt()?;
        self.report.adopt_seconds = begun.elapsed().as_secs_f64();
        if adopted.keys == self.rows() { Ok(()) } else { Err(format!("adopted {adopted:?}").into()) }
    }

    /// [`Bench::measure_async`] for a function that blocks.
    pub fn measure<E: Into<Failure>>(
        &mut self,
        subject: Subject,
        mut find: impl FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<(), Failure> {
        let measured = pin!(self.measure_async(subject, async |email: &str| find(email)));
        match measured.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("a function that blocks is never pending"),
        }
    }

    /// Looks up stored keys, which must be found, and then absent keys under each traffic, one at a time.
    pub async fn measure_async<E: Into<Failure>>(
        &mut self,
        subject: Subject,
        mut find: impl AsyncFnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<(), Failure> {
        for part in 0..FOUND_FIRST {
            let email = email(part * self.rows() / FOUND_FIRST);
            find(&email).await.map_err(Into::into)?.ok_or_else(|| format!("{email} is stored, but was not found"))?;
        }
        if subject != Subject::Guarded {
            self.replayed = self.hunt(traffic::replayed(self.rows()), &mut find).await?;
        }
        for traffic in Traffic::ALL {
            let stream = Stream::new(traffic, self.rows(), self.replayed.clone());
            let longest = if subject == Subject::Bare { self.arguments.bare_time() } else { Duration::MAX };
            let measured = self.measure_stream(stream, longest, &mut find).await?;
            self.report.add(subject, traffic, measured);
        }
        if self.arguments.test && subject == Subject::Guarded {
            self.wait_until_learned(&mut find).await?;
        }
        Ok(())
    }

    /// Prints the results, as a table or as JSON. With `--test`, also checks them.
    pub fn finish(self) -> Result<(), Failure> {
        let mut out = std::io::stdout();
        if self.arguments.json { writeln!(out, "{:#}", self.report.json()) } else { write!(out, "{}", self.report) }?;
        if self.arguments.test { self.report.check() } else { Ok(()) }
    }

    /// Absent keys that reach the store, for an attacker to replay.
    async fn hunt<E: Into<Failure>>(
        &self,
        count: usize,
        find: &mut impl AsyncFnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<Vec<u64>, Failure> {
        let (mut found, mut number) = (Vec::new(), traffic::HUNTED);
        while found.len() < count {
            let before = self.trips().usual;
            find_nothing(&email(number), find).await?;
            if self.trips().usual > before {
                found.push(number);
            }
            number += 1;
        }
        Ok(found)
    }

    /// Waits until none of these keys reaches the store: a thread of the guard's own learns from them.
    async fn wait_until_learned<E: Into<Failure>>(
        &self,
        find: &mut impl AsyncFnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let before = self.trips().usual;
            for number in &self.replayed {
                find_nothing(&email(*number), find).await?;
            }
            if self.trips().usual == before {
                return Ok(());
            }
        }
        Err("replayed keys still reach the store after 20 seconds".into())
    }

    /// Asks for all keys of a stream, or as many as it can in the given time.
    async fn measure_stream<E: Into<Failure>>(
        &self,
        mut stream: Stream,
        longest: Duration,
        find: &mut impl AsyncFnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<Measured, Failure> {
        let (mut lookups, mut took, before) = (0, Duration::ZERO, self.trips());
        while took < longest {
            let emails: Vec<String> = stream.by_ref().take(AT_ONCE).map(email).collect();
            if emails.is_empty() {
                break;
            }
            let begun = Instant::now();
            for email in &emails {
                find_nothing(email, find).await?;
            }
            took += begun.elapsed();
            lookups += emails.len() as u64;
        }
        let (after, seconds) = (self.trips(), took.as_secs_f64());
        let [round_trips, round_trips_spot] = [after.usual - before.usual, after.spot - before.spot];
        Ok(Measured { lookups, seconds, round_trips, round_trips_spot })
    }
}

/// Asks for an absent key.
async fn find_nothing<E: Into<Failure>>(
    email: &str,
    find: &mut impl AsyncFnMut(&str) -> Result<Option<String>, E>,
) -> Result<(), Failure> {
    match find(email).await.map_err(Into::into)? {
        None => Ok(()),
        Some(name) => Err(format!("{email} is not stored, but {name} was found").into()),
    }
}
