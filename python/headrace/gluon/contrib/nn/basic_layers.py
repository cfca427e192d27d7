"""Containers of parallel blocks, sub-pixel shuffles and a sparse embedding, batch normalization."""

import math

from .... import ndarray as nd
from ...._semantics import is_np_array
from ....context import num_gpus
from ...block import Block
from ...hybrid_block import HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential
from ...nn.conv_layers import spread
from ...nn.norm_layers import described

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


def _joined(F, outputs, axis):
    return F.np.concatenate(outputs, axis=axis) if is_np_array() else F.concat(*outputs, dim=axis)


class Concurrent(Sequential):
    """Calls every block with the same input and joins the outputs along `axis`.

    Examples
    --------
    >>> net = gluon.contrib.nn.Concurrent(axis=1)
    >>> net.add(nn.Dense(2), nn.Dense(3))
    >>> net.initialize()
    >>> net(nd.ones((1, 4))).shape
    (1, 5)
    """

    def __init__(self, axis=-1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x):
        return _joined(nd, [block(x) for block in self._children.values()], self.axis)


class HybridConcurrent(HybridSequential):
    """Calls every hybrid block with the same input and joins the outputs along `axis`.

    Examples
    --------
    >>> net = gluon.contrib.nn.HybridConcurrent(axis=1)
    >>> net.add(nn.Dense(2), gluon.contrib.nn.Identity())
    >>> net.initialize()
    >>> net(nd.ones((1, 4))).shape
    (1, 6)
    """

    def __init__(self, axis=-1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F, x):
        return _joined(F, [block(x) for block in self._children.values()], self.axis)


class Identity(HybridBlock):
    """The input itself; a branch of a HybridConcurrent that keeps what comes in.

    Examples
    --------
    >>> gluon.contrib.nn.Identity()(nd.array([1, 2]))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def hybrid_forward(self, F, x):
        return x


class SparseEmbedding(Block):
    """Embedding whose table is row_sparse, as its gradient: each call takes the rows that it needs from the
    store of the table's Trainer (RuntimeError: there is none).

    Examples
    --------
    >>> layer = gluon.contrib.nn.SparseEmbedding(10, 4)
    >>> layer.initialize()
    >>> trainer = gluon.Trainer(layer.collect_params(), "sgd")
    >>> layer(nd.array([1, 5])).shape
    (2, 4)
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x):
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self):
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class SyncBatchNorm(BatchNorm):
    """BatchNorm of axis 1 whose statistics are those of the data on several devices of this process.

    `num_devices`: on how many devices the network is called in each step; None: on all GPUs, on one device
    where there are none. While training, calls on one device wait for those on the others, so all are stated
    before a result of one of them is read, and backward likewise; a call that waits in vain for a minute
    gives an MXNetError. In evaluation, with `use_global_stats` and on one device it is BatchNorm.

    A hybridized network with this layer on several devices runs operation by operation while it trains.

    Examples
    --------
    >>> layer = gluon.contrib.nn.SyncBatchNorm(in_channels=1, num_devices=2)
    >>> devices = [mx.cpu(0), mx.cpu(1)]
    >>> layer.initialize(ctx=devices)
    >>> with autograd.train_mode():
    ...     results = [layer(nd.full((2, 1), value, ctx)) for value, ctx in zip((1, 3), devices)]
    >>> [y.round().reshape(-1).asnumpy().tolist() for y in results]
    [[-1.0, -1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        in_channels=0,
        num_devices=None,
        momentum=0.9,
        epsilon=1e-5,
        center=True,
        scale=True,
        use_global_stats=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        **kwargs,
    ):
        if num_devices is None:
            num_devices = max(1, num_gpus())
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        del self._kwargs["axis"]  # the operators normalize axis 1
        self._devices = {"ndev": num_devices, "key": self.prefix}

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        inputs = (x, gamma, beta, running_mean, running_var)
        if not is_np_array():
            return F.contrib.SyncBatchNorm(*inputs, name="fwd", **self._kwargs, **self._devices)
        inputs = [array.as_nd_ndarray() for array in inputs]
        return F.contrib.SyncBatchNorm(*inputs, name="fwd", **self._kwargs, **self._devices).as_np_ndarray()

    def __repr__(self):
        return described(
            self,
            **self._kwargs,
            ndev=self._devices["ndev"],
            key=repr(self._devices["key"]),
            in_channels=self.gamma.shape[0] or None,
        )


# What the numbers in nd.reshape's shapes are called in those of npx.reshape.
_NP_RESHAPE_CODES = {0: -2, -3: -5, -4: -6}


class _PixelShuffle(HybridBlock):
    """Moves groups of channels into the axes behind them: (N, f1 f2 ... C, d1, d2, ...) becomes (N, C, f1 d1,
    f2 d2, ...), the factors changing fastest within a group.
    """

    _axes = 0

    def __init__(self, factor):
        super().__init__()
        self._factors = tuple(map(int, spread(factor, self._axes, "factor")))

    def hybrid_forward(self, F, x):
        # (N, C f, d...) to (N, C, f, d...)
        x = self._reshape(F, x, (0, -4, -1, math.prod(self._factors)) + (0,) * self._axes)
        # MXNet, which may read an exported graph, transposes six axes at most.
        return self._by_axis(F, x) if self._axes > 2 else self._at_once(F, x)

    def _at_once(self, F, x):
        axes = self._axes
        # ... to (N, C, f1, f2, ..., d...) to (N, C, d1, f1, d2, f2, ...) to (N, C, d1 f1, d2 f2, ...)
        for place, factor in enumerate(self._factors[:-1]):
            others = math.prod(self._factors[place + 1 :])
            x = self._reshape(F, x, (0,) * (2 + place) + (-4, factor, others) + (0,) * axes)
        order = [0, 1]
        for axis in range(axes):
            order += [2 + axes + axis, 2 + axis]
        x = self._transpose(F, x, order)
        return self._reshape(F, x, (0, 0) + (-3,) * axes)

    def _by_axis(self, F, x):
        axes = self._axes
        for place, factor in enumerate(self._factors):
            # ... (..., f, d, ...) to (..., d, f, ...) to (..., d, f1, rest, ...) to (..., d f1, rest, ...)
            before, after = (0,) * (2 + place), (0,) * (axes - place - 1)
            order = list(range(3 + axes))
            order[2 + place], order[3 + place] = 3 + place, 2 + place
            x = self._transpose(F, x, order)
            others = math.prod(self._factors[place + 1 :])
            x = self._reshape(F, x, (*before, 0, -4, factor, others, *after))
            x = self._reshape(F, x, (*before, -3, 0, *after))
        return self._reshape(F, x, (0,) * (1 + axes) + (-3,))

    @staticmethod
    def _transpose(F, x, order):
        return F.np.transpose(x, tuple(order)) if is_np_array() else F.transpose(x, axes=tuple(order))

    @staticmethod
    def _reshape(F, x, shape):
        if not is_np_array():
            return F.reshape(x, shape=shape)
        return F.npx.reshape(x, tuple(_NP_RESHAPE_CODES.get(size, size) for size in shape))

    def __repr__(self):
        factors = self._factors if self._axes > 1 else self._factors[0]
        return f"{type(self).__name__}({factors})"


class PixelShuffle1D(_PixelShuffle):
    """(N, f C, width) to (N, C, f width) for a factor f.

    Examples
    --------
    >>> gluon.contrib.nn.PixelShuffle1D(2)(nd.array([[[1, 2], [10, 20]]]))
    [[[ 1. 10.  2. 20.]]]
    <NDArray 1x1x4 @cpu(0)>
    """

    _axes = 1


class PixelShuffle2D(_PixelShuffle):
    """(N, f1 f2 C, height, width) to (N, C, f1 height, f2 width) for a factor or one per axis.

    Examples
    --------
    >>> gluon.contrib.nn.PixelShuffle2D(2)(nd.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    _axes = 2


class PixelShuffle3D(_PixelShuffle):
    """(N, f1 f2 f3 C, depth, height, width) to (N, C, f1 depth, f2 height, f3 width) for a factor or one per
    axis.

    Examples
    --------
    >>> gluon.contrib.nn.PixelShuffle3D(2)(nd.ones((1, 8, 3, 3, 3))).shape
    (1, 1, 6, 6, 6)
    """

    _axes = 3
