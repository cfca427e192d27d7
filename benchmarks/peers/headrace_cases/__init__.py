"""What is timed, in Headrace.

CASES has by name what prepares a case. It gives the function to time, which waits for its work; or that and a
function, not timed, that waits for what the first left.
"""

from headrace import npx

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

npx.set_np()

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
