"""Times the cases of one framework.

Reads case names, a line each; writes the seconds of one call, a line each.
"""

import importlib
import json
import os
import sys
import time

THREADS = "2"
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, THREADS)

LEAST_SECONDS = 0.05  # a measurement repeats its case until it has taken this long


def seconds_of(function) -> float:
    """The best of three repetitions, each of as many calls as a clock reading needs to mean something."""
    function()
    calls, taken = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        taken = time.perf_counter() - start
        if taken >= LEAST_SECONDS:
            break
        calls = max(calls * 2, int(calls * LEAST_SECONDS / max(taken, 1e-9)))
    best = taken
    for _ in range(2):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, time.perf_counter() - start)
    return best / calls


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")  # what a framework prints goes to stderr
    os.dup2(2, 1)
    cases = importlib.import_module(f"{sys.argv[1]}_cases").cases()
    prepared = {}
    print(json.dumps(list(cases)), file=answers, flush=True)
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in prepared:
            prepared.clear()  # the arrays of the last case go
            prepared[name] = cases[name]()
        print(json.dumps(seconds_of(prepared[name])), file=answers, flush=True)


if __name__ == "__main__":
    main()
