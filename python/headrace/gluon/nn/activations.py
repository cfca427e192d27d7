"""Activation layers."""

from ... import initializer
from ..._semantics import is_np_array
from ...base import ArrayTypeError
from ..hybrid_block import HybridBlock

__all__ = ["ELU", "GELU", "PReLU", "SELU", "Activation", "LeakyReLU", "Swish"]


class Activation(HybridBlock):
    """'relu', 'sigmoid', 'tanh', 'softrelu' (log(1 + e^x)) or 'softsign' (x / (1 + abs(x))).

    Examples
    --------
    >>> nn.Activation("relu")(nd.array([-1, 0, 2]))
    [0. 0. 2.]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, activation, prefix=None, params=None):
        if not isinstance(activation, str):
            raise ArrayTypeError(
                f"{type(self).__name__}: activation is a name such as 'relu', got {activation!r}; other "
                "activations are layers of their own, and the number of inputs of a Dense is in_units="
            )
        self._act_type = activation
        super().__init__(prefix=prefix, params=params)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F, x):
        activation = F.npx.activation if is_np_array() else F.Activation
        return activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


def _leaky_relu(F):
    return F.npx.leaky_relu if is_np_array() else F.LeakyReLU


class LeakyReLU(HybridBlock):
    """`x` where positive, `alpha x` elsewhere. AssertionError: alpha < 0.

    Examples
    --------
    >>> nn.LeakyReLU(0.1)(nd.array([-1, 0, 2]))
    [-0.1  0.   2. ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, alpha, prefix=None, params=None):
        assert alpha >= 0, "Slope coefficient for LeakyReLU must be no less than 0."
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return _leaky_relu(F)(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """Leaky ReLU whose slope is learned, one per channel (`in_channels`) or one for all (1).

    Examples
    --------
    >>> layer = nn.PReLU(alpha_initializer=init.Constant(0.25))
    >>> layer.initialize()
    >>> layer(nd.array([[-1], [2]]))
    [[-0.25]
     [ 2.  ]]
    <NDArray 2x1 @cpu(0)>
    """

    def __init__(self, alpha_initializer=None, in_channels=1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.alpha = self.params.get(
                "alpha", shape=(in_channels,), init=alpha_initializer or initializer.Constant(0.25)
            )

    def hybrid_forward(self, F, x, alpha):
        return _leaky_relu(F)(x, alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """`x` where positive, `alpha (e^x - 1)` elsewhere.

    Examples
    --------
    >>> nn.ELU(1.0)(nd.array([-1, 0, 2]))
    [-0.63212055  0.          2.        ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, alpha=1.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return _leaky_relu(F)(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """Scaled ELU with the constants that keep mean 0 and variance 1.

    Examples
    --------
    >>> nn.SELU()(nd.array([-1, 0, 2]))
    [-1.1113307  0.         2.101402 ]
    <NDArray 3 @cpu(0)>
    """

    def hybrid_forward(self, F, x):
        return _leaky_relu(F)(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """`x (1 + erf(x / sqrt 2)) / 2`.

    Examples
    --------
    >>> nn.GELU()(nd.array([-1, 0, 2]))
    [-0.15865523  0.          1.9544997 ]
    <NDArray 3 @cpu(0)>
    """

    def hybrid_forward(self, F, x):
        return _leaky_relu(F)(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """`x sigmoid(beta x)`.

    Examples
    --------
    >>> nn.Swish()(nd.array([-1, 0, 2]))
    [-0.26894143  0.          1.761594  ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, beta=1.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._beta = beta

    def hybrid_forward(self, F, x):
        if is_np_array():
            return x * F.npx.sigmoid(self._beta * x)
        return x * F.sigmoid(self._beta * x, name="fwd")
