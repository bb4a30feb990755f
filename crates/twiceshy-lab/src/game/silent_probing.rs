//! The frontier, read from answers.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::silent_siblings::{WINDOW, begin, make_place, name_each};

/// c: the keys that take another function for each extension.
const PASSING: f64 = 3.0;

/// How many keys of the pool are wrong after a move, on average. Each of these mistakes moves the frontier as well, so that
/// a move costs 1/(1 − this) moves; with half as many keys a third fewer moves are seen.
const SEEN: f64 = 0.5;

/// How far into the next phase it waits for the phase to end, since it has missed moves and does not know how many.
const MARGIN: f64 = 0.15;

/// Plays [`silent-siblings`](super::silent_siblings), but sees only answers, from the start of a phase on. It keeps a pool
/// of absent keys that were asked until each was right. It inserts a fresh key, removes it, and asks the whole pool again: a
/// new mistake means that the frontier has moved. It reckons with the mistakes that it saw, and with the moves that it is
/// likely to have missed, to know where the frontier is. Without a frontier it learns nothing, and names a fresh key.
///
/// *Why it sees the moves.* A key of the pool is right because no stored key matches it. If the frontier passes it, or a key
/// that is stored, one of them has another hash, and the answer is drawn anew: it is wrong with probability ε. As long as
/// the frontier stands still, the same set gives the same answers.
///
/// *What it costs.* A pool of n/12ε keys, each asked for every key tried, of which one in 1/ε collides: about n²/72ε² look-ups
/// a game. Beyond the bound on look-ups it stops to try.
pub(super) struct SilentProbing;

impl Adversary for SilentProbing {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        if begin(oracle, notes)?.is_none() {
            return Ok(Named::one(notes.fresh()));
        }
        let set = make_place(oracle, notes)?;
        let mut prober = Prober::new(notes);
        prober.push(oracle, notes, WINDOW.start - SEEN / 2.0)?;
        prober.gather(oracle, notes)?;
        let kept = prober.probe(oracle, notes)?;
        prober.push(oracle, notes, 1.0 + MARGIN)?;
        name_each(oracle, notes, &set, kept)
    }
}

/// What it knows.
struct Prober {
    /// The keys that were right when they were last asked.
    pool: Vec<Key>,
    /// Where it takes the frontier to be, in phases.
    frontier: f64,
    /// By how much an extension moves the frontier.
    step: f64,
    /// The chance that an insertion collides.
    rate: f64,
}

impl Prober {
    fn new(notes: &Notes) -> Prober {
        let n = notes.n() as f64;
        Prober { pool: Vec::new(), frontier: 0.0, step: PASSING / n, rate: n / notes.anatomy().hash_values() }
    }

    /// `true` while it may ask.
    fn may_ask(oracle: &Oracle, notes: &Notes) -> bool {
        oracle.counts().queries < notes.tactics().most_queries
    }

    /// Finds mistakes until the frontier must be there.
    fn push(&mut self, oracle: &mut Oracle, notes: &mut Notes, to: f64) -> Result<(), GameError> {
        while self.frontier < to && notes.find_wrong(oracle)?.is_some() {
            self.frontier += self.step;
        }
        Ok(())
    }

    /// Asks fresh keys for the pool. A mistake is told to the filter, and is right from then on, so it is kept as well.
    fn gather(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<(), GameError> {
        let wanted = SEEN / (2.0 * PASSING) * notes.n() as f64 / self.rate;
        while (self.pool.len() as f64) < wanted && Prober::may_ask(oracle, notes) {
            let key = notes.fresh();
            if oracle.lookup(&key)? {
                self.frontier += self.step;
            }
            self.pool.push(key);
        }
        self.calm(oracle).map(|_| ())
    }

    /// Asks the whole pool until none of it is wrong. `true` if any was: each mistake moves the frontier.
    fn calm(&mut self, oracle: &mut Oracle) -> Result<bool, GameError> {
        let before = self.frontier;
        loop {
            let begun = self.frontier;
            for key in &self.pool {
                if oracle.lookup(key)? {
                    self.frontier += self.step;
                }
            }
            if self.frontier == begun {
                return Ok(begun > before);
            }
        }
    }

    /// Tries fresh keys in the window. Returns those after which the pool had a new mistake.
    fn probe(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Vec<Key>, GameError> {
        let mut kept = Vec::new();
        while self.frontier < WINDOW.end && !self.pool.is_empty() && Prober::may_ask(oracle, notes) {
            let (key, before) = (notes.fresh(), oracle.phase());
            if !oracle.try_insert(&key)? {
                self.frontier += self.step;
                continue;
            }
            // A new mistake could be about the key itself if it were still stored.
            oracle.delete(&key)?;
            // For the report only: the adversary does not look at it.
            let moved = oracle.phase() != before;
            let seen = self.calm(oracle)?;
            match (moved, seen) {
                (true, true) => notes.diary.moves_found += 1,
                (true, false) => notes.diary.moves_missed += 1,
                (false, true) => notes.diary.false_alarms += 1,
                (false, false) => {}
            }
            self.frontier += if seen { self.step } else { self.step * self.rate * (-SEEN).exp() };
            if seen {
                kept.push(key);
            }
        }
        Ok(kept)
    }
}
