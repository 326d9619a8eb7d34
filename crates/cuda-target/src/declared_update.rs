//! Updates that the program declares, as device functions.

use loopwright_kernel_ir::{DType, Name, PerDim, UpdateScope};
use loopwright_program::{BinOp, DeclaredUpdate, DeviceKernel, Program, Value, ValueKind, Var};

use crate::{
    context::{Context, Needs},
    helpers::suffix,
    stmt::Lines,
    types::c_type,
    wrap::WIDTH,
};

/// How a type's values are words that `atomicCAS` exchanges: the type of the words, and the
/// functions that make a value of a word and a word of a value.
struct Word {
    name: &'static str,
    value_of: &'static str,
    of_value: &'static str,
}

/// The unsigned word with the bits of a type; `None` if the type is a word itself, or has no word.
fn word(dtype: DType) -> Option<Word> {
    Some(match dtype {
        DType::F32 => Word { name: "unsigned int", value_of: "__uint_as_float", of_value: "__float_as_uint" },
        DType::F16 => {
            Word { name: "unsigned short", value_of: "__ushort_as_half", of_value: "__half_as_ushort" }
        }
        DType::BF16 => Word {
            name: "unsigned short",
            value_of: "__ushort_as_bfloat16",
            of_value: "__bfloat16_as_ushort",
        },
        DType::F64 => Word {
            name: "unsigned long long",
            value_of: "__longlong_as_double",
            of_value: "__double_as_longlong",
        },
        DType::I64 => Word {
            name: "unsigned long long",
            value_of: "static_cast<long long>",
            of_value: "static_cast<unsigned long long>",
        },
        _ => return None,
    })
}

/// Variables of a function of this name, as those of a kernel without parameters.
pub(crate) fn variables<'n>(
    function: &Name,
    names: impl IntoIterator<Item = (&'n str, DType)>,
) -> DeviceKernel {
    let of = |(name, dtype): (&str, DType)| Var {
        name: Name::new(name),
        dtype,
        mutable: false,
        meaning: None,
        within: None,
        index: false,
    };
    DeviceKernel {
        name: function.clone(),
        params: Vec::new(),
        grid: PerDim::all(Value::int(DType::I32, 1)),
        block: PerDim::all(1),
        min_blocks_per_multiprocessor: None,
        early: false,
        in_order: None,
        vars: names.into_iter().map(of).collect(),
        shared: Vec::new(),
        private: Vec::new(),
        body: Vec::new(),
        notes: Vec::new(),
    }
}

/// An update of a type in which nothing is computed: the operation in `f32`, rounded.
pub(crate) fn rounded(name: &'static str, dtype: DType) -> DeclaredUpdate {
    let op = match name {
        "atomic_min" => BinOp::Min,
        "atomic_max" => BinOp::Max,
        _ => BinOp::Add,
    };
    let [held, value] = [DeclaredUpdate::HELD, DeclaredUpdate::VALUE]
        .map(|var| Box::new(Value { dtype, kind: ValueKind::Var(var) }.cast(DType::F32)));
    let combined = Value { dtype: DType::F32, kind: ValueKind::Binary(op, held, value) }.cast(dtype);
    DeclaredUpdate { name: Name::new(name), dtype, combined }
}

/// The definition of an update's function.
pub(crate) fn definition(
    program: &Program,
    update: &DeclaredUpdate,
    scope: UpdateScope,
    needs: &Needs,
    out: &mut Lines,
) {
    let of = suffix(scope);
    // What the combination calls is not hidden by the function's own names.
    let free = |name: &str| match program.functions.iter().any(|f| *f.name == *name) {
        true => format!("{name}_"),
        false => name.to_string(),
    };
    let [at, value, held, element, found, next, bits, whole] =
        ["at", "value", "held", "element", "found", "next", "bits", "combined"].map(free);
    // A name of the printer's own is reserved, and no program has it.
    let is_declared = program.updates.iter().any(|other| other.name == update.name);
    let name = if is_declared { update.name.clone() } else { Name::new("update") };
    let kernel = variables(&name, [&held, &value].map(|name| (name.as_str(), update.dtype)));
    let context = Context::of_update(program, &kernel, needs);
    let combined = context.converted(&update.combined);
    let t = c_type(update.dtype);
    let word = word(update.dtype);
    let exchange = match (update.dtype.bytes(), scope) {
        (2, UpdateScope::Block) => needs.helper("atomic_cas_block", DType::U16).to_string(),
        (2, UpdateScope::System) => needs.helper("atomic_cas_system", DType::U16).to_string(),
        _ => format!("atomicCAS{of}"),
    };
    out.comment("Combines and exchanges the bits until no other thread's update has come between.", 0, None);
    let head =
        format!("__device__ __forceinline__ void {}{of}({t} *const {at}, const {t} {value}) {{", update.name);
    out.push(&head, 0, None);
    for constant in context.constants.borrow().values() {
        out.push(constant, 4, None);
    }
    let mut line = |indent, text: String| out.push(&text, indent, None);
    match word {
        // The element is a word itself.
        None => {
            line(4, format!("{t} {found} = *static_cast<volatile {t} *>({at}), {held};"));
            line(4, "do {".into());
            line(8, format!("{held} = {found};"));
            line(8, format!("const {t} {next} = {combined};"));
            line(8, format!("if ({next} == {held}) return;"));
            line(8, format!("{found} = {exchange}({at}, {held}, {next});"));
            line(4, format!("}} while ({found} != {held});"));
        }
        Some(Word { name: w, value_of, of_value }) => {
            line(4, format!("{w} *const {element} = reinterpret_cast<{w} *>({at});"));
            line(4, format!("{w} {found} = *static_cast<volatile {w} *>({element}), {bits};"));
            line(4, "do {".into());
            line(8, format!("{bits} = {found};"));
            line(8, format!("const {t} {held} = {value_of}({bits});"));
            let next_of = |value: &str| format!("const {w} {next} = {of_value}({value});");
            if 8 + next_of(&combined).len() <= WIDTH {
                line(8, next_of(&combined));
            } else {
                line(8, format!("const {t} {whole} = {combined};"));
                line(8, next_of(&whole));
            }
            line(8, format!("if ({next} == {bits}) return;"));
            line(8, format!("{found} = {exchange}({element}, {bits}, {next});"));
            line(4, format!("}} while ({found} != {bits});"));
        }
    }
    line(0, "}".into());
}
