"""Times Headrace beside NumPy, PyTorch, JAX and MXNet 1.9.1, interleaved in one run.

Each framework runs in a process of its own, in the environment that tools/peers.sh made for it. One case is
timed in all of them before the next one starts, and all cases are gone through ROUNDS times. The table shows
Headrace's time and how many times as long each peer takes: above 1, Headrace is faster. A dash means that the
peer is not installed, lacks the case, or failed in it; why it failed is on stderr.

With --memory a process does one case, and the table shows the most memory that it has had, libraries
included.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / ".peers"
FRAMEWORKS = {
    "headrace": sys.executable,
    "numpy": sys.executable,
    "torch": PEERS / "torch/bin/python",
    "jax": PEERS / "jax/bin/python",
    "mxnet": PEERS / "mxnet/bin/python",
}


class Failed(Exception):
    """A framework did not start, or could not do a case."""


class Worker:
    """The process of one framework, started again after a crash."""

    def __init__(
        self, framework: str, python: pathlib.Path, package: pathlib.Path | None = None, pause: bool = False
    ) -> None:
        """`package`: a folder in which the framework is looked up before elsewhere; `pause`: sleeps between
        bursts of work."""
        self._command = [python, HERE / "peers/worker.py", framework, *(["--pause"] if pause else [])]
        self._environment = os.environ | ({"PYTHONPATH": str(package)} if package else {})
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment
        )
        about = self._answer()
        self.version, self.cases = about["version"], about["cases"]

    def _answer(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"the process ended with status {self._process.wait()}")
        return json.loads(line)

    def measure(self, case: str) -> dict:
        """The `seconds` of one call, and the most `bytes` of the process since it began."""
        if self._process.poll() is not None:
            self._start()
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def start(pause: bool) -> dict[str, Worker]:
    workers = {}
    for name, python in FRAMEWORKS.items():
        if not pathlib.Path(python).exists():
            continue
        try:
            workers[name] = Worker(name, python, pause=pause)
        except Failed as failure:
            print(f"{name} does not start: {failure}", file=sys.stderr)
    return workers


def measure(workers: dict[str, Worker], cases: list[str], rounds: int, what: str) -> dict:
    """Medians by case and framework of `what`: `seconds`, or `bytes`, for which each case has its process."""
    found = {case: {name: [] for name, w in workers.items() if case in w.cases} for case in cases}
    endless = set()  # cases and frameworks
    for turn in range(rounds):
        for number, case in enumerate(cases):
            print(f"\r{turn + 1}/{rounds} {number + 1}/{len(cases)} {case:60.60}", end="", file=sys.stderr)
            for name, seen in list(found[case].items()):
                if (case, name) in endless:
                    continue
                try:
                    answer = workers[name].measure(case)
                    seen.append(answer[what])
                    if what == "seconds" and answer["is_endless"]:
                        endless.add((case, name))
                except Failed as failure:
                    print(f"\n{name} failed in {case}: {failure}", file=sys.stderr)
                    del found[case][name]
                if what == "bytes":
                    workers[name].close()
    print(file=sys.stderr)
    return {case: {name: statistics.median(t) for name, t in row.items()} for case, row in found.items()}


def selected(parser: argparse.ArgumentParser, words: str, known: list[str]) -> list[str]:
    """The cases that have one of the words in their names; all of them when there are no words."""
    wanted = [word for word in words.split(",") if word]
    for word in wanted:
        if not any(word in case for case in known):
            parser.error(f"no case has '{word}' in its name; the cases are:\n  " + "\n  ".join(known))
    return [case for case in known if not wanted or any(word in case for word in wanted)]


def machine(workers: dict[str, Worker]) -> str:
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    versions = ", ".join(f"{name} {worker.version}" for name, worker in workers.items())
    return f"{found[1] if found else platform.machine()}, {len(os.sched_getaffinity(0))} cores; {versions}"


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def size(count: float) -> str:
    return f"{count / 1e6:.0f} MB"


def table(results: dict, shown=duration) -> str:
    peers = [name for name in FRAMEWORKS if name != "headrace"]
    lines = ["| case | Headrace | " + " | ".join(f"{p} / Headrace" for p in peers) + " |"]
    lines.append("|---" * (len(peers) + 2) + "|")
    for case, row in results.items():
        ours = row.get("headrace")
        ratios = [f"{row[p] / ours:.2f}" if ours and p in row else "-" for p in peers]
        lines.append(f"| {case} | {shown(ours) if ours else '-'} | " + " | ".join(ratios) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("-k", metavar="WORDS", default="", help="only cases with one of these words, separated by commas")
    option("-n", metavar="ROUNDS", type=int, default=5, help="how often to time each case; the median counts")
    option("-o", metavar="FILE", type=pathlib.Path, help="write what is shown there too")
    option(
        "--pause",
        action="store_true",
        help="sleep 2 ms after every 3 ms of work, as servers and notebooks do",
    )
    option("--memory", action="store_true", help="compare memory in place of times")
    arguments = parser.parse_args()
    workers = start(arguments.pause)
    if "headrace" not in workers:
        sys.exit(1)
    cases = selected(parser, arguments.k, workers["headrace"].cases)
    what, shown = ("bytes", size) if arguments.memory else ("seconds", duration)
    text = f"{machine(workers)}\n\n{table(measure(workers, cases, arguments.n, what), shown)}"
    for worker in workers.values():
        worker.close()
    print(text)
    if arguments.o:
        arguments.o.write_text(text + "\n")


if __name__ == "__main__":
    main()
