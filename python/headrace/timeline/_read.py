"""Reads timelines in Chrome's trace format (the JSON that chrome://tracing and ui.perfetto.dev read)."""

from __future__ import annotations

import bisect
import json
import math
from array import array
from dataclasses import dataclass, field
from typing import Any

from .._file import open_file

# Bars that only carry the tail of an arrow.
_PUSH = "push"
# The events of an arrow between processes, whose ends all of them call by the same id.
MESSAGE = "message"
_MARK_PHASES = ("i", "I", "R", "n")


class TimelineError(ValueError):
    """The file is no timeline, or a broken one; the text says what is wrong, and where. A ValueError.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace import timeline
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "profile.json")
    >>> with open(path, "w") as file:
    ...     size = file.write("[1, 2]")
    >>> timeline.load(path)
    Traceback (most recent call last):
        ...
    headrace.timeline._read.TimelineError: ...profile.json: event 0 of 'traceEvents': ...
    """


@dataclass
class Lane:
    """Bars of one thread, stream or link, by time of beginning; microseconds.

    Examples
    --------
    >>> from headrace import timeline
    >>> timeline.Lane(name="worker 0", group="threads").clock
    'real'
    """

    name: str
    group: str
    clock: str = "real"  # or "virtual": a simulated clock
    kind: str = "work"  # or "notes": what the program marked itself, which may overlap freely
    order: tuple = (0, 0)
    begins: array = field(default_factory=lambda: array("d"))
    durations: array = field(default_factory=lambda: array("d"))
    names: array = field(default_factory=lambda: array("i"))  # indices into Timeline.names
    categories: array = field(default_factory=lambda: array("i"))  # indices into Timeline.categories
    origin_lanes: array = field(default_factory=lambda: array("i"))  # where it was pushed; -1: not known
    origin_times: array = field(default_factory=lambda: array("d"))


@dataclass
class Curve:
    """A counter; microseconds and values.

    Examples
    --------
    >>> from headrace import timeline
    >>> timeline.Curve(name="bytes", category="memory", clock="real").name
    'bytes'
    """

    name: str
    category: str
    clock: str
    times: array = field(default_factory=lambda: array("d"))
    values: array = field(default_factory=lambda: array("d"))


@dataclass
class Timeline:
    """A recording: lanes, counters and marks; names and categories are those that indices in lanes mean.

    Examples
    --------
    >>> from headrace import timeline
    >>> timeline.Timeline(lanes=[], curves=[], marks=[], names=["dot"], categories=["op"], lost=0).names
    ['dot']
    """

    lanes: list[Lane]
    curves: list[Curve]
    marks: list[dict[str, Any]]  # name, time, clock
    names: list[str]
    categories: list[str]
    lost: int  # records that had been overwritten when the file was written


def load(path: str) -> Timeline:
    """Reads a file.

    Raises
    ------
    OSError
        When the file cannot be read.
    TimelineError
        When it holds no timeline; the text says what is wrong, and where.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace import timeline
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "profile.json")
    >>> mx.profiler.set_config(filename=path)
    >>> mx.profiler.start()
    >>> (nd.ones((2, 2)) * 2).wait_to_read()
    >>> mx.profiler.dump()
    >>> type(timeline.load(path)).__name__
    'Timeline'
    >>> mx.profiler.set_config()
    """
    return read(parse(path), path)


def parse(path: str) -> Any:
    """The JSON in a file; errors as of `load`."""
    with open_file(path, "r", encoding="utf-8") as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError) as error:
            raise TimelineError(f"{path}: not a JSON file ({error}); was it written completely?") from None


def read(document: Any, name: str = "the timeline") -> Timeline:
    """What a document in Chrome's trace format holds, as `json.load` or `merge` gives it; `name` is what
    errors call it. TimelineError as of `load`.

    Examples
    --------
    >>> from headrace import timeline
    >>> timeline.read({"traceEvents": []}).lanes
    []
    """
    return _Reader(name).read(document)


class _Reader:
    """Collects lanes and curves event by event."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0  # index of the event being read
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._process: dict[Any, dict[str, Any]] = {}  # pid: what metadata says of it
        self._thread: dict[Any, dict[str, Any]] = {}  # (pid, tid): the same
        self._bars: dict[tuple, list[tuple]] = {}  # place: (begin, -duration, name, category)
        self._open: dict[tuple, list[tuple]] = {}  # begun and not ended
        self._curves: dict[tuple, list[tuple]] = {}
        self._marks: list[dict[str, Any]] = []
        self._starts: dict[Any, tuple] = {}  # id of an arrow: where it begins
        self._ends: list[tuple] = []

    def read(self, document: Any) -> Timeline:
        events = document.get("traceEvents") if isinstance(document, dict) else document
        if not isinstance(events, list):
            raise TimelineError(
                f"{self._path}: no timeline: expected an object with a list 'traceEvents', or that list. "
                "Write one with headrace.profiler.dump()"
            )
        for self._at, event in enumerate(events):
            if not isinstance(event, dict):
                self._refuse(f"an event must be an object, got {type(event).__name__}")
            self._read_event(event)
        other = document.get("otherData") if isinstance(document, dict) else None
        lost = other.get("lost", 0) if isinstance(other, dict) else 0
        return self._finish(lost if isinstance(lost, int) else 0)

    def _refuse(self, problem: str) -> None:
        raise TimelineError(f"{self._path}: event {self._at} of 'traceEvents': {problem}")

    def _number(self, event: dict[str, Any], key: str) -> float:
        value = event.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self._refuse(f"{key!r} must be a number, got {value!r}")
        return float(value)

    def _place(self, event: dict[str, Any]) -> tuple:
        place = (event.get("pid"), event.get("tid"))
        if not all(part is None or isinstance(part, (int, str)) for part in place):
            self._refuse(f"'pid' and 'tid' must be numbers or texts, got {place!r}")
        return place

    def _read_event(self, event: dict[str, Any]) -> None:
        phase, name = event.get("ph"), event.get("name", "")
        if not isinstance(phase, str):
            self._refuse(f"'ph' must be a text, got {phase!r}")
        if not isinstance(name, str):
            self._refuse(f"'name' must be a text, got {name!r}")
        category = str(event.get("cat", ""))
        place = self._place(event)
        if phase == "M":
            self._read_metadata(event, name, place)
        elif phase == "X":
            begin, duration = self._number(event, "ts"), self._number(event, "dur")
            if duration < 0:
                self._refuse(f"'dur' must not be negative, got {duration}")
            self._add_bar((*place, None), begin, duration, name, category)
        elif phase in ("B", "E"):
            self._read_half(phase == "B", (*place, None), "", self._number(event, "ts"), name, category)
        elif phase in ("b", "e"):
            key = str(event.get("id", ""))
            lane = (place[0], None, category)
            self._read_half(phase == "b", lane, (key, name), self._number(event, "ts"), name, category)
        elif phase == "C":
            self._read_counter(event, name, category, place)
        elif phase in _MARK_PHASES:
            self._marks.append({"name": name, "time": self._number(event, "ts"), "pid": place[0]})
        elif phase == "s":
            self._starts[str(event.get("id"))] = (place, self._number(event, "ts"))
        elif phase in ("f", "t"):
            self._ends.append((category == MESSAGE, str(event.get("id")), place, self._number(event, "ts")))
        # Other phases carry nothing that is drawn.

    def _read_metadata(self, event: dict[str, Any], name: str, place: tuple) -> None:
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            self._refuse(f"'args' must be an object, got {arguments!r}")
        if name in ("process_name", "process_labels", "process_sort_index"):
            self._process.setdefault(place[0], {}).update(arguments)
        elif name in ("thread_name", "thread_sort_index"):
            self._thread.setdefault(place, {}).update(arguments)

    def _add_bar(self, lane: tuple, begin: float, duration: float, name: str, category: str) -> None:
        if category == _PUSH:
            return
        number = self._names.setdefault(name, len(self._names))
        kind = self._categories.setdefault(category, len(self._categories))
        self._bars.setdefault(lane, []).append((begin, -duration, number, kind))

    def _read_half(self, begins: bool, lane: tuple, key: Any, time: float, name: str, category: str) -> None:
        stack = self._open.setdefault((lane, key), [])
        if begins:
            stack.append((time, name, category))
        elif stack:  # an end without a beginning: the beginning was overwritten
            begin, name, category = stack.pop()
            self._add_bar(lane, begin, max(time - begin, 0.0), name, category)

    def _read_counter(self, event: dict[str, Any], name: str, category: str, place: tuple) -> None:
        time, values = self._number(event, "ts"), event.get("args")
        if not isinstance(values, dict):
            self._refuse(f"'args' of a counter must be an object, got {values!r}")
        for key in values:
            title = name if key in ("value", name) else f"{name} {key}"
            self._curves.setdefault((title, category, self._clock(place[0])), []).append(
                (time, self._number(values, key))
            )

    def _clock(self, pid: Any) -> str:
        return "virtual" if "virtual" in str(self._process.get(pid, {}).get("labels", "")) else "real"

    def _finish(self, lost: int) -> Timeline:
        lanes: dict[tuple, Lane] = {}
        for key in sorted(self._bars, key=self._order):
            lanes[key] = self._make_lane(key)
        index = {key: number for number, key in enumerate(lanes)}
        self._tie_arrows(lanes, index)
        curves = []
        for (name, category, clock), points in sorted(self._curves.items()):
            points.sort(key=lambda point: point[0])
            curve = Curve(name, category, clock)
            for time, value in points:
                curve.times.append(time)
                curve.values.append(value)
            curves.append(curve)
        marks = [
            {"name": mark["name"], "time": mark["time"], "clock": self._clock(mark["pid"])}
            for mark in self._marks
        ]
        _begin_at_zero(list(lanes.values()), curves, marks)
        return Timeline(list(lanes.values()), curves, marks, list(self._names), list(self._categories), lost)

    def _order(self, key: tuple) -> tuple:
        """Groups and lanes as their metadata sorts them; notes of the program first."""
        pid, tid, category = key
        process = self._process.get(pid, {}).get("sort_index", 0)
        thread = self._thread.get((pid, tid), {}).get("sort_index", 0)
        numbers = [value if isinstance(value, (int, float)) else 0 for value in (process, thread)]
        return (category is None, numbers[0], str(pid), numbers[1], str(tid), category or "")

    def _make_lane(self, key: tuple) -> Lane:
        pid, tid, category = key
        process = str(self._process.get(pid, {}).get("name", f"process {pid}"))
        if category is None:
            name = str(self._thread.get((pid, tid), {}).get("name", f"thread {tid}"))
            lane = Lane(name, process, self._clock(pid))
        else:
            lane = Lane(category or "async", "marked by the program", self._clock(pid), "notes")
        for begin, minus_duration, name_index, kind in sorted(self._bars[key]):
            lane.begins.append(begin)
            lane.durations.append(-minus_duration)
            lane.names.append(name_index)
            lane.categories.append(kind)
        lane.origin_lanes = array("i", [-1]) * len(lane.begins)
        lane.origin_times = array("d", [0.0]) * len(lane.begins)
        return lane

    def _tie_arrows(self, lanes: dict[tuple, Lane], index: dict[tuple, int]) -> None:
        """An arrow ends at the last bar of its lane that begins no later than the arrow's head. Of two, that
        from another process is the one that is drawn.
        """
        for _, key, place, time in sorted(self._ends, key=lambda end: end[0]):
            start = self._starts.get(key)
            lane = lanes.get((*place, None))
            if start is None or lane is None:
                continue
            origin = index.get((*start[0], None))
            at = bisect.bisect_right(lane.begins, time + 5e-4) - 1  # times are rounded to a nanosecond
            if origin is not None and at >= 0:
                lane.origin_lanes[at] = origin
                lane.origin_times[at] = start[1]


def _begin_at_zero(lanes: list[Lane], curves: list[Curve], marks: list[dict[str, Any]]) -> None:
    """Other tools write the time since 1970. Simulated clocks keep their zero: it means something."""
    columns = [lane.begins for lane in lanes if lane.clock == "real"]
    columns += [curve.times for curve in curves if curve.clock == "real"]
    real_marks = [mark for mark in marks if mark["clock"] == "real"]
    times = [column[0] for column in columns] + [mark["time"] for mark in real_marks]
    columns += [lane.origin_times for lane in lanes if lane.clock == "real"]
    first = min(times, default=0.0)
    for column in columns:
        for i in range(len(column)):
            column[i] -= first
    for mark in real_marks:
        mark["time"] -= first
