"""Basic indexing of symbols."""

from .calls import apply

__all__ = ["indexed"]


def indexed(symbol, key):
    """Basic indexing with integers, slices, None and an Ellipsis before nothing else."""
    begin, end, step, dropped, added = [], [], [], [], []
    axis = place = 0
    for one in key:
        if one is None:
            added.append(place)
            place += 1
            continue
        if one is Ellipsis:
            if any(rest is not None for rest in key[key.index(Ellipsis) + 1 :]):
                raise IndexError(
                    "indexing a symbol: an Ellipsis must stand last, the number of axes is not known"
                )
            continue
        if isinstance(one, slice):
            begin.append(one.start)
            end.append(one.stop)
            step.append(one.step)
            place += 1
        elif isinstance(one, int):
            begin.append(one)
            end.append(one + 1 if one != -1 else None)
            step.append(None)
            dropped.append(axis)
        else:
            raise TypeError(
                f"indexing a symbol takes integers, slices and None, got {type(one).__name__}; use take"
            )
        axis += 1
    if any(one is not None for one in (*begin, *end, *step)):
        limits = {"begin": tuple(begin), "end": tuple(end)}
        if any(one is not None for one in step):
            limits["step"] = tuple(step)
        symbol = apply("slice", "slice", [symbol], limits, True)
    if dropped:
        symbol = apply("_np_squeeze", "squeeze", [symbol], {"axis": tuple(dropped)}, True)
    for one in added:
        symbol = apply("expand_dims", "expand_dims", [symbol], {"axis": one}, True)
    return symbol
