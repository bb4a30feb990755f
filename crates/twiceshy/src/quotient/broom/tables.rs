//! The tables of L: one, or two while it is being replaced. One is what nearly every draft and edit has, so it takes no allocation.

use std::ops::{Index, IndexMut};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables<T> {
    first: T,
    second: Option<Box<T>>,
}

impl<T> Tables<T> {
    pub(crate) fn new(first: T) -> Tables<T> {
        Tables { first, second: None }
    }

    pub(crate) fn len(&self) -> usize {
        1 + usize::from(self.second.is_some())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        std::iter::once(&self.first).chain(self.second.as_deref())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(self.second.as_deref_mut())
    }

    pub(crate) fn map<U>(self, mut change: impl FnMut(T) -> U) -> Tables<U> {
        Tables { first: change(self.first), second: self.second.map(|second| Box::new(change(*second))) }
    }

    /// The same of a filter, by reference.
    pub(crate) fn map_ref<'a, U>(&'a self, mut change: impl FnMut(&'a T) -> U) -> Tables<U> {
        Tables { first: change(&self.first), second: self.second.as_deref().map(|second| Box::new(change(second))) }
    }

    /// Puts a table behind the first, and gives out what was there.
    pub(crate) fn set_second(&mut self, second: Option<Box<T>>) -> Option<Box<T>> {
        std::mem::replace(&mut self.second, second)
    }

    /// The second table becomes the first; `None` where there is only one, which stays.
    pub(crate) fn take_first(&mut self) -> Option<Box<T>> {
        let mut first = self.second.take()?;
        std::mem::swap(&mut self.first, &mut first);
        Some(first)
    }

    /// Undoes [`Tables::take_first`].
    pub(crate) fn put_first(&mut self, mut first: Box<T>) {
        std::mem::swap(&mut self.first, &mut first);
        self.second = Some(first);
    }
}

/// Number 0 is the first, and 1 the second; where there is only one, every number is the first.
impl<T> Index<usize> for Tables<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        match &self.second {
            Some(second) if number > 0 => second,
            _ => &self.first,
        }
    }
}

impl<T> IndexMut<usize> for Tables<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        match &mut self.second {
            Some(second) if number > 0 => second,
            _ => &mut self.first,
        }
    }
}
