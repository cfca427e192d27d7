"""Normalization layers."""

from ... import _arrays as arrays
from ..._semantics import is_np_array
from ..hybrid_block import HybridBlock

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm"]


def described(block, **attributes):
    """The printed form of a layer: `Name(attribute=value, ...)`."""
    return f"{type(block).__name__}({', '.join(f'{name}={value}' for name, value in attributes.items())})"


class BatchNorm(HybridBlock):
    """`gamma (x - mean) / sqrt(var + epsilon) + beta` with mean and variance of every channel (`axis`).

    In training these are of the batch (biased variance), and `running_mean` and `running_var` move towards
    them by `1 - momentum`; outside training, or with `use_global_stats`, the running values are used. `scale`
    False takes gamma as 1, `center` False keeps beta at its start. `in_channels` 0 takes the size from the
    first input. Parameters stay float32 when the block is cast to float16 or bfloat16.

    Examples
    --------
    >>> layer = nn.BatchNorm()
    >>> layer.initialize()
    >>> with autograd.train_mode():
    ...     y = layer(nd.array([[1, 10], [3, 30]]))
    >>> y.round()
    [[-1. -1.]
     [ 1.  1.]]
    <NDArray 2x2 @cpu(0)>
    >>> layer.running_mean.data()
    [0.2 2. ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(
        self,
        axis=1,
        momentum=0.9,
        epsilon=1e-5,
        center=True,
        scale=True,
        use_global_stats=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        in_channels=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        with self.name_scope():
            for name, init, is_trained in (
                ("gamma", gamma_initializer, scale),
                ("beta", beta_initializer, center),
                ("running_mean", running_mean_initializer, False),
                ("running_var", running_variance_initializer, False),
            ):
                param = self.params.get(
                    name,
                    grad_req="write" if is_trained else "null",
                    shape=(in_channels,),
                    init=init,
                    allow_deferred_init=True,
                    differentiable=is_trained,
                )
                setattr(self, name, param)

    def cast(self, dtype):
        super().cast(arrays.statistics_dtype(dtype))

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        batch_norm = F.npx.batch_norm if is_np_array() else F.BatchNorm
        return batch_norm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def __repr__(self):
        return described(self, **self._kwargs, in_channels=self.gamma.shape[0] or None)


class BatchNormReLU(BatchNorm):
    """BatchNorm followed by `max(x, 0)`.

    Examples
    --------
    >>> layer = nn.BatchNormReLU()
    >>> layer.initialize()
    >>> with autograd.train_mode():
    ...     y = layer(nd.array([[1, 10], [3, 30]]))
    >>> y.round()
    [[0. 0.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        if is_np_array():
            return F.npx.relu(super().hybrid_forward(F, x, gamma, beta, running_mean, running_var))
        return F.contrib.BatchNormWithReLU(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs
        )


class _FeatureNorm(HybridBlock):
    """What the normalizations of single samples share: gamma and beta of shape (`size`,).

    `center` False fixes beta at its start, `scale` False gamma.
    """

    def __init__(self, size, epsilon, center, scale, beta_initializer, gamma_initializer, prefix, params):
        super().__init__(prefix=prefix, params=params)
        self._epsilon = epsilon
        self._center, self._scale = center, scale
        with self.name_scope():
            for name, init, is_trained in (
                ("gamma", gamma_initializer, scale),
                ("beta", beta_initializer, center),
            ):
                param = self.params.get(
                    name,
                    grad_req="write" if is_trained else "null",
                    shape=(size,),
                    init=init,
                    allow_deferred_init=True,
                )
                setattr(self, name, param)


class LayerNorm(_FeatureNorm):
    """`gamma (x - mean) / sqrt(var + epsilon) + beta` with mean and variance over `axis`.

    `center` False fixes beta at its start, `scale` False gamma. `in_channels` 0 takes the size from the first
    input.

    Examples
    --------
    >>> layer = nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(nd.array([[1, 3], [10, 30]])).round()
    [[-1.  1.]
     [-1.  1.]]
    <NDArray 2x2 @cpu(0)>
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
        super().__init__(
            in_channels, epsilon, center, scale, beta_initializer, gamma_initializer, prefix, params
        )
        self._axis = axis

    def hybrid_forward(self, F, x, gamma, beta):
        layer_norm = F.npx.layer_norm if is_np_array() else F.LayerNorm
        return layer_norm(x, gamma, beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self):
        return described(
            self,
            eps=self._epsilon,
            axis=self._axis,
            center=self._center,
            scale=self._scale,
            in_channels=self.gamma.shape[0],
        )


class InstanceNorm(_FeatureNorm):
    """`gamma (x - mean) / sqrt(var + epsilon) + beta` with mean and variance of every sample and channel.

    Channels are along `axis`. `center` False fixes beta at its start, `scale` False gamma. `in_channels` 0
    takes the size from the first input.

    Examples
    --------
    >>> layer = nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(nd.array([[[1, 3], [10, 30]]])).round()
    [[[-1.  1.]
      [-1.  1.]]]
    <NDArray 1x2x2 @cpu(0)>
    """

    def __init__(
        self,
        axis=1,
        epsilon=1e-5,
        center=True,
        scale=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        prefix=None,
        params=None,
    ):
        super().__init__(
            in_channels, epsilon, center, scale, beta_initializer, gamma_initializer, prefix, params
        )
        self._axis = axis

    def hybrid_forward(self, F, x, gamma, beta):
        normalize = F.npx.instance_norm if is_np_array() else F.InstanceNorm
        if self._axis == 1:
            return normalize(x, gamma, beta, name="fwd", eps=self._epsilon)
        swap = F.np.swapaxes if is_np_array() else F.swapaxes
        out = normalize(swap(x, 1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return swap(out, 1, self._axis)

    def __repr__(self):
        return described(
            self,
            eps=self._epsilon,
            axis=self._axis,
            center=self._center,
            scale=self._scale,
            in_channels=self.gamma.shape[0],
        )


class GroupNorm(_FeatureNorm):
    """`gamma (x - mean) / sqrt(var + epsilon) + beta` with mean and variance of each of `num_groups` groups
    of the channels (axis 1) of a sample; gamma and beta have one element per group.

    `center` False fixes beta at its start, `scale` False gamma.

    Examples
    --------
    >>> layer = nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(nd.array([[[1, 3], [10, 30]]])).round()
    [[[-1.  1.]
      [-1.  1.]]]
    <NDArray 1x2x2 @cpu(0)>
    """

    def __init__(
        self,
        num_groups=1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        prefix=None,
        params=None,
    ):
        super().__init__(
            num_groups, epsilon, center, scale, beta_initializer, gamma_initializer, prefix, params
        )
        self._num_groups = num_groups

    def hybrid_forward(self, F, x, gamma, beta):
        group_norm = F.npx.group_norm if is_np_array() else F.GroupNorm
        return group_norm(x, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self):
        return described(
            self,
            eps=self._epsilon,
            num_groups=self._num_groups,
            center=self._center,
            scale=self._scale,
        )
