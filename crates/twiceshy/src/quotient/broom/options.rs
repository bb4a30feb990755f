//! How a broom filter is asked for.

use super::filter::BroomFilter;
use crate::error::{BuildError, OptionsError};
use crate::hash::HashKey;
use crate::remote::Remote;
use crate::sizing;

/// What to build. Every setting is checked in [`BroomOptions::build`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BroomOptions {
    size: Size,
    c: u32,
    #[cfg(feature = "testing")]
    ghosts_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Capacity { keys: u64, rate: f64 },
    Slots { slots: u64, width: u32 },
}

/// The load that a broom filter is planned for.
const LOAD: f64 = 0.95;

impl BroomFilter {
    /// A filter for so many keys at this sustained false-positive rate.
    pub fn options(keys: u64, rate: f64) -> Result<BroomOptions, OptionsError> {
        sizing::check_capacity(keys)?;
        sizing::check_rate(rate)?;
        Ok(BroomOptions::of(Size::Capacity { keys, rate }))
    }

    /// A filter of so many slots with remainders of `width` bits.
    pub fn with_slots(slots: u64, width: u32) -> BroomOptions {
        BroomOptions::of(Size::Slots { slots, width })
    }
}

impl BroomOptions {
    fn of(size: Size) -> BroomOptions {
        BroomOptions {
            size,
            c: 3,
            #[cfg(feature = "testing")]
            ghosts_off: false,
        }
    }

    /// How many keys take the new hash function for each extension of a fingerprint: 3 to 64, and 3 if nobody says otherwise
    /// (with removals, 4.3 needs more than 2).
    #[must_use]
    pub fn reclaim(self, c: u32) -> Self {
        BroomOptions { c, ..self }
    }

    /// For tests only: a filter that forgets what it had learned of a key when the key is removed, which is the mistake that
    /// ghosts are there to avoid (4.3). A larger table, and a filter that was loaded or recovered, has ghosts.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn without_ghosts(self) -> Self {
        BroomOptions { ghosts_off: true, ..self }
    }

    /// The slots of the first level and the remainder's width that these options come to.
    pub fn geometry(&self) -> Result<(u64, u32), OptionsError> {
        match self.size {
            Size::Slots { slots, width } => {
                sizing::check_width(width)?;
                sizing::check_slots(slots)?;
                Ok((slots, width))
            }
            Size::Capacity { keys, rate } => {
                let slots = sizing::quotient_slots(keys, LOAD)?;
                let enough = |width: &u32| sizing::quotient_rate(keys as f64 / slots as f64, *width) <= rate;
                Ok((slots, sizing::WIDTHS.clone().find(enough).ok_or(OptionsError::Rate(rate))?))
            }
        }
    }

    fn parts(&self) -> Result<(u64, u32), OptionsError> {
        if !(3..=64).contains(&self.c) {
            return Err(OptionsError::Bound("3 to 64 keys can be moved for each extension"));
        }
        self.geometry()
    }

    /// An empty filter over a remote that holds no set yet and knows its keys in byte order.
    pub fn build<R: Remote>(&self, hash: HashKey, remote: &mut R) -> Result<BroomFilter, BuildError<R::Error>> {
        let (slots, width) = self.parts()?;
        let filter = BroomFilter::build(slots, width, self.c, hash, remote);
        #[cfg(feature = "testing")]
        let filter = filter.map(|mut filter| {
            filter.local.ghosts.off = self.ghosts_off;
            filter
        });
        filter
    }

    /// A filter for the set that a remote holds already, under its hash functions and frontier. What an earlier filter had
    /// learned is gone, its ghosts included.
    pub fn recover<R: Remote>(&self, remote: &mut R) -> Result<BroomFilter, BuildError<R::Error>> {
        let (slots, width) = self.parts()?;
        BroomFilter::recover(slots, width, self.c, remote)
    }
}
