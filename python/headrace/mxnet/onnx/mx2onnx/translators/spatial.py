"""Convolutions, pooling and changes of size of images."""

import math

from .._registry import translates

LAYOUTS = ("NCW", "NCHW", "NCDHW")


def window(node, kernel=None):
    """Options of a window that slides: kernel_shape, strides and pads."""
    kernel = node.get("kernel") if kernel is None else kernel
    pads, strides = node.get("pad", ()) or (0,) * len(kernel), node.get("stride", ()) or (1,) * len(kernel)
    return {"kernel_shape": kernel, "strides": strides, "pads": (*pads, *pads)}


@translates("Convolution")
def convolution(g, node):
    node.refuse("layout", *LAYOUTS)
    dilations = node.get("dilate", ()) or (1,) * len(node.get("kernel"))
    return g.add(
        "Conv", node.inputs, group=int(node.get("num_group", 1)), dilations=dilations, **window(node)
    )


@translates("Deconvolution")
def deconvolution(g, node):
    node.refuse("layout", *LAYOUTS)
    node.refuse("target_shape", ())
    ones = (1,) * len(node.get("kernel"))
    return g.add(
        "ConvTranspose",
        node.inputs,
        group=int(node.get("num_group", 1)),
        dilations=node.get("dilate", ()) or ones,
        output_padding=node.get("adj", ()) or [0] * len(ones),
        **window(node),
    )


KINDS = {"max": "Max", "avg": "Average", "sum": "Average", "lp": "Lp"}


@translates("Pooling")
def pooling(g, node):
    node.refuse("pool_type", *KINDS)
    node.refuse("layout", *LAYOUTS)
    node.refuse("pooling_convention", "valid", "full")
    pool_type = node.get("pool_type", "max")
    kind = KINDS[pool_type]
    if pool_type == "lp":
        # Of odd powers, ONNX takes absolute values and MXNet does not.
        node.refuse("p_value", 2)
    options = {"p": 2} if pool_type == "lp" else {}
    if node.get("global_pool", False):
        result, area = g.add(f"Global{kind}Pool", node.inputs, **options), math.prod(node.shapes[0][2:])
    else:
        options.update(window(node))
        area = math.prod(options["kernel_shape"])
        if node.get("pooling_convention", "valid") == "full":
            lengthen(node, options)
        if kind == "Average":
            options["count_include_pad"] = int(node.get("count_include_pad", True) or pool_type == "sum")
        result = g.add(f"{kind}Pool", node.inputs, **options)
    return g.add("Mul", [result, g.constant(area, node.dtypes[0])]) if pool_type == "sum" else result


def lengthen(node, options):
    """Lets the windows of the convention "full" reach over the end."""
    sizes = zip(*(options[key] for key in ("kernel_shape", "strides")), node.get("pad", ()) or (0,) * 9)
    excess = [
        (out - 1) * stride + kernel - size - 2 * pad
        for (kernel, stride, pad), size, out in zip(sizes, node.shapes[0][2:], node.out_shapes[0][2:])
    ]
    if node.get("pool_type", "max") != "max":
        if any(e >= k for e, k in zip(excess, options["kernel_shape"])):
            raise node.error(
                "pooling_convention=full with a window in the padding has no translation to ONNX"
            )
        options["ceil_mode"] = int(any(e > 0 for e in excess))
        return
    before = options["pads"][: len(excess)]
    options["pads"] = (*before, *(pad + max(e, 0) for pad, e in zip(before, excess)))


@translates("_contrib_AdaptiveAvgPooling2D")
def adaptive_pooling(g, node):
    size = node.get("output_size", ())
    size = [size] * 2 if isinstance(size, int) else (list(size) or [1]) * (2 if len(size) < 2 else 1)
    if size == [1, 1]:
        return g.add("GlobalAveragePool", node.inputs)
    if g.dynamic or any(whole % part for whole, part in zip(node.shapes[0][2:], size)):
        raise node.error(f"expected an output_size that divides the image, and dynamic=False, got {size}")
    kernel = [whole // part for whole, part in zip(node.shapes[0][2:], size)]
    return g.add("AveragePool", node.inputs, kernel_shape=kernel, strides=kernel)


def resized(g, node, sizes, **options):
    """Resize of an image to a height and a width."""
    target = g.concat([g.slice(g.shape(node), 0, 0, 2), sizes])
    return g.add("Resize", [node.inputs[0], "", "", target], **options)


@translates("_contrib_BilinearResize2D")
def bilinear_resize(g, node):
    if node.get("mode", "size") == "like" and g.dynamic:
        sizes = g.slice(g.shape(node, 1), 0, 2, 4)
    elif g.dynamic and (
        node.get("scale_height") is not None or node.get("mode", "size") not in ("size", "like")
    ):
        raise node.error("sizes that depend on the image's need dynamic=False")
    else:
        sizes = g.integers(node.out_shapes[0][2:])
    aligned = node.get("align_corners", True)
    mode = "align_corners" if aligned else "pytorch_half_pixel"
    return resized(g, node, sizes, mode="linear", coordinate_transformation_mode=mode)


@translates("UpSampling")
def up_sampling(g, node):
    node.refuse("sample_type", "nearest")
    if len(node.inputs) != 1:
        raise node.error(f"expected one input, got {len(node.inputs)}")
    scale = float(node.get("scale"))
    return g.add(
        "Resize",
        [node.inputs[0], "", g.constant([1, 1, scale, scale], "float32")],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
