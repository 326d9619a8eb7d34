//! How precisely the declared kernel computes each array: the tolerance of the coarsest type in
//! which something is rounded on the way.
//!
//! An operation rounds in its type, at least in f32, since narrower types are computed in that; a
//! reduction in the types of its state; a conversion to a narrower type and a store in that type.
//! What an array or a temporary holds is as coarse as the coarsest of what is stored in it. Reading
//! and widening lose nothing: a sum in f64 of products of f32 values, each cast, is one of f64, and
//! `cast(f64, a*b)` is no more precise than f32.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    DType, Diagnostic, Expr, Instruction, LoopKernel, Name, TypeTable, Typed, TypedKind,
};

use super::usual_tolerance;

/// The relative tolerance of each array and temporary that a kernel without open types writes; 0
/// where nothing is rounded.
///
/// Errors: an expression has no type.
pub fn tolerances(declared: &LoopKernel) -> Result<BTreeMap<Name, f64>, Diagnostic> {
    let table = TypeTable::new(declared);
    let mut known: BTreeMap<Name, f64> = BTreeMap::new();
    loop {
        let before = known.clone();
        for i in &declared.instructions {
            let found = of_instruction(&table, i, &known)?;
            for target in &i.targets {
                let dtype = table.element(&target.array).and_then(|t| t.known());
                let own = found.max(dtype.map_or(0.0, usual_tolerance));
                let tolerance = known.entry(target.array.clone()).or_default();
                *tolerance = tolerance.max(own);
            }
        }
        // Tolerances grow, and there are few types.
        if known == before {
            return Ok(known);
        }
    }
}

/// The tolerance of an operation that gives this type.
fn computed(dtype: DType) -> f64 {
    match dtype {
        DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 => usual_tolerance(DType::F32),
        other => usual_tolerance(other),
    }
}

fn of_instruction(
    table: &TypeTable<'_>,
    i: &Instruction,
    known: &BTreeMap<Name, f64>,
) -> Result<f64, Diagnostic> {
    let wanted: Vec<DType> =
        i.targets.iter().filter_map(|t| table.element(&t.array).and_then(|t| t.known())).collect();
    let mut found = 0.0f64;
    if let [wanted] = wanted[..] {
        found = of_value(&table.typed(&i.value, wanted, Some(DType::I64))?, known);
    }
    let types = table.reduction_types(&i.value, &wanted)?;
    for (n, (reduction, types)) in i.reductions().iter().zip(&types).enumerate() {
        found = types.state.iter().map(|t| computed(*t)).fold(found, f64::max);
        let inside = |e: &Expr| e.reductions().len();
        let mut first = n.saturating_sub(reduction.args.iter().map(inside).sum());
        for (e, dtype) in reduction.args.iter().zip(&types.inputs) {
            let typed = table.typed_from(e, *dtype, Some(DType::I64), first)?;
            found = found.max(of_value(&typed, known));
            first += inside(e);
        }
    }
    Ok(found)
}

fn of_value(e: &Typed, known: &BTreeMap<Name, f64>) -> f64 {
    let of = |e: &Typed| of_value(e, known);
    let of_name = |name: &Name| known.get(name).copied().unwrap_or(0.0);
    match &e.kind {
        // The rounding of a reduction is that of its own types.
        TypedKind::Constant(_) | TypedKind::Reduction(_) => 0.0,
        TypedKind::Name(name) => of_name(name),
        TypedKind::Element { access, .. } => of_name(&access.array),
        TypedKind::Unary(_, a) => of(a),
        TypedKind::Convert(a) | TypedKind::Cast(a) => {
            let loses = usual_tolerance(e.dtype) > usual_tolerance(a.dtype);
            of(a).max(if loses { usual_tolerance(e.dtype) } else { 0.0 })
        }
        TypedKind::Binary(_, a, b) => computed(e.dtype).max(of(a)).max(of(b)),
        TypedKind::If(_, a, b) => of(a).max(of(b)),
        TypedKind::Call { args, .. } => args.iter().map(of).fold(computed(e.dtype), f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(statements: &str, array: &str) -> f64 {
        let text = format!(
            "kernel k(x: f32[n], h: f16[n], y: f64[n], z: f32[n], j: i32[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\ndomain {{ [k] : 0 <= k <= i }}\n{statements}\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        tolerances(&kernel).unwrap_or_else(|d| panic!("{d}\n{text}"))[array]
    }

    #[test]
    fn the_coarsest_type_counts() {
        let [f16, f32, f64] = [DType::F16, DType::F32, DType::F64].map(usual_tolerance);
        for (statements, expected) in [
            ("y[i] = x[i]", f64),
            ("y[i] = cast(f64, x[i])*cast(f64, x[i])", f64),
            ("y[i] = x[i]*x[i]", f32),
            ("y[i] = cast(f64, x[i]*x[i])", f32),
            ("y[i] = sum(k, x[k])", f32),
            ("y[i] = sum(k, cast(f64, x[k]))", f64),
            ("y[i] = sum(k, cast(f64, x[k]*x[k]))", f32),
            ("y[i] = h[i]", f64),
            ("y[i] = h[i]*h[i]", f32),
            ("y[i] = cast(f16, x[i])", f16),
            ("<f32> t = 2.0*x[i]\ny[i] = t", f32),
            ("<f16> t = 2.0*x[i]\n<> u = t\ny[i] = u", f16),
            ("y[i] = if(x[i] < 0.0, 1.0, cast(f64, x[i]))", f64),
        ] {
            assert_eq!(tolerance(statements, "y"), expected, "{statements}");
        }
        assert_eq!(tolerance("z[i] = x[i]", "z"), f32);
        assert_eq!(tolerance("j[i] = 3*i", "j"), 0.0);
    }
}
