"""Batches of the images in a RecordIO file, decoded and augmented by the engine while others are in use."""

import collections
import os
import warnings

import numpy

from .. import _arrays as arrays
from .. import _core
from ..base import MXNetError
from ..ndarray import load, save
from ._records import RecordFile, part_of, read_list
from .base import DataBatch, DataDesc
from .files import MXDataIter

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]

_record_images = _core.function("_record_images", False)
_SEED = 111  # what MXNet adds to seeds

_READING = {
    "path_imgrec": "",
    "path_imgidx": "",
    "path_imglist": "",
    "aug_seq": "aug_default",
    "label_width": 1,
    "data_shape": None,
    "preprocess_threads": 4,
    "verbose": True,
    "num_parts": 1,
    "part_index": 0,
    "device_id": 0,
    "shuffle_chunk_size": 0,
    "shuffle_chunk_seed": 0,
    "seed_aug": None,
    "shuffle": False,
    "seed": 0,
    "batch_size": None,
    "round_batch": True,
    "prefetch_buffer": 4,
    "ctx": "gpu",
    "dtype": None,
    "data_name": "data",
    "label_name": "softmax_label",
}
_AUGMENTING = {
    "resize": -1,
    "rand_crop": False,
    "random_resized_crop": False,
    "max_crop_size": -1,
    "min_crop_size": -1,
    "max_random_area": 1.0,
    "min_random_area": 1.0,
    "brightness": 0.0,
    "contrast": 0.0,
    "saturation": 0.0,
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
_COMBINED = {
    "max_aspect_ratio": 0.0,
    "min_aspect_ratio": None,
    "mean_img": "",
    **{f"mean_{channel}": 0.0 for channel in "rgba"},
    **{f"std_{channel}": 1.0 for channel in "rgba"},
}
# Options of MXNet that turn images by affine maps or in HLS, with the only value that is taken here.
_NEUTRAL = {
    "max_rotate_angle": 0,
    "max_shear_ratio": 0.0,
    "max_random_scale": 1.0,
    "min_random_scale": 1.0,
    "max_img_size": 1e10,
    "min_img_size": 0.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "rotate": -1,
}
_OPTIONS = _READING | _AUGMENTING | _COMBINED | _NEUTRAL


def _augmentation(name, options):
    """Attributes of the operator. MXNetError: an option has a value that there is not."""
    for key, neutral in _NEUTRAL.items():
        if options[key] != neutral:
            raise MXNetError(f"{name}: {key}={options[key]} is not supported, only {neutral}; leave it out")
    if options["inter_method"] not in (0, 1, 2, 3, 4, 9, 10):
        raise MXNetError(f"{name}: inter_method must be 0 to 4, 9 or 10, got {options['inter_method']}")
    if options["aug_seq"] != "aug_default":
        raise MXNetError(f"{name}: aug_seq must be 'aug_default', got {options['aug_seq']!r}")
    most, least = options["max_aspect_ratio"], options["min_aspect_ratio"]
    least, most = (1 - most, 1 + most) if least is None else (least, most)
    cutting = ("min_crop_size", "max_crop_size", "rand_crop")
    if options["random_resized_crop"]:
        if any(options[key] != _OPTIONS[key] for key in cutting):
            raise MXNetError(
                f"{name}: random_resized_crop conflicts with {', '.join(cutting)}; leave these out"
            )
        if not (0 < least <= most and 0 < options["min_random_area"] <= options["max_random_area"]):
            raise MXNetError(
                f"{name}: ratios and areas must be positive and the least not above the largest, got ratios "
                f"{least} to {most}, areas {options['min_random_area']} to {options['max_random_area']}"
            )
    elif (least, most) != (1, 1):
        raise MXNetError(f"{name}: ratios other than 1 are supported with random_resized_crop only")
    kept = {key: options[key] for key in _AUGMENTING}
    return kept | {
        "min_aspect_ratio": float(least),
        "max_aspect_ratio": float(most),
        "mean": tuple(float(options[f"mean_{channel}"]) for channel in "rgb"),
        "std": tuple(float(options[f"std_{channel}"]) for channel in "rgb"),
    }


class ImageRecordIter(MXDataIter):
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
    - `seed_aug`: each place in a batch has the same random numbers in all batches.

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

    _dtype: str | None = None  # fixed by a subclass

    def __init__(self, **kwargs):
        name = type(self).__name__
        unknown = sorted(kwargs.keys() - _OPTIONS.keys())
        if unknown:
            warnings.warn(
                f"{name}: unknown options {', '.join(unknown)} change nothing; known are "
                f"{', '.join(sorted(_OPTIONS))}",
                stacklevel=2,
            )
        options = _OPTIONS | {key: value for key, value in kwargs.items() if key in _OPTIONS}
        for key in ("data_shape", "batch_size", "path_imgrec"):
            if not options[key]:
                raise MXNetError(f"{name}: {key} is missing; must specify {key}")
        shape = tuple(options["data_shape"])
        if len(shape) != 3 or shape[0] not in (1, 3) or min(shape) < 1:
            raise MXNetError(f"{name}: data_shape must be (1 or 3, height, width), got {shape}")
        for key, least in (
            ("batch_size", 1),
            ("label_width", 1),
            ("preprocess_threads", 1),
            ("prefetch_buffer", 0),
        ):
            if options[key] < least:
                raise MXNetError(f"{name}: {key} must be at least {least}, got {options[key]}")
        dtype = self._dtype or options["dtype"] or "float32"
        dtype = numpy.dtype(dtype).name
        if dtype not in ("float32", "uint8", "int8"):
            raise MXNetError(f"{name}: dtype must be float32, uint8 or int8, got {dtype}")
        super().__init__(options["batch_size"])
        self._attrs = _augmentation(name, options) | {"data_shape": shape, "dtype": dtype}
        self._attrs["file"] = os.fspath(options["path_imgrec"])
        self._options = options
        self._open(options)
        labels = () if options["label_width"] == 1 else (options["label_width"],)
        batch = self.batch_size
        self.provide_data = [DataDesc(options["data_name"], (batch, *shape), numpy.dtype(dtype).type)]
        self.provide_label = [DataDesc(options["label_name"], (batch, *labels), numpy.float32)]
        self._mean = ()
        self._begin(0, 0)
        if options["mean_img"] and dtype != "uint8":
            self._mean = (self._mean_image(options["mean_img"]),)
            self._attrs["has_mean_image"] = True
            self._begin(0, 0)

    def _open(self, options):
        by_records = bool(options["path_imgidx"])
        self._records = RecordFile(options["path_imgrec"], options["path_imgidx"])
        self._part = part_of(self._records, options["part_index"], options["num_parts"], by_records)
        self._labels = None
        if options["path_imglist"]:
            self._labels = read_list(options["path_imglist"], options["label_width"])

    def _begin(self, number, row):
        """Starts pass `number` at its record `row`."""
        self._pass, self._row = number, row
        self._next_row = 0
        self._is_over = False
        self._last_rows = None
        self._coming = collections.deque()
        self._batch = None
        self._order, self._random = self._order_of(number)

    def _order_of(self, number):
        random = numpy.random.RandomState([(_SEED + self._options["seed"]) & 0xFFFFFFFF, number])
        return (random.permutation(self._part) if self._options["shuffle"] else self._part), random

    def reset(self):
        """Starts the next pass, after what the last batch of this one took from it."""
        self._begin(self._pass + 1, self._next_row if self._is_over and not self._coming else 0)

    def _take(self):
        """(numbers of the records of the next batch, how many of them fill it up), or None."""
        left = len(self._order) - self._row
        if self._is_over or left <= 0:
            self._is_over = True
            return None
        rows = self._order[self._row : self._row + self.batch_size]
        self._row += len(rows)
        pad = self.batch_size - len(rows)
        if pad and self._options["round_batch"]:
            if pad > len(self._part):
                raise MXNetError(
                    f"number of input images must be bigger than the batch size: {len(self._part)} images, "
                    f"batch_size {self.batch_size}; pass a smaller batch_size"
                )
            rows = numpy.concatenate([rows, self._order_of(self._pass + 1)[0][:pad]])
            self._next_row, self._is_over = pad, True
        elif pad:
            stale = rows[:1].repeat(self.batch_size) if self._last_rows is None else self._last_rows
            rows = numpy.concatenate([rows, stale[len(rows) :]])
        self._last_rows = rows
        return rows, pad

    def _label(self, header, row):
        width = self._options["label_width"]
        if self._labels is not None:
            if header.id not in self._labels:
                raise MXNetError(
                    f"'{self._records.path}', record at byte {self._records.places[row, 0]}: its index "
                    f"{header.id} is not in '{self._options['path_imglist']}'"
                )
            return self._labels[header.id]
        label = numpy.atleast_1d(numpy.asarray(header.label, numpy.float32))
        if len(label) != width:
            raise MXNetError(
                f"'{self._records.path}', record at byte {self._records.places[row, 0]}: rec file provide "
                f"{len(label)}-dimensional label but label_width is set to {width}"
            )
        return label

    def _start(self):
        """The next DataBatch, whose pixels the engine is yet to make; None: there is none."""
        taken = self._take()
        if taken is None:
            return None
        rows, pad = taken
        images = [self._records.image(row) for row in rows]
        labels = numpy.stack([self._label(header, row) for (header, _), row in zip(images, rows)])
        lengths = [len(content) for _, content in images]
        places = numpy.empty((len(rows), 4), numpy.int64)
        places[:, 0] = numpy.cumsum([0, *lengths[:-1]])
        places[:, 1] = lengths
        places[:, 2] = self._seeds(len(rows))
        places[:, 3] = self._records.places[rows, 0]
        content = numpy.frombuffer(b"".join(content for _, content in images), numpy.uint8)
        inputs = [arrays.array(content, dtype="uint8"), arrays.array(places, dtype="int64"), *self._mean]
        pixels = _record_images(*(one.as_nd_ndarray() for one in inputs), **self._attrs)
        labels = labels[:, 0] if labels.shape[1] == 1 else labels
        index = numpy.array([header.id for header, _ in images], numpy.uint64)
        return DataBatch([arrays.in_mode(pixels)], [arrays.array(labels, dtype="float32")], pad, index)

    def _seeds(self, count):
        if self._options["seed_aug"] is None:
            return self._random.randint(0, 1 << 32, count, dtype=numpy.int64)
        return (numpy.arange(count) + self._options["seed_aug"] + _SEED) & 0xFFFFFFFF

    def _mean_image(self, path):
        if not os.path.exists(path):
            total = sum(batch.data[0][: self.batch_size - batch.pad].sum(axis=0) for batch in self)
            save(path, {"mean_img": (total / len(self._part)).as_nd_ndarray().astype("float32")})
        loaded = load(path)
        images = list(loaded.values()) if isinstance(loaded, dict) else loaded
        if len(images) != 1 or images[0].shape != self._attrs["data_shape"]:
            raise MXNetError(
                f"'{path}' holds no mean image: expected one array of shape {self._attrs['data_shape']}, got "
                f"{[one.shape for one in images]}"
            )
        return images[0].astype("float32")

    def iter_next(self):
        """Moves to the next batch; whether there is one."""
        while len(self._coming) <= self._options["prefetch_buffer"]:
            batch = self._start()
            if batch is None:
                break
            self._coming.append(batch)
        self._batch = self._coming.popleft() if self._coming else None
        return self._batch is not None


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
