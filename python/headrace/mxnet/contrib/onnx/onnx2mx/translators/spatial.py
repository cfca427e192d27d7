"""Convolutions, pooling and changes of size of images."""

import numpy as np

from .._registry import translates
from .indexing import padded

LOWEST = float(np.finfo("float32").min)


class Window:
    """A window that slides: kernel, strides, dilations, and the padding before and after each axis."""

    def __init__(self, node, kernel):
        ones = (1,) * len(kernel)
        self.kernel = tuple(kernel)
        self.strides = tuple(node.get("strides", ones))
        self.dilations = tuple(node.get("dilations", ones))
        pads, count = node.get("pads", [0] * 2 * len(kernel)), len(kernel)
        self.pads = list(zip(pads[:count], pads[count:]))
        kind = node.get("auto_pad", "NOTSET")
        if kind in ("SAME_UPPER", "SAME_LOWER"):
            self.pads = [self._same(*each, kind == "SAME_UPPER") for each in self._sizes(node)]
        elif kind == "VALID":
            self.pads = [(0, 0)] * count

    def _sizes(self, node):
        return zip(node.shape()[2:], self.kernel, self.strides, self.dilations)

    @staticmethod
    def _same(size, kernel, stride, dilation, upper):
        total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        less, more = total // 2, total - total // 2
        return (less, more) if upper else (more, less)

    @property
    def even(self):
        return all(before == after for before, after in self.pads)

    def applied(self, node, value=0.0):
        """The data, padded where padding is uneven, and the padding that is left."""
        if self.even:
            return node.input(), tuple(before for before, _ in self.pads)
        data = padded(node, node.op, node.input(), [(0, 0), (0, 0), *self.pads], value)
        return data, (0,) * len(self.kernel)


def kernel_of(node):
    return node.get("kernel_shape") or node.shape(1, known=True)[2:]


@translates("Conv")
def convolution(node):
    window = Window(node, kernel_of(node))
    data, pad = window.applied(node)
    return node.out(
        "Convolution",
        data,
        *node.inputs()[1:],
        kernel=window.kernel,
        stride=window.strides,
        dilate=window.dilations,
        pad=pad,
        num_filter=node.shape(1, known=True)[0],
        num_group=node.get("group", 1),
        no_bias=not node.has(2),
    )


@translates("ConvTranspose")
def deconvolution(node):
    window, group = Window(node, kernel_of(node)), node.get("group", 1)
    added = tuple(node.get("output_padding", (0,) * len(window.kernel)))
    whole = [
        (k - 1) * d + 1 + (size - 1) * s + a if size is not None else None
        for size, k, s, d, a in zip(node.shape()[2:], window.kernel, window.strides, window.dilations, added)
    ]
    wanted = node.get("output_shape")
    if wanted or node.get("auto_pad", "NOTSET").startswith("SAME"):
        wanted = wanted or [size * s for size, s in zip(node.shape()[2:], window.strides)]
        upper = node.get("auto_pad") != "SAME_LOWER"
        excess = [full - size for full, size in zip(whole, wanted[-len(whole) :])]
        window.pads = [cut(max(total, 0), upper) for total in excess]
        added = tuple(a + max(-total, 0) for a, total in zip(added, excess))
    pads = window.pads
    options = {"pad": tuple(before for before, _ in pads)} if window.even else {}
    result = (node.out if window.even else node.op)(
        "Deconvolution",
        *node.inputs(),
        kernel=window.kernel,
        stride=window.strides,
        dilate=window.dilations,
        adj=added,
        num_filter=node.shape(1, known=True)[1] * group,
        num_group=group,
        no_bias=not node.has(2),
        **options,
    )
    if window.even:
        return result
    begin = (None, None, *(before for before, _ in pads))
    return node.out("slice", result, begin=begin, end=(None, None, *(-after or None for _, after in pads)))


def cut(total, upper):
    """What to cut off before and after, of the whole of a transposed convolution."""
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


@translates("MaxPool", "AveragePool", "LpPool")
def pooling(node):
    window = Window(node, node.get("kernel_shape"))
    if set(window.dilations) != {1}:
        raise node.error(f"dilations={window.dilations} has no translation to MXNet")
    kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[node.operator]
    options = {"kernel": window.kernel, "stride": window.strides, "pool_type": kind}
    if node.get("ceil_mode", 0):
        options["pooling_convention"] = "full"
    if kind == "lp":
        options["p_value"] = node.get("p", 2)
        node.refuse("p", 1, 2, 3)
    counted = bool(node.get("count_include_pad", 0))
    data, pad = window.applied(node, LOWEST if kind == "max" else 0.0)
    if kind == "lp":
        data = node.op("abs", data)
    if kind != "avg" or window.even or counted:
        options.update(pad=pad, count_include_pad=counted)
        if node.get("ceil_mode", 0):
            return within(node, node.op("Pooling", data, **options))
        return node.out("Pooling", data, **options)
    # The share of each window that is not padding.
    inside = padded(node, node.op, node.op("ones_like", node.input()), [(0, 0), (0, 0), *window.pads])
    shares = [node.op("Pooling", part, pad=pad, count_include_pad=True, **options) for part in (data, inside)]
    return node.out("broadcast_div", *shares)


def within(node, result):
    """Without the windows that begin in the padding behind the data, which ONNX does not count."""
    shape = node.output_shape()
    if shape is None or None in shape[2:]:
        return node.out("_copy", result)
    return node.out("slice", result, begin=(None,) * len(shape), end=(None, None, *shape[2:]))


@translates("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pooling(node):
    kind = {"GlobalMaxPool": "max", "GlobalAveragePool": "avg", "GlobalLpPool": "lp"}[node.operator]
    options = {"p_value": node.get("p", 2)} if kind == "lp" else {}
    kernel = (1,) * (node.rank() - 2)
    data = node.op("abs", node.input()) if kind == "lp" else node.input()
    return node.out("Pooling", data, kernel=kernel, global_pool=True, pool_type=kind, **options)


@translates("Upsample", "Resize")
def resize(node):
    shape, wanted = node.shape(), node.output_shape()
    if wanted is None or None in wanted[2:] or None in shape[2:] or len(shape) != 4:
        raise node.error(f"expected images of known sizes, got {shape} and {wanted}")
    if wanted[:2] != shape[:2]:
        raise node.error(f"expected a change of height and width alone, got {shape} and {wanted}")
    node.refuse("mode", "nearest", "linear", "bilinear")
    node.refuse("antialias", 0)
    old = node.operator == "Upsample" or node.opset < 11
    place = "asymmetric" if old else node.get("coordinate_transformation_mode", "half_pixel")
    scales = [b / a for a, b in zip(shape[2:], wanted[2:])]
    given = node.setting("scales", 1 if old else 2)
    if given and len(given) == 4:
        scales = given[2:]
    if node.get("mode", "nearest") == "nearest":
        rounding = "floor" if old else node.get("nearest_mode", "round_prefer_floor")
        return nearest(node, shape, wanted, scales, (place, rounding))
    if any(abs(scale * a - b) > 1e-3 for scale, a, b in zip(scales, shape[2:], wanted[2:])):
        raise node.error(
            f"mode=linear with scales={scales} has no translation to MXNet; expected whole sizes"
        )
    aligned = place == "align_corners"
    if not aligned and (place not in ("half_pixel", "pytorch_half_pixel") or min(wanted[2:]) == 1):
        raise node.error(
            f"mode=linear with coordinate_transformation_mode={place} has no translation to MXNet"
        )
    return node.out(
        "_contrib_BilinearResize2D", node.input(), height=wanted[2], width=wanted[3], align_corners=aligned
    )


def nearest(node, shape, wanted, scales, how):
    """The nearest pixels: rows and columns by number."""
    place, rounding = how
    places = {
        "asymmetric": lambda i, scale, a, b: i / scale,
        "half_pixel": lambda i, scale, a, b: (i + 0.5) / scale - 0.5,
        "pytorch_half_pixel": lambda i, scale, a, b: (i + 0.5) / scale - 0.5 if b > 1 else 0 * i,
        "align_corners": lambda i, scale, a, b: i * (a - 1) / max(b - 1, 1),
    }
    roundings = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }
    if place not in places or rounding not in roundings:
        raise node.error(f"coordinate_transformation_mode={place} has no translation to MXNet")
    if how == ("asymmetric", "floor") and scales[0] == scales[1] and scales[0] % 1 == 0:
        return node.out("UpSampling", node.input(), scale=int(scales[0]), sample_type="nearest")
    data = node.input()
    for axis, scale in zip((2, 3), scales):
        numbers = places[place](np.arange(wanted[axis]), scale, shape[axis], wanted[axis])
        rows = np.clip(roundings[rounding](numbers), 0, shape[axis] - 1).astype("int64")
        data = (node.op if axis == 2 else node.out)(
            "take", data, node.parameter(rows, f"axis{axis}"), axis=axis
        )
    return data


@translates("MaxRoiPool")
def roi_pooling(node):
    return node.out(
        "ROIPooling",
        *node.inputs(),
        pooled_size=tuple(node.get("pooled_shape")),
        spatial_scale=node.get("spatial_scale", 1.0),
    )


@translates("RoiAlign")
def roi_align(node):
    node.refuse("mode", "avg")
    mode = node.get(
        "coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel"
    )
    data, rois, numbers = node.inputs()
    numbers = node.op("expand_dims", node.op("Cast", numbers, dtype="float32"), axis=1)
    return node.out(
        "_contrib_ROIAlign",
        data,
        node.op("Concat", numbers, rois, dim=1),
        pooled_size=(node.get("output_height", 1), node.get("output_width", 1)),
        spatial_scale=node.get("spatial_scale", 1.0),
        sample_ratio=node.get("sampling_ratio", 0) or -1,
        aligned=mode == "half_pixel",
    )
