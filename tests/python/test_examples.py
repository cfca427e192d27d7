"""The examples of a first course run and learn what they should."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def last_number(arguments, label):
    """The number after `label` in the last line that a program prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(rf"{label}: (\d+\.\d+)", done.stdout.splitlines()[-1])
    assert found, done.stdout
    return float(found[1])


@pytest.mark.parametrize("name", ["linear_regression_scratch", "linear_regression_concise"])
def test_linear_regression(name):
    loss = last_number(["-m", "headrace.mxnet", EXAMPLES / "mxnet" / f"{name}.py"], "final loss")
    assert 0.00003 < loss < 0.00007  # the noise in the data is 0.01: half its square is 0.00005


@pytest.mark.parametrize(
    ("name", "wanted"), [("softmax_regression_scratch", 0.88), ("mlp_scratch", 0.9), ("mlp_concise", 0.91)]
)
def test_digits(name, wanted):
    accuracy = last_number(["-m", "headrace.mxnet", EXAMPLES / "mxnet" / f"{name}.py"], "test accuracy")
    assert wanted <= accuracy <= 1


def test_several_workers():
    launcher = ["-m", "headrace.launch", "-n", "2", sys.executable, "-m", "headrace.mxnet"]
    program = EXAMPLES / "mxnet" / "train_workers.py"
    accuracy = last_number([*launcher, program, "--epochs", 8], r"\[worker 0\] test accuracy")
    assert 0.85 <= accuracy <= 1


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun (openmpi-bin)")
def test_horovod():
    launcher = ["-m", "headrace.launch", "--mpi", "-n", "2", sys.executable, "-m", "headrace.mxnet"]
    program = EXAMPLES / "mxnet" / "train_horovod.py"
    accuracy = last_number([*launcher, program, "--epochs", 4], r"\[worker 0\] test accuracy")
    assert 0.85 <= accuracy <= 1


def test_module():
    program = EXAMPLES / "mxnet" / "train_mlp_module.py"
    accuracy = last_number(["-m", "headrace.mxnet", program, "--epochs", 4], "test accuracy")
    assert 0.85 <= accuracy <= 1


@pytest.mark.slow
def test_lenet():
    accuracy = last_number(["-m", "headrace.mxnet", EXAMPLES / "mxnet" / "train_lenet.py"], "test accuracy")
    assert 0.98 <= accuracy <= 1


@pytest.mark.parametrize(
    ("name", "epochs", "samples", "wanted"),
    [("train_lenet", 3, 1000, 0.85), ("train_resnet18", 2, 1500, 0.6)],
)
def test_convolutional_networks(name, epochs, samples, wanted):
    program = EXAMPLES / "mxnet" / f"{name}.py"
    options = ["--epochs", epochs, "--samples", samples]
    accuracy = last_number(["-m", "headrace.mxnet", program, *options], "test accuracy")
    assert wanted <= accuracy <= 1


@pytest.mark.parametrize("count", [1, 3])
def test_data_parallel_training(count):
    program = EXAMPLES / "mxnet" / "train_data_parallel.py"
    options = ["--epochs", 2, "--num-devices", count, "--ctx", "cpu"]
    accuracy = last_number(["-m", "headrace.mxnet", program, *options], "test accuracy")
    assert 0.6 <= accuracy <= 1


@pytest.mark.parametrize("name", ["async_03", "async_10"])
def test_asynchronous_computation(name):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "python" / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *timings, values = done.stdout.splitlines()
    assert len(timings) in (3, 4)
    assert all(re.fullmatch(r"[\w, ]+: \d+\.\d{4} sec", line) for line in timings)
    assert values == "array([[3., 3.]])"
