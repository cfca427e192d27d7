"""Tracing blocks that define `forward` on arrays: it runs once on arrays without values."""

import contextlib

from .. import _core
from .._semantics import is_np_array, is_np_shape
from .._structure import flatten, regroup

__all__ = ["trace_forward"]


@contextlib.contextmanager
def _traced(parameters):
    """Meanwhile, the parameters' `data()` gives arrays that stand for them in the graph."""
    kept = []
    was = _core.set_tracing(True)
    try:
        for parameter in parameters:
            kept.append((parameter, parameter._data, parameter._single))
            stand_in = _core.trace_variable(
                parameter.name, parameter.shape, parameter.dtype, parameter.var().list_attr(), is_np_array()
            )
            parameter._data, parameter._single = [stand_in] * len(parameter._ctx_list), stand_in
        yield
    finally:
        _core.set_tracing(was)
        for parameter, data, single in kept:
            parameter._data, parameter._single = data, single


def trace_forward(block, args, names):
    """(symbol handle, format of the output): what `block.forward` computes of `args`, nested arrays.

    `names` are those of the array arguments. All parameters must be initialized. MXNetError: forward
    reads values, writes in place, or gives something that does not depend on its inputs.
    """
    from .. import _arrays as arrays

    flat, in_format = flatten(args, lambda one: isinstance(one, arrays.NDArray))
    unknown = -1 if is_np_shape() else 0
    parameters = list(block.collect_params().values())
    assert all(unknown not in (parameter.shape or (unknown,)) for parameter in parameters)
    names = iter(names)
    with _traced(parameters):
        stand_ins = [
            one
            if one is None
            else _core.trace_variable(next(names), one.shape, one._dtype_name, {}, is_np_array())
            for one in flat
        ]
        out = block.forward(*regroup(iter(stand_ins), in_format))
        flat_out, out_format = flatten(out, lambda one: isinstance(one, arrays.NDArray))
        return _core.SymbolHandle.from_arrays(flat_out), out_format
