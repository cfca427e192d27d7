"""The examples of a first course run and learn what they should."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

needs_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun (openmpi-bin)")


def last_number(arguments, label):
    """The number after `label` in the last line that a program prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "[worker 1]" not in done.stdout
    found = re.fullmatch(rf"{label}: (\d+\.\d+)", done.stdout.splitlines()[-1])
    assert found, done.stdout
    return float(found[1])


def accuracy_of_workers(launcher, name, *options):
    """Of a job of two workers, of which the first alone prints, and which all end well."""
    launcher = ["-m", "headrace.launch", "-n", "2", *launcher, sys.executable, "-m", "headrace.mxnet"]
    return last_number([*launcher, EXAMPLES / "mxnet" / name, *options], r"\[worker 0\] test accuracy")


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
    assert 0.85 <= accuracy_of_workers([], "train_workers.py", "--epochs", 8) <= 1


@pytest.mark.parametrize(
    ("launcher", "kvstore"), [([], "dist_sync"), pytest.param(["--mpi"], "mpi", marks=needs_mpi)]
)
def test_resnet_of_workers(launcher, kvstore):
    options = ["--kvstore", kvstore, "--epochs", 3, "--samples", 1000]
    assert 0.6 <= accuracy_of_workers(launcher, "train_resnet18.py", *options) <= 1


def test_lenet_of_workers_and_servers():
    options = ["--kvstore", "dist_sync", "--epochs", 3, "--samples", 1000]
    assert 0.85 <= accuracy_of_workers(["-s", "2"], "train_lenet.py", *options) <= 1


def test_sparse_features_of_workers():
    options = ["--epochs", 2, "--texts", 2000]
    assert 0.9 <= accuracy_of_workers([], "train_sparse_workers.py", *options) <= 1


@needs_mpi
def test_horovod():
    accuracy = accuracy_of_workers(["--mpi"], "train_horovod.py", "--epochs", 6)
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
