"""The initializers."""

import logging
import math
import re

import numpy as np

from .. import ndarray as nd
from .. import numpy as mnp
from .._arrays import NpArray, like
from .base import Initializer, alias, register

__all__ = [
    "Bilinear",
    "Constant",
    "ConstantValue",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
]


def _draw(arr, nd_sampler, np_sampler, first, second):
    """Fills from the generator of the array's kind: np arrays and nd arrays draw from different streams."""
    dtype = "float64" if arr._dtype_name == "float64" else "float32"
    if isinstance(arr, NpArray):
        samples = np_sampler(first, second, size=arr.shape, dtype=dtype, ctx=arr.ctx)
    else:
        samples = nd_sampler(first, second, shape=arr.shape, dtype=dtype, ctx=arr.ctx)
    arr[:] = samples.astype(arr._dtype_name, copy=False)


def _fill_uniform(low, high, arr):
    _draw(arr, nd.random.uniform, mnp.random.uniform, low, high)


def _fill_normal(sigma, arr):
    _draw(arr, nd.random.normal, mnp.random.normal, 0, sigma)


@register
@alias("zeros")
class Zero(Initializer):
    """Zeros.

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Zero())
    >>> weight.initialize()
    >>> weight.data()
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def _init_weight(self, _, arr):
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """Ones.

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.One())
    >>> weight.initialize()
    >>> weight.data()
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def _init_weight(self, _, arr):
        arr[:] = 1


@register
class Constant(Initializer):
    """A number, or an array of the parameter's shape.

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Constant(3))
    >>> weight.initialize()
    >>> weight.data()
    [[3. 3.]
     [3. 3.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, value):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = _as_kind(self.value, arr)

    def dumps(self):
        """Class and arguments as JSON. An array among them becomes a list of numbers."""
        value = self.value
        if isinstance(value, nd.NDArray):
            value = value.asnumpy()
        if isinstance(value, np.ndarray):
            self._kwargs = {"value": value.tolist()}
        return super().dumps()


class ConstantValue(Initializer):
    """Copies `value`, the array that a gluon Constant holds.

    Examples
    --------
    >>> init.ConstantValue(2)
    ConstantValue()
    """

    def __init__(self, value):
        super().__init__()
        self.value = value

    def __eq__(self, other):
        return type(self) is type(other) and self.value is other.value

    def __hash__(self):
        return id(self.value)

    def _init_weight(self, _, arr):
        arr[:] = _as_kind(self.value, arr)


def _as_kind(value, arr):
    """`value` as something that can be assigned to `arr`."""
    return np.asarray(value, dtype=np.float32) if isinstance(value, (list, tuple)) else like(value, arr)


@register
class Uniform(Initializer):
    """Uniform on (-scale, scale).

    Examples
    --------
    >>> mx.random.seed(1)
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Uniform(0.1))
    >>> weight.initialize()
    >>> weight.data()
    [[0.01984613 0.05346305]
     [0.0537563  0.04559814]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        _fill_uniform(-self.scale, self.scale, arr)


@register
class Normal(Initializer):
    """Normal with mean 0 and standard deviation `sigma`.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Normal(0.1))
    >>> weight.initialize()
    >>> weight.data()
    [[-0.10148175  0.07921992]
     [ 0.10747126 -0.14600666]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        _fill_normal(self.sigma, arr)


@register
class Orthogonal(Initializer):
    """`scale` times a matrix with orthonormal rows (or columns), seen as (shape[0], rest).

    Examples
    --------
    >>> mx.random.seed(1)
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Orthogonal())
    >>> weight.initialize()
    >>> nd.dot(weight.data(), weight.data().T).round()
    [[2. 0.]
     [0. 2.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _, arr):
        rows, columns = arr.shape[0], math.prod(arr.shape[1:])
        start = nd.zeros((rows, columns))
        if self.rand_type == "uniform":
            _fill_uniform(-1.0, 1.0, start)
        elif self.rand_type == "normal":
            _fill_normal(1.0, start)
        else:
            raise ValueError(f"Orthogonal: rand_type must be 'uniform' or 'normal', got '{self.rand_type}'")
        left, _, right = np.linalg.svd(start.asnumpy(), full_matrices=False)
        chosen = left if left.shape == (rows, columns) else right
        arr[:] = (self.scale * chosen).reshape(arr.shape).astype(np.float32)


@register
class Xavier(Initializer):
    """Uniform on (-s, s), or normal with deviation s: `s = sqrt(magnitude / factor)`.

    `factor` is the number of inputs ('in'), of outputs ('out') or their mean ('avg'). ValueError: fewer than
    two dimensions.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.Xavier())
    >>> weight.initialize()
    >>> weight.data()
    [[0.2430644  0.6547859 ]
     [0.6583775  0.55846083]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(
                f"{type(self).__name__} initializer cannot be applied to vector {name}. "
                f"It requires at least 2D, got shape {shape}."
            )
        window = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * window, shape[0] * window
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ValueError(f"Incorrect factor type '{self.factor_type}'; expected 'avg', 'in' or 'out'")
        scale = math.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            _fill_uniform(-scale, scale, arr)
        elif self.rnd_type == "gaussian":
            _fill_normal(scale, arr)
        else:
            raise ValueError(f"Unknown random type '{self.rnd_type}'; expected 'uniform' or 'gaussian'")


@register
class MSRAPrelu(Xavier):
    """Gaussian Xavier for layers that feed a (leaky) ReLU of the given `slope`.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.MSRAPrelu())
    >>> weight.initialize()
    >>> weight.data()
    [[-0.9845176  0.7685461]
     [ 1.0426244 -1.4164726]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that enlarges by bilinear interpolation.

    Examples
    --------
    >>> weight = nd.zeros((1, 1, 4, 4))
    >>> init.Bilinear()("upsampling_weight", weight)
    >>> weight[0, 0]
    [[0.0625 0.1875 0.1875 0.0625]
     [0.1875 0.5625 0.5625 0.1875]
     [0.1875 0.5625 0.5625 0.1875]
     [0.0625 0.1875 0.1875 0.0625]]
    <NDArray 4x4 @cpu(0)>
    """

    def _init_weight(self, name, arr):
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Zeros, and `forget_bias` for the forget gate, the second quarter.

    It is the initializer of a parameter of its own: called by the name of a bias it gives zeros, as all do.

    Examples
    --------
    >>> bias = gluon.Parameter("bias", shape=(8,), init=init.LSTMBias(forget_bias=1))
    >>> bias.initialize()
    >>> bias.data()
    [0. 0. 1. 1. 0. 0. 0. 0.]
    <NDArray 8 @cpu(0)>
    """

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, _, arr):
        hidden = arr.shape[0] // 4
        values = np.zeros(arr.shape, dtype=np.float32)
        values[hidden : 2 * hidden] = self.forget_bias
        arr[:] = values


class Load:
    """Initializes from saved arrays by name; others with `default_init`.

    `param` is a dictionary of arrays or a file of them; `arg:` and `aux:` are dropped from its names.
    AssertionError: a saved array has another shape, or a name is missing and there is no `default_init`.

    Examples
    --------
    >>> weight = nd.zeros((2,))
    >>> init.Load({"arg:fc_weight": nd.array([1, 2])})("fc_weight", weight)
    >>> weight
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, param, default_init=None, verbose=False):
        if isinstance(param, str):
            param = nd.load(param)
        assert isinstance(param, dict), (
            f"Load: expected a dictionary of arrays or a file of one, got {type(param)}"
        )
        self.param = {
            name[4:] if name.startswith(("arg:", "aux:")) else name: value for name, value in param.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name, arr):
        saved = self.param.get(name)
        if saved is not None:
            assert arr.shape == saved.shape, (
                f"Parameter {name} cannot be initialized from loading. Shape mismatch, target {arr.shape} vs "
                f"loaded {saved.shape}"
            )
            arr[:] = _as_kind(saved, arr)
        else:
            assert self.default_init is not None, (
                f"Cannot Initialize {name}. Not found in loaded param and no default initializer is provided."
            )
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if saved is not None else "default")


class Mixed:
    """Chooses by name: the first of `patterns` (regular expressions) that matches decides; ValueError: none
    does.

    Examples
    --------
    >>> rule = init.Mixed(["bias", ".*"], [init.Zero(), init.One()])
    >>> weight = nd.zeros((2,))
    >>> rule("fc_weight", weight)
    >>> weight
    [1. 1.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, patterns, initializers):
        assert len(patterns) == len(initializers), (
            f"Mixed: expected as many initializers as patterns, got {len(initializers)} and {len(patterns)}"
        )
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers)]

    def __call__(self, name, arr):
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f'Parameter name {name} did not match any pattern. Consider adding a ".*" pattern at the '
            "end with default Initializer."
        )
