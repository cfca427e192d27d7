"""Augmenters for detection: callables that change an image and the boxes in it, some of them by chance.

An image is an array (height, width, channels); a label a NumPy array (objects, 5 or more) whose rows hold a
class, xmin, ymin, xmax and ymax as shares of width and height, and whatever follows. Chance is Python's
`random`.
"""

import logging
import math
import numbers
import random
import warnings

import numpy

from .. import _arrays as arrays
from .. import ndarray as nd
from . import augmenters, geometry
from .augmenters import Augmenter, Described

_CONSTANT = 16  # OpenCV's border of one value, of a whole image


class DetAugmenter(Described):
    """What changes an image and its label. `kwargs`: what `dumps` writes.

    Examples
    --------
    >>> import numpy
    >>> class Same(mx.image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return src, label
    >>> image, objects = Same()(nd.ones((8, 8, 3)), numpy.zeros((1, 5)))
    >>> image.shape
    (8, 8, 3)
    """

    def __call__(self, src, label):
        """The image and the label that come out; both may be changed in place."""
        raise NotImplementedError("Must override implementation.")


class DetBorrowAug(DetAugmenter):
    """An Augmenter that leaves boxes where they are. TypeError: `augmenter` is none.

    Examples
    --------
    >>> import numpy
    >>> objects = numpy.array([[0, 0.1, 0.2, 0.5, 0.6]])  # class, then xmin, ymin, xmax, ymax
    >>> change = mx.image.DetBorrowAug(mx.image.CastAug())
    >>> image, objects = change(nd.zeros((8, 8, 3), dtype="uint8"), objects)
    >>> image.shape, len(objects)
    ((8, 8, 3), 1)
    """

    def __init__(self, augmenter):
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug: an Augmenter is needed, got {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self):
        """The name, and the text of the augmenter."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src, label):
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One augmenter of `aug_list`, drawn each time, or none with probability `skip_prob`.

    ValueError: the list holds something else than DetAugmenters.

    Examples
    --------
    >>> import numpy
    >>> objects = numpy.array([[0, 0.1, 0.2, 0.5, 0.6]])  # class, then xmin, ymin, xmax, ymax
    >>> change = mx.image.DetRandomSelectAug([mx.image.DetHorizontalFlipAug(1)], skip_prob=0)
    >>> image, objects = change(nd.zeros((8, 8, 3), dtype="uint8"), objects)
    >>> image.shape, len(objects)
    ((8, 8, 3), 1)
    """

    def __init__(self, aug_list, skip_prob=0):
        super().__init__(skip_prob=skip_prob)
        self.aug_list = aug_list if isinstance(aug_list, (list, tuple)) else [aug_list]
        for one in self.aug_list:
            if not isinstance(one, DetAugmenter):
                raise ValueError(f"DetRandomSelectAug: only a DetAugmenter may be in the list, got {one!r}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self):
        """The name, and the texts of the augmenters."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.aug_list]]

    def __call__(self, src, label):
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Left and right change places, with probability `p`.

    Examples
    --------
    >>> import numpy
    >>> objects = numpy.array([[0, 0.1, 0.2, 0.5, 0.6]])  # class, then xmin, ymin, xmax, ymax
    >>> change = mx.image.DetHorizontalFlipAug(1)
    >>> image, objects = change(nd.zeros((8, 8, 3), dtype="uint8"), objects)
    >>> objects
    array([[0. , 0.5, 0.2, 0.9, 0.6]])
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src, label):
        if random.random() < self.p:
            src = arrays.like(nd.flip(src.as_nd_ndarray(), axis=1), src)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def _range_of(name, value, augmenter):
    """Least and most, of one number that is both."""
    if isinstance(value, (list, tuple)):
        return value
    assert isinstance(value, numbers.Number), f"{augmenter}: {name} must be one or two numbers, got {value!r}"
    logging.info("Using fixed %s: %s in %s", name.removesuffix("_range").replace("_", " "), value, augmenter)
    return value, value


def _is_usable(augmenter, area_range, aspect_ratio_range, areas_are_usable):
    """Whether there is anything to draw; a warning where there is not."""
    if not areas_are_usable or area_range[0] > area_range[1]:
        warnings.warn(f"Skip {augmenter} due to invalid area_range: {area_range}", stacklevel=3)
        return False
    if not 0 < aspect_ratio_range[0] <= aspect_ratio_range[1]:
        warnings.warn(
            f"Skip {augmenter} due to invalid aspect_ratio_range: {aspect_ratio_range}", stacklevel=3
        )
        return False
    return True


def _areas(boxes):
    """Of rows that begin with xmin, ymin, xmax, ymax."""
    return numpy.maximum(0, boxes[:, 3] - boxes[:, 1]) * numpy.maximum(0, boxes[:, 2] - boxes[:, 0])


def _drawn_height(least, most):
    least = min(least, most)
    return random.randint(least, most) if least < most else least


class DetRandomCropAug(DetAugmenter):
    """A part of the image at random, and the objects that are in it.

    Parameters
    ----------
    min_object_covered : float
        Every object that the part meets must be covered by more than this share.
    aspect_ratio_range, area_range : two floats, or one that is both
        Width over height, and share of the image.
    min_eject_coverage : float
        Objects of which no more than this share is left are dropped; a part without objects is not taken.
    max_attempts : int
        How many parts are tried before the image stays as it is.

    Examples
    --------
    >>> import numpy
    >>> objects = numpy.array([[0, 0.1, 0.2, 0.5, 0.6]])  # class, then xmin, ymin, xmax, ymax
    >>> change = mx.image.DetRandomCropAug(max_attempts=0)
    >>> image, objects = change(nd.zeros((8, 8, 3), dtype="uint8"), objects)
    >>> image.shape, len(objects)
    ((8, 8, 3), 1)
    """

    def __init__(self, min_object_covered=0.1, aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 1.0),
                 min_eject_coverage=0.3, max_attempts=50):  # fmt: skip
        name = "DetRandomCropAug"
        aspect_ratio_range = _range_of("aspect_ratio_range", aspect_ratio_range, name)
        area_range = _range_of("area_range", area_range, name)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.max_attempts = max_attempts
        self.enabled = _is_usable(name, area_range, aspect_ratio_range, area_range[1] > 0)

    def __call__(self, src, label):
        height, width = src.shape[:2]
        if not self.enabled or height <= 0 or width <= 0:
            return src, label
        for _ in range(self.max_attempts):
            part = self._drawn_part(height, width)
            if part is None or not self._covers_enough(label, part, height, width):
                continue
            kept = self._objects_in(label, part, height, width)
            if len(kept):
                return geometry.fixed_crop(src, *part), kept
        return src, label

    def _drawn_part(self, height, width):
        """(x, y, width, height), or None where the proportions that were drawn do not fit."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        if ratio <= 0:
            return None
        tallest = round(math.sqrt(most / ratio))
        if round(tallest * ratio) > width:
            tallest = int((width + 0.4999999) / ratio)
        new_height = _drawn_height(round(math.sqrt(least / ratio)), min(tallest, height))
        new_width = round(new_height * ratio)
        # Rounding may have left the range of areas by a row.
        if new_width * new_height < least:
            new_height += 1
            new_width = round(new_height * ratio)
        if new_width * new_height > most:
            new_height -= 1
            new_width = round(new_height * ratio)
        fits = 0 <= new_width <= width and 0 <= new_height <= height
        if not fits or not least <= new_width * new_height <= most:
            return None
        y = random.randint(0, height - new_height)
        x = random.randint(0, width - new_width)
        return x, y, new_width, new_height

    def _covers_enough(self, label, part, height, width):
        x, y, new_width, new_height = part
        if new_width * new_height < 2:
            return False
        boxes = label[:, 1:5]
        areas = _areas(boxes)
        visible = areas * width * height > 2
        if not visible.any():
            return False
        begin = numpy.array([x / width, y / height], boxes.dtype)
        end = numpy.array([(x + new_width) / width, (y + new_height) / height], boxes.dtype)
        shared = numpy.hstack([numpy.maximum(boxes[:, :2], begin), numpy.minimum(boxes[:, 2:], end)])
        covered = _areas(shared[visible]) / areas[visible]
        covered = covered[covered > 0]
        return covered.size > 0 and covered.min() > self.min_object_covered

    def _objects_in(self, label, part, height, width):
        x, y, new_width, new_height = part[0] / width, part[1] / height, part[2] / width, part[3] / height
        moved = label.copy()
        moved[:, (1, 3)] = (moved[:, (1, 3)] - x) / new_width
        moved[:, (2, 4)] = (moved[:, (2, 4)] - y) / new_height
        moved[:, 1:5] = numpy.clip(moved[:, 1:5], 0, 1)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            left = _areas(moved[:, 1:]) * new_width * new_height / _areas(label[:, 1:])
        is_box = (moved[:, 3] > moved[:, 1]) & (moved[:, 4] > moved[:, 2])
        return moved[is_box & (left > self.min_eject_coverage)]


class DetRandomPadAug(DetAugmenter):
    """The image at a random place of a larger one, which holds `pad_val`, one number per channel, elsewhere.

    `aspect_ratio_range`, `area_range`: width over height, and area as a multiple of the image's; two floats,
    or one that is both. After `max_attempts` that do not fit the image stays as it is.

    Examples
    --------
    >>> import numpy
    >>> objects = numpy.array([[0, 0.1, 0.2, 0.5, 0.6]])  # class, then xmin, ymin, xmax, ymax
    >>> change = mx.image.DetRandomPadAug(max_attempts=0)
    >>> image, objects = change(nd.zeros((8, 8, 3), dtype="uint8"), objects)
    >>> image.shape, len(objects)
    ((8, 8, 3), 1)
    """

    def __init__(self, aspect_ratio_range=(0.75, 1.33), area_range=(1.0, 3.0), max_attempts=50,
                 pad_val=(128, 128, 128)):  # fmt: skip
        name = "DetRandomPadAug"
        assert isinstance(pad_val, (list, tuple, numbers.Number)), (
            f"{name}: pad_val must be a number or one for each channel, got {pad_val!r}"
        )
        aspect_ratio_range = _range_of("aspect_ratio_range", aspect_ratio_range, name)
        area_range = _range_of("area_range", area_range, name)
        super().__init__(
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val, self.max_attempts = pad_val, max_attempts
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.enabled = _is_usable(name, area_range, aspect_ratio_range, area_range[1] > 1.0)

    def __call__(self, src, label):
        height, width = src.shape[:2]
        if not self.enabled or height <= 0 or width <= 0:
            return src, label
        for _ in range(self.max_attempts):
            place = self._drawn_place(height, width)
            if place is not None:
                x, y, new_width, new_height = place
                below, behind = new_height - y - height, new_width - x - width
                moved = label.copy()
                moved[:, (1, 3)] = (moved[:, (1, 3)] * width + x) / new_width
                moved[:, (2, 4)] = (moved[:, (2, 4)] * height + y) / new_height
                padded = geometry.copyMakeBorder(src, y, below, x, behind, _CONSTANT, values=self.pad_val)
                return padded, moved
        return src, label

    def _drawn_place(self, height, width):
        """(x, y) in an image of (width, height), or None where the one that was drawn is hardly larger."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        if ratio <= 0:
            return None
        shortest, tallest = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
        if round(shortest * ratio) < width:
            shortest = int((width + 0.499999) / ratio)
        new_height = _drawn_height(max(shortest, height), tallest)
        new_width = round(new_height * ratio)
        if new_height - height < 2 or new_width - width < 2:
            return None
        y = random.randint(0, new_height - height)
        x = random.randint(0, new_width - width)
        return x, y, new_width, new_height


def CreateMultiRandCropAugmenter(
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 1.0),
    min_eject_coverage=0.3,
    max_attempts=50,
    skip_prob=0,
):
    """A DetRandomSelectAug of DetRandomCropAugs, one for each element of those arguments that are lists.

    Others are the same for all; `skip_prob` is the probability of no crop. AssertionError: lists of different
    lengths.

    Examples
    --------
    >>> crops = mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9], skip_prob=0.2)
    >>> len(crops.aug_list)
    3
    """
    given = [min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts]
    lists = [one if isinstance(one, list) else [one] for one in given]
    count = max(1, *(len(one) for one in lists))
    for one in lists:
        assert len(one) in (1, count), (
            f"CreateMultiRandCropAugmenter: lists must have one length, got {len(one)} and {count}"
        )
    rows = zip(*(one if len(one) == count else one * count for one in lists), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


def CreateDetAugmenter(data_shape, resize=0, rand_crop=0, rand_pad=0, rand_gray=0, rand_mirror=False,
                       mean=None, std=None, brightness=0, contrast=0, saturation=0, pca_noise=0, hue=0,
                       inter_method=2, min_object_covered=0.1, aspect_ratio_range=(0.75, 1.33),
                       area_range=(0.05, 3.0), min_eject_coverage=0.3, max_attempts=50,
                       pad_val=(127, 127, 127)):  # fmt: skip
    """A list of augmenters for detection that end in float32 images of `data_shape`.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width).
    resize : int
        The shorter side at first, where larger than 0.
    rand_crop, rand_pad, rand_gray : float
        Probabilities of a crop, a border and grey.
    rand_mirror : bool
        Half of the images mirrored.
    mean, std, brightness, contrast, saturation, hue, pca_noise, inter_method
        See `CreateAugmenter`.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        See `CreateMultiRandCropAugmenter`; borders go up to the largest area.
    pad_val : tuple of float
        What borders hold, before normalization.

    Examples
    --------
    >>> augmenters = mx.image.CreateDetAugmenter((3, 24, 24), rand_mirror=True)
    >>> image, objects = nd.ones((40, 48, 3), dtype="uint8"), nd.array([[0, 0.25, 0.25, 0.75, 0.5]])
    >>> for augmenter in augmenters:
    ...     image, objects = augmenter(image, objects)
    >>> image.shape, objects.shape
    ((24, 24, 3), (1, 5))
    """
    made = [DetBorrowAug(augmenters.ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        made.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror > 0:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        border = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        made.append(DetRandomSelectAug([border], 1 - rand_pad))
    made.append(DetBorrowAug(augmenters.ForceResizeAug((data_shape[2], data_shape[1]), inter_method)))
    mean = numpy.array(augmenters.IMAGENET_MEAN) if mean is True else mean
    std = numpy.array(augmenters.IMAGENET_STD) if std is True else std
    colors = augmenters.color_augmenters(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )
    return [*made, *(DetBorrowAug(one) for one in colors)]
