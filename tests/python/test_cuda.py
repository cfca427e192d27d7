"""Programs on the GPUs of the plug-in, with what stands in for NVIDIA's driver (docs/cuda.md)."""

import pytest
from cuda_stand_in import needs_stand_in, run

pytestmark = needs_stand_in

TRAIN = """
import headrace as mx
from headrace import autograd, gluon, nd

def losses(contexts):
    mx.random.seed(7)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=contexts)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    data = nd.arange(8 * 36).reshape((8, 1, 6, 6)) / 100
    labels = nd.arange(8) % 3
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    split = gluon.utils.split_and_load
    found = []
    for _ in range(4):
        with autograd.record():
            pairs = zip(split(data, contexts), split(labels, contexts))
            parts = [loss_of(net(x), y) for x, y in pairs]
        autograd.backward(parts)
        trainer.step(8)
        found.append(sum(float(part.sum().asscalar()) for part in parts))
    return found

assert mx.context.num_gpus() == 2
here = losses([mx.cpu()])
for contexts in ([mx.gpu(0)], [mx.gpu(0), mx.gpu(1)]):
    there = losses(contexts)
    assert all(abs(a - b) < 1e-4 * abs(a) for a, b in zip(here, there)), (here, there)
assert here[-1] < here[0]
assert not mx.runtime.detours(), mx.runtime.detours()
assert "_eigen" in mx.runtime.operators_on_host()
assert "Convolution" not in mx.runtime.operators_on_host()
print("trained")
"""

ENCODE = """
import headrace as mx
from headrace import autograd, gluon, nd

class Encoder(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.words = gluon.nn.Embedding(20, 8)
        self.heads = gluon.nn.Dense(24, flatten=False)
        self.norms = [gluon.nn.LayerNorm(), gluon.nn.LayerNorm()]
        self.wide = gluon.nn.Dense(16, flatten=False, activation="relu")
        self.narrow = gluon.nn.Dense(8, flatten=False)
        self.drop = gluon.nn.Dropout(0.1)
        self.out = gluon.nn.Dense(3)
        for block in self.norms:
            self.register_child(block)

    def forward(self, tokens):
        x = self.words(tokens)
        query, key, value = nd.split(self.heads(x), num_outputs=3, axis=2)
        shares = nd.softmax(nd.batch_dot(query, key, transpose_b=True) / 8**0.5)
        x = self.norms[0](x + self.drop(nd.batch_dot(shares, value)))
        x = self.norms[1](x + self.narrow(self.wide(x)))
        return self.out(x.mean(axis=1))

def losses(context):
    mx.random.seed(5)
    net = Encoder()
    net.initialize(mx.init.Xavier(), ctx=context)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    tokens = (nd.arange(24).reshape((4, 6)) * 7 % 20).as_in_context(context)
    labels = (nd.arange(4) % 3).as_in_context(context)
    loss_of, found = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(4):
        with autograd.record():
            loss = loss_of(net(tokens), labels)
        loss.backward()
        trainer.step(4)
        found.append(float(loss.mean().asscalar()))
    return found

here, there = losses(mx.cpu()), losses(mx.gpu(0))
assert all(abs(a - b) < 1e-4 * abs(a) for a, b in zip(here, there)), (here, there)
assert not mx.runtime.detours(), mx.runtime.detours()
print("trained")
"""

# Lengths, projections and dropout between layers among them.
RECUR = """
import headrace as mx
from headrace import autograd, gluon, nd

def losses(name, make, context):
    mx.random.seed(5)
    net = make()
    net.initialize(mx.init.Xavier(), ctx=context)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    steps = (nd.arange(90).reshape((6, 3, 5)) * 7 % 11 / 11).as_in_context(context)
    lengths = nd.array([6, 2, 4], ctx=context)
    found = []
    for _ in range(3):
        with autograd.record():
            results = net(steps, sequence_length=lengths) if name == "lengths" else net(steps)
            loss = (results * results).sum()
        loss.backward()
        trainer.step(1)
        found.append(float(loss.asscalar()))
    return found

kinds = {
    "lstm": lambda: gluon.rnn.LSTM(4, 2, bidirectional=True, dropout=0.3),
    "projected": lambda: gluon.rnn.LSTM(4, projection_size=2),
    "gru": lambda: gluon.rnn.GRU(4, 2, bidirectional=True),
    "rnn": lambda: gluon.rnn.RNN(4, activation="tanh"),
    "lengths": lambda: gluon.rnn.LSTM(4, bidirectional=True, use_sequence_length=True),
}
for name, make in kinds.items():
    here, there = losses(name, make, mx.cpu()), losses(name, make, mx.gpu(0))
    assert all(abs(a - b) < 1e-4 * abs(a) for a, b in zip(here, there)), (name, here, there)
    assert not mx.runtime.detours(), (name, mx.runtime.detours())
print("trained")
"""


PREDICT = """
import headrace as mx
from headrace import gluon, nd

class Residual(gluon.HybridBlock):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = gluon.nn.Conv2D(channels, 3, padding=1), gluon.nn.Conv2D(channels, 1)
        self.norms = [gluon.nn.BatchNorm(), gluon.nn.BatchNorm()]
        for block in self.norms:
            self.register_child(block)

    def hybrid_forward(self, F, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + x)

def results(dtype, channels, context):
    mx.random.seed(5)
    net = Residual(channels)
    net.initialize(mx.init.Xavier(), ctx=context)
    net.cast(dtype)
    net.hybridize()
    x = (nd.arange(2 * channels * 30).reshape((2, channels, 5, 6)) * 7 % 11 / 5 - 1).as_in_context(context)
    return net(x.astype(dtype)).astype("float32").asnumpy()

for dtype, limit in (("float32", 1e-5), ("bfloat16", 0.05), ("float16", 0.01)):
    for channels in (3, 8):
        here, there = results(dtype, channels, mx.cpu()), results(dtype, channels, mx.gpu(0))
        assert abs(here - there).max() <= limit * abs(here).max(), (dtype, channels, here, there)
assert not mx.runtime.detours(), mx.runtime.detours()
print("predicted")
"""


def test_what_comes_after_a_convolution_is_one_pass_on_gpus(tmp_path):
    done = run(PREDICT, tmp_path)
    assert done.stdout == "predicted\n", done.stderr


@pytest.mark.parametrize(
    ("variables", "plans"),
    [
        ({"MXNET_ENFORCE_DETERMINISM": "0"}, 0),
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": "1"}, 0),  # one of the stand-in's may be used
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": "1", "MXNET_ENFORCE_DETERMINISM": "0"}, 2),
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": "2", "MXNET_ENFORCE_DETERMINISM": "0"}, 3),
    ],
)
def test_ways_to_convolve_are_tried_where_it_is_asked_for(tmp_path, variables, plans):
    done = run(PREDICT, tmp_path, HEADRACE_LOG="debug", **variables)
    assert done.stdout == "predicted\n", done.stderr
    tried = {line.split("plan ")[1][0] for line in done.stderr.splitlines() if "plan" in line}
    assert len(tried) == plans, done.stderr


REPEAT = """
import headrace as mx
from headrace import autograd, gluon, nd

def losses(context):
    mx.random.seed(5)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.LayerNorm(), gluon.nn.Dense(8), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=context)
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss_of, found = gluon.loss.SoftmaxCrossEntropyLoss(), []
    labels = (nd.arange(6) % 3).as_in_context(context)
    for step in range(20):
        data = nd.random.uniform(shape=(6, 5), ctx=mx.cpu()).as_in_context(context)
        with autograd.record():
            loss = loss_of(net(data), labels)
        loss.backward()
        trainer.step(6)
        found.append(float(loss.mean().asscalar()))
    return found

here, there = losses(mx.cpu()), losses(mx.gpu(0))
assert all(abs(a - b) < 1e-5 * abs(a) for a, b in zip(here, there)), (here, there)
print(mx.runtime.cuda_graphs()["replayed"] > 10)
"""


@pytest.mark.parametrize("enabled", [False, True])
def test_launches_that_come_again_are_replayed_where_it_is_asked_for(tmp_path, enabled):
    done = run(REPEAT, tmp_path, MXNET_ENABLE_CUDA_GRAPHS=str(int(enabled)))
    assert done.stdout == f"{enabled}\n", done.stdout + done.stderr


FIT = """
import headrace as mx
from headrace import gluon, nd

data, labels = nd.random.uniform(shape=(20, 6), ctx=mx.gpu(0)), nd.arange(20, ctx=mx.gpu(0)) % 3
loader = gluon.data.DataLoader(gluon.data.ArrayDataset(data, labels), 8)
assert [x.context for x, _ in loader] == [mx.gpu(0)] * 3
net = gluon.nn.Dense(3)
net.initialize(ctx=mx.gpu(0))
trainer, accuracy = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}), mx.metric.Accuracy()
estimator = gluon.contrib.estimator.Estimator(
    net, gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=accuracy, trainer=trainer, context=mx.gpu(0)
)
estimator.fit(loader, epochs=2)
assert accuracy.num_inst == 20
assert not mx.runtime.detours(), mx.runtime.detours()
print("trained")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [TRAIN, ENCODE, RECUR, FIT], ids=["convolutions", "encoder", "recurrent", "estimator"]
)
def test_networks_train_on_gpus_alone_as_on_the_host(program, tmp_path):
    done = run(program, tmp_path)
    assert done.stdout.endswith("trained\n"), done.stderr


PROFILE = """
import json

import headrace as mx
from headrace import gluon, nd

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.LayerNorm())
net.initialize(ctx=mx.gpu(0))
net.hybridize(static_alloc=True)
x = nd.ones((4, 6), ctx=mx.gpu(0))
net(x).wait_to_read()
mx.profiler.set_config(profile_all=True, filename="trace.json")
mx.profiler.set_state("run")
net(x).asnumpy()
mx.profiler.set_state("stop")
mx.profiler.dump()
events = json.load(open("trace.json"))["traceEvents"]
lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
ran = {e["name"]: e for e in events if e["ph"] == "X" and lanes[e["pid"], e["tid"]] == "gpu(0) compute"}
whole, parts = ran["CachedOp"], [ran[name] for name in ("FullyConnected", "tanh", "LayerNorm")]
assert whole["ts"] <= parts[0]["ts"] + 1 and sum(part["dur"] for part in parts) <= whole["dur"] + 1, ran
print("shown")
"""


def test_the_timeline_shows_when_a_gpu_ran_the_parts_of_a_graph(tmp_path):
    done = run(PROFILE, tmp_path)
    assert done.stdout == "shown\n", done.stderr


def test_without_being_asked_for_there_are_none(tmp_path):
    program = "import headrace as mx; print(mx.context.num_gpus())"
    assert run(program, tmp_path, HEADRACE_CUDA="0").stdout == "0\n"


def test_a_driver_that_is_not_there_is_named_where_a_gpu_is_used(tmp_path):
    program = "import headrace as mx; print(mx.context.num_gpus()); mx.nd.ones((2,), ctx=mx.gpu(0))"
    done = run(program, tmp_path, HEADRACE_CUDA_DRIVER=str(tmp_path / "libcuda.so.1"))
    assert done.stdout == "0\n", done.stderr
    assert "NVIDIA's driver cannot be loaded" in done.stderr


MEMORY = """
import headrace as mx
from headrace import nd
from headrace.mxnet import test_utils

total = mx.context.gpu_memory_info(1)[1]
assert mx.runtime.gpu_properties(1) == ("stand-in", (9, 0), 2, total)
assert mx.context.num_gpus() == mx.util.get_gpu_count() == len(test_utils.list_gpus()) == 2
assert mx.util.get_gpu_memory(1) == (total, total)
x = nd.ones((1024, 1024), ctx=mx.gpu(1))
x.wait_to_read()
used = total - mx.context.gpu_memory_info(1)[0]
assert used >= 4 * 1024 * 1024, used
assert mx.context.gpu_memory_info(0) == (total, total)
del x
mx.nd.waitall()
mx.gpu(1).empty_cache()
assert mx.context.gpu_memory_info(1)[0] == total
assert [name for name in ("CUDA", "CUDNN", "NCCL") if mx.runtime.Features().is_enabled(name)] == ["CUDA"]
try:
    mx.context.gpu_memory_info(2)
except mx.MXNetError as error:
    print(error)
"""

CHOOSE = """
import headrace as mx
print(mx.context.num_gpus(), mx.context.num_gpus())
try:
    mx.nd.ones((2,), ctx=mx.gpu(0))
except mx.MXNetError as error:
    print(error)
"""


def test_memory_and_features_are_those_of_the_driver(tmp_path):
    done = run(MEMORY, tmp_path, HEADRACE_CUDA_DNN="none", HEADRACE_CUDA_NCCL="none")
    assert done.stdout == "gpu_memory_info: there is no gpu(2); 2 GPUs can be used\n", done.stderr


SIMULATE = """
import headrace as mx
try:
    mx.sim.configure(gpus=3)
except mx.MXNetError as error:
    print(error)
print(mx.context.num_gpus())
"""


def test_gpus_that_are_there_are_used_unless_others_are_simulated(tmp_path):
    count = "import headrace as mx; print(mx.context.num_gpus())"
    assert run(count, tmp_path, HEADRACE_CUDA="").stdout == "2\n"
    assert run(count, tmp_path, HEADRACE_CUDA="", HEADRACE_SIM_GPUS="3").stdout == "3\n"
    assert run(count, tmp_path, HEADRACE_CUDA="", HEADRACE_SIM_TOPOLOGY="p3").stdout == "8\n"
    assert run(count, tmp_path, HEADRACE_CUDA="1", HEADRACE_SIM_GPUS="3").stdout == "2\n"
    there = run(SIMULATE, tmp_path, HEADRACE_CUDA="").stdout
    assert "set HEADRACE_SIM_GPUS, or HEADRACE_CUDA=0" in there and there.endswith("2\n"), there
    assert run(SIMULATE, tmp_path, HEADRACE_CUDA="0").stdout == "3\n"


def test_a_machine_without_a_driver_has_no_gpus_and_may_simulate_some(tmp_path):
    none = {"HEADRACE_CUDA": "", "HEADRACE_CUDA_DRIVER": str(tmp_path / "libcuda.so.1")}
    assert run(CHOOSE, tmp_path, **none).stdout.startswith("0 0\ngpu(0): no such device; this machine has 0")
    assert run(SIMULATE, tmp_path, **none).stdout == "3\n"


FORK = """
import os
import headrace as mx

x = mx.nd.ones((2,))
x.wait_to_read()
if (child := os.fork()) == 0:
    os._exit(int(mx.nd.ones((2,), ctx=mx.gpu(0)).asnumpy().sum()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_that_has_used_no_gpu_may_be_forked_and_its_child_use_one(tmp_path):
    done = run(FORK, tmp_path, HEADRACE_CUDA="")
    assert done.stdout == "2\n", done.stderr


def test_a_driver_that_is_not_to_be_used_is_not_hinted_at(tmp_path):
    done = run(CHOOSE, tmp_path, HEADRACE_CUDA="0", HEADRACE_LOG="warn")
    assert "HEADRACE_CUDA" not in done.stdout + done.stderr
    assert "let the machine simulate GPUs" in done.stdout


WORKERS = """
import numpy
import headrace as mx
from headrace import gluon

images = numpy.zeros((6, 8, 8, 3), "uint8")
resized = gluon.data.ArrayDataset(images).transform(gluon.data.vision.transforms.Resize(4))
with mx.gpu(0):
    mx.nd.ones((2,)).wait_to_read()
    batches = list(gluon.data.DataLoader(resized, 3, num_workers=2))
print([(batch.shape, batch.context) for batch in batches])
"""


def test_worker_processes_make_batches_on_the_host(tmp_path):
    done = run(WORKERS, tmp_path)
    assert done.stdout == "[((3, 4, 4, 3), gpu(0)), ((3, 4, 4, 3), gpu(0))]\n", done.stderr
