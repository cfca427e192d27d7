"""Transforms that turn images, as float32 arrays with channels first."""

import numpy

from ....._arrays import dtype_name
from .....image import imrotate, random_rotate
from ....block import Block

__all__ = ["RandomRotation", "Rotate"]


def _check_dtype(x):
    if dtype_name(x.dtype) != "float32":
        raise TypeError(
            f"This transformation only supports float32, got {x.dtype}. Consider calling it after ToTensor"
        )


class Rotate(Block):
    """Turns images (channels, height, width), or a batch of them, by `rotation_degrees`; see
    `image.imrotate`.

    TypeError: another dtype than float32.

    Examples
    --------
    >>> gluon.data.vision.transforms.Rotate(90)(nd.array([[[1, 2], [3, 4]]])).round()
    [[[2. 4.]
      [1. 3.]]]
    <NDArray 1x2x2 @cpu(0)>
    """

    def __init__(self, rotation_degrees, zoom_in=False, zoom_out=False):
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x):
        _check_dtype(x)
        return imrotate(x, *self._args)


class RandomRotation(Block):
    """Turns images (channels, height, width), or a batch of them, by random angles between the two of
    `angle_limits`, with probability `rotate_with_proba`; see `image.random_rotate`.

    ValueError: limits out of order, or no probability. TypeError: another dtype than float32.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomRotation((-20, 20))(nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(self, angle_limits, zoom_in=False, zoom_out=False, rotate_with_proba=1.0):
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"`angle_limits` must be an ordered tuple, got {angle_limits}")
        if rotate_with_proba < 0 or rotate_with_proba > 1:
            raise ValueError(
                f"Probability of rotating the image should be between 0 and 1, got {rotate_with_proba}"
            )
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x):
        if numpy.random.random() > self._rotate_with_proba:
            return x
        _check_dtype(x)
        return random_rotate(x, *self._args)
