//! A filter that is full of keys known to collide.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::silent_siblings::{WINDOW, begin, movers, name_each, passed, push};

/// One key in eight of the set is replaced by a mistake.
const SIBLINGS: u64 = 8;

/// At the start of a phase it replaces an eighth of the set by mistakes, each of which collides with a stored key: there they
/// fill what the filter has for keys without room. Then it goes on as [`silent-siblings`](super::silent_siblings): keeps
/// fresh keys whose insertion moved the frontier by any step, deletes the set, inserts all keys that it kept but one, and
/// names that one. Without a frontier it learns nothing, and names a fresh key.
///
/// *Why it might win.* If a filter does something that can be seen once there are too many keys beside its first level, an
/// insertion then tells which keys go there. With a back yard these share quotient and signature with a stored key, which
/// is much of a base.
pub(super) struct Crowding;

impl Adversary for Crowding {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let Some(phase) = begin(oracle, notes)? else { return Ok(Named::one(notes.fresh())) };
        let mut stored = notes.shuffled_set();
        for _ in 0..notes.n() / SIBLINGS {
            let Some(key) = notes.find_wrong(oracle)? else { break };
            // One place for it, and one for a key that is tried.
            while oracle.room() < 2 && !stored.is_empty() {
                let first: Key = stored.remove(0);
                oracle.delete(&first)?;
            }
            if oracle.try_insert(&key)? {
                stored.push(key);
            }
        }
        push(oracle, notes, |oracle| passed(oracle) >= phase + WINDOW.start)?;
        let kept = movers(oracle, notes, phase + WINDOW.end)?;
        push(oracle, notes, |oracle| passed(oracle) >= phase + 1.0)?;
        name_each(oracle, notes, &stored, kept)
    }
}
