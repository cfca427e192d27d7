"""Batches of the records in a file: which, in which order, made by the engine while others are in use."""

import collections
import os
import warnings

import numpy

from .. import _arrays as arrays
from ..base import MXNetError
from ..ndarray import load, save
from ._records import RecordFile, part_of
from .base import DataDesc, from_text
from .files import MXDataIter

# Options of all iterators over records of images.
READING = {
    "path_imgrec": "",
    "path_imglist": "",
    "data_shape": None,
    "preprocess_threads": 4,
    "verbose": True,
    "num_parts": 1,
    "part_index": 0,
    "shuffle_chunk_size": 0,
    "shuffle_chunk_seed": 0,
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
NORMALIZING = {
    "mean_img": "",
    "scale": 1.0,
    **{f"mean_{channel}": 0.0 for channel in "rgba"},
}


def require(name, options, *bounds):
    """MXNetError: one of the options, each with the least that it may be, is less."""
    for key, least in bounds:
        if not options[key] >= least:
            raise MXNetError(f"{name}: {key} must be at least {least}, got {options[key]}")


def check_interpolation(name, options):
    """MXNetError: `inter_method` is none."""
    if options["inter_method"] not in (0, 1, 2, 3, 4, 9, 10):
        raise MXNetError(f"{name}: inter_method must be 0 to 4, 9 or 10, got {options['inter_method']}")


def of_channels(options, kind):
    """The numbers of red, green and blue: `mean` or `std`."""
    return tuple(float(options[f"{kind}_{channel}"]) for channel in "rgb")


class RecordBatches(MXDataIter):
    """Base of the iterators over records of images, which take options by name, as MXNet does.

    A subclass has `_known`, all options with what they are by default; sets `_attrs` and `provide_data`,
    `provide_label` when it is made; and defines `_make`. It calls `_begin` when it is ready.
    """

    _known = READING | NORMALIZING
    _dtypes: tuple[str, ...] = ("float32",)
    _dtype: str | None = None  # fixed by a subclass

    def __init__(self, **kwargs):
        name = type(self).__name__
        unknown = sorted(kwargs.keys() - self._known.keys())
        if unknown:
            warnings.warn(
                f"{name}: unknown options {', '.join(unknown)} change nothing; known are "
                f"{', '.join(sorted(self._known))}",
                stacklevel=3,
            )
        options = self._known | {key: value for key, value in kwargs.items() if key in self._known}
        for key, value in self._known.items():
            if key not in ("dtype", "rotate_list") and not isinstance(value, str):
                (options[key],) = from_text(f"{name}: {key}", options[key])
        for key in ("data_shape", "batch_size", "path_imgrec"):
            if not options[key]:
                raise MXNetError(f"{name}: {key} is missing; must specify {key}")
        self._shape = tuple(options["data_shape"])
        if len(self._shape) != 3 or self._shape[0] not in (1, 3) or min(self._shape) < 1:
            raise MXNetError(f"{name}: data_shape must be (1 or 3, height, width), got {self._shape}")
        require(name, options, ("batch_size", 1), ("preprocess_threads", 1), ("prefetch_buffer", 0))
        check_interpolation(name, options)
        self._result = numpy.dtype(self._dtype or options["dtype"] or "float32").name
        if self._result not in self._dtypes:
            raise MXNetError(f"{name}: dtype must be one of {', '.join(self._dtypes)}, got {self._result}")
        super().__init__(options["batch_size"])
        self._name, self._options, self._mean = name, options, ()
        index = options.get("path_imgidx", "")
        self._records = RecordFile(options["path_imgrec"], index)
        self._part = part_of(self._records, options["part_index"], options["num_parts"], bool(index))

    def _describe(self, label_shape):
        batch, dtype = self.batch_size, numpy.dtype(self._result).type
        self.provide_data = [DataDesc(self._options["data_name"], (batch, *self._shape), dtype)]
        self.provide_label = [DataDesc(self._options["label_name"], (batch, *label_shape), numpy.float32)]

    def _start(self):
        """Begins the first pass, after one that makes the mean image where there is none yet."""
        self._begin(0, 0)
        if self._options["mean_img"] and self._result != "uint8":
            self._mean = (self._mean_image(self._options["mean_img"]),)
            self._attrs["has_mean_image"] = True
            self._begin(0, 0)

    def _begin(self, number, row):
        """Starts pass `number` at its record `row`."""
        self._pass, self._row = number, row
        self._joined = (
            self.batch_size - row if row else 0
        )  # where in a batch the first record of the pass was
        self._next_row = 0
        self._is_over = False
        self._last_rows = None
        self._coming = collections.deque()
        self._batch = None
        self._order, self._random = self._order_of(number)

    def _order_of(self, number):
        random = numpy.random.RandomState([self._first_seed(), number])
        return (random.permutation(self._part) if self._options["shuffle"] else self._part), random

    def _first_seed(self):
        return self._options["seed"] & 0xFFFFFFFF

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

    def _refuse(self, row, what):
        raise MXNetError(f"'{self._records.path}', record at byte {self._records.places[row, 0]}: {what}")

    def _listed(self, labels, header, row):
        """The label that the list has for a record."""
        if header.id not in labels:
            self._refuse(row, f"its index {header.id} is not in '{self._options['path_imglist']}'")
        return labels[header.id]

    def _check_width(self, row, count, width):
        """MXNetError: a record has another number of labels."""
        if count != width:
            self._refuse(row, f"rec file provide {count}-dimensional label but label_width is set to {width}")

    def _seeds(self, rows, pad):
        """Seeds of the random numbers of the images of a batch, the last `pad` of which fill it up."""
        return self._random.randint(0, 1 << 32, len(rows), dtype=numpy.int64)

    def _inputs(self, rows, pad, files, *columns):
        """The first inputs of the operators on records: all bytes, and where the file of each image lies."""
        lengths = [len(content) for content in files]
        begins = numpy.cumsum([0, *lengths[:-1]])
        offsets = self._records.places[rows, 0]
        places = numpy.stack([begins, lengths, self._seeds(rows, pad), offsets, *columns], axis=1)
        content = numpy.frombuffer(b"".join(files), numpy.uint8)
        return arrays.array(content, dtype="uint8"), arrays.array(places, dtype="int64")

    def _make(self, rows, pad):
        """The DataBatch of these records, whose pixels the engine is yet to make."""
        raise NotImplementedError

    def _mean_image(self, path):
        if not os.path.exists(path):
            if not len(self._part):
                raise MXNetError(f"{self._name}: there are no records to make the mean image '{path}' of")
            total = sum(batch.data[0][: self.batch_size - batch.pad].sum(axis=0) for batch in self)
            save(path, {"mean_img": (total / len(self._part)).as_nd_ndarray().astype("float32")})
        loaded = load(path)
        images = list(loaded.values()) if isinstance(loaded, dict) else loaded
        if len(images) != 1 or images[0].shape != self._shape:
            raise MXNetError(
                f"'{path}' holds no mean image: expected one array of shape {self._shape}, got "
                f"{[one.shape for one in images]}"
            )
        return images[0].astype("float32")

    def iter_next(self):
        """Moves to the next batch; whether there is one."""
        while len(self._coming) <= self._options["prefetch_buffer"]:
            taken = self._take()
            if taken is None:
                break
            self._coming.append(self._make(*taken))
        self._batch = self._coming.popleft() if self._coming else None
        return self._batch is not None
