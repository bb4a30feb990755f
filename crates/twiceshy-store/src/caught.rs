//! Panics of the embedded stores become values. redb and fjall panic when they meet bytes that make no sense, and a damaged
//! file has such bytes.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// `true` if the current thread is inside a call into redb or fjall whose panics become errors. A panic hook that stays quiet then
/// hides messages about panics that never reach the program.
#[doc(hidden)]
pub fn panics_become_errors() -> bool {
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

struct Inside;

impl Inside {
    fn enter() -> Inside {
        // A thread that is ending has no such variable any more. Then the hook prints a message: no more than that.
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    }
}

/// Calls an engine. The error is what it said when it panicked, in one line.
///
/// Every value that redb gave out must be dropped inside, or by another call of this: a second panic while the first one
/// unwinds would abort the process.
pub(crate) fn caught<T>(engine: &str, call: impl FnOnce() -> T) -> Result<T, String> {
    let _inside = Inside::enter();
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| said(engine, &*payload))
}

fn said(engine: &str, payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words: Vec<&str> = text.unwrap_or("it gave no reason").split_whitespace().collect();
    format!("{engine} gave up: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line_and_the_thread_is_outside_again() {
        assert!(!panics_become_errors());
        let mut was_inside = false;
        let caught = caught("redb", || {
            was_inside = panics_become_errors();
            panic!("two\n  lines {}", 2)
        });
        assert_eq!(caught, Err::<(), _>("redb gave up: two lines 2".to_owned()));
        assert!(was_inside && !panics_become_errors());
    }
}
