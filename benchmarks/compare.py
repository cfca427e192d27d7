"""Times two builds of Headrace side by side and says which cases moved beyond noise.

Both builds run all cases of benchmarks/peers in processes of their own, one case at a time, in alternating
order. A ratio is the second build's time divided by the first one's, of two measurements one after the other.
A case is suspected when the median of its ratios is further from 1 than the tolerance and nine in ten lie on
that side; suspects are timed again, twice as often, and those that are suspected again, on the same side,
have moved. The exit status is 1 when one became slower.
"""

import argparse
import pathlib
import statistics
import sys

from run import Failed, Worker, duration, selected


def ratios_of(case: str, before: Worker, after: Worker, rounds: int) -> tuple[list[float], float]:
    """The ratios of a case, and the second build's best time in seconds."""
    ratios, best = [], float("inf")
    for turn in range(rounds):
        pair = (before, after) if turn % 2 == 0 else (after, before)
        times = {worker: worker.measure(case)["seconds"] for worker in pair}
        ratios.append(times[after] / times[before])
        best = min(best, times[after])
    return ratios, best


def verdict(ratios: list[float], tolerance: float) -> int:
    """1: slower, -1: faster, 0: neither can be told."""
    middle = statistics.median(ratios)
    side = 1 if middle > 1 else -1
    beyond = sum((ratio - 1) * side > 0 for ratio in ratios)
    return side if abs(middle - 1) > tolerance and beyond >= 0.9 * len(ratios) else 0


def measure(cases: list[str], before: Worker, after: Worker, rounds: int) -> dict:
    results = {}
    for number, case in enumerate(cases):
        print(f"\r{number + 1}/{len(cases)} {case:60.60}", end="", file=sys.stderr)
        try:
            results[case] = ratios_of(case, before, after, rounds)
        except Failed as failure:
            print(f"\n{case} is left out: {failure}", file=sys.stderr)
    print(file=sys.stderr)
    return results


def line_of(case: str, ratios: list[float], seconds: float) -> str:
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    return f"| {case} | {duration(seconds)} | {middle:.3f} | {low:.2f} to {high:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("before", type=pathlib.Path, help="folder with the package headrace of the first build")
    option("after", type=pathlib.Path, help="the same of the second build")
    option("-k", metavar="WORDS", default="", help="only cases with one of these words, separated by commas")
    option(
        "-n", metavar="ROUNDS", type=int, default=5, help="how many ratios of each case are taken at a time"
    )
    option("--pause", action="store_true", help="sleep 2 ms after every 3 ms of work")
    option("--tolerance", type=float, default=0.03, help="how far from 1 a ratio counts (default: 0.03)")
    arguments = parser.parse_args()
    for folder in (arguments.before, arguments.after):
        if not (folder / "headrace").is_dir():
            parser.error(f"{folder} has no package headrace; a build's is build/release/python")
    before, after = (
        Worker("headrace", pathlib.Path(sys.executable), folder.resolve(), arguments.pause)
        for folder in (arguments.before, arguments.after)
    )
    cases = selected(parser, arguments.k, [case for case in after.cases if case in before.cases])
    results = measure(cases, before, after, arguments.n)
    print("| case | time | ratio | from, to |\n|---|---|---|---|")
    print("\n".join(line_of(case, *result) for case, result in results.items()))
    suspects = {case: verdict(ratios, arguments.tolerance) for case, (ratios, _) in results.items()}
    again = measure([case for case, side in suspects.items() if side], before, after, 2 * arguments.n)
    moved = {
        case: result
        for case, result in again.items()
        if verdict(result[0], arguments.tolerance) == suspects[case]
    }
    for worker in (before, after):
        worker.close()
    everything = statistics.geometric_mean([statistics.median(ratios) for ratios, _ in results.values()])
    print(
        f"\n{len(results)} cases, geometric mean of ratios {everything:.3f}; moved beyond noise: {len(moved)}"
    )
    print("\n".join(line_of(case, *result) for case, result in moved.items()))
    sys.exit(any(suspects[case] > 0 for case in moved))


if __name__ == "__main__":
    main()
