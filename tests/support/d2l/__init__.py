"""Stands in for the helper module of the book that the programs in tests/support/seed_programs come from.

Both spellings of the book's editions work: `import d2l` with `d2l.benchmark("... %.4f sec")`, and
`from d2l import mxnet as d2l` with `d2l.Benchmark("...")`.
"""

import time

__all__ = ["Benchmark", "Timer", "benchmark"]


class Timer:
    """A stop-watch that runs from its making or from `start()`."""

    def __init__(self):
        self._times = []
        self.start()

    def start(self):
        self._begin = time.perf_counter()

    def stop(self):
        """Seconds since the start; the watch goes on."""
        self._times.append(time.perf_counter() - self._begin)
        return self._times[-1]

    def avg(self):
        """Mean of what stop() gave."""
        return sum(self._times) / len(self._times)


class benchmark:  # noqa: N801 - the book's name
    """`with benchmark("text: %.4f sec"):` prints the text with the seconds that the block took."""

    def __init__(self, text="Done in %.4f sec"):
        self._text = text

    def __enter__(self):
        self._timer = Timer()
        return self

    def __exit__(self, *_):
        print(self._text % self._timer.stop())


class Benchmark(benchmark):
    """`with Benchmark("text"):` prints the text and the seconds that the block took."""

    def __init__(self, description="Done"):
        super().__init__(description + ": %.4f sec")


def __getattr__(name):
    # Needs mxnet, which the first programs import after this module.
    import importlib

    return getattr(importlib.import_module(".training", __name__), name)
