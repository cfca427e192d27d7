"""Lays the timelines of several processes over each other, as one in Chrome's trace format."""

from __future__ import annotations

import math
import pathlib
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from ._read import MESSAGE, TimelineError, parse


def merge(paths: list[str]) -> dict[str, Any]:
    """The files that the profiler wrote in several processes as one document, whose groups of lanes have the
    names of the files before theirs, and where messages between the processes are arrows.

    Processes of one machine share a clock. Clocks of several are laid over each other by the messages that
    went both ways between them, as if the fastest took equally long; without any, by the time of day.

    Raises
    ------
    OSError
        When a file cannot be read.
    TimelineError
        When one holds no timeline that says when it began; the text says what is wrong, and where.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace import timeline
    >>> folder = tempfile.TemporaryDirectory()
    >>> paths = [os.path.join(folder.name, name) for name in ("worker-0.json", "worker-1.json")]
    >>> for path in paths:
    ...     mx.profiler.set_config(filename=path)
    ...     mx.profiler.start()
    ...     (nd.ones((2, 2)) * 2).wait_to_read()
    ...     mx.profiler.dump()
    >>> mx.profiler.set_config()
    >>> document = timeline.merge(paths)
    >>> sorted({event["args"]["name"].split(":")[0] for event in document["traceEvents"]
    ...         if event["name"] == "process_name"})
    ['worker-0', 'worker-1']
    """
    parts = [_Part(path) for path in paths]
    _align(parts)
    first = min((part.begin for part in parts), default=0.0)
    last = _last_sends(parts)
    events = [event for number, part in enumerate(parts) for event in part.events_in(number, first, last)]
    return {
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": {"lost": sum(part.lost for part in parts)},
    }


class _Part:
    """The file of one process."""

    def __init__(self, path: str) -> None:
        self._path = path
        document = parse(path)
        self._events = document.get("traceEvents") if isinstance(document, dict) else None
        if not isinstance(self._events, list) or not all(isinstance(event, dict) for event in self._events):
            raise TimelineError(
                f"{path}: no timeline: expected an object with a list 'traceEvents' of objects"
            )
        other = document.get("otherData")
        other = other if isinstance(other, dict) else {}
        self.lost = other.get("lost", 0)
        clock = other.get("clock")
        if self._events and not isinstance(clock, dict):
            raise TimelineError(
                f"{path}: it does not say when it began ('clock' in 'otherData'), so it cannot be laid over "
                "others; write it with headrace.profiler.dump() or HEADRACE_TIMELINE"
            )
        clock = clock or {}
        self.machine = clock.get("machine", "")
        self._steady, self._unix = (self._microseconds(clock, key) for key in ("steady_ns", "unix_ns"))
        self.begin = 0.0  # of the common clock

    def _microseconds(self, clock: dict[str, Any], key: str) -> float:
        value = clock.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TimelineError(f"{self._path}: {key!r} of its clock must be a number, got {value!r}")
        return value / 1e3

    def begin_beside(self, other: _Part) -> float:
        """Its begin on the clock of `other`, as the clocks of the machines have it."""
        if self.machine and self.machine == other.machine:
            return other.begin + self._steady - other._steady
        return other.begin + self._unix - other._unix

    def messages(self) -> Iterator[tuple[str, bool, float]]:
        """(id, whether it came, time after the begin of the file) of each."""
        for event in self._events:
            if event.get("cat") == MESSAGE and isinstance(event.get("ts"), (int, float)):
                yield str(event.get("id")), event.get("ph") == "f", event["ts"]

    def events_in(self, number: int, first: float, sends: dict[str, float]) -> Iterator[dict[str, Any]]:
        """Its events as those of process `number` of a document that begins at `first`, without messages that
        were sent before `sends` says.
        """
        title, shift = pathlib.Path(self._path).stem, self.begin - first
        virtual = {
            event.get("pid")
            for event in self._events
            if event.get("name") == "process_labels" and "virtual" in str(event.get("args"))
        }
        for event in self._events:
            is_sent = event.get("cat") == MESSAGE and event.get("ph") == "s"
            if is_sent and self.begin + event.get("ts", 0.0) < sends.get(str(event.get("id")), 0.0):
                continue
            moved = dict(event, pid=f"{number}.{event.get('pid', 0)}")
            if event.get("name") == "process_name" and event.get("ph") == "M":
                moved["args"] = {"name": f"{title}: {event.get('args', {}).get('name', '')}"}
            elif event.get("name") == "process_sort_index" and event.get("ph") == "M":
                moved["args"] = {"sort_index": 1000 * number + event.get("args", {}).get("sort_index", 0)}
            elif isinstance(event.get("ts"), (int, float)) and event.get("pid") not in virtual:
                moved["ts"] = event["ts"] + shift
            if "id" in event and event.get("cat") != MESSAGE:
                moved["id"] = f"{number}.{event['id']}"
            yield moved


def _align(parts: list[_Part]) -> None:
    """Gives all parts a begin on the clock of the first, from one to the next over what is known best."""
    delays = _least_delays(parts)
    waiting = deque(parts[:1])
    left = parts[1:]
    while left:
        if not waiting:  # nothing ties the next one to those that are placed
            left[0].begin = left[0].begin_beside(parts[0])
            waiting.append(left.pop(0))
            continue
        placed = waiting.popleft()
        for part in list(left):
            shares_clock = bool(part.machine) and part.machine == placed.machine
            there, back = delays.get((id(placed), id(part))), delays.get((id(part), id(placed)))
            if not shares_clock and (there is None or back is None):
                continue
            # On clocks that begin with the files a message takes its time and what lies between the begins.
            if shares_clock:
                part.begin = part.begin_beside(placed)
            else:
                part.begin = placed.begin - (there - back) / 2
            left.remove(part)
            waiting.append(part)


def _last_sends(parts: list[_Part]) -> dict[str, float]:
    """By id of a message: when the last of those who sent it did, on the common clock."""
    last: dict[str, float] = {}
    for part in parts:
        for key, is_received, time in part.messages():
            if not is_received:
                last[key] = max(last.get(key, -math.inf), part.begin + time)
    return last


def _least_delays(parts: list[_Part]) -> dict[tuple[int, int], float]:
    """By sender and receiver: the least time of a message, its ends counted from the begins of the files."""
    sent: dict[str, list[tuple[_Part, float]]] = defaultdict(list)
    came: dict[str, list[tuple[_Part, float]]] = defaultdict(list)
    for part in parts:
        for key, is_received, time in part.messages():
            (came if is_received else sent)[key].append((part, time))
    delays: dict[tuple[int, int], float] = {}
    for key, ends in came.items():
        for sender, begin in sent.get(key, []):
            for receiver, end in ends:
                if receiver is not sender:
                    pair = id(sender), id(receiver)
                    delays[pair] = min(delays.get(pair, end - begin), end - begin)
    return delays
