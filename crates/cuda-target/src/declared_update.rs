//! Updates that the program declares, as device functions.

use loopwright_kernel_ir::{DType, Name, PerDim};
use loopwright_program::{DeclaredUpdate, DeviceKernel, Program, Value, Var};

use crate::{
    context::{Context, Needs},
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

/// Two variables of a type, of a function of this name, as those of a kernel without parameters.
pub(crate) fn variables(function: &Name, dtype: DType, names: [&str; 2]) -> DeviceKernel {
    let of = |name: &str| Var {
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
        vars: names.map(of).into(),
        shared: Vec::new(),
        private: Vec::new(),
        body: Vec::new(),
        notes: Vec::new(),
    }
}

/// The definition of an update's function.
pub(crate) fn definition(program: &Program, update: &DeclaredUpdate, needs: &Needs, out: &mut Lines) {
    // What the combination calls is not hidden by the function's own names.
    let free = |name: &str| match program.functions.iter().any(|f| *f.name == *name) {
        true => format!("{name}_"),
        false => name.to_string(),
    };
    let [at, value, held, element, found, next, bits, whole] =
        ["at", "value", "held", "element", "found", "next", "bits", "combined"].map(free);
    let kernel = variables(&update.name, update.dtype, [&held, &value]);
    let context = Context::of_update(program, &kernel, needs);
    let combined = context.converted(&update.combined);
    let t = c_type(update.dtype);
    let word = word(update.dtype);
    out.comment("Combines and exchanges the bits until no other thread's update has come between.", 0, None);
    let head =
        format!("__device__ __forceinline__ void {}({t} *const {at}, const {t} {value}) {{", update.name);
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
            line(8, format!("{found} = atomicCAS({at}, {held}, {next});"));
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
            line(8, format!("{found} = atomicCAS({element}, {bits}, {next});"));
            line(4, format!("}} while ({found} != {bits});"));
        }
    }
    line(0, "}".into());
}
