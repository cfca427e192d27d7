import gzip
import struct

import numpy
import pytest

from headrace import nd, np
from headrace.gluon.data import DataLoader
from headrace.gluon.data.vision import MNIST, Digits, FashionMNIST
from headrace.gluon.data.vision.transforms import ToTensor


def write_idx(folder, stem, count, compress):
    """`count` images of 28 x 28 whose pixels are the image's number, and labels number % 10."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = numpy.arange(count, dtype="uint8")
    images = struct.pack(">4I", 2051, count, 28, 28) + numbers.repeat(28 * 28).tobytes()
    labels = struct.pack(">2I", 2049, count) + (numbers % 10).tobytes()
    for name, data in ((f"{stem}-images-idx3-ubyte", images), (f"{stem}-labels-idx1-ubyte", labels)):
        if compress:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
@pytest.mark.parametrize("compress", [False, True])
def test_files_that_are_there(tmp_path, kind, compress, mode):
    write_idx(tmp_path, "train", 20, compress)
    write_idx(tmp_path, "t10k", 12, compress)
    train, test = kind(str(tmp_path)), kind(root=str(tmp_path), train=False)
    assert (len(train), len(test)) == (20, 12)
    image, label = train[13]
    assert isinstance(image, np.ndarray) == (mode == "np")
    assert image.shape == (28, 28, 1)
    assert image.dtype == numpy.uint8
    assert (image.asnumpy() == 13).all()
    assert isinstance(label, numpy.int32)
    assert label == 3
    images, labels = train[2:5]
    assert images.shape == (3, 28, 28, 1)
    assert labels.tolist() == [2, 3, 4]


@pytest.mark.parametrize(("kind", "folder"), [(MNIST, "mnist"), (FashionMNIST, "fashion-mnist")])
def test_default_root(tmp_path, monkeypatch, kind, folder):
    write_idx(tmp_path / "home" / "datasets" / folder, "train", 3, True)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    assert len(kind()) == 3
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    write_idx(tmp_path / ".mxnet" / "datasets" / folder, "train", 4, True)
    assert len(kind()) == 4
    assert len(kind(f"~/.mxnet/datasets/{folder}")) == 4


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        MNIST(str(tmp_path / "nowhere"))
    message = str(caught.value)
    assert str(tmp_path / "nowhere") in message
    assert "train-images-idx3-ubyte.gz" in message
    assert "t10k-labels-idx1-ubyte.gz" in message


def test_images_and_labels_must_agree(tmp_path):
    write_idx(tmp_path, "train", 5, True)
    labels = gzip.compress(struct.pack(">2I", 2049, 4) + bytes(4))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(labels)
    with pytest.raises(ValueError, match="5 images but 4 labels"):
        MNIST(str(tmp_path))


def test_digits(mode):
    train, test = Digits(), Digits(train=False)
    assert (len(train), len(test)) == (1500, 297)
    image, label = train[0]
    assert image.shape == (8, 8, 1)
    assert image.dtype == numpy.uint8
    assert isinstance(image, np.ndarray) == (mode == "np")
    assert isinstance(label, numpy.int32)
    assert [int(train[i][1]) for i in range(10)] == list(range(10))
    assert int(image.asnumpy().max()) == 239


def test_transforms_of_items_and_batches():
    def scale(image, label):
        return image.astype("float32") / 255, label + 1

    image, label = Digits(transform=scale)[4]
    assert image.dtype == numpy.float32
    assert label == 5
    tensors = Digits(train=False).transform_first(ToTensor())
    wanted = numpy.stack([tensors[i][0].asnumpy() for i in range(20)])
    images, labels = next(iter(DataLoader(tensors, 20)))
    assert isinstance(images, nd.NDArray)
    assert (images.asnumpy() == wanted).all()
    assert labels.dtype == numpy.int32
    images, labels = next(iter(DataLoader(Digits(train=False, transform=scale), 20, num_workers=1)))
    assert images.shape == (20, 8, 8, 1)
    numpy.testing.assert_allclose(images.asnumpy().transpose(0, 3, 1, 2), wanted, rtol=1e-6)
