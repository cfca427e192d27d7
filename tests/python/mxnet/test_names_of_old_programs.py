"""Names of MXNet that programs of older versions use: CachedOp, WikiText, the model store, notebooks ..."""

import collections
import hashlib
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest

import headrace as mx
from headrace.gluon.model_zoo import model_store
from headrace.mxnet import _io_utils, _text_datasets
from headrace.mxnet._cached_op import CachedOp
from headrace.mxnet.contrib.text.vocab import Vocabulary
from headrace.mxnet.notebook import callback

PROGRAM = """
from headrace.mxnet import install
install()
import mxnet as mx
import mxnet.notebook.callback
from mxnet.gluon.contrib.data import text
from mxnet.gluon.data.dataloader import DataLoaderV1
from mxnet.gluon.model_zoo import model_store
assert text.WikiText2 and model_store._model_sha1["vgg11"][:8] == model_store.short_hash("vgg11")
assert mx.kv.KVStoreServer is mx.kvstore.kvstore_server.KVStoreServer
assert mx.nd.CachedOp and mx.np_symbol is mx.sym.np and mx.rnn.DataBatch is mx.io.DataBatch
assert mx.rnn.load_checkpoint is mx.model.load_checkpoint and mx.model.SKLEARN_INSTALLED in (True, False)
assert mx.gluon.rnn.rnn_cell.LSTMCell is mx.gluon.rnn.LSTMCell and mx.io.io.DataBatch is mx.io.DataBatch
assert mx.io.utils._init_data and mx.contrib.amp.amp.init and mx.contrib.text.embedding.create
try:
    mx.gluon.data.nothing
except AttributeError as error:
    assert "mxnet.gluon.data.nothing is not in Headrace" in str(error)
else:
    raise AssertionError("a name that is missing was found")
"""


def test_names_are_where_mxnet_has_them():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)


def test_cached_op():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    product = CachedOp(a * b, [("static_alloc", True)])
    x, y = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    x.attach_grad()
    with mx.autograd.record():
        z = product(x, y)
    z.backward()
    assert z.asnumpy().tolist() == [3, 8] and x.grad.asnumpy().tolist() == [3, 4]
    out = mx.nd.zeros(2)
    assert product(x, y, out=out) is out and out.asnumpy().tolist() == [3, 8]
    both = CachedOp(mx.sym.Group([a + b, a - b]))(x, y)
    assert [one.asnumpy().tolist() for one in both] == [[4, 6], [-2, -2]]
    with pytest.raises(ValueError, match="expects 2 inputs"):
        product(x)
    with pytest.raises(TypeError, match="b must be an array"):
        product(x, 2)


def test_arrays_of_iterators():
    data = _io_utils._init_data([np.ones((2, 2)), mx.nd.zeros((2, 3))], False, "data")
    assert [(name, one.shape) for name, one in data] == [("_0_data", (2, 2)), ("_1_data", (2, 3))]
    assert _io_utils._has_instance(data, mx.nd.NDArray)
    assert not _io_utils._has_instance(data, _io_utils.CSRNDArray)
    (_, rows), _ = _io_utils._getdata_by_idx([("a", mx.nd.array([1, 2, 3])), data[1]], np.array([1, 0]))
    assert rows.asnumpy().tolist() == [2, 1]
    assert _io_utils._slice_along_batch_axis(mx.nd.ones((4, 3)), slice(1, 3), 0).shape == (2, 3)


def test_the_first_data_loader():
    loader = mx.gluon.data.dataloader.DataLoaderV1(mx.nd.arange(5), 2, last_batch="discard")
    assert [batch.asnumpy().ravel().tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_the_model_store(tmp_path):
    (tmp_path / "vgg11.params").write_bytes(b"")
    (tmp_path / "other.txt").write_bytes(b"")
    assert model_store.get_model_file("vgg11", str(tmp_path)) == str(tmp_path / "vgg11.params")
    assert len(model_store.short_hash("resnet18_v1")) == 8
    with pytest.raises(ValueError, match="nothing is not available"):
        model_store.short_hash("nothing")
    model_store.purge(str(tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == ["other.txt"]


@pytest.fixture
def wikitext(tmp_path, monkeypatch):
    """A server and a folder with a small text in the place of WikiText-2."""
    text = " = Title = \n \n a b a \n c \n"
    server = tmp_path / "gluon" / "dataset" / "wikitext-2"
    server.mkdir(parents=True)
    with zipfile.ZipFile(server / "wikitext-2-v1.zip", "w") as file:
        for name in ("train", "valid"):
            file.writestr(f"wikitext-2/wiki.{name}.tokens", text)
    made = types.new_class("Small", (_text_datasets.WikiText2,))
    made._archive_sha1 = hashlib.sha1((server / "wikitext-2-v1.zip").read_bytes()).hexdigest()
    made._sha1 = dict.fromkeys(("train", "validation", "test"), hashlib.sha1(text.encode()).hexdigest())
    monkeypatch.setenv("MXNET_GLUON_REPO", tmp_path.as_uri() + "/")
    return made


def test_wikitext(wikitext, tmp_path):
    data = wikitext(str(tmp_path / "root"), seq_len=4)
    assert data.frequencies == collections.Counter({"=": 2, "Title": 1, "a": 2, "b": 1, "c": 1})
    # Numbers by frequency; the lines are "= Title = <eos>", "a b a <eos>", "c <eos>".
    assert data.vocabulary.idx_to_token == ["<unk>", "<eos>", "=", "a", "Title", "b", "c"]
    assert len(data) == 2 and data[0][0].dtype == np.int32
    assert [part.asnumpy().tolist() for part in data[0]] == [[2, 4, 2, 1], [4, 2, 1, 3]]
    assert [part.asnumpy().tolist() for part in data[1]] == [[3, 5, 3, 1], [5, 3, 1, 6]]
    vocabulary = Vocabulary(collections.Counter("a"))
    other = wikitext(str(tmp_path / "root"), "validation", vocab=vocabulary, seq_len=3)
    assert other.vocabulary is vocabulary and other[0][0].asnumpy().tolist() == [0, 0, 0]
    with pytest.raises(KeyError, match="segment must be one of"):
        wikitext(str(tmp_path / "root"), "all")


def param(epoch, batch):
    metric = mx.metric.create("mse")
    metric.update(mx.nd.ones(2), mx.nd.zeros(2))
    return mx.model.BatchEndParam(epoch, batch, metric, {})


def test_metrics_in_data_frames():
    pytest.importorskip("pandas")
    logger = callback.PandasLogger(batch_size=8, frequent=2)
    for batch in range(4):
        logger.train_cb(param(0, batch))
    logger.eval_cb(param(0, 3))
    logger.epoch_cb(0, None, None, None)
    assert list(logger.train_df["mse"]) == [1, 1] and list(logger.train_df["minibatch_count"]) == [0, 2]
    ratio = logger.train_df["records_per_sec"] / logger.train_df["batches_per_sec"]
    assert list(ratio) == [8, 8] and len(logger.eval_df) == len(logger.epoch_df) == 1
    assert logger.all_dataframes["epoch"] is logger.epoch_df and "epoch_time" in logger.epoch_df


def test_charts(monkeypatch):
    io, plotting = (pytest.importorskip(f"bokeh.{name}") for name in ("io", "plotting"))
    pytest.importorskip("pandas")
    drawn = []
    monkeypatch.setattr(io, "output_notebook", lambda: None)
    monkeypatch.setattr(plotting, "show", lambda figure, notebook_handle: "handle")
    monkeypatch.setattr(io, "push_notebook", lambda handle: drawn.append(handle))
    curve = callback.LiveLearningCurve("mse", display_freq=-1, frequent=1)
    curve.batch_cb(param(0, 0))
    curve.eval_cb(param(0, 1))
    assert drawn == ["handle"] * 2
    assert [list(curve._lines[name].data_source.data["y"]) for name in ("train", "eval")] == [[1], [1]]
    series = callback.LiveTimeSeries()
    series.update_chart_data(3)
    assert list(series.line.data_source.data["y"]) == [3]


def test_callbacks_of_several():
    one = types.SimpleNamespace(callback_args=lambda: {"batch_end_callback": 1})
    two = types.SimpleNamespace(callback_args=lambda: {"batch_end_callback": 2, "eval_end_callback": 3})
    assert callback.args_wrapper(one, two) == {"batch_end_callback": [1, 2], "eval_end_callback": [3]}
