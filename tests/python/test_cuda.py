"""Programs on the GPUs of the plug-in, with what stands in for NVIDIA's driver (docs/cuda.md)."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
STAND_IN = ROOT / "build" / "release" / "tests" / "libcuda_stand_in.so"

pytestmark = pytest.mark.skipif(not STAND_IN.exists(), reason="the stand-in for CUDA's driver is not built")

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
detours = mx.runtime.detours()
assert any(name.startswith("Convolution: computed on the host") for name in detours), detours
assert not any("adam" in name for name in detours), detours
print("trained")
"""


def run(program, tmp_path, **variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_SIM_")}
    environment = {
        **inherited,
        "HEADRACE_CUDA": "1",
        "HEADRACE_CUDA_DRIVER": str(STAND_IN),
        "HEADRACE_CUDA_COMPILER": str(STAND_IN),
        "HEADRACE_CUDA_CACHE": str(ROOT / "build" / "release" / "cuda" / "kernels"),
        "HEADRACE_LOG": "error",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.slow
def test_networks_train_as_on_the_host(tmp_path):
    done = run(TRAIN, tmp_path)
    assert done.stdout == "trained\n", done.stderr


def test_without_being_asked_for_there_are_none(tmp_path):
    program = "import headrace as mx; print(mx.context.num_gpus())"
    assert run(program, tmp_path, HEADRACE_CUDA="0").stdout == "0\n"


def test_a_driver_that_is_not_there_is_named_where_a_gpu_is_used(tmp_path):
    program = "import headrace as mx; print(mx.context.num_gpus()); mx.nd.ones((2,), ctx=mx.gpu(0))"
    done = run(program, tmp_path, HEADRACE_CUDA_DRIVER=str(tmp_path / "libcuda.so.1"))
    assert done.stdout == "0\n", done.stderr
    assert "NVIDIA's driver cannot be loaded" in done.stderr
