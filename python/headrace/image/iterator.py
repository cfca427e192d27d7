"""Batches of images out of files and records."""

import logging
import os
import random

from .. import _arrays as arrays
from .. import recordio
from .._file import open_file
from .._semantics import is_np_array
from ..io import DataBatch, DataIter
from ..io.base import check_batch_size
from .augmenters import CreateAugmenter
from .files import imdecode


class ImageIter(DataIter):
    """Batches of images that augmenters brought to one shape: float32 (batch, channels, height, width).

    Parameters
    ----------
    batch_size : int
    data_shape : tuple of int
        (3, height, width).
    label_width : int
        Numbers per label; labels are (batch,) where it is 1.
    path_imgrec, path_imgidx : str, optional
        A file of records, and its index, which shuffling and parts need.
    path_imglist, path_root : str, optional
        A file of lines `number TAB label... TAB path`, and the folder of the paths.
    imglist : list, optional
        The same as lists `[label, ..., path]`.
    shuffle : bool
        Another order in each epoch.
    part_index, num_parts : int
        Only this one of so many parts, which are equally long: the images that are left over, fewer than
        there are parts, are in none.
    aug_list : list of Augmenter, optional
        Made by `CreateAugmenter(data_shape, **kwargs)` unless given.
    data_name, label_name : str
    dtype : str
        Of labels: int32, float32, int64 or float64.
    last_batch_handle : str
        'pad': filled up from the beginning; 'discard'; 'roll_over': the rest begins the next epoch.

    Raises
    ------
    AssertionError
        There is no source, or no index where one is needed. ValueError: `data_shape` is another.
    RuntimeError
        While iterating: an image is damaged; the message says which.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> folder = tempfile.TemporaryDirectory()
    >>> header, pixels = mx.recordio.IRHeader(0, 0, 0, 0), numpy.zeros((8, 8, 3), dtype="uint8")
    >>> record = mx.recordio.pack_img(header, pixels, img_fmt=".png")
    >>> with open(os.path.join(folder.name, "a.png"), "wb") as file:
    ...     written = file.write(mx.recordio.unpack(record)[1])
    >>> batches = mx.image.ImageIter(1, (3, 8, 8), imglist=[[7, "a.png"]], path_root=folder.name)
    >>> batch = next(batches)
    >>> batch.data[0].shape, batch.label[0]
    ((1, 3, 8, 8),
    [7.]
    <NDArray 1 @cpu(0)>)
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        label_width=1,
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
        label_name="softmax_label",
        dtype="float32",
        last_batch_handle="pad",
        **kwargs,
    ):
        check_batch_size(self, batch_size)
        super().__init__(batch_size)
        assert path_imgrec or path_imglist or isinstance(imglist, list), (
            "ImageIter: path_imgrec, path_imglist or a list imglist is needed"
        )
        assert dtype in ("int32", "float32", "int64", "float64"), f"{dtype} label not supported"
        self.check_data_shape(data_shape)
        self.imgrec = self.imgidx = None
        if path_imgrec:
            logging.info("%s: loading recordio %s...", type(self).__name__, path_imgrec)
            self._open_records(path_imgrec, path_imgidx)
        self.imglist = self._labelled_paths(path_imglist, imglist, dtype)
        self.path_root = path_root
        self.data_shape, self.label_width, self.shuffle = tuple(data_shape), label_width, shuffle
        self.provide_data = [(data_name, (batch_size, *data_shape))]
        self.provide_label = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.seq = self._numbers(shuffle or num_parts > 1 or path_imgidx)
        if num_parts > 1:
            assert 0 <= part_index < num_parts, f"ImageIter: there is no part {part_index} of {num_parts}"
            each = len(self.seq) // num_parts
            self.seq = self.seq[part_index * each : (part_index + 1) * each]
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.last_batch_handle = last_batch_handle
        self.num_image = len(self.seq) if self.seq is not None else None
        self.cur = 0
        self._allow_read = True
        self._cache_data = self._cache_label = self._cache_idx = None
        self.reset()

    def _open_records(self, records, index):
        if index:
            self.imgrec = recordio.MXIndexedRecordIO(index, records, "r")
            self.imgidx = list(self.imgrec.keys)
        else:
            self.imgrec = recordio.MXRecordIO(records, "r")

    def _labelled_paths(self, path, given, dtype):
        """Number of an image to its label and path, or None."""
        if path:
            found = {}
            with open_file(path, "r") as file:
                for line in file:
                    number, *label, name = line.strip().split("\t")
                    found[int(number)] = (arrays.array([float(one) for one in label], dtype=dtype), name)
            return found
        if not isinstance(given, list):
            return None
        found = {}
        for number, (*label, name) in enumerate(given, 1):
            whole = label[0] if len(label) == 1 and not isinstance(label[0], (int, float)) else label
            found[str(number)] = (arrays.array(whole, dtype=dtype), name)
        return found

    def _numbers(self, needs_index):
        if self.imgrec is None:
            return list(self.imglist)
        if needs_index:
            assert self.imgidx is not None, "ImageIter: shuffling and parts of records need path_imgidx"
            return self.imgidx
        return None

    # --- epochs ---

    def reset(self):
        """To the first image; with 'roll_over', what was left over comes before it."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._cache_data is None:
            self._rewind()

    def hard_reset(self):
        """To the first image; what was left over is forgotten."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()
        self._cache_data = self._cache_label = self._cache_idx = None

    def _rewind(self):
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    # --- samples ---

    def next_sample(self):
        """The label of the next image, and its file's content. StopIteration: there is none."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                raise StopIteration
            header, content = recordio.unpack(record)
            return header.label, content
        if self.cur >= self.num_image:
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        number = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = self.imglist[number]
            return label, self.read_image(name)
        header, content = recordio.unpack(self.imgrec.read_idx(number))
        return (header.label if self.imglist is None else self.imglist[number][0]), content

    def read_image(self, fname):
        """The content of a file below `path_root`."""
        with open_file(os.path.join(self.path_root or "", fname)) as file:
            return file.read()

    def imdecode(self, s):
        """The pixels of a file's content. RuntimeError: it is damaged; the message says which one it is."""
        try:
            return imdecode(s)
        except Exception as error:
            raise RuntimeError(f"Broken image {self._place()}, {error}") from error

    def _place(self):
        if self.seq is None:
            return "in the records"
        number = self.seq[(self.cur % self.num_image) - 1]
        return f"filename: {self.imglist[number][1]}" if self.imglist is not None else f"index: {number}"

    def augmentation_transform(self, data):
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum):
        """(height, width, channels) to (channels, height, width)."""
        return datum.transpose(2, 0, 1) if is_np_array() else datum.transpose((2, 0, 1))

    def check_data_shape(self, data_shape):
        """ValueError: the shape is not (3, height, width)."""
        if len(data_shape) != 3:
            raise ValueError("data_shape should have length 3, with dimensions CxHxW")
        if data_shape[0] != 3:
            raise ValueError("This iterator expects inputs to have 3 channels.")

    def check_valid_image(self, data):
        """RuntimeError: there is no image."""
        if len(data[0].shape) == 0:
            raise RuntimeError("Data shape is wrong")

    # --- batches ---

    def _batchify(self, batch_data, batch_label, start=0):
        """Fills the batch from row `start` on; how many rows it has then. StopIteration: none."""
        row = start
        try:
            while row < self.batch_size:
                label, content = self.next_sample()
                data = self.imdecode(content)
                try:
                    self.check_valid_image(data)
                except RuntimeError as error:
                    logging.debug("Invalid image, skipping:  %s", error)
                    continue
                batch_data[row] = self.postprocess_data(self.augmentation_transform(data))
                batch_label[row] = label
                row += 1
        except StopIteration:
            if row == 0:
                raise
        return row

    def _blank_labels(self):
        return arrays.zeros(self.provide_label[0][1], None, "float32")

    def _take_cached(self):
        batch = self._cache_data, self._cache_label, self._cache_idx
        self._cache_data = self._cache_label = self._cache_idx = None
        return batch

    def next(self):
        """The next DataBatch; its `pad` is the number of rows that were filled up. StopIteration: the end."""
        was_rolled_over = self._cache_data is not None
        if was_rolled_over:
            data, label, rows = self._take_cached()
        else:
            data = arrays.zeros((self.batch_size, *self.data_shape), None, "float32")
            label = self._blank_labels()
            rows = self._batchify(data, label)
        pad = self.batch_size - rows
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and not was_rolled_over:
                self._cache_data, self._cache_label, self._cache_idx = data, label, rows
                raise StopIteration
            self._batchify(data, label, rows)
            if self.last_batch_handle == "pad":
                self._allow_read = False
        return DataBatch([data], [label], pad=pad)
