//! A value for each parameter.

use std::fmt;

use loopwright_kernel_ir::Name;
use serde::{Deserialize, Serialize};

/// A value for each parameter of a space, in the space's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(Vec<(Name, i64)>);

impl Point {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(n, _)| **n == *name).map(|(_, v)| *v)
    }

    /// The point with one more parameter, after the others.
    pub fn with(&self, name: impl Into<Name>, value: i64) -> Point {
        let mut values = self.0.clone();
        values.push((name.into(), value));
        Point(values)
    }

    /// The names and values, in the space's order.
    pub fn values(&self) -> impl Iterator<Item = (&Name, i64)> {
        self.0.iter().map(|(n, v)| (n, *v))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(no parameters)");
        }
        let values: Vec<String> = self.0.iter().map(|(n, v)| format!("{n}={v}")).collect();
        f.write_str(&values.join(" "))
    }
}
