"""Parts of arrays, rows by number, and padding."""

import numpy as np

from ......base import MXNetError
from .._registry import translates


@translates("Slice")
def slice_(node):
    starts, ends = node.setting("starts", 1), node.setting("ends", 2)
    axes = node.setting("axes", 3, range(len(starts)))
    steps = node.setting("steps", 4, [1] * len(starts))
    data, makers = node.input(), [node.op] * (len(starts) - 1) + [node.out]
    if min(axes) < 0:
        axes = [axis % node.rank() for axis in axes]
    for make, begin, end, axis, step in zip(makers, starts, ends, axes, steps):
        size = node.shape()[axis] if step < 0 else None
        bounds = {"begin": bound(begin, step, size, True), "end": bound(end, step, size, False)}
        skipped = [None] * axis
        data = make("slice", data, **{key: (*skipped, v) for key, v in bounds.items()}, step=(*skipped, step))
    return data


def bound(value, step, size, first):
    """A bound of MXNet's slice, None at the end of the axis."""
    if step > 0:
        return None if abs(value) >= 2**31 - 1 and (value > 0) != first else int(value)
    if size is not None and value < -size:
        return 0 if first else None
    return None if first and (value >= 2**31 - 1 or size is not None and value >= size) else int(value)


def rows_from_front(node, index, axis):
    """Row numbers; constant negative ones counted from the front."""
    try:
        numbers = node.constant(index)
    except MXNetError:
        return node.op("_copy", node.input(index)), "wrap"
    if (numbers < 0).any():
        size = node.shape()[axis]
        if size is None:
            return node.parameter(numbers, "rows"), "wrap"
        numbers = np.where(numbers < 0, numbers + size, numbers)
    return node.parameter(numbers, "rows"), "clip"


@translates("Gather")
def gather(node):
    axis = node.axis()
    rows, mode = rows_from_front(node, 1, axis)
    if node.rank(1) > 0:
        return node.out("take", node.input(), rows, axis=axis, mode=mode)
    taken = node.op("take", node.input(), rows, axis=axis, mode=mode)
    return node.out("squeeze", taken, axis=(axis,))


@translates("GatherND")
def gather_nd(node):
    rank, batch, places = node.rank(1), node.get("batch_dims", 0), node.input(1)
    if batch:
        # Each place begins with its own place in the batch.
        shape = node.shape(1, known=True)[:-1]
        own = np.stack(np.indices(shape)[:batch], axis=-1)
        places = node.op(
            "Concat", node.parameter(own, "batch"), node.op("Cast", places, dtype="int64"), dim=rank - 1
        )
    places = node.op("transpose", places, axes=(rank - 1, *range(rank - 1)))
    return node.out("gather_nd", node.input(), places)


@translates("GatherElements")
def gather_elements(node):
    axis, shape = node.axis(), node.shape(1, known=True)
    places = node.op("expand_dims", node.input(1), axis=0)
    others = []
    for i in range(len(shape)):
        numbers = np.arange(shape[i]).reshape([-1 if j == i else 1 for j in range(len(shape))])
        array = np.broadcast_to(numbers, shape)[None].astype("int64")
        others.append(places if i == axis else node.parameter(array, f"axis{i}"))
    return node.out("gather_nd", node.input(), node.op("Concat", *others, dim=0))


@translates("OneHot")
def one_hot(node):
    depth = int(np.ravel(node.constant(1))[0])
    off, on = np.ravel(node.constant(2)).tolist()
    rows = node.op("Cast", node.input(), dtype="float32")
    below = node.op("_mul_scalar", node.op("_lesser_scalar", rows, scalar=0), scalar=depth)
    rows = node.op("broadcast_add", rows, below)
    axis, rank = node.get("axis", -1), node.rank()
    hot = node.op("one_hot", rows, depth=depth, on_value=on, off_value=off)
    order = list(range(rank))
    order.insert(axis % (rank + 1), rank)
    return node.out("transpose", hot, axes=tuple(order))


@translates("Pad")
def pad(node):
    node.refuse("mode", "constant", "edge", "reflect")
    widths = [int(width) for width in node.setting("pads", 1)]
    value = node.setting("value", 2, [0])[0]
    half = len(widths) // 2
    pairs = list(zip(widths[:half], widths[half:]))
    if node.has(3):
        rank, given = node.rank(), dict(zip((int(a) for a in node.constant(3)), pairs))
        pairs = [given.get(i, given.get(i - rank, (0, 0))) for i in range(rank)]
    return padded(node, node.out, node.input(), pairs, float(value), node.get("mode", "constant"))


def padded(node, make, data, pairs, value=0.0, mode="constant"):
    """The data with widths before and after each axis; negative widths cut."""
    if any(width < 0 for pair in pairs for width in pair):
        raise node.error(f"expected widths of padding >= 0, got {pairs}")
    return make("_npi_pad", data, pad_width=tuple(pairs), mode=mode, constant_value=value)


@translates("Trilu")
def triangle(node):
    kind = "_npi_triu" if node.get("upper", 1) else "_npi_tril"
    return node.out(kind, node.input(), k=int(node.setting("k", 1, [0])[0]))
