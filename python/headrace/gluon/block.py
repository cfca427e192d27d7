"""Block: the base class of layers, models and losses."""

import contextlib
import re
import warnings
from collections import OrderedDict

from .. import _arrays as arrays
from .. import initializer
from .._semantics import is_np_array
from .model_files import load_model, save_model
from .naming import BlockScope
from .parameter import Parameter
from .parameter_dict import ParameterDict, brief_names
from .summary import print_summary
from .utils import HookHandle

__all__ = ["Block"]


def _indent(text):
    return text.replace("\n", "\n  ")


def _holds_block(value):
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return isinstance(value, Block)
    return any(_holds_block(item) for item in value)


class Block:
    """A piece of a model: `forward` computes, attributes that are blocks or parameters are registered.

    Parameters
    ----------
    prefix : what names of this block's parameters start with; None makes one from the class name and a
        counter.
    params : ParameterDict of another block whose parameters this block shares.

    Names are made by the enclosing `name_scope` and, outside of any, by the thread's NameManager. In np mode
    a block must return np arrays.

    Examples
    --------
    >>> class Twice(gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.dense = nn.Dense(2, prefix="dense_")
    ...     def forward(self, x):
    ...         return self.dense(x) * 2
    >>> net = Twice(prefix="twice_")
    >>> net.initialize(init.One())
    >>> net(nd.array([[1, 2]]))
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    >>> sorted(net.collect_params())
    ['dense_bias', 'dense_weight']
    """

    # What `save` and `summary` ask every block.
    _is_hybrid = False
    _traced_graph = None  # of a hybrid block that was hybridized and called
    _hides_children = False  # whether a call does not reach the children, being a compiled graph
    _has_summary_row = True

    def __init__(self, prefix=None, params=None):
        if isinstance(prefix, Block):
            raise TypeError(
                f"{type(self).__name__}: expected the prefix of names as first argument, got the block "
                f"{prefix!r}; containers take their blocks by add()"
            )
        self._empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.name_block(prefix, params, self._alias())
        self._name = self._prefix[:-1] if self._prefix.endswith("_") else self._prefix
        self._child_counter = {}  # by the first part of their names
        self._children = OrderedDict()  # as in MXNet: programs move children
        self._reg_params = {}
        self._forward_hooks = {}
        self._forward_pre_hooks = {}

    def _alias(self):
        return type(self).__name__.lower()

    def __repr__(self):
        lines = "\n".join(
            f"  ({name}): {_indent(repr(value))}"
            for name, value in self.__dict__.items()
            if isinstance(value, Block)
        )
        return f"{type(self).__name__}(\n{lines}\n)"

    def __setattr__(self, name, value):
        known = self.__dict__
        if name in known:
            self._check_reassignment(name, known[name], value)
        elif "_children" not in known and isinstance(value, (Block, Parameter)):
            raise AttributeError(
                f"{type(self).__name__}: self.{name} cannot hold a {type(value).__name__} yet; begin "
                "__init__ with super().__init__(**kwargs)"
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            assert name not in self._reg_params, (
                f"Overriding Parameter attribute {name} is not allowed. If you want to share parameters "
                "between blocks, please set 'params' at Block construction instead."
            )
            self._reg_params[name] = value
        object.__setattr__(self, name, value)

    @staticmethod
    def _check_reassignment(name, old, new):
        if isinstance(old, (Parameter, Block)) and not isinstance(new, type(old)):
            raise TypeError(
                f"Changing attribute type for {name} from {type(old)} to {type(new)} is not allowed."
            )

    def __call__(self, *args):
        if self._forward_pre_hooks:
            for hook in tuple(self._forward_pre_hooks.values()):
                hook(self, args)
        try:
            out = self.forward(*args)
        except Exception:
            self._check_inputs(args)
            raise
        if self._forward_hooks:
            for hook in tuple(self._forward_hooks.values()):
                hook(self, args, out)
        if is_np_array() and type(out) is not arrays.NpArray:
            self._check_np_outputs(out)
        return out

    def _check_inputs(self, args):
        """Called when forward raised: raises a clearer error when `args` are the reason."""

    def _check_np_outputs(self, out):
        if isinstance(out, (list, tuple)):
            for item in out:
                self._check_np_outputs(item)
        elif isinstance(out, arrays.NDArray) and not isinstance(out, arrays.NpArray):
            raise TypeError(
                f"Block {self.name}: expected np arrays from forward in np mode, got {type(out)}; "
                "use np and npx functions in forward, or as_np_ndarray()."
            )

    def forward(self, *args):
        """Computes the output; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, ...) method")

    @property
    def prefix(self):
        return self._prefix

    @property
    def name(self):
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self):
        """The block's own parameters, without those of its children."""
        return self._params

    def name_scope(self):
        """`with self.name_scope():` blocks made inside get names that start with this block's prefix."""
        return BlockScope(self)

    _scope = property(name_scope)  # MXNet's field, which programs read

    def register_child(self, block, name=None):
        """Adds a child; `name` defaults to the number of children so far."""
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_pre_hook(self, hook):
        """Calls `hook(block, inputs)` before every forward; returns a handle with `detach()`."""
        return HookHandle.attached(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook):
        """Calls `hook(block, inputs, output)` after every forward; returns a handle with `detach()`."""
        return HookHandle.attached(self._forward_hooks, hook)

    def register_op_hook(self, callback, monitor_all=False):
        """Calls `callback(name, operator, array)` for the operators' outputs ('dense0_fwd_output') at every
        call of the hybridized blocks among this block and its children; with `monitor_all` for their inputs
        ('dense0_fwd_data') first. Names are bytes, as MXNet's. The graph then runs twice; backward is not
        seen.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def collect_params(self, select=None):
        """ParameterDict of this block's and all children's parameters.

        `select` is a regular expression that the start of a full name must match, e.g. '.*weight|.*bias'.
        """
        self._warn_about_containers()
        found = ParameterDict(self._params.prefix)
        pattern = None if select is None else re.compile(select)
        found.update(
            {name: param for name, param in self._params.items() if pattern is None or pattern.match(name)}
        )
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _warn_about_containers(self):
        children = set(map(id, self._children.values()))
        for name, value in self.__dict__.items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            items = value.values() if isinstance(value, dict) else value
            if any(_holds_block(item) and id(item) not in children for item in items):
                warnings.warn(
                    f'"{type(self).__name__}.{name}" is an unregistered container with Blocks. Blocks inside '
                    "a list, tuple or dict are not registered by themselves: use register_child() or "
                    "nn.Sequential.",
                    stacklevel=4,
                )

    def _collect_params_with_prefix(self, prefix=""):
        """Dotted attribute path -> Parameter; a shared parameter appears under each of its paths."""
        if prefix:
            prefix += "."
        found = {prefix + name: param for name, param in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False):
        """Initializes all parameters with `init` (default Uniform(0.07)); see Parameter.initialize."""
        self.collect_params().initialize(
            initializer.Uniform() if init is None else init, ctx, verbose, force_reinit
        )

    def apply(self, fn):
        """Calls `fn(block)` for every child, depth first, then for this block; returns this block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active=True, **kwargs):
        """Hybridizes the children that are HybridBlocks; see HybridBlock.hybridize."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def cast(self, dtype):
        """Converts all parameters and gradients to `dtype`."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self._params.values():
            param.cast(dtype)

    @contextlib.contextmanager
    def _called_one_by_one(self):
        """Within it calls reach every block, as if nothing were hybridized."""
        compiled = []
        self.apply(lambda block: compiled.append(block) if block._hides_children else None)
        try:
            for block in compiled:
                block._active = False
            yield
        finally:
            for block in compiled:
                block._active = True

    def summary(self, *inputs):
        """Runs the block on `inputs`, hybridized or not, and prints each layer's output shape and number of
        parameters.
        """
        with self._called_one_by_one():
            print_summary(self, inputs)

    def explain(self, *args):
        """RuntimeError: what a block runs is known of blocks that are compiled alone."""
        raise RuntimeError(
            f"{self.name}: a {type(self).__name__} runs its operations one by one, so there is no plan; "
            "make it of HybridBlocks (HybridSequential in place of Sequential) and call hybridize() first"
        )

    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters under their attribute paths ('0.weight'), in MXNet's format.

        A shared parameter is written once per path, or once under its last path with `deduplicate`.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            last = {id(param): name for name, param in params.items()}
            params = {name: param for name, param in params.items() if last[id(param)] == name}
        arrays.save(filename, {name: param._reduce() for name, param in params.items()})

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
    ):
        """Reads parameters that save_parameters wrote, or a file of full names.

        Parameters that are not initialized are made on `ctx` (default cpu). `cast_dtype` with `dtype_source`
        'current' casts the file's values, with 'saved' the parameters. AssertionError: a parameter is missing
        (unless `allow_missing`) or does not fit; ValueError: the file has others (unless `ignore_extra`);
        MXNetError: the file cannot be read.
        """
        loaded = arrays.load(filename)
        params = self._collect_params_with_prefix()
        if not loaded and not params:
            return
        if not any("." in name for name in loaded) and not loaded.keys() <= params.keys():
            self.collect_params().load_dict(
                loaded,
                ctx,
                allow_missing,
                ignore_extra,
                self.prefix,
                f"file '{filename}'",
                cast_dtype,
                dtype_source,
            )
            return
        if not allow_missing:
            present = {id(param) for name, param in params.items() if name in loaded}
            for name, param in params.items():
                assert id(param) in present, (
                    f"Parameter '{name}' is missing in file '{filename}', which contains parameters: "
                    f"{brief_names(loaded)}. Set allow_missing=True to ignore missing parameters."
                )
        for name, value in loaded.items():
            if name in params:
                params[name]._load_init(value, ctx, cast_dtype, dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"Parameter '{name}' loaded from file '{filename}' is not present in the block, which "
                    f"contains parameters {brief_names(params)}. Set ignore_extra=True to ignore it."
                )

    def save(self, prefix):
        """Writes `prefix-model.json`, the names of the blocks and the graphs of those that have run
        hybridized, and `prefix-model.params`, the parameters; `load` reads them, as MXNet does.
        """
        save_model(self, prefix)

    def load(self, prefix):
        """Reads what `save` wrote into a model made of the same blocks in the same order.

        The blocks get the names that they had, and those that were hybridized their graphs. MXNetError: a
        file cannot be read or is of another model; else as load_parameters.
        """
        load_model(self, prefix)

    def save_params(self, filename):
        """Deprecated: writes full names without this block's prefix; use save_parameters."""
        warnings.warn(
            "save_params is deprecated. Please use save_parameters.", DeprecationWarning, stacklevel=2
        )
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(self, filename, ctx=None, allow_missing=False, ignore_extra=False):
        """Deprecated: use load_parameters."""
        warnings.warn(
            "load_params is deprecated. Please use load_parameters.", DeprecationWarning, stacklevel=2
        )
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)
