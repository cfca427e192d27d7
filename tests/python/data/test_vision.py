import gzip
import http.server
import io
import struct
import tarfile
import threading
import zlib

import numpy
import pytest

from headrace import nd, np, recordio
from headrace.gluon.data import DataLoader
from headrace.gluon.data.vision import (
    CIFAR10,
    CIFAR100,
    MNIST,
    Digits,
    FashionMNIST,
    ImageFolderDataset,
    ImageRecordDataset,
)
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
    assert isinstance(label, np.ndarray if mode == "np" else numpy.int32) and label.dtype == numpy.int32
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


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder that a server of this process shows as MXNet's repository, and what was asked of it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, text, *arguments):
            asked.append(arguments[0])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("MXNET_GLUON_REPO", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
        yield folder, asked
        server.shutdown()
        thread.join()


def test_missing_files_are_fetched_once(repository, monkeypatch):
    folder, asked = repository
    write_idx(folder / "gluon" / "dataset" / "mnist", "train", 6, True)
    monkeypatch.setattr(MNIST, "_sha1", {})
    assert len(MNIST()) == len(MNIST()) == 6
    assert sum("mnist/train-images-idx3-ubyte.gz" in line for line in asked) == 1


def test_files_that_cannot_be_fetched_are_named(repository, tmp_path):
    with pytest.raises(OSError, match="train-images-idx3-ubyte.gz") as caught:
        MNIST()
    assert str(tmp_path / "home" / "datasets" / "mnist") in str(caught.value)
    folder, _ = repository
    write_idx(folder / "gluon" / "dataset" / "mnist", "train", 6, True)
    with pytest.raises(OSError, match="SHA-1"):
        MNIST()
    assert not list((tmp_path / "home" / "datasets" / "mnist").glob("*"))


def cifar_archive(path, rows):
    """An archive of files in a folder, each of the rows given."""
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in rows.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = data.size
            archive.addfile(member, io.BytesIO(data.astype("uint8").tobytes()))


def cifar_rows(count, labels):
    rows = numpy.random.RandomState(count).randint(0, 256, (count, labels + 3072))
    rows[:, :labels] = numpy.arange(count)[:, None] + 10 * numpy.arange(labels)
    return rows


@pytest.mark.parametrize("kind, labels", [(CIFAR10, 1), (CIFAR100, 2)])
def test_cifar(repository, monkeypatch, kind, labels):
    folder, asked = repository
    names = [*kind._train_files, *kind._test_files]
    rows = {name: cifar_rows(i + 2, labels) for i, name in enumerate(names)}
    cifar_archive(folder / "gluon" / "dataset" / kind._namespace / kind._archive[0], rows)
    monkeypatch.setattr(kind, "_archive", (kind._archive[0], None))
    for part in ("_train_files", "_test_files"):
        monkeypatch.setattr(kind, part, dict.fromkeys(getattr(kind, part)))
    train, test = kind(), kind(train=False, transform=lambda image, label: (image.shape, int(label)))
    assert len(asked) == 1
    assert len(train) == sum(len(rows[name]) for name in kind._train_files)
    assert len(test) == len(rows[names[-1]])
    image, label = train[1]
    first = rows[names[0]]
    assert (image.asnumpy() == first[1, labels:].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    assert label == 1 and label.dtype == numpy.int32
    assert test[1] == ((32, 32, 3), 1)
    if kind is CIFAR100:
        assert kind(fine_label=True)[1][1] == 11


def test_damaged_cifar_files(tmp_path):
    for name in CIFAR10._test_files:
        (tmp_path / name).write_bytes(bytes(100))
    with pytest.raises(ValueError, match="100 bytes"):
        CIFAR10(str(tmp_path), train=False)


def png(value, side=4):
    """A PNG file of grey pixels of one value."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    lines = zlib.compress((b"\0" + bytes([value] * side)) * side)
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def test_folders_of_images(tmp_path, mode):
    for name, value in (("cats/b.png", 2), ("cats/a.PNG", 1), ("dogs/c.png", 3)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(png(value))
    (tmp_path / "dogs" / "notes.txt").write_text("x")
    (tmp_path / "list.txt").write_text("x")
    with pytest.warns(UserWarning, match="Ignoring .*(list|notes).txt"):
        images = ImageFolderDataset(str(tmp_path))
    assert images.synsets == ["cats", "dogs"]
    assert [(path.rpartition("/")[2], label) for path, label in images.items] == [
        ("a.PNG", 0),
        ("b.png", 0),
        ("c.png", 1),
    ]
    image, label = images[2]
    assert image.shape == (4, 4, 3) and (image.asnumpy() == 3).all() and label == 1
    assert isinstance(image, np.ndarray) == (mode == "np")
    batches = list(DataLoader(images.transform_first(ToTensor()), batch_size=2, num_workers=1))
    assert [batch[0].shape for batch in batches] == [(2, 3, 4, 4), (1, 3, 4, 4)]


def test_records_of_images(tmp_path):
    record = recordio.MXIndexedRecordIO(str(tmp_path / "r.idx"), str(tmp_path / "r.rec"), "w")
    for i in range(3):
        record.write_idx(i, recordio.pack(recordio.IRHeader(0, float(i), i, 0), png(i)))
    record.close()
    images = ImageRecordDataset(str(tmp_path / "r.rec"), flag=0)
    assert len(images) == 3
    image, label = images[2]
    assert image.shape == (4, 4, 1) and (image.asnumpy() == 2).all() and label == 2
    doubled = ImageRecordDataset(str(tmp_path / "r.rec"), transform=lambda image, label: 2 * label)
    assert doubled[1] == 2


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
    assert isinstance(label, np.ndarray if mode == "np" else numpy.int32) and label.dtype == numpy.int32
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
