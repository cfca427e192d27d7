"""ParameterDict: the parameters of a block by name, shared between blocks on request."""

from collections import OrderedDict

import numpy as np

from .. import _arrays as arrays
from .. import initializer
from ..ndarray import NDArray
from ._constant import Constant
from ._parameter import Parameter

_NAMING_HINT = (
    "Blocks that share parameters, or were made outside a name_scope(), have names of other prefixes."
)


def _merged_shape(first, second):
    """One shape from two of the same parameter (0 and -1 are unknown), or None when they disagree."""
    if len(first) != len(second):
        return None
    merged = []
    for a, b in zip(first, second):
        if a > 0 and b > 0 and a != b:
            return None
        merged.append(a if a > 0 else b)
    return tuple(merged)


class ParameterDict:
    """Ordered name -> Parameter; `get` makes parameters whose names start with `prefix`.

    `shared` is another ParameterDict whose parameters `get` uses before it makes new ones.

    Examples
    --------
    >>> params = gluon.ParameterDict(prefix="net_")
    >>> params.get("weight", shape=(2, 3)).name
    'net_weight'
    >>> params.initialize()
    >>> list(params)
    ['net_weight']
    """

    def __init__(self, prefix="", shared=None):
        self._prefix = prefix
        self._shared = shared
        self._params = OrderedDict()  # as in MXNet: programs move parameters

    def __repr__(self):
        lines = "\n".join(f"  {param}" for param in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, name):
        return self._params[name]

    def __iter__(self):
        return iter(self._params)

    def __contains__(self, name):
        return name in self._params

    def __len__(self):
        return len(self._params)

    def __bool__(self):
        return True  # `params or other`: one without parameters counts, too

    def keys(self):
        return self._params.keys()

    def values(self):
        return self._params.values()

    def items(self):
        return self._params.items()

    @property
    def prefix(self):
        return self._prefix

    def _find(self, name):
        param = self._params.get(name)
        if param is None and self._shared is not None:
            param = self._shared._find(name)
            if param is not None:
                self._params[name] = param
        return param

    def get(self, name, **attributes):
        """The parameter `prefix + name`: an existing or shared one, else a new Parameter with `attributes`.

        AssertionError: the existing one has another value of an attribute; unknown dimensions of a shape
        match any.
        """
        name = self._prefix + name
        param = self._find(name)
        if param is None:
            param = self._params[name] = Parameter(name, **attributes)
            return param
        for attribute, wanted in attributes.items():
            self._reconcile(param, attribute, wanted)
        return param

    @staticmethod
    def _reconcile(param, attribute, wanted):
        if attribute == "allow_deferred_init":
            return
        stored = getattr(param, attribute, None)
        if stored is None:
            setattr(param, attribute, wanted)
            return
        if wanted is None:
            return
        if attribute == "shape":
            wanted = (wanted,) if isinstance(wanted, int) else tuple(wanted)
            merged = _merged_shape(wanted, stored)
            if merged is not None:
                param._shape = merged
                return
        elif attribute == "dtype":
            if arrays.dtype_name(wanted) == arrays.dtype_name(stored):
                return
        elif wanted == stored:
            return
        raise AssertionError(
            f"Cannot retrieve Parameter '{param.name}' because desired attribute does not match with "
            f"stored for attribute '{attribute}': desired '{wanted}' vs stored '{stored}'."
        )

    def get_constant(self, name, value=None):
        """The Constant `prefix + name`, made with `value` when there is none.

        KeyError: none and no value. AssertionError: it is no Constant, or has another value.
        """
        name = self._prefix + name
        param = self._find(name)
        if param is None:
            if value is None:
                raise KeyError(
                    f"No constant named '{name}'. Please specify value if you want to create a new constant."
                )
            param = self._params[name] = Constant(name, value)
            return param
        assert isinstance(param, Constant), f"Parameter '{name}' already exists but it is not a constant."
        if value is not None:
            given = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            stored = param.value.asnumpy()
            assert given.shape == stored.shape and (given == stored).all(), (
                f"Constant '{name}' already exists but it's value doesn't match new value"
            )
        return param

    def update(self, other):
        """Takes over all parameters of `other`. AssertionError: one name stands for two parameters."""
        for name, param in other.items():
            assert self._params.get(name, param) is param, (
                "Cannot update self with other because they have different Parameters with the same name "
                f"'{name}'"
            )
        self._params.update(other.items())

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False):
        """Initializes every parameter; `init` (default Uniform) is for those without an initializer of their
        own.
        """
        init = initializer.create(init) if init is not None else initializer.Uniform()
        if verbose:
            init.set_verbosity(verbose=verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self):
        """Sets every gradient to zero."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx):
        """Moves every parameter to `ctx`, a context or a list."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self):
        """All contexts on which a parameter is."""
        found = {}
        for param in self.values():
            found.update(dict.fromkeys(param.list_ctx()))
        return list(found)

    def setattr(self, name, value):
        """Sets the attribute `name` of every parameter."""
        for param in self.values():
            setattr(param, name, value)

    def save(self, filename, strip_prefix=""):
        """Writes all parameters. ValueError: a name does not start with `strip_prefix`."""
        named = {}
        for param in self.values():
            if not param.name.startswith(strip_prefix):
                raise ValueError(
                    f"Prefix '{strip_prefix}' is to be striped before saving, but Parameter's name "
                    f"'{param.name}' does not start with '{strip_prefix}'. {_NAMING_HINT}"
                )
            named[param.name[len(strip_prefix) :]] = param._reduce()
        arrays.save(filename, named)

    def load(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        restore_prefix="",
        cast_dtype=False,
        dtype_source="current",
    ):
        """Reads a file of names; `restore_prefix` is put before each, `arg:` and `aux:` are dropped.

        AssertionError: a parameter is missing in the file (unless `allow_missing`), the file has others
        (unless `ignore_extra`), or shape or dtype do not fit. MXNetError: the file cannot be read.
        """
        self.load_dict(
            arrays.load(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            f"file: {filename}",
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        restore_prefix="",
        filename=None,
        cast_dtype=False,
        dtype_source="current",
    ):
        """As `load`, from a dictionary of arrays: copied, unless they come from the file `filename`."""
        source = filename or "param_dict"
        for name in self.keys():
            assert name.startswith(restore_prefix), (
                f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with "
                f"'{restore_prefix}'. {_NAMING_HINT}"
            )
        loaded = {
            restore_prefix + (name[4:] if name.startswith(("arg:", "aux:")) else name): value
            for name, value in param_dict.items()
        }
        if not allow_missing:
            for name in self.keys():
                assert name in loaded, (
                    f"Parameter '{name[len(restore_prefix) :]}' is missing in {source}, which contains "
                    f"parameters: {brief_names(loaded)}. Set allow_missing=True to ignore it. {_NAMING_HINT}"
                )
        for name, value in loaded.items():
            if name in self._params:
                own = value if filename else value.copy()
                self._params[name]._load_init(own, ctx, cast_dtype, dtype_source)
            else:
                assert ignore_extra, (
                    f"Parameter '{name[len(restore_prefix) :]}' loaded from {source} is not present in "
                    f"ParameterDict, choices are: {brief_names(self.keys())}. Set ignore_extra=True to "
                    f"ignore it. {_NAMING_HINT}"
                )


def brief_names(names):
    """Up to ten quoted names for a message."""
    names = [f"'{name}'" for name in names]
    if len(names) > 10:
        names[5:-5] = ["..."]
    return ", ".join(names)
