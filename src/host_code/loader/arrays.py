def _truth(what, value):
    if value not in (0, 1):
        raise ValueError(f"{what} is {value!r}, which is neither 0 nor 1")
    return int(value)


# The bits of a type's exponent and fraction, and those of its greatest number.
_FLOATS = {
    "e4m3": (4, 3, 0x7E), "e5m2": (5, 2, 0x7B), "f16": (5, 10, 0x7BFF), "bf16": (8, 7, 0x7F7F),
    "f32": (8, 23, 0x7F7FFFFF),
}


def _number(what, value, dtype):
    """A number as it is passed: of a type that C does not have, its bits."""
    value = math.ldexp(value, 0)  # unlike `float`, of numbers alone
    if dtype == "f64":
        return value
    exponent, fraction, greatest = _FLOATS[dtype]
    saturates = dtype in ("e4m3", "e5m2")
    if math.isnan(value):
        bits = (1 << exponent + fraction) - 1
    elif math.isinf(value):
        bits = greatest if saturates else greatest + 1
    else:
        least = 2 - (1 << exponent - 1)
        scale = max(math.frexp(value)[1] - 1, least) if value else least
        bits = round(math.ldexp(abs(value), fraction - scale)) + (scale - least << fraction)
        if bits > greatest and not saturates:
            raise ValueError(f"{what} is {value!r}, which is beyond what {dtype} can represent")
        bits = min(bits, greatest)
    if dtype == "f32":
        return value
    return bits | (math.copysign(1.0, value) < 0) << exponent + fraction


def _overlap(a, a_bytes, b, b_bytes):
    return a_bytes > 0 and b_bytes > 0 and a < b + b_bytes and b < a + a_bytes


# How the array interface and PyTorch call a type. What neither has may be passed as its bits.
_TYPES = {
    "bool": "b1 bool", "i8": "i1 int8", "i16": "i2 int16", "i32": "i4 int32", "i64": "i8 int64",
    "u8": "u1 uint8", "u16": "u2 uint16", "u32": "u4 uint32", "u64": "u8 uint64",
    "e4m3": "V1 f1 u1 i1 float8_e4m3fn uint8 int8", "e5m2": "V1 f1 u1 i1 float8_e5m2 uint8 int8",
    "f16": "f2 float16", "bf16": "V2 u2 i2 bfloat16 uint16 int16", "f32": "f4 float32",
    "f64": "f8 float64",
}


def _is_address(array):
    if isinstance(array, int):
        return True
    # An integer of NumPy.
    return not getattr(array, "shape", None) and hasattr(array, "__index__") and not hasattr(array, "data_ptr")


def _view(what, array, written):
    """The address, shape, strides in elements, size and type of the elements of an array."""
    if not getattr(array, "is_cuda", True):
        raise ValueError(f"{what} is in the memory of the host, and not on a GPU")
    # A tensor, whose own methods know all types, says more than its interface.
    if hasattr(array, "data_ptr") and hasattr(array, "element_size"):
        if written and getattr(array, "requires_grad", False):
            raise ValueError(f"{what} has gradients, and the kernel writes it: pass `.detach()`")
        given = str(getattr(array, "dtype", "")).rpartition(".")[2]
        return array.data_ptr(), tuple(array.shape), tuple(array.stride()), array.element_size(), given
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface:
        address, read_only = interface["data"]
        if read_only and written:
            raise ValueError(f"{what} is read-only, and the kernel writes it")
        shape, given = tuple(interface["shape"]), interface["typestr"]
        item, steps = int(given[2:]), interface.get("strides")
        if given[0] == ">" and item > 1:
            raise ValueError(f"{what} has elements {given}, in another byte order than the device's")
        if steps is None:
            steps = _contiguous(shape)
        elif any(step % item for step in steps):
            raise ValueError(f"{what} has strides of {tuple(steps)} bytes, and elements of {item}")
        else:
            steps = tuple(step // item for step in steps)
        return address, shape, steps, item, given[1:]
    of = type(array).__name__
    raise TypeError(f"{what} is of type `{of}`, which is neither an array on a GPU nor an address")


def _contiguous(shape):
    steps, step = [], 1
    for length in reversed(shape):
        steps.insert(0, step)
        step *= length
    return tuple(steps)


def _are_strides(shape, steps, strides):
    return 0 in shape or all(n < 2 or a == b for n, a, b in zip(shape, steps, strides))


def _aligned(what, address, alignment):
    if not 0 <= address < 1 << 64:
        raise ValueError(f"{what} is {address}, which is no address")
    if address % alignment:
        raise ValueError(f"{what} does not begin at a multiple of {alignment} bytes")
    return address


def _address(what, array, dtype, item, shape, strides, alignment, written):
    if _is_address(array):
        return _aligned(what, operator.index(array), alignment)
    address, own, steps, size, given = _view(what, array, written)
    if own != shape:
        raise ValueError(f"{what} has shape {own}, and the kernel expects {shape}")
    if size != item:
        raise ValueError(f"{what} has elements of {size} bytes, not {item}")
    if given and given not in _TYPES[dtype].split():
        raise ValueError(f"{what} has elements {given}, and the kernel expects {dtype}")
    if not _are_strides(shape, steps, strides):
        raise ValueError(f"{what} has strides {steps}, and the kernel expects {strides}")
    return _aligned(what, address, alignment)


def _workspace(what, array, needed):
    if _is_address(array):
        return _aligned(what, operator.index(array), 256)
    address, shape, steps, item, _ = _view(what, array, True)
    if not _are_strides(shape, steps, _contiguous(shape)):
        raise ValueError(f"{what} is not contiguous")
    if math.prod(shape) * item < needed:
        raise ValueError(f"{what} has {math.prod(shape) * item} bytes, and the launch needs {needed}")
    return _aligned(what, address, 256)


def _stream(stream):
    for handle in ("cuda_stream", "ptr"):
        stream = getattr(stream, handle, stream)
    return operator.index(stream or 0)
