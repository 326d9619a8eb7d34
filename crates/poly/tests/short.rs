//! What tests of sets and functions are written with.

use loopwright_poly::{Aff, Error, Map, Set};

pub fn v(name: &str) -> Aff {
    Aff::var(name)
}

pub fn k(value: i64) -> Aff {
    Aff::constant(value)
}

pub fn set(text: &str) -> Set {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

pub fn map(text: &str) -> Map {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

pub fn is_space_error<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Space(_))), "{result:?}");
}
