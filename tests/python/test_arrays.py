"""Making, printing, converting and copying nd and np arrays."""

import copy
import pickle
import threading

import numpy
import pytest
from array_kinds import DTYPES, MODULES, host, same

import headrace
from headrace import MXNetError, autograd, nd, np

# --- creation ---


@MODULES
@pytest.mark.parametrize("dtype", DTYPES)
def test_creation_with_a_dtype(module, dtype):
    same(module.array(host(), dtype=dtype), host(dtype))
    same(module.zeros((2, 3), dtype=dtype), numpy.zeros((2, 3), dtype))
    same(module.ones((2, 3), dtype=dtype), numpy.ones((2, 3), dtype))
    same(module.full((2,), 3, dtype=dtype), numpy.full((2,), 3, dtype))
    assert module.empty((4, 5), dtype=dtype).shape == (4, 5)
    same(module.array(host(), dtype=numpy.dtype(dtype)), host(dtype))
    same(module.array(host(), dtype=numpy.dtype(dtype).type), host(dtype))


def test_dtypes_of_sources():
    for source in (host("int64"), host("float64"), [1, 2], [True], 3):
        assert nd.array(source).dtype is numpy.float32
    assert nd.array(nd.array([1], dtype="int32")).dtype is numpy.int32
    for dtype in DTYPES:
        assert np.array(host(dtype)).dtype == numpy.dtype(dtype)
        assert np.array(np.array([1], dtype=dtype)).dtype == numpy.dtype(dtype)
    for source in ([1, 2], [1.5], [True], 3, 2.5):
        assert np.array(source).dtype == numpy.float32
    for made in (np.zeros(2), np.ones(2), np.full(2, 3.5), np.arange(3), np.linspace(0, 1, 3), np.eye(2)):
        assert made.dtype == numpy.float32


@MODULES
def test_sources_of_creation(module):
    same(module.array([[1, 2], [3, 4]]), numpy.array([[1, 2], [3, 4]], "float32"))
    same(module.array(((1, 2), [3, 4])), numpy.array([[1, 2], [3, 4]], "float32"))
    same(module.array([]), numpy.zeros((0,), "float32"))
    same(module.array(host()[:, ::-2]), host()[:, ::-2])
    same(module.array(numpy.asfortranarray(host())), host())
    same(module.array(host().astype(">f4"), dtype="float32"), host())
    source = module.array(host())
    made = module.array(source)
    made[:] = 0
    same(source, host())


@MODULES
def test_sources_are_copied(module):
    source = host()
    made = module.array(source)
    source[:] = -1
    same(made, host())


@MODULES
@pytest.mark.parametrize("source", [[[1], [1, 2]], "text", ["a", "b"], {}, object()])
def test_what_is_no_array(module, source):
    with pytest.raises(TypeError):
        module.array(source)


def test_nd_and_np_do_not_mix():
    with pytest.raises(ValueError, match="as_np_ndarray"):
        np.array(nd.array([1]))
    array = nd.array(host())
    view = array.as_np_ndarray()
    assert type(view) is np.ndarray
    view[0, 0] = 7
    assert array[0, 0].asscalar() == 7
    assert type(view.as_nd_ndarray()) is nd.NDArray
    with pytest.raises(TypeError):
        array + view
    with pytest.raises(TypeError):
        view + array


# --- printing ---


@pytest.mark.parametrize(
    "array, text",
    [
        (nd.ones((1, 2)) * 3, "\n[[3. 3.]]\n<NDArray 1x2 @cpu(0)>"),
        (nd.array(3), "\n3.0\n<NDArray  @cpu(0)>"),
        (nd.array([]), "\n[]\n<NDArray 0 @cpu(0)>"),
        (nd.array([1, 2], dtype="int32"), "\n[1 2]\n<NDArray 2 @cpu(0)>"),
        (nd.array([1], ctx=headrace.cpu(2)), "\n[1.]\n<NDArray 1 @cpu(2)>"),
        (nd.zeros((2, 1, 3)), "\n[[[0. 0. 0.]]\n\n [[0. 0. 0.]]]\n<NDArray 2x1x3 @cpu(0)>"),
    ],
)
def test_nd_prints(array, text):
    assert repr(array) == text
    assert str(array) == text
    assert f"{array}" == text


@pytest.mark.parametrize(
    "array, represented, printed",
    [
        (np.full((1, 2), 3), "array([[3., 3.]])", "[[3. 3.]]"),
        (np.array(1.5), "array(1.5)", "1.5"),
        (np.zeros((0, 3)), "array([], shape=(0, 3))", "[]"),
        (np.array([1, 0], dtype="bool"), "array([ True, False])", "[ True False]"),
        (np.array([1, 2], dtype="int64"), "array([1, 2], dtype=int64)", "[1 2]"),
        (np.array([1, 2], dtype="int32"), "array([1, 2], dtype=int32)", "[1 2]"),
        (np.array([1.5], dtype="float64"), "array([1.5], dtype=float64)", "[1.5]"),
        (np.array([1.5], dtype="float16"), "array([1.5], dtype=float16)", "[1.5]"),
        (np.array(2, dtype="uint8"), "array(2, dtype=uint8)", "2"),
        (np.array([[1, 2], [3, 4]]), "array([[1., 2.],\n       [3., 4.]])", "[[1. 2.]\n [3. 4.]]"),
    ],
)
def test_np_prints(array, represented, printed):
    assert repr(array) == represented
    assert str(array) == printed


def test_long_arrays_are_elided():
    text = repr(np.arange(2000))
    assert "..." in text
    assert "dtype" not in text
    assert text.count("\n") < 4
    for lines in (numpy.zeros((30, 3), "float32") + 0.123456, numpy.arange(40, dtype="float32") * 1000.5):
        assert "dtype" not in repr(np.array(lines))
        assert (
            eval(repr(np.array(lines)), {"array": lambda v: numpy.array(v, "float32")}).shape == lines.shape
        )


def test_format():
    assert f"{np.array(1.234):.2f}" == "1.23"
    assert f"{np.array([1.5])}" == "[1.5]"
    for array in (np.array([1.5]), nd.array([1.5])):
        with pytest.raises(TypeError, match="format"):
            format(array, ".2f")


# --- converting ---


@MODULES
@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(module, dtype):
    array = module.array(host())
    same(array.astype(dtype), host(dtype))
    assert array.astype("float32", copy=False) is array
    assert array.astype("float32") is not array
    with pytest.raises(TypeError, match="known are float16"):
        array.astype("text")


@MODULES
def test_copies_have_memory_of_their_own(module):
    array = module.array(host())
    for made in (
        array.copy(),
        array.copyto(headrace.cpu(0)),
        array.astype("float32"),
        copy.copy(array),
        copy.deepcopy(array),
    ):
        assert type(made) is type(array)
        made[:] = -1
        same(array, host())


@MODULES
def test_copyto(module):
    array, other = module.array(host()), module.zeros((2, 3), dtype="int64")
    assert array.copyto(other) is other
    same(other, host("int64"))
    moved = array.copyto(headrace.cpu(1))
    assert moved.context == headrace.cpu(1)
    same(moved, host())
    with pytest.warns(RuntimeWarning):
        assert array.copyto(array) is False
    with pytest.raises(MXNetError, match="shape"):
        array.copyto(module.zeros((3,)))
    for wrong in (host(), 3, None):
        with pytest.raises(TypeError):
            array.copyto(wrong)


@MODULES
def test_as_in_context(module):
    array = module.array(host())
    assert array.as_in_context(headrace.cpu(0)) is array
    moved = array.as_in_ctx(headrace.cpu(1))
    assert moved.ctx == headrace.cpu(1)
    same(moved, host())


def test_scalars():
    assert nd.array([2.5]).asscalar() == 2.5
    assert nd.array([[3]], dtype="int64").asscalar() == 3
    assert isinstance(nd.array([3]).asscalar(), numpy.float32)
    with pytest.raises(ValueError, match="not a scalar"):
        nd.array([1, 2]).asscalar()
    with pytest.raises(AttributeError):
        np.array(1).asscalar()
    array = np.array(host("int32"))
    assert array.item(4) == array.item(1, 1) == array.item((1, 1)) == 4
    assert type(array.item(0)) is int
    assert type(np.array(1.5).item()) is float
    assert np.array([[True]], dtype="bool").item() is True
    with pytest.raises(ValueError):
        array.item()
    with pytest.raises(IndexError):
        array.item(6)


def test_python_numbers():
    assert float(np.array([2.5])) == 2.5
    assert int(np.array(2.9)) == 2
    assert [10, 20, 30][np.array(1, dtype="int64")] == 20
    for convert in (float, int):
        with pytest.raises(TypeError):
            convert(np.array([1, 2]))
    for module in (nd, np):
        assert module.array([3])
        assert not module.array([0])
        assert not module.array([])
        with pytest.raises(ValueError, match="ambiguous"):
            bool(module.array([1, 2]))


@MODULES
def test_tolist(module):
    assert module.array(host()).tolist() == host().tolist()
    assert np.array(2.5).tolist() == 2.5


def test_length_and_iteration():
    for module in (nd, np):
        array = module.array(host())
        assert len(array) == 2
        for row, expected in zip(array, host(), strict=True):
            same(row, expected)
        next(iter(array))[:] = 9
        assert (array[0].asnumpy() == 9).all()
    with pytest.raises(TypeError):
        len(np.array(3))
    with pytest.raises(IndexError):
        len(nd.array(3))


@MODULES
def test_attributes(module):
    array = module.zeros((2, 3, 4), dtype="float16")
    assert (array.shape, array.ndim, array.size, array.stype) == ((2, 3, 4), 3, 24, "default")
    assert array.T.shape == (4, 3, 2)
    assert array.grad is None
    assert module.zeros((3,)).T.shape == (3,)
    with pytest.raises(AttributeError):
        _ = array.no_such_attribute
    with pytest.raises(AttributeError):
        array.shape = (24,)


def test_dtype_and_hash():
    assert nd.zeros((1,)).dtype is numpy.float32
    assert np.zeros((1,)).dtype == numpy.dtype("float32")
    assert isinstance(np.zeros((1,)).dtype, numpy.dtype)
    one, two = nd.array([1]), nd.array([1])
    assert len({one, two, one}) == 2


# --- contexts ---


def test_contexts():
    assert repr(headrace.cpu()) == str(headrace.cpu(0)) == "cpu(0)"
    assert [str(c) for c in (headrace.gpu(1), headrace.cpu_pinned())] == ["gpu(1)", "cpu_pinned(0)"]
    assert headrace.cpu(1) == headrace.Context("cpu", 1) != headrace.cpu(0) != headrace.gpu(0)
    assert len({headrace.cpu(1), headrace.cpu(1), headrace.gpu(1)}) == 2
    assert [c.device_typeid for c in (headrace.cpu(), headrace.gpu(), headrace.cpu_pinned())] == [1, 2, 3]
    assert pickle.loads(pickle.dumps(headrace.gpu(2))) == headrace.gpu(2)
    with pytest.raises(ValueError, match="unknown device type"):
        headrace.Context("abacus", 0)


@MODULES
def test_the_current_context(module):
    assert headrace.current_context() == headrace.cpu(0)
    with headrace.cpu(1):
        assert module.zeros((1,)).context == headrace.cpu(1)
        assert module.array([1]).context == headrace.cpu(1)
        with headrace.cpu(2):
            assert module.empty((1,)).context == headrace.cpu(2)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(headrace.current_context()))
        thread.start()
        thread.join()
        assert seen == [headrace.cpu(0)]
        assert module.ones((1,), ctx=headrace.cpu(3)).context == headrace.cpu(3)
    assert headrace.current_context() == headrace.cpu(0)
    with pytest.raises(ZeroDivisionError), headrace.cpu(1):
        raise ZeroDivisionError
    assert module.zeros((1,)).context == headrace.cpu(0)


def test_a_device_that_is_not_there():
    with pytest.raises(MXNetError, match=r"gpu\(77\)"):
        nd.zeros((1,), ctx=headrace.gpu(77))


# --- waiting ---


@MODULES
def test_waiting(module):
    array = module.ones((50, 50))
    for _ in range(20):
        array = array * 0.5 + 0.5
    array.wait_to_read()
    array.wait_to_write()
    headrace.nd.waitall()
    assert (array.asnumpy() == 1).all()


# --- NumPy's protocols ---


@MODULES
def test_a_buffer_waits_for_those_who_read(module):
    for _ in range(10):
        array = module.ones((1000, 1000))
        later = module.log(module.exp(array)) * 2 + array
        numpy.asarray(array)[:] = 0
        assert (later.asnumpy() > 2.9).all()


@MODULES
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_asarray(module, dtype):
    array = module.array(host(), dtype=dtype)
    made = numpy.asarray(array)
    assert made.dtype == dtype
    numpy.testing.assert_array_equal(made, host(dtype))
    assert numpy.asarray(array, dtype="float64").dtype == numpy.float64


def test_ufuncs_run_here():
    array = np.array(host())
    for result, expected in (
        (numpy.exp(array), numpy.exp(host())),
        (numpy.add(array, array), host() * 2),
        (numpy.maximum(array, 2), numpy.maximum(host(), 2)),
        (numpy.divide(array, 2), host() / 2),
        (numpy.float32(2) * array, host() * 2),
        (numpy.add.reduce(array), host().sum(0)),
    ):
        assert type(result) is np.ndarray
        numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)
    out = np.zeros((2, 3))
    assert numpy.multiply(array, 3, out=out) is out
    same(out, host() * 3)


def test_numpy_functions_run_here():
    array = np.array(host())
    for result, expected in (
        (numpy.mean(array), host().mean()),
        (numpy.sum(array, axis=1), host().sum(1)),
        (numpy.concatenate([array, array]), numpy.concatenate([host(), host()])),
        (numpy.transpose(array), host().T),
    ):
        assert type(result) is np.ndarray
        numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)
    array.attach_grad()
    with autograd.record():
        loss = numpy.sum(numpy.exp(array))
    loss.backward()
    numpy.testing.assert_allclose(array.grad.asnumpy(), numpy.exp(host()), rtol=1e-5)


def test_numpy_functions_without_a_counterpart():
    array = np.array(host())
    numpy.testing.assert_allclose(numpy.asarray(numpy.nanmedian(array)), 2.5)
    numpy.testing.assert_allclose(numpy.asarray(numpy.nanmedian(array, axis=0)), [1.5, 2.5, 3.5])
    array.attach_grad()
    with autograd.record():
        with pytest.raises(MXNetError, match="detach"):
            numpy.nanmedian(array)
        numpy.nanmedian(array.detach())


def test_operators_of_nd_take_numpy_arrays_and_numbers():
    array = nd.array(host())
    for operate in (lambda: array + host(), lambda: host() + array):
        same(operate(), host() * 2)
    same(array * numpy.float32(2), host() * 2)
    same(numpy.float64(2) * array, host() * 2)


# --- pickling ---


@MODULES
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickling(module, dtype):
    array = module.array(host()).astype(dtype)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        made = pickle.loads(pickle.dumps(array, protocol))
        assert type(made) is type(array)
        same(made, array.asnumpy())
    same(pickle.loads(pickle.dumps(array[:, ::2])), array.asnumpy()[:, ::2])


def test_pickling_of_np_shapes():
    for array in (np.array(1.5), np.zeros((0, 3)), np.zeros((2, 0), dtype="int32")):
        same(pickle.loads(pickle.dumps(array)), array.asnumpy())


@MODULES
def test_deepcopy_of_containers(module):
    array = module.array(host())
    made = copy.deepcopy({"a": [array]})
    made["a"][0][:] = 0
    same(array, host())


def test_iterating_over_a_scalar_array_is_refused():
    with pytest.raises(TypeError, match="0-d"):
        list(np.array(3))


def test_bfloat16_dtype_is_that_of_asnumpy():
    array = nd.ones((2,)).astype("bfloat16")
    assert array.dtype == array.asnumpy().dtype


@pytest.mark.parametrize(
    "values, dtype, expected", [([300, -1], "uint8", [44, 255]), ([2**31], "int32", [-(2**31)])]
)
@pytest.mark.parametrize("module", [nd, np])
def test_numbers_that_a_dtype_does_not_hold_keep_their_low_bits(module, values, dtype, expected):
    assert module.array(values, dtype=dtype).asnumpy().tolist() == expected


@pytest.mark.parametrize("make", [nd.array, np.array], ids=["nd", "np"])
def test_numbers_and_numpy_arrays_of_both_kinds(make):
    x = make([[1.5, 2.5]])
    assert x.item(1) == 2.5
    assert isinstance(make([3], dtype="int32").item(), int)
    assert numpy.array_equal(x.numpy(), numpy.array([[1.5, 2.5]], "float32"))
    assert x.to("cpu") is x.to(headrace.cpu()) is x
    with pytest.raises(ValueError):
        x.item()


@pytest.mark.parametrize("make", [nd, np], ids=["nd", "np"])
def test_the_dtype_of_bfloat16_arrays_is_an_argument(make):
    dtype = make.ones((2,), dtype="bfloat16").dtype
    for x in (make.zeros((2,), dtype=dtype), make.ones((2,)).astype(dtype), make.array([1, 2], dtype=dtype)):
        assert x.dtype == dtype
        assert x._dtype_name == "bfloat16"


def test_bfloat16_as_a_structured_dtype():
    dtype = numpy.dtype([("bfloat16", numpy.uint16)])
    assert headrace.nd.zeros((2,), dtype=dtype)._dtype_name == "bfloat16"
    assert headrace.sym.var("x", dtype=dtype).attr("__dtype__") == headrace.sym.var(
        "x", dtype="bfloat16"
    ).attr("__dtype__")
    with pytest.raises(TypeError, match="unknown dtype 'void16'"):
        headrace.nd.zeros((2,), dtype=numpy.dtype([("other", numpy.uint16)]))
