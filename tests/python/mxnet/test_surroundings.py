"""headrace.mxnet.test_utils: contexts, environment variables, output, attempts, files."""

import bz2
import gzip
import os
import struct
import sys
import zipfile

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import test_utils as tools


def test_default_context():
    before = tools.default_context()
    tools.set_default_context(mx.cpu(1))
    try:
        assert tools.default_context() == mx.cpu(1) == mx.nd.ones(1).context
    finally:
        tools.set_default_context(before)
    assert list(tools.list_gpus()) == list(range(mx.num_gpus()))


def test_what_is_run_on():
    with tools.environment("CD_JOB", "1"):
        assert tools.is_cd_run()
    with tools.environment("CD_JOB", None):
        assert not tools.is_cd_run()
    assert tools.is_op_runnable() and not tools.has_tvm_ops()
    assert tools.is_aarch64_run() == (os.uname().machine == "aarch64")


def test_environment(monkeypatch):
    monkeypatch.setenv("HEADRACE_TEST_ONE", "old")
    monkeypatch.delenv("HEADRACE_TEST_TWO", raising=False)
    with pytest.raises(KeyError), tools.environment({"HEADRACE_TEST_ONE": None, "HEADRACE_TEST_TWO": "new"}):
        assert "HEADRACE_TEST_ONE" not in os.environ and mx.util.getenv("HEADRACE_TEST_TWO") == "new"
        raise KeyError
    assert os.environ["HEADRACE_TEST_ONE"] == "old" and "HEADRACE_TEST_TWO" not in os.environ
    with pytest.raises(AssertionError, match="a name and a value"), tools.environment("HEADRACE_TEST_ONE"):
        pass


def test_error_output_of_the_process_is_discarded(capfd):
    with tools.discard_stderr():
        os.write(2, b"hidden")
        print("hidden too", file=sys.stderr)
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"


def test_attempts():
    calls = []

    @tools.retry(3)
    def flaky(limit, error):
        calls.append(limit)
        if len(calls) < limit:
            raise error

    flaky(3, AssertionError)
    assert len(calls) == 3 and flaky.__name__ == "flaky"
    for limit, error, attempts in ((9, AssertionError, 3), (9, ValueError, 1)):
        calls.clear()
        with pytest.raises(error):
            flaky(limit, error)
        assert len(calls) == attempts


def test_the_same_batch_for_ever():
    real = mx.io.NDArrayIter(np.arange(6.0).reshape(3, 2), batch_size=1)
    dummy = tools.DummyIter(real)
    first = [next(dummy).data[0].asnumpy().tolist() for _ in range(5)]
    assert first == [[[0, 1]]] * 5 and dummy.provide_data == real.provide_data
    assert next(iter(dummy)) is dummy.the_batch


def write_mnist(folder, ending, opener):
    for part, count in (("train", 3), ("t10k", 2)):
        pixels = (np.arange(count * 784) % 256).astype("uint8")
        with opener(folder / f"{part}-images-idx3-ubyte{ending}", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + pixels.tobytes())
        with opener(folder / f"{part}-labels-idx1-ubyte{ending}", "wb") as file:
            file.write(struct.pack(">II", 2049, count) + bytes(range(count)))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize("place", [".", "home/datasets/mnist"])
def test_mnist_of_local_files(here, place):
    (here / place).mkdir(parents=True, exist_ok=True)
    write_mnist(here / place, ".gz", gzip.open)
    mnist = tools.get_mnist()
    assert mnist["train_data"].shape == (3, 1, 28, 28) and mnist["train_data"].dtype == np.float32
    assert mnist["train_data"].max() == 1 and mnist["train_data"].ravel()[51] == np.float32(0.2)
    assert mnist["test_label"].tolist() == [0, 1] and mnist["test_label"].dtype == np.int8


def test_mnist_iterators(here):
    (here / "data").mkdir()
    write_mnist(here / "data", "", open)
    train, test = tools.get_mnist_iterator(1, (784,))
    assert next(train).data[0].shape == (1, 784) and len([*test]) == 2
    train, _ = tools.get_mnist_iterator(1, (1, 28, 28))
    assert next(train).data[0].shape == (1, 1, 28, 28)


def test_downloads(here):
    (here / "source.txt").write_text("text")
    url = (here / "source.txt").as_uri()
    assert tools.download(url, "copy.txt", dirname="into") == "into/copy.txt"
    assert (here / "into" / "copy.txt").read_text() == "text"
    (here / "source.txt").write_text("newer")
    assert tools.download(url, "into/copy.txt") == "into/copy.txt"
    assert (here / "into" / "copy.txt").read_text() == "text"
    tools.download(url, "into/copy.txt", overwrite=True)
    assert (here / "into" / "copy.txt").read_text() == "newer"
    with pytest.raises(OSError, match="put the file at"):
        tools.download((here / "nothing").as_uri(), retries=0)


def test_archives(here):
    with zipfile.ZipFile(here / "a.zip", "w") as file:
        file.writestr("inside.txt", "zipped")
    tools.get_zip_data("into", (here / "a.zip").as_uri(), "a.zip")
    assert (here / "into" / "inside.txt").read_text() == "zipped"
    (here / "b.bz2").write_bytes(bz2.compress(b"packed"))
    tools.get_bz2_data("into", "b", (here / "b.bz2").as_uri(), "b.bz2")
    assert (here / "into" / "b").read_bytes() == b"packed" and not (here / "into" / "b.bz2").exists()


def test_networks(here):
    (here / "net.json").write_text("{}")
    (here / "net.params").write_text("")
    urls = {"symbol": (here / "net.json").as_uri(), "params": (here / "net.params").as_uri()}
    assert tools.download_model("net", "into", {"net": urls}) == ("into/net", 0)
    assert sorted(os.listdir(here / "into")) == ["net-0000.params", "net-symbol.json"]
    assert tools.download_model("other", "into", {"net": urls}) == (None, 0)


def test_im2rec(here, monkeypatch):
    with pytest.raises(OSError, match="set MXNET_HOME"):
        tools.get_im2rec_path()
    (here / "tools").mkdir()
    (here / "tools" / "im2rec.py").write_text("")
    monkeypatch.setenv("MXNET_HOME", str(here))
    assert tools.get_im2rec_path() == str(here / "tools" / "im2rec.py")
