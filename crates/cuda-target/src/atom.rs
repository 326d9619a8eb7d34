//! Atoms as functions around the instruction in PTX, and their calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loopwright_atom::{Atom, Operand};
use loopwright_kernel_ir::{DType, Name};
use loopwright_program::{MemRef, Stmt};

use crate::{UsedInstruction, context::Context, dialect::Dialect, types::c_type};

impl Context<'_> {
    /// The call of an atom's function: the elements of the accumulator, then the two fragments.
    pub(crate) fn mma(&self, name: &Name, d: &[MemRef], a: &MemRef, b: &MemRef) -> String {
        let Some(atom) = self.program.atom(name).filter(|_| self.needs.dialect.ptx) else {
            let language = self.needs.dialect.language.name;
            return self.needs.refuse("no-atom", format!("there is no atom `{name}` in {language}"));
        };
        if usize::try_from(atom.operand(Operand::D).elements()).ok() != Some(d.len()) {
            return self.needs.refuse("malformed-program", format!("`{name}` of other elements"));
        }
        self.needs.atoms.borrow_mut().insert(name.clone(), atom.clone());
        for operand in Operand::ALL {
            self.needs.note(atom.operand(operand).dtype);
        }
        let mut operands: Vec<String> = d.iter().map(|element| self.element(element)).collect();
        for fragment in [a, b] {
            // The row that begins with the element.
            let row = self.element(fragment);
            match row.strip_suffix("[0]") {
                Some(row) => operands.push(row.into()),
                None => return self.needs.refuse("malformed-program", "a fragment begins within its row"),
            }
        }
        format!("{name}({});", operands.join(", "))
    }
}

impl Context<'_> {
    /// The call that loads matrices.
    pub(crate) fn load_matrices(
        &self,
        to: &MemRef,
        from: &MemRef,
        (count, row): (u8, u8),
        transposed: bool,
    ) -> String {
        let (_, dtype) = self.array(from.memory);
        let whole = dtype.bytes() * usize::from(row) == Stmt::ROW_BYTES && row >= 4;
        if !self.needs.dialect.ptx || !whole || !matches!(count, 1 | 2 | 4) || transposed && row != 8 {
            return self.needs.refuse("no-atom", format!("no instruction loads {count} matrices of {dtype}"));
        }
        self.needs.note(dtype);
        self.needs.matrices.borrow_mut().insert((dtype, count, transposed));
        let name = load_matrices(count, transposed);
        format!("{name}(&{}, &{});", self.element(to), self.element(from))
    }
}

impl Context<'_> {
    /// The call that stores matrices.
    pub(crate) fn store_matrices(&self, to: &MemRef, from: &MemRef, count: u8, transposed: bool) -> String {
        let (_, dtype) = self.array(to.memory);
        let whole = dtype.bytes() * usize::from(Stmt::STORED_ROW) == Stmt::ROW_BYTES;
        if !self.needs.dialect.ptx || !whole || !matches!(count, 1 | 2 | 4) {
            return self
                .needs
                .refuse("no-atom", format!("no instruction stores {count} matrices of {dtype}"));
        }
        self.needs.note(dtype);
        self.needs.stored_matrices.borrow_mut().insert((dtype, count, transposed));
        let name = store_matrices(count, transposed);
        format!("{name}(&{}, &{});", self.element(to), self.element(from))
    }
}

/// The loads or stores of matrices that a text calls.
type Matrices = BTreeSet<(DType, u8, bool)>;

/// The first architecture with `ldmatrix`, and that with `stmatrix`.
const LOADS_SINCE: u32 = 75;
const STORES_SINCE: u32 = 90;

/// The instructions behind these functions.
pub(crate) fn used(
    loads: &Matrices,
    stores: &Matrices,
    atoms: &BTreeMap<Name, Arc<Atom>>,
) -> Vec<UsedInstruction> {
    let of = |name: &str, since: u32| UsedInstruction { name: Name::new(name), since };
    let loads = (!loads.is_empty()).then(|| of("ldmatrix", LOADS_SINCE));
    let stores = (!stores.is_empty()).then(|| of("stmatrix", STORES_SINCE));
    let atoms = atoms.values().map(|atom| of(atom.name().as_str(), atom.since()));
    loads.into_iter().chain(stores).chain(atoms).collect()
}

/// The name of the function that stores matrices.
fn store_matrices(count: u8, transposed: bool) -> String {
    let transposed = if transposed { "_transposed" } else { "" };
    format!("store_matrices_{count}{transposed}")
}

/// The function that stores `count` matrices of eight rows, each transposed or not.
pub(crate) fn stored_matrices(dtype: DType, count: u8, transposed: bool, dialect: &Dialect) -> String {
    let (name, t) = (store_matrices(count, transposed), type_of(dtype, dialect));
    let trans = if transposed { ".trans" } else { "" };
    let each = |text: &dyn Fn(u8) -> String| (0..count).map(text).collect::<Vec<_>>().join(", ");
    let registers = each(&|k| format!("%{}", k + 1));
    let inputs = each(&|k| format!("\"r\"(words[{k}])"));
    let what = if transposed { ", of the transposed matrices" } else { "" };
    format!(
        "// Stores {count} matrices of 8 x 8 elements for a warp: lane 8*i + r gives row r of matrix i, each lane\n\
         // two neighbours of a row of each{what}.\n\
         // For sm_{STORES_SINCE} and later.\n\
         __device__ __forceinline__ void {name}({t} *row, const {t} *from) {{\n    \
             const unsigned int *words = reinterpret_cast<const unsigned int *>(from);\n    \
             const unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(row));\n    \
             asm volatile(\"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%0], {{{registers}}};\"\n                 \
                  :\n                 \
                  : \"r\"(at), {inputs}\n                 \
                  : \"memory\");\n\
         }}"
    )
}

/// The name of the function that loads matrices.
fn load_matrices(count: u8, transposed: bool) -> String {
    let transposed = if transposed { "_transposed" } else { "" };
    format!("load_matrices_{count}{transposed}")
}

/// The function that loads `count` matrices of eight rows, each transposed or not.
pub(crate) fn matrices(dtype: DType, count: u8, transposed: bool, dialect: &Dialect) -> String {
    let (name, t) = (load_matrices(count, transposed), type_of(dtype, dialect));
    let trans = if transposed { ".trans" } else { "" };
    let each = |text: &dyn Fn(u8) -> String| (0..count).map(text).collect::<Vec<_>>().join(", ");
    let (registers, outputs) = (each(&|k| format!("%{k}")), each(&|k| format!("\"=r\"(words[{k}])")));
    let row = Stmt::ROW_BYTES / dtype.bytes();
    let taken = match row {
        4 => "an element",
        8 => "two neighbours",
        _ => "four neighbours",
    };
    let what = if transposed { ", of the transposed matrices" } else { "" };
    // Words are the elements of their own type, or are seen through them.
    let (view, leave) = match dtype {
        DType::F32 => {
            let elements: String =
                (0..count).map(|k| format!("    to[{k}] = __uint_as_float(words[{k}]);\n")).collect();
            (format!("unsigned int words[{count}];"), elements)
        }
        _ => ("unsigned int *words = reinterpret_cast<unsigned int *>(to);".to_string(), String::new()),
    };
    format!(
        "// Loads {count} matrices of 8 x {row} elements for a warp: lane 8*i + r gives row r of matrix i, each lane gets\n\
         // {taken} of a row of each{what}.\n\
         __device__ __forceinline__ void {name}({t} *to, const {t} *row) {{\n    \
             {view}\n    \
             const unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(row));\n    \
             asm volatile(\"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%{count}];\"\n                 \
                  : {outputs}\n                 \
                  : \"r\"(at)\n                 \
                  : \"memory\");\n\
         {leave}}}"
    )
}

/// The type of an element in this dialect.
fn type_of(dtype: DType, dialect: &Dialect) -> &'static str {
    if dtype == DType::BF16 { dialect.bf16[0] } else { c_type(dtype) }
}

/// The definition of an atom's function.
pub(crate) fn definition(atom: &Atom, dialect: &Dialect) -> String {
    let name = atom.name();
    let [m, n, k] = atom.shape();
    let [a, b, d] = [Operand::A, Operand::B, Operand::D].map(|o| atom.operand(o));
    let results: Vec<String> =
        (0..d.elements()).map(|e| format!("{} &d{e}", type_of(d.dtype, dialect))).collect();
    let fragment = |name: &str, dtype: DType, elements: i64| {
        format!("const {} (&{name})[{elements}]", type_of(dtype, dialect))
    };
    let later = match atom.since() {
        ..=80 => String::new(),
        since => format!("// For sm_{since} and later.\n"),
    };
    let head = format!("__device__ __forceinline__ void {name}(");
    let indent = " ".repeat(head.len());
    // Elements are passed by words of four bytes, or of eight.
    let word = |dtype: DType| if dtype.bytes() == 8 { "double" } else { "unsigned int" };
    let words =
        |dtype: DType, elements: i64| (elements * dtype.bytes() as i64 + 3) / 4.max(dtype.bytes() as i64);
    let constraint = |dtype: DType| match dtype {
        DType::F64 => "d",
        DType::F32 => "f",
        _ => "r",
    };
    let (of_a, of_b) = (words(a.dtype, a.elements()), words(b.dtype, b.elements()));
    let number = |from: i64, count: i64| {
        let numbers: Vec<String> = (from..from + count).map(|n| format!("%{n}")).collect();
        numbers.join(", ")
    };
    // Elements of two bytes are passed in pairs.
    let packed = d.dtype.bytes() == 2;
    let of_d = if packed { words(d.dtype, d.elements()) } else { d.elements() };
    let (first_a, first_b) = (of_d, of_d + of_a);
    let own = number(0, of_d);
    let outputs: Vec<String> = match packed {
        true => (0..of_d).map(|w| format!("\"+r\"(d_words[{w}])")).collect(),
        false => (0..of_d).map(|e| format!("\"+{}\"(d{e})", constraint(d.dtype))).collect(),
    };
    let (pack, unpack) = if packed { packing(d.elements()) } else { Default::default() };
    let inputs = |name: &str, dtype: DType, count: i64| -> Vec<String> {
        let constraint = if dtype.bytes() == 8 { "d" } else { "r" };
        (0..count).map(|w| format!("\"{constraint}\"({name}_words[{w}])")).collect()
    };
    let views = [("a", a, of_a), ("b", b, of_b)].map(|(name, placement, count)| {
        let word = word(placement.dtype);
        match atom.conversion() {
            None => format!("    const {word} *{name}_words = reinterpret_cast<const {word} *>({name});\n"),
            Some(function) => rounding(name, count, function),
        }
    });
    format!(
        "// d += a * b of a tile of {m} x {k} and one of {k} x {n}, whose elements the lanes of a warp hold.\n\
         {later}{head}{},\n\
         {indent}{},\n\
         {indent}{}) {{\n\
         {}{}{pack}    \
         asm volatile(\n        \
             \"{}\\n\"\n        \
             \"    {{{own}}}, {{{}}}, {{{}}}, {{{own}}};\"\n        \
             : {}\n        \
             : {},\n          {});\n\
         {unpack}}}",
        results.chunks(4).map(|some| some.join(", ")).collect::<Vec<_>>().join(&format!(",\n{indent}")),
        fragment("a", a.dtype, a.elements()),
        fragment("b", b.dtype, b.elements()),
        views[0],
        views[1],
        atom.ptx(),
        number(first_a, of_a),
        number(first_b, of_b),
        outputs.join(", "),
        inputs("a", a.dtype, of_a).join(", "),
        inputs("b", b.dtype, of_b).join(", "),
    )
}

/// The lines that round the elements of a fragment to tf32, by this function of kernels.
fn rounding(name: &str, count: i64, function: &str) -> String {
    // The instruction does not look at the bits that truncation clears, and the compiler knows.
    let rounded = match function {
        "truncate_to_tf32" => format!("{name}_words[w] = __float_as_uint({name}[w]) & 0xffffe000u;"),
        _ => format!("asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"({name}_words[w]) : \"f\"({name}[w]));"),
    };
    format!(
        "    unsigned int {name}_words[{count}];\n    \
             #pragma unroll\n    \
             for (int w = 0; w < {count}; ++w) {{\n        \
                 {rounded}\n    \
             }}\n"
    )
}

/// The lines that put elements of f16 into registers, two each, and those that take them out.
fn packing(elements: i64) -> (String, String) {
    let words = (0..elements / 2).map(|w| {
        let (low, high) = (2 * w, 2 * w + 1);
        format!("__half_as_ushort(d{low}) | (unsigned int)__half_as_ushort(d{high}) << 16")
    });
    let pack = words.collect::<Vec<_>>().join(",\n                              ");
    let unpack = (0..elements).map(|e| {
        let shift = if e % 2 == 0 { "" } else { " >> 16" };
        format!("    d{e} = __ushort_as_half((unsigned short)(d_words[{}]{shift}));\n", e / 2)
    });
    let count = elements / 2;
    (format!("    unsigned int d_words[{count}] = {{{pack}}};\n"), unpack.collect())
}
