"""What measuring needs and printing a usage does not: torch and the driver, or a stand-in for them
that ends the program with a sentence when it is called."""

import ctypes
import sys


class Missing:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return self

    def __call__(self, *_, **__):
        sys.exit(f"{self.name} is missing here: this measures on a machine with a GPU")


def shared_library(file, name):
    try:
        return ctypes.CDLL(file)
    except OSError:
        return Missing(name)


try:
    import torch
except ImportError:
    torch = Missing("torch")
