"""gluon.utils."""

import contextlib
import hashlib
import sys
import types

import numpy
import pytest

import headrace as hr
from headrace import nd, npx
from headrace.gluon import utils


@pytest.fixture(params=["nd", "np"])
def array(request):
    """The function that makes arrays of the mode under test."""
    if request.param == "np":
        npx.set_np()
    yield hr.np.array if request.param == "np" else nd.array
    npx.reset_np()


class TestSplit:
    def test_even(self, array):
        parts = utils.split_data(array(numpy.arange(12.0).reshape(6, 2)), 3)
        assert [part.shape for part in parts] == [(2, 2)] * 3
        assert parts[1].asnumpy().tolist() == [[4, 5], [6, 7]]

    def test_uneven(self, array):
        parts = utils.split_data(array(numpy.arange(7.0)), 3, even_split=False)
        assert [part.asnumpy().tolist() for part in parts] == [[0, 1, 2], [3, 4], [5, 6]]

    def test_other_axis(self, array):
        parts = utils.split_data(array(numpy.arange(8.0).reshape(2, 4)), 2, batch_axis=1)
        assert parts[1].asnumpy().tolist() == [[2, 3], [6, 7]]

    def test_negative_axes_count_from_the_last(self, array):
        data = array(numpy.arange(12.0).reshape(3, 4))
        parts = utils.split_data(data, 2, batch_axis=-1)
        assert [part.asnumpy().tolist() for part in parts] == [
            [[0, 1], [4, 5], [8, 9]],
            [[2, 3], [6, 7], [10, 11]],
        ]
        first, *others = utils.split_data(data, 3, batch_axis=-2)
        assert first.asnumpy().tolist() == [[0, 1, 2, 3]]
        assert [part.shape for part in others] == [(1, 4)] * 2
        loaded = utils.split_and_load(data, [hr.cpu(0), hr.cpu(1)], batch_axis=-1)
        assert loaded[1].asnumpy().tolist() == [[2, 3], [6, 7], [10, 11]]

    @pytest.mark.parametrize("axis", [2, -3])
    def test_no_such_axis(self, array, axis):
        with pytest.raises(
            IndexError, match=f"split_data: there is no axis {axis} .* from -2 to 1"
        ) as caught:
            utils.split_data(array([[1.0, 2.0]]), 1, batch_axis=axis)
        assert isinstance(caught.value, hr.MXNetError)

    def test_no_slices(self, array):
        with pytest.raises(ValueError, match="at least one slice, got num_slice=0"):
            utils.split_data(array([1.0]), 0)

    def test_rows_of_a_sparse_array(self, array):
        matrix = nd.array([[0, 1], [2, 0], [0, 0], [0, 3]]).tostype("csr")
        parts = utils.split_and_load(matrix, [hr.cpu(0), hr.cpu(1)])
        assert [part.stype for part in parts] == ["csr"] * 2
        assert parts[1].asnumpy().tolist() == [[0, 0], [0, 3]]

    def test_not_divisible(self, array):
        with pytest.raises(ValueError, match="cannot be evenly split into 3 slices along axis 0"):
            utils.split_data(array(numpy.arange(7.0)), 3)

    def test_load(self, array):
        data = numpy.arange(4.0)
        (whole,) = utils.split_and_load(data, [hr.cpu(0)])
        assert whole.asnumpy().tolist() == [0, 1, 2, 3]
        first, second = utils.split_and_load(array(data), [hr.cpu(0), hr.cpu(1)])
        assert (first.ctx, second.ctx) == (hr.cpu(0), hr.cpu(1))
        assert second.asnumpy().tolist() == [2, 3]

    def test_load_uneven(self, array):
        contexts = [hr.cpu(i) for i in range(4)]
        for data in (array([[1.0, 2.0, 3.0]]), [[1.0, 2.0, 3.0]]):
            with pytest.raises(ValueError, match="cannot be evenly split into 4 slices along axis 1"):
                utils.split_and_load(data, contexts, batch_axis=1)
            parts = utils.split_and_load(data, contexts, batch_axis=1, even_split=False)
            assert [part.shape for part in parts] == [(1, 1)] * 3 + [(1, 0)]
            assert [part.ctx for part in parts] == contexts
            assert type(parts[0]) is type(array([1.0]))

    def test_no_contexts(self, array):
        with pytest.raises(ValueError, match="at least one context"):
            utils.split_and_load(array([1.0]), [])


class TestClip:
    def test_scales_in_place(self, array):
        arrays = [array([3.0]), array([[4.0]])]
        norm = utils.clip_global_norm(arrays, 1.0)
        assert norm == pytest.approx(5.0) and isinstance(norm, numpy.float32)
        assert [x.asnumpy().item() for x in arrays] == pytest.approx([0.6, 0.8])
        assert utils.clip_global_norm(arrays, 10.0) == pytest.approx(1.0)
        assert [x.asnumpy().item() for x in arrays] == pytest.approx([0.6, 0.8])

    def test_array_result(self, array):
        norm = utils.clip_global_norm([array([3.0, 4.0])], 1.0, check_isfinite=False)
        assert norm.shape == (1,) and norm.asnumpy().tolist() == [5]
        assert isinstance(norm, type(array([1.0])))

    def test_not_finite(self, array):
        with pytest.warns(UserWarning, match="nan or inf is detected"):
            utils.clip_global_norm([array([float("nan")])], 1.0)

    def test_nothing_to_clip(self):
        with pytest.raises(AssertionError, match="at least one array"):
            utils.clip_global_norm([], 1.0)


class TestFiles:
    def test_sha1(self, tmp_path):
        file = tmp_path / "file"
        file.write_bytes(b"river" * 1000)
        digest = hashlib.sha1(b"river" * 1000).hexdigest()
        assert utils.check_sha1(str(file), digest)
        assert not utils.check_sha1(str(file), "0" * 40)

    def test_download_of_a_file_that_is_there(self, tmp_path):
        file = tmp_path / "data.zip"
        file.write_bytes(b"x")
        digest = hashlib.sha1(b"x").hexdigest()
        for path in (str(file), str(tmp_path)):
            assert utils.download("http://host.invalid/data.zip", path=path, sha1_hash=digest) == str(file)

    def test_download_of_another_file(self, tmp_path):
        source, file = tmp_path / "source", tmp_path / "folder" / "data.zip"
        source.write_bytes(b"river")
        assert utils.download(source.as_uri(), path=str(file)) == str(file)
        assert file.read_bytes() == b"river"
        source.write_bytes(b"lake")
        utils.download(source.as_uri(), path=str(file))
        assert file.read_bytes() == b"river"
        utils.download(source.as_uri(), path=str(file), overwrite=True)
        assert file.read_bytes() == b"lake"
        source.write_bytes(b"sea")
        utils.download(source.as_uri(), path=str(file), sha1_hash=hashlib.sha1(b"sea").hexdigest())
        assert file.read_bytes() == b"sea"

    def test_download_that_fails(self, tmp_path):
        missing = (tmp_path / "none").as_uri()
        with pytest.raises(OSError, match="cannot fetch .* by hand"):
            utils.download(missing, path=str(tmp_path / "file"), retries=1)
        (tmp_path / "source").write_bytes(b"x")
        with pytest.raises(OSError, match="its SHA-1 is not 0000"):
            utils.download(
                (tmp_path / "source").as_uri(), path=str(tmp_path / "file"), sha1_hash="0" * 40, retries=0
            )
        assert [path.name for path in tmp_path.iterdir()] == ["source"]
        with pytest.raises(AssertionError, match="cannot tell a file name"):
            utils.download("///")

    def test_download_by_requests(self, tmp_path, monkeypatch):
        calls = []

        @contextlib.contextmanager
        def get(url, verify, **keywords):
            calls.append((url, verify))
            code = 200 if url.endswith("/there") else 404
            yield types.SimpleNamespace(status_code=code, iter_content=lambda size: iter([b"ri", b"ver"]))

        monkeypatch.setitem(sys.modules, "requests", types.SimpleNamespace(get=get))
        with pytest.warns(
            UserWarning, match="Unverified HTTPS request is being made to https://host.invalid"
        ):
            utils.download("https://host.invalid/there", path=str(tmp_path), verify_ssl=False)
        assert (tmp_path / "there").read_bytes() == b"river"
        with pytest.raises(OSError, match="the server answers 404"):
            utils.download("http://host.invalid/gone", path=str(tmp_path), retries=1)
        assert calls == [("https://host.invalid/there", False), *[("http://host.invalid/gone", True)] * 2]


def test_shape_is_known():
    assert utils.shape_is_known((2, 3)) and utils.shape_is_known(())
    assert not utils.shape_is_known(None) and not utils.shape_is_known((2, 0))
    assert not utils.shape_is_known((-1, 2))


def test_hook_handle():
    hooks = {}
    with utils.HookHandle.attached(hooks, print) as handle:
        assert list(hooks.values()) == [print]
        with pytest.raises(AssertionError, match="attached twice"):
            handle.attach(hooks, print)
    assert hooks == {}
