"""Times Headrace beside NumPy, PyTorch and MXNet 1.9.1, interleaved in one run.

Usage: run.py [-k WORDS] [-n ROUNDS] [-o FILE]

Each framework runs in a process of its own, in the environment that tools/peers.sh made for it. One case is
timed in all of them before the next one starts, and all cases are gone through ROUNDS times. The table shows
Headrace's time and how many times as long each peer takes: above 1, Headrace is faster. A peer that is not
installed, or lacks a case, shows a dash.

  -k WORDS   only cases whose name contains one of these words (separated by commas)
  -n ROUNDS  how often each case is timed (default 5); the median of the rounds counts
  -o FILE    also write the table there
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / ".peers"
FRAMEWORKS = {
    "headrace": sys.executable,
    "numpy": sys.executable,
    "torch": PEERS / "torch/bin/python",
    "mxnet": PEERS / "mxnet/bin/python",
}


class Worker:
    """The process of one framework."""

    def __init__(self, framework: str, python: pathlib.Path) -> None:
        command = [python, HERE / "peers/worker.py", framework]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.cases = self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args[2]} ended with status {self._process.wait()}")
        return json.loads(line)

    def time(self, case: str) -> float:
        """Seconds of one call."""
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def measure(workers: dict, words: list[str], rounds: int) -> dict:
    """Median seconds by case and framework."""
    cases = [c for c in workers["headrace"].cases if not words or any(w in c for w in words)]
    times = {case: {name: [] for name, w in workers.items() if case in w.cases} for case in cases}
    for turn in range(rounds):
        for number, case in enumerate(cases):
            print(f"\r{turn + 1}/{rounds} {number + 1}/{len(cases)} {case:60.60}", end="", file=sys.stderr)
            for name in times[case]:
                times[case][name].append(workers[name].time(case))
    print(file=sys.stderr)
    return {case: {name: statistics.median(t) for name, t in row.items()} for case, row in times.items()}


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(results: dict) -> str:
    peers = [name for name in FRAMEWORKS if name != "headrace"]
    lines = ["| case | Headrace | " + " | ".join(f"{p} / Headrace" for p in peers) + " |"]
    lines.append("|---" * (len(peers) + 2) + "|")
    for case, row in results.items():
        ours = row["headrace"]
        ratios = [f"{row[p] / ours:.2f}" if p in row else "-" for p in peers]
        lines.append(f"| {case} | {duration(ours)} | " + " | ".join(ratios) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-k", dest="words", default="")
    parser.add_argument("-n", dest="rounds", type=int, default=5)
    parser.add_argument("-o", dest="output", type=pathlib.Path)
    arguments = parser.parse_args()
    workers = {
        name: Worker(name, python) for name, python in FRAMEWORKS.items() if pathlib.Path(python).exists()
    }
    words = [word for word in arguments.words.split(",") if word]
    text = table(measure(workers, words, arguments.rounds))
    for worker in workers.values():
        worker.close()
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
