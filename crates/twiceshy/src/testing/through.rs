//! What a remote that wraps another leaves to it.

/// Methods of [`Remote`](crate::remote::Remote) that do what a field's do: `through!(inner: walk, commit, sequence)`.
///
/// For the hostile remotes of tests, which each bend one or two methods of an honest one. The errors are the inner remote's.
#[macro_export]
#[doc(hidden)]
macro_rules! through {
    ($field:tt: $($method:ident),+) => { $($crate::through!(@$method $field);)+ };
    (@candidates $field:tt) => {
        fn candidates(
            &self,
            place: &$crate::remote::Place,
            found: &mut dyn FnMut(&[u8]),
        ) -> Result<(), Self::Error> {
            self.$field.candidates(place, found)
        }
    };
    (@walk $field:tt) => {
        fn walk(
            &self,
            generation: $crate::remote::Generation,
            after: Option<&$crate::remote::Position>,
            limit: usize,
            found: &mut dyn FnMut($crate::remote::Position),
        ) -> Result<(), Self::Error> {
            self.$field.walk(generation, after, limit, found)
        }
    };
    (@commit $field:tt) => {
        fn commit(
            &mut self,
            plan: &$crate::remote::Plan,
        ) -> Result<(), $crate::remote::CommitError<Self::Error>> {
            self.$field.commit(plan)
        }
    };
    (@sequence $field:tt) => {
        fn sequence(&self) -> Result<u64, Self::Error> {
            self.$field.sequence()
        }
    };
    (@in_use $field:tt) => {
        fn in_use(
            &self,
        ) -> Result<Option<($crate::remote::Generation, $crate::remote::Schema)>, Self::Error> {
            self.$field.in_use()
        }
    };
    (@knows_cells $field:tt) => {
        fn knows_cells(&self) -> bool {
            self.$field.knows_cells()
        }
    };
    (@phase $field:tt) => {
        fn phase(&self) -> Result<Option<$crate::remote::Phase>, Self::Error> {
            self.$field.phase()
        }
    };
}
