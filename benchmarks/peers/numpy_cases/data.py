"""Arrays in files."""

import os
import tempfile

import numpy as np


def fifty_arrays():
    return {f"w{i}": np.ones((1024, 1024), "float32") for i in range(50)}


def save():
    folder, arrays = tempfile.TemporaryDirectory(), fifty_arrays()
    return lambda: np.savez(os.path.join(folder.name, "params.npz"), **arrays)


def load():
    folder = tempfile.TemporaryDirectory()
    np.savez(os.path.join(folder.name, "params.npz"), **fifty_arrays())
    return lambda: dict(np.load(os.path.join(folder.name, "params.npz")))


CASES = {"save 200 MB": save, "load 200 MB": load}
