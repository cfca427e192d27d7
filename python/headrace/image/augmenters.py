"""Augmenters: callables that change an image (height, width, channels), some of them by chance.

Crops, flips and jitter draw from Python's `random`, lighting from NumPy's generator.
"""

import json
import random

import numpy

from .. import _arrays as arrays
from .. import ndarray as nd
from ..ndarray import NDArray
from . import geometry

IMAGENET_MEAN, IMAGENET_STD = [123.68, 116.28, 103.53], [58.395, 57.12, 57.375]  # red, green, blue
_LUMINANCE = [[[0.299, 0.587, 0.114]]]
# Principal components of the colours of ImageNet: eigenvalues, and a column for each eigenvector.
_COLOR_AXES = (
    [55.46, 4.794, 1.148],
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]],
)


def _beside(values, image):
    """`values` as an array that operators take beside the image."""
    made = values if isinstance(values, NDArray) else nd.array(values, ctx=image.ctx)
    return arrays.like(made, image)


def _dot(image, matrix):
    """Every pixel times a matrix (channels, channels)."""
    return arrays.like(nd.dot(arrays.like(image, matrix), matrix), image)


def color_normalize(src, mean, std=None):
    """`src` minus `mean`, divided by `std`, where they are not None: in place.

    MXNetError: `src` has another dtype than these, uint8 for example.

    Examples
    --------
    >>> image = nd.array([[[100, 200]]])
    >>> mx.image.color_normalize(image, mean=nd.array([50, 100]), std=nd.array([50, 50]))
    [[[1. 2.]]]
    <NDArray 1x1x2 @cpu(0)>
    """
    if mean is not None:
        src -= _beside(mean, src)
    if std is not None:
        src /= _beside(std, src)
    return src


class Described:
    """What can be written as a text. `kwargs`: what `dumps` writes."""

    def __init__(self, **kwargs):
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self):
        """The augmenter as a text in JSON: its name in small letters, and what it was made with."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """What changes an image. `kwargs`: what `dumps` writes.

    Examples
    --------
    >>> class Negative(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> Negative()(nd.full((1, 1, 3), 55))
    [[[200. 200. 200.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __call__(self, src):
        """The image that comes out; `src` may be changed."""
        raise NotImplementedError("Must override implementation.")


def _plain(value):
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, numpy.ndarray) else value


class SequentialAug(Augmenter):
    """One augmenter of `ts` after the other.

    Examples
    --------
    >>> change = mx.image.SequentialAug([mx.image.CastAug(), mx.image.HorizontalFlipAug(0.5)])
    >>> change(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, ts):
        super().__init__()
        self.ts = ts

    def dumps(self):
        """The name, and the texts of the augmenters."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.ts]]

    def __call__(self, src):
        for one in self.ts:
            src = one(src)
        return src


class RandomOrderAug(SequentialAug):
    """The augmenters of `ts`, in another order each time.

    Examples
    --------
    >>> change = mx.image.RandomOrderAug([mx.image.CastAug(), mx.image.HorizontalFlipAug(0.5)])
    >>> change(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __call__(self, src):
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """The shorter side becomes `size`; see `resize_short`.

    Examples
    --------
    >>> mx.image.ResizeAug(3)(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (4, 3, 3)
    """

    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src):
        return geometry.resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """The image becomes `size`, (width, height), whatever its proportions.

    Examples
    --------
    >>> mx.image.ForceResizeAug((3, 4))(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (4, 3, 3)
    """

    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src):
        return geometry.imresize(src, *self.size, interp=self.interp)


class RandomCropAug(Augmenter):
    """A part at a random place; see `random_crop`.

    Examples
    --------
    >>> mx.image.RandomCropAug((3, 4))(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (4, 3, 3)
    """

    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src):
        return geometry.random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of random place, area and proportions; see `random_size_crop`.

    Examples
    --------
    >>> crop = mx.image.RandomSizedCropAug((3, 4), area=(0.5, 1), ratio=(0.8, 1.2))
    >>> crop(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (4, 3, 3)
    """

    def __init__(self, size, area, ratio, interp=2, **kwargs):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp, self._more = size, area, ratio, interp, kwargs

    def __call__(self, src):
        return geometry.random_size_crop(src, self.size, self.area, self.ratio, self.interp, **self._more)[0]


class CenterCropAug(Augmenter):
    """The middle; see `center_crop`.

    Examples
    --------
    >>> mx.image.CenterCropAug((3, 4))(nd.zeros((8, 6, 3), dtype="uint8")).shape
    (4, 3, 3)
    """

    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src):
        return geometry.center_crop(src, self.size, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Values times a random factor within 1 - `brightness` and 1 + `brightness`.

    Examples
    --------
    >>> mx.image.BrightnessJitterAug(0.3)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, brightness):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src):
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Values brought nearer to, or further from, the mean luminance.

    Examples
    --------
    >>> mx.image.ContrastJitterAug(0.3)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, contrast):
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src):
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        weighed = src * _beside(_LUMINANCE, src)
        mean = weighed.sum() * (3.0 * (1.0 - alpha) / weighed.size)
        src *= alpha
        src += mean
        return src


class SaturationJitterAug(Augmenter):
    """Pixels brought nearer to, or further from, their luminance.

    Examples
    --------
    >>> mx.image.SaturationJitterAug(0.3)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, saturation):
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src):
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        luminance = (src * _beside(_LUMINANCE, src)).sum(axis=2, keepdims=True)
        src *= alpha
        src += luminance * (1.0 - alpha)
        return src


class HueJitterAug(Augmenter):
    """Colours turned in the YIQ space by up to `hue` half turns; grey stays as it is.

    Examples
    --------
    >>> mx.image.HueJitterAug(0.1)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, hue):
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = numpy.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = numpy.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src):
        angle = random.uniform(-self.hue, self.hue) * numpy.pi
        cosine, sine = numpy.cos(angle), numpy.sin(angle)
        turn = numpy.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        return _dot(src, nd.array((self.ityiq @ turn @ self.tyiq).T, ctx=src.ctx))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, as far as they are not 0, in random order.

    Examples
    --------
    >>> mx.image.ColorJitterAug(0.3, 0.3, 0.3)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, brightness, contrast, saturation):
        kinds = (
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        )
        super().__init__([kind(amount) for kind, amount in kinds if amount > 0])


class LightingAug(Augmenter):
    """Noise of deviation `alphastd` along the axes `eigvec` (3, 3) of colours, weighed by `eigval` (3,).

    Examples
    --------
    >>> import numpy
    >>> jitter = mx.image.LightingAug(0.1, eigval=numpy.ones(3), eigvec=numpy.eye(3))
    >>> jitter(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, alphastd, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src):
        alpha = numpy.random.normal(0, self.alphastd, size=(3,))
        src += _beside(numpy.dot(self.eigvec * alpha, self.eigval), src)
        return src


class ColorNormalizeAug(Augmenter):
    """See `color_normalize`.

    Examples
    --------
    >>> mx.image.ColorNormalizeAug(nd.array([1, 1, 1]), nd.array([2, 2, 2]))(nd.full((1, 1, 3), 5))
    [[[2. 2. 2.]]]
    <NDArray 1x1x3 @cpu(0)>
    """

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else nd.array(std)

    def __call__(self, src):
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Grey in all channels, with probability `p`.

    Examples
    --------
    >>> mx.image.RandomGrayAug(0.5)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src):
        return _dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Left and right change places, with probability `p`.

    Examples
    --------
    >>> mx.image.HorizontalFlipAug(0.5)(nd.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src):
        return arrays.like(nd.flip(src.as_nd_ndarray(), axis=1), src) if random.random() < self.p else src


class CastAug(Augmenter):
    """The image as another type, float32 unless said.

    Examples
    --------
    >>> mx.image.CastAug("float32")(nd.zeros((8, 6, 3), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src):
        return src.astype(self.typ)


def CreateAugmenter(
    data_shape,
    resize=0,
    rand_crop=False,
    rand_resize=False,
    rand_mirror=False,
    mean=None,
    std=None,
    brightness=0,
    contrast=0,
    saturation=0,
    hue=0,
    pca_noise=0,
    rand_gray=0,
    inter_method=2,
):
    """A list of augmenters that end in float32 images of `data_shape`, (channels, height, width).

    Parameters
    ----------
    resize : int
        The shorter side at first, where larger than 0.
    rand_crop, rand_resize : bool
        A part at a random place in place of the middle; of random area and proportions, too.
    rand_mirror : bool
        Half of the images mirrored.
    mean, std : array of 1 or 3 numbers, or True for those of ImageNet
    brightness, contrast, saturation, hue, pca_noise : float
        How much each may change.
    rand_gray : float
        Probability of grey.
    inter_method : int
        How images are resized; see `imresize`.

    Examples
    --------
    >>> augmenters = mx.image.CreateAugmenter((3, 24, 24), resize=32, rand_mirror=True)
    >>> [type(augmenter).__name__ for augmenter in augmenters]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    >>> image = nd.ones((40, 48, 3), dtype="uint8")
    >>> for augmenter in augmenters:
    ...     image = augmenter(image)
    >>> image.shape, image.dtype
    ((24, 24, 3), <class 'numpy.float32'>)
    """
    size = (data_shape[2], data_shape[1])
    made = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        assert rand_crop, "CreateAugmenter: rand_resize needs rand_crop"
        made.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        made.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    return made + color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)


def color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std):
    """What follows when images have their size: float32, and other colours. See `CreateAugmenter`."""
    made = [CastAug()]
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, numpy.array(_COLOR_AXES[0]), numpy.array(_COLOR_AXES[1])))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    mean = _statistic("mean", mean, IMAGENET_MEAN)
    std = _statistic("std", std, IMAGENET_STD)
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(mean, std))
    return made


def _statistic(name, value, of_imagenet):
    if value is True:
        return nd.array(of_imagenet)
    if value is not None:
        assert isinstance(value, (numpy.ndarray, NDArray)) and value.shape[0] in (1, 3), (
            f"CreateAugmenter: {name} must be True, or an array of 1 or 3 numbers, got {value!r}"
        )
    return value
