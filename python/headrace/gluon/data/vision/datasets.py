"""Data sets of images that MXNet's repository has, and digits that come with the package."""

import os
import tarfile
from pathlib import Path

import numpy

from ...._arrays import array
from ...._semantics import is_np_array
from ....base import data_dir
from ....io.idx import read_idx
from ...utils import _get_repo_file_url, check_sha1, download
from ..dataset import _DownloadedDataset
from .image_files import ImageFolderDataset, ImageRecordDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "Digits",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageRecordDataset",
    "MNIST",
]

_BUILT_IN = Path(__file__).parents[3] / "_data"


def _default_root(name):
    return os.path.join(data_dir(), "datasets", name)


class _Labelled(_DownloadedDataset):
    """Items `(image, label)`: a uint8 array (height, width, channels) and an int32 NumPy scalar.

    In np mode both are np arrays. `transform(image, label)` is applied to each item when given. Files
    that are not in the folder `root` are fetched from MXNet's repository (`MXNET_GLUON_REPO`). OSError: one
    cannot be fetched; the message says which. ValueError: a file is damaged.
    """

    _namespace = None  # the folder in the repository

    def __init__(self, root, train, transform):
        self._train = train
        super().__init__(root, transform)

    def _get_data(self):
        images, labels = self._read(self._root, self._train)
        if len(images) != len(labels):
            raise ValueError(
                f"{type(self).__name__}: {len(images)} images but {len(labels)} labels in {self._root}"
            )
        self._data = array(images, dtype="uint8")
        labels = labels.astype(numpy.int32)
        self._label = array(labels, dtype="int32") if is_np_array() else labels

    def _read(self, root, train):
        """Images (count, height, width, channels) and labels (count,) as NumPy arrays."""
        raise NotImplementedError

    def _fetch(self, root, name, sha1):
        """The path of a file of the repository in the folder."""
        url = _get_repo_file_url(f"gluon/dataset/{self._namespace}", name)
        return download(url, os.path.join(root, name), sha1_hash=sha1, retries=1)


class _IdxDataset(_Labelled):
    """Images of one channel in two files of the idx format, compressed or not."""

    _sha1 = {}  # of the compressed files in the repository

    def _read(self, root, train):
        stem = "train" if train else "t10k"
        images = read_idx(self._find(root, f"{stem}-images-idx3-ubyte"), axes=3)[..., numpy.newaxis]
        return images, read_idx(self._find(root, f"{stem}-labels-idx1-ubyte"), axes=1)

    def _find(self, root, name):
        for candidate in (os.path.join(root, name + ".gz"), os.path.join(root, name)):
            if os.path.exists(candidate):
                return candidate
        return self._fetch(root, name + ".gz", self._sha1.get(name))


class MNIST(_IdxDataset):
    """Handwritten digits, 28 x 28: 60,000 to train on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/mnist` or `~/.mxnet/datasets/mnist`.

    Examples
    --------
    >>> train = gluon.data.vision.MNIST(train=True)  # doctest: +SKIP
    """

    _namespace = "mnist"
    _sha1 = {
        "train-images-idx3-ubyte": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
        "train-labels-idx1-ubyte": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
        "t10k-images-idx3-ubyte": "c3a25af1f52dad7f726cce8cacb138654b760d48",
        "t10k-labels-idx1-ubyte": "763e7fa3757d93b0cdec073cef058b2004252c17",
    }

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _default_root("mnist"), train, transform)


class FashionMNIST(_IdxDataset):
    """Pictures of clothes, 28 x 28, in ten classes: 60,000 to train on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/fashion-mnist` or
    `~/.mxnet/datasets/fashion-mnist`.

    Examples
    --------
    >>> train = gluon.data.vision.FashionMNIST(train=True)  # doctest: +SKIP
    """

    _namespace = "fashion-mnist"
    _sha1 = {
        "train-images-idx3-ubyte": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
        "train-labels-idx1-ubyte": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
        "t10k-images-idx3-ubyte": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
        "t10k-labels-idx1-ubyte": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
    }

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _default_root("fashion-mnist"), train, transform)


class _Cifar(_Labelled):
    """Images of 32 x 32 pixels in the files of an archive: rows of labels and pixels, channel by channel."""

    _archive = None  # name and SHA-1
    _train_files, _test_files = {}, {}  # names and SHA-1s of the files in it
    _label_bytes = 1
    _label_byte = 0  # which of them is the label

    def _read(self, root, train):
        wanted = self._train_files if train else self._test_files
        present = [os.path.join(root, name) for name in wanted]
        if not all(os.path.exists(path) for path in present):
            self._unpack(root)
        rows = numpy.concatenate([self._rows(path) for path in present])
        pixels = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32)
        return pixels.transpose(0, 2, 3, 1), rows[:, self._label_byte]

    def _rows(self, path):
        data = numpy.fromfile(path, numpy.uint8)
        size = self._label_bytes + 3 * 32 * 32
        if data.size == 0 or data.size % size:
            raise ValueError(
                f"{type(self).__name__}: {path} has {data.size} bytes; expected images of {size} each"
            )
        return data.reshape(-1, size)

    def _unpack(self, root):
        """Fetches the archive, and puts its files into the folder, whatever folder they are in there."""
        wanted = self._train_files | self._test_files
        with tarfile.open(self._fetch(root, *self._archive)) as archive:
            for member in archive:
                name = os.path.basename(member.name)
                if member.isfile() and name in wanted:
                    with archive.extractfile(member) as source, open(os.path.join(root, name), "wb") as file:
                        file.write(source.read())
        damaged = [
            name for name, sha1 in wanted.items() if not self._is_whole(os.path.join(root, name), sha1)
        ]
        if damaged:
            raise ValueError(
                f"{type(self).__name__}: {damaged[0]} of the archive in {root} is damaged or missing"
            )

    @staticmethod
    def _is_whole(path, sha1):
        return os.path.exists(path) and (sha1 is None or check_sha1(path, sha1))


class CIFAR10(_Cifar):
    """Small photographs, 32 x 32, in ten classes: 50,000 to train on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/cifar10` or `~/.mxnet/datasets/cifar10`.

    Examples
    --------
    >>> train = gluon.data.vision.CIFAR10(train=True)  # doctest: +SKIP
    """

    _namespace = "cifar10"
    _archive = ("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891")
    _train_files = {
        "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
        "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
        "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
        "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
        "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    }
    _test_files = {"test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c"}

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _default_root("cifar10"), train, transform)


class CIFAR100(_Cifar):
    """Small photographs, 32 x 32, in 20 groups of classes, or 100 classes with `fine_label`: 50,000 to train
    on, 10,000 to test on (`train=False`).

    Read from the folder `root`, by default `$MXNET_HOME/datasets/cifar100` or `~/.mxnet/datasets/cifar100`.

    Examples
    --------
    >>> train = gluon.data.vision.CIFAR100(train=True, fine_label=True)  # doctest: +SKIP
    """

    _namespace = "cifar100"
    _archive = ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _train_files = {"train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"}
    _test_files = {"test.bin": "8fb6623e830365ff53cf14adec797474f5478006"}
    _label_bytes = 2

    def __init__(self, root=None, fine_label=False, train=True, transform=None):
        self._label_byte = int(fine_label)
        super().__init__(root or _default_root("cifar100"), train, transform)


class Digits(_IdxDataset):
    """Real handwritten digits, 8 x 8, that come with the package: 1,500 to train on, 297 to test on
    (`train=False`).

    From "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning
    Repository, CC BY 4.0.

    Examples
    --------
    >>> digits = gluon.data.vision.Digits(train=False)
    >>> image, label = digits[0]
    >>> image.shape, image.dtype
    ((8, 8, 1), <class 'numpy.uint8'>)
    """

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root or _BUILT_IN / "digits", train, transform)
