"""Detection: batches of images with boxes in them. The augmenters are here, too, where MXNet has them."""

import logging
import warnings

import numpy

from .. import _arrays as arrays
from ..ndarray import NDArray
from .augmenters import IMAGENET_MEAN, IMAGENET_STD
from .boxes import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
)
from .iterator import ImageIter

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ImageDetIter",
]


class ImageDetIter(ImageIter):
    """Batches of images, and of the boxes in them: float32 (batch, objects, numbers), filled up with -1.

    The label of an image is the number of its first numbers, itself the first of them, the number of numbers
    for each object (5 or more), whatever else stands in front, and for each object its class, xmin, ymin,
    xmax and ymax as shares of width and height, and the rest. All labels are read at once, for
    `label_shape`, the largest number of objects and the numbers for each. Images that have no object, or none
    after augmenters, are skipped.

    Parameters are those of ImageIter, without `label_width` and `dtype`; `kwargs` go to `CreateDetAugmenter`.

    Raises
    ------
    RuntimeError
        There is no image, or a label is no such list of numbers.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> header, pixels = mx.recordio.IRHeader(0, 0, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> record = mx.recordio.pack_img(header, pixels, img_fmt=".png")
    >>> with open(os.path.join(folder.name, "a.png"), "wb") as file:
    ...     written = file.write(mx.recordio.unpack(record)[1])
    >>> label = [2, 5, 0, 0.1, 0.2, 0.5, 0.6]  # two numbers in front, five for each object
    >>> batches = mx.image.ImageDetIter(1, (3, 8, 8), imglist=[[*label, "a.png"]], path_root=folder.name)
    >>> next(batches).label[0]
    [[[0.  0.1 0.2 0.5 0.6]]]
    <NDArray 1x1x5 @cpu(0)>
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        path_imgrec=None,
        path_imglist=None,
        path_root=None,
        path_imgidx=None,
        shuffle=False,
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        data_name="data",
        label_name="label",
        last_batch_handle="pad",
        **kwargs,
    ):
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    # --- labels ---

    def _parse_label(self, label):
        """(objects, numbers) of a label as it is stored, without boxes of no area."""
        raw = label.asnumpy().ravel() if isinstance(label, NDArray) else numpy.ravel(label)
        if raw.size < 7:
            raise RuntimeError(f"ImageDetIter: a label has 7 numbers or more, got {raw.size}")
        header, width = (int(one) if numpy.isfinite(one) else 0 for one in raw[:2])
        if header < 2 or width < 5 or raw.size <= header or (raw.size - header) % width:
            raise RuntimeError(
                f"ImageDetIter: a label of {raw.size} numbers cannot have a header of {header} and {width} "
                "for each object"
            )
        objects = raw[header:].reshape(-1, width)
        objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(objects):
            raise RuntimeError("ImageDetIter: encountered a sample with no valid label")
        return objects

    def _check_valid_label(self, label):
        if label.ndim != 2 or label.shape[1] < 5:
            raise RuntimeError(f"ImageDetIter: a label of shape (1+, 5+) is needed, got {label.shape}")
        is_box = (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
        if not is_box.any():
            raise RuntimeError("ImageDetIter: no object is left")

    def _estimate_label_shape(self):
        count = width = 0
        self.reset()
        try:
            while True:
                objects = self._parse_label(self.next_sample()[0])
                count, width = max(count, len(objects)), objects.shape[1]
        except StopIteration:
            pass
        self.reset()
        if not count:
            raise RuntimeError("ImageDetIter: there is no image")
        return count, width

    def check_label_shape(self, label_shape):
        """ValueError: not two numbers, fewer objects than there are, or other numbers for each."""
        if len(label_shape) != 2:
            raise ValueError("label_shape should have length 2")
        if label_shape[0] < self.label_shape[0]:
            raise ValueError(
                f"Attempts to reduce label count from {self.label_shape[0]} to {label_shape[0]}, not allowed."
            )
        if label_shape[1] != self.label_shape[1]:
            raise ValueError(
                f"label_shape object width inconsistent: {self.label_shape[1]} vs {label_shape[1]}."
            )

    def reshape(self, data_shape=None, label_shape=None):
        """Other shapes of images or labels (objects, numbers for each), where they are given.

        Augmenters stay. ValueError: see `check_data_shape` and `check_label_shape`.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = tuple(label_shape)

    def sync_label_shape(self, it, verbose=False):
        """Gives both iterators the larger number of objects; returns `it`.

        AssertionError: `it` is no ImageDetIter, or has other numbers for each object.
        """
        assert isinstance(it, ImageDetIter), "Synchronize with invalid iterator."
        (here, width), (there, other_width) = self.label_shape, it.label_shape
        assert width == other_width, "object width mismatch."
        count = max(here, there)
        for iterator in (self, it):
            if count > iterator.label_shape[0]:
                iterator.reshape(None, (count, width))
        if verbose and here != there:
            logging.info("Resized label_shape to (%d, %d).", count, width)
        return it

    # --- batches ---

    def augmentation_transform(self, data, label):
        """The image and the objects in it after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _blank_labels(self):
        labels = super()._blank_labels()
        labels[:] = -1
        return labels

    def _augmented(self):
        """The next image and its objects. RuntimeError: they cannot be used. StopIteration: the end."""
        label, content = self.next_sample()
        data = self.imdecode(content)
        try:
            self.check_valid_image([data])
            data, label = self.augmentation_transform(data, self._parse_label(label))
            self._check_valid_label(label)
        except RuntimeError as error:
            logging.debug("Invalid image, skipping:  %s", error)
            return None
        return data, label

    def _batchify(self, batch_data, batch_label, start=0):
        row = start
        try:
            while row < self.batch_size:
                sample = self._augmented()
                if sample is None:
                    continue
                data, label = sample
                filled = numpy.full(self.label_shape, -1, numpy.float32)
                filled[: len(label)] = label
                batch_data[row] = self.postprocess_data(data)
                batch_label[row] = arrays.array(filled, dtype="float32")
                row += 1
        except StopIteration:
            if row == 0:
                raise
        return row

    # --- looking ---

    def draw_next(
        self,
        color=None,
        thickness=2,
        mean=None,
        std=None,
        clip=True,
        waitKey=None,
        window_name="draw_next",
        id2labels=None,
    ):
        """Yields the images of the epoch as uint8 NumPy arrays, blue, green, red, with their boxes drawn.

        Parameters
        ----------
        color : tuple of 3 numbers, optional
            Red, green, blue of boxes; a random one for each unless given.
        thickness : int
            Of lines, in pixels.
        mean, std : array of 1 or 3 numbers, or True for those of ImageNet
            What images are shifted and multiplied by, to undo normalization.
        clip : bool
            Values are brought into [0, 255].
        waitKey : int, optional
            Milliseconds for which each image is shown in a window. Needs the module cv2.
        window_name : str
        id2labels : dict, optional
            Classes to names, which are written beside boxes. Needs the module cv2.
        """
        cv2 = None
        if waitKey is not None or id2labels is not None:
            try:
                import cv2
            except ImportError as error:
                warnings.warn(f"Unable to import cv2, skip drawing: {error}", stacklevel=2)
                return
        mean = _statistic(mean, IMAGENET_MEAN)
        std = _statistic(std, IMAGENET_STD)
        while True:
            try:
                sample = self._augmented()
            except StopIteration:
                return
            if sample is None:
                continue
            image = sample[0].asnumpy() * (1 if std is None else std) + (0 if mean is None else mean)
            image = numpy.ascontiguousarray(image[..., ::-1])
            if clip:
                image = numpy.clip(image, 0, 255)
            image = image.astype(numpy.uint8)
            for one in sample[1]:
                _draw(image, one, color, thickness, id2labels, cv2)
            if waitKey is not None:
                cv2.imshow(window_name, image)
                cv2.waitKey(waitKey)
            yield image


def _statistic(value, of_imagenet):
    if value is True:
        return numpy.array(of_imagenet)
    assert value is None or (isinstance(value, numpy.ndarray) and value.shape[0] in (1, 3)), (
        f"draw_next: mean and std must be True or NumPy arrays of 1 or 3 numbers, got {value!r}"
    )
    return value


def _draw(image, label, color, thickness, names, cv2):
    """A box, and the name of its class where names are given, into an image (height, width, 3)."""
    height, width = image.shape[:2]
    left, right = int(label[1] * width), int(label[3] * width)
    top, bottom = int(label[2] * height), int(label[4] * height)
    if left < 0:
        return
    shade = numpy.random.rand(3) * 255 if color is None else color[::-1]
    before, behind = thickness // 2, (thickness + 1) // 2
    rows = slice(max(top - before, 0), bottom + behind)
    columns = slice(max(left - before, 0), right + behind)
    for y in (top, bottom):
        image[max(y - before, 0) : y + behind, columns] = shade
    for x in (left, right):
        image[rows, max(x - before, 0) : x + behind] = shade
    if names is not None and int(label[0]) in names:
        text, font, scale = str(names[int(label[0])]), cv2.FONT_HERSHEY_SIMPLEX, 0.5
        text_height = cv2.getTextSize(text, font, scale, 2)[0][1]
        cv2.putText(image, text, (left + 5, top + text_height + 5), font, scale, (255, 255, 255), 2)
