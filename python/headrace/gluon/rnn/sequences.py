"""Sequences as `unroll` takes them: one array or symbol with a time axis, or a list with one per step."""

from ... import ndarray as nd
from ... import symbol
from ..parameter import tensor_types
from .operators import operators

__all__ = [
    "begin_state_of",
    "format_sequence",
    "mask_sequence",
    "merge_steps",
    "reverse_steps",
    "split_steps",
]


def _axes(layout):
    """The places of time and batch. ValueError: a layout without them."""
    if "T" not in layout or "N" not in layout:
        raise ValueError(f"unroll: expected a layout with T and N, such as 'NTC' or 'TNC', got {layout!r}")
    return layout.index("T"), layout.index("N")


def split_steps(F, data, length, axis):
    """A list with what `data` holds at each of `length` places of an axis, without that axis."""
    parts = operators(F).split(data, axis=axis, num_outputs=length, squeeze_axis=True)
    if isinstance(parts, list):
        return parts
    return [parts[i] for i in range(length)] if F is symbol and length > 1 else [parts]


def merge_steps(F, steps, axis):
    """One array or symbol of a list of steps, with the time at `axis`."""
    return operators(F).stack(*steps, axis=axis)


def _namespace_of(first):
    """`sym` or `nd`, whichever has the operators for `first`. TypeError: neither."""
    if isinstance(first, symbol.Symbol):
        return symbol
    if isinstance(first, nd.NDArray):
        return nd
    raise TypeError(
        f"unroll: expected inputs as an array, a symbol, or a list of either, got {type(first).__name__}"
    )


def _check_length(length, found):
    assert length is None or length == found, (
        f"unroll: the inputs have {found} steps, but length is {length}; pass the number of steps"
    )


def format_sequence(length, inputs, layout, merge, in_layout=None):
    """Returns (inputs, time axis, `nd` or `sym`, batch size or 0 where it is not known).

    With `merge` True, inputs become one array or symbol of `layout`; with False a list of `length` steps;
    with None they stay as they are. `in_layout` is the layout of a merged input where it differs.
    AssertionError: another number of steps, or nothing at all.
    """
    assert inputs is not None, "unroll: expected inputs, got None; make variables for them first"
    axis, batch_axis = _axes(layout)
    in_axis = axis if in_layout is None else _axes(in_layout)[0]
    if isinstance(inputs, tensor_types):
        F = _namespace_of(inputs)
        batch_size = inputs.shape[batch_axis] if F is nd else 0
        if merge is False:
            return _split(F, inputs, length, in_axis), axis, F, batch_size
        if axis != in_axis:
            inputs = operators(F).swapaxes(inputs, dim1=axis, dim2=in_axis)
        return inputs, axis, F, batch_size
    _check_length(length, len(inputs))
    F = _namespace_of(inputs[0] if len(inputs) else None)
    batch_size = inputs[0].shape[0] if F is nd else 0
    return merge_steps(F, inputs, axis) if merge else inputs, axis, F, batch_size


def _split(F, inputs, length, axis):
    if F is symbol:
        assert len(inputs.list_outputs()) == 1, (
            "unroll: a symbol of several outputs cannot be split into steps; pass list(inputs), or a symbol "
            "of one output"
        )
        return split_steps(F, inputs, length, axis)
    _check_length(length, inputs.shape[axis])
    return split_steps(F, inputs, inputs.shape[axis], axis)


def begin_state_of(cell, F, begin_state, inputs, batch_size):
    """`begin_state`, or what the cell begins with where it is None: zeros beside the inputs."""
    if begin_state is not None:
        return begin_state
    if F is symbol:
        return cell.begin_state(func=symbol.zeros, batch_size=batch_size)
    with inputs.context if isinstance(inputs, nd.NDArray) else inputs[0].context:
        return cell.begin_state(func=nd.zeros, batch_size=batch_size)


def mask_sequence(F, data, length, valid_length, time_axis, merge):
    """`data` (steps or merged) with zeros after each sequence's valid length; merged, or as a list."""
    if not isinstance(data, tensor_types):
        data = merge_steps(F, data, time_axis)
    masked = operators(F).SequenceMask(
        data, sequence_length=valid_length, use_sequence_length=True, axis=time_axis
    )
    return masked if merge else split_steps(F, masked, length, time_axis)


def reverse_steps(steps, length, valid_length=None):
    """The steps from last to first; of each sequence only the first `valid_length` ones change places."""
    if valid_length is None:
        return list(reversed(steps))
    F = _namespace_of(steps[0])
    turned = operators(F).SequenceReverse(
        merge_steps(F, steps, 0), sequence_length=valid_length, use_sequence_length=True
    )
    return split_steps(F, turned, length, 0)
