//! Programs that run something too often or not often enough, by one change each.

use loopwright_lowering::program::{BinOp, Program, Purpose, Step, Stmt, Value, ValueKind};

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// A guard goes, what it guards stays.
    NoGuard,
    /// A comparison of a guard asks for less.
    NarrowGuard,
    /// A loop ends earlier.
    ShortLoop,
    /// A loop begins later.
    LateLoop,
    /// A loop goes on by twice as much.
    WideStep,
    /// A loop goes on by half as much.
    NarrowStep,
    /// A statement of a part goes.
    NoStatement,
}

/// All kinds of changes.
pub const ALL: [Spoil; 7] = [
    Spoil::NoGuard,
    Spoil::NarrowGuard,
    Spoil::ShortLoop,
    Spoil::LateLoop,
    Spoil::WideStep,
    Spoil::NarrowStep,
    Spoil::NoStatement,
];

/// The program with each change of one kind, one at a time. What joins partial results is left as
/// it is: it is no part of the kernel.
pub fn variants(program: &Program, spoil: Spoil) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for number in 0.. {
            let mut variant = program.clone();
            let mut left = number;
            let gives = |leaf: usize| matches!(program.leaves[leaf].purpose, Purpose::Value(_));
            change(&mut variant.kernels[kernel].body, spoil, &gives, &mut left);
            if left != usize::MAX {
                break;
            }
            found.push(variant);
        }
    }
    found
}

/// The program with one block less on each axis of each grid, one at a time.
pub fn small_grids(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for axis in 0..3 {
            let mut variant = program.clone();
            let grid = &mut variant.kernels[kernel].grid[axis];
            if grid.as_int() != Some(1) {
                *grid = plus(grid.clone(), -1);
                found.push(variant);
            }
        }
    }
    found
}

/// Whether a statement of a part stands inside.
fn has_parts(body: &[Stmt]) -> bool {
    let mut found = false;
    Stmt::visit(body, &mut |s| {
        found |= matches!(s, Stmt::Set { leaf: Some(_), .. } | Stmt::Store { leaf: Some(_), .. });
        found |= matches!(s, Stmt::VectorCopy { .. } | Stmt::Let { leaf: Some(_), .. });
    });
    found
}

/// So much that it makes a difference where sizes are multiples of a vector's length: 1 where the
/// bound is a number.
fn less(bound: &Value) -> i64 {
    if bound.as_int().is_some() { 1 } else { 64 }
}

fn plus(value: Value, k: i64) -> Value {
    let dtype = value.dtype;
    Value::binary(BinOp::Add, value, Value::int(dtype, k))
}

/// Whether this place is the one to be changed; `usize::MAX` from then on.
fn is_here(left: &mut usize) -> bool {
    match *left {
        usize::MAX => false,
        0 => {
            *left = usize::MAX;
            true
        }
        _ => {
            *left -= 1;
            false
        }
    }
}

/// Asks for less in the first comparison by `<` or `<=`.
fn narrow(cond: &mut Value) -> bool {
    match &mut cond.kind {
        ValueKind::Binary(BinOp::Lt | BinOp::Le, a, b) if a.dtype.is_integer() => {
            **b = plus((**b).clone(), -less(b));
            true
        }
        ValueKind::Binary(BinOp::And, a, b) => narrow(a) || narrow(b),
        _ => false,
    }
}

fn change(body: &mut Vec<Stmt>, spoil: Spoil, gives: &dyn Fn(usize) -> bool, left: &mut usize) {
    let mut k = 0;
    while k < body.len() && *left != usize::MAX {
        let here = match (&mut body[k], spoil) {
            (Stmt::If { .. }, Spoil::NoGuard) => is_here(left),
            (Stmt::If { cond, .. }, Spoil::NarrowGuard) => narrow(&mut cond.clone()) && is_here(left),
            (Stmt::For { step: Step::Add(_), body, .. }, Spoil::ShortLoop | Spoil::LateLoop) => {
                has_parts(body) && is_here(left)
            }
            (Stmt::For { lower, upper, step: Step::Add(_), body, .. }, Spoil::WideStep) => {
                // The step of a loop that runs once says nothing.
                let once = *upper == plus(lower.clone(), 1);
                !once && has_parts(body) && is_here(left)
            }
            (Stmt::For { step: Step::Add(2..), body, .. }, Spoil::NarrowStep) => {
                has_parts(body) && is_here(left)
            }
            (Stmt::Set { leaf: Some(_), .. }, Spoil::NoStatement) => is_here(left),
            (Stmt::Store { leaf: Some(leaf), .. }, Spoil::NoStatement) => gives(leaf.0) && is_here(left),
            _ => false,
        };
        if here {
            match (&mut body[k], spoil) {
                (Stmt::If { body: inside, .. }, Spoil::NoGuard) => {
                    let inside = std::mem::take(inside);
                    body.splice(k..=k, inside);
                }
                (Stmt::If { cond, .. }, _) => assert!(narrow(cond)),
                (Stmt::For { upper, .. }, Spoil::ShortLoop) => *upper = plus(upper.clone(), -less(upper)),
                (Stmt::For { lower, .. }, Spoil::LateLoop) => *lower = plus(lower.clone(), less(lower)),
                (Stmt::For { step: Step::Add(step), .. }, Spoil::WideStep) => *step *= 2,
                (Stmt::For { step: Step::Add(step), .. }, _) => *step /= 2,
                _ => {
                    body.remove(k);
                }
            }
            return;
        }
        match &mut body[k] {
            Stmt::For { body, .. } => change(body, spoil, gives, left),
            Stmt::If { body, otherwise, .. } => {
                change(body, spoil, gives, left);
                change(otherwise, spoil, gives, left);
            }
            _ => {}
        }
        k += 1;
    }
}
