//! Expressions of a called kernel in the names of its caller.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_poly::Aff;

use super::Sub;
use crate::{Access, Expr, Name, Reduce, Type};

/// What the names of a called kernel become.
#[derive(Clone, Default)]
pub(super) struct Replacement {
    /// Inames, temporaries, parameters of rules, scalars that hold arguments.
    pub renamed: BTreeMap<Name, Name>,
    /// Arrays: the caller's, with the slice.
    pub arrays: BTreeMap<Name, (Name, Vec<Sub>)>,
    /// Results: the element or the scalar.
    pub results: BTreeMap<Name, Access>,
    /// Scalar arguments, as the expressions that replace them in values, where integers wrap.
    pub values: BTreeMap<Name, Expr>,
    /// Integers in subscripts, which do not wrap.
    pub subscripts: BTreeMap<Name, Expr>,
    /// Integer scalars, as affine functions of the caller's integers, for the bounds of loops.
    pub affs: BTreeMap<Name, Aff>,
    /// Open types of the called kernel, as the types that the call gives them.
    pub types: BTreeMap<Name, Type>,
}

impl Replacement {
    /// Lets a name mean itself.
    pub fn forget(&mut self, name: &Name) {
        self.renamed.remove(name);
        self.results.remove(name);
        self.values.remove(name);
        self.subscripts.remove(name);
        self.affs.remove(name);
    }

    /// Whether this is a result that is an element of an array.
    pub fn is_element(&self, name: &Name) -> bool {
        self.results.get(name).is_some_and(|a| !a.index.is_empty())
    }

    /// An expression whose integers wrap in their types.
    pub fn value(&self, e: &Expr) -> Expr {
        self.made(e, false)
    }

    /// A subscript or a size: an expression whose integers do not wrap.
    pub fn subscript(&self, e: &Expr) -> Expr {
        self.made(e, true)
    }

    /// What an instruction writes.
    pub fn target(&self, access: &Access) -> Access {
        match self.results.get(&access.array) {
            Some(result) => result.clone(),
            None => self.access(access),
        }
    }

    fn access(&self, access: &Access) -> Access {
        let mut index = access.index.iter().map(|e| self.subscript(e));
        let Some((array, subs)) = self.arrays.get(&access.array) else {
            let array = self.renamed.get(&access.array).unwrap_or(&access.array);
            return Access { array: array.clone(), index: index.collect() };
        };
        let inserted = subs.iter().filter_map(|sub| match sub {
            Sub::At(e) => Some(e.clone()),
            Sub::Range { .. } => index.next().map(|e| sub.of(e)),
        });
        Access { array: array.clone(), index: inserted.collect() }
    }

    fn made(&self, e: &Expr, subscript: bool) -> Expr {
        match e {
            Expr::Name(n) => {
                if let Some(result) = self.results.get(n) {
                    return match result.index.is_empty() {
                        true => Expr::Name(result.array.clone()),
                        false => Expr::Subscript(result.clone()),
                    };
                }
                if subscript && let Some(e) = self.subscripts.get(n) {
                    return e.clone();
                }
                match (self.values.get(n), self.renamed.get(n)) {
                    (Some(e), _) => e.clone(),
                    (None, Some(new)) => Expr::Name(new.clone()),
                    (None, None) => e.clone(),
                }
            }
            Expr::Subscript(access) => Expr::Subscript(self.access(access)),
            Expr::Cast(t, a) => {
                let t = match t {
                    Type::Open(name) => self.types.get(name).unwrap_or(t),
                    t => t,
                };
                Expr::Cast(t.clone(), Arc::new(self.made(a, subscript)))
            }
            Expr::Reduce(r) => Expr::Reduce(Arc::new(Reduce {
                op: r.op.clone(),
                inames: r.inames.iter().map(|n| self.renamed.get(n).unwrap_or(n).clone()).collect(),
                args: r.args.iter().map(|a| self.made(a, subscript)).collect(),
            })),
            _ => e.map_children(&mut |child| self.made(child, subscript)),
        }
    }
}
