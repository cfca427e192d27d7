"""Programs of a course on asynchronous computation, written for MXNet, run; long loops are shorter here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TIME = r"\d+\.\d+"


def run(arguments, timeout=900, cwd=None, env=None):
    path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def loop(batches, line):
    return [line.format(batch) for batch in range(50, batches + 1, 50)]


PROGRAM_01 = [
    rf"Workloads are queued\. time: {TIME} sec",
    *[rf"time: {TIME} sec"] * 3,
    *(loop(100, rf"batch {{}}, time {TIME} sec") + [r"increased memory: -?\d+\.\d+ MB"]) * 2,
]
PROGRAM_02 = [
    *[rf"{name}: {TIME} sec" for name in ("numpy", r"mxnet\.np", "Done")],
    r"array\(\[\[3\., 3\.\]\]\)",
    *[
        rf"{name}: {TIME} sec"
        for name in ("waitall", "wait_to_read", "numpy conversion", "scalar conversion")
    ],
    *[rf"{name}: {TIME} sec" for name in ("synchronous", "asynchronous")],
    *(
        loop(50, rf"batch {{}}, time {TIME} sec")
        + [rf"time per epoch: {TIME} sec", r"increased memory: -?\d+\.\d+ MB"]
    )
    * 2,
]
PROGRAM_06 = [
    rf"numpy : {TIME} sec",
    rf"mxnet\.np: {TIME} sec",
    rf"Done in {TIME} sec",
    r"array\(\[\[3\., 3\.\]\]\)",
    rf"waitall : {TIME} sec",
    *[rf"{name}: {TIME} sec" for name in ("wait_to_read", "numpy conversion", "scalar conversion")],
    rf"Synchronous : {TIME} sec",
    rf"Asynchronous: {TIME} sec",
    *(
        loop(50, rf"batch {{}}, time {TIME} sec")
        + [rf"Time per epoch: {TIME} sec", r"increased memory: -?\d+\.\d+ MB"]
    )
    * 2,
]


def printed_by(program, tmp_path, edit=lambda text: text, env=None):
    """What a program of the collection prints in a folder of its own, its text changed by `edit`."""
    (path,) = (SUPPORT / "seed_programs").glob(f"{program}_*_mxnet.py")
    copy = tmp_path / path.name
    copy.write_text(edit(path.read_text()))
    return run(["-m", "headrace.mxnet", str(copy)], cwd=tmp_path, env=env)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "lines"), [("01", PROGRAM_01), ("02", PROGRAM_02), ("06", PROGRAM_06)], ids=["01", "02", "06"]
)
def test_program(number, lines, tmp_path):
    """All they do, of the long loops fewer batches."""

    def shorter(text):
        return text.replace("= 150, 1024", "= 50, 1024")

    printed = printed_by(number, tmp_path, shorter).splitlines()
    assert len(printed) == len(lines), "\n".join(printed)
    for line, pattern in zip(printed, lines):
        assert re.fullmatch(pattern, line)


def test_compilers_and_interpreters(tmp_path):
    """The book's network before and after hybridize, exported, and a block whose symbols are printed;
    the last numbers are those in the book.
    """
    lines = printed_by("05", tmp_path).splitlines()
    assert re.fullmatch(rf"Without hybridization: {TIME} sec", lines[-25])
    book = "array([[0.00097611, 0.00019453]])"
    assert [line for line in lines if line == book] == [book] * 3
    assert "value x:  <_Symbol data>" in lines
    assert "result :  <_Symbol hybridnet0_relu0>" in lines
    # The last digits are the processor's.
    shared = re.compile(r"array\(\[\[ 0\.1652619\d, -0\.1400563\d\]\]\)")
    assert len([line for line in lines if shared.fullmatch(line)]) == 2
    assert sorted(path.name for path in tmp_path.glob("my_mlp*")) == [
        "my_mlp-0000.params",
        "my_mlp-symbol.json",
    ]


def smaller_matrices(text):
    """The book's are for a GPU."""
    return text.replace("(6000, 6000)", "(800, 800)").replace("(2000, 2000)", "(600, 600)")


def check_times(printed, names):
    lines = printed.splitlines()
    assert len(lines) == len(names)
    for line, name in zip(lines, names):
        assert re.fullmatch(rf"{name}: {TIME} sec", line)


def test_automatic_parallelism(tmp_path):
    names = ["CPU time", "GPU time", r"CPU&GPU ", "Run on GPU", "Copy to CPU", "Run on GPU and copy to CPU"]
    check_times(printed_by("07", tmp_path, smaller_matrices), names)


def test_automatic_parallelism_of_the_first_edition(tmp_path):
    names = [r"Run on CPU\.", r"Then run on GPU\.", r"Run on both CPU and GPU in parallel\."]
    names += [r"Run on GPU\.", r"Then copy to CPU\.", r"Run and copy in parallel\."]
    check_times(printed_by("04", tmp_path, smaller_matrices, {"HEADRACE_SIM_GPUS": "1"}), names)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("cpu", 2), ("gpu", 4)])
@pytest.mark.parametrize("number", ["08", "09"])
def test_training_on_several_devices(number, kind, count, tmp_path):
    """LeNet from scratch and ResNet-18, on one device and then on several; two are the book's own. The GPUs
    are simulated; ResNet-18 gets two epochs instead of ten.
    """

    def smaller(text):
        return text.replace("num_gpus=2", f"num_gpus={count}").replace("d2l.Timer(), 10", "d2l.Timer(), 2")

    env = {"HEADRACE_SIM_GPUS": str(count)} if kind == "gpu" else None
    printed = printed_by(number, tmp_path, smaller, env)
    one, several = printed.splitlines()[-2:]
    devices = ", ".join(rf"{kind}\({i}\)" for i in range(count))
    assert re.fullmatch(rf"test acc: \d\.\d\d, {TIME} sec/epoch on \[{kind}\(0\)\]", one)
    assert re.fullmatch(rf"test acc: \d\.\d\d, {TIME} sec/epoch on \[{devices}\]", several)


TRAINING = """
import sys
import headrace
from headrace import autograd, cpu, engine, gluon, nd
from headrace.gluon import nn

net = nn.Sequential()
net.add(nn.Dense(2048, activation="relu"), nn.Dense(512, activation="relu"), nn.Dense(1))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.005})
loss_of = gluon.loss.L2Loss()
for _ in range(40):
    x, y = nd.random.normal(shape=(1024, 512)), nd.ones((1024,))
    with autograd.record():
        loss = loss_of(net(x), y)
    if sys.argv[1] == "step by step":
        loss.mean().asscalar()
    loss.backward()
    trainer.step(1024)
nd.waitall()
print(engine.memory_stats()["peak"])
"""


@pytest.mark.slow
def test_running_ahead_costs_no_memory():
    """Results get memory when they are computed: a loop that never waits peaks where one in step does.

    Both peaks depend by some percent on which of two independent operations comes first.
    """
    in_step = max(int(run(["-c", TRAINING, "step by step"])) for _ in range(2))
    ahead = min(int(run(["-c", TRAINING, "running ahead"])) for _ in range(2))
    assert ahead <= 1.05 * in_step
