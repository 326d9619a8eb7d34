//! Programs as text.

use std::fmt::{self, Write};

use loopwright_kernel_ir::PerDim;
use loopwright_kernel_ir::syntax::{text_of_constraints, text_of_fact, text_of_function};
use loopwright_layout::ComposedLayout;

use super::{
    layout, leaf,
    names::Names,
    note,
    print_stmt::StmtPrinter,
    print_value::{ValuePrinter, labels},
};
use crate::{
    DeclaredLookBack, DeclaredUpdate, DeviceKernel, Global, HostStmt, InOrder, LocalArray, Owner, Param,
    Program, ProgramArg, RecordArg, Table, Target, Value, Var, local_layout::row_major,
};

impl Program {
    /// The program as text; [`Program::parse`] reads it back as [`Program::plain`].
    pub fn to_text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::of(self);
        let args: Vec<String> = self
            .args
            .iter()
            .map(|arg| match arg {
                ProgramArg::Array(k) => self.globals.get(*k).map_or("?".into(), |g| g.name.to_string()),
                ProgramArg::Scalar(s) => format!("{}: {}", s.name, s.dtype),
            })
            .collect();
        writeln!(f, "program {}({}) index {}", self.name, args.join(", "), self.index)?;
        if self.target != Target::cuda() {
            writeln!(f, "target {}", self.target.architecture)?;
        }
        if !self.assumptions.is_empty() {
            writeln!(f, "assume {}", text_of_constraints(&self.assumptions))?;
        }
        self.facts.iter().try_for_each(|fact| writeln!(f, "{}", text_of_fact(fact)))?;
        self.functions.iter().try_for_each(|function| writeln!(f, "{}", text_of_function(function, "")))?;
        for update in &self.updates {
            let names = names.of_update(update.dtype);
            let values =
                ValuePrinter { names: &names, variables: DeclaredUpdate::NAMES.map(String::from).into() };
            writeln!(f, "update {}: {} = {}", update.name, update.dtype, values.text(&update.combined))?;
        }
        for of in &self.look_backs {
            let names = names.of_look_back(&of.state);
            let variables = DeclaredLookBack::names(of.state.len());
            let values = ValuePrinter { names: &names, variables };
            let list = |all: &[Value]| all.iter().map(|v| values.text(v)).collect::<Vec<_>>().join(", ");
            let state: Vec<String> = of.state.iter().map(ToString::to_string).collect();
            let (neutral, combined) = (list(&of.neutral), list(&of.combined));
            writeln!(f, "look_back {}: {} from {neutral} = {combined}", of.name, state.join(", "))?;
        }
        self.atoms.iter().try_for_each(|atom| writeln!(f, "{atom}"))?;
        let values = ValuePrinter { names: &names, variables: Vec::new() };
        self.globals.iter().try_for_each(|g| writeln!(f, "{}", global(&values, g)))?;
        self.records.iter().try_for_each(|r| writeln!(f, "{}", self.record(r)))?;
        self.coordinates.iter().try_for_each(|(i, value)| writeln!(f, "coordinate {i} = {value}"))?;
        let leaves = self.leaves.iter().enumerate();
        leaves.map(|(k, l)| leaf::text_of(l, &self.leaves[..k])).try_for_each(|l| f.write_str(&l))?;
        let mut out = String::from("host {\n");
        self.host_body(&mut out, &self.host, &values, 4);
        out.push_str("}\n");
        for kernel in &self.kernels {
            self.kernel(&mut out, kernel, &names);
        }
        f.write_str(&out)
    }
}

/// `global x: f32[n, m] strides(m, 1) size n * m read written`
fn global(values: &ValuePrinter<'_>, global: &Global) -> String {
    let mut text = format!("global {}: {}[{}]", global.name, global.dtype, values.list(&global.shape));
    let dense = layout::dense(&global.shape, values.names.index);
    if dense.as_ref().is_none_or(|(strides, _)| *strides != global.strides) {
        let _ = write!(text, " strides({})", values.list(&global.strides));
    }
    if dense.is_none_or(|(_, size)| size != global.size) {
        let _ = write!(text, " size({})", values.text(&global.size));
    }
    for (word, is_said) in
        [("temporary", global.owner == Owner::Launch), ("read", global.read), ("written", global.written)]
    {
        if is_said {
            let _ = write!(text, " {word}");
        }
    }
    if let Some(Table(numbers)) = global.table() {
        let list: Vec<Value> = numbers.iter().copied().map(Value::from).collect();
        let _ = write!(text, " constant({})", values.list(&list));
    }
    if !global.hints.is_empty() {
        let _ = write!(text, " {}", global.hints);
    }
    text
}

impl Program {
    /// `record p: particle { x: f32 p_x, kind: i32 p_kind }`
    fn record(&self, record: &RecordArg) -> String {
        let name = |g: &usize| self.globals.get(*g).map_or("?", |g| &*g.name);
        let fields = record.of.fields.iter().zip(&record.fields);
        let fields: Vec<String> =
            fields.map(|(f, g)| format!("{}: {} {}", f.name, f.dtype, name(g))).collect();
        format!("record {}: {} {{ {} }}", record.name, record.of.name, fields.join(", "))
    }

    fn host_body(&self, out: &mut String, body: &[HostStmt], values: &ValuePrinter<'_>, indent: usize) {
        let space = format!("{:indent$}", "");
        for stmt in body {
            let _ = match stmt {
                HostStmt::For { var, lower, upper, body, note } => {
                    let (lower, upper) = (values.text(lower), values.text(upper));
                    let _ = writeln!(out, "{space}for {var} = {lower} to {upper}{} {{", note::text_of(note));
                    self.host_body(out, body, values, indent + 4);
                    writeln!(out, "{space}}}")
                }
                HostStmt::Launch(number) => {
                    let name = self.kernels.get(*number).map_or("?", |k| &*k.name);
                    writeln!(out, "{space}launch {name}")
                }
            };
        }
    }

    fn kernel(&self, out: &mut String, kernel: &DeviceKernel, outside: &Names) {
        let params: Vec<String> = kernel
            .params
            .iter()
            .map(|param| match param {
                Param::Global { global, written, exchanged } => format!(
                    "{}{}{}",
                    self.globals.get(*global).map_or("?", |g| &*g.name),
                    if *written { " written" } else { "" },
                    if *exchanged { " exchanged" } else { "" }
                ),
                Param::Scalar { name, dtype } => format!("{name}: {dtype}"),
                Param::HostVar(name) => format!("{name} host"),
            })
            .collect();
        let names = outside.within(kernel);
        let values = ValuePrinter { names: &names, variables: labels(&kernel.vars) };
        let _ = writeln!(out, "kernel {}({}) {{", kernel.name, params.join(", "));
        // In terms of host names: the kernel's variables have no values yet.
        let on_host = ValuePrinter { names: outside, variables: Vec::new() };
        let blocks: [crate::Value; 3] = kernel.grid.clone().into();
        let _ = writeln!(out, "    grid({})", on_host.list(&blocks));
        let PerDim { x, y, z } = kernel.block;
        let _ = writeln!(out, "    block({x}, {y}, {z})");
        if let Some(blocks) = kernel.min_blocks_per_multiprocessor {
            let _ = writeln!(out, "    min_blocks_per_multiprocessor {blocks}");
        }
        if kernel.early {
            out.push_str("    early\n");
        }
        for note in &kernel.notes {
            let _ = writeln!(out, "    note{}", note::text_of(note));
        }
        for (var, label) in kernel.vars.iter().zip(&values.variables) {
            let _ = writeln!(out, "    {}", variable(var, label));
        }
        for (word, arrays) in [("shared", &kernel.shared), ("private", &kernel.private)] {
            for array in arrays {
                let _ = writeln!(out, "    {word} {}", local(array));
            }
        }
        if let Some(InOrder { counter, number }) = kernel.in_order {
            let counter = self.globals.get(counter).map_or("?", |g| &*g.name);
            let number = kernel.shared.get(number).map_or("?", |a| &*a.name);
            let _ = writeln!(out, "    in_order {counter} {number}");
        }
        if !kernel.body.is_empty() {
            out.push('\n');
        }
        StmtPrinter { values, leaves: &self.leaves }.body(out, &kernel.body, 4);
        out.push_str("}\n");
    }
}

/// `var i: i32 mutable within(0, 31) means thread.x + 128*block.x`
fn variable(var: &Var, label: &str) -> String {
    let mut text = format!("var {label}: {}", var.dtype);
    if var.mutable {
        text.push_str(" mutable");
    }
    if var.index {
        text.push_str(" index");
    }
    if let Some((least, most)) = var.within {
        let _ = write!(text, " within({least}, {most})");
    }
    if let Some(meaning) = &var.meaning {
        let _ = write!(text, " means {meaning}");
    }
    text
}

/// `row: f32[8, 33] "what it holds"`
fn local(array: &LocalArray) -> String {
    let dims: Vec<String> = array.dims.iter().map(u64::to_string).collect();
    let note = if array.note.is_empty() { String::new() } else { format!(" {}", note::quoted(&array.note)) };
    let mut layout = String::new();
    if let Some(ComposedLayout { swizzle, layout: modes, .. }) = &array.layout {
        let is_swizzled = swizzle.bits() > 0;
        if !is_swizzled || row_major(&array.dims).as_ref() != Some(modes) {
            let _ = write!(layout, " layout({modes})");
        }
        if is_swizzled {
            let _ = write!(layout, " swizzle({}, {}, {})", swizzle.bits(), swizzle.base(), swizzle.shift());
        }
    }
    format!("{}: {}[{}]{layout}{note}", array.name, array.dtype, dims.join(", "))
}
