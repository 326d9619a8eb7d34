//! Kernels as text that reads back to an equal kernel.

use std::fmt::{self, Write};

use crate::{
    AddressSpace, Arg, Array, Constant, Constraint, DeviceFunction, Domain, Expr, Fact, Instruction,
    KernelData, Lookup, LoopKernel, Name, Precision, ReductionOp, Role, Rule, StateType, Struct, Tree, Type,
    nest,
    text::{block::BlockLoops, expression::binding, print_expr::ExprPrinter},
    types::UNTYPED,
};

/// Maximum line width, in columns; longer lines are broken where possible.
const WIDTH: usize = 100;

/// Constraints joined by `and`; those that share an end are printed as one chain: `0 <= i < n`.
pub fn conjunction(constraints: &[Constraint]) -> String {
    let mut text = String::new();
    let mut end = String::new();
    for c in constraints {
        let here = c.to_string();
        let right = [" <= ", " < "].iter().find_map(|op| here.split_once(op).map(|(_, r)| r.to_string()));
        if !text.is_empty() {
            match right.is_some()
                && !end.is_empty()
                && here.strip_prefix(&end).is_some_and(|r| r.starts_with(" <"))
            {
                true => text.push_str(&here[end.len()..]),
                false => {
                    text.push_str(" and ");
                    text.push_str(&here);
                }
            }
        } else {
            text.push_str(&here);
        }
        end = right.unwrap_or_default();
    }
    text
}

fn names(names: &[Name], separator: &str) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(separator)
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ [{}]", names(&self.inames, ", "))?;
        if !self.constraints.is_empty() {
            write!(f, " : {}", conjunction(&self.constraints))?;
        }
        f.write_str(" }")
    }
}

/// The line that declares a fact.
pub fn fact(fact: &Fact) -> String {
    let side = |e: &Expr| {
        let mut text = String::new();
        // Writing to a string does not fail; no name in a fact is an iname.
        let _ = ExprPrinter { is_iname: &|_| false }.above(&mut text, e, binding::COMPARE + 1);
        text
    };
    match fact {
        Fact::Monotone(array) => format!("fact monotone({array})"),
        Fact::Injective(array) => format!("fact injective({array})"),
        Fact::Range { array, lower, upper } => {
            let lower = lower.as_ref().map_or(String::new(), |e| format!("{} <= ", side(e)));
            let upper = match upper {
                None => String::new(),
                // A bound of one more than a sum is printed with `<=`.
                Some(Expr::Binary(crate::BinaryOp::Add, bound, one)) if **one == Expr::Int(1) => {
                    format!(" <= {}", side(bound))
                }
                Some(bound) => format!(" < {}", side(bound)),
            };
            format!("fact {lower}{array}{upper}")
        }
    }
}

/// The line that declares a struct.
pub fn structure(of: &Struct) -> String {
    let fields: Vec<String> = of.fields.iter().map(|f| format!("{}: {}", f.name, f.dtype)).collect();
    format!("struct {} {{ {} }}", of.name, fields.join(", "))
}

/// The lines of a device function, the last one at this indentation.
pub fn function(function: &DeviceFunction, indent: &str) -> String {
    let params: Vec<&str> = function.params.iter().map(|t| t.name()).collect();
    // The lines of the source keep their own indentation: they are part of the value.
    format!(
        "function {}({}) -> {} {{\n{}\n{indent}}}",
        function.name,
        params.join(", "),
        function.result,
        function.source
    )
}

struct Printer<'a> {
    data: &'a KernelData,
    indent: &'a str,
    expr: ExprPrinter<'a>,
}

impl Printer<'_> {
    fn text(&self, e: &Expr) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.expr.expr(&mut text, e);
        text
    }

    fn array(&self, a: &Array) -> String {
        let mut text = match &a.dtype {
            Type::Open(name) if *name == UNTYPED => a.name.to_string(),
            dtype => format!("{}: {dtype}", a.name),
        };
        if !a.axes.is_empty() {
            let axes: Vec<String> = a
                .axes
                .iter()
                .map(|axis| match axis.padding {
                    0 => self.text(&axis.length),
                    n => format!("{} pad {n}", self.text(&axis.length)),
                })
                .collect();
            let _ = write!(text, "[{}]", axes.join(", "));
        }
        if a.axes.iter().any(|x| x.stride.is_some()) {
            let strides: Vec<String> =
                a.axes.iter().map(|x| x.stride.as_ref().map_or("_".into(), |s| self.text(s))).collect();
            let _ = write!(text, " strides({})", strides.join(", "));
        }
        if !a.order.is_empty() {
            let reverse = a.order.len() > 1 && a.order.iter().copied().eq((0..a.axes.len()).rev());
            let order: Vec<String> = a.order.iter().map(usize::to_string).collect();
            let _ = match reverse {
                true => write!(text, " order(f)"),
                false => write!(text, " order({})", order.join(", ")),
            };
        }
        if let Some(modes) = &a.layout.modes {
            let _ = write!(text, " layout({modes})");
        }
        if let Some(s) = &a.layout.swizzle {
            let _ = write!(text, " swizzle({}, {}, {})", s.bits(), s.base(), s.shift());
        }
        if !a.axes.is_empty() {
            text.push_str(&hints(a));
        }
        text
    }

    /// `constant w: f64[2, 2] = [[1.0, 2.0], [3.0, 4.0]]`, on several lines where it is long.
    fn constant(&self, constant: &Constant) -> String {
        let head = format!("constant {} =", self.array(&constant.array));
        let values: Vec<String> = constant.values.iter().map(|v| self.text(v)).collect();
        let lengths = constant.shape().unwrap_or_default();
        let line = format!("{head} {}", nested(&values, &lengths));
        if line.len() + self.indent.len() <= WIDTH {
            return line;
        }
        let inner = format!("{}    ", self.indent);
        let mut text = format!("{head} [");
        let rows = match lengths.as_slice() {
            [_, rest @ ..] if !rest.is_empty() => {
                rows_of(&values, rest).map(|row| nested(row, rest)).collect()
            }
            _ => values,
        };
        let mut column = WIDTH;
        for (k, row) in rows.iter().enumerate() {
            let end = if k + 1 < rows.len() { "," } else { "" };
            if column + 1 + row.len() + end.len() > WIDTH {
                let _ = write!(text, "\n{inner}{row}{end}");
                column = inner.len() + row.len() + end.len();
            } else {
                let _ = write!(text, " {row}{end}");
                column += 1 + row.len() + end.len();
            }
        }
        let _ = write!(text, "\n{}]", self.indent);
        text
    }

    fn header(&self) -> String {
        // A record stands where the array of its first field does.
        let record = |arg: &Arg| self.data.record_of(arg.name());
        let args: Vec<String> = self
            .data
            .args
            .iter()
            .filter(|arg| record(arg).is_none_or(|(_, field)| field == 0))
            .map(|arg| match record(arg) {
                Some((record, _)) => Err(record),
                None => Ok(arg),
            })
            .map(|arg| match arg {
                Err(record) => self.array(&record.array),
                Ok(arg) => match arg {
                    Arg::Array(a) if a.axes.is_empty() => {
                        format!("{}[]{}", self.array(a), hints(a))
                    }
                    Arg::Array(a) => self.array(a),
                    Arg::Scalar(s) => format!("{}: {}", s.name, s.dtype),
                },
            })
            .collect();
        let line = format!("kernel {}({})", self.data.name, args.join(", "));
        if line.len() + self.indent.len() <= WIDTH {
            return line;
        }
        let inner = format!(",\n{}    ", self.indent);
        format!("kernel {}(\n{}    {},\n{})", self.data.name, self.indent, args.join(&inner), self.indent)
    }

    fn reduction(&self, op: &ReductionOp) -> String {
        let indent = self.indent;
        let assign = |values: &[Expr]| {
            let list: Vec<String> =
                op.state.iter().zip(values).map(|(s, e)| format!("{} = {}", s.name, self.text(e))).collect();
            list.join(", ")
        };
        let state: Vec<String> = op
            .state
            .iter()
            .zip(&op.neutral)
            .map(|(s, neutral)| {
                let dtype = match &s.dtype {
                    StateType::Fixed(t) => t.to_string(),
                    StateType::Input(k) => format!("like {}", op.inputs.get(*k).map_or("?", |n| n.as_str())),
                };
                format!("{}: {dtype} = {}", s.name, self.text(neutral))
            })
            .collect();
        let result: Vec<String> = op.result.iter().map(|e| self.text(e)).collect();
        let mut text = format!("reduction {}({}) {{\n", op.name, names(&op.inputs, ", "));
        let _ = writeln!(text, "{indent}    state {}", state.join(", "));
        let _ = writeln!(text, "{indent}    lift {}", assign(&op.lift));
        let _ = writeln!(text, "{indent}    combine {}", assign(&op.combine));
        let _ = writeln!(text, "{indent}    result {}", result.join(", "));
        if op.commutes {
            let _ = writeln!(text, "{indent}    commutes");
        }
        if op.idempotent {
            let _ = writeln!(text, "{indent}    idempotent");
        }
        if let Some(reason) = &op.trusted {
            let _ = writeln!(text, "{indent}    trusted \"{reason}\"");
        }
        let _ = write!(text, "{indent}}}");
        text
    }

    fn rule(&self, rule: &Rule) -> String {
        format!("rule {}({}) = {}", rule.name, names(&rule.parameters, ", "), self.text(&rule.value))
    }

    fn instruction(&self, i: &Instruction, inames: bool) -> String {
        let mut text = String::new();
        for (k, target) in i.targets.iter().enumerate() {
            text.push_str(if k > 0 { ", " } else { "" });
            let _ = self.expr.target(&mut text, target);
        }
        let sign = i.update.as_ref().map_or("=".into(), |update| update.sign());
        let _ = write!(text, " {sign} {}", self.text(&i.value));
        if let Some(predicate) = &i.predicate {
            let _ = write!(text, " if {}", self.text(predicate));
        }
        let _ = write!(text, " {{id={}", i.id);
        if inames && !i.within.is_empty() {
            let _ = write!(text, ", inames={}", names(&i.within, ":"));
        }
        if !i.after.is_empty() {
            let _ = write!(text, ", dep={}", names(&i.after, ":"));
        }
        if let Some(iname) = &i.scan {
            let _ = write!(text, ", scan={iname}");
        }
        if i.atomic {
            text.push_str(", join=atomic");
        }
        if !i.scope.is_device() {
            let _ = write!(text, ", scope={}", i.scope.word());
        }
        if i.begins_launch {
            text.push_str(", launch=new");
        }
        if let Some(atom) = &i.atom {
            let _ = write!(text, ", atom={atom}");
        }
        if !i.via.is_plain() {
            let _ = write!(text, ", via={}", i.via.word());
        }
        match &i.role {
            Role::Does(id) if *id == i.id => {}
            Role::Does(id) => {
                let _ = write!(text, ", does={id}");
            }
            Role::Copies { source } => {
                let _ = write!(text, ", copies={source}");
            }
            Role::Realizes { of, share } => {
                let _ = write!(text, ", {}={of}", share.word());
            }
        }
        if let Some(by) = &i.made_by {
            let _ = write!(text, ", by={by}");
        }
        if !i.map.is_empty() {
            let map: Vec<String> = i.map.iter().map(|(n, v)| format!("{n}: {v}")).collect();
            let _ = write!(text, ", map=[{}]", map.join(", "));
        }
        text.push('}');
        text
    }

    fn tree(&self, out: &mut String, trees: &[Tree], depth: usize) {
        for tree in trees {
            let space = "    ".repeat(depth);
            match tree {
                Tree::Leaf(part) => {
                    let _ = writeln!(out, "{}{space}{part}", self.indent);
                }
                Tree::Loop { iname, body } => {
                    let _ = writeln!(out, "{}{space}for {iname} {{", self.indent);
                    self.tree(out, body, depth + 1);
                    let _ = writeln!(out, "{}{space}}}", self.indent);
                }
            }
        }
    }

    fn kernel(&self) -> String {
        let data = self.data;
        let indent = self.indent;
        let mut out = String::new();
        let mut line = |text: String| {
            let _ = writeln!(out, "{indent}{text}");
        };
        line(self.header());
        for of in &data.structs {
            line(structure(of));
        }
        if data.options.precision == Precision::Fast {
            line("option fast_math".into());
        }
        if let Some(blocks) = data.options.min_blocks_per_multiprocessor {
            line(format!("option min_blocks_per_multiprocessor({blocks})"));
        }
        if !data.assumptions.is_empty() {
            let joined = format!("assume {}", conjunction(&data.assumptions));
            if joined.len() <= WIDTH {
                line(joined);
            } else {
                for c in &data.assumptions {
                    line(format!("assume {c}"));
                }
            }
        }
        data.facts.iter().for_each(|f| line(fact(f)));
        data.reductions.iter().for_each(|op| line(self.reduction(op)));
        data.functions.iter().for_each(|f| line(function(f, indent)));
        data.rules.iter().for_each(|r| line(self.rule(r)));
        data.atoms.iter().for_each(|a| line(a.text(indent).trim_start().into()));
        for v in &data.vouched {
            line(match &v.step {
                Some(step) => format!("assume_legal \"{}\" for \"{step}\"", v.reason),
                None => format!("assume_legal \"{}\"", v.reason),
            });
        }
        data.domains.iter().for_each(|d| line(format!("domain {d}")));
        for t in &data.temporaries {
            let space = match t.space {
                AddressSpace::Private => "private",
                AddressSpace::Shared => "shared",
                AddressSpace::Global => "global",
                AddressSpace::Constant => "constant",
            };
            line(format!("temp {} {space}", self.array(t)));
        }
        data.constants.iter().for_each(|c| line(self.constant(c)));
        data.definitions.iter().for_each(|d| line(format!("let {} = {}", d.iname, d.value)));
        data.tagged().iter().for_each(|iname| line(format!("tag {iname}: {}", data.tag_text(iname))));
        let (inames, tree) = derived(data);
        data.instructions.iter().for_each(|i| line(self.instruction(i, inames)));
        if tree {
            line("tree {".into());
            self.tree(&mut out, &data.tree, 1);
            let _ = writeln!(out, "{indent}}}");
        }
        out
    }
}

/// The parts of a table along its first axis, whose elements have this shape.
fn rows_of<'v>(values: &'v [String], shape: &[u64]) -> impl Iterator<Item = &'v [String]> {
    let length = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
    values.chunks(length.max(1))
}

/// The values in brackets, a pair for each axis.
fn nested(values: &[String], shape: &[u64]) -> String {
    match shape {
        [_, rest @ ..] if !rest.is_empty() => {
            let rows: Vec<String> = rows_of(values, rest).map(|row| nested(row, rest)).collect();
            format!("[{}]", rows.join(", "))
        }
        _ => format!("[{}]", values.join(", ")),
    }
}

/// An array's cache hints, preceded by a space.
fn hints(a: &Array) -> String {
    if a.hints.is_empty() { String::new() } else { format!(" {}", a.hints) }
}

/// Whether the inames of instructions, and whether the tree, have to be printed because they do not
/// follow from the rest.
fn derived(data: &KernelData) -> (bool, bool) {
    if data.declared.is_some() || !data.definitions.is_empty() || data.has_tags() {
        return (true, true);
    }
    let plain = |i: &Instruction| {
        i.role == Role::Does(i.id.clone()) && i.map.is_empty() && i.made_by.is_none() && i.scan.is_none()
    };
    if !data.instructions.iter().all(plain) {
        return (true, true);
    }
    let tree_follows =
        |data: &KernelData| nest::tree_in_text_order(&Lookup::new(data)).is_ok_and(|t| t == data.tree);
    let mut bare = data.clone();
    bare.instructions.iter_mut().for_each(|i| i.within.clear());
    nest::fill_within(&mut bare, &BlockLoops::new());
    if bare.instructions == data.instructions {
        return (!tree_follows(data), !tree_follows(data));
    }
    // Some were given by the user; if all are given, does filling in change none of them?
    let mut given = data.clone();
    nest::fill_within(&mut given, &BlockLoops::new());
    let follows = given.instructions == data.instructions && tree_follows(data);
    (true, !follows)
}

pub(crate) fn print(data: &KernelData, indent: &str) -> String {
    let lookup = Lookup::new(data);
    let is_iname = |name: &str| lookup.is_iname(name);
    Printer { data, indent, expr: ExprPrinter { is_iname: &is_iname } }.kernel()
}

/// The readable form: everything but the declared kernel.
impl fmt::Display for LoopKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self, ""))
    }
}

impl LoopKernel {
    /// The whole kernel as text: [`LoopKernel::parse`] reads it back to an equal value. For a
    /// transformed kernel, a last block `declared { ... }` holds the kernel as it was declared.
    pub fn to_text(&self) -> String {
        let mut text = print(self, "");
        fn before(kernel: &KernelData, indent: &str, text: &mut String) {
            for (word, of) in [("declared", &kernel.declared), ("origin", &kernel.origin)] {
                let Some(of) = of else { continue };
                let inner = format!("{indent}    ");
                let _ = write!(text, "{indent}{word} {{\n{}", print(of, &inner));
                before(of, &inner, text);
                let _ = writeln!(text, "{indent}}}");
            }
        }
        before(self, "", &mut text);
        text
    }
}
