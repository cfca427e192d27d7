"""Initializer: fills a parameter; made from its name."""

import json
import logging
import math

import numpy as np

from ..registry import get_alias_func, get_create_func, get_register_func

__all__ = ["InitDesc", "Initializer", "alias", "create", "register"]

# What the end of a name says about a parameter, and the rule for it.
_SUFFIX_RULES = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)
# The same of a name without a description; what begins so and ends so comes first.
_LEGACY_PREFIX_RULES = (
    ("upsampling", "", "_init_bilinear"),
    ("stn_loc", "weight", "_init_zero"),
    ("stn_loc", "bias", "_init_loc_bias"),
)
_LEGACY_RULES = (
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("weight", "_init_weight"),
    ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
)


class InitDesc(str):
    """The name of an array to initialize, with attributes (`__init__`: its own initializer).

    `global_init` is the initializer of arrays without one: the first that the description is given to.

    Examples
    --------
    >>> name = init.InitDesc("fc_weight", attrs={"__lr_mult__": "2"})
    >>> name, name.attrs
    ('fc_weight', {'__lr_mult__': '2'})
    """

    def __new__(cls, name, attrs=None, global_init=None):
        description = super().__new__(cls, name)
        description.attrs = attrs or {}
        description.global_init = global_init
        return description


class Initializer:
    """Base class; subclasses define `_init_weight(name, array)`, which fills `array` in place.

    Called as `init(InitDesc(name, attrs), array)`: the initializer in `attrs['__init__']` fills the array by
    its weight rule whatever the name; without one the end of the name decides (weight, bias, gamma, beta,
    ...), and a name that says nothing is a ValueError. Keyword arguments of subclasses go to
    `super().__init__(**kwargs)`, which makes `dumps()` and comparison work.

    Examples
    --------
    >>> class Counting(init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = nd.arange(arr.size).reshape(arr.shape)
    >>> weight = nd.zeros((2, 2))
    >>> Counting()("fc_weight", weight)
    >>> weight
    [[0. 1.]
     [2. 3.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def __eq__(self, other):
        return type(self) is type(other) and self._kwargs == other._kwargs

    def __hash__(self):
        return hash((type(self), tuple(sorted(map(repr, self._kwargs.items())))))

    def __repr__(self):
        arguments = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({arguments})"

    def dumps(self):
        """JSON text `["name", {arguments}]` from which `create` makes the same initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def set_verbosity(self, verbose=False, print_func=None):
        """With `verbose` each call logs the array's name and `print_func(array)` (default: the root of its
        mean square).
        """
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def __call__(self, desc, arr):
        if not isinstance(desc, InitDesc):
            name = str(desc)
            self._apply_by_suffix(name, arr, _legacy_rules(name))
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__")
        if own:
            chosen = create(own)
            chosen._init_weight(desc, arr)
            self._report(desc, own, arr)
        else:
            self._apply_by_suffix(desc, arr, _SUFFIX_RULES)

    def _apply_by_suffix(self, name, arr, rules):
        for suffix, rule in rules:
            if name.endswith(suffix):
                getattr(self, rule)(name, arr)
                self._report(name, suffix, arr)
                return
        self._init_default(name, arr)

    def _report(self, name, what, arr):
        if self._verbose and self._print_func:  # subclasses may set the former alone
            logging.info("Initialized %s as %s: %s", name, what, self._print_func(arr))

    def _init_weight(self, name, arr):
        """Fills a weight; every initializer defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(self, name, arr)")

    def _init_zero(self, _, arr):
        arr[:] = 0.0

    def _init_one(self, _, arr):
        arr[:] = 1.0

    def _init_bilinear(self, _, arr):
        height, width = arr.shape[2:]
        half = math.ceil(width / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        across = 1 - np.abs(np.arange(width) / half - centre)
        down = 1 - np.abs(np.arange(height) / half - centre)
        arr[:] = np.broadcast_to(np.outer(down, across), arr.shape).astype(np.float32)

    def _init_loc_bias(self, _, arr):
        """The affine transformation that changes nothing, for a spatial transformer."""
        if arr.shape[0] != 6:
            raise ValueError(f"a transformation of places has 6 numbers, but the bias has shape {arr.shape}")
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_quantized_weight(self, _, arr):
        arr[:] = np.random.randint(-127, 128, size=arr.shape)

    _init_quantized_bias = _init_quantized_weight

    def _init_default(self, name, _):
        raise ValueError(
            f"Unknown initialization pattern for {name}. Default initialization is limited to names that "
            "end in weight, bias, gamma (1.0), or beta (0.0). Give the parameter an initializer of its "
            "own: init=mx.init.*."
        )


def _legacy_rules(name):
    for prefix, suffix, rule in _LEGACY_PREFIX_RULES:
        if name.startswith(prefix) and name.endswith(suffix):
            return ((suffix, rule),)
    return _LEGACY_RULES


register = get_register_func(Initializer, "initializer")
alias = get_alias_func(Initializer, "initializer")
create = get_create_func(Initializer, "initializer")
register.__doc__ += """

Examples
--------
>>> @init.register
... class Fives(mx.init.Initializer):
...     def _init_weight(self, name, array):
...         array[:] = 5
>>> weight = gluon.Parameter("weight", shape=(2,), init="fives")
>>> weight.initialize()
>>> weight.data()
[5. 5.]
<NDArray 2 @cpu(0)>
"""
alias.__doc__ += """

Examples
--------
>>> @init.alias("halves")
... class Half(mx.init.Initializer):
...     def _init_weight(self, name, array):
...         array[:] = 0.5
>>> isinstance(init.create("halves"), Half)
True
"""
create.__doc__ = """The initializer of a name, or of JSON `["name", {arguments}]`.

An initializer is given back as it is; other arguments go to the class. AssertionError: no initializer has
the name.

Examples
--------
>>> init.create("normal", sigma=0.1).sigma
0.1
>>> init.create('["constant", {"value": 3}]').value
3
"""


def _root_mean_square(arr):
    values = arr.asnumpy()
    return str(np.float32(np.linalg.norm(values) / np.sqrt(values.size)))
