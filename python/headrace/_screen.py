"""What the launcher shows on a terminal: lines, and below them one that is not finished."""

import contextlib
import os
import re
import sys
import threading

__all__ = ["show_live", "with_live_line"]

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f]")  # would move what is shown
_TO_THE_BEGINNING = "\r\x1b[K"  # of a line, which is then empty


@contextlib.contextmanager
def with_live_line():
    """On a terminal what this process writes meanwhile scrolls above the line of `show_live`."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield
        return
    screen = _Screen(sys.stdout)
    errors = screen.stream(sys.stderr) if sys.stderr.isatty() else sys.stderr
    with contextlib.redirect_stdout(screen.stream(sys.stdout)), contextlib.redirect_stderr(errors):
        try:
            yield
        finally:
            screen.show_live("")


def show_live(line):
    """Shows "[NAME] text" below everything, in the place of what was there, until a line begins like it."""
    if isinstance(sys.stdout, _Stream):
        sys.stdout.screen.show_live(line)


class _Screen:
    """A terminal. Any thread."""

    def __init__(self, terminal):
        self._terminal = terminal
        self._lock = threading.Lock()
        self._live = ""
        self._is_inside = False  # a line that something else has begun is not finished: nothing is below it

    def stream(self, stream):
        return _Stream(self, stream)

    def show_live(self, line):
        with self._lock:
            self._live = line
            self._draw()

    def write(self, stream, text):
        with self._lock:
            if self._live and not self._is_inside:
                self._terminal.write(_TO_THE_BEGINNING)
                self._terminal.flush()
            if self._live and text.startswith(self._live.partition("] ")[0] + "] "):
                self._live = ""
            stream.write(text)
            stream.flush()
            self._is_inside = not text.endswith("\n") if text else self._is_inside
            if self._live:
                self._draw()

    def _draw(self):
        if self._is_inside:
            return
        columns = os.get_terminal_size(self._terminal.fileno()).columns or 80
        self._terminal.write(_TO_THE_BEGINNING + _CONTROLS.sub("", self._live)[: columns - 1])
        self._terminal.flush()


class _Stream:
    """A stream that a _Screen shows."""

    def __init__(self, screen, stream):
        self.screen = screen
        self._stream = stream

    def write(self, text):
        self.screen.write(self._stream, text)
        return len(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)
