//! An empty remote that keeps what it is told: for making a filter before its store has heard of it.

use twiceshy::remote::{CommitError, Generation, Place, Plan, Position, Remote, Schema};

/// Takes one plan.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) plan: Option<Plan>,
}

impl Remote for Recorder {
    type Error = std::convert::Infallible;

    fn candidates(&self, _: &Place, _: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error> {
        Ok(())
    }

    fn walk(
        &self,
        _: Generation,
        _: Option<&Position>,
        _: usize,
        _: &mut dyn FnMut(Position),
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        self.plan = Some(plan.clone());
        Ok(())
    }

    fn sequence(&self) -> Result<u64, Self::Error> {
        Ok(self.plan.as_ref().map_or(0, |plan| plan.sequence))
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Self::Error> {
        Ok(None)
    }
}
