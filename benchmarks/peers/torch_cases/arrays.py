"""Cases that call one function with arrays."""

import torch


def on(function, *shapes, dtype=torch.float32):
    """`function` of one tensor of uniform numbers for each shape."""

    def prepare():
        arrays = [torch.rand(shape).to(dtype) for shape in shapes]
        return lambda: function(*arrays)

    return prepare
