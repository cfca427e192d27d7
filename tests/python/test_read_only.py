"""Memory that NumPy marked read-only, or that is somebody else's, is not written to."""

import gc

import numpy
import pytest

from headrace import nd, np, npx
from headrace.gluon.data import DataLoader, SimpleDataset, batchify
from headrace.gluon.data.vision import transforms

MAKERS = {"nd": nd.from_numpy, "npx": npx.from_numpy}
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def numbers():
    return numpy.arange(6, dtype="float32").reshape(2, 3)


def read_only(values):
    values.flags["WRITEABLE"] = False
    return values


def mapped(tmp_path):
    numpy.save(tmp_path / "m.npy", numbers())
    return numpy.load(tmp_path / "m.npy", mmap_mode="r")


def add_one(array):
    array += 1
    array[0] = 9
    array.wait_to_read()
    return array.asnumpy()


CHANGED = numpy.array([[9, 9, 9], [4, 5, 6]], "float32")
READ_ONLY = {
    "file": mapped,
    "part of a file": lambda path: mapped(path)[:2],
    "marked": lambda _: read_only(numbers()),
    "bytes": lambda _: numpy.frombuffer(numbers().tobytes(), "float32").reshape(2, 3),
}


@every_maker
@pytest.mark.parametrize("kind", READ_ONLY)
def test_from_numpy_copies_what_is_read_only(make, kind, tmp_path):
    source = READ_ONLY[kind](tmp_path)
    array = make(source)
    assert (array.shape, array.dtype) == ((2, 3), numpy.float32)
    numpy.testing.assert_array_equal(add_one(array), CHANGED)
    numpy.testing.assert_array_equal(source, numbers())
    assert not source.flags.writeable


@every_maker
def test_from_numpy_shares_again_what_it_shared(make):
    source = numbers()
    first, second, part = make(source), make(source), make(source[1:])
    first[0] = 7
    part[0] = 8
    second.wait_to_read()
    part.wait_to_read()
    numpy.testing.assert_array_equal(source, [[7, 7, 7], [8, 8, 8]])
    numpy.testing.assert_array_equal(second.asnumpy(), source)
    del first, second, part
    gc.collect()
    numpy.testing.assert_array_equal(add_one(make(source)), source)


def test_from_numpy_of_a_view_that_is_read_only():
    source = numbers()
    view = read_only(source[:])
    add_one(nd.from_numpy(view))
    numpy.testing.assert_array_equal(source, numbers())
    assert source.flags.writeable


def test_copies_of_what_is_read_only(tmp_path):
    source = mapped(tmp_path)
    for array in (nd.array(source), np.array(source), nd.from_numpy(source, zero_copy=False)):
        numpy.testing.assert_array_equal(add_one(array), CHANGED)
    numpy.testing.assert_array_equal(source, numbers())


def test_dlpack_refuses_what_is_read_only(tmp_path):
    for source in (mapped(tmp_path), read_only(numbers())):
        for take in (nd.from_dlpack, npx.from_dlpack):
            with pytest.raises(BufferError, match="[Rr]ead-?only"):
                take(source)


@pytest.mark.parametrize("expand", [True, False])
def test_batches_do_not_share_the_memory_of_the_dataset(expand, tmp_path):
    for items in (mapped(tmp_path), numbers()):
        loader = DataLoader(SimpleDataset(list(items)), 2, batchify_fn=batchify.Append(expand))
        for array in next(iter(loader)):
            add_one(array)
        numpy.testing.assert_array_equal(items, numbers())


def test_transforms_do_not_share_the_memory_of_the_image():
    image = numpy.arange(48, dtype="uint8").reshape(4, 4, 3)
    for transform in (transforms.CenterCrop(4), transforms.Resize(4), transforms.RandomFlipLeftRight(0)):
        before = image.copy()
        made = transform(image)
        made[:] = 200
        made.wait_to_read()
        numpy.testing.assert_array_equal(image, before)
