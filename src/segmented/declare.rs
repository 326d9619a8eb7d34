//! The declared kernel of a reduction, as text.

use super::{Operator, SegmentedReduce, Shape};
use crate::ir::{
    DType, Diagnostic, Diagnostics, Expr, LoopKernel, Name, TypeTable, UPDATES, ValueType, computing_type,
    has_update, parse_expression,
};

/// The first of several refusals: the texts here are short, and the rest follows from it.
fn first(all: Diagnostics) -> Diagnostic {
    let unknown = || Diagnostic::new("internal", "a kernel was refused without a diagnostic");
    all.0.into_iter().next().unwrap_or_else(unknown)
}

/// An expression of `x` alone, of numbers.
pub(super) fn checked_map(map: Expr, dtype: DType) -> Result<Expr, Diagnostic> {
    let x = Name::new("x");
    let others = map.names().into_iter().find(|n| *n != x);
    let access = map.accesses().into_iter().next().map(|a| a.array);
    let reduction = map.reductions().first().map(|r| r.op.clone());
    if let Some(other) = others.or(access).or(reduction) {
        let message = format!("`{map}` uses `{other}`, but each element is mapped separately");
        return Err(Diagnostic::new("segment-map", message)
            .help("write an expression of `x`, the element, or declare a kernel of your own"));
    }
    if value_type(&map, dtype)? == DType::Bool {
        let message = format!("`{map}` is a truth value, and only numbers can be reduced");
        return Err(Diagnostic::new("segment-map", message).help(format!("write `if({map}, 1, 0)`")));
    }
    Ok(map)
}

/// The type of the mapped elements.
fn value_type(map: &Expr, dtype: DType) -> Result<DType, Diagnostic> {
    let text = format!("kernel types(x: {dtype}, out: i32[1])\nout[0] = 0\n");
    let kernel = LoopKernel::parse(&text).map_err(first)?;
    let table = TypeTable::new(&kernel);
    match table.type_of(map)? {
        // Made of integers: the type of the kernel's result decides.
        ValueType::FloatLiteral if dtype.bytes() == 8 => Ok(DType::F64),
        ValueType::FloatLiteral => Ok(DType::F32),
        _ => table.alone(map),
    }
}

/// The type in which values are accumulated, and that of the result.
fn types(reduce: &SegmentedReduce, value: DType) -> (DType, DType) {
    let wide = if value.is_unsigned() { DType::U64 } else { DType::I64 };
    // For f16 and bf16, what was computed in f32 is converted back.
    let stored = if computing_type(reduce.dtype) == value { reduce.dtype } else { value };
    let usual = match reduce.operator {
        Operator::Sum | Operator::Product if value.is_integer() => wide,
        Operator::Mean if value.is_integer() => DType::F64,
        _ => stored,
    };
    let output = reduce.output.unwrap_or(usual);
    let accumulated = match reduce.operator {
        Operator::Min | Operator::Max | Operator::Argmin | Operator::Argmax => value,
        Operator::Mean if value.is_integer() => computing_type(usual),
        _ if value.is_integer() => output,
        // The wider of the two: `output` may request fewer bits for the result, but not for the
        // sum.
        _ if output.bytes() > computing_type(value).bytes() => output,
        _ => computing_type(value),
    };
    (accumulated, output)
}

fn check(reduce: &SegmentedReduce, value: DType) -> Result<(), Diagnostic> {
    let refuse = |message: String, help: &str| Err(Diagnostic::new("segment-type", message).help(help));
    if reduce.dtype == DType::Bool {
        return refuse(
            format!("the {} is of numbers, and the elements are truth values", reduce.operator),
            "pass them as u8",
        );
    }
    match reduce.output {
        Some(DType::Bool) => refuse("the result cannot be a truth value".to_owned(), "choose a numeric type"),
        Some(output) if output.is_integer() && (value.is_float() || reduce.operator == Operator::Mean) => {
            refuse(
                format!("the {} of {value} is no {output}", reduce.operator),
                if reduce.operator == Operator::Mean {
                    "choose a floating-point type"
                } else {
                    "choose a floating-point type, or map elements to integers: `cast(i64, x)`"
                },
            )
        }
        _ => Ok(()),
    }
}

/// Checks that results of this type support atomic updates, if these are requested.
fn check_atomic(reduce: &SegmentedReduce, accumulated: DType, output: DType) -> Result<(), Diagnostic> {
    let SegmentedReduce { operator, .. } = reduce;
    if !reduce.atomic || (accumulated == output && has_update(operator.name(), output)) {
        return Ok(());
    }
    let why = match operator {
        Operator::Sum | Operator::Min | Operator::Max if accumulated == output => {
            format!("there is no atomic update for `{operator}` of {output}")
        }
        Operator::Sum | Operator::Min | Operator::Max => {
            format!("it accumulates in {accumulated}, and its result is {output}")
        }
        _ => format!("there is no atomic update for `{operator}`"),
    };
    let help = match operator {
        Operator::Sum => format!("`output({accumulated})` keeps the type of the sums"),
        Operator::Mean => "request the sum, and divide by the length".to_owned(),
        _ => format!("leave `reduce_atomically` out: partial results are joined in a fixed order; {UPDATES}"),
    };
    Err(Diagnostic::new("segment-atomic", format!("{reduce} cannot be joined by atomic updates: {why}"))
        .help(help))
}

/// The type of an index up to `number`: I32 if that suffices.
fn counter(number: usize) -> DType {
    if i32::try_from(number).is_ok() { DType::I32 } else { DType::I64 }
}

/// The text of the value, converted if its type differs.
fn converted(value: &Expr, from: DType, to: DType) -> String {
    if from == to || computing_type(from) == to { value.to_string() } else { format!("cast({to}, {value})") }
}

pub(super) fn kernel(reduce: &SegmentedReduce, shape: &Shape) -> Result<LoopKernel, Diagnostic> {
    let SegmentedReduce { operator, dtype, map, .. } = reduce;
    let value = value_type(map, *dtype)?;
    check(reduce, value)?;
    let (accumulated, output) = types(reduce, value);
    check_atomic(reduce, accumulated, output)?;
    // The length, the indices, the size arguments, and the loops.
    let (name, x, length, place, index, sizes, loops) = match shape {
        Shape::Rows { count, length } => {
            let (nseg, len) = (counter(*count), counter(*length));
            (
                format!("segmented_{operator}(x: {dtype}[nseg, len]"),
                "x[s, i]",
                "len",
                "i",
                len,
                format!("nseg: {nseg}, len: {len})\nassume 0 <= nseg and 0 <= len\n"),
                "domain { [i] : 0 <= i < len }\n".to_owned(),
            )
        }
        Shape::Ragged { count, offsets, elements, .. } => {
            if !matches!(offsets, DType::I32 | DType::I64) || counter(*elements).bytes() > offsets.bytes() {
                let message = format!("offsets of {offsets} cannot count {elements} elements");
                return Err(Diagnostic::new("segment-offsets", message).help("pass offsets of i64"));
            }
            let nseg = counter(count.saturating_add(1));
            (
                format!("ragged_{operator}(x: {dtype}[n], offsets: {offsets}[nseg + 1]"),
                "x[i]",
                "hi - lo",
                "i - lo",
                *offsets,
                format!(
                    "n: {offsets}, nseg: {nseg})\n\
                     assume 0 <= n and 0 <= nseg\n\
                     fact monotone(offsets)\n\
                     fact 0 <= offsets <= n\n"
                ),
                format!(
                    "domain {{ [i] : lo <= i < hi }}\n\
                     temp lo: {offsets} private\n\
                     temp hi: {offsets} private\n\
                     lo = offsets[s]\n\
                     hi = offsets[s + 1]\n"
                ),
            )
        }
    };
    let element = parse_expression(x)?;
    let element = map.substitute(&|n| (**n == *"x").then(|| element.clone()));
    let element = converted(&element, value, accumulated);
    let (outputs, instruction) = match operator {
        Operator::Argmin | Operator::Argmax => (
            format!("value: {output}[nseg], index: {index}[nseg]"),
            format!("value[s], index[s] = {operator}(i, {element}, {place})"),
        ),
        Operator::Mean => (
            format!("out: {output}[nseg]"),
            format!("out[s] = sum(i, {element}) / cast({accumulated}, {length})"),
        ),
        _ => (format!("out: {output}[nseg]"), format!("out[s] = {operator}(i, {element})")),
    };
    let text = format!(
        "kernel {name}, {outputs}, {sizes}domain {{ [s] : 0 <= s < nseg }}\n\
         {loops}{instruction} {{id=reduce}}\n"
    );
    LoopKernel::parse(&text).map_err(first)
}
