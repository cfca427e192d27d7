"""Gradients in the spelling that MXNet had before `mxnet.autograd`: recording and training are one state."""

import functools

from ... import autograd
from ...autograd import backward as _backward
from ...autograd import mark_variables
from ...ndarray import NDArray, zeros_like

__all__ = [
    "NDArray",  # programs take it from here
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train):
    """Switches training and recording; returns whether it was recorded before.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> before = old.set_is_training(True)
    >>> autograd.is_training(), autograd.is_recording()
    (True, True)
    >>> after = old.set_is_training(before)
    """
    autograd.set_training(is_train)
    return autograd.set_recording(is_train)


class TrainingStateScope:
    """A `with` block in which operations are recorded for training, or run in prediction.

    Examples
    --------
    >>> from headrace.mxnet.contrib.autograd import TrainingStateScope
    >>> with TrainingStateScope(True):
    ...     print(autograd.is_recording(), autograd.is_training())
    True True
    """

    def __init__(self, enter_state):
        self._enter_state = enter_state
        self._prev = None

    def __enter__(self):
        self._prev = set_is_training(self._enter_state)

    def __exit__(self, *_):
        set_is_training(self._prev)


def train_section():
    """A `with` block that is recorded, in training mode.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> with old.train_section():
    ...     print(autograd.is_recording(), autograd.is_training())
    True True
    """
    return TrainingStateScope(True)


def test_section():
    """A `with` block, inside a train_section, that is not recorded.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> with old.train_section():
    ...     with old.test_section():
    ...         print(autograd.is_recording())
    False
    """
    return TrainingStateScope(False)


test_section.__test__ = False  # pytest: not a test


def backward(outputs, out_grads=None, retain_graph=False):
    """Writes the gradients of a list of outputs into those of marked variables.

    `out_grads`: one array per output; None: ones. AssertionError: `outputs` is no list or tuple.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> x, gradient = nd.array([1, 2]), nd.zeros((2,))
    >>> old.mark_variables([x], [gradient])
    >>> with old.train_section():
    ...     y = x * x
    >>> old.backward([y])
    >>> gradient
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """
    assert isinstance(outputs, (list, tuple)), "outputs must be a list or tuple of NDArrays"
    _backward(list(outputs), out_grads, retain_graph)


def compute_gradient(outputs):
    """`backward(outputs)`: older programs call it so.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> x, gradient = nd.array([1, 2]), nd.zeros((2,))
    >>> old.mark_variables([x], [gradient])
    >>> with old.train_section():
    ...     y = x * 3
    >>> old.compute_gradient([y])
    >>> gradient
    [3. 3.]
    <NDArray 2 @cpu(0)>
    """
    backward(outputs)


def grad_and_loss(func, argnum=None):
    """A function that gives (gradients of the arguments, what `func` gives).

    argnum : the number, or a list of numbers, of the arguments that are differentiated; default: all

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> [gradient], loss = old.grad_and_loss(lambda x: x * x)(nd.array([3]))
    >>> gradient.asscalar().item(), loss.asscalar().item()
    (6.0, 9.0)
    """

    @functools.wraps(func)
    def with_gradients(*args):
        chosen = range(len(args)) if argnum is None else argnum if isinstance(argnum, list) else [argnum]
        variables = [args[i] for i in chosen]
        for variable in variables:
            assert isinstance(variable, NDArray), "type of autograd input should NDArray."
        gradients = [zeros_like(variable) for variable in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return with_gradients


def grad(func, argnum=None):
    """A function that gives the list of gradients of the arguments of `func`, as `grad_and_loss` does.

    Examples
    --------
    >>> from headrace.mxnet.contrib import autograd as old
    >>> slope = old.grad(lambda x: x * x)
    >>> slope(nd.array([1, 2]))[0]
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """
    with_gradients = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def gradients(*args):
        return with_gradients(*args)[0]

    return gradients
