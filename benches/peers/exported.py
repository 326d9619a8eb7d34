"""What `loopwright` tunes, chooses and exports, launched on torch's tensors by the driver."""

import ctypes
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

from needed import shared_library, torch
from npy import head

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

driver = shared_library("libcuda.so.1", "the driver of NVIDIA's GPUs")


def checked(status, what):
    if status != 0:
        raise RuntimeError(f"{what}: CUDA error {status}")


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


class Attribute(ctypes.Structure):
    """CUlaunchAttribute, of which the one that is used is
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, a flag."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("flag", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("shape", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    ]


def disassembler():
    """cuobjdump, the toolkit's or the one that Triton brings."""
    import triton

    brought = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return shutil.which("cuobjdump") or (str(brought) if brought.exists() else None)


def loads_ahead(binary, kernel):
    """The most bytes that a thread asks of global memory before it uses any of them, read from the
    machine code; 0 where nothing reads it."""
    program = disassembler()
    if program is None:
        return 0
    text = subprocess.run([program, "-sass", "-fun", kernel, str(binary)], capture_output=True, text=True).stdout
    most, under_way, awaited = 0, 0, set()
    for line in re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", text):
        instruction = line.split()
        if instruction and instruction[0].startswith("@"):
            del instruction[0]
        if not instruction:
            continue
        operation, registers = instruction[0], re.findall(r"\bR(\d+)", " ".join(instruction[1:]))
        used = {int(r) for r in registers}
        if operation.split(".")[0] == "LDG":
            width = 16 if ".128" in operation else 8 if ".64" in operation else 4
            first = int(registers[0])
            if awaited & {int(r) for r in registers[1:]}:
                under_way, awaited = 0, set()
            under_way += width
            awaited |= set(range(first, first + width // 4))
            most = max(most, under_way)
        elif awaited & used:
            under_way, awaited = 0, set()
    return most


class Exported:
    """A folder of `loopwright export`, bound to tensors by name; calling it launches."""

    def __init__(self, folder, tensors):
        plan = json.loads((folder / "launches.json").read_text())
        module = ctypes.c_void_p()
        binary = (folder / "kernel.cubin").read_bytes()
        checked(driver.cuModuleLoadData(ctypes.byref(module), binary), "cuModuleLoadData")
        self.alive = dict(tensors)
        for name, array in plan["arrays"].items():
            if array["scratch"]:
                self.alive[name] = torch.empty(array["bytes"], dtype=torch.uint8, device="cuda")
            elif self.alive[name].numel() * self.alive[name].element_size() < array["bytes"]:
                raise RuntimeError(f"{name} is smaller than {array['bytes']} bytes")
        self.launches = []
        self.binary = folder / "kernel.cubin"
        self.kernels = [launch["kernel"] for launch in plan["launches"]]
        for launch in plan["launches"]:
            function = ctypes.c_void_p()
            name = launch["kernel"].encode()
            checked(driver.cuModuleGetFunction(ctypes.byref(function), module, name), "cuModuleGetFunction")
            if launch["dynamic_shared"] > 48 * 1024:
                dynamic_shared_limit = 8
                size = launch["dynamic_shared"]
                checked(driver.cuFuncSetAttribute(function, dynamic_shared_limit, size), "cuFuncSetAttribute")
            values = []
            for parameter in launch["parameters"]:
                if "array" in parameter:
                    values.append(ctypes.c_void_p(self.alive[parameter["array"]].data_ptr()))
                else:
                    raw = bytes.fromhex(parameter["bytes"])
                    values.append((ctypes.c_char * len(raw)).from_buffer_copy(raw))
            pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
            shape = (ctypes.c_uint * 7)(*launch["grid"], *launch["block"], launch["dynamic_shared"])
            config = Config(shape, None, ctypes.pointer(Attribute(id=6, flag=1)), 1 if launch["early"] else 0)
            self.launches.append((function, config, pointers, values))

    def resources(self):
        """Of the launch whose threads can have the most bytes under way: registers, resident blocks
        and KiB that can be under way on a multiprocessor."""
        launches = []
        for name, (function, config, *_) in zip(self.kernels, self.launches):
            threads, shared = math.prod(config.shape[3:6]), ctypes.c_size_t(config.shape[6])
            ahead = loads_ahead(self.binary, name)
            launches.append((math.prod(config.shape[:3]) * threads * ahead, function, threads, shared, ahead))
        _, function, threads, shared, ahead = max(launches, key=lambda launch: launch[0])
        registers, blocks, number_of_registers = ctypes.c_int(), ctypes.c_int(), 4
        checked(driver.cuFuncGetAttribute(ctypes.byref(registers), number_of_registers, function), "cuFuncGetAttribute")
        of = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
        checked(of(ctypes.byref(blocks), function, threads, shared), "cuOccupancyMaxActiveBlocksPerMultiprocessor")
        return {
            "registers": registers.value,
            "resident_blocks": blocks.value,
            "threads": threads,
            "kib_under_way": ahead * threads * blocks.value / 1024,
        }

    def __call__(self):
        on = stream()
        for function, config, pointers, _ in self.launches:
            config.stream = on
            checked(driver.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None), "cuLaunchKernelEx")


class Ours:
    """The command line: tune, then export."""

    def __init__(self, binary, work, untuned=False):
        self.binary, self.work, self.count, self.untuned = binary, work, 0, untuned
        major, minor = torch.cuda.get_device_capability()
        self.arch = f"sm_{major}{minor}" + ("a" if major == 9 else "")

    def call(self, *args):
        done = subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, args))}\n{done.stderr}")
        return done.stdout

    def array(self, of, name, values):
        """NAME=FILE of an option: the values, of the problem or its sample, in a .npy file."""
        path = self.work / f"{of}{self.count}_{name}.npy"
        descr = {torch.int32: "<i4", torch.int64: "<i8", torch.float32: "<f4"}[values.dtype]
        with open(path, "wb") as file:
            file.write(head(descr, values.shape))
            raw = values.cpu().contiguous()
            file.write(ctypes.string_at(raw.data_ptr(), raw.numel() * raw.element_size()))
        return f"{name}={path}"

    def tuned(self, kernel, name, sizes, sample, arrays=None, sample_arrays=None):
        """The best point of examples/tuning/NAME for these sizes and arrays: its pipeline's file,
        and what it is. Arrays that are not given are random."""
        self.count += 1
        best = self.work / f"best{self.count}.pipe"
        tuning = EXAMPLES / "tuning" / name
        given = [f"--set={k}={v}" for k, v in sizes.items()] + [f"--sample={k}={v}" for k, v in sample.items()]
        given += [f"--input={self.array('problem', k, v)}" for k, v in (arrays or {}).items()]
        given += [f"--sample-input={self.array('sample', k, v)}" for k, v in (sample_arrays or {}).items()]
        self.call("tune", kernel, f"{tuning}.pipe", f"{tuning}.space", *given, "--device", "gpu", "--best", best)
        comment = best.read_text().splitlines()[0]
        return best, comment.split(": ", 1)[-1]

    def chosen(self, operator, dtype, *shape):
        """Kernel and pipeline that `segmented_reduce` takes for this device, untuned, and what the
        form is."""
        self.count += 1
        folder = self.work / f"chosen{self.count}"
        example = str(Path(self.binary).parent / "examples" / "segmented_reduce")
        done = subprocess.run([example, *map(str, (folder, operator, dtype, *shape))], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{example} {shape}\n{done.stderr}")
        return folder / "kernel.lw", folder / "default.pipe", done.stdout.strip()

    def exported(self, kernel, pipeline, sizes, tensors, parameters=None, auto=False):
        """The launches of a pipeline for these sizes; `parameters` are values of its open ones,
        with `auto` what it leaves open is found."""
        self.count += 1
        folder = self.work / f"export{self.count}"
        sets = [f"--set={k}={v}" for k, v in sizes.items()] + [f"--parameter={k}={v}" for k, v in (parameters or {}).items()]
        self.call("export", kernel, *([pipeline] if pipeline else []), *(["--auto"] if auto else []), *sets, "--arch", self.arch, "-o", folder)
        return Exported(folder, tensors)
