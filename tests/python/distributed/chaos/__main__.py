"""Runs scenarios that are chosen by chance, with seeds that follow each other, until one goes wrong."""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from chaos.jobs import Scenario, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="scenarios (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first (1)")
    arguments = parser.parse_args()
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        scenario = Scenario.by_chance(seed)
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(scenario, pathlib.Path(folder) / "job")
        print(f"seed {seed}: {outcome.lives} lives, {outcome.done} faults: {scenario}", flush=True)


if __name__ == "__main__":
    main()
