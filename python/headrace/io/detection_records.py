"""Batches of images with objects in them, of a RecordIO file, decoded and augmented by the engine."""

import numbers
import os

import numpy

from .. import _arrays as arrays
from .. import _core
from ..base import MXNetError
from ._record_batches import NORMALIZING, READING, RecordBatches, of_channels, require
from ._records import read_list
from .base import DataBatch

__all__ = ["ImageDetRecordIter"]

_record_detections = _core.function("_record_detections", False)
_HEAD = 4  # numbers in front of a label: channels, height and width of the image, how many numbers follow
_MOST_NUMBERS = 1 << 30  # of the labels of a batch

# Of each sampler of parts: the least and the largest of what it draws or keeps to.
_RANGES = {
    "crop_scales": (0.0, 1.0),
    "crop_aspect_ratios": (1.0, 1.0),
    "crop_overlaps": (0.0, 1.0),
    "crop_sample_coverages": (0.0, 1.0),
    "crop_object_coverages": (0.0, 1.0),
}
_OF_SAMPLERS = {
    f"{end}_{key}": (value,) for key, values in _RANGES.items() for end, value in zip(("min", "max"), values)
} | {"max_crop_trials": (25,)}
_AUGMENTING = {
    "resize": -1,
    "resize_mode": "force",
    "inter_method": 1,
    "fill_value": 127,
    "rand_mirror_prob": 0.0,
    "rand_pad_prob": 0.0,
    "max_pad_scale": 1.0,
    "rand_crop_prob": 0.0,
    "num_crop_sampler": 1,
    "crop_emit_mode": "center",
    "emit_overlap_thresh": 0.3,
    "max_random_hue": 0,
    "random_hue_prob": 0.0,
    "max_random_saturation": 0,
    "random_saturation_prob": 0.0,
    "max_random_illumination": 0,
    "random_illumination_prob": 0.0,
    "max_random_contrast": 0.0,
    "random_contrast_prob": 0.0,
    "label_pad_value": -1.0,
    "scale": 1.0,
}
_OTHERS = {
    "aug_seq": "det_aug_default",
    "label_width": -1,
    "label_pad_width": 0,
    **{f"std_{channel}": 0.0 for channel in "rgba"},
}


def _for_samplers(name, options):
    """A number for each sampler, of all that samplers have. MXNetError: they are none, or do not fit."""
    count, made = options["num_crop_sampler"], {}
    for key in _OF_SAMPLERS:
        values = options[key]
        values = (values,) if isinstance(values, numbers.Number) else tuple(values)
        if count > 1 and len(values) == 1:
            values *= count
        if count > 0 and len(values) != count:
            raise MXNetError(
                f"{name}: {key} must have one number, or {count} for num_crop_sampler={count}, got {values}"
            )
        made[key] = tuple(float(one) for one in values)
    for key in _RANGES if count > 0 else ():
        for least, most in zip(made[f"min_{key}"], made[f"max_{key}"]):
            of_sizes = key in ("crop_scales", "crop_aspect_ratios")
            bounded = least >= 0 if of_sizes else True
            ordered = least < most <= 1 if key == "crop_scales" else least <= most
            if not (bounded and ordered):
                raise MXNetError(
                    f"{name}: min_{key} and max_{key} must be in order"
                    f"{', and not negative' if of_sizes else ''}"
                    f"{', different, and 1 at most' if key == 'crop_scales' else ''}; got {least} and {most}"
                )
    return made


def _augmentation(name, options):
    """Attributes of the operator. MXNetError: an option has a value that there is not."""
    if options["aug_seq"] != "det_aug_default":
        raise MXNetError(f"{name}: aug_seq must be 'det_aug_default', got {options['aug_seq']!r}")
    require(name, options, ("emit_overlap_thresh", 0))
    for key, words in (
        ("resize_mode", ("force", "shrink", "fit")),
        ("crop_emit_mode", ("center", "overlap")),
    ):
        if options[key] not in words:
            raise MXNetError(f"{name}: {key} must be one of {', '.join(words)}, got {options[key]!r}")
    colors = ("random_hue_prob", "random_saturation_prob", "random_illumination_prob")
    if options["data_shape"][0] != 3 and any(options[key] > 0 for key in colors):
        raise MXNetError(f"{name}: {', '.join(colors)} need images of 3 channels")
    return (
        {key: options[key] for key in _AUGMENTING}
        | _for_samplers(name, options)
        | {"mean": of_channels(options, "mean"), "std": of_channels(options, "std")}
    )


class ImageDetRecordIter(RecordBatches):
    """Batches of images (batch_size, channels, height, width) of a RecordIO file, and of the objects in them.

    A label, in the file or in a list, is the number of its first numbers, itself the first of them, the
    number of numbers for each object (5 or more), whatever else stands in front, and for each object its
    class, left, top, right and bottom as shares of width and height, and the rest. A row of the batch has the
    channels, height and width of the image in its data, how many numbers follow, and these, filled up to the
    same width.

    Threads of the engine decode and augment `prefetch_buffer` batches ahead; `preprocess_threads`, `ctx`,
    `verbose` and the sizes of shuffled chunks are taken and change nothing. The options are MXNet's, by name;
    others change nothing, which a warning tells. In the order in which images change:

    - `path_imgrec`: the file; `path_imglist`: a list with other labels. `part_index` of `num_parts`: a share
      of the records. `shuffle`, `seed`, `round_batch`, `batch_size`: as of ImageRecordIter.
    - `data_shape`: (1 or 3, height, width). `label_width`: of all labels, -1: any. `label_pad_width`: to
      which they are filled up, 0 or -1: to the longest; with `label_pad_value`.
    - `resize`: the shorter side at first. `max_random_hue`, `random_hue_prob` and the like for `saturation`,
      `illumination` (of 180 and 255) and `contrast` (a share). `rand_mirror_prob`.
    - `rand_pad_prob`, `max_pad_scale`, `fill_value`: a border.
    - `rand_crop_prob`: a part, drawn by one of `num_crop_sampler` samplers. Each has a number of `min_` and
      `max_crop_scales`, `crop_aspect_ratios`, and of what the part must have in common with one object at
      least: `crop_overlaps` (intersection over union), `crop_sample_coverages` (over the part),
      `crop_object_coverages` (over the object); and `max_crop_trials`. `crop_emit_mode`: objects stay by
      their `center`, or with an `overlap` above `emit_overlap_thresh`.
    - `resize_mode`: `force` to data_shape; `shrink` what is larger, or `fit`, in proportion. `inter_method`.
    - (value - mean) / std * scale, with `mean_r`, `std_r` ... where positive, or `mean_img`, a file that is
      made if it is not there.

    Raises
    ------
    MXNetError
        An option is missing or has a value that there is not, a file cannot be read, a record is damaged
        (with the file and its byte), or has no label or one of another width. Where a label is none of
        objects, the pixels of an image are damaged, or it becomes too small: when the batch is read.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "objects.rec")
    >>> label = [2, 5, 1, 0.25, 0.25, 0.75, 0.5]  # of the numbers behind the first two, one object of class 1
    >>> header, pixels = mx.recordio.IRHeader(0, label, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    >>> file.close()
    >>> batch = next(mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].shape, batch.label[0].asnumpy()[0].tolist()
    ((1, 3, 8, 8), [3.0, 8.0, 8.0, 7.0, 2.0, 5.0, 1.0, 0.25, 0.25, 0.75, 0.5])
    """

    _known = READING | NORMALIZING | _AUGMENTING | _OF_SAMPLERS | _OTHERS

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        options = self._options
        self._attrs = _augmentation(self._name, options) | {"data_shape": self._shape}
        self._attrs["file"] = os.fspath(options["path_imgrec"])
        self._labels = None
        if options["path_imglist"]:
            width = options["label_width"]
            self._labels = read_list(options["path_imglist"], width if width > 0 else None)
        self._attrs["label_pad_width"] = self._padded_width()
        self._describe((_HEAD + self._attrs["label_pad_width"],))
        self._start()

    def _padded_width(self):
        """How many numbers labels are filled up to."""
        if self._labels is None:
            longest = max((self._checked_count(row) for row in self._part), default=0)
        else:
            longest = max(map(len, self._labels.values()), default=0)
        asked = self._options["label_pad_width"]
        if 0 < asked < longest:
            raise MXNetError(
                f"{self._name}: label_pad_width: {asked} smaller than estimated width: {longest}; leave it "
                "out, or pass at least that"
            )
        width = max(asked, longest)
        if (width + _HEAD) * self.batch_size > _MOST_NUMBERS:
            raise MXNetError(
                f"{self._name}: labels of {width} numbers for {self.batch_size} images are more than "
                f"{_MOST_NUMBERS} numbers; pass a smaller label_pad_width or batch_size"
            )
        return width

    def _checked_count(self, row):
        count = self._records.label_count(row)
        if count == 0:
            self._refuse(row, "Not enough label packed in img_list or rec file: it has no label of objects")
        if self._options["label_width"] > 0:
            self._check_width(row, count, self._options["label_width"])
        return count

    def _make(self, rows, pad):
        images = [self._records.image(row) for row in rows]
        if self._labels is None:
            labels = [numpy.atleast_1d(header.label) for header, _ in images]
        else:
            labels = [self._listed(self._labels, header, row) for (header, _), row in zip(images, rows)]
        counts = [len(label) for label in labels]
        padded = numpy.zeros((len(rows), max(counts)), numpy.float32)
        for label, to in zip(labels, padded):
            to[: len(label)] = label
        files = [content for _, content in images]
        inputs = (*self._inputs(rows, pad, files, counts), arrays.array(padded, dtype="float32"), *self._mean)
        data, label = _record_detections(*(one.as_nd_ndarray() for one in inputs), **self._attrs)
        index = numpy.array([header.id for header, _ in images], numpy.uint64)
        return DataBatch([arrays.in_mode(data)], [arrays.in_mode(label)], pad, index)
