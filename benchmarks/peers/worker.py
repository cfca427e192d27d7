"""Times the cases of one framework, which is the first argument; with `--pause`, work comes in bursts.

Writes the framework's version and the names of its cases, then for each name that it reads the seconds of one
call, the most bytes that the process has had in memory so far, and whether once is enough, or the error: a
line of JSON each.
"""

import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

THREADS = "2"
for variable in ("HEADRACE_WORKERS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, THREADS)

LEAST_SECONDS = 0.05  # a measurement repeats its case until it has taken this long
LONG_SECONDS = 1.0  # calls that take longer are two, of which the first may also do what is done once
ENDLESS_SECONDS = 10.0  # and these are one, in the first round alone: what is done once weighs nothing
BURST_SECONDS, PAUSE_SECONDS = 0.003, 0.002  # a notebook or a server works for a moment, then sleeps


def in_bursts(work, finish, calls: int) -> float:
    """Seconds of `calls` calls, without the pauses between them."""
    taken = 0.0
    while calls > 0:
        time.sleep(PAUSE_SECONDS)
        start = end = time.perf_counter()
        while calls > 0 and end - start < BURST_SECONDS:
            work()
            calls -= 1
            end = time.perf_counter()
        taken += end - start
        if finish:
            finish()
    return taken


def seconds_of(work, finish=None, pause=False) -> float:
    """The best of three repetitions, each of as many calls as a clock reading needs to mean something.

    `finish` waits, untimed, for what `work` left to do; then a repetition is one call.
    """

    def seconds(calls: int) -> float:
        if pause:
            return in_bursts(work, finish, calls)
        start = time.perf_counter()
        for _ in range(calls):
            work()
        taken = time.perf_counter() - start
        if finish:
            finish()
        return taken

    first = seconds(1)
    if first >= ENDLESS_SECONDS:
        return first
    if first >= LONG_SECONDS:
        return min(first, seconds(1))
    calls = 1
    taken = seconds(calls)
    while taken < LEAST_SECONDS and not finish:
        calls = max(calls * 2, int(calls * LEAST_SECONDS / max(taken, 1e-9)))
        taken = seconds(calls)
    return min(taken, seconds(calls), seconds(calls)) / calls


def peak_bytes() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) * 1024


def prepare(case) -> tuple:
    made = case()
    return made if isinstance(made, tuple) else (made,)


def import_of(framework: str):
    command = [sys.executable, "-W", "ignore", "-c", f"import {framework}"]
    return lambda: lambda: subprocess.run(command, check=True)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")  # what a framework prints goes to stderr
    os.dup2(2, 1)

    def answer(content) -> None:
        print(json.dumps(content), file=answers, flush=True)

    framework, pause = sys.argv[1], "--pause" in sys.argv[2:]
    cases = importlib.import_module(f"{framework}_cases").CASES | {"import the package": import_of(framework)}
    answer({"version": importlib.import_module(framework).__version__, "cases": list(cases)})
    prepared, functions = None, ()
    for line in sys.stdin:
        name = line.rstrip("\n")
        try:
            if name != prepared:
                prepared, functions = None, ()  # the arrays of the last case go
                prepared, functions = name, prepare(cases[name])
            seconds = seconds_of(*functions, pause=pause)
            answer({"seconds": seconds, "bytes": peak_bytes(), "is_endless": seconds >= ENDLESS_SECONDS})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
