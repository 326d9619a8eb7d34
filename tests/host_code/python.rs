//! The loader in Python.

use super::*;

/// What a script needs to stand for a library of arrays.
const ARRAYS: &str = r#"
import ctypes
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL("./libkernels.so").make_known()
driver.cuCtxSetCurrent(ctypes.c_void_p(0x1001))

def memory(values, kind=ctypes.c_float):
    at = ctypes.c_uint64()
    data = (kind * len(values))(*values)
    assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(ctypes.sizeof(data))) == 0
    ctypes.memmove(at.value, data, ctypes.sizeof(data))
    return (kind * len(values)).from_address(at.value)

class Interface:
    """An array by the array interface."""
    def __init__(self, values, typestr="<f4", read_only=False):
        self.__cuda_array_interface__ = {
            "data": (ctypes.addressof(values), read_only), "shape": (len(values),), "typestr": typestr,
            "version": 3,
        }

class Tensor:
    """As PyTorch's, of one axis."""
    def __init__(self, values, dtype="torch.float32", is_cuda=True, requires_grad=False):
        self.values, self.dtype, self.is_cuda = values, dtype, is_cuda
        self.requires_grad = requires_grad
        self.shape = (len(values),)
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("has gradients, or a type that is not known there")
    def data_ptr(self):
        return ctypes.addressof(self.values)
    def stride(self):
        return (1,)
    def element_size(self):
        return ctypes.sizeof(self.values._type_)

def refused(launch, *arguments):
    try:
        launch(*arguments)
    except (TypeError, ValueError) as error:
        print(error)
    else:
        print("accepted")
"#;

/// What a script prints after [`ARRAYS`], line by line.
fn printed(of: &Exported, script: &str) -> Option<Vec<String>> {
    let output = of.python(&format!("{ARRAYS}{script}"))?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The loader in Python does the same.
#[test]
fn python_launches_for_any_sizes() {
    let Some(of) = Exported::new(example("segmented_sum", "segmented_sum/grid_per_segment")) else { return };
    of.build();
    let script = r#"
import ctypes
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL("./libkernels.so").make_known()
driver.cuCtxSetCurrent(ctypes.c_void_p(0x1001))
import segmented_sum

class Array:
    def __init__(self, values, shape):
        self.at = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(self.at), ctypes.c_size_t(4 * len(values))) == 0
        self.values = (ctypes.c_float * len(values)).from_address(self.at.value)
        self.values[:] = values
        self.shape = shape
        self.__cuda_array_interface__ = {
            "data": (self.at.value, False), "shape": shape, "typestr": "<f4", "version": 3,
        }

module = segmented_sum.Module()
x = Array([float(k % 5) for k in range(3 * 20000)], (3, 20000))
out = Array([0.0] * 3, (3,))
count = segmented_sum.workspace_bytes(3, 20000) // 4
workspace = Array([0.0] * count, (count,))

class Int32:
    """An integer of 32 bits, as NumPy's: a product wraps."""
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value
    def __mul__(self, other):
        return Int32(self.value * int(other) & 0x7FFFFFFF)
    __rmul__ = __mul__

module.launch(x, out, Int32(3), Int32(20000), workspace)
driver.cuCtxSynchronize()
print(list(out.values))

def refused(*arguments):
    try:
        module.launch(*arguments)
    except (TypeError, ValueError) as error:
        print(error)
    else:
        print("accepted")

refused(x, out, 3, 20001, workspace)
refused(x, out, -3, 20000, workspace)
refused(x, out, 3, 1 << 40, workspace)
refused(x, out, 1 << 20, 1 << 20, workspace)
refused(x.at.value, out.at.value, Int32(1 << 20), Int32(1 << 20), workspace)
refused(x, x.at.value, 3, 20000, workspace.at.value)
refused(x, out, 3, 20000, x.at.value + 256)
refused(x, out, 3, 20000, Array([0.0] * 3, (3,)))
refused(x, out, 4.5, 20000, workspace)
module.unload()
"#;
    let Some(output) = of.python(script) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    // 4000 times 0 + 1 + 2 + 3 + 4.
    assert_eq!(
        text,
        "[40000.0, 40000.0, 40000.0]\n\
         segmented_sum: `x` has shape (3, 20000), and the kernel expects (3, 20001)\n\
         segmented_sum: the assumption `0 <= nseg` does not hold\n\
         segmented_sum: `len` is 1099511627776, which is no i32\n\
         segmented_sum: the sizes are too large: 32-bit indices do not suffice\n\
         segmented_sum: the sizes are too large: 32-bit indices do not suffice\n\
         segmented_sum: `x` and `out` overlap, and the kernel writes `out`\n\
         segmented_sum: the workspace and `x` overlap\n\
         segmented_sum: the workspace has 12 bytes, and the launch needs 256\n\
         segmented_sum: `nseg` is 4.5, which is no integer\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The program in Python of the book's page, with the few names of PyTorch that it uses.
#[test]
fn the_books_program_in_python_uses_the_loader() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src/first");
    let read = |name: &str| std::fs::read_to_string(book.join(name)).unwrap();
    let kernel = LoopKernel::parse(&read("launch.in/blur.lw")).unwrap();
    let kernel = Pipeline::parse(&read("launch.in/blocks.pipe")).unwrap().apply(&kernel).unwrap();
    let Some(of) = Exported::new(kernel) else { return };
    of.build();
    let torch = r#"
import ctypes
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL("./libkernels.so").make_known()
driver.cuCtxSetCurrent(ctypes.c_void_p(0x1001))

class Tensor:
    def __init__(self, length, device):
        assert device == "cuda"
        at = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(4 * length)) == 0
        self.values = (ctypes.c_float * length).from_address(at.value)
        self.shape = (length,)
        self.__cuda_array_interface__ = {
            "data": (at.value, False), "shape": (length,), "typestr": "<f4", "version": 3,
        }

empty = Tensor

def rand(length, device):
    made = Tensor(length, device)
    made.values[:] = [float(k * k % 7) for k in range(length)]
    return made

class cuda:
    class current_stream:
        cuda_stream = 0
"#;
    std::fs::write(of.path("torch.py"), torch).unwrap();
    let page = read("launch.md");
    let program = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let shown = "torch.driver.cuCtxSynchronize()\nprint(*y.values)\n";
    let Some(output) = of.python(&format!("{program}{shown}")) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let means: Vec<f32> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(means.len(), 1000, "{}", String::from_utf8_lossy(&output.stderr));
    let x = |k: usize| (k * k % 7) as f32;
    for (k, mean) in means.iter().enumerate() {
        let expected = 0.25 * x(k) + 0.5 * x(k + 1) + 0.25 * x(k + 2);
        assert!((mean - expected).abs() < 1e-5, "{k}: {mean}, {expected}");
    }
}

/// Arrays that are not on a GPU, or hold something else than the kernel expects.
#[test]
fn python_refuses_arrays_that_it_cannot_pass() {
    let kernel = "kernel double(x: f32[n], y: f32[n], n: i32)
                  domain { [i] : 0 <= i < n }
                  y[i] = 2.0*x[i]"
        .replace("double", "doubled");
    let Some(of) = Exported::new(LoopKernel::parse(&kernel).unwrap()) else { return };
    of.build();
    let script = r#"
import doubled
module = doubled.Module()
x, y = memory([1.0, 2.0]), memory([0.0, 0.0])
class Stream:
    cuda_stream = 0
module.launch(Tensor(x), Interface(y), 2, stream=Stream())
driver.cuCtxSynchronize()
print(list(y))
refused(module.launch, Tensor(x, is_cuda=False), Tensor(y), 2)
refused(module.launch, Tensor(x, "torch.int32"), Tensor(y), 2)
refused(module.launch, Interface(x, read_only=True), Interface(y, read_only=True), 2)
refused(module.launch, Tensor(x, requires_grad=True), Tensor(y, requires_grad=True), 2)
refused(module.launch, Interface(x, ">f4"), Interface(y), 2)
refused(module.launch, [1.0, 2.0], Interface(y), 2)
refused(module.launch, -4, Interface(y), 2)
refused(module.launch, Interface(x, read_only=True), Interface(y), 2)
"#;
    let Some(lines) = printed(&of, script) else { return };
    assert_eq!(
        lines,
        [
            "[2.0, 4.0]",
            "doubled: `x` is in the memory of the host, and not on a GPU",
            "doubled: `x` has elements int32, and the kernel expects f32",
            "doubled: `y` is read-only, and the kernel writes it",
            "doubled: `y` has gradients, and the kernel writes it: pass `.detach()`",
            "doubled: `x` has elements >f4, in another byte order than the device's",
            "doubled: `x` is of type `list`, which is neither an array on a GPU nor an address",
            "doubled: `x` is -4, which is no address",
            "accepted",
        ]
    );
}

/// Numbers of types that C does not have are rounded; truth values are 0 or 1.
#[test]
fn python_converts_numbers() {
    let kernel = "kernel several(out: f32[4], h: f16, w: bf16, e: e4m3, b: bool, s: f32)
                  out[0] = cast(f32, h)
                  out[1] = cast(f32, w)
                  out[2] = cast(f32, e)
                  out[3] = if(b, s, 0.0)";
    let Some(of) = Exported::new(LoopKernel::parse(kernel).unwrap()) else { return };
    of.build();
    let script = r#"
import several
module, out = several.Module(), memory([0.0] * 4)
def run(*numbers):
    module.launch(Interface(out), *numbers)
    driver.cuCtxSynchronize()
    print(*out)
run(1.5, 1.5, 1.5, True, 0.1)
run(0.1, 0.1, 0.1, 0, 1)
run(-65519, 1 + 2**-8, 1e9, 1, float("-inf"))
run(6e-8, -0.0, 2**-10, 1, 0.5)
run(float("inf"), 3.3895e38, -float("inf"), 1, 0.5)
run(float("nan"), float("nan"), float("nan"), 1, float("nan"))
for numbers in [(1, 1, 1, 2, 1), (65520, 1, 1, 1, 1), (1, 3.4e38, 1, 1, 1), (1, 1, 1, 1, 1e39), ("1", 1, 1, 1, 1)]:
    refused(module.launch, Interface(out), *numbers)
"#;
    let Some(lines) = printed(&of, script) else { return };
    // The runtime's, of the same numbers.
    let run = |[h, w, e]: [f64; 3], b: bool, s: f64| {
        let args = Args::new().scalar("h", h).scalar("w", w).scalar("e", e).scalar("b", b).scalar("s", s);
        expected(&of.kernel, &args, "out")
    };
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let wanted = [
        run([1.5; 3], true, 0.1),
        run([0.1; 3], false, 1.0),
        run([-65519.0, 1.0 + 2f64.powi(-8), 1e9], true, -inf),
        run([6e-8, -0.0, 2f64.powi(-10)], true, 0.5),
        run([inf, 3.3895e38, -inf], true, 0.5),
        run([nan; 3], true, nan),
    ];
    for (line, wanted) in lines.iter().zip(&wanted) {
        let found: Vec<f32> = line.split(' ').map(|word| word.parse::<f64>().unwrap() as f32).collect();
        let bits =
            |all: &[f32]| all.iter().map(|v| if v.is_nan() { 0 } else { v.to_bits() }).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(wanted), "{line}, {wanted:?}");
    }
    assert_eq!(
        lines[wanted.len()..],
        [
            "several: `b` is 2, which is neither 0 nor 1",
            "several: `h` is 65520.0, which is beyond what f16 can represent",
            "several: `w` is 3.4e+38, which is beyond what bf16 can represent",
            "several: `s` is 1e+39, which is beyond what f32 can represent",
            "must be real number, not str",
        ]
    );
    // In C they are bits, which its header says.
    for line in ["h: f16, passed as its bits", "b: bool, 0 or 1"] {
        assert!(of.code.header.contains(line), "{}", of.code.header);
    }
    let loaded = Loaded::new(&of);
    type Launch = unsafe extern "C" fn(*const c_void, *mut c_void, u64, u16, u16, u8, u8, f32) -> c_int;
    let (launch, out): (Launch, _) = (loaded.function("launch"), loaded.memory(&[0.0; 4]));
    // SAFETY: the types are those of the header, and the array has four elements.
    let call =
        |b: u8| unsafe { launch(loaded.module(), std::ptr::null_mut(), out, 0x3e00, 0x3fc0, 0x3c, b, 0.5) };
    assert_eq!(call(1), 0);
    assert_eq!(loaded.read(out, 4), [1.5, 1.5, 1.5, 0.5]);
    assert_eq!(loaded.message(call(2)), "several: `b` is a truth value, which is neither 0 nor 1");
}

/// Strides that are not nested may keep elements apart as well.
#[test]
fn strides_are_told_apart_as_the_runtime_does() {
    let kernel = "kernel places(out: f32[n, m] strides(s, t), n: i32, m: i32, s: i32, t: i32)
                  domain { [i, j] : 0 <= i < n and 0 <= j < m }
                  out[i, j] = 1.0";
    let Some(of) = Exported::new(LoopKernel::parse(kernel).unwrap()) else { return };
    let loaded = Loaded::new(&of);
    let check: unsafe extern "C" fn(i32, i32, i32, i32) -> c_int = loaded.function("check");
    let script = "import places\nfor a in __import__('itertools').product(range(5), range(5), range(7), range(7)):\n    \
                  try:\n        places.check(*a)\n        print(1)\n    except ValueError:\n        print(0)\n";
    let Some(lines) = printed(&of, script) else { return };
    let mut lines = lines.iter();
    for (n, m) in (0..5).flat_map(|n| (0..5).map(move |m| (n, m))) {
        for (s, t) in (0..7).flat_map(|s| (0..7).map(move |t| (s, t))) {
            let places: Vec<i32> = (0..n).flat_map(|i| (0..m).map(move |j| i * s + j * t)).collect();
            let distinct: std::collections::BTreeSet<&i32> = places.iter().collect();
            let is_fine = distinct.len() == places.len();
            // SAFETY: a function of four numbers.
            let accepted = unsafe { check(n, m, s, t) } == 0;
            assert_eq!(accepted, is_fine, "{n} {m} {s} {t}");
            assert_eq!(lines.next().unwrap() == "1", is_fine, "{n} {m} {s} {t}, in Python");
        }
    }
}
