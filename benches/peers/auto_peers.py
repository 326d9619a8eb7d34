"""Peers of the kernels of examples/kernels, where there is an obvious one: torch, torch.compile, a
simple Triton kernel."""

import statistics
import sys

from needed import torch
from table import check
from timing import times


def wide(x):
    return x.double()


def cases(name, sizes):
    """Tensors, a function of them in torch, the result in f64, and how far off results may be."""
    draw = lambda *shape, dtype=torch.float32: torch.rand(*shape, device="cuda", dtype=torch.float32).sub_(0.5).to(dtype)
    if name == "axpy":
        x, y = draw(sizes["n"]), draw(sizes["n"])
        return (x, y), lambda x, y: torch.add(y, x, alpha=1.5), 1.5 * wide(x) + wide(y), 1e-6
    if name in ("softmax", "layer_norm", "log_sum_exp"):
        n = sizes["n"]
        x = draw(sizes["m"], n)
        if name == "softmax":
            return (x,), lambda x: torch.softmax(x, -1), torch.softmax(wide(x), -1), 1e-6
        if name == "log_sum_exp":
            return (x,), lambda x: torch.logsumexp(x, -1), torch.logsumexp(wide(x), -1), 1e-4
        gain, bias = draw(n), draw(n)
        norm = lambda x, gain, bias: torch.nn.functional.layer_norm(x, (n,), gain, bias, 1.5)
        return (x, gain, bias), norm, norm(wide(x), wide(gain), wide(bias)), 1e-4
    if name == "column_sum":
        x = draw(sizes["m"], sizes["n"])
        return (x,), lambda x: x.sum(0), wide(x).sum(0), 1e-5 * sizes["m"] ** 0.5
    if name == "segmented_sum":
        x = draw(sizes["nseg"], sizes["len"])
        return (x,), lambda x: x.sum(1), wide(x).sum(1), 1e-5 * sizes["len"] ** 0.5
    if name == "prefix_sum":
        x = draw(sizes["nseg"], sizes["len"])
        return (x,), lambda x: x.cumsum(1), wide(x).cumsum(1), 1e-5 * sizes["len"] ** 0.5
    if name == "transpose":
        x = draw(sizes["m"], sizes["n"])
        return (x,), lambda x: x.t().contiguous(), wide(x).t(), 0
    if name == "matmul":
        a, b = draw(sizes["m"], sizes["l"]), draw(sizes["l"], sizes["n"])
        return (a, b), lambda a, b: a @ b, wide(a) @ wide(b), 1e-5 * sizes["l"] ** 0.5
    if name == "matmul_bf16":
        a, b = (draw(sizes[k], sizes["l"], dtype=torch.bfloat16) for k in "mn")
        expected = wide(a) @ wide(b).t()
        return (a, b), lambda a, b: a @ b.t(), expected, 2**-7 * expected.abs() + 1e-3
    return None


def times_of_peers(name, sizes, repeat):
    """Milliseconds by the peer's name, medians."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    case = cases(name, sizes)
    if case is None:
        return {}
    tensors, function, expected, bound = case
    makers = {"torch": lambda: lambda: function(*tensors)}

    def compiled():
        torch._dynamo.reset()
        run = torch.compile(function, fullgraph=True, dynamic=False)
        return lambda: run(*tensors)

    def triton():
        from triton_simple import simple

        return simple(name, tensors)

    makers |= {"torch.compile": compiled, "Triton": triton}
    found = {}
    for peer, make in makers.items():
        try:
            launch = make()
            if launch is None:
                continue
            check(launch(), expected, bound, peer)
            found[peer] = statistics.median(times(launch, repeat))
        except Exception as error:  # what is not there, or wrong, is no peer
            lines = str(error).splitlines() or [""]
            print(f"  {name}, {peer}: not measured: {type(error).__name__}: {lines[0][:150]}", file=sys.stderr)
    torch.cuda.empty_cache()
    return found
