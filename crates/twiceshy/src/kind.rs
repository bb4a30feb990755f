//! The list of filters: names, codes, construction and loading. All other lists derive from this one.

use crate::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, Shape, SwappingFilter};
use crate::error::OptionsError;
use crate::filter::Backed;
use crate::hash::HashKey;
use crate::persist::LoadError;
use crate::quotient::{
    BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter, broom_order_words,
};
use crate::remote::{Generation, MAX_ORDERS, OrderWords, Schema};
use std::fmt;
use std::io;
use std::str::FromStr;

/// Declares the kinds, and what is done with each.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident = $code:literal, $file:literal, $name:literal, $filter:ty, $learns:literal;)*) => {
        /// A filter that finds the keys behind its fingerprints in a remote.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$about])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// The name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// The number used in stores.
            pub fn code(self) -> u8 {
                match self {
                    $(Kind::$kind => $code,)*
                }
            }

            /// The number used in saved filters.
            pub(crate) fn file_code(self) -> u16 {
                match self {
                    $(Kind::$kind => $file,)*
                }
            }

            /// `true` if the filter learns from its mistakes.
            pub fn learns(self) -> bool {
                match self {
                    $(Kind::$kind => $learns,)*
                }
            }

            /// The number of cells or slots of a filter for this many keys at this false-positive rate, and their width in
            /// bits.
            pub fn geometry(self, keys: u64, rate: f64) -> Result<(u64, u32), OptionsError> {
                match self {
                    $(Kind::$kind => {
                        let (cells, width) = <$filter>::options(keys, rate)?.size()?;
                        Ok((cells, width))
                    })*
                }
            }

            /// An empty filter for this many keys at this rate, for a generation of a remote.
            pub fn make(
                self,
                keys: u64,
                rate: f64,
                hash: HashKey,
                generation: Generation,
            ) -> Result<Box<dyn Backed>, OptionsError> {
                match self {
                    $(Kind::$kind => Ok(Box::new(<$filter>::options(keys, rate)?.make(hash, generation)?)),)*
                }
            }

            /// Reads a filter of this kind that [`Backed::save`] wrote, and the number of its remote's last commit.
            pub fn load(self, source: &mut dyn io::Read) -> Result<(Box<dyn Backed>, u64), LoadError> {
                match self {
                    $(Kind::$kind => {
                        let (filter, sequence) = <$filter>::load(source)?;
                        Ok((Box::new(filter), sequence))
                    })*
                }
            }
        }
    };
}

kinds! {
    /// The full-key cuckoo filter, which does not learn. Four index entries for each key.
    FullKey = 1, 1, "cuckoo", FullKeyFilter, false;
    /// The Cyclic cuckoo filter. Four index entries for each key.
    Cyclic = 2, 2, "cyclic", CyclicFilter, true;
    /// The Swapping cuckoo filter. Two index entries for each key.
    Swapping = 3, 3, "swapping", SwappingFilter, true;
    /// The Cuckooing filter. Four index entries for each key.
    Cuckooing = 4, 4, "cuckooing", CuckooingFilter, true;
    /// The quotient filter, which does not learn. One index entry for each key.
    Quotient = 5, 11, "quotient", QuotientFilter, false;
    /// The telescoping filter. One index entry for each key.
    Telescoping = 6, 12, "telescoping", TelescopingFilter, true;
    /// The telescoping filter with a byte for each selector. One index entry for each key.
    TelescopingPlain = 7, 13, "telescoping-plain", PlainTelescopingFilter, true;
    /// The extension filter. One index entry for each key.
    Extension = 8, 14, "extension", ExtensionFilter, true;
    /// The broom filter, for hostile clients. Two or three index entries for each key. Its adaptations, its growth and its
    /// recovery after a crash write to the index.
    Broom = 9, 10, "broom", BroomFilter, true;
    /// The remembering cuckoo filter, which never makes an old mistake again to fix a new one. Two index entries for each key.
    Remembering = 10, 15, "remembering", RememberingFilter, true;
}

impl Kind {
    /// `true` if the filter writes to the remote when it learns. If such a filter may have lost what it learned, it must
    /// not keep its functions: it is [recovered](Kind::recover) under new ones.
    pub fn learning_writes(self) -> bool {
        self == Kind::Broom
    }

    /// A key's word for each order of a generation with this layout. [`Backed::entries`] says the same of a filter.
    pub fn order_words(self, schema: &Schema, key: &[u8]) -> OrderWords {
        if self.learning_writes() {
            return broom_order_words(&schema.hash, schema.orders, key);
        }
        let (words, mut all) = (schema.hash.words(key), [0; MAX_ORDERS]);
        let orders = usize::from(schema.orders).min(MAX_ORDERS);
        all.iter_mut().zip(0..schema.orders).for_each(|(word, order)| *word = Shape::order_word(&words, order));
        OrderWords::new(&all[..orders])
    }

    /// The kind with this number in stores.
    pub fn from_code(code: u8) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// `true` if the filter can use a mirror of cells as its remote. In the quotient family slots shift, so it needs a
    /// remote by hash.
    pub fn has_cells(self) -> bool {
        matches!(self, Kind::FullKey | Kind::Cyclic | Kind::Swapping | Kind::Cuckooing | Kind::Remembering)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            format!("there is no filter {name:?}: use one of {}", names.join(", "))
        })
    }
}

/// A kind is written as its name.
#[cfg(feature = "serde")]
mod as_name {
    use super::Kind;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for Kind {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for Kind {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
            String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_words_are_those_of_a_filter_of_any_size() {
        for kind in Kind::ALL {
            // A broom filter has two orders or three, which depends on its size.
            for (keys, rate) in [(5, 0.001), (1_000, 1.0 / 256.0), (20_000, 1.0 / 256.0), (300, 0.2)] {
                let filter = kind.make(keys, rate, HashKey::fixed(keys), Generation(3)).unwrap();
                let (generation, schema) = filter.layout();
                for key in 0..50u64 {
                    let key = key.to_le_bytes();
                    assert_eq!(filter.entries(&key), (generation, kind.order_words(&schema, &key)), "{kind}");
                }
            }
        }
    }

    #[test]
    fn names_and_codes_of_kinds_are_unique() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
            assert_eq!(Kind::from_code(kind.code()), Some(*kind));
            let (cells, width) = kind.geometry(5, 0.001).unwrap();
            let filter = kind.make(5, 0.001, HashKey::fixed(1), Generation(0)).unwrap();
            assert!(cells >= 5 && width >= 8);
            assert_eq!((filter.kind(), filter.cells()), (*kind, cells));
        }
        assert!("bloom".parse::<Kind>().is_err_and(|error| error.contains("telescoping")));
        assert_eq!(Kind::from_code(99), None);
    }
}
