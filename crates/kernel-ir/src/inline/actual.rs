//! What a call gives for the arguments of the called kernel.

use std::collections::BTreeSet;

use loopwright_poly::Aff;

use super::Fault;
use crate::{Access, BinaryOp, Diagnostic, Expr, Lookup, Name, validate::is_integer};

/// A subscript of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sub {
    /// One position; the slice has no axis for it.
    At(Expr),
    /// Those from the first one on, before the second, every `step`-th; without bounds, all.
    Range { from: Option<Expr>, to: Option<Expr>, step: i64 },
}

/// What stands for an argument of the called kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actual {
    /// Elements of an array, for an array; without subscripts, all of them.
    Slice { array: Name, subs: Option<Vec<Sub>> },
    /// An element or a scalar temporary, for a result.
    Element(Access),
    /// The expression that stands for a scalar argument.
    Value(Expr),
}

/// The function of the caller's integers that an expression is: of inames and of integer scalars.
pub(crate) fn integer(lookup: &Lookup<'_>, e: &Expr) -> Option<Aff> {
    let aff = e.to_aff()?;
    let foreign = |name: &Name| {
        !lookup.is_iname(name)
            && !lookup.scalar(name).is_some_and(|s| is_integer(&s.dtype))
            && !lookup.temporary(name).is_some_and(|t| t.axes.is_empty() && is_integer(&t.dtype))
    };
    (!aff.mentions_any(&foreign)).then_some(aff)
}

fn difference(a: Expr, b: Option<&Expr>) -> Expr {
    let made = match b {
        None => a,
        Some(b) => Expr::binary(BinaryOp::Sub, a, b.clone()),
    };
    made.to_aff().map_or(made, |aff| Expr::from_aff(&aff))
}

impl Sub {
    /// All positions of an axis, as `:` in a slice.
    pub const ALL: Sub = Sub::Range { from: None, to: None, step: 1 };

    fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let (a, b) = match self {
            Sub::At(e) => (Some(e), None),
            Sub::Range { from, to, .. } => (from.as_ref(), to.as_ref()),
        };
        a.into_iter().chain(b)
    }

    /// The subscript of the array for one of the slice.
    pub fn of(&self, index: Expr) -> Expr {
        let Sub::Range { from, step, .. } = self else { return index };
        let scaled = match step {
            1 => index,
            _ => Expr::binary(BinaryOp::Mul, Expr::Int(*step), index),
        };
        match from {
            None if *step == 1 => return scaled,
            None => {}
            Some(Expr::Int(0)) => {}
            Some(from) => {
                let sum = Expr::binary(BinaryOp::Add, scaled, from.clone());
                return sum.to_aff().map_or(sum, |aff| Expr::from_aff(&aff));
            }
        }
        scaled
    }
}

impl Actual {
    /// The subscripts of a slice, those of a whole array written out.
    pub fn subs(&self, lookup: &Lookup<'_>) -> Vec<Sub> {
        match self {
            Actual::Slice { subs: Some(subs), .. } => subs.clone(),
            Actual::Slice { array, subs: None } => {
                let axes = lookup.array(array).map_or(0, |a| a.axes.len());
                vec![Sub::ALL; axes]
            }
            Actual::Element(_) | Actual::Value(_) => Vec::new(),
        }
    }

    /// The lengths of the axes of a slice; `None` for anything else, and for another rank than the
    /// array's.
    pub fn lengths(&self, lookup: &Lookup<'_>) -> Option<Vec<Expr>> {
        let Actual::Slice { array, .. } = self else { return None };
        let subs = self.subs(lookup);
        let axes = &lookup.array(array)?.axes;
        if axes.len() != subs.len() {
            return None;
        }
        let mut found = Vec::new();
        for (axis, sub) in axes.iter().zip(&subs) {
            let Sub::Range { from, to, step } = sub else { continue };
            let end = to.as_ref().unwrap_or(&axis.length).clone();
            let length = difference(end, from.as_ref());
            found.push(match (step, length.to_aff()) {
                (1, _) => length,
                (step, Some(aff)) => {
                    let count = aff.add_constant(step - 1).and_then(|a| a.floor_div(*step)).ok()?;
                    Expr::from_aff(&count)
                }
                (step, None) => {
                    let up = Expr::binary(BinaryOp::Add, length, Expr::Int(step - 1));
                    Expr::binary(BinaryOp::FloorDiv, up, Expr::Int(*step))
                }
            });
        }
        Some(found)
    }

    /// Its expressions, in the order of the text.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Actual::Value(e) => vec![e],
            Actual::Element(access) => access.index.iter_mut().collect(),
            Actual::Slice { subs, .. } => {
                let mut found = Vec::new();
                for sub in subs.iter_mut().flatten() {
                    match sub {
                        Sub::At(e) => found.push(e),
                        Sub::Range { from, to, .. } => found.extend(from.iter_mut().chain(to)),
                    }
                }
                found
            }
        }
    }

    /// The names in its subscripts.
    pub fn names(&self) -> BTreeSet<Name> {
        match self {
            Actual::Slice { subs, .. } => {
                subs.iter().flatten().flat_map(Sub::expressions).flat_map(Expr::names).collect()
            }
            Actual::Element(access) => access.index.iter().flat_map(Expr::names).collect(),
            Actual::Value(e) => e.names(),
        }
    }

    /// Requires that what is passed by reference names the same elements as long as the lines run:
    /// its subscripts are functions of inames and integer scalars.
    pub fn check(&self, lookup: &Lookup<'_>, formal: &Name) -> Result<(), Fault> {
        let all = self.subs(lookup);
        let (array, count, subs): (&Name, usize, Vec<&Expr>) = match self {
            Actual::Slice { array, .. } => {
                (array, all.len(), all.iter().flat_map(Sub::expressions).collect())
            }
            Actual::Element(access) => (&access.array, access.index.len(), access.index.iter().collect()),
            Actual::Value(_) => return Ok(()),
        };
        let Some(declared) = lookup.array(array) else {
            let message = format!("`{array}` is not an array");
            let mut help = "give an array of the kernel, or a slice of one, as `x[i, :]`";
            if lookup.scalar(array).is_some() {
                help = "a result is written to an element, or to a scalar temporary";
            }
            return Err(Fault::about(formal, Diagnostic::new("unknown-name", message).help(help)));
        };
        if declared.axes.len() != count {
            let message =
                format!("`{array}` has {} axes, and {count} subscripts are given", declared.axes.len());
            let help = "give one for each axis, `:` for all positions on it";
            return Err(Fault::about(formal, Diagnostic::new("wrong-subscript", message).help(help)));
        }
        let Some(wrong) = subs.into_iter().find(|e| integer(lookup, e).is_none()) else { return Ok(()) };
        let message =
            format!("the subscript `{wrong}` is not an affine function of inames and integer scalars");
        let help = "load it into an integer scalar before the call: `<i32> p = ...`";
        Err(Fault::about(formal, Diagnostic::new("not-affine", message).help(help)))
    }
}
