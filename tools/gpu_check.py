"""Tries the CUDA plug-in on a machine with a GPU, most telling steps first.

Usage: gpu_check.py [REPORT.json] [-j PROCESSES] [-k WORDS]

Time on such a machine may be short: steps share the GPU, those that take times come last, alone, and the
report is written anew after each. With the release build: HEADRACE_CUDA=1 PYTHONPATH=build/release/python
python tools/gpu_check.py. With HEADRACE_CUDA_DRIVER and its like of the stand-in (docs/cuda.md) it tries
itself.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
TESTS = ROOT / "build/release/tests/test_cuda"
MEGA = 1 << 20


def try_kernels() -> dict[str, Any]:
    """A reduction, rows, a product, indices, sorting and draws, each beside the host."""
    import headrace as mx
    from headrace import nd

    def results(context: mx.Context) -> dict[str, Any]:
        mx.random.seed(3)
        x = (nd.arange(64 * 96).reshape((64, 96)) % 11 / 11).as_in_context(context)
        rows = nd.array([3, 0, 63, 3], ctx=context)
        return {
            "sum over rows": x.sum(axis=0),
            "sum over columns": x.sum(axis=1),
            "norm": x.norm(),
            "argmax": x.argmax(axis=1),
            "softmax": nd.softmax(x),
            "layer norm": nd.LayerNorm(x, x[0], x[1]),
            "float32 product": nd.dot(x, x, transpose_b=True),
            "float64 product": nd.dot(x.astype("float64"), x.astype("float64"), transpose_a=True),
            "float16 product": nd.dot(x.astype("float16"), x.astype("float16"), transpose_b=True),
            "layer with bias": nd.FullyConnected(x, x[:8], x[0][:8], num_hidden=8),
            "batch of products": nd.batch_dot(x.reshape((4, 16, 96)), x.reshape((4, 96, 16))),
            "take": nd.take(x, rows),
            "sort": nd.sort(x, axis=0),
            "topk": nd.topk(x.reshape((-1,)), k=50),
            "argsort": nd.argsort(x.reshape((2, -1))),
            "cumsum": nd.cumsum(x, axis=1),
            "gather_nd": nd.gather_nd(x, nd.stack(rows, rows)),
            "pad": nd.pad(x.reshape((1, 4, 16, 96)), mode="reflect", pad_width=(0, 0, 0, 0, 3, 3, 2, 2)),
            "resize": nd.contrib.BilinearResize2D(x.reshape((1, 4, 16, 96)), height=30, width=70),
            "CTC loss": nd.CTCLoss(
                x.reshape((16, 4, 96)), nd.array([[1, 2, 2], [3, 1, 0], [4, 5, 6], [7, 0, 0]], ctx=context)
            ),
            "uniform": nd.random.uniform(shape=(1000,), ctx=context),
            "normal": nd.random.normal(shape=(1000,), ctx=context),
        }

    here, there, report = results(mx.cpu()), results(mx.gpu(0)), {}
    for name, expected in here.items():
        try:
            error = abs(there[name].asnumpy().astype("float64") - expected.asnumpy().astype("float64")).max()
            report[name] = float(error)
        except Exception as failure:  # the others are tried all the same
            report[name] = str(failure)[-1000:]
    limits = {"float16 product": 0.05}
    wrong = {
        name: error
        for name, error in report.items()
        if isinstance(error, str) or not error < limits.get(name, 1e-4)
    }
    assert not wrong, report
    return {"largest errors": report, "computed on the host": mx.runtime.detours()}


def try_formula() -> dict[str, Any]:
    """One kernel, and the copies around it."""
    import headrace as mx

    x = mx.nd.arange(1000, ctx=mx.gpu(0))
    error = abs(mx.nd.exp(x / 1000).asnumpy() - mx.nd.exp(x.as_in_context(mx.cpu()) / 1000).asnumpy()).max()
    assert error < 1e-5, error
    return {"gpus": mx.context.num_gpus(), "largest error": float(error)}


def run_tests(chosen: str) -> dict[str, Any]:
    """Tests of the plug-in in C++ that hold on any device."""
    environment = {
        "HEADRACE_CUDA_DRIVER": "libcuda.so.1",
        "HEADRACE_CUDA_COMPILER": "",
        "HEADRACE_CUDA_DNN": "",
        "HEADRACE_CUDA_SOLVER": "",
        "HEADRACE_CUDA_NCCL": "",
        **os.environ,
    }
    done = subprocess.run(
        [TESTS, "--gtest_brief=1", f"--gtest_filter={chosen}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return {"said": done.stdout.strip().splitlines()[-1]}


def try_decompositions() -> dict[str, Any]:
    """Factors, eigenvalues and singular values of single matrices and of stacks, put together again."""
    import numpy

    import headrace as mx
    from headrace import np

    report: dict[str, float] = {}

    def note(name: str, found: Any, expected: Any) -> None:
        report[name] = float(abs(found - expected).max() / abs(expected).max())

    for dtype, limit in (("float32", 1e-4), ("float64", 1e-11)):
        for shape in ((5, 7, 7), (64, 64), (3, 40, 40), (257, 257)):
            a = numpy.random.default_rng(1).normal(size=shape).astype(dtype)
            symmetric = a + numpy.swapaxes(a, -1, -2)
            with mx.gpu(0):
                values, vectors = (x.asnumpy() for x in np.linalg.eigh(np.array(symmetric)))
                left, singular, right = (x.asnumpy() for x in np.linalg.svd(np.array(a)))
                inverse = np.linalg.inv(np.array(a)).asnumpy()
            turned = numpy.swapaxes(vectors, -1, -2)
            note(f"eigh, {dtype}, {shape}", vectors * values[..., None, :] @ turned, symmetric)
            note(f"svd, {dtype}, {shape}", left * singular[..., None, :] @ right, a)
            note(f"inv, {dtype}, {shape}", inverse, numpy.linalg.inv(a))
        wrong = {name: error for name, error in report.items() if dtype in name and not error < limit}
        assert not wrong, wrong
    return {"largest error": max(report.values()), "computed on the host": mx.runtime.detours()}


def try_networks() -> dict[str, Any]:
    """Networks of the zoo beside the host."""
    import headrace as mx

    report = {}
    names = {
        "mobilenet0.25": 64,
        "resnet18_v2": 64,
        "squeezenet1.0": 64,
        "densenet121": 224,
        "inceptionv3": 299,
    }
    for name, edge in list(names.items())[: 1 if on_stand_in() else None]:
        mx.random.seed(2)
        net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
        net.initialize(mx.init.Xavier())
        data = mx.nd.random.uniform(shape=(2, 3, edge, edge))
        here = net(data).asnumpy()
        net.collect_params().reset_ctx(mx.gpu(0))
        net.hybridize()
        there = net(data.as_in_context(mx.gpu(0))).asnumpy()
        report[name] = float(abs(there - here).max() / abs(here).max())
    assert max(report.values()) < 1e-4, report
    return {"largest errors": report, "computed on the host": mx.runtime.detours()}


def try_training() -> dict[str, Any]:
    """Twenty steps of a small convolutional network beside the host, and what the host had to compute."""
    import headrace as mx
    from headrace import autograd, gluon, nd

    def losses(context: mx.Context) -> list[float]:
        mx.random.seed(7)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.MaxPool2D(), gluon.nn.Dense(10))
        net.initialize(mx.init.Xavier(), ctx=context)
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        data = nd.random.uniform(shape=(32, 1, 12, 12)).as_in_context(context)
        labels = (nd.arange(32) % 10).as_in_context(context)
        loss_of, found = gluon.loss.SoftmaxCrossEntropyLoss(), []
        for _ in range(20):
            with autograd.record():
                loss = loss_of(net(data), labels)
            loss.backward()
            trainer.step(32)
            found.append(float(loss.mean().asscalar()))
        return found

    here, there = losses(mx.cpu()), losses(mx.gpu(0))
    error = max(abs(a - b) / abs(a) for a, b in zip(here, there))
    assert error < 1e-3, (here, there)
    return {"largest relative error": error, "computed on the host": mx.runtime.detours()}


def seconds(work: Callable[[], Any], count: int) -> float:
    work().wait_to_read()
    start = time.perf_counter()
    for _ in range(count):
        last = work()
    last.wait_to_read()
    return (time.perf_counter() - start) / count


def on_stand_in() -> bool:
    return "stand_in" in os.environ.get("HEADRACE_CUDA_DRIVER", "")


def measure_layers() -> dict[str, Any]:
    """TFLOPS of a convolution and of its gradients, milliseconds of a step of an LSTM."""
    import headrace as mx
    from headrace import autograd, gluon

    images, edge, channels = (2, 4, 8) if on_stand_in() else (64, 56, 64)
    report = {}

    def of_convolution(dtype: str, trains: bool) -> float:
        layer = gluon.nn.Conv2D(channels, 3, padding=1, use_bias=False, in_channels=channels)
        layer.initialize(ctx=mx.gpu(0))
        layer.cast(dtype)
        data = mx.nd.ones((images, channels, edge, edge), ctx=mx.gpu(0), dtype=dtype)
        data.attach_grad()

        def work() -> Any:
            if not trains:
                return layer(data)
            with autograd.record():
                result = layer(data)
            result.backward()
            return data.grad

        operations = 18 * images * edge**2 * channels**2 * (3 if trains else 1)
        return operations / 1e12 / seconds(work, 10)

    for dtype in ("float32", "float16"):
        report[f"convolution, {dtype}, TFLOPS"] = of_convolution(dtype, False)
        report[f"convolution with gradients, {dtype}, TFLOPS"] = of_convolution(dtype, True)

    steps, size = (3, 4) if on_stand_in() else (35, 650)

    def of_recurrence(hybrid: bool) -> float:
        layer = gluon.rnn.LSTM(size, 2)
        layer.initialize(ctx=mx.gpu(0))
        layer.hybridize(hybrid)
        data = mx.nd.ones((steps, 32, size), ctx=mx.gpu(0))
        data.attach_grad()

        def work() -> Any:
            with autograd.record():
                result = layer(data)
            result.backward()
            return data.grad

        return 1e3 * seconds(work, 5)

    report["LSTM of 2 layers with gradients, ms"] = of_recurrence(False)
    report["the same, hybridized, ms"] = of_recurrence(True)
    return {**report, "computed on the host": mx.runtime.detours()}


def measure() -> dict[str, Any]:
    """Microseconds of a small operation, GB/s of a large one and of copies."""
    import headrace as mx

    edge = 64 if on_stand_in() else 4096

    def of_products(dtype: str) -> float:
        square = mx.nd.zeros((edge, edge), ctx=mx.gpu(0), dtype=dtype)
        return 2 * edge**3 / 1e12 / seconds(lambda: mx.nd.dot(square, square), 10)

    small = mx.nd.zeros((16,), ctx=mx.gpu(0))
    large = mx.nd.zeros((16 * MEGA,), ctx=mx.gpu(0))
    rows = mx.nd.zeros((16 * 1024, 1024), ctx=mx.gpu(0))
    host = mx.nd.zeros((16 * MEGA,))
    return {
        "x + 1 of 16 elements, us": 1e6 * seconds(lambda: small + 1, 2000),
        "x + 1 of 16M elements, GB/s": 128 * MEGA / 1e9 / seconds(lambda: large + 1, 20),
        "sum of 16M elements, GB/s": 64 * MEGA / 1e9 / seconds(large.sum, 20),
        "softmax of 16M elements, GB/s": 128 * MEGA / 1e9 / seconds(lambda: mx.nd.softmax(rows), 20),
        f"product of {edge} squared, float32, TFLOPS": of_products("float32"),
        f"product of {edge} squared, float16, TFLOPS": of_products("float16"),
        "host to device, GB/s": 64 * MEGA / 1e9 / seconds(lambda: host.copyto(mx.gpu(0)), 5),
        "device to host, GB/s": 64 * MEGA / 1e9 / seconds(lambda: large.copyto(mx.cpu()), 5),
    }


GRAPHS = """
import json
import sys
import time

import headrace as mx
from headrace import autograd, gluon

rounds = int(sys.argv[1])
net = gluon.nn.HybridSequential()
for _ in range(12):
    net.add(gluon.nn.Dense(64, activation="tanh"), gluon.nn.LayerNorm())
net.initialize(mx.init.Xavier(), ctx=mx.gpu(0))
net.hybridize(static_alloc=True, static_shape=True)
data = mx.nd.arange(32 * 64, ctx=mx.gpu(0)).reshape((32, 64)) % 17 / 17

def forward():
    return net(data)

def both():
    with autograd.record():
        result = net(data)
    result.backward()
    return result

report = {}
for name, work in {"forward": forward, "with gradients": both}.items():
    for waits in (True, False):
        for _ in range(8):
            work().wait_to_read()
        start = time.perf_counter()
        for _ in range(rounds):
            last = work()
            if waits:
                last.wait_to_read()
        mx.nd.waitall()
        microseconds = 1e6 / rounds * (time.perf_counter() - start)
        report[f"{name}, {'waiting' if waits else 'not waiting'}, us"] = microseconds
gradients = [p.grad().asnumpy().astype("float64").sum() for p in net.collect_params().values()]
print(json.dumps({**report, "graphs": mx.runtime.cuda_graphs(), "results": [float(g) for g in gradients]}))
"""


def try_graphs() -> dict[str, Any]:
    """Twenty-four small layers with and without CUDA graphs: the same bits, and what a call takes."""
    said = {}
    for enabled in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", GRAPHS, "5" if on_stand_in() else "200"],
            env={**os.environ, "MXNET_ENABLE_CUDA_GRAPHS": enabled},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        said[enabled] = json.loads(done.stdout)
    assert said["0"].pop("results") == said["1"].pop("results"), "graphs compute something else"
    assert said["1"]["graphs"]["replayed"] > 0, said
    return {"launched one by one": said["0"], "with graphs": said["1"]}


STEPS: dict[str, Callable[[], dict[str, Any]]] = {
    "formula": try_formula,
    "kernels": try_kernels,
    "devices": lambda: run_tests("CudaDevices.*-*AreCounted*:*RunsOut*"),
    "NCCL": lambda: run_tests("CudaGangs.*"),  # these two, with one GPU: the tests that need no more
    "NCCL between ranks": lambda: run_tests("CudaRankGangs.*"),
    "training": try_training,
    "decompositions of matrices": lambda: run_tests("CudaSolverLibrary*:CudaDecompositions*"),
    "decompositions beside NumPy": try_decompositions,
    "graphs in C++": lambda: run_tests("CudaGraphs.*"),
    "operators": lambda: run_tests("Ways/OperatorsOnCuda*/0"),
    "operators with strides": lambda: run_tests("Ways/OperatorsOnCuda*/1"),
    "gradients of operators": lambda: run_tests("Ways/OperatorsOnCuda*/2"),
    "convolutions and recurrent layers": lambda: run_tests("CudaDnn*"),
    "kernels in every dtype": lambda: run_tests("CudaKernels*"),
    "moves, draws and order": lambda: run_tests(
        "*-CudaCompiler*:KernelCache*:CudnnPlans*:CudaDecompositions*:CudaSolverLibrary*:CudaDevices*:CudaDnn*:"
        "CudaGangs*:CudaGraphs*:CudaRankGangs*:CudaKernels*:Ways/*"
    ),
    "networks": try_networks,
    "children": lambda: run_tests("CudaDevicesDeathTest.ChildrenHaveNoGpu"),
}
TIMED: dict[str, Callable[[], dict[str, Any]]] = {
    "graphs": try_graphs,
    "speed": measure,
    "speed of layers": measure_layers,
}


def outcome_here(step: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"ok": True, **step()}
    except Exception:
        return {"ok": False, "why": traceback.format_exc()[-6000:]}


def outcome_of(name: str) -> dict[str, Any]:
    """Of a step in a process of its own, with all that it starts; more than ten minutes are too many."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, __file__, "--step", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = child.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        said, _ = child.communicate()
    last = said.strip().rpartition("\n")[2]
    outcome = json.loads(last) if last.startswith("{") else {"ok": False, "why": said[-6000:]}
    return {**outcome, "seconds": round(time.perf_counter() - start, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="?", type=pathlib.Path, default="gpu_check.json")
    parser.add_argument(
        "-j", type=int, default=os.cpu_count(), help="steps at once (default: one for each core)"
    )
    parser.add_argument("-k", default="", help="steps whose name contains one of these words, split at |")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        print("\n" + json.dumps(outcome_here({**STEPS, **TIMED}[arguments.step])))
        return 0
    report: dict[str, Any] = {}
    for steps, processes in ((STEPS, arguments.j), (TIMED, 1)):
        chosen = [name for name in steps if any(word in name for word in arguments.k.split("|"))]
        with ThreadPoolExecutor(processes) as pool:
            names = {pool.submit(outcome_of, name): name for name in chosen}
            for done in as_completed(names):
                name, outcome = names[done], done.result()
                report[name] = outcome
                arguments.report.write_text(json.dumps(report, indent=2) + "\n")
                print(f"{name}: {'ok' if outcome['ok'] else 'FAILED'} ({outcome['seconds']} s)", flush=True)
    return 0 if all(outcome["ok"] for outcome in report.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
