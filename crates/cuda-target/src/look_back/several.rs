//! The function that looks back for a state of several values.
//!
//! Each 32 bits of each value have a word, which also holds the state of the tile. The words of one
//! value, or of several, are written one after another, and a reader may see some of them with a
//! total and others with a prefix: it reads them again until all say the same. Each word is written
//! once with either, so that words which say the same belong together.

use std::collections::BTreeMap;

use loopwright_kernel_ir::DType;
use loopwright_program::{DeclaredLookBack, Program, Value};

use super::{begin, bits_of, comments, value_of};
use crate::{
    context::{Context, Needs, mask_of},
    declared_update::variables,
    stmt::Lines,
    types::c_type,
};

/// A name for each value of the state.
fn each(state: &[DType], name: &str) -> Vec<String> {
    (0..state.len()).map(|k| format!("{name}_{k}")).collect()
}

/// The names of the words that hold a value.
fn words_of(number: usize, dtype: DType) -> Vec<String> {
    match dtype.bytes() {
        8 => vec![format!("low_{number}"), format!("high_{number}")],
        _ => vec![format!("word_{number}")],
    }
}

/// What the words of a value hold, with the state of the tile above.
fn in_words(dtype: DType, state: &str, value: &str) -> Vec<String> {
    let bits = match dtype {
        // A literal may be of a narrower type.
        DType::U64 => format!("static_cast<unsigned long long>({value})"),
        _ => bits_of(dtype, value),
    };
    match dtype.bytes() {
        8 => {
            vec![format!("{state} << 32 | ({bits} & 0xffffffffull)"), format!("{state} << 32 | {bits} >> 32")]
        }
        _ => vec![format!("{state} << 32 | {bits}")],
    }
}

/// The definition.
pub(super) fn definition(program: &Program, of: &DeclaredLookBack, needs: &Needs, out: &mut Lines) {
    // What the combinations call is not hidden by the function's own names.
    let free = |name: &str| match program.functions.iter().any(|f| *f.name == *name) {
        true => format!("{name}_"),
        false => name.to_string(),
    };
    let [own, tile, lane, words, last, at, known, nearest, offset] =
        ["own", "tile", "lane", "words", "last", "at", "known", "nearest", "offset"].map(free);
    let names = |name: &str| -> Vec<String> { each(&of.state, name).iter().map(|n| free(n)).collect() };
    let [total, before, joined, earlier, next, whole] =
        ["total", "before", "joined", "earlier", "next", "whole"].map(names);
    let mut constants = BTreeMap::new();
    let mut texts = |sides: [&[String]; 2], values: &[Value]| -> Vec<String> {
        let all = sides[0].iter().chain(sides[1]).map(String::as_str);
        let kernel = variables(&of.name, all.zip(of.state.iter().cycle().copied()));
        let context = Context::of_update(program, &kernel, needs);
        let texts = values.iter().map(|value| context.converted(value)).collect();
        constants.append(&mut context.constants.borrow_mut());
        texts
    };
    let neutral = texts([&earlier, &joined], &of.neutral);
    let within = texts([&earlier, &joined], &of.combined);
    let further = texts([&joined, &before], &of.combined);
    let all_joined = texts([&before, &total], &of.combined);
    let types: Vec<&str> = of.state.iter().map(|dtype| c_type(*dtype)).collect();
    let (i, lanes) = (c_type(program.index), program.target.warp_size);
    let all = mask_of(lanes);
    comments("Each 32 bits of a tile's values are in a word", out);
    let given = types.iter().zip(&total).map(|(t, name)| format!("const {t} {name}"));
    let learnt = types.iter().zip(&before).map(|(t, name)| format!("{t} &{name}"));
    let values: Vec<String> = given.chain(learnt).collect();
    let head = format!(
        "__device__ __forceinline__ void {}(unsigned long long *const {own}, const {i} {tile}, const int {lane}, \
         {}) {{",
        of.name,
        values.join(", ")
    );
    let mut line = begin(&head, &constants, out);
    let in_order = |state: &str, values: &[String]| -> Vec<String> {
        of.state.iter().zip(values).flat_map(|(dtype, value)| in_words(*dtype, state, value)).collect()
    };
    // Values that are computed of each other change together.
    let replaced = |line: &mut dyn FnMut(usize, &str), indent, to: &[String], values: &[String]| {
        for ((t, name), value) in types.iter().zip(&next).zip(values) {
            line(indent, &format!("const {t} {name} = {value};"));
        }
        for (to, name) in to.iter().zip(&next) {
            line(indent, &format!("{to} = {name};"));
        }
    };
    line(4, &format!("volatile unsigned long long *const {words} = {own};"));
    line(4, &format!("if ({lane} == 0 && {tile} > 0) {{"));
    for (k, word) in in_order("1ull", &total).iter().enumerate() {
        line(8, &format!("{words}[{k}] = {word};"));
    }
    line(4, "}");
    for (name, value) in before.iter().zip(&neutral) {
        line(4, &format!("{name} = {value};"));
    }
    line(4, &format!("for ({i} {last} = {tile} - 1; {last} >= 0; {last} -= {lanes}) {{"));
    line(8, "// each lane looks at a tile, the first lane at the nearest; nothing is before the first tile");
    let held: Vec<String> = of
        .state
        .iter()
        .enumerate()
        .flat_map(|(k, dtype)| words_of(k, *dtype))
        .map(|name| free(&name))
        .collect();
    for (name, word) in held.iter().zip(in_order("2ull", &neutral)) {
        line(8, &format!("unsigned long long {name} = {word};"));
    }
    line(8, "do {");
    line(12, &format!("if ({lane} <= {last}) {{"));
    line(16, &format!("const {i} {at} = ({last} - {lane} - {tile}) * {};", held.len()));
    for (k, name) in held.iter().enumerate() {
        let place = if k == 0 { at.clone() } else { format!("{at} + {k}") };
        line(16, &format!("{name} = {words}[{place}];"));
    }
    line(12, "}");
    let first = held.first().cloned().unwrap_or_default();
    let unlike: Vec<String> =
        held.iter().skip(1).map(|name| format!(" || {first} >> 32 != {name} >> 32")).collect();
    line(8, &format!("}} while (__any_sync({all}, {first} >> 32 == 0{}));", unlike.concat()));
    let mut rest = held.iter();
    for (((t, dtype), name), number) in types.iter().zip(&of.state).zip(&joined).zip(0..) {
        let own: Vec<&String> = rest.by_ref().take(words_of(number, *dtype).len()).collect();
        let bits = match own.as_slice() {
            [low, high] => format!("{high} << 32 | ({low} & 0xffffffffull)"),
            [word] => format!("static_cast<unsigned int>({word})"),
            _ => String::new(),
        };
        line(8, &format!("{t} {name} = {};", value_of(*dtype, &bits)));
    }
    line(8, &format!("const unsigned int {known} = __ballot_sync({all}, {first} >> 32 == 2);"));
    line(8, "// totals count up to the nearest tile that has joined all before it");
    line(8, &format!("const int {nearest} = {known} == 0 ? {} : __ffs({known}) - 1;", lanes - 1));
    line(8, "#pragma unroll");
    line(8, &format!("for (int {offset} = 1; {offset} < {lanes}; {offset} *= 2) {{"));
    for ((t, earlier), joined) in types.iter().zip(&earlier).zip(&joined) {
        line(12, &format!("const {t} {earlier} = __shfl_down_sync({all}, {joined}, {offset});"));
    }
    line(12, &format!("if ({lane} + {offset} <= {nearest}) {{"));
    replaced(&mut line, 16, &joined, &within);
    line(12, "}");
    line(8, "}");
    replaced(&mut line, 8, &before, &further);
    line(8, &format!("if ({known} != 0) break;"));
    line(4, "}");
    for name in &before {
        line(4, &format!("{name} = __shfl_sync({all}, {name}, 0);"));
    }
    line(4, &format!("if ({lane} == 0) {{"));
    for ((t, name), value) in types.iter().zip(&whole).zip(&all_joined) {
        line(8, &format!("const {t} {name} = {value};"));
    }
    for (k, word) in in_order("2ull", &whole).iter().enumerate() {
        line(8, &format!("{words}[{k}] = {word};"));
    }
    line(4, "}");
    line(0, "}");
}
