//! In which types sums are computed, and what their results are stored as.

use loopwright_kernel_ir::{DType, Diagnostic, Expr, cast, computing_type, promote};

use crate::Generator;

/// The types of a sum: that of its accumulator and that of its result.
pub struct Sums {
    /// The type in which terms are computed and added up.
    pub acc: DType,
    /// The type of the elements of the result, to which a sum is converted at its end.
    pub out: DType,
}

impl Sums {
    /// The types of a sum over these operands; `usual` is the type of a result for which the
    /// operands do not decide.
    pub fn of(types: &[DType], usual: Option<DType>, generator: &Generator) -> Result<Sums, Diagnostic> {
        let meet = |types: &[DType]| {
            let mut types = types.iter().copied();
            let first = types.next().and_then(|t| promote(t, t));
            types.fold(first, |met, t| promote(met?, t))
        };
        let given = generator.out.or(usual);
        if let Some(acc) = generator.acc.filter(|acc| computing_type(*acc) != *acc || acc.bytes() < 4) {
            return Err(Diagnostic::new("generate-types", format!("sums are not accumulated in {acc}"))
                .help("accumulate in a type of 32 or 64 bits, and store the result as any: `--out`, `.out(...)`"));
        }
        let acc = match generator.acc {
            Some(acc) => Some(acc),
            None => meet(&[types, given.as_slice()].concat()),
        };
        let Some(acc) = acc else {
            let mut names: Vec<&str> = types.iter().map(|t| t.name()).collect();
            names.extend(given.map(DType::name));
            return Err(Diagnostic::new(
                "generate-types",
                format!("{} do not meet in one type", names.join(" and ")),
            )
            .help(
                "say in which type to accumulate, to which all operands are cast: `--acc f32`, `.acc(F32)`",
            ));
        };
        let same = types.first().copied().filter(|t| types.iter().all(|u| u == t));
        let out = given.or(same.filter(|t| *t != DType::Bool)).unwrap_or(acc);
        Ok(Sums { acc, out })
    }

    /// An operand in the type of the sum. The language computes narrow integers in i32 by itself.
    pub fn operand(&self, value: Expr, dtype: DType) -> Expr {
        let by_itself = dtype.is_integer() && promote(dtype, dtype) == Some(self.acc);
        if dtype == self.acc || by_itself { value } else { cast(self.acc, value) }
    }

    /// The value as it is stored: converted to the type of the result.
    pub fn result(&self, value: Expr) -> Expr {
        stored(value, self.acc, self.out)
    }
}

/// A value of one type as it is stored in another one. What an assignment converts is not cast, but
/// for floating-point types, so that the text shows where the result is rounded.
pub fn stored(value: Expr, dtype: DType, out: DType) -> Expr {
    let converts = dtype.is_integer() && out != DType::Bool;
    if dtype == out || converts { value } else { cast(out, value) }
}

/// Refuses an accumulator where nothing is accumulated.
pub fn no_accumulator(what: &str, generator: &Generator) -> Result<(), Diagnostic> {
    match generator.acc {
        None => Ok(()),
        Some(acc) => Err(Diagnostic::new("generate-types", format!("{what} accumulates nothing in {acc}"))
            .help("leave out the accumulator's type; that of the result can be given: `--out`, `.out(...)`")),
    }
}

/// Refuses truth values where numbers are compared or computed.
pub fn numbers(what: &str, dtype: DType) -> Result<(), Diagnostic> {
    match dtype {
        DType::Bool => Err(Diagnostic::new("generate-types", format!("{what} takes numbers, not bool"))
            .help("reduce truth values by `any` or `all`, or count them by `sum`")),
        _ => Ok(()),
    }
}
