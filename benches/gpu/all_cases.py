"""What benches/gpu/all.py times, as data: nothing here needs a GPU or torch.

Sizes are powers of two, of elements: of all rows or segments, entries of a sparse matrix, numbers,
keys, elements of each factor of a product of squares, elements of each of the queries, keys and
values of attention.
"""

from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
HERE = ROOT / "benches" / "gpu"
POWERS = (16, 22, 28)
ROWS = (16, 512, 4096, 65536)
# Lengths that are uniform up to twice the mean.
UNEQUAL = ("uniform", 64)
SPARSE = ("uniform", 16)
WORKLOADS = {
    "rows": "sums of rows of equal length",
    "segments": "sums of segments of unequal length",
    "csr": "a sparse matrix by rows times a vector",
    "scan": "inclusive prefix sums",
    "histogram": "histograms of 256 bins, uniform keys",
    "bf16": "products of bf16, by tensor cores",
    "f32": "products of f32, without tf32",
    "attention": "attention of bf16",
}


@dataclass(frozen=True)
class Own:
    """A form of ours: a kernel and a pipeline, or what `auto` finds, or what the library chooses
    untuned (arguments of the example `segmented_reduce`, the longest segment left out)."""

    name: str
    kernel: Path | None = None
    pipeline: Path | None = None
    parameters: dict = field(default_factory=dict)
    auto: bool = False
    chosen: tuple = ()
    # If its kernel has other parameters than those of the case.
    sizes: dict | None = None


@dataclass(frozen=True)
class Case:
    """One table's part: forms of ours for arrays of given sizes, and the peers beside them."""

    workload: str
    name: str
    power: int
    sizes: dict
    own: tuple
    peers: tuple
    operations: int | None = None

    def title(self):
        name = self.name if self.workload == "rows" else f"{self.workload}, {self.name}"
        return f"{name}, 2^{self.power}"


def set_options(sizes):
    return [f"--set={name}={value}" for name, value in sizes.items()]


def export_arguments(own, sizes, arch, folder):
    """The command line of `loopwright` that writes a form's binary and launches."""
    pipeline = [own.pipeline] if own.pipeline else []
    sets = set_options(own.sizes or sizes)
    parameters = [f"--parameter={name}={value}" for name, value in own.parameters.items()]
    auto = ["--auto"] if own.auto else []
    return [str(a) for a in ("export", own.kernel, *pipeline, *auto, *sets, *parameters, "--arch", arch, "-o", folder)]


def example(kernel, pipeline):
    return Own(pipeline, EXAMPLES / "kernels" / f"{kernel}.lw", EXAMPLES / "pipelines" / kernel / f"{pipeline}.pipe")


def found(kernel):
    return Own("auto", EXAMPLES / "kernels" / f"{kernel}.lw", auto=True)


def rows(power):
    for length in ROWS:
        count = (1 << power) // length
        own = (Own("untuned", chosen=("sum", "f32", "rows", count, length)), found("segmented_sum"))
        peers = ("CUB, offsets", "CUB, fixed size", "torch.sum", "cuBLAS, ones", "torch.compile")
        peers += ("Triton", "Triton, evict-first", "Triton, persistent")
        yield Case("rows", f"rows of {length}", power, {"nseg": count, "len": length}, own, peers)


def segments(power):
    kind, mean = UNEQUAL
    sizes = {"n": 1 << power, "nseg": (1 << power) // mean}
    # Untuned, elements of segments of this mean are loaded evict-first: a form without that is
    # shown as well.
    untuned = Own("untuned", chosen=("sum", "f32", "ragged", sizes["nseg"], sizes["n"]))
    own = (untuned, example("ragged_sum", "flattened"), found("ragged_sum"))
    peers = ("CUB, segments", "CUB, ReduceByKey", "cuSPARSE with ones, 1", "cuSPARSE with ones, 2", "torch.segment_reduce")
    yield Case("segments", f"{kind}, mean {mean}", power, sizes, own, peers)


def csr(power):
    kind, mean = SPARSE
    count = (1 << power) // mean
    kernel, shape = HERE / "csr" / "csr.lw", {"threads": 128, "items": 16, "tiles": 16}
    own = (Own("flat, 128 x 16 x 16", kernel, HERE / "csr" / "flat.pipe", shape), Own("auto", kernel, auto=True))
    peers = ("cuSPARSE, 1", "cuSPARSE, 2", "cuSPARSE, 2, preprocessed", "torch.sparse")
    yield Case("csr", f"{kind}, {mean} a row", power, {"nnz": 1 << power, "rows": count, "n": count}, own, peers)


def scan(power):
    for type_name in ("i32", "f32"):
        kernel = HERE / "scan" / f"{type_name}_inclusive.lw"
        chunk = 4096 if power < 24 else 16384
        sizes = {"c": (1 << power) // chunk, "l": chunk}
        own = tuple(
            Own(f"three launches, tiles of {tile}", kernel, HERE / "scan" / "three.pipe", {"tile": tile, "own": 4}) for tile in (1024, 2048)
        )
        kernel, pipeline = HERE / "scan" / f"one_{type_name}_inclusive.lw", HERE / "scan" / "look_back.pipe"
        own += tuple(
            Own(f"look-back, tiles of {tile}", kernel, pipeline, {"tile": tile, "own": 32}, sizes={"n": 1 << power}) for tile in (4096, 8192)
        )
        yield Case("scan", type_name, power, sizes, own, ("CUB", "torch"))


def histogram(power):
    for type_name, least in (("i32", 1 << 10), ("u8", 1 << 12)):
        kernel, pipeline = (HERE / "histogram" / f"{type_name}.{e}" for e in ("lw", "pipe"))
        # At least 256 blocks, which have a copy of the counts for each warp.
        chunk = max(least, min(1 << power >> 8, 64 * least))
        own = (Own("warps' own counts", kernel, pipeline, {"chunk": chunk}), Own("auto", kernel, auto=True))
        yield Case("histogram", f"{type_name} keys", power, {"n": 1 << power}, own, ("CUB",))


def product(power, workload, kernel, forms):
    side = 1 << power // 2
    own = tuple(form for form, multiple in forms if side % multiple == 0) + (found(kernel),)
    yield Case(workload, f"{side} x {side}", power, dict.fromkeys("mnl", side), own, ("cuBLAS",), 2 * side**3)


def bf16(power):
    shape = {"bm": 256, "bn": 128, "wm": 64, "wn": 64, "bk": 64, "stages": 3, "swizzle": 3, "group": 8, "a": 4, "b": 2}
    kernel = EXAMPLES / "kernels" / "matmul_bf16.lw"
    flat = Own("ring_across_flat, 256 x 128 x 64", kernel, HERE / "tensor" / "ring_across_flat.pipe", shape)
    return product(power, "bf16", "matmul_bf16", [(flat, 2048), (example("matmul_bf16", "mma_swizzled"), 1)])


def f32(power):
    ring = Own("ring16", EXAMPLES / "kernels" / "matmul.lw", HERE / "sgemm" / "ring16.pipe")
    return product(power, "f32", "matmul", [(ring, 128), (example("matmul", "register_tile"), 1)])


# What the cases leave out on purpose.
LEFT_OUT = (
    "attention, auto, 2^28: its second product runs without tensor cores, for seconds",
    "softmax, layer norm and log-sum-exp of rows: benches/gpu/rows.sh; other shapes of sparse rows: benches/gpu/csr.sh",
    "products of tf32, s8 and f64, convolutions: benches/gpu/tensor.sh; other forms of f32: benches/gpu/sgemm.sh",
    "tuned points of segmented sums, other types: benches/peers/segments.py; PolyBench: benches/gpu/auto.sh",
    "cutlass, FlashAttention's own package, libcudf, Thrust: not tried",
)

# Heads, rows of queries and of keys, elements of a row.
HEADS = {16: (4, 256, 64), 22: (32, 2048, 64), 28: (2048, 1024, 128)}


def attention(power):
    heads, length, d = HEADS[power]
    sizes = {"h": heads, "n": length, "m": length, "d": d, "scale": d**-0.5}
    own = (example("attention", "mma"),) + ((found("attention"),) if power < 28 else ())
    name = f"{heads} heads, {length} x {d}"
    yield Case("attention", name, power, sizes, own, ("torch, flash", "torch, cuDNN"), 4 * heads * length**2 * d)


def cases(workloads=tuple(WORKLOADS), powers=POWERS):
    made = {f.__name__: f for f in (rows, segments, csr, scan, histogram, bf16, f32, attention)}
    return [case for workload in workloads for power in powers for case in made[workload](power)]


def problems(given):
    """Files that a case names and that are not there, and names that come twice: what a reader of
    the list would overlook."""
    wrong = []
    for case in given:
        for own in case.own:
            for path in (own.kernel, own.pipeline):
                if path and not path.is_file():
                    wrong.append(f"{case.title()}, {own.name}: there is no {path}")
        names = [own.name for own in case.own] + list(case.peers)
        wrong += [f"{case.title()}: two forms are named {name}" for name in sorted({n for n in names if names.count(n) > 1})]
    titles = [case.title() for case in given]
    wrong += [f"two cases are {title}" for title in sorted({t for t in titles if titles.count(t) > 1})]
    return wrong
