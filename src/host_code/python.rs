//! The host code in Python: a loader of the binary by ctypes, which needs no other module.

use std::fmt::Write;

use loopwright_kernel_ir::{DType, Name};

use super::c::aligned;
use super::formula::{Formula, Op};
use super::plan::{Array, Condition, FARTHEST, Host, Passed, Plan, parameters};
use super::print::{Printer, Style};

/// Words that are not names in Python, and the text's own names.
const OWN: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "class",
    "cls",
    "ctypes",
    "def",
    "del",
    "elif",
    "error",
    "except",
    "finally",
    "from",
    "global",
    "import",
    "in",
    "int",
    "is",
    "lambda",
    "len",
    "library",
    "max",
    "min",
    "nonlocal",
    "not",
    "or",
    "pass",
    "pathlib",
    "raise",
    "range",
    "self",
    "stream",
    "tuple",
    "with",
    "workspace",
    "yield",
    "Module",
    "check",
    "workspace_bytes",
];

/// An argument's name in the text.
fn renamed(name: &Name) -> String {
    match OWN.contains(&name.as_str()) || name.starts_with('_') {
        true => format!("{}_", name.trim_start_matches('_')),
        false => name.to_string(),
    }
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
        Printer { style: Style::Python, bounds: &self.bounds, rename: &renamed }.text(formula)
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

    /// The loader of a binary that lies beside it.
    pub fn python(&self, binary: &str, facts: &[String]) -> String {
        let name = &self.program.name;
        let sizes: Vec<String> = self.integer_names().iter().map(|(n, _)| renamed(n)).collect();
        let sizes = sizes.join(", ");
        let arguments: Vec<String> = self.args().map(|(_, name, _)| renamed(name)).collect();
        let has_workspace = self.workspace().next().is_some();
        let mut text = format!(
            "\"\"\"Host code of `{name}`, made by loopwright {}. It needs the driver of CUDA alone.\n\n    \
             module = {name}.Module()\n    module.launch({}{}, stream=0)\n\n\
             Arrays are addresses on the device, or objects with `__cuda_array_interface__` or\n`data_ptr`, \
             such as those of CuPy and PyTorch.",
            env!("CARGO_PKG_VERSION"),
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
        text.push_str("\n\"\"\"\n\nimport ctypes\nimport pathlib\n\n\n");
        self.python_check(&sizes, &mut text);
        if has_workspace {
            let sum = self
                .workspace()
                .fold(Formula::Int(0), |sum, array| Formula::binary(Op::Add, sum, aligned(&array.bytes)));
            let _ = write!(
                text,
                "def workspace_bytes({sizes}):\n    \"\"\"The bytes of scratch memory that a launch of these \
                 sizes needs.\"\"\"\n    check({sizes})\n    return {}\n\n\n",
                self.python_formula(&sum)
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
             refused.\"\"\"\n"
        );
        for (scalar, dtype) in self.integer_names() {
            let Some((low, high)) = super::formula::range_of(dtype) else { continue };
            let _ = write!(
                text,
                "    if not {low} <= {0} <= {high}:\n        raise ValueError(f\"{name}: `{scalar}` is {{{0}}}, \
                 which is no {dtype}\")\n",
                renamed(scalar)
            );
        }
        for check in &self.checks {
            let condition = match &check.condition {
                Condition::NotFar(name) => format!("abs({}) <= {FARTHEST}", renamed(name)),
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
            "{MODULE_HEAD}    def __init__(self, binary=None):\n        path = \
             pathlib.Path(__file__).with_name(\"{binary}\")\n        self._load(binary or \
             path.read_bytes(), [{}])\n\n    def launch(self, {arguments}{own}, stream=0):\n        \
             \"\"\"Launches on a stream, given by its handle; 0 is the default stream.\"\"\"\n        \
             check({sizes})\n",
            kernels.join(", ")
        );
        for array in self.of_caller() {
            let Array { dtype, shape, strides, alignment, .. } = array;
            let _ = writeln!(
                text,
                "        {0} = _address(\"{name}: `{1}`\", {0}, \"{dtype}\", {2}, {3}, {4}, {alignment})",
                renamed(&array.name),
                array.name,
                dtype.bytes(),
                self.python_tuple(shape),
                self.python_tuple(strides),
            );
        }
        for (a, b) in self.pairs() {
            let _ = write!(
                text,
                "        if _overlap({0}, {2}, {1}, {3}):\n            raise ValueError(\"{name}: `{4}` \
                 and `{5}` overlap, and the kernel writes `{6}`\")\n",
                renamed(&a.name),
                renamed(&b.name),
                self.python_formula(&a.bytes),
                self.python_formula(&b.bytes),
                a.name,
                b.name,
                if a.written { &a.name } else { &b.name },
            );
        }
        let mut offset = Formula::Int(0);
        if self.workspace().next().is_some() {
            let _ = writeln!(text, "        workspace = _pointer(\"{name}: the workspace\", workspace, 256)");
        }
        for array in self.workspace() {
            let _ = writeln!(
                text,
                "        {} = workspace + {}",
                renamed(&array.name),
                self.python_formula(&offset)
            );
            offset = Formula::binary(Op::Add, offset, aligned(&array.bytes));
        }
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
                        renamed(var),
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
                            Passed::Address => format!("ctypes.c_uint64({})", renamed(name)),
                            Passed::Scalar(dtype) => {
                                format!("ctypes.{}({})", scalar_type(dtype), renamed(name))
                            }
                            Passed::Host => {
                                format!("ctypes.{}({})", scalar_type(self.program.index), renamed(name))
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

const APART: &str = "\
def _apart(lengths, strides):
    reach = 0
    for stride, length in sorted(zip(strides, lengths)):
        if length > 1 and stride <= reach:
            return 0 in lengths
        reach += (length - 1) * stride
    return True


";

const ARRAYS: &str = "\
def _pointer(what, array, alignment):
    if not isinstance(array, int):
        interface = getattr(array, \"__cuda_array_interface__\", None)
        array = interface[\"data\"][0] if interface else array.data_ptr()
    if array % alignment:
        raise ValueError(f\"{what} does not begin at a multiple of {alignment} bytes\")
    return array


def _overlap(a, a_bytes, b, b_bytes):
    return a_bytes > 0 and b_bytes > 0 and a < b + b_bytes and b < a + a_bytes


# How the array interface calls a type; what it does not know is only held to its size.
_TYPES = {
    \"bool\": \"b1\", \"i8\": \"i1\", \"i16\": \"i2\", \"i32\": \"i4\", \"i64\": \"i8\", \"u8\": \"u1\", \"u16\": \"u2\",
    \"u32\": \"u4\", \"u64\": \"u8\", \"f16\": \"f2\", \"f32\": \"f4\", \"f64\": \"f8\",
}


def _address(what, array, dtype, item, shape, strides, alignment):
    if not isinstance(array, int):
        if tuple(array.shape) != shape:
            raise ValueError(f\"{what} has shape {tuple(array.shape)}, and the kernel expects {shape}\")
        interface = getattr(array, \"__cuda_array_interface__\", None)
        if interface:
            given = interface[\"typestr\"][1:]
            if given != _TYPES.get(dtype, given) or int(given[1:]) != item:
                raise ValueError(f\"{what} has elements {given}, and the kernel expects {dtype}\")
            steps = interface.get(\"strides\")
            if steps is None:
                steps, step = [], item
                for length in reversed(shape):
                    steps.insert(0, step)
                    step *= length
            steps = [step // item for step in steps]
        else:
            if array.element_size() != item:
                raise ValueError(f\"{what} has elements of {array.element_size()} bytes, not {item}\")
            steps = array.stride()
        if 0 not in shape:
            for length, given, step in zip(shape, steps, strides):
                if length > 1 and given != step:
                    raise ValueError(f\"{what} has strides {tuple(steps)}, and the kernel expects {strides}\")
    return _pointer(what, array, alignment)


";

const MODULE_HEAD: &str = "\
class Module:
    \"\"\"The loaded binary, in the current context; if there is none, in that of the first device.\"\"\"

    def _call(self, function, *arguments):
        error = getattr(self._driver, function)(*arguments)
        if error:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f\"{function}: {(text.value or b'unknown error').decode()}\")

    def _load(self, binary, kernels):
        self._driver = ctypes.CDLL(\"libcuda.so.1\")
        self._call(\"cuInit\", 0)
        context = ctypes.c_void_p()
        self._call(\"cuCtxGetCurrent\", ctypes.byref(context))
        if not context.value:
            device = ctypes.c_int()
            self._call(\"cuDeviceGet\", ctypes.byref(device), 0)
            self._call(\"cuDevicePrimaryCtxRetain\", ctypes.byref(context), device)
            self._call(\"cuCtxSetCurrent\", context)
        self._module = ctypes.c_void_p()
        self._call(\"cuModuleLoadData\", ctypes.byref(self._module), binary)
        self._functions = []
        for name, shared in kernels:
            function = ctypes.c_void_p()
            self._call(\"cuModuleGetFunction\", ctypes.byref(function), self._module, name)
            if shared:  # MAX_DYNAMIC_SHARED_SIZE_BYTES
                self._call(\"cuFuncSetAttribute\", function, 8, shared)
            self._functions.append(function)

    def _launch(self, kernel, grid, block, shared, stream, values):
        if min(grid) < 1:
            return
        addresses = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
        parameters = (ctypes.c_void_p * max(len(values), 1))(*addresses)
        sizes = [ctypes.c_uint(size) for size in (*grid, *block, shared)]
        self._call(
            \"cuLaunchKernel\", self._functions[kernel], *sizes, ctypes.c_void_p(stream), parameters, None
        )

    def unload(self):
        \"\"\"Unloads the binary when all launches have ended.\"\"\"
        self._call(\"cuModuleUnload\", self._module)

";
