"""Image datasets in the idx format, read from files that are already there."""

import os
from pathlib import Path

import numpy

from ...._arrays import array
from ....base import data_dir
from .._batches import batch_form
from .._host import column_reader
from ..dataset import Dataset
from .idx import read_idx

__all__ = ["MNIST", "FashionMNIST", "Digits"]

_BUILT_IN = Path(__file__).parents[3] / "_data"


def _default_root(name):
    return os.path.join(data_dir(), "datasets", name)


class _IdxDataset(Dataset):
    """Items `(image, label)`: a uint8 array (height, width, 1) and an int32 NumPy scalar.

    In np mode an image is an np array. `transform(image, label)` is applied to each item when given.
    FileNotFoundError: a file is missing; the message says which. ValueError: a file is damaged.
    """

    def __init__(self, root, train, transform):
        stem = "train" if train else "t10k"
        images = read_idx(self._find(root, f"{stem}-images-idx3-ubyte"), axes=3)[..., numpy.newaxis]
        labels = read_idx(self._find(root, f"{stem}-labels-idx1-ubyte"), axes=1)
        if len(images) != len(labels):
            raise ValueError(
                f"{type(self).__name__}: {len(images)} images but {len(labels)} labels in {root}"
            )
        self._transform = transform
        self._data = array(images, dtype="uint8")
        self._label = labels.astype(numpy.int32)

    def __getitem__(self, idx):
        image, label = self._data[idx], self._label[idx]
        return (image, label) if self._transform is None else self._transform(image, label)

    def __len__(self):
        return len(self._label)

    def batch_reader(self):
        images, labels = column_reader(self._data), column_reader(self._label)
        if self._transform is None:
            return lambda rows: (images(rows), labels(rows))
        apply = batch_form(self._transform)
        return (lambda rows: apply(images(rows), labels(rows))) if apply else None

    def _find(self, root, name):
        root = os.path.expanduser(root)
        for candidate in (os.path.join(root, name + ".gz"), os.path.join(root, name)):
            if os.path.exists(candidate):
                return candidate
        raise FileNotFoundError(
            f"{type(self).__name__}: no {name}.gz (or {name}) in {root}. Nothing is downloaded: put "
            "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
            "t10k-labels-idx1-ubyte.gz there, or pass the folder that has them as root."
        )


class MNIST(_IdxDataset):
    """Handwritten digits, 28 x 28: 60,000 to train on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/mnist` or `~/.mxnet/datasets/mnist`.
    """

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _default_root("mnist"), train, transform)


class FashionMNIST(_IdxDataset):
    """Pictures of clothes, 28 x 28, in ten classes: 60,000 to train on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/fashion-mnist` or
    `~/.mxnet/datasets/fashion-mnist`.
    """

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _default_root("fashion-mnist"), train, transform)


class Digits(_IdxDataset):
    """Real handwritten digits, 8 x 8, that come with the package: 1,500 to train on, 297 to test on
    (`train=False`).

    From "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning
    Repository, CC BY 4.0.
    """

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _BUILT_IN / "digits", train, transform)
