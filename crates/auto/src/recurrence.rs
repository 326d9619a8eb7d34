//! Linear recurrences: each element is a linear function of the one before it along a loop.
//!
//! Their iterations are one after another as they stand, `y[i] = a[i]*y[i - 1] + b[i]`. But linear
//! functions `(f, v)`, of the one before `f*y + v`, are composed in any grouping: declared as a
//! reduction by that operator over the points up to one's own, the loop is a scan. Where nothing is
//! multiplied it is a prefix sum. No step rewrites one as the other, so that this is a wish.

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

/// The loop along which an instruction is a linear recurrence, and whether it multiplies.
fn of(instruction: &Instruction) -> Option<(&Name, bool)> {
    let [target] = instruction.targets.as_slice() else { return None };
    let is_target = |access: &Access| access.array == target.array;
    let is_read = |e: &Expr| e.accesses().into_iter().any(|access| is_target(&access));
    if instruction.update.is_some() || instruction.predicate.as_ref().is_some_and(is_read) {
        return None;
    }
    let read = instruction.value.accesses().into_iter().find(|access| is_target(access))?;
    let share =
        share(&instruction.value, &read).filter(|_| !matches!(instruction.value, Expr::Subscript(_)))?;
    let iname = instruction.within.iter().rev().find(|iname| is_before(&read, target, iname))?;
    Some((iname, share == Share::Scaled))
}

/// Says of each linear recurrence of a nest what would make it a scan.
pub(crate) fn wish(nest: &Nest<'_>) {
    for instruction in &nest.instructions {
        let (Some((iname, scales)), Some(target)) = (of(instruction), instruction.targets.first()) else {
            continue;
        };
        if nest.band.iter().chain(&nest.inner).any(|n| n == iname) {
            nest.wish(Wish::Scan { array: target.array.clone(), iname: iname.clone(), scales });
        }
    }
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::LoopKernel;

    use super::*;

    /// The loop of `y[i + 1] = value`, and whether it multiplies.
    fn found(value: &str) -> Option<(String, bool)> {
        let kernel = LoopKernel::parse(&format!(
            "kernel k(a: f32[n], b: f32[n], y: f32[n + 2], n: i32)\n\
             assume 0 <= n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             y[i + 1] = {value}\n"
        ))
        .unwrap_or_else(|d| panic!("{d}"));
        of(&kernel.instructions[0]).map(|(iname, scales)| (iname.to_string(), scales))
    }

    #[test]
    fn linear_functions_of_the_element_before_are_recurrences() {
        let along_i = |scales| Some(("i".to_string(), scales));
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
    fn other_functions_and_other_elements_are_none() {
        for value in [
            "y[i]",
            "a[i]",
            "y[i]*y[i]",
            "a[i] / y[i]",
            "sqrt(y[i])",
            "max(y[i], b[i])",
            "y[i + 1] + b[i]",
            "y[i + 2] + b[i]",
            "y[0] + b[i]",
            "a[i]*y[i] + y[i + 2]",
        ] {
            assert_eq!(found(value), None, "{value}");
        }
    }
}
