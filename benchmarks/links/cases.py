"""Cases: what is run on which network, and what the planner predicts of it."""

import dataclasses
import math

import jobs

from headrace import plan

CHUNK = 1 << 20  # bytes of a sum between ranks that are on their way together (docs/collectives.md)
MB = 1_000_000


@dataclasses.dataclass
class Case:
    """What is run on which network, and the plan that says how long it takes."""

    kind: str
    text: str
    topology: plan.Topology
    made: plan.Plan
    run: object  # (network, rounds) -> list of jobs.Round


def servers(workers, count, megabits, keys, size):
    """A `dist_sync` store. Keys follow each other as the slices of a buffer do."""
    topology = jobs.star(workers + count, megabits)
    devices = topology.devices
    made = plan.make(
        topology,
        keys * size,
        "parameter_server",
        devices=devices[:workers],
        servers=devices[workers:],
        slices=keys,
    )
    text = f"{workers} workers, {count} servers, {megabits} Mb/s, {keys} x {size / MB:g} MB"

    def run(network, rounds):
        return jobs.with_servers(network, workers, count, keys, size // 4, rounds)

    return Case("servers", text, topology, made, run)


def ranks(count, megabits, keys, size):
    """An `mpi` store of machines with one rank each, which shards every chunk."""
    text = f"{count} ranks, {megabits} Mb/s, {keys} x {size / MB:g} MB"
    return _ranks("sharded", jobs.star(count, megabits), keys, size, text)


def ranks_of_machines(strategy, topology, text, keys, size):
    """An `mpi` store that is told which ranks share a machine (`hierarchical`), or not (`sharded`)."""
    return _ranks(strategy, topology, keys, size, f"{strategy} ranks, {text}, {keys} x {size / MB:g} MB")


def _ranks(strategy, topology, keys, size, text):
    made = plan.make(topology, keys * size, strategy, slices=keys * math.ceil(size / CHUNK))

    def run(network, rounds):
        return jobs.with_ranks(network, keys, size // 4, rounds, strategy == "hierarchical")

    return Case("ranks", text, topology, made, run)


def carried(strategy, topology, text, size, slices=1):
    """A strategy of the planner, between processes of this benchmark."""
    made = plan.make(topology, size, strategy, slices=slices)
    text = f"{strategy}, {text}, {size / MB:g} MB" + (f", {slices} slices" if slices > 1 else "")
    return Case("plans", text, topology, made, lambda network, rounds: jobs.with_plan(network, made, rounds))
