"""Cases that call one function with arrays."""

from headrace import np


def on(function, *shapes):
    """`function` of one array of uniform numbers for each shape."""

    def prepare():
        arrays = [np.random.uniform(size=shape) for shape in shapes]
        return lambda: function(*arrays).wait_to_read()

    return prepare
