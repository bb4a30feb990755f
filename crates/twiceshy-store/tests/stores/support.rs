//! What several modules need.

use std::sync::Once;
use twiceshy_store::panics_become_errors;

/// redb's panics are caught, so their messages say nothing. The hook is that of the whole program: it is set once.
pub(crate) fn quiet_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !panics_become_errors() {
                before(info);
            }
        }));
    });
}
