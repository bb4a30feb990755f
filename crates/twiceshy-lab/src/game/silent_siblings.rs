//! Keys that collide silently when they are inserted.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The part of a phase in which keys are tried. Before it few keys have the new function, behind it few have the old one.
pub(super) const WINDOW: std::ops::Range<f64> = 0.5..0.85;

/// Waits for the second half of a phase. There it inserts fresh keys, removes each at once, and keeps those whose insertion
/// moved the frontier, of which the oracle tells it. Lets the phase end by mistakes, deletes the set, inserts all keys that
/// it kept but one, and names that one. Without a frontier it learns nothing, and names a fresh key.
///
/// *Why it wins.* A key that is inserted and collides extends the fingerprint of a stored key, and that moves the frontier:
/// so the frontier says that the two share a base, though no query was ever wrong. Two new keys that collided with the same
/// stored key share their base with each other. If a new key leaves no record of that, and the stored key takes another
/// function, nothing tells the two apart: each is wrong while the other is stored.
///
/// *Why the frontier is told.* It can be read from answers, see [`silent-probing`](super::silent_probing), but only partly.
pub(super) struct SilentSiblings;

impl Adversary for SilentSiblings {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let Some(phase) = begin(oracle, notes)? else { return Ok(Named::one(notes.fresh())) };
        let set = make_place(oracle, notes)?;
        push(oracle, notes, |oracle| passed(oracle) >= phase + WINDOW.start)?;
        let kept = movers(oracle, notes, phase + WINDOW.end)?;
        push(oracle, notes, |oracle| passed(oracle) >= phase + 1.0)?;
        name_each(oracle, notes, &set, kept)
    }
}

/// Inserts fresh keys and removes each at once, until the frontier is at `end` or a search finds no more. Returns those whose
/// insertion moved the frontier.
pub(super) fn movers(oracle: &mut Oracle, notes: &mut Notes, end: f64) -> Result<Vec<Key>, GameError> {
    let mut kept = Vec::new();
    let mut tried = 0;
    while passed(oracle) < end && tried < notes.enough() {
        tried += 1;
        let (key, before) = (notes.fresh(), oracle.phase());
        if !oracle.try_insert(&key)? {
            continue;
        }
        let moved = oracle.phase() != before;
        oracle.delete(&key)?;
        if moved {
            kept.push(key);
            tried = 0;
        }
    }
    Ok(kept)
}

/// Brings the frontier to the start of a phase, unless it is in the first part of one. Returns how many phases are over
/// then; `None` if there is no frontier.
pub(super) fn begin(oracle: &mut Oracle, notes: &mut Notes) -> Result<Option<f64>, GameError> {
    let Some(phase) = oracle.phase() else { return Ok(None) };
    let ended = phase.ended as f64;
    if phase.part < WINDOW.start / 2.0 {
        return Ok(Some(ended));
    }
    push(oracle, notes, |oracle| passed(oracle) >= ended + 1.0)?;
    Ok(Some(passed(oracle).floor()))
}

/// The phases that are over, and the part of the current one.
pub(super) fn passed(oracle: &Oracle) -> f64 {
    oracle.phase().map_or(0.0, |phase| phase.ended as f64 + phase.part)
}

/// Finds mistakes, each of which moves the frontier, until it is far enough or a search finds none.
pub(super) fn push(
    oracle: &mut Oracle,
    notes: &mut Notes,
    far_enough: impl Fn(&Oracle) -> bool,
) -> Result<(), GameError> {
    while !far_enough(oracle) && notes.find_wrong(oracle)?.is_some() {}
    Ok(())
}

/// Deletes a key of the full set, so that there is a place for one at a time. Returns the others.
pub(super) fn make_place(oracle: &mut Oracle, notes: &mut Notes) -> Result<Vec<Key>, GameError> {
    let mut set: Vec<Key> = notes.set().collect();
    oracle.delete_all(set.pop().iter())?;
    Ok(set)
}

/// Deletes the set, and names each of the kept keys while the others are stored. With fewer than two of them it has learned
/// nothing, and names a fresh key.
pub(super) fn name_each(
    oracle: &mut Oracle,
    notes: &mut Notes,
    set: &[Key],
    kept: Vec<Key>,
) -> Result<Named, GameError> {
    if kept.len() < 2 {
        return Ok(Named::one(notes.fresh()));
    }
    oracle.delete_all(set)?;
    Ok(Named::each_beside_the_others(kept))
}
