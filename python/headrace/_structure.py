"""Arguments of blocks may be lists of lists of arrays: flattened for graphs, and put back."""

__all__ = ["flatten", "regroup"]


def flatten(value, is_leaf, keeps_tuples=False):
    """(flat list, format): a leaf's format is 0, None's -1, a sequence's the list of its items' formats,
    with `keeps_tuples` a tuple's the tuple of them.

    ValueError: something is neither a leaf, None nor a sequence.
    """
    if value is None:
        return [None], -1
    if is_leaf(value):
        return [value], 0
    if not isinstance(value, (list, tuple)):
        raise ValueError(
            "When hybridized, the input of HybridBlock must be (nested) list of Symbol or NDArray, but got "
            f"{value!r} of type {type(value).__name__}"
        )
    flat, formats = [], []
    for item in value:
        items, item_format = flatten(item, is_leaf, keeps_tuples)
        flat.extend(items)
        formats.append(item_format)
    return flat, tuple(formats) if keeps_tuples and isinstance(value, tuple) else formats


def regroup(flat, item_format):
    """What flatten() took apart; `flat` is an iterator."""
    if isinstance(item_format, (list, tuple)):
        return type(item_format)(regroup(flat, one) for one in item_format)
    return next(flat)
