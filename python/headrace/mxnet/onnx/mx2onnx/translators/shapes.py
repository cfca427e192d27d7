"""Operators that change shapes, join and part."""

from .._registry import translates


@translates("Flatten")
def flatten(g, node):
    return g.add("Flatten", node.inputs, axis=1)


def pieces(node, shape, spec):
    """What each size of the result is, by the codes of MXNet's Reshape.

    That is ("axes", axes of the input), ("size", n), ("part", axis, n) or ("rest",).
    """
    found, place, spec = [], 0, list(spec)
    while spec:
        code = spec.pop(0)
        if code > 0:
            found.append(("size", code))
            place += 1
        elif code == 0:
            found.append(("axes", [place]))
            place += 1
        elif code == -1:
            found.append(("rest",))
            place += 1
        elif code == -2:
            found += [("axes", [i]) for i in range(place, len(shape))]
            place = len(shape)
        elif code == -3:
            found.append(("axes", [place, place + 1]))
            place += 2
        elif code == -4 and len(spec) >= 2:
            first, second = spec.pop(0), spec.pop(0)
            found.append(("part", place, second) if first == -1 else ("size", first))
            found.append(("part", place, first) if second == -1 else ("size", second))
            place += 1
        else:
            raise node.error(f"expected sizes and codes of Reshape, got shape={node.get('shape')}")
    return found


def dynamic_size(g, node, piece, place):
    """A size of the result as a vector of one int64, read when the model runs."""
    kind, *rest = piece
    if kind == "size":
        return g.integers(rest)
    if kind == "rest":
        return g.integers([-1])
    if kind == "part":
        return g.add("Div", [g.size(node, rest[0]), g.integers([rest[1]])])
    sizes = g.size(node, rest[0][0])
    for axis in rest[0][1:]:
        sizes = g.add("Mul", [sizes, g.size(node, axis)])
    return sizes


@translates("Reshape")
def reshape(g, node):
    spec = node.get("shape", ())
    spec = spec if isinstance(spec, (tuple, list)) else (spec,)
    backwards = node.get("reverse", False)
    if not spec:
        raise node.error("target_shape has no translation to ONNX; expected shape")
    if min(spec) >= -1 and not backwards:
        return g.reshape(node.inputs[0], spec)
    if not g.dynamic:
        return g.reshape(node.inputs[0], node.out_shapes[0])
    if not backwards:
        found = pieces(node, node.shapes[0], spec)
    else:
        found = pieces(node, node.shapes[0], spec[::-1])[::-1]
        last = node.rank - 1
        found = [(k, [last - i for i in r[0]][::-1]) if k == "axes" else (k, *r) for k, *r in found]
        if any(kind == "part" for kind, *_ in found):
            raise node.error("reverse with -4 needs dynamic=False")
    sizes = [dynamic_size(g, node, piece, i) for i, piece in enumerate(found)]
    return g.add("Reshape", [node.inputs[0], g.concat(sizes)])


@translates("reshape_like")
def reshape_like(g, node):
    rank, other = node.rank, len(node.shapes[1])
    begin, end = (int(node.get(*key)) for key in (("lhs_begin", 0), ("lhs_end", rank)))
    first, last = (int(node.get(*key)) for key in (("rhs_begin", 0), ("rhs_end", other)))
    begin, end = (place + rank if place < 0 else place for place in (begin, end))
    first, last = (place + other if place < 0 else place for place in (first, last))
    own, like = g.shape(node), g.shape(node, 1)
    parts = [(own, 0, begin), (like, first, last), (own, end, rank)]
    sizes = g.concat([g.slice(name, 0, a, b) for name, a, b in parts if a < b])
    return g.add("Reshape", [node.inputs[0], sizes])


@translates("shape_array")
def shape_array(g, node):
    return g.add("Shape", node.inputs)


@translates("size_array")
def size_array(g, node):
    return g.reshape(g.add("Size", node.inputs), [1])


@translates("transpose")
def transpose(g, node):
    axes = node.get("axes", ())
    return g.add("Transpose", node.inputs, **({"perm": axes} if axes else {}))


@translates("SwapAxis")
def swap_axes(g, node):
    order = list(range(node.rank))
    one, two = node.axis("dim1", 0), node.axis("dim2", 0)
    order[one], order[two] = two, one
    return g.add("Transpose", node.inputs, perm=order)


@translates("expand_dims")
def expand_dims(g, node):
    return g.unsqueeze(node.inputs[0], node.axis(rank=node.rank + 1))


@translates("squeeze")
def squeeze(g, node):
    axes = node.axes()
    if axes is None:
        axes = [i for i, size in enumerate(node.shapes[0]) if size == 1]
    if len(axes) == node.rank:
        return g.reshape(node.inputs[0], [1])
    return g.add("Squeeze", [node.inputs[0], g.integers(axes)])


@translates("Concat", "_rnn_param_concat")
def concat(g, node):
    return g.add("Concat", node.inputs, axis=int(node.get("dim", 1)))


@translates("stack")
def stack(g, node):
    axis = node.axis(default=0, rank=node.rank + 1)
    return g.add("Concat", [g.unsqueeze(name, axis) for name in node.inputs], axis=axis)


def parted(g, node, sizes, axis):
    """The parts of given sizes along an axis, without that axis where squeeze_axis asks for it."""
    parts = g.add("Split", [node.inputs[0], g.integers(sizes)], outputs=len(sizes), axis=axis)
    parts = [parts] if isinstance(parts, str) else parts
    if node.get("squeeze_axis", False):
        parts = [g.add("Squeeze", [part, g.integers([axis])]) for part in parts]
    return parts


@translates("SliceChannel")
def slice_channel(g, node):
    axis, count = node.axis(default=1), int(node.get("num_outputs"))
    return parted(g, node, [node.shapes[0][axis] // count] * count, axis)


@translates("_split_v2")
def split(g, node):
    axis, sections = node.axis(default=0), int(node.get("sections", 0))
    size = node.shapes[0][axis]
    if sections:
        return parted(g, node, [size // sections] * sections, axis)
    bounds = node.get("indices", ())
    bounds = [*(bounds if isinstance(bounds, (tuple, list)) else (bounds,)), size]
    if bounds[0] != 0:
        bounds.insert(0, 0)
    return parted(g, node, [b - a for a, b in zip(bounds, bounds[1:])], axis)


@translates("tile")
def tile(g, node):
    reps = node.get("reps")
    reps = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    data, rank = node.inputs[0], node.rank
    if len(reps) > rank:
        data = g.unsqueeze(data, *range(len(reps) - rank))
    return g.add("Tile", [data, g.integers([1] * (rank - len(reps)) + reps)])


@translates("repeat")
def repeat(g, node):
    """Each element several times: a new axis after the repeated one, tiled and joined with it."""
    data, times = node.inputs[0], int(node.get("repeats"))
    rank, axis = node.rank, 0
    if node.get("axis") is None:
        data, rank = g.reshape(data, [-1]), 1
    else:
        axis = node.axis()
    wide = g.add(
        "Tile",
        [g.unsqueeze(data, axis + 1), g.integers([times if i == axis + 1 else 1 for i in range(rank + 1)])],
    )
    if rank == 1:
        return g.reshape(wide, [-1])
    sizes = [g.integers([-1]) if i == axis else g.size(node, i) for i in range(rank)]
    return g.add("Reshape", [wide, g.concat(sizes)])


@translates("broadcast_to")
def broadcast_to(g, node):
    sizes = [g.integers([s]) if s else g.size(node, i) for i, s in enumerate(node.get("shape"))]
    return g.add("Expand", [node.inputs[0], g.concat(sizes)])


@translates("broadcast_axis")
def broadcast_axis(g, node):
    axes, sizes = (node.get(key, ()) for key in ("axis", "size"))
    axes, sizes = ((v if isinstance(v, (tuple, list)) else (v,)) for v in (axes, sizes))
    target = [1] * node.rank
    for axis, size in zip(axes, sizes):
        target[axis] = size
    return g.add("Expand", [node.inputs[0], g.integers(target)])


@translates("broadcast_like")
def broadcast_like(g, node):
    ours, theirs = node.get("lhs_axes", ()), node.get("rhs_axes", ())
    if not ours:
        return g.add("Expand", [node.inputs[0], g.shape(node, 1)])
    target = [g.integers([1])] * node.rank
    for axis, other in zip(ours, theirs):
        target[axis] = g.size(node, other % len(node.shapes[1]), 1)
    return g.add("Expand", [node.inputs[0], g.concat(target)])


@translates("depth_to_space")
def depth_to_space(g, node):
    return g.add("DepthToSpace", node.inputs, blocksize=int(node.get("block_size")), mode="DCR")


@translates("space_to_depth")
def space_to_depth(g, node):
    return g.add("SpaceToDepth", node.inputs, blocksize=int(node.get("block_size")))
