"""The head of a .npy file."""


def head(descr, shape):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    # Magic, version and length take 10 bytes, a newline ends the header, the data begin at a
    # multiple of 64.
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
