//! What must hold between a filter and its remote, whatever the table looks like.

use super::{Seam, Table};
use crate::remote::{Generation, Position, Remote};

impl<T: Table> Seam<T> {
    /// Checks both tables against the keys that each of them must hold: the first thing that is wrong, in words.
    pub(crate) fn check<Rem: Remote>(
        &self,
        remote: &Rem,
        check_table: impl Fn(&T, &[Position]) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.is_in_doubt() {
            return Ok(());
        }
        let sequence = remote.sequence().map_err(|error| error.to_string())?;
        if sequence != self.sequence {
            return Err(format!("the filter is at commit {}, the remote at {sequence}", self.sequence));
        }
        let keys = all_keys(remote, self.live.generation())?;
        check_table(&self.live, &keys)?;
        if let Some(next) = &self.next {
            let passed: Vec<Position> = keys.into_iter().filter(|at| next.has_passed(&at.key)).collect();
            check_table(&next.table, &passed).map_err(|wrong| format!("in the table being filled: {wrong}"))?;
        }
        Ok(())
    }
}

fn all_keys<Rem: Remote>(remote: &Rem, generation: Generation) -> Result<Vec<Position>, String> {
    let mut keys: Vec<Position> = Vec::new();
    remote.walk(generation, None, usize::MAX, &mut |at| keys.push(at)).map_err(|error| error.to_string())?;
    if !keys.is_sorted_by(|a, b| a < b) {
        return Err("the remote walks out of order".into());
    }
    Ok(keys)
}
