"""Gradients: recording scopes, backward, custom functions."""

import warnings

from . import _core
from ._lists import as_list
from ._thread_flag import ThreadFlag
from .base import MXNetError
from .ndarray import NDArray

__all__ = [
    "NDArray",  # programs take it from here
    "record",
    "pause",
    "train_mode",
    "predict_mode",
    "is_recording",
    "is_training",
    "set_recording",
    "set_training",
    "mark_variables",
    "backward",
    "grad",
    "get_symbol",
    "Function",
]

is_recording = _core.is_recording
is_training = _core.is_training
set_recording = _core.set_recording
set_training = _core.set_training

record = _core.record
pause = _core.pause
train_mode = _core.train_mode
predict_mode = _core.predict_mode


def mark_variables(variables, gradients, grad_reqs="write"):
    """Makes each array a variable whose gradient ``backward`` puts into the array beside it.

    ``grad_reqs`` is 'write', 'add' or 'null', one for all or one for each. ValueError: different numbers of
    them, or a gradient of another shape or on another device than its array.

    Examples
    --------
    >>> x, gradient = nd.array([1, 2]), nd.zeros((2,))
    >>> autograd.mark_variables([x], [gradient])
    >>> with autograd.record():
    ...     y = 3 * x
    >>> y.backward()
    >>> gradient
    [3. 3.]
    <NDArray 2 @cpu(0)>
    """
    variables, gradients = as_list(variables), as_list(gradients)
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(reqs):
        raise ValueError(
            f"mark_variables: {len(variables)} variables, {len(gradients)} gradients and {len(reqs)} "
            "grad_reqs were given; the numbers must agree"
        )
    for variable, gradient, req in zip(variables, gradients, reqs):
        _core.mark_variable(variable, gradient, req)
        _core.set_grad_object(variable, gradient)


def _head_gradients(heads, head_grads, name):
    if head_grads is None:
        return None
    head_grads = as_list(head_grads)
    assert len(head_grads) == len(heads), (
        f"{name}: {len(heads)} heads but {len(head_grads)} head gradients were given; "
        "give one for each, or None"
    )
    return head_grads


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Computes the gradients of ``heads`` with respect to all variables they were recorded from.

    ``head_grads``: one array per head, or None for ones. Without ``retain_graph`` the recorded graph is
    freed. MXNetError: nothing was recorded for a head.

    Examples
    --------
    >>> x = nd.array([1, 2, 3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x
    >>> autograd.backward([y], head_grads=[nd.array([1, 10, 100])])
    >>> x.grad
    [  2.  40. 600.]
    <NDArray 3 @cpu(0)>
    """
    heads = as_list(heads)
    _core.backward(
        heads, _head_gradients(heads, head_grads, "backward"), bool(retain_graph), bool(train_mode)
    )


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """Returns the gradients of ``heads`` with respect to ``variables`` as a list of new arrays.

    With ``create_graph`` the results can be differentiated again. MXNetError: nothing was recorded for a
    head. AssertionError: no variables.

    Examples
    --------
    >>> x = nd.array([1, 2, 3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     slope = autograd.grad(x * x * x, x, create_graph=True, retain_graph=True)[0]
    >>> slope.backward()
    >>> slope, x.grad  # 3 x^2 and 6 x
    (
    [ 3. 12. 27.]
    <NDArray 3 @cpu(0)>,
    [ 6. 12. 18.]
    <NDArray 3 @cpu(0)>)
    """
    heads, variables = as_list(heads), as_list(variables)
    assert variables, "grad: variables must not be an empty list"
    if retain_graph is None:
        retain_graph = create_graph
    head_grads = _head_gradients(heads, head_grads, "grad")
    return _core.grad(heads, variables, head_grads, bool(retain_graph), bool(create_graph), bool(train_mode))


def get_symbol(x):
    """What was recorded to compute the array `x`, as a Symbol.

    Arrays with attached gradients are its variables var0, var1 ..., other arrays that were read null0,
    null1 ... Hybridized blocks are the operators that they are made of. AssertionError: `x` is no array.
    MXNetError: nothing was recorded, backward has freed it, or a part of it is a Function.

    Examples
    --------
    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = (x * 2).sum()
    >>> autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    from . import _arrays as arrays
    from .symbol.calls import wrap

    assert isinstance(x, arrays.NDArray), f"get_symbol: expected an array, got {type(x)}"
    return wrap(_core.SymbolHandle.from_tape(x), isinstance(x, arrays.NpArray))


# Code that is written for arrays is given symbols: a Function raises MXNetError, and the code runs on arrays.
functions_need_arrays = ThreadFlag()


class Function:
    """A differentiable operation written in Python.

    Subclasses define ``forward(self, *inputs)`` and ``backward(self, *output_gradients)``, which returns one
    gradient for each input. ``save_for_backward(*arrays)`` keeps arrays in ``saved_tensors``.
    An object is called once.

    Of symbols, and so in a hybridized ``hybrid_forward``, the graph gets what ``forward`` computes, without
    ``backward``, of which a warning tells.

    Examples
    --------
    >>> class Sigmoid(autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = nd.array([0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad
    [0.25]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self):
        self._used = False
        self.saved_tensors = ()

    def save_for_backward(self, *arrays):
        """Keeps arrays for ``backward``."""
        self.saved_tensors = arrays

    def __call__(self, *inputs):
        assert not getattr(self, "_used", False), "each Function object can be called once; make a new one"
        self._used = True
        on_symbols = any(map(_core.is_symbol, inputs))
        is_traced = any(getattr(one, "_is_abstract", False) for one in inputs)
        if is_traced or (on_symbols and functions_need_arrays.is_set):
            raise MXNetError(
                f"{type(self).__name__}: an autograd.Function is code, which no graph holds; call it on "
                "arrays, in a Block, or in a HybridBlock that defines forward(self, x)"
            )
        if on_symbols:
            return self._on_symbols(inputs)
        with pause(train_mode=is_training()):
            outputs = self.forward(*inputs)
        if not is_recording():
            return outputs
        single = not isinstance(outputs, (list, tuple))
        results = [outputs] if single else list(outputs)
        if not results:
            raise MXNetError(f"{type(self).__name__}.forward: one array is needed at least, got {outputs!r}")
        for array in results:
            if not isinstance(array, NDArray):
                raise MXNetError(
                    f"{type(self).__name__}.forward: arrays are needed, got {type(array).__name__}; compute "
                    "with nd or np, or convert the result"
                )
        # A result may be an input itself: it needs a place of its own on the tape.
        results = [array.detach() for array in results]
        shapes = [getattr(one, "shape", None) for one in inputs]
        _core.record_custom(list(inputs), results, _Step(self, shapes), results[0]._is_np)
        return results[0] if single else tuple(results)

    def _on_symbols(self, inputs):
        name = type(self).__name__
        warnings.warn(
            f"{name}.backward is not part of the graph: gradients will be those of the operators in forward. "
            f"To have {name}'s, do not hybridize, or define forward(self, x) in a HybridBlock",
            stacklevel=3,
        )
        return self.forward(*inputs)

    def forward(self, *inputs):
        """Computes the outputs."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(self, *inputs)")

    def backward(self, *output_gradients):
        """Computes the input gradients."""
        raise NotImplementedError(f"{type(self).__name__} must define backward(self, *output_gradients)")


class _Step:
    """The backward step of one Function call, as the tape calls it."""

    def __init__(self, function, shapes):
        self._function, self._shapes = function, shapes

    def __call__(self, heads, _wanted):
        gradients = self._function.backward(*heads)
        gradients = [gradients] if not isinstance(gradients, (list, tuple)) else list(gradients)
        if len(gradients) != len(self._shapes):
            raise MXNetError(
                f"{type(self._function).__name__}.backward: {len(self._shapes)} gradients are needed, one "
                f"for each input of forward, but {len(gradients)} were returned"
            )
        return [self._of_input(*one) for one in enumerate(gradients)]

    def _of_input(self, i, gradient):
        """The gradient in the shape of input ``i``."""
        shape = self._shapes[i]
        if not isinstance(gradient, NDArray) or gradient.shape == shape:
            return gradient
        try:
            return gradient.broadcast_to(shape)
        except MXNetError as error:
            raise MXNetError(
                f"{type(self._function).__name__}.backward: gradient {i} has shape {gradient.shape}, but "
                f"input {i} of forward has shape {shape}"
            ) from error
