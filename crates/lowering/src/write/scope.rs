//! The meaning of names where an expression is translated.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Name;

use crate::{program::Value, write::env::Env};

/// Where names get their values from, in addition to the environment.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub env: &'s Env,
    /// Names of an operator's state or inputs; hides the environment.
    pub local: Option<&'s BTreeMap<Name, Value>>,
    /// Results of reductions by number, with the number of the expression's next reduction.
    pub results: Option<&'s BTreeMap<usize, Value>>,
}

impl<'s> Scope<'s> {
    pub fn of(env: &'s Env) -> Self {
        Scope { env, local: None, results: None }
    }
}
