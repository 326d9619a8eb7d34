//! Look-backs of blocks, as device functions, and blocks that are numbered as they start.
//!
//! A warp looks at as many tiles at a time as it has lanes. The words of a tile are read and
//! written whole (`volatile`, 64 bits, aligned), and each holds its part of the value with the
//! state of the tile: no fence has to order them.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Dim, PerDim};
use loopwright_program::{DeclaredLookBack, InOrder, LookBack, Memory, Program, Value};

use crate::{
    context::{Context, Needs, mask_of},
    declared_update::variables,
    printed::{Printed, Rep},
    stmt::Lines,
    types::c_type,
};

mod several;

impl Context<'_> {
    /// The index of the block on an axis: the device's, or that of the number that it has taken.
    pub(crate) fn block_index(&self, dim: Dim) -> Printed {
        match self.kernel.in_order {
            Some(_) => Printed::primary(self.block_name(dim)),
            None => Printed::primary(format!("blockIdx.{dim}")).with(Rep::Unsigned { exact: true }),
        }
    }

    /// The name of the index of a block by its number.
    fn block_name(&self, dim: Dim) -> String {
        self.free_name(&format!("block_{dim}"))
    }

    /// Numbers the block, where the kernel's blocks are numbered, and finds its indices.
    pub(crate) fn number_block(&self, out: &mut Lines) {
        let Some(InOrder { counter, number }) = self.kernel.in_order else { return };
        let (counter, _) = self.array(Memory::Global(counter));
        let (number, _) = self.array(Memory::Shared(number));
        let axes = Dim::ALL.iter().filter(|dim| self.kernel.block[**dim] > 1);
        let first: Vec<String> = axes.map(|dim| format!("threadIdx.{dim} == 0")).collect();
        out.push(&format!("if ({}) {{", first.join(" && ")), 4, None);
        out.push(&format!("{number}[0] = atomicAdd({counter}, 1u);"), 8, None);
        out.push("}", 4, None);
        let why = "a block waits for those with lower numbers, which have started";
        out.noted("__syncthreads();", why, 4, None);
        let several: Vec<Dim> =
            Dim::ALL.iter().copied().filter(|dim| self.kernel.grid[*dim].as_int() != Some(1)).collect();
        let i = self.needs.c_type(self.program.index);
        for (k, dim) in several.iter().enumerate() {
            let mut index = format!("{number}[0]");
            several[..k].iter().for_each(|before| index.push_str(&format!(" / gridDim.{before}")));
            if k + 1 < several.len() {
                index.push_str(&format!(" % gridDim.{dim}"));
            }
            out.push(&format!("const {i} {} = {index};", self.block_name(*dim)), 4, None);
        }
    }

    /// `const float earlier = look_back_sum(&words[tile], tile, lane, total);`. Of a state of
    /// several values, the function gives them to variables that are declared before.
    pub(crate) fn look_back(&self, stmt: &LookBack) -> Vec<String> {
        let LookBack { by, axis, total, before, word } = stmt;
        let Some(of) = self.program.look_backs.get(*by) else {
            return vec![self.needs.refuse("malformed-program", format!("there is no look-back {by}"))];
        };
        if !self.needs.dialect.look_backs {
            let language = self.needs.dialect.language.name;
            let message =
                format!("`{}` looks back over blocks, which is not there in {language}", self.kernel.name);
            self.needs.refuse_with(
                "look-back",
                message,
                "leave the tiles of the scan in a loop of one block, or scan their totals in separate instructions",
            );
        }
        self.needs.look_backs.borrow_mut().insert(*by);
        // The threads of the first warp are those of the lowest numbers.
        let PerDim { x, y, .. } = self.kernel.block;
        let lanes = self.program.target.warp_size;
        let lane = match x * y {
            _ if x >= lanes => "threadIdx.x".to_string(),
            rows if rows >= lanes => format!("threadIdx.x + {x} * threadIdx.y"),
            rows => format!("threadIdx.x + {x} * threadIdx.y + {rows} * threadIdx.z"),
        };
        let element = self.element(word);
        let given: Vec<String> = total.iter().map(|value| self.converted(value)).collect();
        let tile = self.block_index(*axis).text;
        let call = format!("{}(&{element}, {tile}, {lane}, {}", of.name, given.join(", "));
        let types = of.state.iter().map(|dtype| self.needs.c_type(*dtype));
        let learnt: Vec<String> = before.iter().map(|var| self.var(*var)).collect();
        if let ([t], [before]) = (types.clone().collect::<Vec<_>>().as_slice(), learnt.as_slice()) {
            return vec![format!("const {t} {before} = {call});")];
        }
        let declared = types.zip(&learnt).map(|(t, name)| format!("{t} {name};"));
        declared.chain([format!("{call}, {});", learnt.join(", "))]).collect()
    }
}

/// A value as the bits of an unsigned integer, and back.
fn bits_of(dtype: DType, value: &str) -> String {
    match dtype {
        DType::F32 => format!("__float_as_uint({value})"),
        DType::I32 => format!("static_cast<unsigned int>({value})"),
        DType::F64 => format!("static_cast<unsigned long long>(__double_as_longlong({value}))"),
        DType::I64 => format!("static_cast<unsigned long long>({value})"),
        // An operand of shifts and bit operations.
        _ if value.contains(' ') => format!("({value})"),
        _ => value.to_string(),
    }
}

fn value_of(dtype: DType, bits: &str) -> String {
    match dtype {
        DType::F32 => format!("__uint_as_float({bits})"),
        DType::I32 => format!("static_cast<int>({bits})"),
        DType::F64 => format!("__longlong_as_double(static_cast<long long>({bits}))"),
        DType::I64 => format!("static_cast<long long>({bits})"),
        _ => bits.to_string(),
    }
}

/// The definition of the function that looks back.
pub(crate) fn definition(program: &Program, of: &DeclaredLookBack, needs: &Needs, out: &mut Lines) {
    match (of.state.as_slice(), of.neutral.as_slice(), of.combined.as_slice()) {
        ([dtype], [neutral], [combined]) => one(program, of, (*dtype, neutral, combined), needs, out),
        _ => several::definition(program, of, needs, out),
    }
}

/// Begins a function with these constants. What is given writes its lines: comments where a text
/// begins as one.
fn begin<'l>(
    head: &str,
    constants: &BTreeMap<String, String>,
    out: &'l mut Lines,
) -> impl FnMut(usize, &str) + use<'l> {
    out.push(head, 0, None);
    for constant in constants.values() {
        out.push(constant, 4, None);
    }
    |indent, text| match text.strip_prefix("// ") {
        Some(comment) => out.comment(comment, indent, None),
        None => out.push(text, indent, None),
    }
}

/// What stands ahead of the function.
fn comments(each: &str, lanes: &mut Lines) {
    lanes.comment(
        "What the tiles before a block's own join; publishes what those after it have to know. Decoupled \
         look-back: Merrill and Garland, \"Single-pass Parallel Prefix Scan\", 2016.",
        0,
        None,
    );
    lanes.comment(
        &format!(
            "{each}, below a number: 1 says that it is the tile's own total, 2 that all tiles up to it are \
             joined. Words are 0 at first."
        ),
        0,
        None,
    );
}

/// That of a state of one value.
fn one(
    program: &Program,
    of: &DeclaredLookBack,
    (dtype, neutral, combined): (DType, &Value, &Value),
    needs: &Needs,
    out: &mut Lines,
) {
    // What the combination calls is not hidden by the function's own names.
    let free = |name: &str| match program.functions.iter().any(|f| *f.name == *name) {
        true => format!("{name}_"),
        false => name.to_string(),
    };
    let [own, tile, lane, total, words, before, last, joined, earlier, known, nearest, offset] = [
        "own", "tile", "lane", "total", "words", "before", "last", "joined", "earlier", "known", "nearest",
        "offset",
    ]
    .map(free);
    let [word, low, high, at, bits] = ["word", "low", "high", "at", "bits"].map(free);
    let mut constants = BTreeMap::new();
    let mut text = |names: [&str; 2], value| {
        let kernel = variables(&of.name, names.map(|name| (name, dtype)));
        let context = Context::of_update(program, &kernel, needs);
        let text = context.converted(value);
        constants.append(&mut context.constants.borrow_mut());
        text
    };
    let neutral = text([&earlier, &joined], neutral);
    let within = text([&earlier, &joined], combined);
    let further = text([&joined, &before], combined);
    let whole = text([&before, &total], combined);
    let (t, i, wide) = (c_type(dtype), c_type(program.index), of.words() == 2);
    let lanes = program.target.warp_size;
    let all = mask_of(lanes);
    comments(
        if wide { "Each half of a tile's value is in a word" } else { "A tile's value is in a word" },
        out,
    );
    let head = format!(
        "__device__ __forceinline__ {t} {}(unsigned long long *const {own}, const {i} {tile}, const int {lane}, \
         const {t} {total}) {{",
        of.name
    );
    let mut line = begin(&head, &constants, out);
    line(4, &format!("volatile unsigned long long *const {words} = {own};"));
    let publish = |line: &mut dyn FnMut(usize, &str), indent: usize, state: &str, value: &str| {
        let value = bits_of(dtype, value);
        if wide {
            line(indent, &format!("const unsigned long long {bits} = {value};"));
            line(indent, &format!("{words}[0] = {state} << 32 | ({bits} & 0xffffffffull);"));
            line(indent, &format!("{words}[1] = {state} << 32 | {bits} >> 32;"));
        } else {
            line(indent, &format!("{words}[0] = {state} << 32 | {value};"));
        }
    };
    line(4, &format!("if ({lane} == 0 && {tile} > 0) {{"));
    publish(&mut line, 8, "1ull", &total);
    line(4, "}");
    line(4, &format!("{t} {before} = {neutral};"));
    line(4, &format!("for ({i} {last} = {tile} - 1; {last} >= 0; {last} -= {lanes}) {{"));
    line(8, "// each lane looks at a tile, the first lane at the nearest; nothing is before the first tile");
    if wide {
        let bits_of_neutral = bits_of(dtype, &neutral);
        line(8, &format!("const unsigned long long {bits} = {bits_of_neutral};"));
        line(8, &format!("unsigned long long {low} = 2ull << 32 | ({bits} & 0xffffffffull);"));
        line(8, &format!("unsigned long long {high} = 2ull << 32 | {bits} >> 32;"));
        line(8, "do {");
        line(12, &format!("if ({lane} <= {last}) {{"));
        line(16, &format!("const {i} {at} = ({last} - {lane} - {tile}) * 2;"));
        line(16, &format!("{low} = {words}[{at}];"));
        line(16, &format!("{high} = {words}[{at} + 1];"));
        line(12, "}");
        let unlike = format!("{low} >> 32 == 0 || {low} >> 32 != {high} >> 32");
        line(8, &format!("}} while (__any_sync({all}, {unlike}));"));
        let value = value_of(dtype, &format!("{high} << 32 | ({low} & 0xffffffffull)"));
        line(8, &format!("{t} {joined} = {value};"));
        line(8, &format!("const unsigned int {known} = __ballot_sync({all}, {low} >> 32 == 2);"));
    } else {
        let bits_of_neutral = bits_of(dtype, &neutral);
        line(8, &format!("unsigned long long {word} = 2ull << 32 | {bits_of_neutral};"));
        line(8, "do {");
        line(12, &format!("if ({lane} <= {last}) {word} = {words}[{last} - {lane} - {tile}];"));
        line(8, &format!("}} while (__any_sync({all}, {word} >> 32 == 0));"));
        let value = value_of(dtype, &format!("static_cast<unsigned int>({word})"));
        line(8, &format!("{t} {joined} = {value};"));
        line(8, &format!("const unsigned int {known} = __ballot_sync({all}, {word} >> 32 == 2);"));
    }
    line(8, "// totals count up to the nearest tile that has joined all before it");
    line(8, &format!("const int {nearest} = {known} == 0 ? {} : __ffs({known}) - 1;", lanes - 1));
    line(8, "#pragma unroll");
    line(8, &format!("for (int {offset} = 1; {offset} < {lanes}; {offset} *= 2) {{"));
    line(12, &format!("const {t} {earlier} = __shfl_down_sync({all}, {joined}, {offset});"));
    line(12, &format!("if ({lane} + {offset} <= {nearest}) {joined} = {within};"));
    line(8, "}");
    line(8, &format!("{before} = {further};"));
    line(8, &format!("if ({known} != 0) break;"));
    line(4, "}");
    line(4, &format!("{before} = __shfl_sync({all}, {before}, 0);"));
    line(4, &format!("if ({lane} == 0) {{"));
    publish(&mut line, 8, "2ull", &whole);
    line(4, "}");
    line(4, &format!("return {before};"));
    line(0, "}");
}
