//! Operations by kind and type.

use std::fmt;

use loopwright_kernel_ir::{
    BinaryOp, DType, Diagnostic, Expr, Instruction, Name, Part, ReductionOp, TypeTable, Typed, TypedKind,
    UnaryOp,
};

use crate::domain::{Domains, Guard};

/// A kind of operation on values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Additions and subtractions.
    Add,
    /// Multiplications, also those that can be fused with an addition.
    Mul,
    /// Additions with a product of the same floating-point type as one operand, those of sums of
    /// products among them, which are also counted under [`Operation::Add`]: compilers may fuse the
    /// two operations.
    FusedMulAdd,
    /// Divisions of floating-point values, and quotients of integers.
    Div,
    /// Remainders, `a % b`.
    Mod,
    /// Changes of sign, `-a`.
    Neg,
    /// Comparisons, by the type of what is compared.
    Compare,
    /// `and`, `or` and `not` of truth values.
    Logic,
    /// Bitwise operations and shifts.
    Bits,
    /// Choices of `if(c, a, b)`.
    Select,
    /// Conversions to a type from another one.
    Convert,
    /// Calls of a math function or a device function, by its name.
    Call(Name),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Add => "add",
            Operation::Mul => "mul",
            Operation::FusedMulAdd => "mul-add pairs",
            Operation::Div => "div",
            Operation::Mod => "mod",
            Operation::Neg => "neg",
            Operation::Compare => "compare",
            Operation::Logic => "logic",
            Operation::Bits => "bits",
            Operation::Select => "select",
            Operation::Convert => "convert",
            Operation::Call(name) => name,
        })
    }
}

/// An operation found in an expression.
type Found<'f> = &'f mut dyn FnMut(Operation, DType, &Guard);

/// The walk over typed expressions and, beside them, the untyped ones, whose conditions are read.
struct Walk<'w, 'l, 'k> {
    domains: &'w Domains<'l, 'k>,
    /// The inames around; `None` inside of an operator, whose names are not those of the kernel.
    inames: Option<&'w [Name]>,
}

impl Walk<'_, '_, '_> {
    fn walk(&self, e: &Expr, typed: &Typed, guard: &Guard, found: Found<'_>) {
        let dtype = typed.dtype;
        let mut go = |e: &Expr, t: &Typed, guard: &Guard| self.walk(e, t, guard, found);
        match (&typed.kind, e) {
            (
                TypedKind::Constant(_)
                | TypedKind::Name(_)
                | TypedKind::Element { .. }
                | TypedKind::Reduction(_),
                _,
            ) => {}
            (TypedKind::Convert(inner), e) => {
                go(e, inner, guard);
                self.convert(inner, dtype, guard, found);
            }
            (TypedKind::Cast(inner), Expr::Cast(_, e)) => {
                go(e, inner, guard);
                self.convert(inner, dtype, guard, found);
            }
            (TypedKind::Unary(op, a), Expr::Unary(_, x)) => {
                go(x, a, guard);
                let kind = match op {
                    UnaryOp::Neg => Operation::Neg,
                    UnaryOp::Not => Operation::Logic,
                    UnaryOp::BitNot => Operation::Bits,
                };
                found(kind, dtype, guard);
            }
            (TypedKind::Binary(op, a, b), Expr::Binary(_, x, y)) => {
                go(x, a, guard);
                match op {
                    BinaryOp::And | BinaryOp::Or => go(y, b, &self.when(x, guard, *op == BinaryOp::And)),
                    _ => go(y, b, guard),
                }
                let kind = kind_of(*op);
                let of = if kind == Operation::Compare { a.dtype } else { dtype };
                if kind == Operation::Add && dtype.is_float() && (is_product(a) || is_product(b)) {
                    found(Operation::FusedMulAdd, dtype, guard);
                }
                found(kind, of, guard);
            }
            (TypedKind::If(c, a, b), Expr::If(z, x, y)) => {
                go(z, c, guard);
                go(x, a, &self.when(z, guard, true));
                go(y, b, &self.when(z, guard, false));
                found(Operation::Select, dtype, guard);
            }
            (TypedKind::Call { function, args, .. }, Expr::Call { args: exprs, .. }) => {
                for (x, a) in exprs.iter().zip(args) {
                    go(x, a, guard);
                }
                found(Operation::Call(function.clone()), dtype, guard);
            }
            // Typing keeps the shape of expressions, so that the two walks stay together.
            _ => {}
        }
    }

    fn convert(&self, from: &Typed, to: DType, guard: &Guard, found: Found<'_>) {
        if from.dtype != to && !matches!(from.kind, TypedKind::Constant(_)) {
            found(Operation::Convert, to, guard);
        }
    }

    fn when(&self, condition: &Expr, guard: &Guard, value: bool) -> Guard {
        match self.inames {
            Some(inames) => self.domains.when(inames, condition, guard, value),
            None => guard.undecided(),
        }
    }
}

fn is_product(e: &Typed) -> bool {
    matches!(e.kind, TypedKind::Binary(BinaryOp::Mul, ..))
}

fn kind_of(op: BinaryOp) -> Operation {
    use BinaryOp::*;
    match op {
        Add | Sub => Operation::Add,
        Mul => Operation::Mul,
        Div | FloorDiv => Operation::Div,
        Mod => Operation::Mod,
        Lt | Le | Gt | Ge | Eq | Ne => Operation::Compare,
        And | Or => Operation::Logic,
        BitAnd | BitOr | BitXor | Shl | Shr => Operation::Bits,
    }
}

/// The operations of one execution of a part, each with its guard, from `start` on. The `init` of a
/// reduction has none; an `update` evaluates the arguments, lifts and combines; `finish` evaluates
/// the results and the value. An instruction that updates its target combines too. Arithmetic in
/// subscripts and bounds is left out: compilers move and share it.
pub(crate) fn of_part(
    domains: &Domains<'_, '_>,
    instruction: &Instruction,
    part: Part,
    inames: &[Name],
    start: &Guard,
    found: Found<'_>,
) -> Result<(), Diagnostic> {
    let table = domains.lookup.types();
    let wanted = target_types(table, instruction)?;
    let outside = Walk { domains, inames: Some(inames) };
    let inside = Walk { domains, inames: None };
    let types = table.reduction_types(&instruction.value, &wanted)?;
    let reductions = instruction.reductions();
    match part {
        Part::Init(_) => Ok(()),
        Part::Update(n) => {
            let (Some(r), Some(types)) = (reductions.get(n), types.get(n)) else { return Ok(()) };
            let op = operator(table, &r.op)?;
            let mut products = Vec::new();
            for (e, dtype) in r.args.iter().zip(&types.inputs) {
                let typed = table.typed(e, *dtype, None)?;
                products.push(is_product(&typed));
                outside.walk(e, &typed, start, found);
            }
            let known = |names: Vec<Name>, types: &[DType]| {
                table.with_scalars(names.into_iter().zip(types.iter().map(|t| (*t).into())))
            };
            let inputs = known(op.inputs.clone(), &types.inputs);
            let named = |side: &str| -> Vec<Name> {
                op.state.iter().map(|s| Name::new(format!("{side}.{}", s.name))).collect()
            };
            let both = known([named("a"), named("b")].concat(), &[&types.state[..], &types.state].concat());
            for (k, dtype) in types.state.iter().enumerate() {
                if let Some(lift) = op.lift.get(k) {
                    inside.walk(lift, &inputs.typed(lift, *dtype, None)?, start, found);
                }
                if let Some(combine) = op.combine.get(k) {
                    inside.walk(combine, &both.typed(combine, *dtype, None)?, start, found);
                }
            }
            if ReductionOp::library("sum").as_ref() == Some(&op)
                && products == [true]
                && types.inputs == types.state
                && types.state.iter().all(|t| t.is_float())
            {
                found(Operation::FusedMulAdd, types.state[0], start);
            }
            Ok(())
        }
        Part::Whole | Part::Finish => {
            for (r, types) in reductions.iter().zip(&types) {
                let op = operator(table, &r.op)?;
                let names =
                    op.state.iter().map(|s| s.name.clone()).zip(types.state.iter().map(|t| (*t).into()));
                let state = table.with_scalars(names);
                let used = if wanted.len() > 1 { op.result.len() } else { 1 };
                for (e, dtype) in op.result.iter().zip(&types.results).take(used) {
                    inside.walk(e, &state.typed(e, *dtype, None)?, start, found);
                }
            }
            if let [wanted] = wanted[..] {
                let typed = table.typed(&instruction.value, wanted, None)?;
                outside.walk(&instruction.value, &typed, start, found);
                if let Some(update) = &instruction.update {
                    let kind = match (update.combination(table.data(), wanted)?, update.binary()) {
                        (Some(of), _) => {
                            inside.walk(&of.combined, &of.typed(table)?, start, found);
                            return Ok(());
                        }
                        (None, Some(op)) => kind_of(op),
                        (None, None) => Operation::Call(Name::new(update.name())),
                    };
                    found(kind, wanted, start);
                }
            }
            Ok(())
        }
    }
}

/// The operations of a predicate that is not affine. One that is becomes a guard, or bounds.
pub(crate) fn of_predicate(
    domains: &Domains<'_, '_>,
    predicate: &Expr,
    inames: &[Name],
    found: Found<'_>,
) -> Result<(), Diagnostic> {
    let typed = domains.lookup.types().typed(predicate, DType::Bool, None)?;
    Walk { domains, inames: Some(inames) }.walk(predicate, &typed, &Guard::always().undecided(), found);
    Ok(())
}

fn operator(table: &TypeTable<'_>, name: &Name) -> Result<ReductionOp, Diagnostic> {
    let unknown = || Diagnostic::new("unknown-reduction", format!("there is no reduction `{name}`"));
    table.data().operator(name).ok_or_else(unknown)
}

fn target_types(table: &TypeTable<'_>, instruction: &Instruction) -> Result<Vec<DType>, Diagnostic> {
    let mut wanted = Vec::new();
    for target in &instruction.targets {
        let unknown = || Diagnostic::new("unknown-name", format!("there is no array `{}`", target.array));
        let element = table.element(&target.array).ok_or_else(unknown)?;
        let open = || {
            Diagnostic::new("open-type", format!("the open type `{element}` is not bound"))
                .help("bind it first, as with `--type T=f32`")
        };
        wanted.push(element.known().ok_or_else(open)?);
    }
    Ok(wanted)
}
