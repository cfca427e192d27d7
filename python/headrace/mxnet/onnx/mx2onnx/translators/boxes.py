"""Boxes and regions of detectors."""

import numpy as np

from .._registry import translates


@translates("_contrib_box_decode")
def box_decode(g, node):
    data, anchors = node.inputs
    dtype = node.dtypes[0]
    spread = g.constant([float(node.get(f"std{i}", 1)) for i in range(4)], dtype)
    offsets, sizes = (g.slice(g.add("Mul", [data, spread]), 2, a, a + 2) for a in (0, 2))
    one, two = (g.slice(anchors, 2, a, a + 2) for a in (0, 2))
    half = g.constant(0.5, dtype)
    if node.get("format", "center") == "corner":
        two = g.add("Sub", [two, one])
        one = g.add("Add", [one, g.add("Mul", [two, half])])
    middle = g.add("Add", [g.add("Mul", [offsets, two]), one])
    limit = float(node.get("clip", -1))
    if limit > 0:
        sizes = g.add("Min", [sizes, g.constant(limit, dtype)])
    reach = g.add("Mul", [g.add("Mul", [g.add("Exp", [sizes]), two]), half])
    return g.concat([g.add(kind, [middle, reach]) for kind in ("Sub", "Add")], axis=2)


def apart(g, node, boxes, ids):
    """Boxes of each class moved where no box of another class is."""
    dtype = node.dtypes[0]
    ends = [g.add(f"Reduce{kind}", [boxes], keepdims=0) for kind in ("Max", "Min")]
    step = g.add("Add", [g.add("Sub", ends), g.constant(1, dtype)])
    # Centres are twice as far from each other's edges as corners.
    move = g.add("Mul", [ids, g.add("Mul", [step, g.constant(2, dtype)])])
    if node.get("in_format", "corner") == "center":
        move = g.add("Mul", [move, g.constant([1, 1, 0, 0], dtype)])
    return g.add("Add", [boxes, move])


@translates("_contrib_box_nms")
def box_nms(g, node):
    """Sorts the boxes by score, suppresses, and moves the survivors to the front of rows of -1."""
    formats = node.get("in_format", "corner"), node.get("out_format", "corner")
    if formats[0] != formats[1]:
        raise node.error(f"in_format={formats[0]} needs out_format={formats[0]}, got {formats[1]}")
    if g.dynamic:
        raise node.error("needs dynamic=False")
    dtype, count, width = node.dtypes[0], node.shapes[0][-2], node.shapes[0][-1]
    data = g.reshape(node.inputs[0], [-1, count, width])
    column = int(node.get("score_index", 1))
    scores = g.slice(data, 2, column, column + 1)
    classes = int(node.get("id_index", -1))
    ids = g.slice(data, 2, classes, classes + 1) if classes >= 0 else None
    if ids and int(node.get("background_id", -1)) >= 0:
        background = g.add("Equal", [ids, g.constant(int(node.get("background_id")), dtype)])
        scores = g.add("Where", [background, g.constant(np.finfo(dtype).min, dtype), scores])
    limit = int(node.get("topk", -1))
    limit = min(limit, count) if limit > 0 else count
    # Scores and classes travel behind the row of each box.
    rows = g.concat([data, scores], axis=2)
    _, order = g.add("TopK", [g.reshape(scores, [-1, count]), g.integers([limit])], outputs=2)
    rows = g.add("GatherND", [rows, g.unsqueeze(order, 2)], batch_dims=1)
    start = int(node.get("coord_start", 2))
    boxes = g.slice(rows, 2, start, start + 4)
    if ids and not node.get("force_suppress", False):
        boxes = apart(g, node, boxes, g.slice(rows, 2, classes, classes + 1))
    scores = g.add("Transpose", [g.slice(rows, 2, width, width + 1)], perm=[0, 2, 1])
    limits = [
        g.constant([float(node.get(*key))], "float32")
        for key in (("overlap_thresh", 0.5), ("valid_thresh", 0))
    ]
    chosen = g.add(
        "NonMaxSuppression",
        [boxes, scores, g.integers([limit]), *limits],
        center_point_box=int(formats[0] == "center"),
    )
    places = g.add("Gather", [chosen, g.integers([0, 2])], axis=1)
    ones = g.add("Expand", [g.constant(1, "float32"), g.slice(g.add("Shape", [chosen]), 0, 0, 1)])
    batch = int(np.prod(node.shapes[0][:-2]))
    kept = g.add("ScatterND", [g.constant(np.zeros((batch, limit)), "float32"), places, ones])
    _, front = g.add("TopK", [kept, g.integers([limit])], outputs=2)
    result = g.add(
        "Where", [g.unsqueeze(g.cast(kept, "bool"), 2), g.slice(rows, 2, 0, width), g.constant(-1, dtype)]
    )
    result = g.add("GatherND", [result, g.unsqueeze(front, 2)], batch_dims=1)
    if limit < count:
        pads = g.integers([0, 0, 0, 0, count - limit, 0])
        result = g.add("Pad", [result, pads, g.constant(-1, dtype)])
    return g.reshape(result, node.shapes[0])


@translates("ROIPooling")
def roi_pooling(g, node):
    return g.add(
        "MaxRoiPool",
        node.inputs,
        pooled_shape=node.get("pooled_size"),
        spatial_scale=float(node.get("spatial_scale")),
    )


@translates("_contrib_ROIAlign")
def roi_align(g, node):
    node.refuse("position_sensitive", False)
    node.refuse("aligned", False)
    data, rois = node.inputs
    height, width = node.get("pooled_size")
    numbers = g.cast(g.add("Gather", [rois, g.integer(0)], axis=1), "int64")
    result = g.add(
        "RoiAlign",
        [data, g.slice(rois, 1, 1, 5), g.add("Max", [numbers, g.integer(0)])],
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=max(int(node.get("sample_ratio", -1)), 0),
        spatial_scale=float(node.get("spatial_scale")),
    )
    # A region of image -1 is none, and gives zeros.
    absent = g.unsqueeze(g.add("Less", [numbers, g.integer(0)]), 1, 2, 3)
    return g.add("Where", [absent, g.constant(0, node.dtypes[0]), result])
