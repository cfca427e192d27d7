"""Transforms that cut, resize and mirror images, by the operators of `image` and `nd.image`."""

from ..... import image
from .base import ImageBlock, ImageOperator, of_columns

__all__ = [
    "CenterCrop",
    "CropResize",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomResizedCrop",
    "Resize",
]


def _width_and_height(size):
    return (size, size) if isinstance(size, int) else tuple(size)


class Resize(ImageOperator):
    """Resizes uint8 or float32 images to `size`, a number or (width, height); with `keep_ratio` a number is
    the size of the shorter edge.

    `interpolation`: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos. ValueError: another one, or a size that
    does not fit. TypeError: another dtype.

    Examples
    --------
    >>> resize = gluon.data.vision.transforms.Resize((6, 4))  # width, height
    >>> resize(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 6, 3)
    """

    def __init__(self, size, keep_ratio=False, interpolation=1):
        super().__init__()
        self._arguments = (size, keep_ratio, interpolation)

    def transform(self, image, x):
        return image.resize(x, *self._arguments)

    def batch_form(self):
        return of_columns(self)


class CropResize(ImageOperator):
    """Cuts `width` columns from `x` on and `height` rows from `y` on, then resizes to `size`, a number or
    (width, height), if given; see Resize.

    MXNetError: the part is not within the image.

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
        self._interpolation = 1 if interpolation is None else interpolation

    def transform(self, image, x):
        part = image.crop(x, *self._part)
        return image.resize(part, self._size, False, self._interpolation) if self._size else part

    def batch_form(self):
        return of_columns(self)


class CenterCrop(ImageBlock):
    """The middle of the image, of `size`, a number or (width, height).

    From an image that is too small the largest part of the same proportions is cut and resized; see Resize.

    Examples
    --------
    >>> gluon.data.vision.transforms.CenterCrop(4)(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, size, interpolation=1):
        super().__init__()
        self._arguments = (_width_and_height(size), interpolation)

    def transform(self, images):
        return image.center_crop(images, *self._arguments)[0]

    def batch_form(self):
        return of_columns(self)


class RandomResizedCrop(ImageBlock):
    """A random part of the image, or of all in a batch, resized to `size`, a number or (width, height).

    Its area is a share of the image's within `scale`, width / height is within `ratio`. Where ten attempts do
    not fit into the image, it is the middle. Draws from Python's `random`; see `image.random_size_crop`.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomResizedCrop(4)(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=1):
        super().__init__()
        self._arguments = (_width_and_height(size), scale, ratio, interpolation)

    def transform(self, images):
        return image.random_size_crop(images, *self._arguments)[0]


class _RandomFlip(ImageOperator):
    """Mirrors with probability `p`, a batch as a whole; draws from the generator of `mx.random`."""

    _operator = None

    def __init__(self, p=0.5):
        super().__init__()
        self._attributes = {} if p == 0.5 else {"p": p}

    def transform(self, image, x):
        return getattr(image, self._operator)(x, **self._attributes)


class RandomFlipLeftRight(_RandomFlip):
    """Mirrors left and right with probability `p`; a batch as a whole.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomFlipLeftRight()(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _operator = "random_flip_left_right"


class RandomFlipTopBottom(_RandomFlip):
    """Mirrors top and bottom with probability `p`; a batch as a whole.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomFlipTopBottom()(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _operator = "random_flip_top_bottom"
