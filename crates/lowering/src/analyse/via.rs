//! What can be copied asynchronously.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Expr, Instruction};

use super::{analysis::Analysis, arrays::known};
use crate::program::AsyncCopy;

/// Refuses asynchronous copies that are not copies from global to shared memory.
pub(crate) fn check(analysis: &Analysis<'_>) -> Result<(), Diagnostic> {
    for instruction in analysis.kernel.instructions.iter().filter(|i| i.via.is_asynchronous()) {
        if let Some((why, help)) = wrong(analysis, instruction)? {
            let message = format!("`{}` cannot copy asynchronously: {why}", instruction.id);
            return Err(Diagnostic::new("async-copy", message).help(help));
        }
    }
    Ok(())
}

fn wrong(analysis: &Analysis<'_>, i: &Instruction) -> Result<Option<(String, &'static str)>, Diagnostic> {
    let plain = "leave out `via=cp_async`";
    let ([target], Expr::Subscript(source)) = (i.targets.as_slice(), &i.value) else {
        return Ok(Some(("it computes something".into(), "copy first, and compute on the copy")));
    };
    if i.predicate.is_some() {
        return Ok(Some(("it has a predicate".into(), plain)));
    }
    let array = |name| analysis.lookup.array(name);
    let (Some(to), Some(from)) = (array(&target.array), array(&source.array)) else { return Ok(None) };
    if (from.space, to.space) != (AddressSpace::Global, AddressSpace::Shared) {
        let why = format!("it copies from {} to {} memory, not from global to shared", from.space, to.space);
        return Ok(Some((why, plain)));
    }
    let (dtype, other) = (known(&to.dtype, &target.array)?, known(&from.dtype, &source.array)?);
    if dtype != other {
        let why = format!("it converts from {other} to {dtype}");
        return Ok(Some((why, "copy without a conversion, and convert what is read of the copy")));
    }
    Ok(None)
}

/// Refuses an asynchronous copy of `lanes` neighbours at once where no instruction does it.
pub(crate) fn check_width(analysis: &Analysis<'_>, i: &Instruction, lanes: i64) -> Result<(), Diagnostic> {
    let (true, Some(target)) = (i.via.is_asynchronous(), i.targets.first()) else { return Ok(()) };
    let Some(array) = analysis.lookup.array(&target.array) else { return Ok(()) };
    let dtype = known(&array.dtype, &target.array)?;
    let bytes = usize::try_from(lanes).unwrap_or(usize::MAX).saturating_mul(dtype.bytes());
    if AsyncCopy::BYTES.contains(&bytes) {
        return Ok(());
    }
    let what = match lanes {
        1 => format!(
            "single elements of {dtype}, which have {bytes} byte{}",
            if bytes == 1 { "" } else { "s" }
        ),
        _ => format!("{lanes} elements of {dtype} at once, which have {bytes} bytes"),
    };
    let message = format!("`{}` cannot copy asynchronously: it moves {what}, not 4, 8 or 16", i.id);
    let help = "copy by vectors of 4, 8 or 16 bytes (`vec=...`), from rows that consist of whole vectors, \
                which an assumption such as `assume n % 8 = 0` can say; or leave out `via=cp_async`";
    Err(Diagnostic::new("async-width", message).help(help))
}
