"""Sums, means, extrema, norms, and the places of extrema."""

from .._registry import translates

REDUCTIONS = {"sum": "Sum", "sum_axis": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod"}


def reduced(g, node, theirs):
    axes = node.axes()
    if node.get("exclude", False):
        axes = tuple(i for i in range(node.rank) if i not in (axes or ()))
        if not axes:
            return g.add("Identity", node.inputs[:1])
    keep = int(node.get("keepdims", False))
    if theirs == "Sum":
        result = g.sum(node.inputs[0], axes, keep)
    else:
        result = g.add(f"Reduce{theirs}", node.inputs, keepdims=keep, **({"axes": axes} if axes else {}))
    # The total of everything has one axis in MXNet, none in ONNX.
    everything = axes is None or len(axes) == node.rank
    return g.reshape(result, [1]) if everything and not keep else result


@translates(*REDUCTIONS)
def reduction(g, node):
    return reduced(g, node, REDUCTIONS[node.operator])


@translates("norm")
def norm(g, node):
    node.refuse("ord", 1, 2)
    result = reduced(g, node, f"L{node.get('ord', 2)}")
    return result if node.out_dtypes[0] == node.dtypes[0] else g.cast(result, node.out_dtypes[0])


@translates("argmax", "argmin")
def extremum(g, node):
    data, keep = node.inputs[0], int(node.get("keepdims", False))
    kind = "ArgMax" if node.operator == "argmax" else "ArgMin"
    if node.get("axis") is None:
        place = g.add(kind, [g.reshape(data, [-1])], axis=0, keepdims=1)
        return g.cast(g.reshape(place, [1] * len(node.out_shapes[0])), node.out_dtypes[0])
    place = g.add(kind, [data], axis=node.axis(), keepdims=keep)
    if node.rank == 1 and not keep:
        place = g.reshape(place, [1])
    return g.cast(place, node.out_dtypes[0])


def ordered(g, node, size, ascending, axis):
    return g.add("TopK", [node.inputs[0], size], outputs=2, axis=axis, largest=int(not ascending), sorted=1)


def along(g, node):
    """The axis, and the data with all axes in one where there is none."""
    if "axis" in node.attrs and node.attrs["axis"] is None:
        node.inputs = [g.reshape(node.inputs[0], [-1])]
        return 0, g.add("Shape", node.inputs)
    axis = node.axis()
    return axis, g.size(node, axis)


@translates("topk")
def topk(g, node):
    kind = node.get("ret_typ", "indices")
    node.refuse("ret_typ", "indices", "value", "both")
    axis, whole = along(g, node)
    count = int(node.get("k", 1))
    values, places = ordered(
        g, node, g.integers([count]) if count > 0 else whole, node.get("is_ascend", False), axis
    )
    if kind == "value":
        return values
    places = g.cast(places, node.out_dtypes[-1])
    return [values, places] if kind == "both" else places


@translates("argsort")
def argsort(g, node):
    axis, whole = along(g, node)
    return g.cast(ordered(g, node, whole, node.get("is_ascend", True), axis)[1], node.out_dtypes[0])


@translates("sort")
def sort(g, node):
    axis, whole = along(g, node)
    return ordered(g, node, whole, node.get("is_ascend", True), axis)[0]
