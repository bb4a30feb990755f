//! Random play against the filter.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The number of draws.
const DRAWS: u32 = 8;

/// Knows the set and n/8 mistakes about it. In each of eight rounds it draws which 3n/4 of its known keys are stored,
/// asks every third of the others, and finds n/32 more mistakes. After a last draw it names any key that is absent.
///
/// *Why it might win.* It follows no plan, so it finds what no plan foresaw: chains, families, returns, second and
/// third mistakes, before and after the frontier passed, in any order. Nine in ten of its known pairs are never stored
/// and asked in the order that a rule was made for.
pub(super) struct Lottery;

impl Adversary for Lottery {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut known: Vec<Key> = notes.set().collect();
        known.extend(notes.find_many(oracle, notes.one_in(8))?);
        for _ in 0..DRAWS {
            for key in draw(oracle, notes, &mut known)?.iter().step_by(3) {
                oracle.lookup(key)?;
            }
            known.extend(notes.find_many(oracle, notes.one_in(32))?);
        }
        draw(oracle, notes, &mut known)?;
        Ok(notes.name(oracle, known))
    }
}

/// Draws which keys are stored, and returns the others.
fn draw<'k>(oracle: &mut Oracle, notes: &mut Notes, known: &'k mut [Key]) -> Result<&'k [Key], GameError> {
    notes.shuffle(known);
    let (staying, leaving) = known.split_at((notes.n() as usize * 3).div_ceil(4).min(known.len()));
    for key in leaving {
        if oracle.holds(key) {
            oracle.delete(key)?;
        }
    }
    for key in staying {
        if !oracle.holds(key) {
            oracle.try_insert(key)?;
        }
    }
    Ok(leaving)
}
