"""Random changes of colours. A batch is changed as a whole.

Where three channels are needed they are red, green and blue; images of one channel count as gray. All but
RandomGray are operators of `nd.image` and draw from the generator of `mx.random`.
"""

import numpy

from .....base import ArrayValueError
from ..._host import to_array, to_host
from .base import ImageBlock, ImageOperator

__all__ = [
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomSaturation",
]

_LUMINANCE = numpy.array([0.299, 0.587, 0.114])


class _RandomFactor(ImageOperator):
    """An operator that takes the least and the largest factor: max(0, 1 - `amount`) and 1 + `amount`."""

    _operator = None

    def __init__(self, amount):
        super().__init__()
        self._range = (max(0.0, 1.0 - amount), 1.0 + amount)

    def transform(self, image, x):
        return getattr(image, self._operator)(x, *self._range)


class RandomBrightness(_RandomFactor):
    """Multiplies by a factor from max(0, 1 - brightness) to 1 + brightness.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomBrightness(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    _operator = "random_brightness"

    def __init__(self, brightness):
        super().__init__(brightness)


class RandomContrast(_RandomFactor):
    """Multiplies the differences from the mean gray by a factor from max(0, 1 - contrast) to 1 + contrast.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomContrast(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    _operator = "random_contrast"

    def __init__(self, contrast):
        super().__init__(contrast)


class RandomSaturation(_RandomFactor):
    """Multiplies the differences from each element's gray by a factor from max(0, 1 - saturation) to 1 +
    saturation.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomSaturation(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    _operator = "random_saturation"

    def __init__(self, saturation):
        super().__init__(saturation)


class RandomHue(_RandomFactor):
    """Turns the hue by a share of the circle from max(0, 1 - hue) to 1 + hue; gray images stay.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomHue(0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    _operator = "random_hue"

    def __init__(self, hue):
        super().__init__(hue)


class RandomColorJitter(ImageOperator):
    """Changes brightness, contrast, saturation by factors from 1 - amount to 1 + amount, and turns the hue by
    up to the share `hue` of the circle, in random order.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomColorJitter(0.3, 0.3, 0.3, 0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self._amounts = (brightness, contrast, saturation, hue)

    def transform(self, image, x):
        return image.random_color_jitter(x, *self._amounts)


class RandomLighting(ImageOperator):
    """Adds to all elements one colour along the principal components of ImageNet's colours; `alpha` is the
    standard deviation of the three factors. Gray images stay.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomLighting(0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, alpha):
        super().__init__()
        self._alpha = alpha

    def transform(self, image, x):
        return image.random_lighting(x, self._alpha)


class RandomGray(ImageBlock):
    """Makes all channels the gray with probability `p`, drawn from `numpy.random`.

    ValueError: neither 1 nor 3 channels.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomGray(p=1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self._p = p

    def transform(self, images):
        if images.shape[-1] not in (1, 3):
            raise ArrayValueError(f"expected 1 or 3 channels in the last axis, got shape {images.shape}")
        if numpy.random.random() >= self._p or images.shape[-1] == 1:
            return images.copy()
        host = to_host(images)
        gray = host @ _LUMINANCE if host.dtype.kind == "f" else numpy.rint(host @ _LUMINANCE)
        return to_array(numpy.repeat(gray[..., None], 3, axis=-1).astype(host.dtype))
