"""Operators that change shapes, join and part."""

import math

from ......base import MXNetError
from .._registry import translates
from .._sizes import Size


@translates("Reshape")
def reshape(node):
    return node.out("Reshape", node.input(), shape=target(node))


def target(node):
    """Sizes for MXNet's Reshape, whose 0 and -1 are those of ONNX."""
    try:
        sizes = node.setting("shape", 1)
    except MXNetError:
        # The sizes are those of tensors whose sizes may be any.
        sizes = [
            as_before(node, size, i)
            for i, size in enumerate(node.sizes(1) or node.output_shape() or [None] * 2)
        ]
        if sizes.count(None) > 1 or None in sizes and -1 in sizes:
            raise
        return tuple(-1 if size is None else size for size in sizes)
    if node.get("allowzero", 0) and 0 in sizes:
        raise node.error(f"allowzero with {sizes} has no translation to MXNet")
    return tuple(int(size) for size in sizes) or (1,)


def as_before(node, size, place):
    """A size as a number: 0 where it is the input's in this place, None where it is not known."""
    if isinstance(size, Size):
        return 0 if node.is_own(size, place) else None
    return size


@translates("Flatten")
def flatten(node):
    axis = node.get("axis", 1)
    if axis == 1:
        return node.out("Flatten", node.input())
    axis = axis % node.rank() if axis < 0 else axis
    if axis == 0:
        return node.out("Reshape", node.input(), shape=(1, -1))
    sizes = node.shape()
    front, back = (math.prod(part) if None not in part else -1 for part in (sizes[:axis], sizes[axis:]))
    if front == back == -1:
        raise node.error(f"expected more known sizes, got {sizes}")
    return node.out("Reshape", node.input(), shape=(front, back))


@translates("Transpose")
def transpose(node):
    return node.out("transpose", node.input(), axes=tuple(node.get("perm", ())))


@translates("Squeeze")
def squeeze(node):
    axes = node.setting("axes", 1)
    return node.out("squeeze", node.input(), **({"axis": tuple(map(int, axes))} if axes else {}))


@translates("Unsqueeze")
def unsqueeze(node):
    axes = [int(axis) for axis in node.setting("axes", 1)]
    if min(axes) < 0:
        rank = node.rank() + len(axes)
        axes = [axis % rank for axis in axes]
    data, axes = node.input(), sorted(axes)
    if node.ranks(0) == [0]:
        return node.out("Reshape", data, shape=(1,) * len(axes))
    for axis in axes[:-1]:
        data = node.op("expand_dims", data, axis=axis)
    return node.out("expand_dims", data, axis=axes[-1])


@translates("Concat")
def concat(node):
    return node.out("Concat", *node.inputs(), dim=node.axis(default=1))


@translates("Split")
def split(node):
    axis, data = node.axis(), node.input()
    sizes = node.setting("split", 1)
    if sizes is None:
        size, parts = node.shape()[axis], node.outputs
        if size is None:
            raise node.error(f"expected a known size of axis {axis}, got {node.shape()}")
        part = -(-size // parts)
        sizes = [part] * (parts - 1) + [size - part * (parts - 1)]
    bounds = [0]
    for size in sizes[:-1]:
        bounds.append(bounds[-1] + int(size))
    ends = [*bounds[1:], None]
    return [node.op("slice_axis", data, axis=axis, begin=begin, end=end) for begin, end in zip(bounds, ends)]


@translates("Tile")
def tile(node):
    return node.out("tile", node.input(), reps=tuple(int(n) for n in node.setting("repeats", 1)))


@translates("Expand")
def expand(node):
    shape = node.output_shape()
    if shape is None or None in shape:
        raise node.error(f"expected a result of known shape, got {shape}")
    return node.out("_npi_broadcast_to", node.input(), shape=shape or (1,))


@translates("Shape")
def shape(node):
    return node.out(
        "slice",
        node.op("shape_array", node.input()),
        begin=(node.get("start", 0),),
        end=(node.get("end"),),
    )


@translates("Size")
def size(node):
    return node.out("size_array", node.input())


@translates("DepthToSpace", "SpaceToDepth")
def depth(node):
    block, data = node.get("blocksize"), node.input()
    if node.operator == "SpaceToDepth":
        node.refuse("mode", "DCR")
        return node.out("space_to_depth", data, block_size=block)
    if node.get("mode", "DCR") == "DCR":
        return node.out("depth_to_space", data, block_size=block)
    parts = node.op("Reshape", data, shape=(0, -4, -1, block * block, 0, 0))
    parts = node.op("Reshape", parts, shape=(0, 0, -4, block, block, 0, 0))
    turned = node.op("transpose", parts, axes=(0, 1, 4, 2, 5, 3))
    return node.out("Reshape", turned, shape=(0, 0, -3, -3))
