"""What the planner predicts beside what links of a known rate take.

    python benchmarks/links [--rounds 5] [--only servers,ranks,plans] [--first-come]

Makes networks of namespaces and virtual interfaces, each link so slow that two cores idle. On them run
stores with servers, stores of ranks without servers, and other strategies of the planner, carried out by
processes of this benchmark. Times are the best of the rounds, as other work of the machine makes all of them
slower; `wire` is what the busiest link has carried, headers and all, over what was predicted. Where a machine
allows no such networks it says why, and ends with status 0. `--smallest` prints JSON for the tests.
"""

import argparse
import json
import shutil
import signal
import sys

import jobs
from cases import MB, carried, ranks, ranks_of_machines, servers
from network import Network, obstacle, remove_those_left


def cases():
    for workers, count in ((2, 1), (2, 2), (4, 1), (4, 2), (4, 4)):
        yield servers(workers, count, 100, 1, 8 * MB)
    yield servers(2, 1, 20, 1, 4 * MB)
    yield servers(2, 2, 200, 1, 32 * MB)
    yield servers(2, 1, 100, 8, 4 * MB)
    for count in (2, 4, 8):
        yield ranks(count, 100, 1, 8 * MB)
    yield ranks(4, 20, 1, 4 * MB)
    yield ranks(4, 200, 1, 32 * MB)
    yield ranks(4, 100, 8, 4 * MB)
    nested = jobs.machines([4, 4], 50, inside=200)
    nested_text = "2 machines of 4, 200 Mb/s inside, 50 between"
    for strategy in ("sharded", "hierarchical"):
        yield ranks_of_machines(strategy, nested, nested_text, 1, 8 * MB)
    yield ranks_of_machines("hierarchical", nested, nested_text, 8, 4 * MB)
    flat = jobs.star(4, 100)
    for strategy in ("central", "tree", "ring", "bidirectional_ring", "sharded"):
        yield carried(strategy, flat, "4 machines, 100 Mb/s", 8 * MB)
    yield carried("central", flat, "4 machines, 100 Mb/s", 8 * MB, 16)
    yield carried("tree", flat, "4 machines, 100 Mb/s", 8 * MB, 16)
    for strategy in ("ring", "sharded", "hierarchical", "hierarchical_ring"):
        yield carried(strategy, nested, nested_text, 8 * MB)


def smallest():
    yield servers(2, 1, 200, 1, 8 * MB)
    yield servers(2, 2, 200, 1, 8 * MB)
    yield ranks(4, 200, 1, 8 * MB)


def answer(case, rounds, by_turns=True):
    """What was predicted and seen of a case: seconds, and by link the bytes carried over those predicted."""
    if case.kind == "ranks" and not shutil.which("mpirun"):
        return {"case": case.text, "skipped": "there is no mpirun, which Debian's package openmpi-bin has"}
    predicted = case.made.simulate()
    with Network(case.topology, by_turns) as network:
        measured = case.run(network, rounds)
    wire = {
        link: min(one.loads[link] for one in measured) / count
        for link, count in predicted.wire_bytes.items()
        if count > 0
    }
    busiest = max(predicted.links, key=predicted.links.get)
    seconds = min(one.seconds for one in measured)
    return {
        "case": case.text,
        "predicted": predicted.seconds,
        "measured": seconds,
        "busiest": busiest,
        "wire": wire,
    }


def row(seen):
    if "skipped" in seen:
        return f"| {seen['case']} | not measured: {seen['skipped']} | | | |"
    predicted, measured = seen["predicted"], seen["measured"]
    cells = (
        f"{predicted:.3f} s",
        f"{measured:.3f} s",
        f"{measured / predicted:.2f}",
        f"{seen['wire'][seen['busiest']]:.3f}",
    )
    return f"| {seen['case']} | {' | '.join(cells)} |"


def main(arguments):
    parser = argparse.ArgumentParser(prog="benchmarks/links", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="servers,ranks,plans", metavar="KINDS")
    parser.add_argument(
        "--first-come", action="store_true", help="links serve who comes first, not devices by turns"
    )
    parser.add_argument("--smallest", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # with what it has made
    why = obstacle()
    if why:
        print(json.dumps({"skipped": why}) if options.smallest else f"nothing was measured: {why}")
        return 0
    remove_those_left()
    if options.smallest:
        print(json.dumps([answer(case, options.rounds) for case in smallest()]))
        return 0
    print("| what | predicted | measured | ratio | wire |\n|---|---|---|---|---|")
    for case in cases():
        if case.kind in options.only.split(","):
            print(row(answer(case, options.rounds, not options.first_come)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
