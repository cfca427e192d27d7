"""Containers and the layers without convolutions."""

import math

from ... import ndarray as nd
from ... import numpy as mnp
from ... import numpy_extension as npx
from ...util import is_np_array
from ..block import Block, _indent
from ..layer import Layer
from .activations import Activation

__all__ = ["Dense", "Dropout", "Embedding", "Flatten", "Lambda", "LayerNorm", "Sequential"]


class Sequential(Block):
    """Blocks called one after the other; `net[i]` is a block, `net[1:3]` a container that shares them."""

    def add(self, *blocks):
        """Appends blocks."""
        for block in blocks:
            if not isinstance(block, Block):
                raise TypeError(
                    f"Sequential.add: expected Blocks, got {type(block).__name__}; "
                    "wrap a function in nn.Lambda."
                )
            self.register_child(block)

    def forward(self, x):
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


class Dense(Layer):
    """`y = activation(x W^T + b)` with W of shape (units, in_units).

    `flatten` treats x of shape (N, ...) as (N, prod(...)); otherwise the last axis is transformed. `in_units`
    0 takes the size from the first input.
    """

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        flatten=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._units = units
        self._in_units = in_units
        self._flatten = flatten
        self._no_bias = not use_bias
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

    def infer_shape(self, x):
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def forward(self, x):
        weight = self.value(self.weight, x)
        bias = None if self._no_bias else self.value(self.bias, x)
        fully_connected = npx.fully_connected if is_np_array() else nd.FullyConnected
        out = fully_connected(
            x, weight, bias, num_hidden=self._units, no_bias=self._no_bias, flatten=self._flatten
        )
        return out if self.act is None else self.act(out)

    def __repr__(self):
        units, in_units = self.weight.shape
        return f"{type(self).__name__}({in_units or None} -> {units}, {self.act or 'linear'})"


class Dropout(Layer):
    """In training sets each element to zero with probability `rate` and scales the others by 1/(1-rate).

    One decision is shared along the axes in `axes`. Outside training nothing changes.
    """

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._rate = rate
        self._axes = axes

    def forward(self, x):
        dropout = npx.dropout if is_np_array() else nd.Dropout
        return dropout(x, p=self._rate, axes=self._axes)

    def __repr__(self):
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(Layer):
    """Rows of a weight (input_dim, output_dim) by integer id; ids outside are clipped.

    `sparse_grad` is accepted; the gradient is dense and has the same values.
    """

    def __init__(
        self,
        input_dim,
        output_dim,
        dtype="float32",
        weight_initializer=None,
        sparse_grad=False,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def forward(self, x):
        embedding = npx.embedding if is_np_array() else nd.Embedding
        return embedding(x, self.value(self.weight, x), **self._kwargs)

    def __repr__(self):
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class Flatten(Layer):
    """(N, ...) to (N, prod(...))."""

    def forward(self, x):
        return npx.batch_flatten(x) if is_np_array() else nd.Flatten(x)

    def __repr__(self):
        return type(self).__name__


class LayerNorm(Layer):
    """`gamma (x - mean) / sqrt(var + epsilon) + beta` with mean and variance over `axis`.

    `center` False fixes beta at its start, `scale` False gamma. `in_channels` 0 takes the size from the first
    input.
    """

    def __init__(
        self,
        axis=-1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._axis, self._epsilon = axis, epsilon
        self._center, self._scale = center, scale
        self._in_channels = in_channels
        with self.name_scope():
            self.gamma = self.params.get(
                "gamma",
                grad_req="write" if scale else "null",
                shape=(in_channels,),
                init=gamma_initializer,
                allow_deferred_init=True,
            )
            self.beta = self.params.get(
                "beta",
                grad_req="write" if center else "null",
                shape=(in_channels,),
                init=beta_initializer,
                allow_deferred_init=True,
            )

    def infer_shape(self, x):
        channels = x.shape[self._axis]
        self.gamma.shape = (channels,)
        self.beta.shape = (channels,)

    def forward(self, x):
        layer_norm = npx.layer_norm if is_np_array() else nd.LayerNorm
        return layer_norm(
            x, self.value(self.gamma, x), self.value(self.beta, x), axis=self._axis, eps=self._epsilon
        )

    def __repr__(self):
        channels = self.gamma.shape[0]
        return (
            f"{type(self).__name__}(eps={self._epsilon}, axis={self._axis}, center={self._center}, "
            f"scale={self._scale}, in_channels={channels})"
        )


class Lambda(Block):
    """Calls `function`: a callable, or the name of a function of nd (of np or npx in np mode).

    AssertionError: no function of that name. ValueError: neither a string nor callable.
    """

    def __init__(self, function, prefix=None):
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            spaces = (mnp, npx) if is_np_array() else (nd,)
            found = next((getattr(space, function) for space in spaces if hasattr(space, function)), None)
            names = " and ".join(space.__name__.rpartition(".")[2] for space in spaces)
            assert found is not None, f"Function name {function} is not found in {names}."
            self._function, self._function_name = found, function
        elif callable(function):
            self._function, self._function_name = function, getattr(function, "__name__", repr(function))
        else:
            raise ValueError(
                f"Unrecognized function in lambda: {function} of type {type(function)}; "
                "expected a name or a callable."
            )

    def forward(self, *args):
        return self._function(*args)

    def __repr__(self):
        return f"{type(self).__name__}({self._function_name})"
