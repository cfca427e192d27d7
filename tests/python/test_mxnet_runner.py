"""`python -m headrace.mxnet` runs programs as python does, with `import mxnet` resolved to Headrace."""

import json
import pickle
import subprocess
import sys

import pytest


def run_python(*arguments: str, text: str = "", cwd=None) -> subprocess.CompletedProcess:
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=cwd, timeout=120)


def run_mxnet(*arguments: str, **options) -> subprocess.CompletedProcess:
    return run_python("-m", "headrace.mxnet", *arguments, **options)


def output_of(code: str, *arguments: str) -> str:
    done = run_mxnet("-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_module_has_both_names():
    code = """
import mxnet as mx, headrace
import mxnet.gluon.nn as nn
from mxnet import autograd, gluon, nd, np, npx
from mxnet.gluon import loss as gloss
from mxnet.gluon.data.vision import transforms
import mxnet.ndarray.ndarray, mxnet.nd
for name in ["autograd", "gluon", "nd", "np", "npx", "random", "init", "metric", "lr_scheduler", "context"]:
    assert getattr(mx, name) is getattr(headrace, name), name
assert nn is headrace.gluon.nn and gloss is headrace.gluon.loss and mx.ndarray is nd
assert transforms is headrace.gluon.data.vision.transforms
assert nn.__spec__.name == "headrace.gluon.nn" and nn.__name__ == "mxnet.gluon.nn"
assert mx.nd.NDArray is headrace.nd.NDArray
"""
    output_of(code)


def test_libraries_find_the_modules_of_what_they_are_given_among_the_imported():
    code = """
import sys, mxnet as mx
array, symbol = mx.nd.ones(2), mx.sym.var("x")
print(all(type(one).__module__.removesuffix(".ndarray") in sys.modules for one in (array, array + 1)))
print([sys.modules.get(f"mxnet.{one}") is module for one, module in [("ndarray", mx.nd), ("symbol", mx.sym)]])
print([name for name in sys.modules if name.startswith("mxnet.") and "._" in name])
"""
    assert output_of(code).splitlines() == ["True", "[True, True]", "[]"]


def test_types_say_that_they_are_mxnet_s():
    code = """
import mxnet as mx
from mxnet import gluon, np
print(type(mx.nd.ones(1)), type(np.ones(1)), type(gluon.nn.Dense(1).weight))
print(type(mx.random.uniform(0, 1, (1,))))
"""
    nd, np, parameter, drawn = output_of(code).replace("\n", " ").split("> ")
    assert nd == drawn.rstrip(">") == "<class 'mxnet.ndarray.ndarray.NDArray'"
    assert (np, parameter) == ("<class 'mxnet.numpy.ndarray'", "<class 'mxnet.gluon.parameter.Parameter'")


def test_pickles_of_mxnet_s_programs_name_no_module_of_mxnet():
    code = """
import pickle
import mxnet as mx
from mxnet import gluon, init, np
net = gluon.nn.Dense(1, in_units=2)
net.initialize(init.One())
print(pickle.dumps([mx.nd.ones(1), np.ones(1), net, gluon.Constant("c", [2])]).hex())
"""
    kept = bytes.fromhex(output_of(code))
    assert b"mxnet" not in kept
    nd, np, net, constant = pickle.loads(kept)
    assert (type(nd).__name__, type(np).__name__, nd.asnumpy(), np.asnumpy()) == ("NDArray", "ndarray", 1, 1)
    assert net.weight.data().asnumpy().tolist() == [[1, 1]] and constant.value.asnumpy().tolist() == [2]


def test_symbols_and_contexts_of_mxnet_s_pickles():
    graph = '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "arg_nodes": [0], "heads": [[0, 0, 0]]}'
    code = f"""
import pickle
symbol = (b"\\x80\\x04\\x8c\\x13mxnet.symbol.symbol\\x8c\\x06Symbol\\x93N\\x85R}}\\x8c\\x06handleX"
          + len({graph!r}).to_bytes(4, "little") + {graph!r}.encode() + b"sb.")
context = (b"\\x80\\x04\\x8c\\rmxnet.context\\x8c\\x07Context\\x93)\\x81}}(\\x8c\\rdevice_typeidK\\x02"
           b"\\x8c\\tdevice_idK\\x03\\x8c\\x08_old_ctxNub.")
print(pickle.loads(symbol).list_arguments(), pickle.loads(context))
"""
    assert output_of(code) == "['x'] gpu(3)"


def test_arrays_travel_in_shared_memory():
    """As copies of Gluon's loader have them do."""
    code = """
import multiprocessing
from multiprocessing.reduction import DupFd, ForkingPickler
from mxnet import context, nd

def rebuild(process, descriptor, shape, dtype):
    return nd.NDArray(nd.ndarray._new_from_shared_mem(process, descriptor.detach(), shape, dtype))

def reduce(data):
    shared = data.as_in_context(context.Context("cpu_shared", 0))
    process, descriptor, shape, dtype = shared._to_shared_mem()
    return rebuild, (process, DupFd(descriptor), shape, dtype)

def work(made, taken):
    for k in range(3):
        made.put(nd.full((2,), k) if k % 2 else nd.zeros((0, 3), dtype="int64"))
    taken.wait(60)  # descriptors are asked for when arrays are taken

ForkingPickler.register(nd.NDArray, reduce)
array = nd.arange(3)
for _ in range(2):
    print(nd.NDArray(nd.ndarray._new_from_shared_mem(*array._to_shared_mem())).asnumpy().tolist())
made, taken = multiprocessing.Queue(), multiprocessing.Event()
process = multiprocessing.Process(target=work, args=(made, taken), daemon=True)
process.start()
for _ in range(3):
    got = made.get(timeout=60)
    print(got.context, got.dtype.__name__, (got + 1).asnumpy().tolist())
taken.set()
process.join()
"""
    assert output_of(code).splitlines() == [
        *["[0.0, 1.0, 2.0]"] * 2,
        "cpu_shared(0) int64 []",
        "cpu_shared(0) float32 [2.0, 2.0]",
        "cpu_shared(0) int64 []",
    ]


def test_versions():
    code = "import mxnet, headrace; print(mxnet.__version__, headrace.__version__)"
    assert output_of(code).startswith("1.9.1 0.")
    assert "MXNet 1.9.1" in run_mxnet("--version").stdout


@pytest.mark.parametrize(
    ("statement", "error", "name"),
    [
        ("mxnet.absent", "AttributeError", "mxnet.absent"),
        ("mxnet.nd.sofmax", "AttributeError", "mxnet.ndarray.sofmax"),
        ("mxnet.gluon.Estimator", "AttributeError", "mxnet.gluon.Estimator"),
        ("mxnet.gluon.nn.Conv4D", "AttributeError", "mxnet.gluon.nn.Conv4D"),
        (
            "mxnet.gluon.data; mxnet.gluon.data.vision.CIFAR1O",
            "AttributeError",
            "mxnet.gluon.data.vision.CIFAR1O",
        ),
        ("mxnet.gluon; mxnet.gluon.rnn.LSTMM", "AttributeError", "mxnet.gluon.rnn.LSTMM"),
        ("mxnet.nd.no_such_operator", "AttributeError", "mxnet.ndarray.no_such_operator"),
        ("import mxnet.absent", "ModuleNotFoundError", "mxnet.absent"),
        ("import mxnet.gluon.absent", "ModuleNotFoundError", "mxnet.gluon.absent"),
        ("from mxnet import absent", "ImportError", "mxnet.absent"),
        ("from mxnet.gluon import Estimator", "ImportError", "mxnet.gluon.Estimator"),
        ("from mxnet.gluon.nn import Conv4D", "ImportError", "mxnet.gluon.nn.Conv4D"),
    ],
)
def test_says_which_name_is_missing(statement, error, name):
    done = run_mxnet("-c", f"import mxnet\n{statement}")
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"{error}: {name} is not in Headrace, and is no public name of MXNet 1.9.1")
    if name == "mxnet.ndarray.sofmax":
        assert "Did you mean mxnet.ndarray.softmax or" in said


def test_names_are_found_by_their_paths():
    code = """
import pydoc
import mxnet as mx
assert pydoc.locate("mxnet.nd.array") is mx.nd.array
assert pydoc.locate("mxnet.ndarray.ndarray.NDArray") is mx.nd.NDArray
assert pydoc.locate("mxnet.mod.Module") is mx.mod.Module
assert pydoc.locate("mxnet.nd.random.uniform") is mx.nd.random.uniform
assert pydoc.locate("mxnet.nd.absent") is None and pydoc.locate("mxnet.absent.more") is None
import mxnet.nd.random, mxnet.ndarray.random
assert mxnet.nd.random is mxnet.ndarray.random
try:
    import mxnet.mod.Module
except ModuleNotFoundError as error:
    assert error.name == "mxnet.mod.Module" and "from mxnet.mod import Module" in str(error)
"""
    output_of(code)


def test_behaves_as_mxnet_by_default():
    code = """
import mxnet as mx
assert not mx.util.is_np_array() and not mx.util.is_np_shape()
mx.random.seed(42)
print(mx.nd.random.uniform(shape=(2,)).asnumpy().round(6).tolist())
"""
    assert output_of(code) == output_of(code)


def test_nobody_sees_mxnet_before_it_is_imported():
    code = """
import importlib.util, sys
from headrace.mxnet import install, top_module
install()
print("mxnet" in sys.modules, importlib.util.find_spec("mxnet") is not None)
import mxnet.ndarray
print("mxnet" in sys.modules, importlib.util.find_spec("mxnet") is not None, top_module() is mxnet)
"""
    assert output_of(code).split() == ["False", "True", "True", "True", "True"]


def test_install_twice_and_after_another_mxnet(tmp_path):
    (tmp_path / "mxnet.py").write_text("")
    code = """
import mxnet, headrace.mxnet
try:
    headrace.mxnet.install()
except RuntimeError as error:
    print(error)
del __import__("sys").modules["mxnet"]
headrace.mxnet.install()
headrace.mxnet.install()
import mxnet
print(mxnet.__version__)
"""
    done = run_python("-c", code, cwd=tmp_path)
    assert "mxnet is already imported from" in done.stdout
    assert done.stdout.endswith("1.9.1\n")


PROBE = """
import sys
print(__name__, __file__, sys.argv, sys.path[0])
"""


def test_a_file_sees_what_python_shows_it(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "probe.py").write_text(PROBE)
    arguments = ("work/probe.py", "one", "--two", "-m")
    assert run_mxnet(*arguments, cwd=tmp_path).stdout == run_python(*arguments, cwd=tmp_path).stdout


def test_a_module_sees_what_python_shows_it(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "probe.py").write_text(f"from . import other\n{PROBE}")
    (tmp_path / "package" / "other.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(PROBE)
    for arguments in (("-m", "package.probe", "x"), ("-m", "package")):
        assert run_mxnet(*arguments, cwd=tmp_path).stdout == run_python(*arguments, cwd=tmp_path).stdout


def test_text_and_standard_input():
    code = "import sys; print(__name__, sys.argv, repr(sys.path[0]))"
    assert run_mxnet("-c", code, "a").stdout == run_python("-c", code, "a").stdout
    assert run_mxnet("-", "a", text=code).stdout == run_python("-", "a", text=code).stdout


@pytest.mark.parametrize(
    "code",
    ["raise SystemExit(3)", "raise SystemExit('stop')", "1 / 0", "import os; os._exit(7)", "x = (", "pass"],
)
def test_status_and_traceback_are_pythons(tmp_path, code):
    (tmp_path / "program.py").write_text(f"def f():\n    pass\n\n{code}\n")
    ours, theirs = run_mxnet("program.py", cwd=tmp_path), run_python("program.py", cwd=tmp_path)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_keyboard_interrupt_ends_by_signal_or_130():
    code = "raise KeyboardInterrupt"
    assert run_mxnet("-c", code).returncode == run_python("-c", code).returncode


def test_wrong_usage_tells_how_to_use_it(tmp_path):
    for arguments in ((), ("--no-such-option",), ("-m",), ("--timeline",)):
        done = run_mxnet(*arguments)
        assert done.returncode == 2
        assert "usage: python -m headrace.mxnet" in done.stderr
    assert "usage: python -m headrace.mxnet" in run_mxnet("--help").stdout
    missing = run_mxnet("no_such_program.py", cwd=tmp_path)
    assert missing.returncode == 2
    assert "can't open file" in missing.stderr
    missing = run_mxnet("-m", "no_such_module")
    assert missing.returncode == 1
    assert "No module named no_such_module" in missing.stderr


SPAWN = """
import multiprocessing
import mxnet as mx

def version(_):
    import mxnet
    return mxnet.__version__, mx.nd.ones((2, 2)).sum().asscalar().item()

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        pool = multiprocessing.get_context(method).Pool(1)
        print(pool.map(version, [1]))
        pool.close()
        pool.join()
"""


def test_child_processes_find_mxnet(tmp_path):
    (tmp_path / "program.py").write_text(SPAWN)
    done = run_mxnet("program.py", cwd=tmp_path)
    assert done.stdout == "[('1.9.1', 4.0)]\n" * 3, done.stderr


def test_waits_for_the_engine_and_raises_its_errors():
    code = """
import mxnet as mx
x = mx.nd.array([1, 2, 3])
y = mx.nd.take(x, mx.nd.array([7]), mode="raise")
"""
    done = run_mxnet("-c", code)
    assert done.returncode == 1
    assert "Error" in done.stderr.splitlines()[-1]


def test_timeline_names_the_operations(tmp_path):
    code = "import mxnet as mx; x = mx.nd.ones((300, 300)); y = mx.nd.dot(x, x)"
    assert run_mxnet("--timeline", "timeline.json", "-c", code, cwd=tmp_path).returncode == 0
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert any(event.get("name") == "dot" and event["ph"] == "X" for event in events)


def test_what_is_there_for_mxnet_alone():
    code = """
import mxnet as mx, headrace, headrace.mxnet.test_utils
import mxnet.test_utils as tools
assert tools is mx.test_utils is headrace.mxnet.test_utils and tools.__name__ == "mxnet.test_utils"
assert "test_utils" in dir(mx)
from mxnet.test_utils import *
assert mx.__version__ == "1.9.1" and mx.test_utils is tools and np.__name__ == "numpy"
try:
    mx.test_utils.nothing
except AttributeError as error:
    print(error)
"""
    assert output_of(code).startswith("mxnet.test_utils.nothing is not in Headrace")


def test_names_that_mxnet_has_in_other_modules():
    code = """
import mxnet as mx, headrace
from mxnet.gluon.block import HybridBlock, SymbolBlock
from mxnet.gluon.nn.basic_layers import BatchNorm, HybridSequential
from mxnet.gluon.nn.conv_layers import MaxPool2D
from mxnet.symbol.numpy._symbol import _Symbol
import mxnet.ndarray.numpy, mxnet.ndarray.numpy_extension
assert HybridBlock is headrace.gluon.HybridBlock and SymbolBlock is headrace.gluon.SymbolBlock
assert BatchNorm is headrace.gluon.nn.BatchNorm and MaxPool2D is headrace.gluon.nn.MaxPool2D
assert mx.nd.numpy is headrace.numpy and _Symbol is type(mx.sym.Variable("x").as_np_ndarray())
try:
    from mxnet.gluon.block import Nothing
except ImportError as error:
    print(error)
"""
    assert output_of(code).startswith("mxnet.gluon.block.Nothing is not in Headrace")


def test_names_of_the_c_interface():
    code = """
import ctypes
import numpy as np
from mxnet.base import *
from mxnet.base import _LIB, _Null, _as_list, c_array, c_str, c_str_array, check_call, mx_float
from mxnet.base import NDArrayHandle, SymbolHandle, MXCallbackList, MXNetError, c_array_buf, ctypes2buffer
from mxnet.base import ctypes2numpy_shared, mx_uint
from mxnet.ndarray.ndarray import _DTYPE_MX_TO_NP, _STORAGE_TYPE_STR_TO_ID, py_slice
assert py_slice(2) == slice(2) and _as_list(3) == [3] and _as_list([3]) == [3] and repr(_Null) == "_Null"
assert c_str("x").value == b"x" and list(c_str_array(["a", "b"])) == [b"a", b"b"]
floats = c_array(mx_float, [1, 2])
shared = ctypes2numpy_shared(ctypes.cast(floats, ctypes.POINTER(mx_float)), (2,))
shared[0] = 5
assert floats[0] == 5 and list(c_array_buf(mx_float, np.array([3], "float32"))) == [3]
assert ctypes2buffer(ctypes.cast(c_str("xyz"), ctypes.POINTER(ctypes.c_char)), 2) == b"xy"
assert _DTYPE_MX_TO_NP[4] is np.int32 and _STORAGE_TYPE_STR_TO_ID["csr"] == 2
assert not hasattr(_LIB, "MXNotifyShutdown")
check_call(0)
for fail in (lambda: check_call(-1), lambda: _LIB.MXNDArrayReshape(0)):
    try:
        fail()
    except MXNetError as error:
        print(error)
"""
    first, second = output_of(code).splitlines()
    assert "status -1" in first and "_LIB.MXNDArrayReshape: there is no C library" in second


def test_scopes_of_blocks_by_their_old_name():
    code = """
from mxnet.gluon import nn
from mxnet.gluon.block import _BlockScope
outer = nn.Dense(2, prefix="outer_")
with _BlockScope(outer):
    prefix, parameters = _BlockScope.create(None, None, "inner")
print(prefix, parameters.prefix, _BlockScope.create("own_", None, "inner")[0])

from mxnet.name import NameManager
class Named:  # all that a scope of operators needs
    prefix, _empty_prefix = "named_", False
with _BlockScope(Named()):
    print(NameManager.current.get(None, "relu"))
"""
    assert output_of(code).split() == ["outer_inner0_", "outer_inner0_", "own_", "named_relu0"]


def test_shapes_of_outputs_by_name():
    code = """
import mxnet as mx
layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
print(mx.symbol_doc.SymbolDoc.get_output_shape(layer, x=(3, 4)))
"""
    assert output_of(code) == "{'fc_output': (3, 2)}"


def test_names_of_util():
    code = """
import mxnet as mx
from mxnet.util import _NumpyArrayScope, get_cuda_compute_capability, set_module
from mxnet.util import wrap_np_binary_func, wrap_np_unary_func
with _NumpyArrayScope(True) as scope:
    assert mx.util.is_np_array() and scope._is_np_array
assert not mx.util.is_np_array()

@set_module("elsewhere")
@wrap_np_unary_func
def double(x, out=None, **kwargs):
    return 2 * x

@wrap_np_binary_func
def add(x, y, out=None, **kwargs):
    return x + y

assert double.__module__ == "elsewhere" and add(1, 2) == 3
assert double(3, where=True, casting="same_kind", order="K", subok=True, dtype=None) == 6
for call in (
    lambda: double(1, order="F"),
    lambda: add(1, 2, order="Z"),
    lambda: double(1, other=1),
    lambda: double(1, dtype=float),
):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
try:
    get_cuda_compute_capability(mx.cpu())
except ValueError as error:
    print(error)
"""
    lines = output_of(code).splitlines()
    assert [line.split()[0] for line in lines[:4]] == [
        "NotImplementedError",
        "TypeError",
        "TypeError",
        "NotImplementedError",
    ]
    assert "expected a gpu context, got cpu(0)" in lines[4]
