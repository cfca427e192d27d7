"""Parts of arrays, rows by number, and padding."""

import numpy as np

from .._registry import translates

LAST = np.iinfo(np.int64).max


@translates("slice_axis")
def slice_axis(g, node):
    end = node.get("end")
    return g.slice(node.inputs[0], node.axis(), int(node.get("begin", 0)), LAST if end is None else int(end))


@translates("slice")
def slice_(g, node):
    begin, end, step = (
        list(v) if isinstance(v, (tuple, list)) else [v]
        for v in (node.get(k, ()) for k in ("begin", "end", "step"))
    )
    step = [s or 1 for s in step] + [1] * (len(begin) - len(step))
    begin = [b if b is not None else (0 if s > 0 else LAST) for b, s in zip(begin, step)]
    end = [e if e is not None else (LAST if s > 0 else -LAST) for e, s in zip(end, step)]
    return g.add("Slice", [node.inputs[0], *map(g.integers, (begin, end, list(range(len(begin))), step))])


@translates("slice_like")
def slice_like(g, node):
    axes = node.axes("axes") or range(len(node.shapes[1]))
    ends = g.concat([g.size(node, axis, 1) for axis in axes])
    return g.add("Slice", [node.inputs[0], g.integers([0] * len(axes)), ends, g.integers(axes)])


@translates("Crop")
def crop(g, node):
    node.refuse("center_crop", False)
    offset, size = node.get("offset", (0, 0)), node.get("h_w", (0, 0))
    if len(node.inputs) == 2:
        size = node.shapes[1][2:]
        if g.dynamic:
            like = g.slice(g.shape(node, 1), 0, 2, 4)
            ends = g.add("Add", [like, g.integers(offset)])
            return g.add("Slice", [node.inputs[0], g.integers(offset), ends, g.integers([2, 3])])
    ends = g.integers([a + b for a, b in zip(offset, size)])
    return g.add("Slice", [node.inputs[0], g.integers(offset), ends, g.integers([2, 3])])


@translates("reverse")
def reverse(g, node):
    axes = node.axes()
    starts, ends = [-1] * len(axes), [-LAST] * len(axes)
    return g.add("Slice", [node.inputs[0], *map(g.integers, (starts, ends, axes, starts))])


def clipped(g, rows, size):
    """Row numbers within a size, a vector of one int64."""
    last = g.add("Squeeze", [g.add("Sub", [size, g.integers([1])]), g.integers([0])])
    return g.add("Clip", [rows, g.integer(0), last])


@translates("take")
def take(g, node):
    data, rows = node.inputs
    node.refuse("mode", "clip", "wrap", "raise")
    axis, mode = node.axis(default=0), node.get("mode", "clip")
    rows = g.cast(rows, "int64")
    if mode == "clip":
        rows = clipped(g, rows, g.size(node, axis))
    elif mode == "wrap":
        rows = g.add("Mod", [rows, g.size(node, axis)])
    return g.add("Gather", [data, rows], axis=axis)


@translates("Embedding")
def embedding(g, node):
    rows, weight = node.inputs
    return g.add("Gather", [weight, clipped(g, g.cast(rows, "int64"), g.size(node, 0, 1))], axis=0)


@translates("gather_nd")
def gather_nd(g, node):
    data, places = node.inputs
    rank = len(node.shapes[1])
    last = g.add("Transpose", [g.cast(places, "int64")], perm=[*range(1, rank), 0])
    return g.add("GatherND", [data, last])


@translates("pick")
def pick(g, node):
    node.refuse("mode", "clip")
    data, places = node.inputs
    axis = node.axis()
    places = clipped(g, g.cast(places, "int64"), g.size(node, axis))
    kept = len(node.shapes[1]) == node.rank
    picked = g.add("GatherElements", [data, places if kept else g.unsqueeze(places, axis)], axis=axis)
    return picked if node.get("keepdims", False) else g.add("Squeeze", [picked, g.integers([axis])])


@translates("one_hot")
def one_hot(g, node):
    depth, values = int(node.get("depth")), [node.get("off_value", 0), node.get("on_value", 1)]
    rows = g.unsqueeze(g.cast(node.inputs[0], "int64"), node.rank)
    # Numbers outside of the depth give rows of off_value; ONNX's OneHot wraps negative ones.
    same = g.add("Equal", [rows, g.count(g.integers([depth]))])
    off, on = (g.constant(value, node.out_dtypes[0]) for value in values)
    return g.add("Where", [same, on, off])


@translates("Pad")
def pad(g, node):
    node.refuse("mode", "constant", "edge", "reflect")
    widths = node.get("pad_width")
    inputs = [node.inputs[0], g.integers([*widths[::2], *widths[1::2]])]
    if node.get("mode") == "constant":
        inputs.append(g.constant(float(node.get("constant_value", 0)), node.dtypes[0]))
    return g.add("Pad", inputs, mode=node.get("mode"))
