def _apart(lengths, strides):
    if 0 in lengths:
        return True
    axes = sorted((stride, length) for stride, length in zip(strides, lengths) if length > 1)
    reach = 0
    for stride, length in axes:
        if stride > reach:
            reach += (length - 1) * stride
            continue
        if len(axes) != 2 or axes[0][0] == 0:
            return False
        # Two elements meet where a multiple of one stride is one of the other.
        (a, a_length), (b, b_length) = axes
        common = math.gcd(a, b)
        return b // common >= a_length or a // common >= b_length
    return True
