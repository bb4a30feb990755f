//! Asking the store now and then although the filter has said *absent*.

use crate::rng::SplitMix64;
use crate::striped::{Stripe, own};
use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first absent answers that are all checked. Their number divided by k is the share at the k-th.
const FIRST: f64 = 256.0;

/// The most checks in a second.
const MOST_A_SECOND: usize = 100;

/// The time between two messages about alarms.
const QUIET: Duration = Duration::from_secs(60);

/// How old a row may be, or the snapshot that it was read in, when it is checked or shown.
const LATELY: Duration = Duration::from_secs(10);

/// How long it is remembered that a key has left the set: a row is judged up to ten seconds after its check has begun.
const REMEMBERED: Duration = Duration::from_secs(20);

/// How many keys that left the set are remembered.
const MOST_REMEMBERED: usize = 65_536;

const STRIPES: usize = 16;

/// Decides which *absent* answers of a filter are checked at the store, and counts what the checks find: a row that is there and denied
/// would otherwise never be noticed. It knows no store: its owner asks [`SpotCheck::is_due`] after each absent answer, makes the check,
/// and says how it ended.
///
/// **Rule.** The absent answer number k, since the beginning or the last alarm, is checked with probability
/// max(1/N, min(1, 256/k)), at most 100 in a second. So the first 256 are all checked, of the first 262,144 about 2,030 (with
/// N = 1,024), and then one in N. The checks are drawn independently of the keys: if a share of the absent answers is wrong, about N
/// wrong ones are given before the alarm, and at most 3 N with a probability of 95 %, whatever that share is; if they are wrong from the
/// beginning, about one.
///
/// **Cost.** An absent answer that is not checked costs a load and a store in a cache line of the thread's own. How many answers to
/// pass over is drawn once for each check, with the probability that holds then (it falls by 1 in 256 until the next check). Threads
/// that draw share a lock. With several threads k counts up to one such stretch for each of them too many.
///
/// **Keys that leave the set.** A row that was read before its deletion looks like one that is denied. So the last 65,536 keys that left are
/// remembered, for 20 seconds (1.5 MiB at most). A row that may have been read before a deletion that is forgotten raises no alarm: if more keys
/// than that leave within ten seconds, no row raises an alarm until ten seconds later.
///
/// ```
/// use twiceshy::spot_check::{SpotCheck, Verdict};
///
/// let check = SpotCheck::new(Some(1_024));
/// let load = |_: &str| None::<u32>; // Asks the store.
/// for key in ["ann", "bob"] {
///     // The filter has said that it is absent.
///     if check.is_due() {
///         // A row that is there: is its key on its way? If not, the filter must not be believed from now on: `check.alarm()`.
///         check.checked(if load(key).is_some() { Verdict::Denied } else { Verdict::Fine });
///     }
/// }
/// assert_eq!(check.counts().clean, 2);
/// ```
pub struct SpotCheck {
    /// N, at least 1; `None` if nothing is checked.
    one_in: Option<u32>,
    /// How long it is remembered that a key has left the set.
    remembered: Duration,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    /// How many absent answers are passed over before the next check.
    left: [Stripe; STRIPES],
    draw: Mutex<Draw>,
    gone: Mutex<Gone>,
    hasher: RandomState,
    checks: AtomicU64,
    clean: AtomicU64,
    raced: AtomicU64,
    denied: AtomicU64,
    seen: AtomicU64,
}

#[derive(Debug)]
struct Draw {
    random: SplitMix64,
    /// k of the next check: the absent answers since the last alarm, with those that are still to be passed over.
    answers: f64,
    /// When the last checks were, as many as a second may have.
    last: VecDeque<Duration>,
    /// When an alarm was last told.
    told: Option<Duration>,
}

/// The keys that have left the set lately, by their hash.
#[derive(Debug, Default)]
struct Gone {
    keys: VecDeque<(Duration, u64)>,
    /// Keys that left up to this moment may have been forgotten; `None` if none was.
    forgotten: Option<Duration>,
}

/// What the checks have found: see [`SpotCheck::counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpotCounts {
    /// Checks that have ended: the store was asked although the filter had said *absent*.
    pub checks: u64,
    /// Those since the last alarm that found no row.
    pub clean: u64,
    /// Rows that were found, by a check or otherwise, and whose key was on its way into the set or out of it.
    pub raced: u64,
    /// Rows that the filter denied. This should be 0.
    pub denied: u64,
    /// Rows that the service has met without the guard and shown to it.
    pub seen: u64,
}

/// What a check, or a row that was met without the guard, says about the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: there is no row, or the filter lets its key pass.
    Fine,
    /// There is a row, and its key is on its way into the set or out of it.
    Moving,
    /// There is a row, and the filter denies it.
    Denied,
}

/// The share of wrong answers among the *absent* ones is at most this after `clean` checks that found no row, with a probability of 95 %.
pub fn wrong_share_at_most(clean: u64) -> f64 {
    (3.0 / clean.max(1) as f64).min(1.0)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SpotCheck {
    /// Checks one absent answer in this many, and more at the beginning; `None` for no checks.
    pub fn new(one_in: Option<u32>) -> SpotCheck {
        let begun = Instant::now();
        // A hash under a random key that the standard library has drawn. Nobody gains by knowing which answers are checked.
        SpotCheck::fixed(one_in, RandomState::new().hash_one(0), move || begun.elapsed())
    }

    /// With a known seed, and a clock that never goes back: for tests and experiments.
    #[doc(hidden)]
    pub fn fixed(one_in: Option<u32>, seed: u64, clock: impl Fn() -> Duration + Send + Sync + 'static) -> SpotCheck {
        let random = SplitMix64::from_state(seed);
        SpotCheck {
            one_in: one_in.map(|one_in| one_in.max(1)),
            remembered: REMEMBERED,
            clock: Box::new(clock),
            left: Default::default(),
            draw: Mutex::new(Draw { random, answers: 1.0, last: VecDeque::new(), told: None }),
            gone: Mutex::default(),
            hasher: RandomState::new(),
            checks: AtomicU64::new(0),
            clean: AtomicU64::new(0),
            raced: AtomicU64::new(0),
            denied: AtomicU64::new(0),
            seen: AtomicU64::new(0),
        }
    }

    /// For an owner that judges a row only this long after it was found or shown: remembers for as much longer which keys have left.
    pub fn judged_after(mut self, time: Duration) -> SpotCheck {
        self.remembered = REMEMBERED.saturating_add(time);
        self
    }

    /// As after this many absent answers: for tests and experiments with one thread.
    #[doc(hidden)]
    pub fn skip_to(&self, answers: u64) {
        locked(&self.draw).answers = answers as f64;
        own(&self.left).store(0, Relaxed);
        // Nothing was drawn for the answers that were skipped.
        self.is_due();
    }

    /// `true` if this absent answer is to be checked. Call it once for each absent answer.
    #[inline]
    pub fn is_due(&self) -> bool {
        let own = own(&self.left);
        // Threads that share a stripe may lose a count. That is cheaper than to keep it.
        match own.load(Relaxed) {
            0 => self.draw_next(own),
            left => {
                own.store(left - 1, Relaxed);
                false
            }
        }
    }

    /// The stretch has ended, or is the first of a thread. Draws the next one; `true` if this answer is checked.
    #[cold]
    fn draw_next(&self, left: &AtomicU64) -> bool {
        let Some(one_in) = self.one_in else {
            left.store(u64::MAX, Relaxed);
            return false;
        };
        let mut draw = locked(&self.draw);
        let stretch = draw.stretch(one_in);
        draw.answers += stretch;
        left.store(stretch as u64 - 1, Relaxed);
        draw.allows((self.clock)())
    }

    /// A moment on this clock.
    pub fn now(&self) -> Duration {
        (self.clock)()
    }

    /// A check has ended.
    pub fn checked(&self, found: Verdict) {
        self.checks.fetch_add(1, Relaxed);
        match found {
            Verdict::Fine => self.clean.fetch_add(1, Relaxed),
            Verdict::Moving => self.raced.fetch_add(1, Relaxed),
            Verdict::Denied => self.denied.fetch_add(1, Relaxed),
        };
    }

    /// The service has met a row without the guard, and shown its key.
    #[inline]
    pub fn saw(&self, found: Verdict) {
        self.seen.fetch_add(1, Relaxed);
        match found {
            Verdict::Fine => return,
            Verdict::Moving => self.raced.fetch_add(1, Relaxed),
            Verdict::Denied => self.denied.fetch_add(1, Relaxed),
        };
    }

    /// The owner no longer believes the filter, since it has denied a row: all begins again. `true` if this should be told: at most once a
    /// minute.
    pub fn alarm(&self) -> bool {
        let now = (self.clock)();
        let mut draw = locked(&self.draw);
        draw.answers = 1.0;
        self.left.iter().for_each(|left| left.0.store(0, Relaxed));
        self.clean.store(0, Relaxed);
        let tells = draw.told.is_none_or(|told| now.saturating_sub(told) >= QUIET);
        if tells {
            draw.told = Some(now);
        }
        tells
    }

    /// These keys are about to leave the set. Call it before the filter loses them: a row that was read before would look like one that is
    /// denied.
    pub fn leaving<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        let now = (self.clock)();
        let mut gone = locked(&self.gone);
        for key in keys {
            while let Some((left, _)) = gone.keys.front().copied()
                && (gone.keys.len() >= MOST_REMEMBERED || now.saturating_sub(left) > self.remembered)
            {
                gone.keys.pop_front();
                gone.forgotten = Some(left);
            }
            gone.keys.push_back((now, self.hasher.hash_one(key)));
        }
    }

    /// Keys may have left the set up to now that nobody has named.
    pub fn lost(&self) {
        let now = (self.clock)();
        let mut gone = locked(&self.gone);
        gone.keys.clear();
        gone.forgotten = Some(now);
    }

    /// `true` if the key has left the set since a moment, or if that is not known any more.
    pub fn has_left(&self, key: &[u8], since: Duration) -> bool {
        let hash = self.hasher.hash_one(key);
        let gone = locked(&self.gone);
        gone.forgotten.is_some_and(|forgotten| since <= forgotten)
            || gone.keys.iter().any(|(left, of)| *of == hash && *left >= since)
    }

    /// Ten seconds ago: a row that is checked or shown now was read after that moment, in a snapshot that is no older.
    pub fn lately(&self) -> Duration {
        self.now().saturating_sub(LATELY)
    }

    /// What was found so far.
    pub fn counts(&self) -> SpotCounts {
        SpotCounts {
            checks: self.checks.load(Relaxed),
            clean: self.clean.load(Relaxed),
            raced: self.raced.load(Relaxed),
            denied: self.denied.load(Relaxed),
            seen: self.seen.load(Relaxed),
        }
    }
}

impl Draw {
    /// `true`, and one more check, if the second up to now has not had them all.
    fn allows(&mut self, now: Duration) -> bool {
        if self.last.len() == MOST_A_SECOND {
            if self.last.front().is_some_and(|first| now.saturating_sub(*first) < Duration::from_secs(1)) {
                return false;
            }
            self.last.pop_front();
        }
        self.last.push_back(now);
        true
    }

    /// The number of answers up to and with the next one that is checked.
    fn stretch(&mut self, one_in: u32) -> f64 {
        let share = (FIRST / (self.answers + 1.0)).clamp(1.0 / f64::from(one_in), 1.0);
        // Above 0, and at most 1.
        let uniform = ((self.random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        if share < 1.0 { (uniform.ln() / (-share).ln_1p()).floor() + 1.0 } else { 1.0 }
    }
}

impl fmt::Debug for SpotCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpotCheck")
            .field("one_in", &self.one_in)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
