"""What is timed, in NumPy."""

from . import data, linalg, pointwise, products, reduce, tiny

CASES = tiny.CASES | pointwise.CASES | reduce.CASES | products.CASES | data.CASES | linalg.CASES
