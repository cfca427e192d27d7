"""The table that Block.summary prints."""

import math

from ..ndarray import NDArray

_ROW = "{:>20}  {:>42} {:>15}"
_WIDTH = 80


def _shape_text(value, top=True):
    """Shapes of nested arrays: `(2, 3)`, and `(1, 2), [(1, 2), (1, 3)]` for lists."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_shape_text(item, False) for item in value)
        return inner if top else f"[{inner}]"
    return str(value.shape) if isinstance(value, NDArray) else "None"


def _holds_array(value):
    if isinstance(value, (list, tuple)):
        return any(map(_holds_array, value))
    return isinstance(value, NDArray)


class _Rows:
    """Collects one row per call of a block, in the order in which the calls end."""

    def __init__(self):
        self.rows = []
        self.trainable = self.fixed = self.shared = 0
        self._seen = set()

    def add_input(self, inputs):
        self.rows.append(("Input", _shape_text(inputs), 0))

    def add_call(self, block, inputs, output):
        if not _holds_array(output):
            return  # called with symbols, to complete shapes
        count = 0
        for param in block._reg_params.values():
            size = math.prod(param.list_data()[0].shape)
            count += size
            if param.grad_req == "null":
                self.fixed += size
            else:
                self.trainable += size
            if id(param) in self._seen:
                self.shared += size
            self._seen.add(id(param))
        self.rows.append((f"{type(block).__name__}-{len(self.rows)}", _shape_text(output), count))

    def text(self):
        total = self.trainable + self.fixed
        return "\n".join(
            [
                "-" * _WIDTH,
                _ROW.format("Layer (type)", "Output Shape", "Param #"),
                "=" * _WIDTH,
                *(_ROW.format(*row) for row in self.rows),
                "=" * _WIDTH,
                "Parameters in forward computation graph, duplicate included",
                f"   Total params: {total}",
                f"   Trainable params: {self.trainable}",
                f"   Non-trainable params: {self.fixed}",
                f"Shared params in forward computation graph: {self.shared}",
                f"Unique parameters in model: {total - self.shared}",
                "-" * _WIDTH,
            ]
        )


def print_summary(block, inputs):
    """Calls `block(*inputs)`, in which calls must reach every block, and prints what each gave; sequential
    containers have no row.
    """
    rows = _Rows()
    rows.add_input(inputs)
    handles, visited = [], set()

    def attach(part):
        if part._has_summary_row and id(part) not in visited:
            visited.add(id(part))
            handles.append(part.register_forward_hook(rows.add_call))

    block.apply(attach)
    try:
        block(*inputs)
        print(rows.text())
    finally:
        for handle in handles:
            handle.detach()
