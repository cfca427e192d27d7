"""What is timed, in PyTorch."""

from . import data, kvstore, middle, networks, pointwise, products, reduce, tiny, training

CASES = (
    tiny.CASES
    | pointwise.CASES
    | middle.CASES
    | reduce.CASES
    | products.CASES
    | training.CASES
    | data.CASES
    | networks.CASES
    | kvstore.CASES
)
