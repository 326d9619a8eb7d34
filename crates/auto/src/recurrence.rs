//! Recurrences: each element is a function of the one before it along a loop.
//!
//! If that is linear, their iterations are one after another as they stand,
//! `y[i] = a[i]*y[i - 1] + b[i]`. But linear functions `(f, v)`, of the one before `f*y + v`, are
//! composed in any grouping: declared as a reduction by that operator over the points up to one's
//! own, the loop is a scan. Where nothing is multiplied it is a prefix sum; of the least or the
//! greatest of both it is a scan by `min` or `max`. No step rewrites one as the other, so that this
//! is a wish. Of other functions the compositions are not of a form that is known before, and the
//! loop stays as it is, which is said.

use loopwright_kernel_ir::{Access, Aff, BinaryOp, Expr, Instruction, Name, UnaryOp};

use crate::{Nest, Wish};

/// How a value depends on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Not at all.
    None,
    /// It is added to the rest, once.
    Added,
    /// A multiple of it is.
    Scaled,
}

/// How an expression depends on an element; `None` if not linearly, or on others of its array.
fn share(e: &Expr, of: &Access) -> Option<Share> {
    match e {
        Expr::Subscript(access) if access == of => Some(Share::Added),
        e if !e.accesses().iter().any(|access| access.array == of.array) => Some(Share::None),
        Expr::Unary(UnaryOp::Neg, a) => share(a, of).map(|_| Share::Scaled),
        Expr::Binary(op, a, b) => match (op, share(a, of)?, share(b, of)?) {
            (BinaryOp::Add, a, Share::None) | (BinaryOp::Add, Share::None, a) => Some(a),
            (BinaryOp::Sub, a, Share::None) => Some(a),
            (BinaryOp::Add | BinaryOp::Sub, ..) => Some(Share::Scaled),
            (BinaryOp::Mul, _, Share::None) | (BinaryOp::Mul, Share::None, _) => Some(Share::Scaled),
            (BinaryOp::Div, _, Share::None) => Some(Share::Scaled),
            _ => None,
        },
        _ => None,
    }
}

/// Whether what an access reads is what another one wrote an iteration earlier.
fn is_before(read: &Access, write: &Access, iname: &Name) -> bool {
    let Ok(earlier) = Aff::var(iname).add_constant(-1) else { return false };
    let before = |e: &Expr| e.to_aff()?.substitute_one(iname, &earlier).ok();
    let moves = |e: &Expr| e.to_aff().is_some_and(|aff| aff.mentions(iname));
    let mut pairs = read.index.iter().zip(&write.index);
    read.index.len() == write.index.len()
        && write.index.iter().any(moves)
        && pairs.all(|(read, write)| before(write).is_some_and(|aff| read.to_aff() == Some(aff)))
}

/// A recurrence: an instruction whose elements depend on those before them along a loop.
#[derive(Debug, PartialEq)]
struct Recurrence<'i> {
    iname: &'i Name,
    kind: Kind,
}

/// What an element is of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A linear function; whether it multiplies.
    Linear { scales: bool },
    /// The least, or the greatest, of it and of what does not depend on it.
    Extreme(&'static str),
    /// Another function.
    Other,
}

impl Kind {
    fn of(value: &Expr, before: &Access) -> Kind {
        if let Some(share) = share(value, before) {
            return Kind::Linear { scales: share == Share::Scaled };
        }
        let Expr::Call { function, args, .. } = value else { return Kind::Other };
        let [a, b] = args.as_slice() else { return Kind::Other };
        let operator = ["min", "max"].into_iter().find(|operator| **operator == **function);
        match (operator, share(a, before), share(b, before)) {
            (Some(operator), Some(Share::Added), Some(Share::None)) if is_alone(a) => Kind::Extreme(operator),
            (Some(operator), Some(Share::None), Some(Share::Added)) if is_alone(b) => Kind::Extreme(operator),
            _ => Kind::Other,
        }
    }
}

/// Whether nothing is done with an element.
fn is_alone(e: &Expr) -> bool {
    matches!(e, Expr::Subscript(_))
}

/// The loop along which an instruction is a recurrence, the innermost one.
fn of(instruction: &Instruction) -> Option<Recurrence<'_>> {
    let [target] = instruction.targets.as_slice() else { return None };
    if instruction.update.is_some() || is_alone(&instruction.value) {
        return None;
    }
    let is_target = |access: &Access| access.array == target.array;
    let read_by = |e: &Expr| e.accesses().into_iter().filter(|a| is_target(a)).collect::<Vec<Access>>();
    let read = read_by(&instruction.value);
    let before = read.first()?;
    // Of several elements, other loops may be between those that depend on each other.
    if read.iter().any(|other| other != before) {
        return None;
    }
    let iname = instruction.within.iter().rev().find(|iname| is_before(before, target, iname))?;
    let is_asked = instruction.predicate.as_ref().is_some_and(|e| !read_by(e).is_empty());
    let kind = if is_asked { Kind::Other } else { Kind::of(&instruction.value, before) };
    Some(Recurrence { iname, kind })
}

/// Says of each recurrence of a nest what would make it a scan, or that nothing would.
pub(crate) fn wish(nest: &Nest<'_>) {
    for instruction in &nest.instructions {
        let (Some(found), Some(target)) = (of(instruction), instruction.targets.first()) else {
            continue;
        };
        let (iname, array) = (found.iname, &target.array);
        if !nest.band.iter().chain(&nest.inner).any(|n| n == iname) {
            continue;
        }
        match found.kind {
            Kind::Linear { scales } => {
                nest.wish(Wish::Scan { array: array.clone(), iname: iname.clone(), scales });
            }
            Kind::Extreme(operator) => {
                let (array, iname) = (array.clone(), iname.clone());
                nest.wish(Wish::Extremes { array, iname, operator });
            }
            Kind::Other => nest.remark(format!(
                "each `{array}` is made of the one before along `{iname}`, in a way that no scan composes, so \
                 that these stay one after another"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::LoopKernel;

    use super::*;

    /// The loop of `y[i + 1] = value`, and its kind.
    fn found(value: &str) -> Option<(String, Kind)> {
        let kernel = LoopKernel::parse(&format!(
            "kernel k(a: f32[n], b: f32[n], y: f32[n + 2], n: i32)\n\
             assume 0 <= n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i + 1] = {value}\n"
        ))
        .unwrap_or_else(|d| panic!("{d}"));
        of(&kernel.instructions[0]).map(|found| (found.iname.to_string(), found.kind))
    }

    #[test]
    fn linear_functions_of_the_element_before_are_recurrences() {
        let along_i = |scales| Some(("i".to_string(), Kind::Linear { scales }));
        for value in ["y[i] + b[i]", "b[i] + (y[i] - a[i])", "a[i]*b[i] + y[i]"] {
            assert_eq!(found(value), along_i(false), "{value}");
        }
        for value in [
            "a[i]*y[i] + b[i]",
            "b[i] - y[i]",
            "-y[i]",
            "y[i] / a[i]",
            "(y[i] + b[i])*a[i]",
            "y[i] + y[i]",
            "2.0*(y[i]*a[i] - b[i])",
        ] {
            assert_eq!(found(value), along_i(true), "{value}");
        }
    }

    #[test]
    fn other_functions_are_no_linear_ones() {
        for value in ["y[i]*y[i]", "a[i] / y[i]", "sqrt(y[i])", "max(2.0*y[i], b[i])", "max(y[i], y[i])"] {
            assert_eq!(found(value), Some(("i".to_string(), Kind::Other)), "{value}");
        }
        for (value, operator) in [("max(y[i], b[i])", "max"), ("min(a[i] + b[i], y[i])", "min")] {
            assert_eq!(found(value), Some(("i".to_string(), Kind::Extreme(operator))), "{value}");
        }
    }

    #[test]
    fn other_elements_are_no_recurrence() {
        for value in
            ["y[i]", "a[i]", "y[i + 1] + b[i]", "y[i + 2] + b[i]", "y[0] + b[i]", "a[i]*y[i] + y[i + 2]"]
        {
            assert_eq!(found(value), None, "{value}");
        }
    }
}
