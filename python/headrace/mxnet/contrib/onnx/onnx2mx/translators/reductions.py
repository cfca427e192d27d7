"""Sums, means, extrema, norms, and the places of extrema."""

import numpy as np

from .._registry import translates

REDUCTIONS = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceL1": "norm",
    "ReduceL2": "norm",
    "ReduceSumSquare": "sum",
    "ReduceLogSum": "sum",
    "ReduceLogSumExp": "sum",
}


def total(node, make, data):
    axes = node.setting("axes", 1)
    options = {"axis": tuple(int(axis) for axis in axes)} if axes else {}
    if node.operator in ("ReduceL1", "ReduceL2"):
        options["ord"] = int(node.operator[-1])
    return make(REDUCTIONS[node.operator], data, keepdims=bool(node.get("keepdims", 1)), **options)


@translates(*REDUCTIONS)
def reduction(node):
    data = node.input()
    if node.get("noop_with_empty_axes", 0) and not node.setting("axes", 1):
        return node.out("_copy", data)
    if node.operator == "ReduceSumSquare":
        return total(node, node.out, node.op("square", data))
    if node.operator == "ReduceLogSum":
        return node.out("log", total(node, node.op, data))
    if node.operator == "ReduceLogSumExp":
        return node.out("log", total(node, node.op, node.op("exp", data)))
    return total(node, node.out, data)


@translates("ArgMax", "ArgMin")
def extremum(node):
    node.refuse("select_last_index", 0)
    kind = node.operator.lower()
    place = node.op(kind, node.input(), axis=node.axis(), keepdims=bool(node.get("keepdims", 1)))
    return node.out("Cast", place, dtype="int64")


@translates("TopK")
def topk(node):
    node.refuse("sorted", 1)
    both = node.out(
        "topk",
        node.input(),
        k=int(node.setting("k", 1)[0]),
        axis=node.axis(default=-1),
        ret_typ="both",
        dtype="int64",
        is_ascend=not node.get("largest", 1),
    )
    return [both[0], both[1]]


@translates("CumSum")
def cumsum(node):
    node.refuse("exclusive", 0)
    axis = int(np.ravel(node.constant(1))[0])
    if not node.get("reverse", 0):
        return node.out("_np_cumsum", node.input(), axis=axis)
    turned = node.op("reverse", node.input(), axis=(axis,))
    return node.out("reverse", node.op("_np_cumsum", turned, axis=axis), axis=(axis,))
