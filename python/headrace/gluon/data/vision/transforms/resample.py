"""Images of other sizes."""

import numpy

from .....base import ArrayValueError
from .host import saturated

NEAREST, LINEAR, CUBIC, AREA = range(4)


def _spread_taps(positions, kernel_of, taps, size):
    """A matrix (len(positions), size) that weighs `taps` elements around every position; positions outside
    repeat the border.
    """
    first = numpy.floor(positions).astype(int) - (taps // 2 - 1)
    weights = numpy.zeros((len(positions), size))
    for tap in range(taps):
        columns = numpy.clip(first + tap, 0, size - 1)
        numpy.add.at(weights, (numpy.arange(len(positions)), columns), kernel_of(positions - first - tap))
    return weights


def _linear(distance):
    return numpy.maximum(0, 1 - abs(distance))


def _cubic(distance, sharpness=-0.75):
    x = abs(distance)
    near = ((sharpness + 2) * x - (sharpness + 3)) * x * x + 1
    far = ((sharpness * x - 5 * sharpness) * x + 8 * sharpness) * x - 4 * sharpness
    return numpy.where(x <= 1, near, numpy.where(x < 2, far, 0))


def _overlaps(old, new):
    """For every new element the share of each old one that it covers."""
    edges = numpy.arange(new + 1) * (old / new)
    starts, ends = edges[:-1, None], edges[1:, None]
    elements = numpy.arange(old)
    covered = numpy.minimum(ends, elements + 1) - numpy.maximum(starts, elements)
    return numpy.maximum(covered, 0) * (new / old)


def _weights(old, new, interpolation):
    """The matrix (new, old) that resizes one axis."""
    centres = (numpy.arange(new) + 0.5) * (old / new) - 0.5
    if interpolation == NEAREST:
        return numpy.eye(old)[numpy.minimum(numpy.arange(new) * old // new, old - 1)]
    if interpolation == CUBIC:
        return _spread_taps(centres, _cubic, 4, old)
    if interpolation == AREA and new < old:
        return _overlaps(old, new)
    return _spread_taps(centres, _linear, 2, old)


def resize(images, height, width, interpolation=LINEAR):
    """(..., H, W, C) to (..., height, width, C), dtype kept.

    `interpolation`: 0 nearest, 1 linear, 2 cubic, 3 area, that is the mean of what a smaller image's elements
    cover. ValueError: another interpolation, or a size that is not positive.
    """
    if interpolation not in (NEAREST, LINEAR, CUBIC, AREA):
        raise ArrayValueError(f"resize: expected interpolation 0, 1, 2 or 3, got {interpolation}")
    if height <= 0 or width <= 0:
        raise ArrayValueError(f"resize: expected a positive size, got width {width} and height {height}")
    if images.shape[-3:-1] == (height, width):
        return images.copy()
    rows = _weights(images.shape[-3], height, interpolation)
    columns = _weights(images.shape[-2], width, interpolation)
    resized = numpy.einsum("ih,...hwc,jw->...ijc", rows, images.astype(float), columns, optimize=True)
    return saturated(resized, images.dtype)
