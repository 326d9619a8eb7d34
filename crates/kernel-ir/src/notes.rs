//! What is right and may not be meant: values that are computed in f32 and then become f64.
//!
//! An operation of two `f32` values is one of `f32`, whatever its result is assigned to. Where the
//! result is converted to `f64` it has 24 bits all the same, which is said, and is no error: an
//! `f32` value that is read and converted loses nothing, and is passed over.

use crate::{
    DType, Diagnostic, LoopKernel, TypeTable, Typed, TypedKind,
    text::{map_of_print, source_map::Item},
};

impl LoopKernel {
    /// Where the kernel computes a value in `f32` and converts it to `f64`, in the order of the
    /// text: one finding an instruction, with its place in the printed form. None is an error.
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
                let message = format!("`{}` computes in f32 what becomes f64", i.id);
                let d = Diagnostic::new("single-in-double", message)
                    .help("where more digits are meant, cast an operand: `cast(f64, x[i])*y[i]`");
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
        // What the text converts is meant.
        TypedKind::Cast(_) => false,
        TypedKind::Convert(a) | TypedKind::Unary(_, a) => rounds(a, is_single),
        TypedKind::If(_, a, b) => rounds(a, is_single) || rounds(b, is_single),
        TypedKind::Binary(..) | TypedKind::Call { .. } => true,
    }
}
