"""Cases that call one function with arrays."""

import numpy as np

generator = np.random.default_rng(0)


def on(function, *shapes):
    """`function` of one array of uniform numbers for each shape."""

    def prepare():
        arrays = [generator.random(shape, dtype=np.float32) for shape in shapes]
        return lambda: function(*arrays)

    return prepare
