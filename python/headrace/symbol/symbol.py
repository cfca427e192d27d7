"""Symbol: outputs of a graph of operators that has not been computed."""

import json
import pathlib
import re

from .. import _core
from .._file import path_text, write_file
from .._semantics import is_np_array, is_np_shape
from ..attribute import AttrScope
from ..base import MXNetError, NotImplementedForSymbol
from . import calls
from .arithmetic import Arithmetic
from .calls import apply
from .describe import describe
from .values import WithoutValues

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "fromjson",
    "load",
    "load_json",
    "var",
]


class Symbol(Arithmetic, WithoutValues):
    """Outputs of a graph. Operators and methods on symbols give symbols; nothing is computed.

    `sym['fc1_output']` and `sym[0]` pick an output; `sym(data=other)` replaces variables.

    Examples
    --------
    >>> x = sym.var("x")
    >>> y = sym.FullyConnected(x, num_hidden=2, name="fc")
    >>> y.list_arguments()
    ['x', 'fc_weight', 'fc_bias']
    >>> y.infer_shape(x=(4, 3))
    ([(4, 3), (2, 3), (2,)], [(4, 2)], [])
    """

    __slots__ = ("_handle",)
    __array_ufunc__ = None
    _is_np = False

    def __init__(self, handle):
        self._handle = handle

    def __repr__(self):
        name = self.name
        if name is None:
            return f"<{type(self).__name__} group [{', '.join(one.name for one in self)}]>"
        return f"<{type(self).__name__} {name}>"

    # --- outputs ---

    def __len__(self):
        return len(self._handle)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        if isinstance(index, str):
            names = self.list_outputs()
            if names.count(index) != 1:
                raise ValueError(
                    f"There are {names.count(index)} outputs with name '{index}'; the outputs are {names}"
                )
            index = names.index(index)
        if isinstance(index, slice):
            return Group([self[i] for i in range(*index.indices(len(self)))])
        if not isinstance(index, int):
            raise TypeError("Symbol only supports integer index to fetch i-th output")
        if not 0 <= index < len(self):
            raise IndexError(f"Symbol: index {index} is out of range, there are {len(self)} outputs")
        return type(self)(self._handle.output(index))

    @property
    def num_outputs(self):
        """The number of outputs."""
        return len(self)

    @property
    def name(self):
        """The name of the node; None when the outputs belong to several."""
        return self._handle.name or None

    # --- the graph ---

    def list_arguments(self):
        """Names of the inputs that are no auxiliary states."""
        return self._handle.list_arguments()

    def list_outputs(self):
        """Names of the outputs."""
        return self._handle.list_outputs()

    def list_auxiliary_states(self):
        """Names of the inputs that operators change (running statistics)."""
        return self._handle.list_auxiliary_states()

    def list_inputs(self):
        """Names of all inputs, in the order in which the graph reads them."""
        return self._handle.list_inputs()

    def get_internals(self):
        """The outputs of all nodes as one symbol; pick one by its name, e.g. 'fc1_output'."""
        return type(self)(self._handle.internals())

    def get_children(self):
        """The inputs of this symbol's node; None for a variable."""
        children = self._handle.children()
        return type(self)(children) if len(children) else None

    def _gen_atomic_symbol(self):
        """The operator of this symbol's node with its attributes, on variables of its own.

        MXNetError: the symbol is a variable, or outputs of several nodes.
        """
        graph = json.loads(self._json())
        places = {head[0] for head in graph["heads"]}
        node = graph["nodes"][places.pop()]
        if places or node["op"] == "null":
            raise MXNetError(f"_gen_atomic_symbol: {self!r} is not one node with an operator; pick an output")
        return apply(node["op"], node["op"], [], node.get("attrs", {}), self._is_np)

    def attr(self, key):
        """A text of the node, its name for 'name', or None."""
        return self.name if key == "name" else self._handle.attr(key)

    def list_attr(self, recursive=False):
        """All texts of the node. DeprecationWarning (raised): `recursive`; attr_dict gives those of all
        nodes.
        """
        if recursive:
            raise DeprecationWarning("Symbol.list_attr with recursive=True: use attr_dict instead")
        return self._handle.attrs()

    def attr_dict(self):
        """Node name to texts, of all nodes that have some."""
        return self._handle.attr_dict()

    def _set_attr(self, **attributes):
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ValueError(f"Set Attr only accepts string values, got {value!r} for {key}")
            self._handle.set_attr(key, value)

    def __call__(self, *args, name=None, **kwargs):
        """The same graph with variables replaced: by keyword, or by position in list_arguments().

        `name` is what the node of its first output is then called. KeyError: there is no such variable.
        ValueError: a replacement has several outputs, or the symbol is a variable and cannot be renamed.
        """
        if args and kwargs:
            raise TypeError(
                "compose only accept input Symbols either as positional or keyword arguments, not both"
            )
        arguments = self.list_arguments()
        if len(args) > len(arguments):
            raise TypeError(f"compose: {len(args)} symbols are given, but the arguments are {arguments}")
        replacements = dict(zip(arguments, args)) if args else kwargs
        for key, value in replacements.items():
            if not isinstance(value, Symbol):
                raise TypeError(f"Compose expect `Symbol` as arguments, got {type(value).__name__} for {key}")
        handles = {key: value._handle for key, value in replacements.items()}
        return type(self)(self._handle.compose(handles, name or ""))

    def _compose(self, *args, **kwargs):
        """Replaces variables of this symbol itself, as a call does those of a copy."""
        self._handle = self(*args, **kwargs)._handle

    def debug_str(self):
        """The nodes in the order in which they run, with their inputs and attributes, as text."""
        return describe(self._json())

    def __copy__(self):  # nodes have attributes, which programs set in one of the two
        return _restore(type(self), self._json())

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        return _restore, (type(self), self._json())

    def __setstate__(self, state):  # of MXNet's pickles
        self._handle = _core.SymbolHandle.from_json(state["handle"])

    # --- types ---

    def infer_shape(self, *args, **kwargs):
        """(argument shapes, output shapes, auxiliary shapes) from shapes of some arguments.

        Shapes are given by name, or by position in list_arguments(); None leaves one open. When something
        stays unknown, gives (None, None, None) with a warning. MXNetError: the shapes do not fit.
        """
        arguments, outputs, auxiliary = self.infer_shape_partial(*args, **kwargs)
        unknown = [name for name, shape in zip(self.list_arguments(), arguments) if not _is_known(shape)]
        if unknown:
            import warnings

            warnings.warn(
                "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
                f"Consider providing them as input:\n\t{', '.join(unknown)}",
                stacklevel=2,
            )
            return None, None, None
        return arguments, outputs, auxiliary

    def infer_shape_partial(self, *args, **kwargs):
        """The same with what is known; unknown are extents of 0 and shapes (), in np mode -1 and None."""
        inputs, outputs = self._infer(self._by_name(args, kwargs), {})
        extent_of, unknown = ({}, None) if is_np_shape() else ({-1: 0}, ())
        shapes = [
            unknown if shape is None else tuple(extent_of.get(extent, extent) for extent in shape)
            for shape, _ in (*inputs, *outputs)
        ]
        arguments, auxiliary = self._sort_inputs(shapes)
        return arguments, shapes[len(inputs) :], auxiliary

    def infer_type(self, *args, **kwargs):
        """(argument dtypes, output dtypes, auxiliary dtypes) from dtypes of some arguments.

        (None, None, None) when something stays unknown. MXNetError: the dtypes do not fit.
        """
        found = self.infer_type_partial(*args, **kwargs)
        if any(None in dtypes for dtypes in found):
            return None, None, None
        return found

    def infer_type_partial(self, *args, **kwargs):
        """The same; None where a dtype is not known."""
        import numpy

        inputs, outputs = self._infer({}, self._by_name(args, kwargs))
        known = [None if dtype is None else _numpy_type(numpy, dtype) for _, dtype in (*inputs, *outputs)]
        arguments, auxiliary = self._sort_inputs(known)
        return arguments, known[len(inputs) :], auxiliary

    def _by_name(self, args, kwargs):
        if args and kwargs:
            raise ValueError("Can only specify known argument shapes either by positional or kwargs way.")
        known = self.list_arguments()
        arguments, given = set(known), dict(zip(known, args)) if args else kwargs
        for name in given:
            if name not in arguments:
                listed = "".join(f"\n\t[{i}]{one}" for i, one in enumerate(known))
                raise MXNetError(f"infer: argument name {name} not found.\nCandidate arguments:{listed}")
        return {name: value for name, value in given.items() if value is not None}

    def _infer(self, shapes, dtypes):
        known, legacy = {}, not is_np_shape()
        for name, shape in shapes.items():
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            if shape or not legacy:
                known[name] = tuple(-1 if legacy and extent == 0 else extent for extent in shape)
        return self._handle.infer(known, dtypes, not legacy)

    def _sort_inputs(self, values):
        """`values` of list_inputs() as those of the arguments and those of the auxiliary states."""
        by_name = dict(zip(self.list_inputs(), values))
        return (
            [by_name[name] for name in self.list_arguments()],
            [by_name[name] for name in self.list_auxiliary_states()],
        )

    # --- files ---

    def tojson(self, remove_amp_cast=True):
        """The graph as MXNet's JSON, by default without the casts of mixed precision."""
        handle = self._handle.without_amp_casts() if remove_amp_cast else self._handle
        return handle.to_json(int(is_np_shape()))

    def _json(self):
        return self.tojson(remove_amp_cast=False)

    def save(self, fname, remove_amp_cast=True):
        """Writes the JSON to a file, by default without the casts of mixed precision."""
        write_file(path_text("symbol.save", fname), self.tojson(remove_amp_cast))

    # --- running ---

    def bind(self, ctx=None, args=None, args_grad=None, grad_req="write", aux_states=None, group2ctx=None,
             shared_exec=None):  # fmt: skip
        """An Executor over given arrays; see Executor."""
        from ..executor import Executor

        return Executor(self, ctx, args, args_grad, grad_req, aux_states)

    def simple_bind(self, ctx=None, grad_req="write", type_dict=None, stype_dict=None, group2ctx=None,
                    shared_arg_names=None, shared_exec=None, shared_buffer=None, **kwargs):  # fmt: skip
        """An Executor with arrays made for the shapes given by name, stored as `stype_dict` says or their
        variables, and gradients stored as backward gives them; those of variables with an attribute
        `ctx_group` on the CPU context that `group2ctx` says. Keywords that are no shapes say nothing.
        RuntimeError: a shape stays unknown.
        """
        from ..executor import simple_bind

        shapes = {name: shape for name, shape in kwargs.items() if isinstance(shape, (tuple, list))}
        return simple_bind(self, ctx, grad_req, type_dict, shapes, stype_dict=stype_dict, group2ctx=group2ctx)

    def grad(self, wrt):
        """NotImplementedError, always: a symbol's gradients are computed by its executor."""
        raise NotImplementedForSymbol("Symbol.grad: bind the symbol with args_grad, and call backward")

    @property
    def handle(self):
        """A number that identifies the symbol, while it lives."""
        return id(self)

    def eval(self, ctx=None, **kwargs):
        """The outputs for arrays given by name, as a list."""
        return self.bind(ctx, kwargs, grad_req="null").forward()

    def optimize_for(self, backend, args=None, aux=None, ctx=None, **kwargs):
        """As get_backend_symbol; args, aux, ctx and further options change nothing."""
        return self.get_backend_symbol(backend)

    def get_backend_symbol(self, backend):
        """The graph as MXNet's partitioning for a backend makes it.

        'MKLDNN' and 'MKLDNN_QUANTIZE' put convolutions, dense layers and interleaved attention together
        with what follows them, the second only what can be quantized so: nodes such as
        sg_mkldnn_conv_bn_act_0, for networks that predict. These are no faster than the graph, which is
        compiled anyway, until quantize_model quantizes them; then 'MKLDNN_QUANTIZE' lets quantized layers
        take over the ranges of the `requantize` behind them. 'default' and 'default_v2' give the symbol
        itself. MXNetError: another backend.

        Examples
        --------
        >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
        >>> net = sym.Activation(net, act_type="relu")
        >>> net.get_backend_symbol("MKLDNN").list_outputs()
        ['sg_mkldnn_fully_connected_eltwise_0_output']
        """
        if backend in ("default", "default_v2"):
            return self
        if backend not in ("MKLDNN", "MKLDNN_QUANTIZE"):
            raise MXNetError(
                f"get_backend_symbol: there is no backend {backend!r}; there are default, default_v2, MKLDNN "
                "and MKLDNN_QUANTIZE"
            )
        return calls.wrap(self._handle.with_joined_layers(backend == "MKLDNN_QUANTIZE"), self._is_np)

    # --- front ends ---

    def as_np_ndarray(self):
        """The same graph, whose operators follow NumPy."""
        return calls.wrap(self._handle, True)

    def as_nd_ndarray(self):
        """The same graph, whose operators are the legacy ones."""
        return Symbol(self._handle)

    # --- operators ---

    def astype(self, dtype, name=None, attr=None):
        """The values converted to `dtype`."""
        return apply("Cast", "cast", [self], {"dtype": dtype}, self._is_np, name, attr)

    def reshape(self, *shape, name=None, attr=None, **kwargs):
        """As nd.NDArray.reshape: one tuple, several integers, or `shape=`; `reverse`."""
        if shape:
            given = shape[0] if len(shape) == 1 else shape
            kwargs["shape"] = given if isinstance(given, int) else tuple(given)
        return apply("Reshape", "reshape", [self], kwargs, self._is_np, name, attr)


def _is_known(shape):
    if is_np_shape():
        return shape is not None and -1 not in shape
    return bool(shape) and all(extent not in (0, -1) for extent in shape)


def _numpy_type(numpy, name):
    return name if name == "bfloat16" else numpy.dtype(name).type


def _restore(cls, text):
    return cls(_core.SymbolHandle.from_json(text))


def _class_of_mode():
    return calls._classes[is_np_array()]


def var(name, attr=None, shape=None, lr_mult=None, wd_mult=None, dtype=None, init=None, stype=None, **kwargs):
    """An input of a graph.

    `shape` (0 or -1: unknown), `dtype`, `lr_mult`, `wd_mult` and `init` (an Initializer or its text) are kept
    as texts with it; further keywords must be '__key__'. TypeError: `name` is no string.
    ValueError: a value of `attr` is none.

    Examples
    --------
    >>> x = sym.var("x", shape=(2, 3), lr_mult=0.5)
    >>> (x * 2).infer_shape()[1], x.attr("__lr_mult__")
    ([(2, 3)], '0.5')
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    texts = AttrScope.current.get(attr)
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"Set Attr only accepts string values; got {attr}")
    if shape is not None:
        texts["__shape__"] = str((shape,) if isinstance(shape, int) else tuple(shape))
    if lr_mult is not None:
        texts["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        texts["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        texts["__dtype__"] = str(_core.dtype_flag(dtype))
    if init is not None:
        texts["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        texts["__storage_type__"] = str({"default": 0, "row_sparse": 1, "csr": 2}[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(
                f"Attribute name={key} is not supported. Additional attributes must start and end with "
                "double underscores, e.g, __yourattr__"
            )
        texts[key] = str(value)
    return _class_of_mode()(_core.SymbolHandle.variable(name, texts))


Variable = var


def Group(symbols, create_fn=None):  # noqa: N802
    """One symbol with the outputs of several, of the class of the first one, or of `create_fn(handle)`.

    TypeError: not a sequence of symbols.

    Examples
    --------
    >>> x = sym.var("x")
    >>> both = sym.Group([x + 1, x * 2])
    >>> both.eval(x=nd.array([3]))
    [
    [4.]
    <NDArray 1 @cpu(0)>,
    [6.]
    <NDArray 1 @cpu(0)>]
    """
    symbols = list(symbols)
    if not symbols or any(not isinstance(one, Symbol) for one in symbols):
        raise TypeError("Expected a list of symbols as input")
    return (create_fn or type(symbols[0]))(_core.SymbolHandle.group([one._handle for one in symbols]))


def fromjson(json_str):
    """The symbol of a JSON text. MXNetError: it is malformed or names an unknown operator.

    Examples
    --------
    >>> net = sym.relu(sym.var("x"), name="act")
    >>> sym.fromjson(net.tojson()).list_outputs()
    ['act_output']
    """
    if not isinstance(json_str, str):
        raise TypeError("fname required to be string")
    made = _class_of_mode()(_core.SymbolHandle.from_json(json_str))
    if is_np_shape() and '"is_np_shape"' not in json_str:
        _mark_unknown_extents(made)
    return made


def _mark_unknown_extents(symbol):
    """Extents of 0 that variables declare in a file of legacy mode are unknown: -1 in np mode."""
    internals, attributes = symbol.get_internals(), symbol.attr_dict()
    for name in symbol.list_inputs():
        shape = attributes.get(name, {}).get("__shape__", "")
        marked = re.sub(r"(?<![\d.])0(?![\d.])", "-1", shape)
        if marked != shape:
            internals[name]._set_attr(__shape__=marked)


load_json = fromjson


def load(fname):
    """The symbol in a file. MXNetError: there is no such file, or it is malformed.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net-symbol.json")
    ...     sym.relu(sym.var("x"), name="act").save(path)
    ...     print(sym.load(path).list_outputs())
    ['act_output']
    """
    fname = path_text("symbol.load", fname)
    path = pathlib.Path(fname)
    if path.exists() and not path.is_file():  # to read one of another kind may never end, or never begin
        raise MXNetError(f'symbol.load: Open "{fname}": it is not a regular file')
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MXNetError(f'symbol.load: Open "{fname}": {error.strerror}') from None
    except UnicodeDecodeError as error:
        raise MXNetError(f"symbol.load: {fname} is no text: {error}") from None
    try:
        return fromjson(text)
    except MXNetError as error:
        raise type(error)(f"{fname}: {error}") from None
