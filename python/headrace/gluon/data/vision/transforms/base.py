"""What transforms of images share: they are operators, on one image or on a batch of them."""

import numpy

from ....._arrays import NDArray
from ....._semantics import is_np_array
from .....base import ArrayValueError
from ....block import Block
from ....hybrid_block import HybridBlock
from ..._host import to_array


def checked(block, x):
    """`x`, an image (height, width, channels) or a batch of images with one more axis in front, as an array.

    ValueError: another number of axes, or no array.
    """
    name = type(block).__name__
    if not isinstance(x, (NDArray, numpy.ndarray)):
        raise ArrayValueError(f"{name}: expected an array, got {type(x).__name__}")
    if x.ndim not in (3, 4):
        raise ArrayValueError(
            f"{name}: expected an image (height, width, channels) or a batch of images "
            f"(N, height, width, channels), got shape {x.shape}"
        )
    return to_array(x, x) if isinstance(x, numpy.ndarray) else x


def of_columns(block, on_host=None):
    """The function that applies `block` to a column of images; `on_host` does so to a NumPy array."""
    on_host = on_host or (lambda column: block(to_array(column, column)).asnumpy())
    return lambda column: block(column) if isinstance(column, NDArray) else on_host(column)


class ImageBlock(Block):
    """A transform of images whose `transform` needs their shape: it cannot be traced."""

    def forward(self, x):
        return self.transform(checked(self, x))

    def transform(self, images):
        """The transformed images."""
        raise NotImplementedError(f"{type(self).__name__} has no transform(self, images) method")


class ImageOperator(HybridBlock):
    """A transform of images by the operators in `F.image`, which `transform` gets."""

    def forward(self, x):
        if not hasattr(x, "list_arguments"):  # of a symbol nothing is known yet
            x = checked(self, x)
        return super().forward(x)

    def hybrid_forward(self, F, x):
        return self.transform(F.npx.image if is_np_array() else F.image, x)

    def transform(self, image, x):
        """The transformed images."""
        raise NotImplementedError(f"{type(self).__name__} has no transform(self, image, x) method")
