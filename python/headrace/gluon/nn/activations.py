"""Activation layers."""

from ... import initializer
from ... import ndarray as nd
from ... import numpy_extension as npx
from ...util import is_np_array
from ..layer import Layer

__all__ = ["ELU", "GELU", "PReLU", "SELU", "Activation", "LeakyReLU", "Swish"]


class Activation(Layer):
    """'relu', 'sigmoid', 'tanh', 'softrelu' (log(1 + e^x)) or 'softsign' (x / (1 + abs(x)))."""

    def __init__(self, activation, prefix=None, params=None):
        self._act_type = activation
        super().__init__(prefix=prefix, params=params)

    def _alias(self):
        return self._act_type

    def forward(self, x):
        activation = npx.activation if is_np_array() else nd.Activation
        return activation(x, act_type=self._act_type)

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


def _leaky_relu(*inputs, **attributes):
    return (npx.leaky_relu if is_np_array() else nd.LeakyReLU)(*inputs, **attributes)


class LeakyReLU(Layer):
    """`x` where positive, `alpha x` elsewhere. AssertionError: alpha < 0."""

    def __init__(self, alpha, prefix=None, params=None):
        assert alpha >= 0, "Slope coefficient for LeakyReLU must be no less than 0."
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def forward(self, x):
        return _leaky_relu(x, act_type="leaky", slope=self._alpha)

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class PReLU(Layer):
    """Leaky ReLU whose slope is learned, one per channel (`in_channels`) or one for all (1)."""

    def __init__(self, alpha_initializer=None, in_channels=1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.alpha = self.params.get(
                "alpha", shape=(in_channels,), init=alpha_initializer or initializer.Constant(0.25)
            )

    def forward(self, x):
        return _leaky_relu(x, self.value(self.alpha, x), act_type="prelu")


class ELU(Layer):
    """`x` where positive, `alpha (e^x - 1)` elsewhere."""

    def __init__(self, alpha=1.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._alpha = alpha

    def forward(self, x):
        return _leaky_relu(x, act_type="elu", slope=self._alpha)


class SELU(Layer):
    """Scaled ELU with the constants that keep mean 0 and variance 1."""

    def forward(self, x):
        return _leaky_relu(x, act_type="selu")


class GELU(Layer):
    """`x (1 + erf(x / sqrt 2)) / 2`."""

    def forward(self, x):
        return _leaky_relu(x, act_type="gelu")


class Swish(Layer):
    """`x sigmoid(beta x)`."""

    def __init__(self, beta=1.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._beta = beta

    def forward(self, x):
        sigmoid = npx.sigmoid if is_np_array() else nd.sigmoid
        return x * sigmoid(x * self._beta)
