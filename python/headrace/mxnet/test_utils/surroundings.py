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
    """The context that tests run on: that of this thread.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> with mx.cpu(1):
    ...     print(test_utils.default_context())
    cpu(1)
    """
    return current_context()


def set_default_context(ctx):
    """Makes `ctx` the context of this thread.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> before = mx.current_context()
    >>> test_utils.set_default_context(mx.cpu(1))
    >>> nd.ones((2,)).context
    cpu(1)
    >>> test_utils.set_default_context(before)
    """
    Context.default_ctx = ctx


def list_gpus():
    """The numbers of the GPUs that can be used.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> mx.sim.configure(gpus=2)
    >>> list(test_utils.list_gpus())
    [0, 1]
    >>> mx.sim.configure(gpus=0)
    """
    return range(num_gpus())


def is_cd_run():
    """Whether a delivery pipeline runs the tests: the environment variable CD_JOB is 1.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> with test_utils.environment("CD_JOB", "1"):
    ...     print(test_utils.is_cd_run())
    True
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run():
    """Whether the processor is a 64-bit ARM.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import platform
    >>> test_utils.is_aarch64_run() == (platform.machine() == "aarch64")
    True
    """
    return platform.machine() == "aarch64"


def has_tvm_ops():
    """Whether there are operators made by TVM: there are none.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.has_tvm_ops()
    False
    """
    return Features().is_enabled("TVM_OP")


def is_op_runnable():
    """Whether operators run on the current context: they do.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.is_op_runnable()
    True
    """
    return True


def retry(n):
    """Decorator: a test may fail with an AssertionError `n - 1` times before it counts.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> attempts = []
    >>> @test_utils.retry(3)
    ... def test():
    ...     attempts.append(1)
    ...     assert len(attempts) == 2
    >>> test()
    >>> len(attempts)
    2
    """
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

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import os
    >>> with test_utils.environment("MY_OPTION", "3"):
    ...     print(os.environ["MY_OPTION"])
    3
    >>> "MY_OPTION" in os.environ
    False
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
    """A `with` block whose error output, of this process and not of Python alone, is thrown away.

    Examples
    --------
    >>> import os
    >>> from headrace.mxnet import test_utils
    >>> with test_utils.discard_stderr():
    ...     print(os.write(2, b"nobody sees this"))
    16
    """
    kept = os.dup(_STDERR)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            os.dup2(nowhere.fileno(), _STDERR)
            yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


class DummyIter(DataIter):
    """An iterator without end that gives the first batch of another one, again and again.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> data = mx.io.NDArrayIter(nd.array([[1], [2]]), batch_size=1)
    >>> forever = test_utils.DummyIter(data)
    >>> [next(forever).data[0].asscalar().item() for _ in range(3)]
    [1.0, 1.0, 1.0]
    """

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
