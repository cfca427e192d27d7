"""Transforms that cut, resize and mirror images. Random ones draw from `numpy.random`."""

import math

import numpy

from .....base import ArrayValueError
from .host import BatchTransform, HostTransform
from .resample import LINEAR, resize

__all__ = [
    "CenterCrop",
    "CropResize",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomResizedCrop",
    "Resize",
]


def _width_and_height(size):
    """ValueError: `size` is neither a number nor two."""
    if isinstance(size, int):
        return size, size
    if len(size) != 2:
        raise ArrayValueError(f"expected one size or (width, height), got {size}")
    return tuple(size)


def _cut(images, x, y, width, height):
    return images[..., y : y + height, x : x + width, :]


def _scaled_down(size, width, height):
    """(width, height) of the largest part of an image with the proportions of `size`, at most as large."""
    wanted_width, wanted_height = size
    if wanted_height > height:
        wanted_width, wanted_height = wanted_width * height / wanted_height, height
    if wanted_width > width:
        wanted_width, wanted_height = width, wanted_height * width / wanted_width
    return int(wanted_width), int(wanted_height)


def _centre(images, size, interpolation):
    height, width = images.shape[-3:-1]
    new_width, new_height = _scaled_down(size, width, height)
    part = _cut(images, (width - new_width) // 2, (height - new_height) // 2, new_width, new_height)
    return resize(part, size[1], size[0], interpolation)


class Resize(BatchTransform):
    """Resizes to `size`, a number or (width, height); with `keep_ratio` a number is the size of the shorter
    edge.

    `interpolation`: 0 nearest, 1 linear, 2 cubic, 3 area. ValueError: another one, or a size that does not
    fit.

    Examples
    --------
    >>> resize = gluon.data.vision.transforms.Resize((6, 4))  # width, height
    >>> resize(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 6, 3)
    """

    def __init__(self, size, keep_ratio=False, interpolation=LINEAR):
        super().__init__()
        self._size = size
        self._keep_ratio = keep_ratio
        self._interpolation = interpolation

    def transform(self, images):
        width, height = _width_and_height(self._size)
        if self._keep_ratio and isinstance(self._size, int):
            old_height, old_width = images.shape[-3:-1]
            if old_height > old_width:
                height = old_height * self._size // old_width
            else:
                width = old_width * self._size // old_height
        return resize(images, height, width, self._interpolation)


class CropResize(BatchTransform):
    """Cuts `width` columns from `x` on and `height` rows from `y` on, then resizes to `size`, a number or
    (width, height), if given.

    ValueError: the part is not within the image.

    Examples
    --------
    >>> crop = gluon.data.vision.transforms.CropResize(x=1, y=2, width=4, height=3)
    >>> crop(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (3, 4, 3)
    """

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        super().__init__()
        self._part = (x, y, width, height)
        self._size = size
        self._interpolation = LINEAR if interpolation is None else interpolation

    def transform(self, images):
        x, y, width, height = self._part
        rows, columns = images.shape[-3:-1]
        if min(x, y) < 0 or min(width, height) <= 0 or x + width > columns or y + height > rows:
            raise ArrayValueError(
                f"CropResize: columns {x} to {x + width} and rows {y} to {y + height} are not within the "
                f"image of width {columns} and height {rows}"
            )
        part = _cut(images, x, y, width, height)
        if self._size is None:
            return part.copy()
        new_width, new_height = _width_and_height(self._size)
        return resize(part, new_height, new_width, self._interpolation)


class CenterCrop(BatchTransform):
    """The middle of the image, of `size`, a number or (width, height).

    From an image that is too small the largest part of the same proportions is cut and resized.

    Examples
    --------
    >>> gluon.data.vision.transforms.CenterCrop(4)(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, size, interpolation=LINEAR):
        super().__init__()
        self._size = _width_and_height(size)
        self._interpolation = interpolation

    def transform(self, images):
        return _centre(images, self._size, self._interpolation)


class RandomResizedCrop(HostTransform):
    """A random part of the image, resized to `size`, a number or (width, height).

    Its area is a share of the image's within `scale`, width / height is within `ratio`. Where ten attempts do
    not fit into the image, it is the middle.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomResizedCrop(4)(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=LINEAR):
        super().__init__()
        self._size = _width_and_height(size)
        self._scale = scale
        self._ratio = ratio
        self._interpolation = interpolation

    def transform(self, images):
        height, width = images.shape[-3:-1]
        for _ in range(10):
            area = numpy.random.uniform(*self._scale) * height * width
            ratio = math.exp(numpy.random.uniform(*map(math.log, self._ratio)))
            new_width, new_height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < new_width <= width and 0 < new_height <= height:
                x = numpy.random.randint(width - new_width + 1)
                y = numpy.random.randint(height - new_height + 1)
                part = _cut(images, x, y, new_width, new_height)
                return resize(part, self._size[1], self._size[0], self._interpolation)
        return _centre(images, self._size, self._interpolation)


class _RandomFlip(HostTransform):
    """Mirrors along `_axis` with probability `p`; a batch as a whole."""

    _axis = 0

    def __init__(self, p=0.5):
        super().__init__()
        self._p = p

    def transform(self, images):
        return numpy.flip(images, self._axis) if numpy.random.random() < self._p else images.copy()


class RandomFlipLeftRight(_RandomFlip):
    """Mirrors left and right with probability `p`; a batch as a whole.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomFlipLeftRight()(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _axis = -2


class RandomFlipTopBottom(_RandomFlip):
    """Mirrors top and bottom with probability `p`; a batch as a whole.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomFlipTopBottom()(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _axis = -3
