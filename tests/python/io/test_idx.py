import gzip
import random
import resource
import struct

import numpy
import pytest

from headrace.io.idx import read_idx


def idx_bytes(array, magic=None, shape=None):
    shape = array.shape if shape is None else shape
    magic = 0x0800 + len(shape) if magic is None else magic
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + array.tobytes()


IMAGES = numpy.random.RandomState(0).randint(0, 256, (5, 4, 3)).astype("uint8")


def write(path, data, compress=False):
    path.write_bytes(gzip.compress(data) if compress else data)
    return str(path)


@pytest.mark.parametrize("compress", [False, True])
def test_images_and_labels(tmp_path, compress):
    images = read_idx(write(tmp_path / "images", idx_bytes(IMAGES), compress), axes=3)
    assert images.dtype == numpy.uint8
    assert (images == IMAGES).all()
    labels = read_idx(write(tmp_path / "labels", idx_bytes(IMAGES[0, 0]), compress), axes=1)
    assert labels.tolist() == IMAGES[0, 0].tolist()
    empty = read_idx(write(tmp_path / "empty", idx_bytes(IMAGES[:0]), compress), axes=3)
    assert empty.shape == (0, 4, 3)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected magic 2051, got 0"),
        (b"\0\0\x08", "expected magic 2051"),
        (idx_bytes(IMAGES)[:9], "header cut short: expected 16 bytes, got 9"),
        (idx_bytes(IMAGES, magic=2049), "expected magic 2051, got 2049"),
        (idx_bytes(IMAGES, magic=0x0D03), "expected magic 2051, got 3331"),
        (idx_bytes(IMAGES)[:-1], "cut short|more data than the file can hold"),
        (idx_bytes(IMAGES) + b"x", "more data than the shape"),
        (idx_bytes(IMAGES, shape=(2**32 - 1,) * 3), "more data than the file can hold"),
        (idx_bytes(IMAGES, shape=(2**31, 2, 1)), "more data than the file can hold"),
        (idx_bytes(IMAGES, shape=(1 << 20, 28, 28)), "more data than the file can hold"),
    ],
    ids=["empty", "short", "header", "labels", "float", "cut", "longer", "huge", "2GiB", "800MB"],
)
def test_hostile_files(tmp_path, data, message, compress):
    path = write(tmp_path / "file", data, compress)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path, axes=3)
    assert path in str(caught.value)


def test_damaged_compression(tmp_path):
    whole = gzip.compress(idx_bytes(IMAGES))
    for data in (whole[:20], whole[:-4], whole[:-6] + b"abcdef", whole[:12] + b"\xff" * 20):
        with pytest.raises(ValueError, match=r"damaged gzip|cut short|magic"):
            read_idx(write(tmp_path / "file", data), axes=3)


def test_a_small_file_that_unpacks_to_much_is_not_unpacked(tmp_path):
    """What the header promises is read, not what a bomb holds; a larger promise than deflate can keep is
    refused.
    """
    bomb = gzip.compress(idx_bytes(numpy.zeros((2, 10, 10), "uint8")) + bytes(200 << 20), 1)
    assert len(bomb) < 2 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="more data than the shape"):
        read_idx(write(tmp_path / "bomb", bomb), axes=3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_idx(str(tmp_path / "none"), axes=3)


def damaged(data, rng):
    """`data` with a few bytes changed, removed, repeated or inserted."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(4)
        if action == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif action == 1:
            del data[at : at + rng.randint(1, 8)]
        elif action == 2:
            data[at:at] = data[at : at + rng.randint(1, 8)]
        else:
            data[at:at] = rng.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"])
    return bytes(data)


@pytest.mark.parametrize("compress", [False, True])
def test_random_damage_gives_the_data_or_a_value_error(tmp_path, compress):
    rng = random.Random(1)
    whole = idx_bytes(IMAGES)
    whole = gzip.compress(whole) if compress else whole
    outcomes = {"read": 0, "refused": 0}
    for _ in range(600):
        path = write(tmp_path / "file", damaged(whole, rng))
        try:
            array = read_idx(path, axes=3)
        except ValueError:
            outcomes["refused"] += 1
        else:
            assert array.ndim == 3
            assert array.nbytes <= 200
            outcomes["read"] += 1
    assert outcomes["refused"] > 300
