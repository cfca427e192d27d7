"""Vectors of sizes that are known in part: a size of a tensor stands for itself."""

from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """The size of a tensor along an axis."""

    tensor: str
    axis: int


class Sizes:
    """Follows vectors of sizes through the nodes that take them apart and put them together.

    `vectors`: arrays of int and Size by name.
    """

    def __init__(self, constants, shapes):
        self.vectors, self._constants, self._shapes = {}, constants, shapes

    def follow(self, proto, options):
        """Enters the output of a node, if it is made of sizes and constants."""
        rule = RULES.get(proto.op_type)
        if rule is None:
            return
        try:
            result = rule(self, proto, options)
        except (IndexError, KeyError, TypeError, ValueError):
            # Not of the kind that is followed.
            return
        self.vectors[proto.output[0]] = result

    def _vector(self, name):
        if name in self.vectors:
            return self.vectors[name]
        array = self._constants[name]
        if array.size > 64 or array.dtype.kind not in "iu":
            raise ValueError("no sizes")
        return array.astype(object)

    def shape(self, proto, options):
        shape = self._shapes[proto.input[0]]
        whole = [Size(proto.input[0], i) if size is None else size for i, size in enumerate(shape)]
        return objects(whole[options.get("start", 0) : options.get("end")])

    def same(self, proto, options):
        return self._vector(proto.input[0])

    def gather(self, proto, options):
        return objects(np.take(self._vector(proto.input[0]), self._constants[proto.input[1]]))

    def flat(self, proto, options):
        vector = self._vector(proto.input[0])
        return vector.reshape(1 if proto.op_type == "Unsqueeze" else ())

    def concat(self, proto, options):
        return np.concatenate([self._vector(name) for name in proto.input])

    def slice(self, proto, options):
        bounds = [self._constants[name].reshape(-1) for name in proto.input[1:3]]
        if len(proto.input) > 4 or len(bounds) < 2:
            raise ValueError("only a part of a vector is followed")
        return self._vector(proto.input[0])[int(bounds[0][0]) : int(bounds[1][0])]


def objects(values):
    """An array of objects, of which tuples are elements."""
    if not isinstance(values, list):
        return values if isinstance(values, np.ndarray) else scalar(values)
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def scalar(value):
    array = np.empty((), object)
    array[()] = value
    return array


RULES = {
    "Shape": Sizes.shape,
    "Identity": Sizes.same,
    "Cast": Sizes.same,
    "Gather": Sizes.gather,
    "Unsqueeze": Sizes.flat,
    "Squeeze": Sizes.flat,
    "Concat": Sizes.concat,
    "Slice": Sizes.slice,
}
