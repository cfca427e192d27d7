"""Composition of transforms, and the step from pixels to what networks take."""

import random

import numpy

from ....._arrays import NDArray
from ....._semantics import is_np_array
from .....base import ArrayTypeError, ArrayValueError
from ....block import Block
from ....hybrid_block import HybridBlock
from ....nn import Sequential
from ..._batches import batch_form
from .base import of_columns

__all__ = ["Cast", "Compose", "Normalize", "RandomApply", "ToTensor"]


class Compose(Sequential):
    """Applies `transforms`, blocks or other functions of one argument, one after another; the blocks among
    them are its children.

    Examples
    --------
    >>> from headrace.gluon.data.vision import transforms
    >>> steps = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    >>> steps(nd.zeros((8, 8, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms):
        super().__init__()
        self._steps = []
        self.add(*transforms)

    def add(self, *transforms):
        """Appends transforms."""
        for step in transforms:
            if isinstance(step, Block):
                self.register_child(step, str(len(self._steps)))
            self._steps.append(step)

    def forward(self, x):
        for step in self._steps:
            x = step(x)
        return x

    def batch_form(self):
        forms = [batch_form(step) for step in self._steps]
        if None in forms:
            return None

        def apply(column):
            for form in forms:
                column = form(column)
            return column

        return apply

    def __repr__(self):
        steps = "\n".join(f"  ({i}): {step!r}".replace("\n", "\n  ") for i, step in enumerate(self._steps))
        return f"{type(self).__name__}(\n{steps}\n)"


class RandomApply(Sequential):
    """Applies `transforms`, a function or a list of them, with probability `p` (by Python's `random`).

    Examples
    --------
    >>> from headrace.gluon.data.vision import transforms
    >>> transforms.RandomApply(transforms.Cast("float64"), p=1)(nd.ones((2, 2, 3))).dtype
    <class 'numpy.float64'>
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms
        self.p = p

    def forward(self, x):
        return x if self.p < random.random() else self.transforms(x)


class Cast(HybridBlock):
    """Converts to `dtype`.

    Examples
    --------
    >>> gluon.data.vision.transforms.Cast("float16")(nd.ones((2, 2, 3))).dtype
    <class 'numpy.float16'>
    """

    def __init__(self, dtype="float32"):
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F, x):
        return (F.npx.cast if is_np_array() else F.cast)(x, dtype=self._dtype)

    def batch_form(self):
        return of_columns(self, lambda column: column.astype(self._dtype))


class ToTensor(HybridBlock):
    """Images (height, width, channels) with values 0 to 255 as float32 (channels, height, width), values 0 to
    1.

    A batch (N, height, width, channels) gives (N, channels, height, width). ValueError: any other number of
    axes.

    Examples
    --------
    >>> image = nd.full((4, 6, 3), 255, dtype="uint8")
    >>> tensor = gluon.data.vision.transforms.ToTensor()(image)
    >>> tensor.shape, tensor.max().asscalar()
    ((3, 4, 6), np.float32(1.0))
    """

    def forward(self, x):
        if isinstance(x, NDArray) and x.ndim not in (3, 4):
            raise ArrayValueError(
                "ToTensor: expected an image (height, width, channels) or a batch of images "
                f"(N, height, width, channels), got shape {x.shape}"
            )
        return super().forward(x)

    def hybrid_forward(self, F, x):
        return (F.npx.image if is_np_array() else F.image).to_tensor(x)

    def batch_form(self):
        return of_columns(self, self._convert)

    @staticmethod
    def _convert(images):
        if images.ndim != 4:
            raise ArrayValueError(
                f"ToTensor: expected images (height, width, channels), got shape {images.shape[1:]}"
            )
        channels_first = images.transpose(0, 3, 1, 2)
        tensor = numpy.empty(channels_first.shape, numpy.float32)
        return numpy.divide(
            channels_first, numpy.float32(255), out=tensor, dtype=numpy.float32, casting="unsafe"
        )


class Normalize(HybridBlock):
    """(x - mean) / std per channel of float images (channels, height, width) or batches of them.

    `mean` and `std`: one number, or one per channel. ValueError: shapes that do not fit. TypeError: integers.

    Examples
    --------
    >>> gluon.data.vision.transforms.Normalize(mean=0.5, std=0.25)(nd.ones((1, 1, 2)))
    [[[2. 2.]]]
    <NDArray 1x1x2 @cpu(0)>
    """

    def __init__(self, mean=0.0, std=1.0):
        super().__init__()
        self._attributes = {"mean": mean, "std": std}
        self._mean = numpy.atleast_1d(numpy.asarray(mean, numpy.float32)).reshape(-1, 1, 1)
        self._std = numpy.atleast_1d(numpy.asarray(std, numpy.float32)).reshape(-1, 1, 1)

    def forward(self, x):
        if isinstance(x, numpy.ndarray):
            return self._normalize(x)
        if isinstance(x, NDArray):
            self._check(x.shape, x.dtype)
        return super().forward(x)

    def hybrid_forward(self, F, x):
        return (F.npx.image if is_np_array() else F.image).normalize(x, **self._attributes)

    def batch_form(self):
        return of_columns(self, self._normalize)

    def _normalize(self, host):
        self._check(host.shape, host.dtype)
        return (host - self._mean.astype(host.dtype)) / self._std.astype(host.dtype)

    def _check(self, shape, dtype):
        if len(shape) not in (3, 4) or any(len(v) not in (1, shape[-3]) for v in (self._mean, self._std)):
            raise ArrayValueError(
                f"Normalize: expected shape (channels, height, width) or (N, channels, height, width) for "
                f"{len(self._mean)} means and {len(self._std)} deviations, got {shape}"
            )
        if numpy.dtype(dtype).kind != "f":
            raise ArrayTypeError(
                f"Normalize: expected a float image, got {numpy.dtype(dtype)}; put ToTensor() before it"
            )
