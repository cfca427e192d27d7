"""What tests run on, and what is changed around them: contexts, environment variables, output, attempts."""

import contextlib
import functools
import os
import platform

from ... import ndarray as nd
from ...context import Context, current_context, num_gpus
from ...io import DataIter
from ...runtime import Features
from ...util import setenv

__all__ = [
    "DummyIter",
    "default_context",
    "discard_stderr",
    "environment",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "retry",
    "set_default_context",
]

_STDERR = 2


def default_context():
    """The context that tests run on: that of this thread."""
    return current_context()


def set_default_context(ctx):
    """Makes `ctx` the context of this thread."""
    Context.default_ctx = ctx


def list_gpus():
    """The numbers of the GPUs that can be used."""
    return range(num_gpus())


def is_cd_run():
    """Whether a delivery pipeline runs the tests: the environment variable CD_JOB is 1."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run():
    """Whether the processor is a 64-bit ARM."""
    return platform.machine() == "aarch64"


def has_tvm_ops():
    """Whether there are operators made by TVM: there are none."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable():
    """Whether operators run on the current context: they do."""
    return True


def retry(n):
    """Decorator: a test may fail with an AssertionError `n - 1` times before it counts."""
    assert n > 0

    def decorate(test):
        @functools.wraps(test)
        def attempt(*args, **kwargs):
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    nd.waitall()
            return test(*args, **kwargs)

        return attempt

    return decorate


@contextlib.contextmanager
def environment(*args):
    """A `with` block in which environment variables have other values, None: are not there.

    Called as `environment(name, value)` or with a dictionary. The block ends when what it queued has run.
    """
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    else:
        assert len(args) == 2, "environment: expected a dictionary, or a name and a value"
        wanted = {args[0]: args[1]}
    before = {name: os.environ.get(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, value)
        yield
    finally:
        nd.waitall()
        for name, value in before.items():
            setenv(name, value)


@contextlib.contextmanager
def discard_stderr():
    """A `with` block whose error output, of this process and not of Python alone, is thrown away."""
    kept = os.dup(_STDERR)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            os.dup2(nowhere.fileno(), _STDERR)
            yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


class DummyIter(DataIter):
    """An iterator without end that gives the first batch of another one, again and again."""

    def __init__(self, real_iter):
        super().__init__()
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self):
        return self

    def next(self):
        """The batch."""
        return self.the_batch
