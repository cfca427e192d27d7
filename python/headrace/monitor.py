"""Monitor: statistics of the arrays inside executors, every so many batches."""

import logging
import math
import re

from .ndarray import NDArray

__all__ = ["Monitor"]


def _root_mean_square(array):
    return array.norm() / math.sqrt(array.size)


class Monitor:
    """Between `tic` and `toc` of every `interval`-th batch, notes `stat_func(array)` of what executors
    compute.

    `stat_func` gives an array or a list of arrays (default: the root of the mean square). Noted are the
    outputs of operators during forward, the gradients of their inputs during backward
    ('fc1_backward_output0'), then arguments and auxiliary states, if `pattern` matches their names from the
    start; with `monitor_all` the inputs of operators, too: 'fc1_data', and variables also by their own names.

    Examples
    --------
    >>> monitor = mx.monitor.Monitor(interval=1, pattern="relu.*")
    >>> executor = sym.relu(sym.var("x"), name="relu").bind(mx.cpu(), {"x": nd.array([3])})
    >>> monitor.install(executor)
    >>> monitor.tic()
    >>> outputs = executor.forward()
    >>> [(name, text.strip()) for _, name, text in monitor.toc()]
    [('relu_output', '3.0')]
    """

    def __init__(self, interval, stat_func=None, pattern=".*", sort=False, monitor_all=False):
        self.interval = interval
        self.stat_func = stat_func or _root_mean_square
        self.sort = sort
        self.monitor_all = monitor_all
        self.queue = []
        self.step = 0
        self.activated = False
        self.exes = []
        self.re_prog = re.compile(pattern)

    def install(self, exe):
        """Watches an Executor."""
        self.exes.append(exe)

    def _note(self, name, array):
        if self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self):
        """Call it before forward."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
            for exe in self.exes:
                exe.set_monitor_callback(lambda name, x: self._note(name.decode(), x), self.monitor_all)
        self.step += 1

    def toc(self):
        """Call it after backward. Gives (batch number, name, text of statistics) for each array, or []."""
        if not self.activated:
            return []
        self.activated = False
        for exe in self.exes:
            exe.set_monitor_callback(None)
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self._note(name, array)
        noted, self.queue = self.queue, []
        if self.sort:
            noted.sort(key=lambda item: item[1])
        return [(step, name, self._text(values)) for step, name, values in noted]

    @staticmethod
    def _text(values):
        if not isinstance(values, (list, tuple)):
            values = [values]
        assert all(isinstance(value, NDArray) for value in values), "stat_func must give arrays"
        shown = [value.asscalar() if value.shape == (1,) else value.asnumpy() for value in values]
        return "".join(str(value) + "\t" for value in shown)

    def toc_print(self):
        """As toc, but logs the result."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)
