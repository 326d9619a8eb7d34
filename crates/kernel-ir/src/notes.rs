//! Warnings about code that is correct but perhaps not intended: values computed in f32 and then
//! converted to f64.
//!
//! An operation of two `f32` values is one of `f32`, whatever its result is assigned to. If the
//! result is converted to `f64`, it still has only 24 significant bits, which is reported as a
//! warning. An `f32` value that is merely read and converted loses nothing and is not reported.

use crate::{
    DType, Diagnostic, LoopKernel, TypeTable, Typed, TypedKind,
    text::{map_of_print, source_map::Item},
};

impl LoopKernel {
    /// Where the kernel computes a value in `f32` and converts it to `f64`, in the order of the
    /// text: one finding per instruction, with its place in the printed form. None is an error.
    pub fn single_in_double(&self) -> Vec<Diagnostic> {
        let table = TypeTable::new(self);
        let map = map_of_print(self);
        let mut found = Vec::new();
        for (k, i) in self.instructions.iter().enumerate() {
            let wanted: Vec<DType> =
                i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect();
            let value = match wanted[..] {
                [wanted] => table.typed(&i.value, wanted, None).ok(),
                _ => None,
            };
            let predicate = i.predicate.as_ref().and_then(|p| table.typed(p, DType::Bool, None).ok());
            let reductions = table.reduction_types(&i.value, &wanted).unwrap_or_default();
            let is_single = |n: usize| reductions.get(n).is_some_and(|r| r.state.contains(&DType::F32));
            let mut single = false;
            for e in value.iter().chain(&predicate) {
                e.visit(&mut |e| {
                    if let (DType::F64, TypedKind::Convert(a)) = (e.dtype, &e.kind) {
                        single |= a.dtype == DType::F32 && rounds(a, &is_single);
                    }
                });
            }
            if single {
                let message = format!("`{}` computes a value in f32 and converts it to f64", i.id);
                let d = Diagnostic::new("single-in-double", message)
                    .help("if more digits are intended, cast an operand: `cast(f64, x[i])*y[i]`");
                found.push(d.at(map.as_ref().and_then(|m| m.locate(&Item::Instruction(k), ""))));
            }
        }
        found
    }
}

/// Whether an operation in it rounds.
fn rounds(e: &Typed, is_single: &dyn Fn(usize) -> bool) -> bool {
    match &e.kind {
        TypedKind::Constant(_) | TypedKind::Name(_) | TypedKind::Element { .. } => false,
        TypedKind::Reduction(n) => is_single(*n),
        // A conversion written in the text is intended.
        TypedKind::Cast(_) => false,
        TypedKind::Convert(a) | TypedKind::Unary(_, a) => rounds(a, is_single),
        TypedKind::If(_, a, b) => rounds(a, is_single) || rounds(b, is_single),
        TypedKind::Binary(..) | TypedKind::Call { .. } => true,
    }
}
