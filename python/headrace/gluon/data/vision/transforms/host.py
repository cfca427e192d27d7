"""The base class of transforms that NumPy computes."""

import numpy

from ....._arrays import NDArray
from .....base import ArrayValueError
from ....hybrid_block import HybridBlock
from ..._host import to_array, to_host


class HostTransform(HybridBlock):
    """A transform whose `transform` takes and gives a NumPy array: an image (height, width, channels), or a
    batch of them with one more axis in front. A hybridized container cannot hold it.

    ValueError: another number of axes, or no array.
    """

    def forward(self, x):
        if not isinstance(x, (NDArray, numpy.ndarray)):
            raise ArrayValueError(f"{type(self).__name__}: expected an array, got {type(x).__name__}")
        if x.ndim not in (3, 4):
            raise ArrayValueError(
                f"{type(self).__name__}: expected an image (height, width, channels) or a batch of images "
                f"(N, height, width, channels), got shape {x.shape}"
            )
        host = to_host(x)
        return to_array(self.transform(host), host)

    def transform(self, images):
        """The transformed images; the dtype stays."""
        raise NotImplementedError(f"{type(self).__name__} has no transform(self, images) method")


class BatchTransform(HostTransform):
    """A HostTransform that does the same to every image of a batch."""

    def batch_form(self):
        return self.transform


def saturated(values, dtype):
    """`values` as `dtype`; integers are rounded and kept within the range of `dtype`."""
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(values), limits.min, limits.max).astype(dtype)
