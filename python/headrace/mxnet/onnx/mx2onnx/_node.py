"""A node of a symbol as translators see it."""

import ast

import numpy as np

from ....base import MXNetError


def parsed(text):
    """The number, truth value or tuple that a text is, None for "None", else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Node:
    """Operator, name and attributes of a node; names, shapes and dtypes of its inputs and outputs.

    `inputs` are names in the ONNX graph. Shapes are those for which the model is exported.
    """

    def __init__(self, operator, name, attrs):
        self.operator, self.name = operator, name
        self.attrs = {key: parsed(value) for key, value in attrs.items()}
        self.inputs, self.shapes, self.dtypes = [], [], []
        self.out_shapes, self.out_dtypes = [], []

    @property
    def rank(self):
        """The number of axes of the first input."""
        return len(self.shapes[0])

    def get(self, key, default=None):
        """An attribute's value, the default where it is absent or None."""
        value = self.attrs.get(key)
        return default if value is None else value

    def axis(self, key="axis", default=-1, rank=None):
        """An axis, counted from the front."""
        rank = self.rank if rank is None else rank
        axis = int(self.get(key, default))
        if not -rank <= axis < rank:
            raise self.error(f"expected {key} within {rank} axes, got {axis}")
        return axis % rank

    def axes(self, key="axis"):
        """A tuple of axes counted from the front; None where the attribute is absent or empty."""
        value = self.get(key, ())
        axes = tuple(int(axis) % self.rank for axis in np.atleast_1d(value))
        return axes or None

    def refuse(self, key, *allowed):
        """MXNetError unless the attribute is absent, None or one of the allowed values."""
        value = self.get(key)
        if value is not None and value not in allowed:
            raise self.error(f"{key}={value} has no translation to ONNX; expected {key} in {allowed}")

    def error(self, text):
        """A MXNetError that names this node."""
        return MXNetError(f"export_model: {self.operator} (node {self.name}): {text}")
