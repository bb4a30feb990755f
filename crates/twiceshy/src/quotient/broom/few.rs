//! One of something or two, without an allocation: every operation makes a draft of the levels, and an edit of each.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Few<T> {
    One([T; 1]),
    Two([T; 2]),
}

impl<T> Few<T> {
    /// `None` where there are none, or more than two.
    pub(crate) fn from_items(mut items: impl Iterator<Item = T>) -> Option<Few<T>> {
        match (items.next()?, items.next(), items.next()) {
            (first, None, _) => Some(Few::One([first])),
            (first, Some(second), None) => Some(Few::Two([first, second])),
            _ => None,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Few<U> {
        match self {
            Few::One(items) => Few::One(items.map(change)),
            Few::Two(items) => Few::Two(items.map(change)),
        }
    }

    pub(crate) fn each_ref(&self) -> Few<&T> {
        match self {
            Few::One(items) => Few::One(items.each_ref()),
            Few::Two(items) => Few::Two(items.each_ref()),
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Few::One(items) => items,
            Few::Two(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::One(items) => items,
            Few::Two(items) => items,
        }
    }
}
