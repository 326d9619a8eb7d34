//! Programs with one change each that makes them run something too often or not often enough.

use loopwright_kernel_ir::{Dim, PerDim};
use loopwright_lowering::program::{BinOp, Note, Program, Purpose, Step, Stmt, Value, ValueKind, VarId};

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// A guard is removed, and its body kept.
    NoGuard,
    /// A comparison in a guard is made stricter.
    NarrowGuard,
    /// A loop ends earlier.
    ShortLoop,
    /// A loop starts later.
    LateLoop,
    /// A loop's step is doubled.
    WideStep,
    /// A loop's step is halved.
    NarrowStep,
    /// A statement of a part is removed.
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

/// The variants of the program with one change of this kind each. Joins of partial results are not
/// changed, since they are not part of the kernel.
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

/// The variants of the program with one block less on one dimension of one grid.
pub fn small_grids(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for dim in Dim::ALL {
            let mut variant = program.clone();
            let grid = &mut variant.kernels[kernel].grid[*dim];
            if grid.as_int() != Some(1) {
                *grid = plus(grid.clone(), -1);
                found.push(variant);
            }
        }
    }
    found
}

/// Whether a body contains a statement of a part.
fn has_parts(body: &[Stmt]) -> bool {
    let mut found = false;
    Stmt::visit(body, &mut |s| {
        found |= matches!(s, Stmt::Set { leaf: Some(_), .. } | Stmt::Store { leaf: Some(_), .. });
        found |= matches!(s, Stmt::VectorCopy { .. } | Stmt::Let { leaf: Some(_), .. });
    });
    found
}

/// A decrement that makes a difference even if sizes are multiples of a vector's length; 1 if the
/// bound is a constant.
fn less(bound: &Value) -> i64 {
    if bound.as_int().is_some() { 1 } else { 64 }
}

fn plus(value: Value, k: i64) -> Value {
    let dtype = value.dtype;
    Value::binary(BinOp::Add, value, Value::int(dtype, k))
}

/// Whether this is the place to change; `usize::MAX` from then on.
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

/// Makes the first `<` or `<=` comparison stricter.
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
                // The step of a loop with a single iteration has no effect.
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

/// The variants of the program in which one statement of one join is missing: the join of threads
/// itself, or a loop, a choice, or an assignment in it; a join of lanes; the beginning of a round
/// of a scan.
pub fn joins(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for number in 0.. {
            let mut variant = program.clone();
            if remove_of_join(&mut variant.kernels[kernel].body, false, number).is_some() {
                break;
            }
            found.push(variant);
        }
    }
    found
}

/// Removes the statement of a join with this number; `None` once it is found.
fn remove_of_join(body: &mut Vec<Stmt>, inside: bool, number: usize) -> Option<usize> {
    let mut left = number;
    for k in 0..body.len() {
        let is_join = matches!(&body[k], Stmt::Collective { .. });
        // Barriers are removed elsewhere; what a value is called by is needed by what follows.
        let counts = inside && !matches!(body[k], Stmt::Sync { .. } | Stmt::Let { .. } | Stmt::Declare(_));
        let is_of_lanes = matches!(&body[k], Stmt::Store { leaf: None, .. });
        if is_join || counts || is_of_lanes {
            if left == 0 {
                body.remove(k);
                return None;
            }
            left -= 1;
        }
        let inside = inside || is_join;
        for body in body[k].bodies_mut() {
            left = remove_of_join(body, inside, left)?;
        }
    }
    Some(left)
}

/// The variants of the program in which the threads of the first warp alone run one statement of a
/// join that exchanges values within warps.
pub fn joins_of_one_warp(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        let PerDim { x, y, z } = program.kernels[kernel].block.map(i64::from);
        let (warp, index) = (i64::from(program.target.warp_size), program.index);
        if x * y * z <= warp {
            continue;
        }
        let along = |dim, by| {
            let thread = Value { dtype: index, kind: ValueKind::ThreadIdx(dim) };
            Value::binary(BinOp::Mul, thread, Value::int(index, by))
        };
        let thread = [along(Dim::Y, x), along(Dim::Z, x * y)];
        let thread = thread.into_iter().fold(along(Dim::X, 1), |a, b| Value::binary(BinOp::Add, a, b));
        let is_first = Value::binary(BinOp::Lt, thread, Value::int(index, warp));
        for number in 0.. {
            let (mut variant, mut left) = (program.clone(), number);
            restrict_in_join(&mut variant.kernels[kernel].body, &is_first, &mut left);
            if left != usize::MAX {
                break;
            }
            found.push(variant);
        }
    }
    found
}

/// Puts a condition around the statement with this number of those of joins, choices aside, that
/// exchange values; the number becomes [`usize::MAX`] then.
fn restrict_in_join(body: &mut [Stmt], cond: &Value, left: &mut usize) {
    for stmt in body {
        let Stmt::Collective { body, .. } = stmt else {
            stmt.bodies_mut().for_each(|body| restrict_in_join(body, cond, left));
            continue;
        };
        for stmt in body {
            let mut exchanges = false;
            if !matches!(stmt, Stmt::If { .. } | Stmt::Let { .. }) {
                Stmt::visit(std::slice::from_ref(stmt), &mut |stmt| {
                    stmt.visit_values(&mut |v| exchanges |= matches!(v.kind, ValueKind::Shuffle { .. }));
                });
            }
            if exchanges && is_here(left) {
                let whole = std::mem::replace(stmt, Stmt::Declare(VarId(0)));
                *stmt = Stmt::If {
                    cond: cond.clone(),
                    body: vec![whole],
                    otherwise: Vec::new(),
                    note: Note::default(),
                };
            }
        }
    }
}

/// The variants of the program in which one operation of a join on floating-point values is
/// replaced.
pub fn operations_of_joins(program: &Program) -> Vec<Program> {
    let mut found = Vec::new();
    for kernel in 0..program.kernels.len() {
        for number in 0.. {
            let mut variant = program.clone();
            let mut left = number;
            change_of_join(&mut variant.kernels[kernel].body, false, &mut left);
            if left != usize::MAX {
                break;
            }
            found.push(variant);
        }
    }
    found
}

fn change_of_join(body: &mut [Stmt], inside: bool, left: &mut usize) {
    for stmt in body {
        let of_join = match stmt {
            Stmt::Store { leaf: None, value, .. } => Some(value),
            Stmt::Let { leaf: None, value, .. } | Stmt::Set { leaf: None, value, .. } if inside => {
                Some(value)
            }
            _ => None,
        };
        if let Some(value) = of_join {
            another_operation(value, left);
        }
        let inside = inside || matches!(stmt, Stmt::Collective { .. });
        stmt.bodies_mut().for_each(|body| change_of_join(body, inside, left));
    }
}

fn another_operation(value: &mut Value, left: &mut usize) {
    match &mut value.kind {
        ValueKind::Binary(op, a, b) => {
            let other = match op {
                BinOp::Add => Some(BinOp::Mul),
                BinOp::Sub => Some(BinOp::Add),
                BinOp::Mul => Some(BinOp::Add),
                BinOp::Div => Some(BinOp::Mul),
                BinOp::Min => Some(BinOp::Max),
                BinOp::Max => Some(BinOp::Min),
                BinOp::Lt => Some(BinOp::Gt),
                BinOp::Gt => Some(BinOp::Lt),
                _ => None,
            };
            if let Some(other) = other.filter(|_| a.dtype.is_float())
                && is_here(left)
            {
                *op = other;
            }
            another_operation(a, left);
            another_operation(b, left);
        }
        ValueKind::Select(cond, a, b) => {
            another_operation(cond, left);
            another_operation(a, left);
            another_operation(b, left);
        }
        ValueKind::Unary(_, a) | ValueKind::Cast(a) => another_operation(a, left),
        ValueKind::Call { args, .. } => args.iter_mut().for_each(|a| another_operation(a, left)),
        _ => {}
    }
}
