"""Batches of the images in a RecordIO file, decoded and augmented by the engine while others are in use."""

import os

import numpy

from .. import _arrays as arrays
from .. import _core
from ..base import MXNetError
from ._record_batches import NORMALIZING, READING, RecordBatches, of_channels, require
from ._records import read_list
from .base import DataBatch

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]

_record_images = _core.function("_record_images", False)
_SEED = 111  # what MXNet adds to seeds

_AUGMENTING = {
    "resize": -1,
    "rand_crop": False,
    "random_resized_crop": False,
    "max_crop_size": -1,
    "min_crop_size": -1,
    "max_random_area": 1.0,
    "min_random_area": 1.0,
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_shear_ratio": 0.0,
    "max_random_scale": 1.0,
    "min_random_scale": 1.0,
    "max_img_size": 1e10,
    "min_img_size": 0.0,
    "brightness": 0.0,
    "contrast": 0.0,
    "saturation": 0.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "pca_noise": 0.0,
    "fill_value": 255,
    "inter_method": 1,
    "pad": 0,
    "mirror": False,
    "rand_mirror": False,
    "scale": 1.0,
    "max_random_contrast": 0.0,
    "max_random_illumination": 0.0,
}
_OTHERS = {
    "path_imgidx": "",
    "aug_seq": "aug_default",
    "label_width": 1,
    "device_id": 0,
    "seed_aug": None,
    "rotate_list": (),
    "max_aspect_ratio": 0.0,
    "min_aspect_ratio": None,
    **{f"std_{channel}": 1.0 for channel in "rgba"},
}
_CUTTING = ("min_crop_size", "max_crop_size", "rand_crop", "min_random_scale", "max_random_scale")


def _angles(name, value):
    """The degrees of `rotate_list`: whole numbers, or a text with commas between them."""
    try:
        angles = value.split(",") if isinstance(value, str) else value
        return tuple(int(one) for one in angles if one != "")
    except (TypeError, ValueError):
        raise MXNetError(
            f"{name}: rotate_list must be whole numbers of degrees such as (10, 20), got {value!r}"
        ) from None


def _check_combination(name, options, least, most):
    if options["aug_seq"] != "aug_default":
        raise MXNetError(f"{name}: aug_seq must be 'aug_default', got {options['aug_seq']!r}")
    if options["random_resized_crop"]:
        if any(options[key] != _AUGMENTING[key] for key in _CUTTING):
            raise MXNetError(
                f"{name}: random_resized_crop conflicts with {', '.join(_CUTTING)}; leave these out"
            )
        if not (0 < least <= most and 0 < options["min_random_area"] <= options["max_random_area"]):
            raise MXNetError(
                f"{name}: ratios and areas must be positive and the least not above the largest, got ratios "
                f"{least} to {most}, areas {options['min_random_area']} to {options['max_random_area']}"
            )
    if options["data_shape"][0] != 3 and any(options[f"random_{one}"] for one in "hsl"):
        raise MXNetError(f"{name}: random_h, random_s and random_l need images of 3 channels")


def _augmentation(name, options):
    """Attributes of the operator. MXNetError: an option has a value that there is not."""
    most, least = options["max_aspect_ratio"], options["min_aspect_ratio"]
    least, most = (1 - most, 1 + most) if least is None else (least, most)
    _check_combination(name, options, least, most)
    return {key: options[key] for key in _AUGMENTING} | {
        "rotate_list": _angles(name, options["rotate_list"]),
        "min_aspect_ratio": float(least),
        "max_aspect_ratio": float(most),
        "mean": of_channels(options, "mean"),
        "std": of_channels(options, "std"),
    }


class ImageRecordIter(RecordBatches):
    """Batches of images (batch_size, channels, height, width) and labels from a RecordIO file.

    Threads of the engine decode and augment `prefetch_buffer` batches ahead; `preprocess_threads`, `ctx`,
    `device_id`, `verbose` and the sizes of shuffled chunks are taken and change nothing. The options are
    MXNet's, by name; others change nothing, which a warning tells:

    - `path_imgrec`, `path_imgidx`: the file and, if there is one, its index; `path_imglist`: a list with
      other labels. `part_index` of `num_parts`: a share of the records.
    - `data_shape`: (1 or 3, height, width); `batch_size`; `label_width`; `dtype`: float32, uint8 or int8.
    - `shuffle`, `seed`: another order in each pass. `round_batch`: the last batch is filled from the next
      pass, which begins after what was taken; otherwise it keeps images of the batch before.
    - `resize`, `pad`, `fill_value`, `rand_crop`, `random_resized_crop`, `min_crop_size`, `max_crop_size`,
      `min_random_area`, `max_random_area`, `min_aspect_ratio`, `max_aspect_ratio`, `inter_method`: sizes
      and parts.
    - `brightness`, `contrast`, `saturation`, `pca_noise`: colours. `mirror`, `rand_mirror`.
    - (value - mean) * scale / std, with `mean_r`, `std_r` ... or `mean_img`, a file that is made if it is not
      there; `max_random_contrast`, `max_random_illumination`: how far that varies. uint8 takes none of it,
      int8 the mean alone.
    - `seed_aug`: the random numbers come from it and the place in the batch, or without an index in the part.

    Raises
    ------
    MXNetError
        An option is missing or has a value that there is not, a file cannot be read, a record is damaged
        (with the file and its byte) or has another number of labels than `label_width`. Where the pixels of
        an image are damaged, or it is too small: when they are read.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images.rec")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.data[0].dtype
    ((1, 3, 8, 8), <class 'numpy.float32'>)
    """

    _known = READING | NORMALIZING | _AUGMENTING | _OTHERS
    _dtypes = ("float32", "uint8", "int8")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        options, width = self._options, self._options["label_width"]
        require(self._name, options, ("label_width", 1))
        self._attrs = _augmentation(self._name, options) | {"data_shape": self._shape, "dtype": self._result}
        self._attrs["file"] = os.fspath(options["path_imgrec"])
        self._labels = read_list(options["path_imglist"], width) if options["path_imglist"] else None
        self._describe(() if width == 1 else (width,))
        self._start()

    def _first_seed(self):
        return (_SEED + self._options["seed"]) & 0xFFFFFFFF

    def _label(self, header, row):
        if self._labels is not None:
            return self._listed(self._labels, header, row)
        label = numpy.atleast_1d(numpy.asarray(header.label, numpy.float32))
        self._check_width(row, len(label), self._options["label_width"])
        return label

    def _make(self, rows, pad):
        images = [self._records.image(row) for row in rows]
        labels = numpy.stack([self._label(header, row) for (header, _), row in zip(images, rows)])
        inputs = (*self._inputs(rows, pad, [content for _, content in images]), *self._mean)
        pixels = _record_images(*(one.as_nd_ndarray() for one in inputs), **self._attrs)
        labels = labels[:, 0] if labels.shape[1] == 1 else labels
        index = numpy.array([header.id for header, _ in images], numpy.uint64)
        return DataBatch([arrays.in_mode(pixels)], [arrays.array(labels, dtype="float32")], pad, index)

    def _seeds(self, rows, pad):
        first = self._options["seed_aug"]
        if first is None:
            return super()._seeds(rows, pad)
        if self._options["path_imgidx"]:
            numbers = numpy.arange(len(rows))
        else:
            # MXNet counts on from where the images of the part join a batch, which are shuffled afterwards.
            numbers = numpy.searchsorted(self._part, rows)
            borrowed = pad if self._options["round_batch"] else 0
            begins = numpy.repeat([self._joined, len(rows) - borrowed], [len(rows) - borrowed, borrowed])
            numbers += self.batch_size if self._options["shuffle"] else begins
        return (numbers + first + _SEED) & 0xFFFFFFFF


class ImageRecordUInt8Iter(ImageRecordIter):
    """An ImageRecordIter with dtype uint8.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images.rec")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageRecordUInt8Iter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.data[0].dtype
    ((1, 3, 8, 8), <class 'numpy.uint8'>)
    """

    _dtype = "uint8"


class ImageRecordInt8Iter(ImageRecordIter):
    """An ImageRecordIter with dtype int8.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images.rec")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageRecordInt8Iter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.data[0].dtype
    ((1, 3, 8, 8), <class 'numpy.int8'>)
    """

    _dtype = "int8"


class ImageRecordIter_v1(ImageRecordIter):
    """An ImageRecordIter under the name of MXNet's older one.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images.rec")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageRecordIter_v1(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.data[0].dtype
    ((1, 3, 8, 8), <class 'numpy.float32'>)
    """


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """An ImageRecordUInt8Iter under the name of MXNet's older one.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "images.rec")
    >>> header, pixels = mx.recordio.IRHeader(0, 7, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageRecordUInt8Iter_v1(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.data[0].dtype
    ((1, 3, 8, 8), <class 'numpy.uint8'>)
    """
