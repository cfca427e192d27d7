"""Descriptions, batches, and the iterators over other iterators and over files."""

import gzip
import pickle
import struct

import numpy
import pytest

import headrace as mx

X = numpy.arange(14).reshape(7, 2)
Y = numpy.arange(7)


def firsts(data_iter):
    """The first number of each batch of a pass."""
    return [float(batch.data[0].asnumpy().flat[0]) for batch in data_iter]


def test_data_desc():
    one = mx.io.DataDesc("data", (2, 3))
    assert one == ("data", (2, 3)) and (one.dtype, one.layout) == (numpy.float32, "NCHW")
    assert repr(one) == "DataDesc[data,(2, 3),<class 'numpy.float32'>,NCHW]"
    copy = pickle.loads(pickle.dumps(mx.io.DataDesc("x", (1,), "int8", "N")))
    assert copy == ("x", (1,)) and (copy.dtype, copy.layout) == ("int8", "N")
    axes = [mx.io.DataDesc.get_batch_axis(layout) for layout in ("NCHW", "TNC", None, "C")]
    assert axes == [0, 1, 0, -1]
    listed = mx.io.DataDesc.get_list([("a", (1, 2)), ("b", (3,))], [("a", numpy.float16)])
    assert listed == [("a", (1, 2)), ("b", (3,))]
    assert [item.dtype for item in listed] == [numpy.float16, numpy.float32]


def test_data_batch():
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2,))], pad=1)
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"
    assert str(mx.io.DataBatch([mx.nd.ones((2, 3))])).endswith("label shapes: None")
    with pytest.raises(AssertionError, match="Data must be list of NDArrays"):
        mx.io.DataBatch(mx.nd.ones((2, 3)))
    with pytest.raises(AssertionError, match="Label must be list of NDArrays"):
        mx.io.DataBatch([], mx.nd.ones((2,)))


def test_an_iterator_of_ones_own():
    class Countdown(mx.io.DataIter):
        left = 2

        def iter_next(self):
            self.left -= 1
            return self.left >= 0

        def getdata(self):
            return [mx.nd.full((1,), self.left)]

        def getpad(self):
            return 0

    data_iter = Countdown(1)
    assert data_iter.batch_size == 1
    assert firsts(data_iter) == [1, 0]


def test_resize_iter():
    inner = mx.io.NDArrayIter(X, Y, 3)
    data_iter = mx.io.ResizeIter(inner, 5)
    assert data_iter.provide_data == inner.provide_data and data_iter.batch_size == 3
    for _ in range(2):
        assert firsts(data_iter) == [0, 6, 12, 0, 6]
        with pytest.raises(StopIteration):
            next(data_iter)
        data_iter.reset()
    data_iter = mx.io.ResizeIter(mx.io.NDArrayIter(X, Y, 3), 2, reset_internal=False)
    assert firsts(data_iter) == [0, 6]
    data_iter.reset()
    assert firsts(data_iter) == [12, 0]


def test_prefetching_iter():
    inner = [mx.io.NDArrayIter(X + 100 * i, Y, 3) for i in range(2)]
    data_iter = mx.io.PrefetchingIter(
        inner, [{"data": "a"}, {"data": "b"}], [{"softmax_label": "l"}, {"softmax_label": "m"}]
    )
    assert data_iter.provide_data == [("a", (3, 2)), ("b", (3, 2))]
    assert [one.name for one in data_iter.provide_label] == ["l", "m"]
    for _ in range(2):
        batches = list(data_iter)
        assert [[a[0, 0].asscalar() for a in batch.data] for batch in batches] == [
            [0, 100],
            [6, 106],
            [12, 112],
        ]
        assert [batch.pad for batch in batches] == [0, 0, 2]
        assert [array.shape for array in batches[0].label] == [(3,), (3,)]
        assert batches[0].provide_data == data_iter.provide_data
        data_iter.reset()
    next(data_iter)
    data_iter.reset()  # in the middle of a pass
    assert firsts(data_iter) == [0, 6, 12]


def test_prefetching_iter_raises_what_its_iterator_raises():
    class Broken(mx.io.NDArrayIter):
        def next(self):
            raise KeyError("broken on purpose")

    with pytest.raises(KeyError, match="broken on purpose"):
        next(mx.io.PrefetchingIter(Broken(X)))
    uneven = mx.io.PrefetchingIter([mx.io.NDArrayIter(X), mx.io.NDArrayIter(X[:3])])
    with pytest.raises(AssertionError, match="different numbers of batches"):
        list(uneven)


@pytest.fixture
def tables(tmp_path):
    numpy.savetxt(tmp_path / "data.csv", numpy.arange(21).reshape(7, 3), delimiter=",", fmt="%g")
    numpy.savetxt(tmp_path / "label.csv", Y, fmt="%g")
    return {"data_csv": str(tmp_path / "data.csv"), "data_shape": (3,), "batch_size": 3}


def rows(data_iter):
    """For three passes the rows in each batch, and the padding."""
    found = []
    for _ in range(3):
        found.append([((b.data[0].asnumpy()[:, 0] / 3).astype(int).tolist(), b.pad) for b in data_iter])
        data_iter.reset()
    return found


def test_csv_iter(tables, tmp_path):
    data_iter = mx.io.CSVIter(**tables)
    assert data_iter.provide_data == [("data", (3, 3))] and data_iter.provide_label == [
        ("softmax_label", (3,))
    ]
    assert rows(data_iter) == [
        [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)],
        [([2, 3, 4], 0), ([5, 6, 0], 1)],
        [([1, 2, 3], 0), ([4, 5, 6], 0)],
    ]
    one = [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 4, 5], 2)]
    assert rows(mx.io.CSVIter(round_batch=False, **tables)) == [one] * 3
    data_iter = mx.io.CSVIter(label_csv=str(tmp_path / "label.csv"), **tables)
    batches = list(data_iter)
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]
    assert batches[2].index.tolist() == [6, 0, 1]
    batch = next(mx.io.CSVIter(**{**tables, "data_shape": (3, 1)}, dtype="int32"))
    assert batch.data[0].shape == (3, 3, 1) and batch.data[0].dtype == batch.label[0].dtype == numpy.int32


def test_rounds_of_batches_with_more_rows_than_there_are(tables):
    once, twice = [*range(7), 0, 1], [*range(2, 7), 0, 1, 2, 3]
    wanted = [[(once, 2)], [(twice, 4)], [([4, 5, 6, *range(6)], 6)]]
    assert rows(mx.io.CSVIter(**{**tables, "batch_size": 9})) == wanted
    assert [len(batches) for batches in rows(mx.io.CSVIter(**{**tables, "batch_size": 15}))] == [1, 1, 1]


def test_csv_iter_takes_texts(tables):
    batches = mx.io.CSVIter(tables["data_csv"], "(3,)", batch_size="3", round_batch="False")
    assert rows(batches) == [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 4, 5], 2)]] * 3
    with pytest.raises(mx.MXNetError, match="got the text 'three'"):
        mx.io.CSVIter(tables["data_csv"], "(3,)", batch_size="three")


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_holds_a_sample_at_least(tables, images, size):
    for make in (
        lambda: mx.io.NDArrayIter(X, Y, size),
        lambda: mx.io.CSVIter(**{**tables, "batch_size": size}),
        lambda: mx.io.MNISTIter(**{**images[1], "batch_size": size}),
        lambda: mx.image.ImageIter(size, (3, 4, 4), imglist=[]),
    ):
        with pytest.raises(ValueError, match=rf"Iter: batch_size must be at least 1, got {size}$"):
            make()


def test_csv_iter_errors(tables, tmp_path):
    with pytest.raises(mx.MXNetError, match="nope.csv cannot be read"):
        mx.io.CSVIter(**{**tables, "data_csv": "nope.csv"})
    with pytest.raises(mx.MXNetError, match=r"specified shape=\(4,\), row 0 has 3 values"):
        mx.io.CSVIter(**{**tables, "data_shape": (4,)})
    (tmp_path / "label.csv").write_text("1\n2\n")
    with pytest.raises(mx.MXNetError, match="has 7 rows, .* has 2"):
        mx.io.CSVIter(label_csv=str(tmp_path / "label.csv"), **tables)
    (tmp_path / "data.csv").write_text("1,x,2\n")
    with pytest.raises(mx.MXNetError, match="row 0: could not convert"):
        mx.io.CSVIter(**tables)


@pytest.fixture
def images(tmp_path):
    """Ten images, as an array and as two idx files."""
    values = numpy.random.RandomState(0).randint(0, 256, (10, 4, 5)).astype(numpy.uint8)
    (tmp_path / "image").write_bytes(struct.pack(">iiii", 2051, 10, 4, 5) + values.tobytes())
    labels = numpy.arange(10, dtype=numpy.uint8)
    (tmp_path / "label").write_bytes(gzip.compress(struct.pack(">ii", 2049, 10) + labels.tobytes()))
    return values, {"image": str(tmp_path / "image"), "label": str(tmp_path / "label"), "batch_size": 4}


def test_mnist_iter(images):
    values, files = images
    data_iter = mx.io.MNISTIter(shuffle=False, **files)
    assert data_iter.provide_data == [("data", (4, 1, 4, 5))]
    for _ in range(2):
        batches = list(data_iter)
        assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        numpy.testing.assert_array_equal(batches[1].data[0].asnumpy()[:, 0], values[4:8] / numpy.float32(256))
        data_iter.reset()
    assert next(mx.io.MNISTIter(flat=True, **files)).data[0].shape == (4, 20)
    part = mx.io.MNISTIter(shuffle=False, num_parts=2, part_index=1, **files)
    assert [batch.label[0].asnumpy().tolist() for batch in part] == [[5, 6, 7, 8]]


def test_mnist_iter_shuffles_as_mxnet(images):
    order = [batch.label[0].asnumpy().tolist() for batch in mx.io.MNISTIter(seed=3, **images[1])]
    assert order == [[6, 5, 3, 0], [7, 8, 2, 4]]


def test_mnist_iter_errors(images):
    files = images[1]
    with pytest.raises(mx.MXNetError, match="No such file"):
        mx.io.MNISTIter(**{**files, "image": "nope"})
    with pytest.raises(mx.MXNetError, match="not an idx file"):
        mx.io.MNISTIter(**{**files, "image": files["label"]})
    with pytest.raises(mx.MXNetError, match="from 0 to num_parts - 1, got 2 of 2"):
        mx.io.MNISTIter(num_parts=2, part_index=2, **files)


@pytest.mark.parametrize("text", ["1,2\n3,4\n\n", "\n1,2\n\n3,4", "1,2,\n3,4,\n", "\ufeff1,2\n3,4\n"])
def test_csv_iter_passes_over_what_is_no_number(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    (batch,) = mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=2)
    assert batch.data[0].asnumpy().tolist() == [[1, 2], [3, 4]]


def test_csv_iter_of_integers_loses_no_digits(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("9007199254740993,-2\n1e2,3.7\n")
    (batch,) = mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=2, dtype="int64")
    assert batch.data[0].asnumpy().tolist() == [[9007199254740993, -2], [100, 3]]
    path.write_text("99999999999999999999,1\n")
    with pytest.raises(mx.MXNetError, match="row 0"):
        mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=1, dtype="int64")
