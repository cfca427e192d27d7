"""Containers of blocks, and functions as blocks."""

import warnings

from ... import ndarray as nd
from ..._semantics import is_np_array
from ..block import Block, _indent
from ..hybrid_block import HybridBlock

__all__ = ["HybridLambda", "HybridSequential", "Lambda", "Sequential"]


class _Chain:
    """What Sequential and HybridSequential share: blocks called one after the other.

    `net[i]` is a block, `net[1:3]` a container of the same prefix that shares them. IndexError: there is no
    such block.
    """

    _has_summary_row = False

    def add(self, *blocks):
        """Appends blocks."""
        for block in blocks:
            if not isinstance(block, Block):
                raise TypeError(
                    f"{type(self).__name__}.add: expected Blocks, got {type(block).__name__}; "
                    "wrap a function in nn.Lambda or nn.HybridLambda."
                )
            self.register_child(block)

    def _call_in_order(self, x):
        for block in self._children.values():
            x = block(x)
        return x

    def __repr__(self):
        lines = "\n".join(f"  ({name}): {_indent(repr(block))}" for name, block in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def __getitem__(self, key):
        picked = list(self._children.values())[key]
        if not isinstance(picked, list):
            return picked
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*picked)
        return part

    def __len__(self):
        return len(self._children)


class Sequential(_Chain, Block):
    """Blocks called one after the other; `net[i]` is a block, `net[1:3]` a container that shares them.

    Examples
    --------
    >>> net = nn.Sequential()
    >>> net.add(nn.Dense(16, activation="relu"), nn.Dense(3))
    >>> net.initialize()
    >>> net(nd.ones((2, 8))).shape
    (2, 3)
    >>> len(net), net[1]
    (2, Dense(16 -> 3, linear))
    """

    def forward(self, x):
        return self._call_in_order(x)

    def hybridize(self, active=True, **kwargs):
        """Hybridizes every child on its own, with a warning when one graph of all of them were possible."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. Consider using "
                "HybridSequential for the best performance.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Chain, HybridBlock):
    """Hybrid blocks called one after the other; `net[i]` is a block, `net[1:3]` a container that shares
    them.

    Examples
    --------
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(16, activation="relu"), nn.Dense(3))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(nd.ones((2, 8))).shape
    (2, 3)
    """

    def hybrid_forward(self, F, x):
        return self._call_in_order(x)


def _named_function(F, name):
    """The function `name` of F, or of F.np or F.npx in np mode. AssertionError: there is none."""
    spaces = (F.np, F.npx) if is_np_array() else (F,)
    found = next((getattr(space, name) for space in spaces if hasattr(space, name)), None)
    names = " and ".join(space.__name__.rpartition(".")[2] for space in spaces)
    assert found is not None, f"Function name {name} is not found in {names}."
    return found


class _FunctionBlock:
    """What Lambda and HybridLambda share: a function given by name or as a callable."""

    def __init__(self, function, prefix=None):
        super().__init__(prefix=prefix)
        self._is_named = isinstance(function, str)
        if self._is_named:
            self._function, self._function_name = _named_function(nd, function), function
        elif callable(function):
            self._function, self._function_name = function, getattr(function, "__name__", repr(function))
        else:
            raise ValueError(
                f"Unrecognized function in lambda: {function} of type {type(function)}; "
                "expected a name or a callable."
            )

    def __repr__(self):
        return f"{type(self).__name__}({self._function_name})"


class Lambda(_FunctionBlock, Block):
    """Calls `function(*inputs)`: a callable, or the name of a function of nd (of np or npx in np mode).

    AssertionError: no function of that name. ValueError: neither a string nor callable.

    Examples
    --------
    >>> nn.Lambda("tanh")(nd.array([0, 1]))
    [0.        0.7615942]
    <NDArray 2 @cpu(0)>
    >>> nn.Lambda(lambda x: x * 2)(nd.array([0, 1]))
    [0. 2.]
    <NDArray 2 @cpu(0)>
    """

    def forward(self, *args):
        return self._function(*args)


class HybridLambda(_FunctionBlock, HybridBlock):
    """Calls `function(F, *inputs)`, or the function of that name of F (of F.np or F.npx in np mode).

    AssertionError: no function of that name. ValueError: neither a string nor callable.

    Examples
    --------
    >>> layer = nn.HybridLambda(lambda F, x: F.square(x) + 1)
    >>> layer.hybridize()
    >>> layer(nd.array([1, 2, 3]))
    [ 2.  5. 10.]
    <NDArray 3 @cpu(0)>
    """

    def hybrid_forward(self, F, x, *args):
        if self._is_named:
            return _named_function(F, self._function_name)(x, *args)
        return self._function(F, x, *args)
