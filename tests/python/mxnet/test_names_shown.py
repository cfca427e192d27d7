"""Modules and classes say MXNet's names after install(), and stay what they are."""

import subprocess
import sys

import pytest


def output_of(code: str) -> list[str]:
    """What a program that installs the names prints, in words."""
    code = f"from headrace.mxnet import install\ninstall()\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


class TestPackages:
    def test_they_say_mxnet_s_names(self):
        code = """
import mxnet as mx
mx.metric, mx.mod, mx.image, mx.np, mx.npx, mx.contrib
for one in (mx, mx.nd, mx.sym, mx.np, mx.npx, mx.gluon, mx.gluon.nn, mx.gluon.rnn, mx.gluon.data.vision,
            mx.gluon.model_zoo.vision, mx.gluon.contrib, mx.mod, mx.contrib.text):
    print(one.__name__)
"""
        assert output_of(code) == [
            *("mxnet", "mxnet.ndarray", "mxnet.symbol", "mxnet.numpy", "mxnet.numpy_extension"),
            *("mxnet.gluon", "mxnet.gluon.nn", "mxnet.gluon.rnn", "mxnet.gluon.data.vision"),
            *("mxnet.gluon.model_zoo.vision", "mxnet.gluon.contrib", "mxnet.module", "mxnet.contrib.text"),
        ]

    def test_blocks_are_told_which_kind_of_operators_they_get(self):
        code = """
import mxnet as mx
class Next(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        print(F.__name__, F is mx.nd or F is mx.sym)
        return x + 1
net = Next()
net(mx.nd.ones(1))
net.hybridize()
net(mx.nd.ones(1))
"""
        assert output_of(code) == ["mxnet.ndarray", "True", "mxnet.symbol", "True"]

    @pytest.mark.parametrize("first", ["mxnet", "headrace"])
    def test_they_are_imported_under_both_names(self, first):
        code = f"""
import importlib, {first}
names = ["ndarray", "ndarray.sparse", "ndarray.numpy", "symbol", "symbol.random", "gluon", "gluon.nn",
         "gluon.nn.basic_layers", "gluon.contrib.rnn", "gluon.model_zoo.vision", "numpy", "numpy.linalg",
         "numpy_extension", "image.detection", "optimizer", "io.utils", "module.base_module", "test_utils"]
for name in names:
    mine = importlib.import_module(f"mxnet.{{name}}")
    if name not in ("ndarray.numpy", "io.utils", "test_utils"):  # MXNet's alone
        assert mine is importlib.import_module(f"headrace.{{name}}"), name
import mxnet.ndarray.sparse
from mxnet.gluon import nn, contrib, data
from headrace.gluon import nn as same, trainer
from headrace.ndarray import sparse
from mxnet.ndarray import sparse as again
assert nn is same and sparse is again is mxnet.nd.sparse
assert importlib.import_module(".nn", mxnet.gluon.__name__) is importlib.reload(nn) is nn
print(nn.__name__, nn.__spec__.name)
"""
        assert output_of(code) == ["mxnet.gluon.nn", "headrace.gluon.nn"]

    def test_missing_names_and_help(self):
        code = """
import pydoc, mxnet as mx
for module in (mx.nd, mx.gluon.nn, mx.sym):
    try:
        module.nothing
    except AttributeError as error:
        print(str(error).split()[0])
    assert len(pydoc.plain(pydoc.render_doc(module))) > 1000
"""
        assert output_of(code) == ["mxnet.ndarray.nothing", "mxnet.gluon.nn.nothing", "mxnet.symbol.nothing"]

    def test_functions_are_pickled(self):
        code = """
import pickle, mxnet as mx
for one in (mx.nd.array, mx.gluon.nn.Dense, mx.gluon.model_zoo.vision.resnet18_v1, mx.np.array):
    assert pickle.loads(pickle.dumps(one)) is one, one
"""
        assert output_of(code) == []

    def test_programs_without_install_see_headrace_s(self):
        code = "import headrace as hr; print(hr.nd.__name__, hr.gluon.nn.__name__, hr.Context.__module__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stdout.split() == ["headrace.ndarray", "headrace.gluon.nn", "headrace.context"]


class TestContexts:
    def test_files_name_the_class_as_mxnet_s(self):
        code = """
import mxnet as mx
from pydoc import locate
path = f"{mx.Context.__module__}.{mx.Context.__qualname__}"
print(path, locate(path) is type(mx.cpu()) is mx.Context)
"""
        assert output_of(code) == ["mxnet.context.Context", "True"]

    def test_their_pickles_are_read_everywhere(self):
        code = """
import pickle, mxnet as mx
assert pickle.loads(pickle.dumps(mx.gpu(1))) == mx.gpu(1)
assert pickle.loads(b"cheadrace.context\\nContext\\n(Vgpu\\nI1\\ntR.") == mx.gpu(1)
print(pickle.dumps([mx.cpu(), mx.gpu(12), mx.cpu_pinned(), mx.Context("cpu_shared", 3)]).hex())
"""
        (pickled,) = output_of(code)
        read = (
            "import pickle; found = pickle.loads(bytes.fromhex('%s')); "
            "print(*found, type(found[0]).__module__)"
        )
        done = subprocess.run(
            [sys.executable, "-c", read % pickled], capture_output=True, text=True, timeout=60
        )
        assert done.stdout.split()[:4] == ["cpu(0)", "gpu(12)", "cpu_pinned(0)", "cpu_shared(3)"], done.stderr
        assert done.stdout.split()[4:] == ["headrace.context"]
