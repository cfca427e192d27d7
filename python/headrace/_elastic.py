"""Jobs whose workers come and go, as their launcher sees them: `python -m headrace.launch --elastic`."""

import argparse
import re
import shlex
import signal
import sys
import time

from ._checkpoint_requests import are_requested, request, withdraw
from ._processes import Process, hosts_reached
from ._rank import TOLD

__all__ = [
    "Beginning",
    "ElasticScheduler",
    "Replacements",
    "line_to_join",
    "options_of_next",
    "range_of",
    "with_range",
]

MOST_REPLACED = 20  # workers of a job, unless --restart says how many
_SECONDS_OF_LIFE = 10  # one that fails earlier has to wait before another one takes its place
_LONGEST_PAUSE = 30
_SECONDS_TO_END = 5  # for those that have been there when a job ends


def range_of(text):
    """(least, most) workers of a job, of "MIN" or "MIN:MAX"; most is None: any number."""
    found = re.fullmatch(r"(\d+)(?::(\d*))?", text)
    if not found or int(found[1]) < 1 or (found[2] and int(found[2]) < int(found[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is no MIN or MIN:MAX, numbers of workers from 1 on")
    return int(found[1]), int(found[2]) if found[2] else None


def with_range(arguments, command_of):
    """The arguments, with the range that --elastic has when none is given: what follows may be the program.
    `command_of(arguments)` gives what of them is the program.
    """
    for at, argument in enumerate(arguments):
        if argument == "--elastic" and not command_of(arguments[:at]):
            given = arguments[at + 1 : at + 2]
            own = 2 if given and re.match(r"\d", given[0]) else 1
            text = given[0] if own == 2 else "1"
            return [*arguments[:at], f"--elastic={text}", *arguments[at + own :]]
    return arguments


def line_to_join(environment, command, asked):
    """What a shell is told to have another worker join the job of this environment; `asked`: what --env says
    of workers.
    """
    one = f"{environment['DMLC_PS_ROOT_URI']}:{environment['DMLC_PS_ROOT_PORT']}"
    address = environment.get("HEADRACE_SCHEDULERS", one)
    certificates = environment.get("HEADRACE_CERTIFICATES")
    how = ["--certificates", certificates] if certificates else ["--plain"]
    how += [f"--env={name}={value}" for name, value in asked.items()]
    return shlex.join(["python", "-m", "headrace.launch", "--join", address, "-n", "1", *how, *command])


def options_of_next(options, cluster, nodes):
    """Those by which a job starts again on what is left of its machines, without the workers of the others.

    `nodes` are those of the cluster with which the job has begun, None: it has none. SystemExit: fewer
    workers than the job may have.
    """
    if options.hosts:
        places, left = options.hosts, hosts_reached(options.hosts)
    elif cluster:
        places, left = ([one["NodeID"] for one in some] for some in (nodes, cluster.nodes()))
    else:
        return options
    there = [number for number in range(options.num_workers) if places[number % len(places)] in left]
    workers = options.num_workers if len(left) >= len(places) else len(there)
    if workers < options.elastic[0]:
        raise SystemExit(
            f"headrace.launch: of {len(places)} machines {len(left)} are left, with {workers} of at least "
            f"{options.elastic[0]} workers"
        )
    if workers < options.num_workers:
        gone = f"{len(places) - len(left)} of {len(places)} machines are gone"
        print(f"headrace.launch: {gone}; the job goes on with {workers} workers", file=sys.stderr)
    hosts = left if options.hosts else None
    return argparse.Namespace(**{**vars(options), "num_workers": workers, "hosts": hosts})


class ElasticScheduler(Process):
    """The scheduler of an elastic job, which tells how it goes."""

    is_open = False  # it has begun, and workers come and go
    others = 0  # workers that other launchers have started
    had_others = False
    asking = 0  # workers that would join a synchronous job
    told_at = 0.0  # when it said so; of several schedulers the last one knows

    def show(self, line):
        if not line.startswith(f"{TOLD}elastic "):
            return super().show(line)
        kind, others, asking = line.split()[-3:]
        self.is_open, self.others, self.asking = kind == "asynchronous", int(others), int(asking)
        self.had_others = self.had_others or self.others > 0
        self.told_at = time.monotonic()
        return None


class Beginning:
    """The next beginning of a synchronous job, for workers that would join: from a checkpoint that it saves
    when they ask, in a folder; None: it saves none.
    """

    def __init__(self, folder):
        self._folder = folder
        self._has_asked = False
        if folder:
            withdraw(folder)  # what was asked for in vain before

    def awaited(self, scheduler):
        """Workers of other launchers that come to it; 0: it is not due."""
        if not self._folder or scheduler.is_open or not scheduler.asking:
            return 0
        if not self._has_asked:
            request(self._folder)
            self._has_asked = True
            many = "1 worker" if scheduler.asking == 1 else f"{scheduler.asking} workers"
            how = "the job begins anew with more when it has saved a checkpoint"
            print(f"headrace.launch: {many} would join; {how}", file=sys.stderr)
        return 0 if are_requested(self._folder) else scheduler.others + scheduler.asking

    def end(self):
        if self._has_asked:
            withdraw(self._folder)


class Replacements:
    """Another worker in the place of each that has failed. `start(number)` starts one."""

    def __init__(self, start, most):
        self._start, self._left = start, most
        self._due = []  # (when, number)
        self._failures = {}  # by number: that came early
        self._begun = time.monotonic()
        self._since = {}  # by number
        self._started = []
        self._last_failed = None
        self._over_since = None

    def review(self, workers):
        """Workers of an open job, without those that have failed, and with those that take their places."""
        kept = [one for one in workers if not one.has_failed()]
        for one in workers:
            if one.has_failed():
                self._plan(one)
        for when, number in [due for due in self._due if due[0] <= time.monotonic()]:
            self._due.remove((when, number))
            self._since[number] = time.monotonic()
            self._started.append(self._start(number))
            kept.append(self._started[-1])
        return kept

    def are_due(self):
        """Whether others will come."""
        return bool(self._due)

    def without_late(self, workers):
        """Workers of a job that is over, without those that have come too late to join it: they are ended."""
        self._due.clear()
        self._over_since = self._over_since or time.monotonic()
        if time.monotonic() - self._over_since < _SECONDS_TO_END:
            return workers
        late = [one for one in workers if one in self._started and one.status() is None]
        for one in late:
            print(f"headrace.launch: {one.name} comes too late, the job is over", file=sys.stderr)
            one.end(signal.SIGKILL)
            one.reap()
        return [one for one in workers if one not in late]

    def failure_of_all(self, workers, had_others):
        """Of a job that is over: the process that has failed, if none of `workers`, who are left of it, runs
        or has ended well, nor may one of another launcher have; None: there is none.
        """
        if had_others or any(one.status() in (None, 0) for one in workers):
            return None
        return next((one for one in workers if one.has_failed()), self._last_failed)

    def _plan(self, failed):
        self._last_failed = failed
        replaces = self._left > 0
        how = "another one takes its place" if replaces else "the job goes on without it"
        print(f"headrace.launch: {failed.fate()[1]}; {how}", file=sys.stderr)
        if not replaces:
            return
        self._left -= 1
        lived = time.monotonic() - self._since.get(failed.number, self._begun)
        early = self._failures.get(failed.number, 0) + 1 if lived < _SECONDS_OF_LIFE else 0
        self._failures[failed.number] = early
        pause = min(2 ** (early - 2), _LONGEST_PAUSE) if early > 1 else 0
        self._due.append((time.monotonic() + pause, failed.number))
