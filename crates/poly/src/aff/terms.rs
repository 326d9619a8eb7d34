//! The terms of a function, shared between its copies.
//!
//! Functions are copied far more often than they are made: into systems, places, scopes and tables.
//! A copy of one with several terms shares them, and one with a single term needs no memory of its
//! own.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    ops::Deref,
    slice,
    sync::Arc,
};

use serde::{Serialize, Serializer};

use super::Term;

/// Terms with their coefficients. Compared, ordered, hashed and stored as the list that they are.
#[derive(Clone, Default)]
pub(super) enum Terms {
    #[default]
    None,
    One((Term, i64)),
    /// At least two, which clones share.
    Many(Arc<[(Term, i64)]>),
}

impl Terms {
    /// Whether both are known to be the same list without looking into it.
    pub fn are_shared(&self, other: &Terms) -> bool {
        match (self, other) {
            (Terms::None, Terms::None) => true,
            (Terms::Many(a), Terms::Many(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl From<Vec<(Term, i64)>> for Terms {
    fn from(mut terms: Vec<(Term, i64)>) -> Self {
        match terms.len() {
            0 => Terms::None,
            1 => terms.pop().map_or(Terms::None, Terms::One),
            _ => Terms::Many(Arc::from(terms)),
        }
    }
}

impl Deref for Terms {
    type Target = [(Term, i64)];

    fn deref(&self) -> &[(Term, i64)] {
        match self {
            Terms::None => &[],
            Terms::One(term) => slice::from_ref(term),
            Terms::Many(terms) => terms,
        }
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        self.are_shared(other) || **self == **other
    }
}

impl Eq for Terms {}

impl PartialOrd for Terms {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Terms {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Terms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    #[test]
    fn terms_are_equal_and_ordered_as_lists() {
        let term = |name: &str, c: i64| (Term::Var(Name::new(name)), c);
        let lists = [
            vec![],
            vec![term("a", 1)],
            vec![term("a", 1), term("b", 2)],
            vec![term("a", 2)],
            vec![term("b", 1)],
        ];
        for a in &lists {
            for b in &lists {
                let (one, other) = (Terms::from(a.clone()), Terms::from(b.clone()));
                assert_eq!(one == other, a == b);
                assert_eq!(one.cmp(&other), a.cmp(b));
                assert_eq!(*one, **a);
            }
        }
    }
}
