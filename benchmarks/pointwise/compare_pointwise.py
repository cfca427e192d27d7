"""What does one element-by-element operation cost, tiny and large, beside NumPy and PyTorch?

``python benchmarks/pointwise/compare_pointwise.py`` runs the libraries in turn, each in its own process with
two threads, round after round, and prints the best microseconds of each. PyTorch is found in .peers (made by
``./dev peers``). Large operations make a new result each time; the copy is the memory traffic of `x + 1`.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).parents[2]
THREADS, ROUNDS, SECONDS_PER_CASE = 2, 3, 0.4
TINY_CALLS = 1000


def headrace_cases(tiny, large):
    from headrace import np, npx

    x, big, other = np.array(tiny), np.array(large), np.array(large)
    npx.waitall()

    def finished(call):
        return lambda: call().wait_to_read()

    return {
        "x + 1, (2, 2)": finished(lambda: x + 1),
        "x * x, (2, 2)": finished(lambda: x * x),
        "exp, (2, 2)": finished(lambda: np.exp(x)),
        "x[0], (2, 2)": finished(lambda: x[0]),
        "x + 1, 16M": finished(lambda: big + 1),
        "x + y, 16M": finished(lambda: big + other),
        "exp, 16M": finished(lambda: np.exp(big)),
        "tanh, 16M": finished(lambda: np.tanh(big)),
        "sigmoid, 16M": finished(lambda: npx.sigmoid(big)),
        "x > 0, 16M": finished(lambda: big > 0),
        "to float64, 16M": finished(lambda: big.astype("float64")),
    }


def numpy_cases(x, big):
    other = big.copy()
    return {
        "x + 1, (2, 2)": lambda: x + 1,
        "x * x, (2, 2)": lambda: x * x,
        "exp, (2, 2)": lambda: numpy.exp(x),
        "x[0], (2, 2)": lambda: x[0],
        "copy, 16M": lambda: big.copy(),
        "x + 1, 16M": lambda: big + 1,
        "x + y, 16M": lambda: big + other,
        "exp, 16M": lambda: numpy.exp(big),
        "tanh, 16M": lambda: numpy.tanh(big),
        "x > 0, 16M": lambda: big > 0,
        "to float64, 16M": lambda: big.astype("float64"),
    }


def torch_cases(tiny, large):
    import torch

    torch.set_num_threads(THREADS)
    x, big = torch.from_numpy(tiny), torch.from_numpy(large)
    other = big.clone()
    return {
        "x + 1, (2, 2)": lambda: x + 1,
        "x * x, (2, 2)": lambda: x * x,
        "exp, (2, 2)": lambda: x.exp(),
        "x[0], (2, 2)": lambda: x[0],
        "copy, 16M": lambda: big.clone(),
        "x + 1, 16M": lambda: big + 1,
        "x + y, 16M": lambda: big + other,
        "exp, 16M": lambda: big.exp(),
        "tanh, 16M": lambda: big.tanh(),
        "sigmoid, 16M": lambda: big.sigmoid(),
        "x > 0, 16M": lambda: big > 0,
        "to float64, 16M": lambda: big.double(),
    }


def measure(library):
    """Best microseconds of each case."""
    tiny = numpy.ones((2, 2), "float32")
    large = numpy.random.RandomState(0).uniform(-2, 2, 1 << 24).astype("float32")
    times = {}
    makers = {"headrace": headrace_cases, "numpy": numpy_cases, "torch": torch_cases}
    for name, call in makers[library](tiny, large).items():
        calls = 1 if name.endswith("16M") else TINY_CALLS
        call()
        best, spent = float("inf"), 0.0
        while spent < SECONDS_PER_CASE:
            start = time.perf_counter()
            for _ in range(calls):
                call()
            took = time.perf_counter() - start
            best, spent = min(best, took / calls), spent + took
        times[name] = best * 1e6
    return times


def run(python, library):
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    command = [str(python), str(Path(__file__)), "--measure", library]
    return json.loads(
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    )


def main():
    pythons = {"headrace": sys.executable, "numpy": sys.executable}
    torch_python = ROOT / ".peers" / "torch" / "bin" / "python"
    if torch_python.exists():
        pythons["torch"] = torch_python
    best = {}
    for _ in range(ROUNDS):
        for library, python in pythons.items():
            for name, microseconds in run(python, library).items():
                row = best.setdefault(name, {})
                row[library] = min(row.get(library, float("inf")), microseconds)
    print(f"{'case':18}" + "".join(f"{library:>12}" for library in pythons) + "   microseconds")
    for name, row in best.items():
        print(f"{name:18}" + "".join(f"{row[p]:12.3f}" if p in row else f"{'-':>12}" for p in pythons))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main()
