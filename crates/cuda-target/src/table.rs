//! Constant tables: arrays of the file in constant memory.
//!
//! Their values are printed as literals. Values that have none at the scope of a file, those of
//! floating-point types below 32 bits, infinities and NaNs, are printed as bits; a kernel then
//! begins with a pointer of the table's type and name.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{DType, Diagnostic, Number};
use loopwright_program::{Global, Memory, Program, Table};

use crate::{Dialect, context::Context, literal, stmt::Lines, types::c_type, wrap::WIDTH};

/// The unsigned type of an element's bits, where its value has no literal; `None` if all have one.
fn bits_of(dtype: DType, Table(numbers): &Table) -> Option<DType> {
    let by_bits =
        dtype.is_narrow_float() || dtype.is_float() && numbers.iter().any(|n| !n.as_f64().is_finite());
    by_bits.then_some(match dtype.bytes() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    })
}

/// A refusal if a table has the name of something else in the file.
pub(crate) fn taken_name(program: &Program) -> Option<Diagnostic> {
    let kernels = program.kernels.iter().map(|k| &k.name);
    let functions = program.functions.iter().map(|f| &f.name);
    let updates = program.updates.iter().map(|u| &u.name);
    let look_backs = program.look_backs.iter().map(|of| &of.name);
    let taken: BTreeSet<_> = kernels.chain(functions).chain(updates).chain(look_backs).collect();
    let table = program.globals.iter().find(|g| g.table().is_some() && taken.contains(&g.name))?;
    let message = format!("the constant table `{}` has the name of a kernel or a function", table.name);
    Some(Diagnostic::new("duplicate-name", message).help("give one of them another name"))
}

/// The name of a table's bits, which nothing else in the file has.
fn name_of_bits(program: &Program, global: &Global) -> String {
    let is_taken = |name: &str| {
        let named = |other: &str| other == name;
        program.globals.iter().any(|g| named(&g.name))
            || program.scalars().any(|s| named(&s.name))
            || program.functions.iter().any(|f| named(&f.name) || f.source.contains(name))
            || program.updates.iter().any(|u| named(&u.name))
            || program.look_backs.iter().any(|of| named(&of.name))
            || program.kernels.iter().any(|k| {
                named(&k.name)
                    || k.shared.iter().chain(&k.private).any(|a| named(&a.name))
                    || k.vars.iter().any(|v| named(&v.name))
            })
    };
    program.target.language.legal_like(&format!("{}_bits", global.name), is_taken)
}

/// The definitions of the tables that kernels read, each with its alignment.
pub(crate) fn definitions(
    program: &Program,
    read: &BTreeMap<usize, usize>,
    dialect: &Dialect,
) -> Vec<String> {
    let mut all = Vec::new();
    for (number, alignment) in read {
        let Some(global) = program.globals.get(*number) else { continue };
        let Some(table) = global.table() else { continue };
        let bits = bits_of(global.dtype, table);
        let (name, dtype) = match bits {
            Some(bits) => (name_of_bits(program, global), bits),
            None => (global.name.to_string(), global.dtype),
        };
        let text = |number: &Number| match (bits, number.as_i128()) {
            (Some(bits), _) => format!("0x{:0width$x}", number.bits(), width = 2 * bits.bytes()),
            // A literal of a short type would be a cast; its value fits.
            (None, Some(v)) if global.dtype.bytes() < 4 && global.dtype != DType::Bool => v.to_string(),
            (None, Some(v)) => literal::integer(global.dtype, v as i64),
            (None, None) => literal::float(global.dtype, number.as_f64()),
        };
        let values: Vec<String> = table.0.iter().map(text).collect();
        let align = match alignment {
            0 => String::new(),
            bytes => format!("__align__({bytes}) "),
        };
        let c_type = if dtype == DType::BF16 { dialect.bf16[0] } else { c_type(dtype) };
        let head = format!("__constant__ {align}const {c_type} {name}[{}] = {{", values.len());
        all.push(filled(&head, &values));
    }
    all
}

/// The head and the values, on one line or with as many values on each line as it holds.
fn filled(head: &str, values: &[String]) -> String {
    let line = format!("{head}{}}};", values.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let mut text = head.to_string();
    let mut column = WIDTH;
    for value in values {
        if column + value.len() + 2 > WIDTH {
            text.push_str("\n   ");
            column = 3;
        }
        text.push(' ');
        text.push_str(value);
        text.push(',');
        column += value.len() + 2;
    }
    text.push_str("\n};");
    text
}

impl Context<'_> {
    /// Notes the tables that the kernel reads, and declares those whose values are printed as bits.
    pub(crate) fn tables(&self, accessed: &BTreeSet<Memory>, out: &mut Lines) {
        for (number, global) in self.program.globals.iter().enumerate() {
            let memory = Memory::Global(number);
            let Some(table) = global.table().filter(|_| accessed.contains(&memory)) else { continue };
            let alignment = self.aligned_to(memory).unwrap_or(0);
            let mut tables = self.needs.tables.borrow_mut();
            let most = tables.entry(number).or_insert(0);
            *most = alignment.max(*most);
            if bits_of(global.dtype, table).is_some() {
                let (t, name) = (self.needs.c_type(global.dtype), &global.name);
                let bits = name_of_bits(self.program, global);
                let view = format!("const {t} *const {name} = reinterpret_cast<const {t} *>({bits});");
                out.push(&view, 4, None);
            }
        }
    }
}
