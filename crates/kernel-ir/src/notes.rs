//! Warnings about code that is correct but perhaps not intended: values computed in f32 and then
//! converted to f64.
//!
//! An operation of two `f32` values is one of `f32`, whatever its result is assigned to. If the
//! result is converted to `f64`, it still has only 24 significant bits, which is reported as a
//! warning, also if it goes through temporaries or is an input of an operator whose state is `f64`.
//! An `f32` value that is merely read and converted loses nothing and is not reported.

use std::collections::BTreeSet;

use crate::{
    DType, Diagnostic, Expr, Instruction, LoopKernel, Name, ReductionTypes, Type, TypeTable, Typed,
    TypedKind,
    text::{map_of_print, source_map::Item},
};

impl LoopKernel {
    /// Where the kernel computes a value in `f32` and converts it to `f64`, in the order of the
    /// text: one finding per instruction, with its place in the printed form. None is an error.
    pub fn single_in_double(&self) -> Vec<Diagnostic> {
        let mut scope = Scope { table: TypeTable::new(self), rounded: BTreeSet::new() };
        // What is computed in f32 and left in a temporary, through any number of temporaries.
        loop {
            let temporary = |name: &Name| self.temporaries.iter().any(|t| t.name == *name);
            let more: Vec<Name> = self
                .instructions
                .iter()
                .flat_map(|i| i.targets.iter().enumerate().map(move |(k, t)| (i, k, &t.array)))
                .filter(|(i, k, array)| {
                    temporary(array) && !scope.rounded.contains(*array) && scope.leaves_rounded(i, *k)
                })
                .map(|(_, _, array)| array.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            scope.rounded.extend(more);
        }
        let map = map_of_print(self);
        let mut found = Vec::new();
        for (k, i) in self.instructions.iter().enumerate() {
            let Some(what) = scope.converted(i) else { continue };
            let d = match what {
                Converted::Computed => Diagnostic::new(
                    "single-in-double",
                    format!("`{}` computes a value in f32 and converts it to f64", i.id),
                )
                .help("if more digits are intended, cast an operand: `cast(f64, a)*b` for `a*b`"),
                Converted::Temporary(t) => Diagnostic::new(
                    "single-in-double",
                    format!("`{}` converts `{t}` to f64, which is computed in f32", i.id),
                )
                .help(format!(
                    "if more digits are intended, cast an operand where `{t}` is computed: \
                     `cast(f64, a)*b` for `a*b`"
                )),
            };
            found.push(d.at(map.as_ref().and_then(|m| m.locate(&Item::Instruction(k), ""))));
        }
        found
    }
}

/// What is converted to f64.
enum Converted {
    /// A value that the instruction itself computes in f32.
    Computed,
    /// The value of a private temporary.
    Temporary(Name),
}

/// The names of expressions, and those among them whose f32 values are results of operations.
struct Scope<'a> {
    table: TypeTable<'a>,
    rounded: BTreeSet<Name>,
}

impl Scope<'_> {
    fn wanted(&self, i: &Instruction) -> Vec<DType> {
        i.targets.iter().filter_map(|t| self.table.element(&t.array)?.known()).collect()
    }

    /// Whether the target of this number receives an f32 value that an operation has rounded.
    fn leaves_rounded(&self, i: &Instruction, target: usize) -> bool {
        let wanted = self.wanted(i);
        if wanted.get(target) != Some(&DType::F32) {
            return false;
        }
        match wanted[..] {
            [wanted] => self.is_rounded(&i.value, wanted),
            // One result of a reduction each.
            _ => self.table.reduction_types(&i.value, &wanted).is_ok_and(|r| r.last().is_some_and(is_single)),
        }
    }

    /// Whether an expression has an f32 value that an operation has rounded.
    fn is_rounded(&self, e: &Expr, wanted: DType) -> bool {
        let reductions = self.table.reduction_types(e, &[wanted]).unwrap_or_default();
        let typed = self.table.typed(e, wanted, None);
        typed.is_ok_and(|typed| typed.dtype == DType::F32 && self.rounds(&typed, &reductions))
    }

    /// Whether an operation in it rounds.
    fn rounds(&self, e: &Typed, reductions: &[ReductionTypes]) -> bool {
        match &e.kind {
            TypedKind::Constant(_) => false,
            TypedKind::Name(name) => self.rounded.contains(name),
            TypedKind::Element { access, .. } => self.rounded.contains(&access.array),
            TypedKind::Reduction(n) => reductions.get(*n).is_some_and(is_single),
            // A conversion written in the text is intended.
            TypedKind::Cast(_) => false,
            TypedKind::Convert(a) | TypedKind::Unary(_, a) => self.rounds(a, reductions),
            TypedKind::If(_, a, b) => self.rounds(a, reductions) || self.rounds(b, reductions),
            TypedKind::Binary(..) | TypedKind::Call { .. } => true,
        }
    }

    /// What an instruction converts to f64, if that is rounded in f32.
    fn converted(&self, i: &Instruction) -> Option<Converted> {
        let wanted = self.wanted(i);
        let value = match wanted[..] {
            [wanted] => self.in_value(&i.value, wanted),
            _ => self.in_reductions(&i.value, &wanted).or_else(|| {
                let types = self.table.reduction_types(&i.value, &wanted).ok()?;
                let mut both = types.last()?.results.iter().zip(&wanted);
                let is_widened = both.any(|(from, to)| (*from, *to) == (DType::F32, DType::F64));
                (is_widened && types.last().is_some_and(is_single)).then_some(Converted::Computed)
            }),
        };
        value.or_else(|| self.in_value(i.predicate.as_ref()?, DType::Bool))
    }

    fn in_value(&self, e: &Expr, wanted: DType) -> Option<Converted> {
        let reductions = self.table.reduction_types(e, &[wanted]).unwrap_or_default();
        let mut found = None;
        if let Ok(typed) = self.table.typed(e, wanted, None) {
            typed.visit(&mut |e| {
                if let (DType::F64, TypedKind::Convert(a)) = (e.dtype, &e.kind)
                    && a.dtype == DType::F32
                    && found.is_none()
                    && self.rounds(a, &reductions)
                {
                    found = Some(match &a.kind {
                        TypedKind::Name(name) => Converted::Temporary(name.clone()),
                        TypedKind::Element { access, .. } => Converted::Temporary(access.array.clone()),
                        _ => Converted::Computed,
                    });
                }
            });
        }
        found.or_else(|| self.in_reductions(e, &[wanted]))
    }

    /// As [`Scope::converted`], in the arguments of reductions and in their operators.
    fn in_reductions(&self, e: &Expr, wanted: &[DType]) -> Option<Converted> {
        let types = self.table.reduction_types(e, wanted).ok()?;
        e.reductions().into_iter().zip(&types).find_map(|(reduce, types)| {
            let op = self.table.operator(&reduce.op)?;
            let args = || reduce.args.iter().zip(&types.inputs);
            if let Some(found) = args().find_map(|(e, t)| self.in_value(e, *t)) {
                return Some(found);
            }
            let rounded = args().zip(&op.inputs).filter(|((e, t), _)| self.is_rounded(e, **t));
            let lift = self.inside(
                op.inputs.iter().cloned().zip(types.inputs.iter().copied()),
                rounded.map(|(_, input)| input.clone()),
            );
            // A part of the state that stays in f32 is combined there.
            let state = |side: &'static str| {
                let names = op.state.iter().map(move |s| Name::new(format!("{side}{}", s.name)));
                names.zip(types.state.iter().copied())
            };
            let single = |names: Vec<(Name, DType)>| {
                let rounded: Vec<Name> =
                    names.iter().filter(|(_, t)| *t == DType::F32).map(|(n, _)| n.clone()).collect();
                self.inside(names.into_iter(), rounded.into_iter())
            };
            let combine = single(state("a.").chain(state("b.")).collect());
            let result = single(state("").collect());
            let within = |scope: &Scope<'_>, parts: &[Expr], types: &[DType]| {
                parts.iter().zip(types).any(|(e, t)| scope.in_value(e, *t).is_some())
            };
            let found = within(&lift, &op.lift, &types.state)
                || within(&combine, &op.combine, &types.state)
                || within(&result, &op.result, &types.results);
            found.then_some(Converted::Computed)
        })
    }

    /// The scope of a part of an operator.
    fn inside(
        &self,
        names: impl Iterator<Item = (Name, DType)>,
        rounded: impl Iterator<Item = Name>,
    ) -> Scope<'_> {
        let table = self.table.with_scalars(names.map(|(n, t)| (n, Type::Known(t))));
        Scope { table, rounded: rounded.collect() }
    }
}

/// Whether a reduction computes in f32.
fn is_single(reduction: &ReductionTypes) -> bool {
    reduction.state.contains(&DType::F32)
}
