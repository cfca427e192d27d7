"""Networks built from layers take MXNet's exported parameters and give MXNet's outputs and gradients."""

import json
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
import recorded

from headrace import autograd, gluon, nd, np, npx, sym
from headrace.gluon import nn


class Residual(nn.HybridBlock):
    def __init__(self, channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = nn.Conv2D(channels, kernel_size=3, padding=1, strides=strides)
            self.bn1 = nn.BatchNorm()
            self.conv2 = nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False)
            self.bn2 = nn.BatchNorm(epsilon=1e-3, momentum=0.8)
            self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=strides) if use_1x1conv else None

    def hybrid_forward(self, F, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.conv3(x) if self.conv3 else x))


def mlp_np():
    return [nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2)]


def lenet():
    return [
        nn.Conv2D(6, kernel_size=5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(16, kernel_size=5, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Dense(120, activation="sigmoid"),
        nn.Dense(84, activation="sigmoid"),
        nn.Dense(10),
    ]


def resnet_thin():
    return [
        nn.Conv2D(8, kernel_size=3, strides=1, padding=1),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(3, 2, 1),
        Residual(8),
        Residual(8),
        Residual(12, True, 2),
        Residual(12),
        Residual(16, True, 2),
        nn.GlobalAvgPool2D(),
        nn.Dense(5),
    ]


@pytest.fixture(params=[mlp_np, lenet, resnet_thin], ids=lambda make: make.__name__)
def network(request):
    """A network with MXNet's parameters, its input, the output it should give, and the folder of all that."""
    name = request.param.__name__
    folder = recorded.network(name)
    meta = json.loads((folder / "meta.json").read_text())
    if meta["mode"] == "np":
        npx.set_np()
    net = nn.HybridSequential(prefix=name.partition("_")[0] + "_")
    with net.name_scope():
        net.add(*request.param())
    net.collect_params().load(str(folder / meta["params"]))
    x = numpy.load(folder / meta["inputs"][0]["file"])
    yield net, (np if meta["mode"] == "np" else nd).array(x), numpy.load(folder / meta["outputs"][0]), folder
    npx.reset_np()


def close(actual, expected, message=""):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-4, atol=1e-5, err_msg=message)


def test_outputs(network):
    net, x, expected, _ = network
    close(net(x), expected)
    net.hybridize()
    close(net(x), expected)


@pytest.mark.parametrize("is_hybrid", [False, True])
@pytest.mark.parametrize("network", [resnet_thin], indirect=True)
def test_gradients(network, is_hybrid):
    net, x, _, folder = network
    expected = numpy.load(folder / "gradients.npz")
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if is_hybrid:
        net.hybridize()
    with autograd.record():
        loss = loss_of(net(x), nd.array([0, 3, 4, 1])).mean()
    loss.backward()
    close(loss, expected["loss"].reshape(1))
    for name, param in net.collect_params().items():
        if param.grad_req == "null":
            close(param.data(), expected[f"after:{name}"], name)
        else:
            close(param.grad(), expected[f"grad:{name}"], name)


NETWORKS = ["foreach_loop", "lenet", "mlp_np", "np_attention", "resnet_thin", "seq_lstm", "symbol_module"]


@pytest.fixture(params=NETWORKS)
def imported(request):
    """A network made of MXNet's files, its inputs, the folder, and what meta.json says."""
    folder = recorded.network(request.param)
    meta = json.loads((folder / "meta.json").read_text())
    if meta["mode"] == "np":
        npx.set_np()
    names = [one["name"] for one in meta["inputs"]]
    net = gluon.SymbolBlock.imports(str(folder / meta["symbol"]), names, str(folder / meta["params"]))
    array = np.array if meta["mode"] == "np" else nd.array
    yield net, [array(numpy.load(folder / one["file"])) for one in meta["inputs"]], folder, meta
    npx.reset_np()


def test_imports_give_the_outputs(imported):
    net, inputs, folder, meta = imported
    outputs = net(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    for output, file in zip(outputs, meta["outputs"], strict=True):
        close(output, numpy.load(folder / file))


@pytest.mark.parametrize("imported", ["resnet_thin", "symbol_module"], indirect=True)
def test_imports_give_the_gradients(imported):
    net, inputs, folder, meta = imported
    if meta["name"] == "symbol_module":
        text = json.loads((folder / meta["symbol"]).read_text())
        for node in text["nodes"]:
            if node["op"] == "Dropout":
                node["attrs"]["p"] = "0"
        names = [one["name"] for one in meta["inputs"]]
        net = gluon.SymbolBlock(sym.fromjson(json.dumps(text)), [sym.var(name) for name in names])
        net.collect_params().load(str(folder / meta["params"]))
    expected = numpy.load(folder / "gradients.npz")
    with autograd.record():
        out = net(*inputs)
        head = out
        if "loss" in expected:
            head = gluon.loss.SoftmaxCrossEntropyLoss()(out, nd.array([0, 3, 4, 1])).mean()
    head.backward()
    close(
        head.reshape(expected["loss"].shape) if "loss" in expected else out,
        expected["loss"] if "loss" in expected else expected["train_output"],
    )
    checked = 0
    for name, param in net.collect_params().items():
        if f"grad:{name}" in expected and param.grad_req != "null":
            close(param.grad(), expected[f"grad:{name}"], name)
            checked += 1
        if f"after:{name}" in expected:
            close(param.data(), expected[f"after:{name}"], name)
    assert checked >= 4


@pytest.mark.parametrize("name", NETWORKS)
def test_json_comes_back_byte_for_byte(name):
    folder = recorded.network(name)
    file = folder / json.loads((folder / "meta.json").read_text())["symbol"]
    text = file.read_text(encoding="utf-8")
    if "is_np_shape" in text:
        npx.set_np()
    try:
        assert sym.fromjson(text).tojson() == text
    finally:
        npx.reset_np()


BUILT = """
import sys, numpy
sys.path[:0] = {folders!r}
import test_interop_networks as t
from headrace import nd, np, npx
from headrace.gluon import nn
folder = {folder!r}
if {np!r}:
    npx.set_np()
net = nn.HybridSequential(prefix={prefix!r})
with net.name_scope():
    net.add(*getattr(t, {name!r})())
net.initialize()
net.hybridize()
net((np if {np!r} else nd).array(numpy.load(folder + "/input0.npy")))
net.collect_params().load(folder + "/" + {name!r} + "-0000.params")
net.export({out!r})
"""


@pytest.mark.parametrize("name", ["mlp_np", "lenet", "resnet_thin"])
def test_exports_equal_mxnets(tmp_path, name):
    folder = recorded.network(name)
    program = BUILT.format(
        folders=[str(pathlib.Path(__file__).parent), str(pathlib.Path(recorded.__file__).parent)],
        folder=str(folder),
        np=name.endswith("np"),
        prefix=name.partition("_")[0] + "_",
        name=name,
        out=str(tmp_path / name),
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    params = f"{name}-0000.params"
    assert (tmp_path / params).read_bytes() == (folder / params).read_bytes()
    ours, theirs = (one / f"{name}-symbol.json" for one in (tmp_path, folder))
    # MXNet counts how often the writing process used a running statistic.
    assert ours.read_text() == re.sub(r"(\[\d+, 0), 2\]", r"\1, 1]", theirs.read_text())


@pytest.mark.parametrize("imported", ["lenet", "resnet_thin", "foreach_loop"], indirect=True)
def test_mxnet_reads_our_exports(imported, mxnet_peer, tmp_path):
    net, inputs, folder, meta = imported
    outputs = net(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    net.export(str(tmp_path / "net"))
    theirs = mxnet_peer(f"""
import json, numpy, mxnet as mx
path, names = {str(tmp_path / "net")!r}, {[i["name"] for i in meta["inputs"]]!r}
net = mx.gluon.SymbolBlock.imports(path + "-symbol.json", names, path + "-0000.params")
files = {[str(folder / i["file"]) for i in meta["inputs"]]!r}
out = net(*[mx.nd.array(numpy.load(file)) for file in files])
print(json.dumps([o.asnumpy().tolist() for o in (out if isinstance(out, (list, tuple)) else [out])]))
""")
    for ours, other in zip(outputs, theirs, strict=True):
        close(ours, numpy.array(other, dtype="float32"))
