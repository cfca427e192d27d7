"""Images in other sizes, and parts of images. Sizes are (width, height), as OpenCV has them."""

import math
import numbers
import random
import warnings

from .. import _arrays as arrays
from .. import _core
from ..base import ArrayValueError

_resize = _core.function("_cvimresize", False)
_border = _core.function("_cvcopyMakeBorder", False)


def imresize(src, w, h, interp=1, out=None):
    """The image (height, width, channels), or a batch of them, uint8 or float32, in another size.

    `interp`: 0 nearest, 1 linear, 2 cubic, 3 area (means), 4 Lanczos, 9 chosen by the sizes (cubic to
    enlarge, area to shrink, linear otherwise), 10 by chance. ValueError: another one, or a size that is not
    positive.

    Examples
    --------
    >>> image = nd.array([[[0], [10]]])
    >>> mx.image.imresize(image, w=4, h=1, interp=0)[:, :, 0]
    [[ 0.  0. 10. 10.]]
    <NDArray 1x4 @cpu(0)>
    >>> mx.image.imresize(nd.ones((40, 60, 3)), w=30, h=20).shape
    (20, 30, 3)
    """
    method = _get_interp_method(interp, (*src.shape[-3:-1], h, w))
    target = None if out is None else out.as_nd_ndarray()
    resized = _resize(src.as_nd_ndarray(), w=int(w), h=int(h), interp=method, out=target)
    return arrays.like(resized, src) if out is None else out


def _get_interp_method(interp, sizes=()):
    """An interpolation from 0 to 4 for `interp`; `sizes`: height and width before and after."""
    if interp == 9:
        if not sizes:
            return 2
        old_height, old_width, height, width = sizes
        if height > old_height and width > old_width:
            return 2
        return 3 if height < old_height and width < old_width else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in (0, 1, 2, 3, 4):
        raise ArrayValueError(f"Unknown interp method {interp}; known are 0 to 4, 9 and 10")
    return interp


def scale_down(src_size, size):
    """A size (width, height) that fits into `src_size`: made smaller in proportion where it does not.

    Gives whole numbers.

    Examples
    --------
    >>> mx.image.scale_down((640, 480), (720, 120)), mx.image.scale_down((640, 480), (64, 48))
    ((640, 106), (64, 48))
    """
    width, height = size
    most_width, most_height = src_size
    if most_height < height:
        width, height = width * most_height / height, most_height
    if most_width < width:
        width, height = most_width, height * most_width / width
    return int(width), int(height)


def copyMakeBorder(src, top, bot, left, right, type=0, value=0, values=(), out=None):  # noqa: A002
    """The image with a border of so many pixels.

    `type`: 0 `value`, or one of `values` for each channel, one number being that of all; 1 the edge repeated,
    2 mirrored with its edge (cba|abc), 3 the other side, 4 mirrored at its edge (cb|abc). ValueError: another
    type.

    Examples
    --------
    >>> image = nd.array([[[1], [2]]])
    >>> mx.image.copyMakeBorder(image, 0, 1, 1, 1, type=0, value=9)[:, :, 0]
    [[9. 1. 2. 9.]
     [9. 9. 9. 9.]]
    <NDArray 2x4 @cpu(0)>
    """
    if isinstance(values, numbers.Number):
        value, values = values, ()
    target = None if out is None else out.as_nd_ndarray()
    sides = {"top": top, "bot": bot, "left": left, "right": right}
    padded = _border(src.as_nd_ndarray(), **sides, type=type, value=value, values=tuple(values), out=target)
    return arrays.like(padded, src) if out is None else out


def resize_short(src, size, interp=2):
    """The image (height, width, channels) with a shorter side of `size` pixels, its proportions kept.

    Examples
    --------
    >>> mx.image.resize_short(nd.ones((40, 60, 3)), 20).shape
    (20, 30, 3)
    """
    height, width = src.shape[:2]
    if height > width:
        new_width, new_height = size, size * height // width
    else:
        new_width, new_height = size * width // height, size
    return imresize(src, new_width, new_height, interp)


def fixed_crop(src, x0, y0, w, h, size=None, interp=2):
    """`w` by `h` pixels from column `x0` and row `y0` on, in the size (width, height) where one is given.

    Of an image (height, width, channels), or of all images of a batch, as of the crops that follow.

    Examples
    --------
    >>> mx.image.fixed_crop(nd.ones((40, 60, 3)), x0=5, y0=10, w=20, h=8).shape
    (8, 20, 3)
    >>> mx.image.fixed_crop(nd.ones((40, 60, 3)), 5, 10, 20, 8, size=(10, 4)).shape
    (4, 10, 3)
    """
    rows, columns = slice(y0, y0 + h), slice(x0, x0 + w)
    part = src[rows, columns] if src.ndim == 3 else src[:, rows, columns]
    if size is None or (w, h) == tuple(size):
        return part.copy()
    return imresize(part, *size, interp=interp)


def _cropped(src, x0, y0, width, height, size, interp):
    return fixed_crop(src, x0, y0, width, height, size, interp), (x0, y0, width, height)


def random_crop(src, size, interp=2):
    """A part of the size (width, height) at a random place, enlarged where the image is smaller; and (x, y,
    width, height), where it was.

    Examples
    --------
    >>> part, (x, y, width, height) = mx.image.random_crop(nd.ones((40, 60, 3)), (20, 10))
    >>> part.shape, (width, height)
    ((10, 20, 3), (20, 10))
    """
    height, width = src.shape[-3:-1]
    new_width, new_height = scale_down((width, height), size)
    x0 = random.randint(0, width - new_width)
    y0 = random.randint(0, height - new_height)
    return _cropped(src, x0, y0, new_width, new_height, size, interp)


def center_crop(src, size, interp=2):
    """The part of the size (width, height) in the middle, enlarged where the image is smaller; and (x, y,
    width, height), where it was.

    Examples
    --------
    >>> part, place = mx.image.center_crop(nd.ones((40, 60, 3)), (20, 10))
    >>> part.shape, place
    ((10, 20, 3), (20, 15, 20, 10))
    """
    height, width = src.shape[-3:-1]
    new_width, new_height = scale_down((width, height), size)
    x0, y0 = int((width - new_width) / 2), int((height - new_height) / 2)
    return _cropped(src, x0, y0, new_width, new_height, size, interp)


def random_size_crop(src, size, area, ratio, interp=2, **kwargs):
    """A part of random place, area and proportions in the size, and (x, y, width, height).

    `area`: least and largest share of the image, or the least alone; `ratio`: least and largest width over
    height. The part in the middle when ten attempts do not fit.

    Examples
    --------
    >>> image = nd.ones((40, 60, 3))
    >>> part, place = mx.image.random_size_crop(image, (20, 20), area=(0.3, 1), ratio=(0.75, 1.33))
    >>> part.shape
    (20, 20, 3)
    """
    if "min_area" in kwargs:
        warnings.warn(
            "`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2
        )
        area = kwargs.pop("min_area")
    assert not kwargs, f"unexpected keyword arguments for `random_size_crop`: {sorted(kwargs)}"
    height, width = src.shape[-3:-1]
    least, most = (area, 1.0) if isinstance(area, numbers.Number) else area
    for _ in range(10):
        wanted = random.uniform(least, most) * height * width
        proportions = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_width = round(math.sqrt(wanted * proportions))
        new_height = round(math.sqrt(wanted / proportions))
        if new_width <= width and new_height <= height:
            x0 = random.randint(0, width - new_width)
            y0 = random.randint(0, height - new_height)
            return _cropped(src, x0, y0, new_width, new_height, size, interp)
    return center_crop(src, size, interp)
