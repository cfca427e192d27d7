"""What is timed, in NumPy."""

from . import data, linalg, middle, pointwise, products, reduce, tiny

CASES = (
    tiny.CASES | pointwise.CASES | middle.CASES | reduce.CASES | products.CASES | data.CASES | linalg.CASES
)
