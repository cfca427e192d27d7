"""What this machine can do, measured beside the latency numbers of "Dive into Deep Learning", section 12.4.

Caches, memory, cores and threads, arithmetic, calls, disk, loopback network, accelerators. All of it takes
under a minute and needs no privilege; what cannot be measured here says why. ``python -m headrace.hardware
--help`` is the same from a shell, and docs/hardware.md tells how each figure is measured.

>>> from headrace import hardware
>>> results = hardware.measure(["l1_latency", "mutex"])  # doctest: +SKIP
>>> print(hardware.table(results))  # doctest: +SKIP
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .._core import hardware as _hardware
from . import _plot

Drawing = _plot.Drawing
Measurement = _hardware.Measurement
book = _hardware.book
descriptions = _hardware.descriptions
table = _hardware.table

__all__ = ["Drawing", "Measurement", "Results", "book", "descriptions", "measure", "svg", "table", "to_json"]


class Results(list):
    """The measurements of one run, and the curve behind those of the caches.

    Attributes
    ----------
    latency_curve : list of (int, float)
        Bytes, and seconds of one random access to so many bytes. Empty when no cache was measured.

    Examples
    --------
    >>> from headrace import hardware
    >>> len(hardware.Results())
    0
    """

    def __init__(self, measurements: Iterable[Measurement] = (), latency_curve: Iterable = ()) -> None:
        super().__init__(measurements)
        self.latency_curve = list(latency_curve)


class _Rounds(NamedTuple):
    """How often to measure, and how many calls at a time."""

    rounds: int
    calls: int


def _seconds_per_call(statement: Callable[[], Any], rounds: _Rounds) -> float:
    """The median over rounds, less what an empty loop takes."""
    calls = range(rounds.calls)
    loops, bodies = [], []
    for _ in range(rounds.rounds):
        start = time.perf_counter()
        for _ in calls:
            pass
        loops.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in calls:
            statement()
        bodies.append(time.perf_counter() - start)
    return max(statistics.median(bodies) - statistics.median(loops), 1e-12) / rounds.calls


def _python_call(rounds: _Rounds) -> tuple[float, str]:
    def empty() -> None:
        pass

    version = f"{platform.python_implementation()} {platform.python_version()}"
    return _seconds_per_call(empty, rounds), version


def _python_operation(rounds: _Rounds) -> tuple[float, str]:
    from .. import numpy as np

    x = np.ones(1)
    x.wait_to_read()
    return _seconds_per_call(lambda: x + 1, rounds), "waiting not counted"


_FROM_PYTHON = {"python_call": _python_call, "python_operation": _python_operation}


# (less, more): the second value is never the smaller one, unless other work disturbed it or the first.
_IN_ORDER = (
    ("line_shared", "line_remote"),
    ("memory_64m", "memory_64m_remote"),
    ("memory_256m", "memory_256m_remote"),
    ("memory_read", "memory_read_all"),
    ("memory_write", "memory_write_all"),
    ("memory_copy", "memory_copy_all"),
    ("word_forward", "word_stride_64"),
    ("word_stride_64", "word_stride_4096"),
    ("misaligned_cache", "aligned_cache"),
    ("mutex", "mutex_contended"),
    ("counters_apart", "counters_together"),
    ("scalar_adds", "vector_adds"),
    ("dot_float64", "dot_float32"),
    ("operation_push", "operation_wait"),
    ("python_call", "python_operation"),
    ("disk_read_4k", "disk_read_1m"),
)
_PRECISION = 1.05
_MOST_REPETITIONS = 3


def _is_inverted(less: Measurement, more: Measurement) -> bool:
    return less.value is not None and more.value is not None and less.value > more.value * _PRECISION


def _again(result: Measurement, other: str, measured: Callable[[str], Measurement]) -> Measurement:
    """The better of a measurement and its repetition: other work makes times longer and rates lower."""
    repeated = measured(result.name)
    if repeated.value is None:
        return result
    better = min if result.unit == "s" else max
    best = better((result, repeated), key=lambda one: one.value)
    said = f"measured again, beside {other}"
    note = result.note if result.note.endswith(said) else "; ".join(filter(None, (result.note, said)))
    return _hardware.measured(result.name, best.value, note)


def _repeat_inversions(results: list[Measurement], measured: Callable[[str], Measurement]) -> None:
    """Measures pairs again that noise has put into the wrong order, a few times if need be."""
    places = {result.name: place for place, result in enumerate(results)}
    for pair in _IN_ORDER:
        if not places.keys() >= set(pair):
            continue
        first, second = (places[name] for name in pair)
        for _ in range(_MOST_REPETITIONS):
            if not _is_inverted(results[first], results[second]):
                break
            results[first] = _again(results[first], pair[1], measured)
            results[second] = _again(results[second], pair[0], measured)


def measure(
    names: Iterable[str] = (),
    *,
    quick: bool = False,
    directory: str | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Results:
    """Measures this machine; figures mean something while nothing else runs.

    What noise has inverted, such as a larger memory that is faster than a smaller one, is measured again, up
    to three times, and its note says so.

    Parameters
    ----------
    names : iterable of str, optional
        Measurements or subjects, as `descriptions` has them; everything if there are none.
    quick : bool, default False
        Fewer and shorter rounds: a few seconds in all.
    directory : str, optional
        Where the disk is measured, in a file without a name; the folder for temporary files if not given.
    progress : callable, optional
        Called with each name before it is measured.

    Returns
    -------
    Results
        A list of Measurement: ``name``, ``value`` (None when not measured), ``unit`` ('s', 'bytes', 'bytes/s'
        or 'operations/s'), ``note``, and ``why_not`` (empty when measured).

    Raises
    ------
    ValueError
        For a name that is neither a measurement nor a subject.

    Examples
    --------
    >>> from headrace import hardware
    >>> results = hardware.measure(["mutex"], quick=True)
    >>> results[0].name, results[0].unit
    ('mutex', 's')
    """
    selected = _hardware.select(list(names))
    session = _hardware.Session(directory or "", quick)
    rounds = _Rounds(5, 2000) if quick else _Rounds(15, 20000)

    def measured(name: str) -> Measurement:
        if progress is not None:
            progress(name)
        if name in _FROM_PYTHON:
            return _hardware.measured(name, *_FROM_PYTHON[name](rounds))
        return session.measure(name)

    results = Results(map(measured, selected))
    _repeat_inversions(results, measured)
    results.latency_curve = session.latency_curve
    return results


def to_json(results: Results) -> dict[str, Any]:
    """The results for JSON: ``machine``, ``measurements`` with the book's figures, ``latency_curve``.

    A measurement that has no value has ``value`` null and the reason as ``why_not``; otherwise ``why_not`` is
    null. Values are in ``unit``: seconds, bytes, bytes/s, operations/s.

    Examples
    --------
    >>> from headrace import hardware
    >>> report = hardware.to_json(hardware.measure(["mutex"], quick=True))
    >>> sorted(report), report["measurements"][0]["name"]
    (['latency_curve', 'machine', 'measurements'], 'mutex')
    """
    described = {row["name"]: row for row in descriptions()}
    return {
        "machine": {"processor": platform.processor() or platform.machine(), "system": platform.platform()},
        "measurements": [
            {
                **described[result.name],
                "value": result.value,
                "note": result.note or None,
                "why_not": result.why_not or None,
            }
            for result in results
        ],
        "latency_curve": [{"bytes": size, "seconds": seconds} for size, seconds in results.latency_curve],
    }


def svg(results: Results) -> Drawing:
    """The results as SVG: times beside the book's, and the latency curve if caches were measured.

    A Drawing, which is the text of the file; at the end of a cell of Jupyter it is the picture.

    Examples
    --------
    >>> from headrace import hardware
    >>> picture = hardware.svg(hardware.measure(["mutex"], quick=True))
    >>> picture.startswith("<svg"), "mutex" in picture.lower()
    (True, True)
    """
    described = {row["name"]: row for row in descriptions()}
    bars = [
        _plot.Bar(
            result.name,
            result.value,
            sorted({figure["seconds"] for figure in described[result.name]["book"]}),
        )
        for result in results
        if result.value is not None and result.unit == "s"
    ]
    return _plot.draw(bars, results.latency_curve)
