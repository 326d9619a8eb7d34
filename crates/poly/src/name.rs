//! Names of dimensions and parameters.

use std::{borrow::Borrow, fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};

/// A name: of an iname, a parameter, an array, an instruction. Cheap to clone; compared and ordered
/// as text.
#[derive(Clone, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(Arc<str>);

impl Name {
    /// The name with this text.
    pub fn new(text: impl AsRef<str>) -> Self {
        Name(Arc::from(text.as_ref()))
    }

    /// The name that this one and a suffix make together.
    pub fn followed_by(&self, suffix: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + suffix.len());
        text.push_str(&self.0);
        text.push_str(suffix);
        Name::from(text)
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has this text. Names of one length, such as `t1` and `t2`, mostly differ in their
    /// last byte, which is looked at before the rest is compared.
    #[inline]
    pub(crate) fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        own.len() == other.len() && own.last() == other.last() && own == other
    }
}

/// Most names that are equal are clones of each other and share their text.
impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.is(&other.0)
    }
}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Name(Arc::from(text))
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_if_their_texts_are() {
        let texts = ["", "a", "b", "ab", "bb", "ba", "t1", "t2", "s1", "t11"];
        for (k, one) in texts.iter().enumerate() {
            for (j, other) in texts.iter().enumerate() {
                let names = (Name::new(one), Name::new(other));
                assert_eq!((names.0 == names.1, names.0.is(other)), (k == j, k == j), "{one} {other}");
            }
        }
    }
}
