//! The host code in C: a header, and a source file with the binary in it.
//!
//! Neither needs headers of CUDA: the source declares the functions of the driver that it calls.

use std::collections::BTreeSet;
use std::fmt::Write;

use loopwright_kernel_ir::{DType, Name};
use loopwright_program::Program;

use super::formula::{Formula, Op};
use super::names::Names;
use super::plan::{Array, Check, Condition, FARTHEST, Host, Passed, Plan, parameters};
use super::print::{Printer, Style, helpers};

/// The names of the texts' own that an argument may have as well, which is then renamed.
const OWN: &str = "apart error fits floor floor_div floor_mod fmax fmin greatest grid image launch least \
    lengths module overlap parameters refusals restrict stream strides workspace";

/// What follows the kernel's name in the names of functions and of the type.
const SUFFIXES: &[&str] =
    &["_check", "_launch", "_load", "_message", "_module", "_unload", "_workspace_bytes"];

/// The names of a program's arguments, scratch arrays and host variables in C.
pub(super) fn names<'n>(program: &Program, names: impl Iterator<Item = &'n Name>) -> Names {
    let is_own = |name: &str| {
        OWN.split_ascii_whitespace().any(|own| own == name)
            || name.strip_prefix(program.name.as_str()).is_some_and(|rest| SUFFIXES.contains(&rest))
    };
    Names::new(names, &is_own, &|_| None)
}

/// The type by which a scalar is passed; those that C lacks by their bits.
fn scalar_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::E4M3 | DType::E5M2 => "uint8_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::U16 | DType::F16 | DType::BF16 => "uint16_t",
        DType::I32 => "int32_t",
        DType::U32 => "uint32_t",
        DType::I64 => "int64_t",
        DType::U64 => "uint64_t",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

impl Plan<'_> {
    fn exact(&self, formula: &Formula) -> String {
        self.printed(Style::Integers, formula)
    }

    fn printed(&self, style: Style, formula: &Formula) -> String {
        Printer { style, bounds: &self.bounds, rename: &|name| self.in_c.of(name) }.text(formula)
    }

    /// The scalars that some of these formulas mention, in calling order.
    fn mentioned<'f>(&self, formulas: impl IntoIterator<Item = &'f Formula>) -> Vec<(&Name, DType)> {
        let mut names = BTreeSet::new();
        for formula in formulas {
            formula.visit(&mut |part| {
                if let Formula::Name(name) = part {
                    names.insert(name);
                }
            });
        }
        let scalars = self.args().filter(|(array, ..)| array.is_none());
        scalars.filter(|(_, name, _)| names.contains(name)).map(|(_, name, dtype)| (name, dtype)).collect()
    }

    /// The integer scalars, of which functions about sizes alone take all.
    fn sizes(&self) -> Vec<(&Name, DType)> {
        let scalars = self.args().filter(|(array, _, dtype)| array.is_none() && dtype.is_integer());
        scalars.map(|(_, name, dtype)| (name, dtype)).collect()
    }

    /// Their declarations as parameters.
    fn size_parameters(&self, named: fn(&Names, &Name) -> String) -> String {
        let all: Vec<String> = self
            .sizes()
            .iter()
            .map(|(n, t)| format!("{} {}", scalar_type(*t), named(&self.in_c, n)))
            .collect();
        if all.is_empty() { "void".into() } else { all.join(", ") }
    }

    /// The parameters of the launch.
    fn launch_parameters(&self, scalar: fn(&Names, &Name) -> String) -> String {
        let name = &self.program.name;
        let mut all = vec![format!("const {name}_module *module"), "void *stream".into()];
        if self.workspace().next().is_some() {
            all.push("uint64_t workspace".into());
        }
        for (array, name, dtype) in self.args() {
            all.push(match array {
                Some(_) => format!("uint64_t {}", self.in_c.of(name)),
                None => format!("{} {}", scalar_type(dtype), scalar(&self.in_c, name)),
            });
        }
        all.join(", ")
    }

    /// The text of the header file, with these facts in its first comment.
    pub fn header(&self, facts: &[String]) -> String {
        let name = &self.program.name;
        let guard = format!("LOOPWRIGHT_{}_H", name.as_str().to_ascii_uppercase());
        let mut text = format!(
            "/*\n * Host code of `{name}`, made by loopwright {}; {name}.c belongs to it.\n *\n",
            env!("CARGO_PKG_VERSION")
        );
        let mut say = |line: &str| {
            let _ = writeln!(text, "{}", format!(" * {line}").trim_end());
        };
        say("Arguments:");
        for (array, name, dtype) in self.args() {
            match array {
                Some(array) => say(&format!("    {}", self.described(array))),
                None if dtype == DType::Bool => say(&format!("    {name}: {dtype}, 0 or 1")),
                None if dtype.is_float() && dtype.bytes() < 4 => {
                    say(&format!("    {name}: {dtype}, passed as its bits"));
                }
                None => say(&format!("    {name}: {dtype}")),
            }
        }
        if !self.program.assumptions.is_empty() {
            say("");
            say("It assumes, and checks at each launch:");
            for assumption in &self.program.assumptions {
                say(&format!("    {assumption}"));
            }
        }
        if !facts.is_empty() {
            say("");
            say("It relies on facts about data that it does not check:");
            for fact in facts {
                say(&format!("    {fact}"));
            }
        }
        let sizes = self.size_parameters(Names::of);
        let launch = declaration(&format!("int {name}_launch"), &self.launch_parameters(Names::of));
        let check = declaration(&format!("int {name}_check"), &sizes);
        let _ = write!(
            text,
            " */\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n\
             #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
             /* The loaded binary: a CUmodule and its CUfunctions. */\n\
             typedef struct {name}_module {{\n    void *module;\n    void *functions[{}];\n\
             }} {name}_module;\n\n\
             /*\n * All functions return 0, a positive CUresult, or a negative number for what is refused;\n \
             * {name}_message says what it means.\n */\n\
             const char *{name}_message(int error);\n\n\
             /* Loads the binary into the current context. */\n\
             int {name}_load({name}_module *module);\n\n\
             /* Unloads it when all launches have ended. */\n\
             int {name}_unload({name}_module *module);\n\n\
             /* Whether a launch of these sizes would be refused. */\n{check};\n\n",
            self.program.kernels.len(),
        );
        if self.workspace().next().is_some() {
            let bytes = declaration(&format!("int64_t {name}_workspace_bytes"), &sizes);
            let _ = write!(
                text,
                "/* The bytes of scratch memory that a launch of these sizes needs, or what it is refused \
                 for. */\n{bytes};\n\n"
            );
        }
        let _ = write!(
            text,
            "/*\n * Launches on a stream: a CUstream or cudaStream_t of the context that the binary was \
             loaded\n * into; NULL is the default stream. Arrays are addresses on the device.{}\n \
             */\n{launch};\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
            match self.workspace().next() {
                Some(_) => " The workspace may\n * be used again by what is behind the launch on the stream.",
                None => "",
            }
        );
        text
    }

    /// An array as a line of documentation.
    fn described(&self, array: &Array) -> String {
        let list = |all: &[Formula]| all.iter().map(|f| self.exact(f)).collect::<Vec<_>>().join(", ");
        let what = match (array.read, array.written) {
            (true, true) => "read and written",
            (false, true) => "written",
            _ => "read",
        };
        let mut text = format!("{}: {}[{}], {what}", array.name, array.dtype, list(&array.shape));
        if array.strides.len() > 1 {
            let _ = write!(text, ", strides of {} elements", list(&array.strides));
        }
        let _ = write!(text, ", aligned to {} bytes", array.alignment);
        text
    }

    /// The source file around a binary.
    pub fn source(&self, binary: &[u8]) -> String {
        let name = &self.program.name;
        let mut refusals: Vec<String> = Vec::new();
        let mut body = String::new();
        self.check_function(&mut refusals, &mut body);
        if self.workspace().next().is_some() {
            self.workspace_function(&mut body);
        }
        self.launch_function(&mut refusals, &mut body);
        self.load_functions(&mut body);
        let mut text = format!(
            "/* Made by loopwright {}; {name}.h says how it is used. Link with the driver, `-lcuda`, and \
             `-lm`. */\n#include \"{name}.h\"\n\n",
            env!("CARGO_PKG_VERSION")
        );
        if ["floor(", "fmin(", "fmax("].iter().any(|f| body.contains(f)) {
            text.push_str("#include <math.h>\n");
        }
        text.push_str("#include <stddef.h>\n\n");
        text.push_str(DRIVER);
        text.push('\n');
        let _ = writeln!(text, "static const char *const refusals[] = {{");
        for refusal in &refusals {
            let _ = writeln!(text, "    \"{name}: {}\",", refusal.replace('\\', "\\\\").replace('"', "\\\""));
        }
        text.push_str("};\n\n");
        text.push_str(&helpers(&body));
        if body.contains("apart(") {
            text.push_str(APART);
        }
        if body.contains("overlap(") {
            text.push_str(OVERLAP);
        }
        text.push_str(LAUNCH);
        text.push_str(&body);
        let _ = write!(
            text,
            "\nconst char *{name}_message(int error)\n{{\n    const char *text = \"an unknown error\";\n    \
             if (error < 0 && error >= -{count}) {{\n        return refusals[-error - 1];\n    }}\n    if \
             (error == 0) {{\n        return \"no error\";\n    }}\n    cuGetErrorString(error, &text);\n    \
             return text;\n}}\n",
            count = refusals.len(),
        );
        let image = image(binary);
        text.replacen(IMAGE, &image, 1)
    }

    /// Whether sizes are refused. Arguments beyond 2^47 are refused before they are converted.
    fn check_function(&self, refusals: &mut Vec<String>, text: &mut String) {
        let name = &self.program.name;
        let (mut far, mut lines) = (String::new(), String::new());
        let mut named: BTreeSet<&Name> = BTreeSet::new();
        let mut used: Vec<&Formula> = Vec::new();
        for Check { condition, refusal } in &self.checks {
            refusals.push(refusal.clone());
            let number = refusals.len();
            let refuse =
                |condition: &str| format!("    if (!({condition})) {{\n        return -{number};\n    }}\n");
            match condition {
                Condition::NotFar(name) => {
                    named.insert(name);
                    let is_unsigned = self.sizes().iter().any(|(n, t)| *n == name && *t == DType::U64);
                    let arg = self.in_c.passed(name);
                    far += &refuse(&match is_unsigned {
                        true => format!("{arg} <= UINT64_C({FARTHEST})"),
                        false => {
                            format!("{arg} >= -INT64_C({FARTHEST}) && {arg} <= INT64_C({FARTHEST})")
                        }
                    });
                }
                Condition::Exact(formula) => {
                    used.push(formula);
                    lines += &refuse(&self.exact(formula));
                }
                Condition::Wide(all) => {
                    used.extend(all);
                    let sizes = self.mentioned(all);
                    let names = |prefix: &str| {
                        let each = sizes.iter().map(|(n, _)| format!("{prefix}{}", self.in_c.of(n)));
                        each.collect::<Vec<_>>().join(", ")
                    };
                    let conditions: Vec<String> =
                        all.iter().map(|f| self.printed(Style::Doubles, f)).collect();
                    let _ = write!(
                        text,
                        "/* Whether {} bits hold every index for these sizes. Doubles are exact up to \
                         2^53. */\nstatic int fits({})\n{{\n    return {};\n}}\n\n",
                        8 * self.program.index.bytes(),
                        names("double "),
                        conditions.join("\n        && ")
                    );
                    lines += &refuse(&format!("fits({})", names("(double)")));
                }
                Condition::Apart(lengths, strides) => {
                    used.extend(lengths.iter().chain(strides));
                    let list =
                        |all: &[Formula]| all.iter().map(|f| self.exact(f)).collect::<Vec<_>>().join(", ");
                    let _ = write!(
                        lines,
                        "    {{\n        int64_t lengths[] = {{{}}}, strides[] = {{{}}};\n        if \
                         (!apart({}, lengths, strides)) {{\n            return -{number};\n        \
                         }}\n    }}\n",
                        list(lengths),
                        list(strides),
                        lengths.len(),
                    );
                }
            }
        }
        let head = declaration(&format!("int {name}_check"), &self.size_parameters(Names::passed));
        let _ = write!(text, "{head}\n{{\n{far}{}", self.widened(used.iter().copied()));
        named.extend(self.mentioned(used).into_iter().map(|(name, _)| name));
        for (name, _) in self.sizes().into_iter().filter(|(name, _)| !named.contains(name)) {
            let _ = writeln!(text, "    (void){};", self.in_c.passed(name));
        }
        let _ = write!(text, "{lines}    return 0;\n}}\n\n");
    }

    /// Sizes as 64-bit integers, by which formulas are computed.
    fn widened<'f>(&self, formulas: impl IntoIterator<Item = &'f Formula>) -> String {
        let mut text = String::new();
        for (name, dtype) in self.mentioned(formulas) {
            let cast = if dtype == DType::U64 { "(int64_t)" } else { "" };
            let _ = writeln!(
                text,
                "    const int64_t {} = {cast}{};",
                self.in_c.of(name),
                self.in_c.passed(name)
            );
        }
        text
    }

    fn workspace_function(&self, text: &mut String) {
        let name = &self.program.name;
        let head =
            declaration(&format!("int64_t {name}_workspace_bytes"), &self.size_parameters(Names::passed));
        let arguments: Vec<String> = self.sizes().iter().map(|(n, _)| self.in_c.passed(n)).collect();
        let sum = self.workspace_bytes();
        let _ = write!(
            text,
            "{head}\n{{\n{}    const int error = {name}_check({});\n    return error ? error : \
             {};\n}}\n\n",
            self.widened([&sum]),
            arguments.join(", "),
            self.exact(&sum),
        );
    }

    fn launch_function(&self, refusals: &mut Vec<String>, text: &mut String) {
        let name = &self.program.name;
        let head = declaration(&format!("int {name}_launch"), &self.launch_parameters(Names::passed));
        let sizes: Vec<String> = self.sizes().iter().map(|(n, _)| self.in_c.passed(n)).collect();
        let mut body = String::new();
        let mut used: Vec<Formula> = Vec::new();
        let mut refuse = |condition: String, refusal: String, body: &mut String| {
            refusals.push(refusal);
            let _ = write!(body, "    if ({condition}) {{\n        return -{};\n    }}\n", refusals.len());
        };
        for (_, name, _) in self.args().filter(|(array, _, t)| array.is_none() && *t == DType::Bool) {
            let refusal = format!("`{name}` is a truth value, which is neither 0 nor 1");
            refuse(format!("{} > 1", self.in_c.passed(name)), refusal, &mut body);
        }
        for array in self.of_caller().filter(|a| a.alignment > 1) {
            refuse(
                format!("{} % {} != 0", self.in_c.of(&array.name), array.alignment),
                format!("`{}` does not begin at a multiple of {} bytes", array.name, array.alignment),
                &mut body,
            );
        }
        for (a, b) in self.pairs() {
            used.extend([a.bytes.clone(), b.bytes.clone()]);
            let (x, y) = (self.in_c.of(&a.name), self.in_c.of(&b.name));
            refuse(
                format!("overlap({x}, {}, {y}, {})", self.exact(&a.bytes), self.exact(&b.bytes)),
                format!(
                    "`{}` and `{}` overlap, and the kernel writes `{}`",
                    a.name,
                    b.name,
                    if a.written { &a.name } else { &b.name }
                ),
                &mut body,
            );
        }
        let mut offset = Formula::Int(0);
        let mut scratch = String::new();
        if self.workspace().next().is_some() {
            refuse(
                "workspace % 256 != 0".into(),
                "the workspace does not begin at a multiple of 256 bytes".into(),
                &mut body,
            );
            let bytes = self.workspace_bytes();
            used.push(bytes.clone());
            for array in self.of_caller() {
                used.push(array.bytes.clone());
                let own = self.in_c.of(&array.name);
                refuse(
                    format!(
                        "overlap(workspace, {}, {own}, {})",
                        self.exact(&bytes),
                        self.exact(&array.bytes)
                    ),
                    format!("the workspace and `{}` overlap", array.name),
                    &mut body,
                );
            }
            for array in self.workspace() {
                let place = match offset.as_int() {
                    Some(0) => "workspace".to_string(),
                    _ => format!("workspace + (uint64_t)({})", self.exact(&offset)),
                };
                let _ = writeln!(scratch, "    uint64_t {} = {place};", self.in_c.of(&array.name));
                used.push(offset.clone());
                offset = Formula::binary(Op::Add, offset, aligned(&array.bytes));
            }
        }
        self.statements(&self.host, 1, &mut used, &mut scratch);
        let _ = write!(
            text,
            "{head}\n{{\n{}    int error = {name}_check({});\n    if (error) {{\n        return \
             error;\n    }}\n{body}{scratch}    return 0;\n}}\n\n",
            self.widened(&used),
            sizes.join(", "),
        );
    }

    fn statements(&self, body: &[Host], depth: usize, used: &mut Vec<Formula>, text: &mut String) {
        let indent = "    ".repeat(depth);
        for stmt in body {
            match stmt {
                Host::For { var, lower, upper, body } => {
                    used.extend([lower.clone(), upper.clone()]);
                    let v = self.in_c.of(var);
                    let _ = writeln!(
                        text,
                        "{indent}for (int64_t {v} = {}; {v} < {}; ++{v}) {{",
                        self.exact(lower),
                        self.exact(upper)
                    );
                    self.statements(body, depth + 1, used, text);
                    let _ = writeln!(text, "{indent}}}");
                }
                Host::Launch { kernel, grid } => {
                    used.extend(grid.values().cloned());
                    self.launch(*kernel, grid.values(), &indent, text);
                }
            }
        }
    }

    fn launch<'f>(
        &self,
        kernel: usize,
        grid: impl Iterator<Item = &'f Formula>,
        indent: &str,
        text: &mut String,
    ) {
        let device = &self.program.kernels[kernel];
        let mut own = String::new();
        let mut values = Vec::new();
        for (name, how) in parameters(self.program, kernel) {
            values.push(match how {
                Passed::Address => format!("&{}", self.in_c.of(name)),
                Passed::Scalar(_) => format!("&{}", self.in_c.passed(name)),
                Passed::Host => {
                    let t = scalar_type(self.program.index);
                    let _ = writeln!(
                        own,
                        "{indent}    {t} {} = ({t}){};",
                        self.in_c.passed(name),
                        self.in_c.of(name)
                    );
                    format!("&{}", self.in_c.passed(name))
                }
            });
        }
        let grid: Vec<String> = grid.map(|f| self.exact(f)).collect();
        let block: Vec<String> = device.block.values().map(u32::to_string).collect();
        let list = match values.is_empty() {
            true => "NULL".to_string(),
            false => values.join(", "),
        };
        let _ = write!(
            text,
            "{indent}{{\n{own}{indent}    const int64_t grid[3] = {{{}}};\n{indent}    void \
             *parameters[] = {{{list}}};\n{indent}    error = launch(module->functions[{kernel}], grid, \
             {}, {}, stream, parameters);\n{indent}    if (error) {{\n{indent}        return \
             error;\n{indent}    }}\n{indent}}}\n",
            grid.join(", "),
            block.join(", "),
            self.dynamic_shared(kernel),
        );
    }

    /// The bytes of the workspace.
    pub fn workspace_bytes(&self) -> Formula {
        let parts = self.workspace().map(|array| aligned(&array.bytes));
        parts.fold(Formula::Int(0), |sum, part| Formula::binary(Op::Add, sum, part))
    }

    /// The bytes of shared memory that a launch asks for; 0 if the kernel's text declares them.
    pub fn dynamic_shared(&self, kernel: usize) -> u64 {
        let bytes = self.program.kernels[kernel].shared_bytes();
        if bytes > self.program.target.static_shared { bytes } else { 0 }
    }

    fn load_functions(&self, text: &mut String) {
        let name = &self.program.name;
        let _ = write!(
            text,
            "{IMAGE}int {name}_load({name}_module *module)\n{{\n    int error = \
             cuModuleLoadData(&module->module, image);\n    if (error) {{\n        return error;\n    \
             }}\n"
        );
        for (k, kernel) in self.program.kernels.iter().enumerate() {
            let function = format!("module->functions[{k}]");
            let _ = write!(
                text,
                "    if (!error) {{\n        error = cuModuleGetFunction(&{function}, module->module, \
                 \"{}\");\n    }}\n",
                kernel.name
            );
            let bytes = self.dynamic_shared(k);
            if bytes > 0 {
                let _ = write!(
                    text,
                    "    if (!error) {{\n        /* MAX_DYNAMIC_SHARED_SIZE_BYTES */\n        error = \
                     cuFuncSetAttribute({function}, 8, {bytes});\n    }}\n"
                );
            }
        }
        let _ = write!(
            text,
            "    if (error) {{\n        cuModuleUnload(module->module);\n    }}\n    return \
             error;\n}}\n\nint {name}_unload({name}_module *module)\n{{\n    return \
             cuModuleUnload(module->module);\n}}\n"
        );
    }
}

/// Parts of a workspace begin at multiples of 256 bytes.
pub(super) fn aligned(bytes: &Formula) -> Formula {
    let blocks = Formula::binary(Op::FloorDiv, bytes.clone().plus(255), Formula::Int(256));
    Formula::binary(Op::Mul, blocks, Formula::Int(256))
}

/// A declaration, with its parameters on lines of their own if it is long.
fn declaration(head: &str, parameters: &str) -> String {
    if head.len() + parameters.len() + 3 <= 100 {
        return format!("{head}({parameters})");
    }
    let mut text = format!("{head}(");
    let mut column = 0;
    for (k, one) in parameters.split(", ").enumerate() {
        let comma = if k > 0 { "," } else { "" };
        if k == 0 || column + one.len() + 3 > 100 {
            text.push_str(comma);
            text.push_str("\n    ");
            column = 4;
        } else {
            text.push_str(", ");
            column += 2;
        }
        text.push_str(one);
        column += one.len();
    }
    text.push(')');
    text
}

/// The binary as an array of bytes.
fn image(binary: &[u8]) -> String {
    let mut text =
        String::from("/* The binary, for cuModuleLoadData. */\nstatic const unsigned char image[] = {\n");
    for row in binary.chunks(20) {
        let bytes: Vec<String> = row.iter().map(u8::to_string).collect();
        let _ = writeln!(text, "    {},", bytes.join(","));
    }
    if binary.is_empty() {
        text.push_str("    0,\n");
    }
    text.push_str("};\n\n");
    text
}

/// Where the binary comes; nobody reads past it.
const IMAGE: &str = "/*IMAGE*/";

const DRIVER: &str = include_str!("source/driver.c");

const APART: &str = concat!(include_str!("source/apart.c"), "\n");

const OVERLAP: &str = concat!(include_str!("source/overlap.c"), "\n");

const LAUNCH: &str = concat!(include_str!("source/launch.c"), "\n");
