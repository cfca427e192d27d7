"""What client libraries of MXNet take from its modules and from its objects' private fields."""

import importlib
import multiprocessing
import pickle

import numpy as np
import pytest

import headrace as mx
from headrace import mxnet


@pytest.fixture(scope="module", autouse=True)
def installed():
    """`import mxnet` is Headrace; tests of other files draw from the generator that they expect."""
    generator = mx.random.generator()
    mxnet.install()
    yield
    mx.random.set_generator(generator)


def _make_batch(rows, batchify_fn, dataset):
    return pickle.dumps(batchify_fn(rows))


class TestRoundsOverPools:
    @pytest.fixture
    def rounds(self):
        from mxnet.gluon.data.dataloader import _MultiWorkerIter

        return _MultiWorkerIter

    def test_batches_come_in_order(self, rounds):
        with multiprocessing.Pool(2) as pool:
            found = rounds(pool, np.array, [[1, 2], [3], [4, 5]], worker_fn=_make_batch, prefetch=2)
            assert len(found) == 3
            assert [batch.tolist() for batch in found] == [[1, 2], [3], [4, 5]]

    def test_derived_classes_order_their_way(self, rounds):
        class Doubled(rounds):
            def _push_next(self):
                rows = next(self._iter, None)
                if rows is not None:
                    order = ([2 * row for row in rows], self._batchify_fn, None)
                    self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, order)
                    self._sent_idx += 1

        with multiprocessing.Pool(1) as pool:
            found = Doubled(pool, np.array, [[1], [2]], worker_fn=_make_batch, prefetch=1)
            assert [batch.tolist() for batch in found] == [[2], [4]]

    def test_arrays_of_threads_are_pinned(self, rounds):
        from multiprocessing.pool import ThreadPool

        def read(rows, batchify_fn, dataset):
            return [batchify_fn(dataset[row] for row in rows)]

        with ThreadPool(1) as pool:
            found = rounds(pool, lambda items: mx.nd.array(list(items)), [[0, 2]], pin_memory=True,
                           worker_fn=read, dataset=[5, 6, 7])  # fmt: skip
            (batch,) = next(found)
        assert batch.context == mx.cpu_pinned(0) and batch.asnumpy().tolist() == [5, 7]

    def test_an_error_in_a_worker_ends_the_pool(self, rounds):
        with multiprocessing.Pool(1) as pool:
            found = rounds(pool, len, [[1, 2]], worker_fn=_fail)
            with pytest.raises(ZeroDivisionError):
                next(found)
            with pytest.raises(ValueError, match="not running"):
                pool.apply(len, ((),))


def _fail(rows, batchify_fn, dataset):
    return 1 // 0


def test_nested_arguments_flattened_and_back():
    from mxnet.gluon.block import HybridBlock, _flatten, _regroup

    assert HybridBlock is mx.gluon.HybridBlock
    a, b = mx.nd.ones(1), mx.nd.zeros(2)
    flat, formats = _flatten([a, [b, None]], "input")
    assert flat[0] is a and flat[1] is b and flat[2] is None and formats == [0, [0, -1]]
    assert _regroup(flat, formats) == [a, [b, None]]
    two = mx.sym.split(mx.sym.var("x"), num_outputs=2)
    assert _flatten([two, mx.sym.var("y")], "input")[1] == [2, 0]
    assert _regroup([1, 2, 3], [2, 0]) == [[1, 2], 3]
    with pytest.raises(ValueError, match="nested"):
        _flatten({"a": a}, "input")


def test_a_parameter_can_take_over_the_replicas_of_another():
    class Halved(mx.gluon.Parameter):
        def __init__(self, other):
            super().__init__(other.name, shape=other.shape)
            self._data, self._grad = other._data, other._grad
            self._ctx_list, self._ctx_map = other._ctx_list, other._ctx_map

        def data(self, ctx=None):
            return self._check_and_get(self._data, ctx) / 2

    weight = mx.gluon.Parameter("weight", shape=(2,))
    weight.initialize(mx.init.One())
    assert Halved(weight).data().asnumpy().tolist() == [0.5, 0.5]


def test_attributes_of_symbols_are_texts():
    x = mx.sym.var("x")
    assert mx.sym.relu(x, attr={"__depth__": 5}).attr("__depth__") == "5"
    assert "Xavier" in mx.sym.relu(x, attr={"__init__": mx.init.Xavier()}).attr("__init__")
    with pytest.raises(ValueError, match="only accepts string values"):
        mx.sym.var("y", attr={"__depth__": 5})


def test_interpolation_chosen_by_the_sizes():
    from mxnet.image.image import _get_interp_method

    assert _get_interp_method(9, (4, 4, 8, 8)) == 2 and _get_interp_method(9, (8, 8, 4, 4)) == 3


def _send_back(received, sent):
    sent.put(received.get() * 2)


@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue"])
def test_queues_carry_arrays(kind):
    from mxnet.gluon.data import dataloader

    there, back = getattr(dataloader, kind)(), getattr(dataloader, kind)()
    worker = multiprocessing.Process(target=_send_back, args=(there, back))
    worker.start()
    there.put(mx.nd.array([1, 2]))
    assert back.get().asnumpy().tolist() == [2, 4]
    worker.join()


def test_connections_carry_arrays():
    from mxnet.gluon.data.dataloader import ConnectionWrapper

    receiver, sender = map(ConnectionWrapper, multiprocessing.Pipe(duplex=False))
    sender.send({"x": mx.nd.array([1, 2])})
    assert receiver.poll(10) and receiver.recv()["x"].asnumpy().tolist() == [1, 2]


def test_modules_that_image_and_recordio_show():
    import mxnet

    assert mxnet.image.nd is mx.nd and mxnet.image.io is mx.io and mxnet.image.recordio is mx.recordio
    assert mxnet.image.is_np_array is mx.util.is_np_array
    assert mxnet.recordio.cv2 is mxnet.image.cv2


def test_structures_of_dlpack():
    import ctypes

    from mxnet.ndarray.ndarray import DLDataType, DLManagedTensor, DLTensor
    from mxnet.operator import c_int_p

    values = np.arange(6, dtype="float32").reshape(2, 3)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = values.__dlpack__()
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(DLManagedTensor)).contents.dl_tensor
    assert isinstance(tensor, DLTensor) and tensor.ndim == 2 and tensor.shape[:2] == [2, 3]
    kind = tensor.dtype
    assert (kind.type_code, kind.bits, kind.lanes) == DLDataType.TYPE_MAP["float32"]
    assert ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_float))[4] == 4
    assert c_int_p(ctypes.c_int(3))[0] == 3


def test_compute_capability_is_asked_of_gpus():
    import mxnet

    with pytest.raises(ValueError, match="expected a gpu context"):
        mxnet.npx.get_cuda_compute_capability(mx.cpu())


def test_names_that_a_star_brings():
    names = {}
    exec("from mxnet.gluon import *\nfrom mxnet.test_utils import *\nfrom mxnet.operator import *", names)
    assert names["rnn"] is mx.gluon.rnn and names["model_zoo"] is mx.gluon.model_zoo
    assert names["block"].Block is names["Block"] and names["trainer"].Trainer is names["Trainer"]
    assert names["npt"] is np.testing and names["OrderedDict"] is not None
    assert names["gzip"].__name__ == "gzip"
    array = mx.nd.ones(2)
    handle = names["ctypes"].cast(array, names["NDArrayHandle"])
    assert (
        names["NDArray"](handle, writable=False).shape == (2,) and names["CustomOp"] is mx.operator.CustomOp
    )


@pytest.mark.parametrize(
    ("module", "names", "home"),
    [
        ("ndarray.ndarray", "add maximum ones split_v2 histogram true_divide", mx.nd),
        ("symbol.symbol", "maximum ones arange split_v2 pow", mx.sym),
        ("numpy.multiarray", "add zeros where tensordot percentile may_share_memory", mx.np),
        ("image.detection", "ResizeAug fixed_crop", mx.image),
        ("gluon.contrib.rnn.rnn_cell", "ModifierCell BidirectionalCell", mx.gluon.rnn),
        ("gluon.data.vision.transforms", "HybridSequential Sequential", mx.gluon.nn),
        ("gluon.data.vision.transforms", "Block HybridBlock", mx.gluon),
        ("gluon.data.vision.datasets", "image nd recordio", mx),
    ],
)
def test_modules_that_define_what_their_packages_show(module, names, home):
    found = importlib.import_module(f"mxnet.{module}")
    for name in names.split():
        assert getattr(found, name) is getattr(home, name)
    with pytest.raises(AttributeError, match=f"mxnet.{module}.absent is not in Headrace"):
        _ = found.absent


def test_helpers_that_modules_of_programs_use():
    from mxnet.gluon.model_zoo.vision import densenet, resnet, vgg
    from mxnet.gluon.model_zoo.vision.densenet import _make_dense_block, _make_transition
    from mxnet.io import _has_instance, _init_data
    from mxnet.module.base_module import _as_list, _check_input_names, _parse_data_desc

    assert _as_list(3) == [3] and _as_list([3]) == [3]
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    _check_input_names(net, ["data"], "data", True)
    with pytest.raises(ValueError, match="data_names=.*input with name 'other' is not found"):
        _check_input_names(net, ["other"], "data", True)
    data, label = _parse_data_desc(["data"], [], [("data", (2, 3))], None)
    assert data[0].shape == (2, 3) and label is None
    pairs = _init_data(np.ones((2, 3)), allow_empty=False, default_name="data")
    assert pairs[0][0] == "data" and _has_instance(pairs, mx.nd.NDArray)
    assert [vgg.vgg_spec[11][0], densenet.densenet_spec[121][0]] == [[1, 1, 2, 2, 2], 64]
    kind, layers, channels = resnet.resnet_spec[50]
    network, blocks = resnet.resnet_net_versions[1], resnet.resnet_block_versions[1]
    assert isinstance(network(blocks[kind], layers, channels), mx.gluon.model_zoo.vision.ResNetV2)
    assert mx.npx.image.imread is mx.image.imread and mx.npx.image.resize is not mx.image.imresize
    block, between = _make_dense_block(2, 4, 8, 0, 1), _make_transition(5)
    for part in (block, between):
        part.initialize()
    assert between(block(mx.nd.ones((1, 6, 4, 4)))).shape == (1, 5, 2, 2)


def test_the_metaclass_of_contexts_takes_another_setattr(monkeypatch):
    from mxnet.base import _MXClassPropertyDescriptor, _MXClassPropertyMetaClass

    def assign(cls, key, value):
        found = cls.__dict__.get(key)
        if isinstance(found, _MXClassPropertyDescriptor):
            return found.__set__(cls, value)
        return super(_MXClassPropertyMetaClass, cls).__setattr__(key, value)

    monkeypatch.setattr(_MXClassPropertyMetaClass, "__setattr__", assign)
    with mx.cpu(0):
        mx.Context.default_ctx = mx.Context("cpu", 1)
        assert mx.Context.default_ctx == mx.nd.ones(1).context == mx.cpu(1)
    assert isinstance(vars(type(mx.Context))["default_ctx"], _MXClassPropertyDescriptor)
