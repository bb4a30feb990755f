//! A remote that fails at any call, or whose answer is lost: nothing changes, or the outcome is found out, and the next
//! attempt works. Over every filter and the kinds of remote that it can have.

mod failures;
mod lost_answers;
mod making;
mod rebuilds;
mod scene;

/// Calls a check for every variant over the kinds of remote that it can have.
macro_rules! everywhere {
    ($check:ident) => {
        for variant in twiceshy::testing::Variant::ALL {
            $check::<twiceshy::remote::ByHash>(*variant);
            if variant.kind().has_cells() {
                $check::<twiceshy::remote::Mirror>(*variant);
            }
        }
    };
}
pub(crate) use everywhere;
