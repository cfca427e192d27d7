"""What is timed, in PyTorch."""

from . import (
    data,
    kvstore,
    linalg,
    middle,
    networks,
    pointwise,
    products,
    reduce,
    regions,
    sequences,
    tiny,
    training,
)

CASES = (
    tiny.CASES
    | pointwise.CASES
    | middle.CASES
    | reduce.CASES
    | products.CASES
    | training.CASES
    | data.CASES
    | networks.CASES
    | sequences.CASES
    | linalg.CASES
    | regions.CASES
    | kvstore.CASES
)
