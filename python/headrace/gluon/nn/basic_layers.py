"""Layers of matrices: dense, embedding; and those that only move or drop elements."""

from ..._semantics import is_np_array
from ..hybrid_block import HybridBlock
from .activations import Activation

__all__ = ["Dense", "Dropout", "Embedding", "Flatten"]


class Dense(HybridBlock):
    """`y = activation(x W^T + b)` with W of shape (units, in_units).

    `flatten` treats x of shape (N, ...) as (N, prod(...)); otherwise the last axis is transformed. `in_units`
    0 takes the size from the first input.

    Examples
    --------
    >>> layer = nn.Dense(2, weight_initializer=init.One())
    >>> layer.initialize()
    >>> layer(nd.array([[1, 2, 3]]))
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    >>> layer.weight.shape
    (2, 3)
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
        self._kwargs = {"num_hidden": units, "no_bias": not use_bias, "flatten": flatten}
        self._flatten = flatten  # programs that write their own hybrid_forward ask for it
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
                self.act = Activation(activation, prefix=f"{activation}_")

    def hybrid_forward(self, F, x, weight, bias=None):
        fully_connected = F.npx.fully_connected if is_np_array() else F.FullyConnected
        out = fully_connected(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def __repr__(self):
        units, in_units = self.weight.shape
        return f"{type(self).__name__}({in_units or None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """In training sets each element to zero with probability `rate` and scales the others by 1/(1-rate).

    One decision is shared along the axes in `axes`. Outside training nothing changes.

    Examples
    --------
    >>> layer = nn.Dropout(0.5)
    >>> layer(nd.ones((2, 3)))
    [[1. 1. 1.]
     [1. 1. 1.]]
    <NDArray 2x3 @cpu(0)>
    >>> with autograd.train_mode():
    ...     dropped = layer(nd.ones((100, 100)))
    >>> sorted(set(dropped.asnumpy().ravel().tolist()))
    [0.0, 2.0]
    """

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F, x):
        if self._rate > 0:
            dropout = F.npx.dropout if is_np_array() else F.Dropout
            return dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.np.copy(x) if is_np_array() else F.identity(x)

    def __repr__(self):
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of a weight (input_dim, output_dim) by integer id; ids outside are clipped.

    `sparse_grad` is accepted; the gradient is dense and has the same values.

    Examples
    --------
    >>> layer = nn.Embedding(10, 4)
    >>> layer.initialize()
    >>> layer(nd.array([[1, 5, 9]])).shape
    (1, 3, 4)
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
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def hybrid_forward(self, F, x, weight):
        embedding = F.npx.embedding if is_np_array() else F.Embedding
        return embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self):
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class Flatten(HybridBlock):
    """(N, ...) to (N, prod(...)).

    Examples
    --------
    >>> nn.Flatten()(nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def hybrid_forward(self, F, x):
        return F.npx.batch_flatten(x) if is_np_array() else F.Flatten(x)

    def __repr__(self):
        return type(self).__name__
