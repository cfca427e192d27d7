"""How fast can these devices sum their gradients, and in which way? Asked on paper: nothing is copied.

A topology says what is connected to what; a strategy turns "sum so many bytes over these devices" into a plan
of copies and sums; a simulation says how long the plan takes. ``python -m headrace.plan --help`` is the same
from a shell.

>>> from headrace import plan
>>> topology = plan.load("pcie4")
>>> sharded = plan.make(topology, "160MB", "sharded")
>>> round(sharded.simulate().seconds * 1e3, 1)
15.0
"""

from __future__ import annotations

import argparse
import json
import operator
import pathlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._core import plan as _plan
from ._shell import run_command
from .base import ArrayTypeError

Plan = _plan.Plan
Simulation = _plan.Simulation
Topology = _plan.Topology
load = _plan.load
presets = _plan.presets
strategies = _plan.strategies

__all__ = [
    "Plan",
    "Simulation",
    "Step",
    "Topology",
    "compare",
    "load",
    "make",
    "parse_bytes",
    "presets",
    "steps",
    "strategies",
]


class Step(NamedTuple):
    """One step of a plan: ``copy`` moves bytes to another device, ``reduce`` adds source to target on one.

    Slot 0 of a device is the buffer itself, slots above it are scratch memory. `after` has the numbers of the
    steps that must have ended before; `route` has the names that a copy passes.

    Examples
    --------
    >>> mx.plan.Step._fields
    ('kind', 'source', 'target', 'source_slot', 'target_slot', 'begin', 'end', 'slice', 'after', 'route')
    """

    kind: str
    source: str
    target: str
    source_slot: int
    target_slot: int
    begin: int
    end: int
    slice: int
    after: list[int]
    route: list[str]


def parse_bytes(size: int | str, what: str = "plan") -> int:
    """A number of bytes: an int, or a text such as '160MB' (160e6) or '64 MiB' (64 * 2**20).

    Raises ValueError for other texts, for parts of a byte, and for more than 10**15 bytes; TypeError for what
    is neither. The errors begin with `what`.

    Examples
    --------
    >>> mx.plan.parse_bytes("160MB"), mx.plan.parse_bytes("64 MiB")
    (160000000, 67108864)
    """
    if not isinstance(size, str):
        try:
            size = str(operator.index(size))
        except TypeError:
            raise ArrayTypeError(
                f"{what}: expected bytes as an int or as text such as '160MB', got {size!r}"
            ) from None
    return _plan.parse_bytes(size, what)


def _request(
    topology: Topology | str,
    size: int | str,
    *,
    devices: Iterable[str] | None = None,
    root: str | None = None,
    servers: Iterable[str] = (),
    slices: int = 1,
    collective: str = "allreduce",
    element_bytes: int = 4,
) -> Any:
    """The arguments of `make` and `compare`, checked."""
    for name, value, most in (
        ("slices", slices, _plan.MOST_SLICES),
        ("element_bytes", element_bytes, _plan.MOST_BYTES),
    ):
        if not 1 <= operator.index(value) <= most:
            raise ValueError(f"plan: {name} must be from 1 to {most}, got {value}")
    if isinstance(topology, str):
        topology = load(topology)
    names = None if devices is None else list(devices)
    return _plan.Request(
        topology, parse_bytes(size), names, root, list(servers), slices, collective, element_bytes
    )


def make(topology: Topology | str, size: int | str, strategy: str | None = None, **options: Any) -> Plan:
    """The plan that sums a buffer over devices.

    Parameters
    ----------
    topology : Topology or str
        What is connected to what; a str is given to `load`.
    size : int or str
        Bytes of the buffer on each device, as `parse_bytes` takes them.
    strategy : str, optional
        One of `strategies()`. Without it: the fastest, with as many slices as are best.
    devices : iterable of str, optional
        Who has a gradient and wants the sum; `topology.default_devices` if not given.
    root : str, optional
        Where 'central' and 'tree' sum; the first device if not given.
    servers : iterable of str, optional
        Who sums with 'parameter_server'; all CPUs if not given.
    slices : int, default 1
        Parts that follow each other through the plan, so that one part is sent on while the next arrives.
    collective : str, default 'allreduce'
        'allreduce', or one half of it: 'reduce' leaves the sum of each range at its owner, 'broadcast' gives
        the owners' ranges to all.
    element_bytes : int, default 4
        Size of an element; no element is divided.

    Raises
    ------
    ValueError
        For devices that the topology does not have, unknown names, numbers out of range, and a strategy that
        is not possible.

    Examples
    --------
    >>> plan = mx.plan.make("pcie4", "160MB", "ring")
    >>> round(plan.simulate().seconds * 1e3, 1)  # milliseconds
    15.0
    """
    return _plan.make_plan(strategy, _request(topology, size, **options))


def compare(
    topology: Topology | str, size: int | str, strategy: str | None = None, **options: Any
) -> list[dict[str, Any]]:
    """What each strategy takes, or the one that is named; parameters and errors are those of `make`.

    Each row has ``strategy``, ``obstacle`` (None, or why it is not possible), ``best`` (true in one row) and,
    when possible, the predictions ``whole`` (the buffer in one piece) and ``sliced`` (with `slices` if more
    than 1, else with the best number): dicts of ``slices``, ``seconds``, ``steps``, ``scratch_bytes`` (on the
    device that needs most), ``busiest_link`` and ``busiest_share`` (of the time).

    Examples
    --------
    >>> rows = mx.plan.compare("pcie4", "160MB")
    >>> [row["strategy"] for row in rows if row["best"]]
    ['sharded']
    """
    return _plan.compare(strategy, _request(topology, size, **options))


def steps(plan: Plan) -> list[Step]:
    """The steps of a plan, in an order in which each comes after those that it needs.

    Examples
    --------
    >>> plan = mx.plan.make("pcie4", "160MB", "ring")
    >>> first = mx.plan.steps(plan)[0]
    >>> first.kind, first.source, first.target
    ('copy', 'gpu0', 'gpu1')
    """
    return [Step(*fields) for fields in plan.step_tuples()]


def _size_text(size: int) -> str:
    for prefix, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if size >= factor:
            return f"{size / factor:g} {prefix}B"
    return f"{size} B"


def _time_text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3f} us"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows of `compare` for people; the best one is marked with a star."""
    lines = [("", "strategy", "whole", "sliced", "slices", "busiest link", "busy", "scratch")]
    for row in rows:
        if row["obstacle"] is not None:
            lines.append(("", row["strategy"], "-", "-", "-", row["obstacle"], "", ""))
            continue
        whole, sliced = row["whole"], row["sliced"]
        cells = (_time_text(whole["seconds"]), _time_text(sliced["seconds"]), str(sliced["slices"]))
        share = f"{sliced['busiest_share']:.0%}"
        link = sliced["busiest_link"] or "-"
        mark = "*" if row["best"] else ""
        lines.append((mark, row["strategy"], *cells, link, share, _size_text(sliced["scratch_bytes"])))
    widths = [max(map(len, column)) for column in zip(*lines)]
    right = {2, 3, 4, 6, 7}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )


def _lines(entries: dict[str, str]) -> str:
    width = max(map(len, entries))
    return "\n".join(f"  {name:{width}}  {meaning}" for name, meaning in entries.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.plan",
        description="Predicts how long devices need to sum a buffer that each of them has, in each way.",
        epilog=f"topologies:\n{_lines(presets())}\n  a file, as docs/planner.md describes it\n\n"
        f"strategies:\n{_lines(strategies())}\n\n"
        "'whole' is the time with the buffer in one piece, 'sliced' with the best number of slices;\n"
        "a star marks the fastest strategy.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--topology", required=True, metavar="NAME", help="a preset or a file")
    parser.add_argument(
        "--bytes", required=True, metavar="SIZE", help="size of the buffer: 160MB, 64MiB, 1000"
    )
    parser.add_argument(
        "--devices", metavar="A,B,...", help="who takes part (default: all GPUs, or all CPUs)"
    )
    parser.add_argument("--root", metavar="A", help="where central and tree sum (default: the first device)")
    parser.add_argument("--servers", metavar="A,B,...", help="the parameter servers (default: all CPUs)")
    parser.add_argument(
        "--collective",
        default="allreduce",
        choices=["allreduce", "reduce", "broadcast"],
        help="the whole operation or one half of it (default: %(default)s)",
    )
    parser.add_argument("--strategy", metavar="S", choices=list(strategies()), help="only this strategy")
    parser.add_argument(
        "--slices", type=int, default=1, metavar="N", help="slices (default: the best number)"
    )
    parser.add_argument("--steps", action="store_true", help="print the steps of the best plan, too")
    parser.add_argument("--trace", metavar="FILE", help="write the best plan's timeline as a Chrome trace")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _answer(options: argparse.Namespace) -> tuple[dict[str, Any], Plan]:
    """What was asked for, and the plan of the best row."""
    topology = load(options.topology)
    devices = options.devices.split(",") if options.devices is not None else topology.default_devices
    arguments = {
        "devices": devices,
        "root": options.root,
        "servers": options.servers.split(",") if options.servers else (),
        "collective": options.collective,
    }
    rows = compare(topology, options.bytes, options.strategy, slices=options.slices, **arguments)
    best = next((row for row in rows if row["best"]), rows[0])
    slices = best["sliced"]["slices"] if best["best"] else options.slices
    plan = make(topology, options.bytes, best["strategy"], slices=slices, **arguments)
    answer = {
        "topology": topology.name,
        "bytes": plan.bytes,
        "collective": plan.collective,
        "devices": plan.devices,
        "best": best["strategy"],
        "strategies": rows,
    }
    return answer, plan


def _some_names(names: Sequence[str], most: int = 16) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status: 2 for what cannot be used, with a message on stderr."""
    options = _parser().parse_args(arguments)
    try:
        answer, plan = _answer(options)
        if options.trace is not None:
            pathlib.Path(options.trace).write_text(plan.simulate().chrome_trace())
    except (ValueError, OSError) as error:
        print(f"python -m headrace.plan: {error}", file=sys.stderr)
        return 2
    if options.json:
        if options.steps:
            answer["steps"] = [step._asdict() for step in steps(plan)]
        print(json.dumps(answer, indent=1))
        return 0
    title = f"{answer['collective']} of {_size_text(answer['bytes'])} on {answer['topology']}"
    print(f"{title}: {_some_names(answer['devices'])}\n")
    print(_table(answer["strategies"]))
    if options.steps:
        print(f"\n{plan}", end="")
    return 0


if __name__ == "__main__":
    run_command(main, None)
