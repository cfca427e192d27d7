"""Random changes of colours. They draw from `numpy.random`; a batch is changed as a whole.

Where three channels are needed they are red, green and blue; images of one channel count as gray.
"""

import numpy

from .....base import ArrayValueError
from .host import HostTransform, saturated

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
_TO_YIQ = numpy.array([_LUMINANCE, [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = numpy.linalg.inv(_TO_YIQ)

# Principal components of the colours of ImageNet's images: values and vectors (in columns).
_LIGHT_VALUES = numpy.array([55.46, 4.794, 1.148])
_LIGHT_VECTORS = numpy.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def _gray(images):
    """(..., channels) to (..., 1). ValueError: neither 1 nor 3 channels."""
    channels = images.shape[-1]
    if channels not in (1, 3):
        raise ArrayValueError(f"expected 1 or 3 channels in the last axis, got shape {images.shape}")
    return images if channels == 1 else (images @ _LUMINANCE)[..., None]


class _RandomFactor(HostTransform):
    """A change by a factor drawn uniformly from max(0, 1 - `amount`) to 1 + `amount`; `adjusted` makes it."""

    def __init__(self, amount):
        super().__init__()
        self._range = (max(0.0, 1.0 - amount), 1.0 + amount)

    def transform(self, images):
        changed = self.adjusted(images.astype(float), numpy.random.uniform(*self._range))
        return saturated(changed, images.dtype)


class RandomBrightness(_RandomFactor):
    """Multiplies by a factor from max(0, 1 - brightness) to 1 + brightness.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomBrightness(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, brightness):
        super().__init__(brightness)

    @staticmethod
    def adjusted(images, factor):
        return images * factor


class RandomContrast(_RandomFactor):
    """Multiplies the differences from the mean gray by a factor from max(0, 1 - contrast) to 1 + contrast.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomContrast(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, contrast):
        super().__init__(contrast)

    @staticmethod
    def adjusted(images, factor):
        mean = _gray(images).mean(axis=(-3, -2, -1), keepdims=True)
        return images * factor + mean * (1 - factor)


class RandomSaturation(_RandomFactor):
    """Multiplies the differences from each element's gray by a factor from max(0, 1 - saturation) to 1 +
    saturation.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomSaturation(0.3)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, saturation):
        super().__init__(saturation)

    @staticmethod
    def adjusted(images, factor):
        return images * factor + _gray(images) * (1 - factor)


class RandomHue(_RandomFactor):
    """Turns colours around the gray axis by up to half a circle times `hue`; gray images stay.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomHue(0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, hue):
        super().__init__(hue)

    @staticmethod
    def adjusted(images, factor):
        if images.shape[-1] != 3:
            return images
        angle = (factor - 1) * numpy.pi
        cosine, sine = numpy.cos(angle), numpy.sin(angle)
        turn = numpy.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
        return images @ (_FROM_YIQ @ turn @ _TO_YIQ).T


class RandomColorJitter(HostTransform):
    """RandomBrightness, RandomContrast, RandomSaturation and RandomHue in random order.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomColorJitter(0.3, 0.3, 0.3, 0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        kinds = (RandomBrightness, RandomContrast, RandomSaturation, RandomHue)
        amounts = (brightness, contrast, saturation, hue)
        self._steps = tuple(kind(amount) for kind, amount in zip(kinds, amounts) if amount)

    def transform(self, images):
        for number in numpy.random.permutation(len(self._steps)):
            images = self._steps[number].transform(images)
        return images


class RandomLighting(HostTransform):
    """Adds to all elements one colour along the principal components of ImageNet's colours; `alpha` is the
    standard deviation of the three factors. ValueError: not 3 channels.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomLighting(0.1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, alpha):
        super().__init__()
        self._alpha = alpha

    def transform(self, images):
        if images.shape[-1] != 3:
            raise ArrayValueError(
                f"RandomLighting: expected 3 channels in the last axis, got shape {images.shape}"
            )
        factors = numpy.random.normal(0, self._alpha, 3)
        return saturated(images + _LIGHT_VECTORS @ (factors * _LIGHT_VALUES), images.dtype)


class RandomGray(HostTransform):
    """Makes all channels the gray with probability `p`.

    Examples
    --------
    >>> gluon.data.vision.transforms.RandomGray(p=1)(nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self._p = p

    def transform(self, images):
        if numpy.random.random() >= self._p:
            return images.copy()
        gray = saturated(_gray(images.astype(float)), images.dtype)
        return numpy.repeat(gray, images.shape[-1], axis=-1)
