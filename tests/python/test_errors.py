"""Bad input: each call raises the right error, with a text that names the operation and what is wrong."""

import json
import os
import subprocess
import sys

import numpy
import pytest

import headrace as mx
from headrace import (
    MXNetError,
    autograd,
    context,
    gluon,
    init,
    metric,
    nd,
    np,
    npx,
    optimizer,
    random,
    sym,
    util,
)

A23 = nd.ones((2, 3))
A45 = nd.ones((4, 5))
INTS = nd.ones((2, 3), dtype="int32")
N23 = np.ones((2, 3))
N45 = np.ones((4, 5))
NET = gluon.nn.Dense(2, in_units=3)


def recorded(write):
    """Runs `write` on an array that belongs to a recorded graph."""
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
        write(y)


class WithoutInit(gluon.nn.HybridBlock):
    def __init__(self):
        self.layer = gluon.nn.Dense(3)


def iadd(y):
    y += 1


def push(value):
    store = mx.kv.create("local")
    store.init("w", A23)
    store.push("w", value)


def assign(y):
    y[0] = 1


# (what is called, the error, words of its text)
CASES = {
    # shapes
    "add of shapes": (lambda: A23 + A45, MXNetError, ["broadcast_add", "(2, 3)", "(4, 5)"]),
    "np add of shapes": (lambda: N23 + N45, ValueError, ["(2, 3)", "(4, 5)"]),
    "dot": (lambda: nd.dot(A23, A45), MXNetError, ["dot", "(2, 3)", "(4, 5)"]),
    "np dot": (lambda: np.dot(N23, N45), MXNetError, ["dot", "(2, 3)", "(4, 5)"]),
    "matmul": (lambda: N23 @ N45, MXNetError, ["matmul", "(2, 3)", "(4, 5)"]),
    "batch_dot": (lambda: nd.batch_dot(A23, A23), MXNetError, ["batch_dot"]),
    "reshape": (lambda: A23.reshape((2, 2)), ValueError, ["(2, 2)"]),
    "np reshape": (lambda: N23.reshape(7), MXNetError, ["7"]),
    "two unknown": (lambda: A23.reshape((-1, -1)), MXNetError, ["-1"]),
    "concat": (lambda: nd.concat(A23, A45, dim=0), MXNetError, ["(2, 3)", "(4, 5)"]),
    "np concatenate": (lambda: np.concatenate([N23, N45]), MXNetError, ["(2, 3)", "(4, 5)"]),
    "stack": (lambda: nd.stack(A23, A45), MXNetError, ["(2, 3)", "(4, 5)"]),
    "broadcast_to": (lambda: nd.broadcast_to(A23, shape=(4, 3)), MXNetError, ["(2, 3)", "(4, 3)"]),
    "where": (lambda: nd.where(A23, A23, A45), MXNetError, ["(2, 3)", "(4, 5)"]),
    "FullyConnected": (
        lambda: nd.FullyConnected(A23, A45, num_hidden=4, no_bias=True),
        MXNetError,
        ["FullyConnected"],
    ),
    "elemwise": (lambda: nd.elemwise_add(A23, nd.ones((2, 1))), MXNetError, ["elemwise_add", "(2, 1)"]),
    "Dense input": (lambda: initialized(NET)(A45), MXNetError, ["(4, 5)"]),
    # axes
    "sum axis": (lambda: nd.sum(A23, axis=5), ValueError, ["sum", "axis 5", "2"]),
    "np sum axis": (lambda: np.sum(N23, axis=-4), ValueError, ["axis -4", "2"]),
    "softmax axis": (lambda: nd.softmax(A23, axis=3), ValueError, ["softmax", "axis 3"]),
    "transpose axes": (lambda: nd.transpose(A23, axes=(0, 0)), MXNetError, ["transpose"]),
    "expand_dims": (lambda: nd.expand_dims(A23, axis=7), MXNetError, ["7"]),
    "squeeze": (lambda: np.squeeze(N23, axis=0), MXNetError, ["squeeze"]),
    "argmax axis": (lambda: np.argmax(N23, axis=2), ValueError, ["axis 2"]),
    "sort axis": (lambda: nd.sort(A23, axis=4), ValueError, ["sort", "axis 4"]),
    # dtypes
    "mixed dtypes": (lambda: A23 + INTS, MXNetError, ["broadcast_add", "float32", "int32", "astype"]),
    "unknown dtype": (lambda: A23.astype("float99"), TypeError, ["float99"]),
    "zeros dtype": (lambda: nd.zeros((2,), dtype="text"), TypeError, ["text"]),
    "out dtype": (lambda: nd.exp(A23, out=INTS), TypeError, ["exp", "int32", "float32"]),
    "out shape": (lambda: nd.exp(A23, out=A45), ValueError, ["exp", "(4, 5)", "(2, 3)"]),
    # arguments
    "unknown keyword": (lambda: nd.sum(A23, axes=1), TypeError, ["sum", "axes", "axis"]),
    "missing array": (lambda: nd.dot(A23), TypeError, ["dot", "missing"]),
    "missing number": (lambda: nd.clip(A23, a_min=0), TypeError, ["clip", "a_max"]),
    "missing depth": (lambda: nd.one_hot(A23), TypeError, ["one_hot", "depth"]),
    "too many": (lambda: nd.exp(A23, 1, 2, 3), TypeError, ["exp"]),
    "no array": (lambda: nd.exp("text"), TypeError, ["exp", "str"]),
    "bad choice": (lambda: nd.Activation(A23, act_type="rellu"), ValueError, ["Activation", "rellu", "relu"]),
    "bad mode": (lambda: nd.take(A23, A23, mode="bounce"), ValueError, ["take", "bounce", "clip"]),
    "number for text": (lambda: nd.sum(A23, keepdims=[1]), TypeError, ["sum", "keepdims"]),
    "shape of text": (lambda: nd.zeros("abc"), TypeError, ["shape"]),
    "negative shape": (lambda: nd.zeros((-2, 3)), MXNetError, ["-2"]),
    # mixing front ends and types
    "nd + np": (lambda: A23 + N23, TypeError, ["nd", "np"]),
    "nd function": (lambda: nd.exp(N23), TypeError, ["exp", "np"]),
    "np function": (lambda: np.exp(A23), TypeError, ["exp", "nd"]),
    "nd + numpy": (lambda: A23 + numpy.ones((4, 5)), ValueError, ["(4, 5)"]),
    "nd + text": (lambda: A23 + "a", TypeError, ["unsupported"]),
    "== None": (lambda: np.array(nd.ones((1,))), ValueError, ["as_np_ndarray"]),
    # indexing
    "index": (lambda: A23[5], IndexError, ["index 5", "axis 0", "size 2"]),
    "index in tuple": (lambda: A23[0, -4], IndexError, ["index -4", "axis 1", "size 3"]),
    "too many indices": (lambda: A23[0, 0, 0], IndexError, ["too many indices"]),
    "two ellipses": (lambda: N23[..., ...], IndexError, ["ellipsis"]),
    "zero step": (lambda: A23[::0], ValueError, ["step"]),
    "text key": (lambda: A23["a"], ValueError, ["'a'"]),
    "assigned shape": (lambda: A23.__setitem__(0, nd.ones((4,))), ValueError, ["(4,)", "(3,)"]),
    "assigned text": (lambda: A23.__setitem__(0, "abc"), TypeError, ["str"]),
    "mask shape": (lambda: N23[np.ones((3,)) > 0], IndexError, ["(3,)", "(2, 3)"]),
    "gathered index": (lambda: N23[[7]].asnumpy(), IndexError, ["7", "size 2"]),
    # values
    "truth": (lambda: bool(A23), ValueError, ["ambiguous"]),
    "asscalar": (lambda: A23.asscalar(), ValueError, ["(2, 3)"]),
    "item": (lambda: N23.item(), ValueError, ["(2, 3)"]),
    "float": (lambda: float(N23), TypeError, ["(2, 3)"]),
    "len": (lambda: len(np.array(1.0)), TypeError, ["unsized"]),
    "hash": (lambda: hash(N23), TypeError, ["unhashable"]),
    "strings": (lambda: nd.array(["a", "b"]), TypeError, ["numbers"]),
    "ragged": (lambda: np.array([[1, 2], [3]]), TypeError, ["sequence"]),
    "ragged with a dtype": (lambda: nd.array([[1, 2], [3]], dtype="int32"), TypeError, ["nested sequence"]),
    # random
    "seed": (lambda: random.seed(float("nan")), ValueError, ["nan"]),
    "filled with None": (lambda: np.full((2,), None), TypeError, ["fill_value", "None"]),
    "generator": (lambda: random.set_generator("dice"), ValueError, ["dice", "philox"]),
    "np scale": (lambda: np.random.normal(0, -1, (2,)), ValueError, ["scale"]),
    "nd scale": (lambda: nd.random.normal(0, -1, shape=(2,)).asnumpy(), MXNetError, ["scale"]),
    # gradients
    "not recorded": (lambda: nd.ones((1,)).backward(), MXNetError, ["computational graph"]),
    "in place": (lambda: recorded(iadd), MXNetError, ["recording"]),
    "assignment": (lambda: recorded(assign), MXNetError, ["recording"]),
    "grad_req": (lambda: nd.ones((1,)).attach_grad("sum"), KeyError, ["sum", "write"]),
    "no variables": (lambda: autograd.grad(A23, []), AssertionError, ["empty"]),
    "numbers of heads": (lambda: autograd.backward([A23], [A23, A23]), AssertionError, ["1", "2"]),
    # devices and modes
    "device type": (lambda: context.Context("tpu", 0), ValueError, ["tpu", "cpu"]),
    "no such gpu": (lambda: nd.ones((2,), ctx=context.gpu(7)), MXNetError, ["gpu"]),
    "np mode": (lambda: util.set_np(shape=False, array=True), ValueError, ["shape"]),
    "stype": (lambda: A23.tostype("coo"), ValueError, ["coo", "row_sparse"]),
    "sparse shape": (lambda: nd.ones(3).tostype("csr"), ValueError, ["csr", "two axes", "(3,)"]),
    "sparse pushed": (lambda: push(A23.tostype("csr")), MXNetError, ["kvstore push", "csr", "tostype"]),
    # files
    "missing file": (lambda: nd.load("/no/such/file"), MXNetError, ["/no/such/file", "No such file"]),
    "broken bytes": (lambda: nd.load_frombuffer(b"abc"), MXNetError, ["Invalid NDArray file format"]),
    "broken file": (lambda: nd.load(__file__), MXNetError, [__file__, "Invalid NDArray file format"]),
    "broken symbols": (lambda: sym.load(__file__), MXNetError, [__file__, "symbol file"]),
    "saved number": (lambda: nd.save("x", 3), ValueError, ["int"]),
    "saved item": (lambda: nd.save("x", [3]), TypeError, ["int"]),
    "saved nd by npx": (lambda: npx.save("x", A23), ValueError, ["array"]),
    # Gluon
    "optimizer": (lambda: optimizer.create("sgdd"), ValueError, ["sgdd"]),
    "metric": (lambda: metric.create("accuracyy"), AssertionError, ["accuracyy"]),
    "initializer": (lambda: init.Xavier()(init.InitDesc("a_weight"), nd.ones((3,))), ValueError, ["3"]),
    "not initialized": (
        lambda: gluon.nn.Dense(2, in_units=3).weight.data(),
        RuntimeError,
        ["has not been initialized"],
    ),
    "trainer": (lambda: gluon.Trainer([3], "sgd"), ValueError, ["Parameters"]),
    "loader": (lambda: gluon.data.DataLoader([1, 2]), ValueError, ["batch_size"]),
    "batch size": (lambda: gluon.data.DataLoader([1, 2], "4"), TypeError, ["batch_size", "'4'"]),
    "class of an initializer": (
        lambda: gluon.nn.Dense(2, in_units=3).initialize(init.Xavier),
        AssertionError,
        ["class Xavier", "Xavier()"],
    ),
    "super().__init__()": (WithoutInit, AttributeError, ["WithoutInit", "self.layer", "super().__init__("]),
}


def initialized(block):
    if block.weight._data is None:
        block.initialize()
    return block


@pytest.mark.parametrize("case", CASES)
def test_says_what_is_wrong(case):
    call, error, words = CASES[case]
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    for word in words:
        assert word in text, f"{word!r} is missing in: {text}"


def test_there_are_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize(
    "make",
    [
        lambda: nd.zeros((1 << 40,)),
        lambda: nd.zeros((1 << 20, 1 << 20)),
        lambda: nd.zeros((1 << 31, 1 << 31)),
        lambda: nd.zeros((1 << 31, 1 << 31, 1 << 31)),
        lambda: nd.zeros(((1 << 61) + 3,), dtype="float64"),
        lambda: nd.zeros((0, 1 << 62, 1 << 62)),
        lambda: nd.empty((1 << 62,))[:3],
        lambda: nd.empty((1 << 55,))[:3],
        lambda: np.broadcast_to(np.ones(1), (1 << 62,)),
        lambda: nd.broadcast_to(nd.ones(1), shape=(1 << 61,)),
        lambda: nd.diag(nd.ones((1,)), k=2147483647),
        lambda: nd.linspace(0, 1, 1 << 62),
        lambda: nd.arange(0, 1 << 50, repeat=1 << 50),
        lambda: nd.repeat(nd.ones((8,)), repeats=1 << 61),
        lambda: nd.tile(nd.ones((8,)), reps=(1 << 61,)),
        lambda: np.tile(np.ones((8, 8)), (1 << 31, 1 << 31)),
        lambda: nd.random.uniform(shape=(1 << 62,)),
        lambda: nd.one_hot(nd.zeros((1 << 10,)), depth=1 << 61),
        lambda: gluon.nn.Dense(1 << 62, in_units=1).initialize(),
    ],
)
def test_huge_arrays_are_refused_and_life_goes_on(make):
    with pytest.raises(MemoryError):
        make().asnumpy()
    assert nd.ones((2,)).sum().asscalar() == 2


def test_an_operation_without_memory_is_named():
    column = nd.ones((1 << 20, 1))
    with pytest.raises(MemoryError, match=r"^broadcast_add: cpu: cannot allocate 4096.00 GiB"):
        nd.broadcast_add(column, column.T).wait_to_read()
    net = gluon.nn.Dense(1 << 20)
    net.initialize()
    net.hybridize()
    with pytest.raises(MemoryError, match=r"^FullyConnected: cpu: cannot allocate"):
        net(column).wait_to_read()


def test_negative_extents_are_refused():
    for make in (
        lambda: nd.zeros((2, -3)),
        lambda: nd.empty((-1,)),
        lambda: np.random.choice(5, size=(-(2**63),)),
        lambda: np.random.uniform(size=(-1,)),
    ):
        with pytest.raises(ValueError, match="negative extent"):
            make()


def test_only_bytes_are_read_as_a_file():
    for wrong in (nd.array([2**31]), 3, "text", None):
        with pytest.raises(TypeError, match="load_frombuffer"):
            nd.load_frombuffer(wrong)


def test_symbol_files_with_huge_shapes_are_refused():
    text = (sym.var("x", shape=(2,)) + 1).tojson()
    with pytest.raises(RuntimeError, match="too many elements to address"):
        sym.fromjson(text.replace("(2,)", f"({1 << 62},)")).simple_bind(mx.cpu()).forward()


def test_slices_are_assigned_what_has_their_shape():
    for rhs in ((1, 5, 5, 5), (5,), (2, 3), ()):
        with pytest.raises(MXNetError, match="_slice_assign.*shape"):
            sym._internal._slice_assign(sym.var("a"), sym.var("b"), begin=(0,), end=(2,)).eval(
                a=nd.zeros((5, 5)), b=np.zeros(rhs).as_nd_ndarray()
            )
        with pytest.raises(MXNetError, match="shape"):
            sym._internal._crop_assign(sym.var("a"), sym.var("b"), begin=(0,), end=(2,)).infer_shape(
                a=(5, 5), b=rhs or (1,)
            )


@pytest.mark.parametrize("key", ["(1, 7, 1, 1)", "(1, 0, 1, 9)", "(1, -3, 1, 2)", "(1, 0)", "(9, 0, 1, 1)"])
@pytest.mark.parametrize("name", ["_basic_index", "_basic_index_scatter", "_basic_index_assign"])
def test_keys_of_files_lie_inside(name, key):
    node = {"op": name, "name": "bad", "attrs": {"key": key, "shape": "(2, 3)"}, "inputs": [[0, 0, 0]]}
    nodes = [{"op": "null", "name": n, "inputs": []} for n in ("a", "b")] + [node]
    if name.endswith("assign"):
        node["inputs"].append([1, 0, 0])
    else:
        nodes.pop(1)
    heads = [[len(nodes) - 1, 0, 0]]
    graph = {"nodes": nodes, "arg_nodes": list(range(len(nodes) - 1)), "heads": heads}
    given = {n["name"]: nd.ones((2, 3)) for n in nodes[:-1]}
    with pytest.raises((ValueError, MXNetError)):
        sym.fromjson(json.dumps(graph)).bind(mx.cpu(), given).forward()[0].asnumpy()


def test_an_asynchronous_error_stays_until_the_array_is_written():
    bad = nd.random.normal(0, -1, shape=(2,))
    depends = bad + 1
    for _ in range(2):
        with pytest.raises(MXNetError, match="scale"):
            depends.asnumpy()
    bad[:] = 3
    assert bad.asnumpy().tolist() == [3, 3]


def settle():
    """Errors that earlier programs did not read are read."""
    while True:
        try:
            return nd.waitall()
        except Exception:  # noqa: BLE001
            continue


def test_waitall_raises_an_error_once():
    settle()
    nd.random.normal(0, -1, shape=(2,))
    with pytest.raises(MXNetError, match="scale"):
        nd.waitall()
    nd.waitall()


# --- errors that happen while an operation runs ---


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
def test_a_write_of_a_part_keeps_the_error(module):
    def failed():
        return module.take(module.ones((3, 4)), module.array([0, 1, 9], dtype="int32"), axis=0, mode="raise")

    settle()
    for write in (
        lambda x: x.__setitem__(0, 1),
        lambda x: x.__setitem__((slice(None), 1), module.ones((3,))),
        lambda x: x[1:].__iadd__(1),
        lambda x: x.__iadd__(1),
    ):
        array = failed()
        write(array)
        with pytest.raises(IndexError, match="take: index 9"):
            array.wait_to_read()
    for write in (
        lambda x: x.__setitem__(slice(None), 5),
        lambda x: x.reshape((4, 3)).__setitem__(slice(None), 5),
    ):
        array = failed()
        write(array)
        assert array.asnumpy().tolist() == [[5] * 4] * 3
    with pytest.raises(IndexError):
        nd.waitall()
    while True:
        try:
            nd.waitall()
            break
        except IndexError:
            pass


def test_an_engine_that_mxnet_does_not_have_is_an_error():
    environment = dict(os.environ, MXNET_ENGINE_TYPE="Naive")
    done = subprocess.run(
        [sys.executable, "-c", "import headrace"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "MXNET_ENGINE_TYPE: expected NaiveEngine, ThreadedEngine or" in done.stderr


@pytest.mark.parametrize("engine", ["NaiveEngine", "ThreadedEngine"])
def test_errors_of_the_naive_engine_come_from_their_line(engine):
    program = (
        "from headrace import nd\n"
        "x = nd.arange(3)\n"
        "try:\n"
        "    y = x[nd.array([7])]\n"
        "    print('later')\n"
        "    y.asnumpy()\n"
        "except IndexError as error:\n"
        "    print(error)\n"
    )
    environment = dict(os.environ, MXNET_ENGINE_TYPE=engine)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert ("later" in done.stdout) == (engine == "ThreadedEngine")
    assert "index 7 is out of bounds" in done.stdout and not done.stderr


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: N23 + N45, "add"),
        (lambda: np.exp(N23, out=N45), "exp"),
        (lambda: np.sum(N23, axis=5), "sum"),
        (lambda: N23.reshape(7), "reshape"),
        (lambda: np.dot(N23, N45), "dot"),
        (lambda: np.mean(N23, axis="x"), "mean"),
        (lambda: np.linalg.cholesky(-N23[:, :2]).asnumpy(), "cholesky"),
        (lambda: nd.contrib.box_nms(A23[0]), "box_nms"),
        (lambda: nd.softmax(A23, axis=5), "softmax"),
    ],
)
def test_errors_call_operators_as_programs_do(call, name):
    """And not by the names of MXNet's files: _npi_add, _np_sum, _contrib_box_nms."""
    with pytest.raises(MXNetError, match=rf"^{name}: "):
        call()


def test_in_place_arithmetic_keeps_what_a_number_is():
    integers, flags = np.arange(3, dtype="int32"), np.ones((3,), dtype="bool")
    for write in (
        lambda: integers.__iadd__(np.ones((3,)) * 0.5),
        lambda: integers.__imul__(np.ones((3,))),
        lambda: flags.__iadd__(np.ones((3,))),
        lambda: flags.__iadd__(integers),
    ):
        with pytest.raises(TypeError, match="does not take in place; write x = x"):
            write()
    assert integers.tolist() == [0, 1, 2]
    integers += np.ones((3,), dtype="int64")
    half = np.ones((3,), dtype="float16")
    half += np.ones((3,))
    assert (integers.tolist(), integers.dtype) == ([1, 2, 3], numpy.int32)
    assert (half.tolist(), half.dtype) == ([2, 2, 2], numpy.float16)


@pytest.mark.parametrize(
    "call", [lambda: np.zeros(2, 3), lambda: np.ones(2, 3), lambda: N23.astype(3), lambda: np.array([1], 3)]
)
def test_numbers_are_no_dtypes(call):
    with pytest.raises(TypeError, match="'3' is not a dtype"):
        call()


def test_nd_methods_of_np_arrays_say_what_to_write():
    assert not hasattr(N23, "exp")
    with pytest.raises(AttributeError, match=r"np arrays have no method exp; write np.exp\(x\)"):
        N23.exp()
    with pytest.raises(AttributeError, match=r"write npx.topk\(x\)"):
        N23.topk()
    assert hasattr(N23, "sum") and hasattr(A23, "exp")


def test_a_forgotten_set_np_is_named():
    with pytest.raises(TypeError, match=r"npx.set_np\(\)"):
        gluon.loss.L2Loss()(N23, N23)


class _Doubled(autograd.Function):
    def __init__(self, gradient, result=None):
        super().__init__()
        self._gradient, self._result = gradient, result

    def forward(self, x):
        return x * 2 if self._result is None else self._result

    def backward(self, _):
        return self._gradient


def test_errors_of_functions_name_them():
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        with pytest.raises(MXNetError, match="_Doubled.forward: arrays are needed, got ndarray"):
            _Doubled(None, numpy.ones(2))(x)
        narrow, wide = _Doubled(nd.ones((3,)))(x), _Doubled(nd.ones((4,)))(x)
    narrow.backward()
    assert x.grad.asnumpy().tolist() == [[1, 1, 1]] * 2
    with pytest.raises(
        MXNetError, match=r"_Doubled.backward: gradient 0 has shape \(4,\), but input 0 of forward has"
    ):
        wide.backward()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: gluon.nn.Dense(3, 2),
            "activation is a name such as .relu., got 2; .* in_units=",
        ),
        (lambda: gluon.nn.Activation(nd.relu), "activation is a name"),
        (lambda: gluon.utils.clip_global_norm(NET.collect_params(), 1), "of parameters their gradients"),
        (lambda: gluon.utils.clip_global_norm(list(NET.collect_params().values()), 1), "their gradients"),
        (lambda: optimizer.create(optimizer.Adam), "by its name"),
    ],
)
def test_what_newcomers_give(call, words):
    with pytest.raises(TypeError, match=words):
        call()
