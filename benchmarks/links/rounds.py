"""What the processes of a job and who directs them say to each other: files in a folder that all see.

A process says `ready` for a round, waits for its beginning, and says when it began and ended. The clock is
that of the machine, the same in all namespaces.
"""

import json
import pathlib
import sys
import time

POLL = 0.001  # seconds
SECONDS = 120  # that one step may take


class Member:
    """A process of the job."""

    def __init__(self, folder, rank):
        self._folder, self._rank = pathlib.Path(folder), rank

    def run(self, rounds, work, prepare=lambda: None):
        """Calls `work` once in each round, with `prepare` before it, which does not count."""
        for number in range(rounds):
            prepare()
            self._write(f"ready-{number}", {})
            _await(self._folder / f"begin-{number}")
            begin = time.monotonic()
            work()
            self._write(f"done-{number}", {"begin": begin, "end": time.monotonic()})

    def _write(self, what, content):
        path = self._folder / f"{what}-{self._rank}"
        path.with_suffix(".part").write_text(json.dumps(content))
        path.with_suffix(".part").rename(path)


class Director:
    """Who lets the members begin. `check` is called while they are awaited; it raises when one has failed."""

    def __init__(self, folder, members, check):
        self._folder, self._members, self._check = pathlib.Path(folder), members, check

    def run(self, number):
        """Seconds from the first begin to the last end of a round for which all are ready."""
        (self._folder / f"begin-{number}").touch()
        done = self._await_all(f"done-{number}")
        return max(one["end"] for one in done) - min(one["begin"] for one in done)

    def await_ready(self, number):
        self._await_all(f"ready-{number}")

    def _await_all(self, what):
        paths = [self._folder / f"{what}-{rank}" for rank in range(self._members)]
        for path in paths:
            _await(path, self._check)
        return [json.loads(path.read_text()) for path in paths]


def _await(path, check=lambda: None):
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        check()
        if time.monotonic() > deadline:
            sys.exit(f"{path.name} did not come within {SECONDS} seconds")
        time.sleep(POLL)
