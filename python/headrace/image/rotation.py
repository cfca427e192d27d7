"""Images turned around their middle."""

import numbers

import numpy

from .. import _arrays as arrays
from .. import _core
from .. import ndarray as nd

_transform = _core.function("SpatialTransformer", False)


def _maps(radians, height, width, zoom_in, zoom_out):
    """For each angle the rows of the affine map from places in the result to places in the image, (n, 6)."""
    cos, sin = nd.cos(radians), nd.sin(radians)
    scale = nd.ones_like(cos)
    if zoom_in or zoom_out:
        wide = width * nd.abs(cos) + height * nd.abs(sin)  # what the turned image fills
        high = height * nd.abs(cos) + width * nd.abs(sin)
        if zoom_out:
            scale = nd.maximum(wide / width, high / height)
        else:
            scale = nd.minimum(width / wide, height / high)
    cos, sin, zero = cos * scale, sin * scale, nd.zeros_like(cos)
    # Places go from -1 to 1 between the centres of the first and the last pixel, whatever their number.
    with numpy.errstate(divide="ignore", invalid="ignore"):
        aspect = float(numpy.float64(height - 1) / (width - 1))
        inverse = float(numpy.float64(width - 1) / (height - 1))
    return nd.stack(cos, -aspect * sin, zero, inverse * sin, cos, zero, axis=1)


def imrotate(src, rotation_degrees, zoom_in=False, zoom_out=False):
    """An image (channels, height, width), or a batch (N, channels, height, width), of float32, turned.

    `rotation_degrees`: a number, or an array of N for a batch. The shape stays; what lies outside of the
    image is zero. `zoom_in` enlarges so that nothing outside shows, `zoom_out` shrinks so that all of the
    image does. TypeError: another dtype, or an array of angles for one image. ValueError: both zooms, another
    number of axes, or of angles.

    Examples
    --------
    >>> image = nd.array([[[1, 2], [3, 4]]])
    >>> mx.image.imrotate(image, 90)[0].round()
    [[2. 4.]
     [1. 3.]]
    <NDArray 2x2 @cpu(0)>
    """
    if zoom_in and zoom_out:
        raise ValueError("imrotate: `zoom_in` and `zoom_out` cannot be both True")
    if arrays.dtype_name(src.dtype) != "float32":
        raise TypeError(
            f"imrotate: Only `float32` images are supported, got {src.dtype}; convert with astype"
        )
    if src.ndim not in (3, 4):
        raise ValueError(f"imrotate: Only 3D and 4D are supported by this function, got shape {src.shape}")
    is_number = isinstance(rotation_degrees, numbers.Number)
    if src.ndim == 3 and not is_number:
        raise TypeError("imrotate: the rotation angle of a single image is required to be a scalar")
    images = src.as_nd_ndarray()
    images = images.expand_dims(axis=0) if src.ndim == 3 else images
    count, _, height, width = images.shape
    if is_number:
        rotation_degrees = nd.full((count,), rotation_degrees, ctx=src.context)
    if len(rotation_degrees) != count:
        raise ValueError(
            f"imrotate: The number of images must be equal to the number of rotation angles, got {count} and "
            f"{len(rotation_degrees)}"
        )
    radians = rotation_degrees.as_nd_ndarray().as_in_context(src.context) * (numpy.pi / 180)
    turned = _transform(
        images,
        _maps(radians.astype("float32"), height, width, zoom_in, zoom_out),
        target_shape=(height, width),
        transform_type="affine",
        sampler_type="bilinear",
    )
    return arrays.like(turned[0] if src.ndim == 3 else turned, src)


def random_rotate(src, angle_limits, zoom_in=False, zoom_out=False):
    """`imrotate` by random angles between the two of `angle_limits`, one for each image of a batch.

    Draws from `numpy.random`.

    Examples
    --------
    >>> mx.image.random_rotate(nd.ones((3, 8, 8)), (-10, 10)).shape
    (3, 8, 8)
    """
    if src.ndim == 3:
        angles = numpy.random.uniform(*angle_limits)
    else:
        angles = nd.array(numpy.random.uniform(*angle_limits, size=src.shape[0]))
    return imrotate(src, angles, zoom_in=zoom_in, zoom_out=zoom_out)
