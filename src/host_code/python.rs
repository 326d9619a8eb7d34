//! The host code in Python: a loader of the binary by ctypes, which needs no other module.

use std::fmt::Write;

use loopwright_kernel_ir::{DType, Name};

use super::c::aligned;
use super::formula::{Formula, Op};
use super::names::{KEYWORDS, Names, module};
use super::plan::{Array, Condition, FARTHEST, Host, Passed, Plan, parameters};
use super::print::{Printer, Style};

/// The text's own names, and those of Python that it uses.
const OWN: &str = "Module ValueError abs check cls ctypes error int len library math max min operator pathlib \
    range self stream tuple workspace workspace_bytes";

/// The names of a program's arguments, scratch arrays and host variables in Python. Those with an
/// underscore in front are the text's own.
pub(super) fn names<'n>(names: impl Iterator<Item = &'n Name>) -> Names {
    let is_own =
        |name: &str| [OWN, KEYWORDS].iter().any(|list| list.split_ascii_whitespace().any(|own| own == name));
    let without = |name: &str| {
        let rest = name.strip_prefix('_')?.trim_start_matches('_');
        Some(match rest.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("n{rest}_"),
            false => format!("{rest}_"),
        })
    };
    Names::new(names, &is_own, &without)
}

/// The type by which a scalar is passed.
fn scalar_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::E4M3 | DType::E5M2 => "c_uint8",
        DType::I8 => "c_int8",
        DType::I16 => "c_int16",
        DType::U16 | DType::F16 | DType::BF16 => "c_uint16",
        DType::I32 => "c_int32",
        DType::U32 => "c_uint32",
        DType::I64 => "c_int64",
        DType::U64 => "c_uint64",
        DType::F32 => "c_float",
        DType::F64 => "c_double",
    }
}

impl Plan<'_> {
    fn python_formula(&self, formula: &Formula) -> String {
        Printer { style: Style::Python, bounds: &self.bounds, rename: &|name| self.in_python.of(name) }
            .text(formula)
    }

    fn python_tuple(&self, formulas: &[Formula]) -> String {
        let mut text: Vec<String> = formulas.iter().map(|f| self.python_formula(f)).collect();
        if let [one] = &mut text[..] {
            one.push(',');
        }
        format!("({})", text.join(", "))
    }

    fn integer_names(&self) -> Vec<(&Name, DType)> {
        let scalars = self.args().filter(|(array, _, dtype)| array.is_none() && dtype.is_integer());
        scalars.map(|(_, name, dtype)| (name, dtype)).collect()
    }

    /// Sizes as integers of Python, which do not wrap.
    fn python_integers(&self, depth: usize) -> String {
        let (name, indent) = (&self.program.name, "    ".repeat(depth));
        let line = |(scalar, _): &(&Name, DType)| {
            let own = self.in_python.of(scalar);
            format!("{indent}{own} = _integer(\"{name}: `{scalar}`\", {own})\n")
        };
        self.integer_names().iter().map(line).collect()
    }

    /// The other numbers as they are passed.
    fn python_numbers(&self, text: &mut String) {
        let name = &self.program.name;
        for (_, scalar, dtype) in self.args().filter(|(array, _, t)| array.is_none() && !t.is_integer()) {
            let own = self.in_python.of(scalar);
            let _ = match dtype {
                DType::Bool => {
                    writeln!(text, "        {own} = _truth(\"{name}: `{scalar}`\", {own})")
                }
                _ => writeln!(text, "        {own} = _number(\"{name}: `{scalar}`\", {own}, \"{dtype}\")"),
            };
        }
    }

    /// The loader of a binary that lies beside it.
    pub fn python(&self, binary: &str, facts: &[String]) -> String {
        let name = &self.program.name;
        let sizes: Vec<String> = self.integer_names().iter().map(|(n, _)| self.in_python.of(n)).collect();
        let sizes = sizes.join(", ");
        let arguments: Vec<String> = self.args().map(|(_, name, _)| self.in_python.of(name)).collect();
        let has_workspace = self.workspace().next().is_some();
        let mut text = format!(
            "\"\"\"Host code of `{name}`, made by loopwright {}. It needs the driver of CUDA alone.\n\n    \
             module = {}.Module()\n    module.launch({}{}, stream=0)\n\n\
             Arrays are addresses on the device, or objects with `__cuda_array_interface__` or\n`data_ptr`, \
             such as those of CuPy and PyTorch.",
            env!("CARGO_PKG_VERSION"),
            module(name),
            arguments.join(", "),
            if has_workspace { ", workspace=memory" } else { "" },
        );
        if !facts.is_empty() {
            text.push_str("\n\nIt relies on facts about data that it does not check:\n");
            for fact in facts {
                let _ = write!(text, "\n    {fact}");
            }
            text.push('\n');
        }
        text.push_str("\n\"\"\"\n\nimport ctypes\nimport math\nimport operator\nimport pathlib\n\n\n");
        text.push_str(INTEGER);
        self.python_check(&sizes, &mut text);
        if has_workspace {
            let _ = write!(
                text,
                "def workspace_bytes({sizes}):\n    \"\"\"The bytes of scratch memory that a launch of these \
                 sizes needs.\"\"\"\n{}    check({sizes})\n    return {}\n\n\n",
                self.python_integers(1),
                self.python_formula(&self.workspace_bytes())
            );
        }
        text.push_str(ARRAYS);
        self.python_module(binary, &sizes, &arguments.join(", "), &mut text);
        text
    }

    fn python_check(&self, sizes: &str, text: &mut String) {
        let name = &self.program.name;
        if self.checks.iter().any(|c| matches!(c.condition, Condition::Apart(..))) {
            text.push_str(APART);
        }
        let _ = write!(
            text,
            "def check({sizes}):\n    \"\"\"Raises ValueError if a launch of these sizes would be \
             refused.\"\"\"\n{}",
            self.python_integers(1)
        );
        for (scalar, dtype) in self.integer_names() {
            let Some((low, high)) = super::formula::range_of(dtype) else { continue };
            let _ = write!(
                text,
                "    if not {low} <= {0} <= {high}:\n        raise ValueError(f\"{name}: `{scalar}` is {{{0}}}, \
                 which is no {dtype}\")\n",
                self.in_python.of(scalar)
            );
        }
        for check in &self.checks {
            let condition = match &check.condition {
                Condition::NotFar(name) => format!("abs({}) <= {FARTHEST}", self.in_python.of(name)),
                Condition::Exact(formula) => self.python_formula(formula),
                Condition::Wide(all) => {
                    let all: Vec<String> = all.iter().map(|f| self.python_formula(f)).collect();
                    all.join("\n        and ")
                }
                Condition::Apart(lengths, strides) => {
                    format!("_apart({}, {})", self.python_tuple(lengths), self.python_tuple(strides))
                }
            };
            let _ = write!(
                text,
                "    if not ({condition}):\n        raise ValueError(\"{name}: {}\")\n",
                check.refusal
            );
        }
        text.push_str("\n\n");
    }

    fn python_module(&self, binary: &str, sizes: &str, arguments: &str, text: &mut String) {
        let name = &self.program.name;
        let kernels: Vec<String> = (0..self.program.kernels.len())
            .map(|k| format!("(b\"{}\", {})", self.program.kernels[k].name, self.dynamic_shared(k)))
            .collect();
        let own = if self.workspace().next().is_some() { ", workspace" } else { "" };
        let _ = write!(
            text,
            "{MODULE}    def __init__(self, binary=None):\n        path = \
             pathlib.Path(__file__).with_name(\"{binary}\")\n        self._load(binary or \
             path.read_bytes(), [{}])\n\n    def launch(self, {arguments}{own}, stream=0):\n        \
             \"\"\"Launches on a stream: its handle, or an object of PyTorch or CuPy. 0 is the default \
             stream.\"\"\"\n{}        check({sizes})\n",
            kernels.join(", "),
            self.python_integers(2),
        );
        self.python_numbers(text);
        for array in self.of_caller() {
            let Array { dtype, shape, strides, alignment, .. } = array;
            let _ = writeln!(
                text,
                "        {0} = _address(\"{name}: `{1}`\", {0}, \"{dtype}\", {2}, {3}, {4}, {alignment}, \
                 {5})",
                self.in_python.of(&array.name),
                array.name,
                dtype.bytes(),
                self.python_tuple(shape),
                self.python_tuple(strides),
                if array.written { "True" } else { "False" },
            );
        }
        for (a, b) in self.pairs() {
            let _ = write!(
                text,
                "        if _overlap({0}, {2}, {1}, {3}):\n            raise ValueError(\"{name}: `{4}` \
                 and `{5}` overlap, and the kernel writes `{6}`\")\n",
                self.in_python.of(&a.name),
                self.in_python.of(&b.name),
                self.python_formula(&a.bytes),
                self.python_formula(&b.bytes),
                a.name,
                b.name,
                if a.written { &a.name } else { &b.name },
            );
        }
        let mut offset = Formula::Int(0);
        if self.workspace().next().is_some() {
            let bytes = self.python_formula(&self.workspace_bytes());
            let _ = writeln!(
                text,
                "        workspace = _workspace(\"{name}: the workspace\", workspace, {bytes})"
            );
            for array in self.of_caller() {
                let _ = write!(
                    text,
                    "        if _overlap(workspace, {bytes}, {}, {}):\n            raise ValueError(\"{name}: \
                     the workspace and `{}` overlap\")\n",
                    self.in_python.of(&array.name),
                    self.python_formula(&array.bytes),
                    array.name,
                );
            }
        }
        for array in self.workspace() {
            let _ = writeln!(
                text,
                "        {} = workspace + {}",
                self.in_python.of(&array.name),
                self.python_formula(&offset)
            );
            offset = Formula::binary(Op::Add, offset, aligned(&array.bytes));
        }
        text.push_str("        stream = _stream(stream)\n");
        self.python_statements(&self.host, 2, text);
    }

    fn python_statements(&self, body: &[Host], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        for stmt in body {
            match stmt {
                Host::For { var, lower, upper, body } => {
                    let _ = writeln!(
                        text,
                        "{indent}for {} in range({}, {}):",
                        self.in_python.of(var),
                        self.python_formula(lower),
                        self.python_formula(upper)
                    );
                    self.python_statements(body, depth + 1, text);
                }
                Host::Launch { kernel, grid } => {
                    let grid: Vec<Formula> = grid.values().cloned().collect();
                    let block: Vec<String> =
                        self.program.kernels[*kernel].block.values().map(u32::to_string).collect();
                    let values: Vec<String> = parameters(self.program, *kernel)
                        .map(|(name, how)| match how {
                            Passed::Address => format!("ctypes.c_uint64({})", self.in_python.of(name)),
                            Passed::Scalar(dtype) => {
                                format!("ctypes.{}({})", scalar_type(dtype), self.in_python.of(name))
                            }
                            Passed::Host => {
                                format!(
                                    "ctypes.{}({})",
                                    scalar_type(self.program.index),
                                    self.in_python.of(name)
                                )
                            }
                        })
                        .collect();
                    let _ = write!(
                        text,
                        "{indent}self._launch(\n{indent}    {kernel}, {}, ({}), {}, stream,\n{indent}    \
                         [{}],\n{indent})\n",
                        self.python_tuple(&grid),
                        block.join(", "),
                        self.dynamic_shared(*kernel),
                        values.join(", "),
                    );
                }
            }
        }
    }
}

const INTEGER: &str = concat!(include_str!("loader/integer.py"), "\n\n");

const APART: &str = concat!(include_str!("loader/apart.py"), "\n\n");

const ARRAYS: &str = concat!(include_str!("loader/arrays.py"), "\n\n");

const MODULE: &str = concat!(include_str!("loader/module.py"), "\n");
