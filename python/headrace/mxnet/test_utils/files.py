"""Files of data sets and networks. What is there already is never fetched."""

import bz2
import os
import shutil
import zipfile

import numpy as np

from ...base import data_dir
from ...gluon import utils
from ...io import MNISTIter
from ...io.idx import read_idx

__all__ = [
    "download",
    "download_model",
    "get_bz2_data",
    "get_cifar10",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_zip_data",
]

_MNIST = tuple(
    f"{part}-{kind}" for part in ("train", "t10k") for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
)
_CIFAR10 = ("train.rec", "test.rec", "train.lst", "test.lst")
_SERVER = "http://data.mxnet.io/"


def download(url, fname=None, dirname=None, overwrite=False, retries=5):
    """Fetches `url` unless the file is there; returns its name: `fname`, in `dirname` if that is given.

    OSError: it cannot be fetched, after `retries` further attempts.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import os, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = pathlib.Path(folder.name, "data.txt")
    >>> size = source.write_text("1 2 3")
    >>> path = test_utils.download(source.as_uri(), fname="copy.txt", dirname=folder.name)
    >>> os.path.basename(path), pathlib.Path(path).read_text()
    ('copy.txt', '1 2 3')
    """
    assert retries >= 0, f"download: retries must be at least 0, got {retries}"
    fname = os.path.join(dirname or "", fname or url.split("/")[-1])
    return utils.download(url, fname, overwrite=overwrite, retries=retries)


def download_model(model_name, dst_dir="./", meta_info=None):
    """Fetches the files of a network to `dst_dir`; returns (prefix of their names, epoch 0).

    meta_info : model name to {'symbol': url, 'params': url}
    (None, 0): `meta_info` does not know the name. Without it no name is known: MXNet's servers are gone.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.download_model("resnet-50")
    (None, 0)
    """
    urls = (meta_info or {}).get(model_name)
    if urls is None:
        return None, 0
    assert "symbol" in urls and "params" in urls, (
        f"download_model: {model_name} needs a symbol and params url"
    )
    prefix = os.path.join(dst_dir, model_name)
    download(urls["symbol"], f"{prefix}-symbol.json")
    download(urls["params"], f"{prefix}-0000.params")
    return prefix, 0


def get_mnist():
    """MNIST as a dictionary of NumPy arrays: 'train_data' and 'test_data', float32 of (n, 1, 28, 28) from 0
    to 1, 'train_label' and 'test_label', int8.

    The files are read from the current folder, `data` in it, or where gluon.data.vision.MNIST has its own.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_mnist()["train_data"].shape  # doctest: +SKIP
    (60000, 1, 28, 28)
    """
    folders = (".", "data", os.path.join(data_dir(), "datasets", "mnist"))
    images, labels, test_images, test_labels = (_read_mnist(name, folders) for name in _MNIST)
    scaled = [x.reshape(len(x), 1, *x.shape[1:]).astype(np.float32) / 255 for x in (images, test_images)]
    labels, test_labels = labels.astype(np.int8), test_labels.astype(np.int8)
    return {"train_data": scaled[0], "train_label": labels, "test_data": scaled[1], "test_label": test_labels}


def _read_mnist(name, folders):
    for folder in folders:
        for ending in (".gz", ""):
            path = os.path.join(folder, name + ending)
            if os.path.exists(path):
                return read_idx(path, axes=3 if "images" in name else 1)
    return read_idx(download(f"{_SERVER}data/mnist/{name}.gz"), axes=3 if "images" in name else 1)


def get_mnist_pkl():
    """Fetches data/mnist.pkl.gz, unless it is there. OSError: it cannot.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_mnist_pkl()  # doctest: +SKIP
    """
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def get_mnist_ubyte():
    """Fetches the four files of MNIST to the folder `data`, unless they are there. OSError: it cannot.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_mnist_ubyte()  # doctest: +SKIP
    """
    _unpack("mnist.zip", [os.path.join("data", name) for name in _MNIST])


def get_cifar10():
    """Fetches CIFAR-10 as record files to the folder `data/cifar`, unless they are there. OSError: it cannot.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_cifar10()  # doctest: +SKIP
    """
    _unpack("cifar10.zip", [os.path.join("data", "cifar", name) for name in _CIFAR10])


def _unpack(archive, names):
    if not all(os.path.exists(name) for name in names):
        with zipfile.ZipFile(download(f"{_SERVER}mxnet/data/{archive}", dirname="data")) as file:
            file.extractall("data")


def get_mnist_iterator(batch_size, input_shape, num_parts=1, part_index=0):
    """Iterators over MNIST, to train on and to test on; images are flat unless `input_shape` has 3 axes.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> train, test = test_utils.get_mnist_iterator(batch_size=100, input_shape=(784,))  # doctest: +SKIP
    """
    get_mnist_ubyte()
    options = {
        "input_shape": input_shape,
        "batch_size": batch_size,
        "flat": len(input_shape) != 3,
        "num_parts": num_parts,
        "part_index": part_index,
    }
    paths = [os.path.join("data", name) for name in _MNIST]
    return (
        MNISTIter(image=paths[0], label=paths[1], shuffle=True, **options),
        MNISTIter(image=paths[2], label=paths[3], **options),
    )


def get_zip_data(data_dir, url, data_origin_name):
    """Fetches a zip file and unpacks it to `data_dir`, unless the file is there.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import pathlib, tempfile, zipfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = pathlib.Path(folder.name, "there.zip")
    >>> with zipfile.ZipFile(source, "w") as file:
    ...     file.writestr("data.txt", "1 2 3")
    >>> test_utils.get_zip_data(folder.name, source.as_uri(), "packed.zip")
    >>> pathlib.Path(folder.name, "data.txt").read_text()
    '1 2 3'
    """
    path = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(path):
        download(url, fname=data_origin_name, dirname=data_dir)
        with zipfile.ZipFile(path) as file:
            file.extractall(data_dir)


def get_bz2_data(data_dir, data_name, url, data_origin_name):
    """Fetches a bz2 file and unpacks it as `data_name` to `data_dir`, unless that is there.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import bz2, os, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> source = pathlib.Path(folder.name, "there.bz2")
    >>> size = source.write_bytes(bz2.compress(b"1 2 3"))
    >>> test_utils.get_bz2_data(folder.name, "data.txt", source.as_uri(), "packed.bz2")
    >>> pathlib.Path(folder.name, "data.txt").read_text()
    '1 2 3'
    """
    target, packed = os.path.join(data_dir, data_name), os.path.join(data_dir, data_origin_name)
    if not os.path.exists(target):
        download(url, fname=data_origin_name, dirname=data_dir)
        with bz2.BZ2File(packed) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
        os.remove(packed)


def get_im2rec_path(home_env="MXNET_HOME"):
    """The path of tools/im2rec.py in or above the folder that `home_env` names. OSError: it is not there.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> tool = pathlib.Path(folder.name, "tools", "im2rec.py")
    >>> tool.parent.mkdir()
    >>> tool.touch()
    >>> with test_utils.environment("MXNET_HOME", folder.name):
    ...     print(test_utils.get_im2rec_path() == str(tool))
    True
    """
    home = os.environ.get(home_env, os.path.dirname(__file__))
    for path in (os.path.join(home, *up, "tools", "im2rec.py") for up in ((), ("..", ".."))):
        if os.path.isfile(path):
            return path
    raise OSError(
        f"get_im2rec_path: there is no tools/im2rec.py in {home}; set {home_env} to a folder with it"
    )
