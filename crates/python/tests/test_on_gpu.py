"""Arrays of PyTorch, CuPy and JAX themselves, on a GPU: where they are, and in the order of their
streams. What is not installed, and a machine without a GPU, is skipped."""

import importlib.util
import os
import shutil
import subprocess
import unittest

import loopwright

# JAX would take most of the memory, that of the other libraries too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

AXPY = """
kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
assume n >= 1
domain { [i] : 0 <= i < n }
y[i] = y[i] + a*x[i]
"""
TWICE = """
kernel twice(x: f32[n], out: f32[n], n: i32)
assume n >= 1
domain { [i] : 0 <= i < n }
out[i] = 2.0*x[i]
"""
STEPS = """
split_iname(i, 256)
tag_inames(i_outer: block.x, i_inner: thread.x)
"""
# 256 MiB of f32: a copy would be seen in the memory that is in use.
MANY = 1 << 26
DEVICES = shutil.which("nvidia-smi") and subprocess.run(
    ["nvidia-smi", "--list-gpus"], capture_output=True, text=True
).stdout.strip()


def used():
    """MiB of the first GPU that are in use."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def needs(library):
    there = importlib.util.find_spec(library) is not None
    return unittest.skipUnless(DEVICES and there, f"there is no GPU, or no {library}")


@needs("torch")
class OfPyTorch(unittest.TestCase):
    def test_tensors_are_read_and_written_where_they_are(self):
        import torch

        kernel = loopwright.Kernel(AXPY).apply(STEPS)
        x, y = torch.arange(MANY, device="cuda") % 1000.0, torch.ones(MANY, device="cuda")
        kernel(x=x[:1], y=y[:1], a=0)
        torch.cuda.synchronize()
        before, address = used(), y.data_ptr()
        self.assertIs(kernel(x=x, y=y, a=2)["y"], y)
        torch.cuda.synchronize()
        self.assertLess(used() - before, 128)
        self.assertEqual(y.data_ptr(), address)
        self.assertTrue(torch.equal(y, 1 + 2 * x))

    def test_a_launch_stands_in_the_order_of_the_current_stream(self):
        import torch

        kernel, stream = loopwright.Kernel(TWICE), torch.cuda.Stream()
        x = torch.zeros(1000, device="cuda")
        kernel(x=x)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            x.fill_(3)
            out = kernel(x=x)["out"]
            waits = not stream.query()
            after = out + 1
        stream.synchronize()
        self.assertIsInstance(out, torch.Tensor)
        self.assertTrue(waits, "the call waited for the stream")
        self.assertTrue(torch.equal(after, torch.full_like(x, 7)))

    def test_results_live_as_long_as_their_tensors(self):
        import torch

        kernel = loopwright.Kernel(TWICE)
        kept = [kernel(x=torch.full((1000,), float(k), device="cuda"))["out"] for k in range(50)]
        for k, out in enumerate(kept):
            self.assertTrue(torch.equal(out, torch.full_like(out, 2.0 * k)))

    def test_elements_of_16_bits(self):
        import torch

        text = TWICE.replace("f32", "bf16")
        x = torch.randn(1000, device="cuda", dtype=torch.bfloat16)
        out = loopwright.Kernel(text)(x=x)["out"]
        self.assertEqual(out.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(out, 2 * x))

    def test_a_bound_kernel_is_launched_often(self):
        import torch

        x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
        step = loopwright.Kernel(AXPY).bind(x=x, y=y, a=1)
        for _ in range(100):
            step()
        torch.cuda.synchronize()
        self.assertTrue(torch.equal(y, torch.full_like(y, 100)))


@needs("cupy")
class OfCuPy(unittest.TestCase):
    def test_arrays_are_read_and_written_where_they_are(self):
        import cupy

        kernel = loopwright.Kernel(AXPY).apply(STEPS)
        x = cupy.arange(MANY, dtype=cupy.float32) % 1000
        y = cupy.ones(MANY, dtype=cupy.float32)
        kernel(x=x[:1], y=y[:1], a=0)
        before, address = used(), y.data.ptr
        self.assertIs(kernel(x=x, y=y, a=2)["y"], y)
        self.assertLess(used() - before, 128)
        self.assertEqual(y.data.ptr, address)
        self.assertTrue(bool((y == 1 + 2 * x).all()))
        out = loopwright.Kernel(TWICE)(x=x)["out"]
        self.assertIsInstance(out, cupy.ndarray)
        self.assertTrue(bool((out == 2 * x).all()))

    def test_a_launch_stands_in_the_order_of_the_current_stream(self):
        import cupy

        sleep = cupy.RawKernel(
            'extern "C" __global__ void sleep() { long long t = clock64(); while (clock64() - t < 200000000); }',
            "sleep",
        )
        kernel = loopwright.Kernel(TWICE)
        x = cupy.zeros(1000, dtype=cupy.float32)
        kernel(x=x)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            sleep((1,), (1,), ())
            x.fill(3)
            out = kernel(x=x)["out"]
            after = out + 1
        stream.synchronize()
        self.assertTrue(bool((after == 7).all()))


@needs("jax")
class OfJax(unittest.TestCase):
    def test_arrays_are_read_where_they_are_and_never_written(self):
        import jax
        import jax.numpy as jnp

        if jax.default_backend() != "gpu":
            self.skipTest("JAX has no GPU")
        x = jnp.arange(1 << 20, dtype=jnp.float32)
        out = loopwright.Kernel(TWICE)(x=x)["out"]
        self.assertIsInstance(out, jax.Array)
        self.assertEqual(out.devices(), x.devices())
        self.assertTrue(bool((out == 2 * x).all()))
        # What JAX computes later may still be under way when it is passed.
        m = jnp.ones((4096, 4096), dtype=jnp.float32)
        for _ in range(20):
            m = (m @ m) / 4096
        out = loopwright.Kernel(TWICE)(x=m.reshape(-1))["out"]
        self.assertTrue(bool((out == 2).all()))
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(AXPY)(x=x, y=x, a=2)
        self.assertIn(caught.exception.code, ("read-only", "aliased-arguments"))


if __name__ == "__main__":
    unittest.main()
