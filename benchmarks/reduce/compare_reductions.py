"""Are reductions, sorting, running sums and softmax no slower than in NumPy and PyTorch?

``python benchmarks/reduce/compare_reductions.py [case ...]`` runs the three libraries in turn, each in its
own process with two threads, round after round, and prints the best time of each and the ratio to the faster
peer. PyTorch is found in .peers (made by ``./dev peers``).
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).parents[2]
THREADS, ROUNDS, SECONDS_PER_CASE = 2, 3, 0.3


def data():
    rng = numpy.random.RandomState(0)
    return {
        "matrix": rng.standard_normal((4096, 4096)).astype("float32"),
        "vector": rng.standard_normal(1 << 24).astype("float32"),
        "rows": rng.standard_normal((4096, 1024)).astype("float32"),
        "narrow": rng.standard_normal((1 << 22, 3)).astype("float32"),
        "table": rng.standard_normal((30000, 256)).astype("float32"),
        "indices": rng.randint(0, 30000, 1 << 15),
        "gamma": rng.standard_normal(1024).astype("float32"),
    }


def headrace_cases(d):
    from headrace import np, npx

    m, v, r, n, t, i, g = (np.array(a) for a in d.values())
    calls = {
        "sum all": lambda: np.sum(m),
        "sum axis 0": lambda: np.sum(m, axis=0),
        "sum axis 1": lambda: np.sum(m, axis=1),
        "mean all": lambda: np.mean(m),
        "mean axis 0": lambda: np.mean(m, axis=0),
        "mean axis 1": lambda: np.mean(m, axis=1),
        "max all": lambda: np.max(m),
        "max axis 0": lambda: np.max(m, axis=0),
        "max axis 1": lambda: np.max(m, axis=1),
        "sum of a transpose": lambda: np.sum(m.T, axis=0),
        "sum of narrow rows": lambda: np.sum(n, axis=1),
        "argmax axis 0": lambda: np.argmax(m, axis=0),
        "argmax axis 1": lambda: np.argmax(m, axis=1),
        "var axis 1": lambda: np.var(m, axis=1),
        "cumsum 16M": lambda: np.cumsum(v),
        "cumsum axis 0": lambda: np.cumsum(m, axis=0),
        "cumsum axis 1": lambda: np.cumsum(m, axis=1),
        "sort 16M": lambda: np.sort(v),
        "sort axis 0": lambda: np.sort(m, axis=0),
        "sort axis 1": lambda: np.sort(m, axis=1),
        "argsort 16M": lambda: np.argsort(v),
        "argsort axis 1": lambda: np.argsort(m, axis=1),
        "topk 5 axis 1": lambda: npx.topk(m, k=5, axis=1),
        "topk 100 of 16M": lambda: npx.topk(v, k=100),
        "softmax axis 1": lambda: npx.softmax(r),
        "softmax axis 0": lambda: npx.softmax(r, axis=0),
        "log_softmax axis 1": lambda: npx.log_softmax(r),
        "layer_norm": lambda: npx.layer_norm(r, g, g),
        "embedding": lambda: np.take(t, i, axis=0),
    }
    return {name: (lambda call=call: call().wait_to_read()) for name, call in calls.items()}


def numpy_cases(d):
    m, v, _, n, t, i, _ = d.values()
    return {
        "sum all": lambda: m.sum(),
        "sum axis 0": lambda: m.sum(0),
        "sum axis 1": lambda: m.sum(1),
        "mean all": lambda: m.mean(),
        "mean axis 0": lambda: m.mean(0),
        "mean axis 1": lambda: m.mean(1),
        "max all": lambda: m.max(),
        "max axis 0": lambda: m.max(0),
        "max axis 1": lambda: m.max(1),
        "sum of a transpose": lambda: m.T.sum(0),
        "sum of narrow rows": lambda: n.sum(1),
        "argmax axis 0": lambda: m.argmax(0),
        "argmax axis 1": lambda: m.argmax(1),
        "var axis 1": lambda: m.var(1),
        "cumsum 16M": lambda: v.cumsum(),
        "cumsum axis 0": lambda: m.cumsum(0),
        "cumsum axis 1": lambda: m.cumsum(1),
        "sort 16M": lambda: numpy.sort(v),
        "sort axis 0": lambda: numpy.sort(m, 0),
        "sort axis 1": lambda: numpy.sort(m, 1),
        "argsort 16M": lambda: v.argsort(),
        "argsort axis 1": lambda: m.argsort(1),
        "embedding": lambda: t[i],
    }


def torch_cases(d):
    import torch

    torch.set_num_threads(THREADS)
    m, v, r, n, t, i, g = (torch.from_numpy(a) for a in d.values())
    functional = torch.nn.functional
    return {
        "sum all": lambda: m.sum(),
        "sum axis 0": lambda: m.sum(0),
        "sum axis 1": lambda: m.sum(1),
        "mean all": lambda: m.mean(),
        "mean axis 0": lambda: m.mean(0),
        "mean axis 1": lambda: m.mean(1),
        "max all": lambda: m.max(),
        "max axis 0": lambda: m.amax(0),
        "max axis 1": lambda: m.amax(1),
        "sum of a transpose": lambda: m.t().sum(0),
        "sum of narrow rows": lambda: n.sum(1),
        "argmax axis 0": lambda: m.argmax(0),
        "argmax axis 1": lambda: m.argmax(1),
        "var axis 1": lambda: m.var(1),
        "cumsum 16M": lambda: v.cumsum(0),
        "cumsum axis 0": lambda: m.cumsum(0),
        "cumsum axis 1": lambda: m.cumsum(1),
        "sort 16M": lambda: v.sort(),
        "sort axis 0": lambda: m.sort(0),
        "sort axis 1": lambda: m.sort(1),
        "argsort 16M": lambda: v.argsort(),
        "argsort axis 1": lambda: m.argsort(1),
        "topk 5 axis 1": lambda: m.topk(5, 1),
        "topk 100 of 16M": lambda: v.topk(100),
        "softmax axis 1": lambda: functional.softmax(r, 1),
        "softmax axis 0": lambda: functional.softmax(r, 0),
        "log_softmax axis 1": lambda: functional.log_softmax(r, 1),
        "layer_norm": lambda: functional.layer_norm(r, (1024,), g, g),
        "embedding": lambda: functional.embedding(i, t),
    }


def measure(library, wanted):
    """Best milliseconds of each case."""
    cases = {"headrace": headrace_cases, "numpy": numpy_cases, "torch": torch_cases}[library](data())
    times = {}
    for name, call in cases.items():
        if wanted and name not in wanted:
            continue
        call()
        best, spent = float("inf"), 0.0
        while spent < SECONDS_PER_CASE:
            start = time.perf_counter()
            call()
            took = time.perf_counter() - start
            best, spent = min(best, took), spent + took
        times[name] = best * 1e3
    return times


def run(python, library, wanted):
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    command = [str(python), str(Path(__file__)), "--measure", library, *wanted]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def main(wanted):
    torch_python = ROOT / ".peers" / "torch" / "bin" / "python"
    pythons = {"headrace": sys.executable, "numpy": sys.executable}
    if torch_python.exists():
        pythons["torch"] = torch_python
    best = {}
    for _ in range(ROUNDS):
        for library, python in pythons.items():
            for name, milliseconds in run(python, library, wanted).items():
                row = best.setdefault(name, {})
                row[library] = min(row.get(library, float("inf")), milliseconds)
    print(f"{'case':22}" + "".join(f"{library:>12}" for library in pythons) + f"{'ratio':>8}")
    for name, row in best.items():
        peers = [t for library, t in row.items() if library != "headrace"]
        cells = "".join(f"{row[p]:12.2f}" if p in row else f"{'-':>12}" for p in pythons)
        print(f"{name:22}{cells}" + (f"{row['headrace'] / min(peers):8.2f}" if peers else ""))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3:])))
    else:
        main(sys.argv[1:])
