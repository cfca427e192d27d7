"""Symbol: outputs of a graph of operators that has not been computed."""

import math
import operator
import pathlib

from .. import _core
from ..attribute import AttrScope
from ..base import MXNetError
from ..util import is_np_array, is_np_shape
from . import calls
from .calls import apply, is_number, with_number

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "fromjson",
    "hypot",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "pow",
    "power",
    "var",
]


class _Operator:
    """One Python operator on symbols: the operator on two symbols, and those with a number on either side."""

    def __init__(self, legacy, np):
        self._forms = {False: legacy, True: np}

    def __call__(self, a, b, swapped=False):
        np = a._is_np
        (both, both_hint), (right, right_hint), (left, left_hint) = self._forms[np]
        if is_number(b):
            op, hint = (left, left_hint) if swapped else (right, right_hint)
            return with_number(op, hint, a, b, np)
        if isinstance(b, Symbol):
            return apply(both, both_hint, [b, a] if swapped else [a, b], {}, np)
        return NotImplemented


def _arithmetic(legacy, hint, np, right=None, left=None, left_hint=None):
    right = right or f"_{hint.strip('_')}_scalar"
    left = left or right
    return _Operator(
        ((legacy, hint), (right, hint + "scalar"), (left, left_hint or hint + "scalar")),
        (
            (f"_npi_{np}", np),
            (f"_npi_{np}_scalar", np + "_scalar"),
            (f"_npi_{'' if left == right else 'r'}{np}_scalar", f"{'' if left == right else 'r'}{np}_scalar"),
        ),
    )


def _comparison(legacy, np, mirror, np_mirror):
    return _Operator(
        (
            (legacy, legacy),
            (legacy + "_scalar", legacy + "_scalar"),
            (mirror + "_scalar", mirror + "_scalar"),
        ),
        (
            (f"_npi_{np}", np),
            (f"_npi_{np}_scalar", np + "_scalar"),
            (f"_npi_{np_mirror}_scalar", np_mirror + "_scalar"),
        ),
    )


_add = _arithmetic("elemwise_add", "_plus", "add")
_subtract = _arithmetic(
    "elemwise_sub", "_minus", "subtract", left="_rminus_scalar", left_hint="_rminusscalar"
)
_multiply = _arithmetic("elemwise_mul", "_mul", "multiply")
_divide = _arithmetic("elemwise_div", "_div", "true_divide", left="_rdiv_scalar", left_hint="_rdivscalar")
_mod = _arithmetic("_mod", "_mod", "mod", left="_rmod_scalar", left_hint="_rmodscalar")
_power = _arithmetic("_power", "_power", "power", left="_rpower_scalar", left_hint="_rpower_scalar")
_equal = _comparison("_equal", "equal", "_equal", "equal")
_not_equal = _comparison("_not_equal", "not_equal", "_not_equal", "not_equal")
_greater = _comparison("_greater", "greater", "_lesser", "less")
_greater_equal = _comparison("_greater_equal", "greater_equal", "_lesser_equal", "less_equal")
_lesser = _comparison("_lesser", "less", "_greater", "greater")
_lesser_equal = _comparison("_lesser_equal", "less_equal", "_greater_equal", "greater_equal")


def _function(name, on_symbols, of_numbers):
    """A function of two symbols, or of a symbol and a number."""

    def function(left, right):
        if isinstance(left, Symbol):
            made = on_symbols(left, right)
        elif isinstance(right, Symbol):
            made = on_symbols(right, left, True)
        elif is_number(left) and is_number(right):
            return of_numbers(left, right)
        else:
            made = NotImplemented
        if made is NotImplemented:
            raise TypeError(f"{name}: types ({type(left)}, {type(right)}) not supported")
        return made

    function.__name__ = function.__qualname__ = name
    return function


_power_function = _arithmetic("_power", "_power", "power", left="_rpower_scalar", left_hint="_rpowerscalar")
maximum = _function("maximum", _arithmetic("_maximum", "_maximum", "maximum"), max)
minimum = _function("minimum", _arithmetic("_minimum", "_minimum", "minimum"), min)
hypot = _function("hypot", _arithmetic("_hypot", "_hypot", "hypot"), math.hypot)
power = pow = _function("power", _power_function, operator.pow)


class Symbol:
    """Outputs of a graph. Operators and methods on symbols give symbols; nothing is computed.

    `sym['fc1_output']` and `sym[0]` pick an output; `sym(data=other)` replaces variables.
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

    def attr(self, key):
        """A text of the node, or None."""
        return self._handle.attr(key)

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
        """The same graph with variables replaced: by keyword, or by position in list_arguments()."""
        if args and kwargs:
            raise TypeError(
                "compose only accept input Symbols either as positional or keyword arguments, not both"
            )
        replacements = dict(zip(self.list_arguments(), args)) if args else kwargs
        for key, value in replacements.items():
            if not isinstance(value, Symbol):
                raise TypeError(f"Compose expect `Symbol` as arguments, got {type(value).__name__} for {key}")
        made = self._handle.compose({key: value._handle for key, value in replacements.items()})
        return type(self)(made)

    def __copy__(self):
        return type(self)(self._handle)

    def __deepcopy__(self, memo):
        return type(self)(_core.SymbolHandle.from_json(self.tojson()))

    def __reduce__(self):
        return _restore, (type(self), self.tojson())

    # --- types ---

    def infer_shape(self, *args, **kwargs):
        """(argument shapes, output shapes, auxiliary shapes) from shapes of some arguments.

        Shapes are given by name, or by position in list_arguments(); None leaves one open. When something
        stays unknown, gives (None, None, None) with a warning. MXNetError: the shapes do not fit.
        """
        arguments, outputs, auxiliary = self.infer_shape_partial(*args, **kwargs)
        unknown = [
            name
            for name, shape in zip(self.list_arguments(), arguments)
            if not shape or any(extent in (0, -1) for extent in shape)
        ]
        if unknown and any(shape is None or not _is_known(shape) for shape in (*arguments, *outputs)):
            import warnings

            warnings.warn(
                "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
                f"Consider providing them as input:\n\t{', '.join(unknown)}",
                stacklevel=2,
            )
            return None, None, None
        return arguments, outputs, auxiliary

    def infer_shape_partial(self, *args, **kwargs):
        """The same with what is known; unknown extents are 0 (-1 in np mode), unknown shapes ()."""
        inputs, outputs = self._infer(self._by_name(args, kwargs), {})
        unknown = -1 if is_np_shape() else 0
        shapes = [
            () if shape is None else tuple(unknown if extent == -1 else extent for extent in shape)
            for shape, _ in (*inputs, *outputs)
        ]
        arguments, auxiliary = self._sort_inputs(shapes)
        return arguments, shapes[len(inputs) :], auxiliary

    def infer_type(self, *args, **kwargs):
        """(argument dtypes, output dtypes, auxiliary dtypes) from dtypes of some arguments.

        (None, None, None) when nothing is given and something stays unknown.
        """
        found = self.infer_type_partial(*args, **kwargs)
        if not args and not kwargs and any(None in dtypes for dtypes in found):
            return None, None, None
        return found

    def infer_type_partial(self, *args, **kwargs):
        """The same; None where a dtype is not known."""
        import numpy

        dtypes = self._by_name(args, kwargs)
        inputs, outputs = self._infer({}, dtypes)
        # Dtypes do not depend on extents, but rules want shapes: some are made up for the arguments given.
        for axes in (4, 2, 3, 1, 5):
            if not dtypes or all(dtype is not None for _, dtype in outputs):
                break
            try:
                inputs, outputs = self._infer(dict.fromkeys(dtypes, (64,) * axes), dtypes)
            except MXNetError:
                continue
        known = [None if dtype is None else _numpy_type(numpy, dtype) for _, dtype in (*inputs, *outputs)]
        if None in known and dtypes:
            common = _numpy_type(numpy, _core.dtype_name(next(iter(dtypes.values()))))
            known = [common if dtype is None else dtype for dtype in known]
        arguments, auxiliary = self._sort_inputs(known)
        return arguments, known[len(inputs) :], auxiliary

    def _by_name(self, args, kwargs):
        if args and kwargs:
            raise ValueError("Can only specify known argument shapes either by positional or kwargs way.")
        known = self.list_arguments()
        given = dict(zip(known, args)) if args else kwargs
        for name in given:
            if name not in known:
                listed = "".join(f"\n\t[{i}]{one}" for i, one in enumerate(known))
                raise MXNetError(f"infer: argument name {name} not found.\nCandidate arguments:{listed}")
        return {name: value for name, value in given.items() if value is not None}

    def _infer(self, shapes, dtypes):
        known = {}
        for name, shape in shapes.items():
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            legacy = not is_np_shape()
            known[name] = tuple(
                -1 if extent == -1 or (legacy and extent == 0) else extent for extent in shape
            )
        return self._handle.infer({name: shape for name, shape in known.items() if shape}, dtypes)

    def _sort_inputs(self, values):
        """`values` of list_inputs() as those of the arguments and those of the auxiliary states."""
        by_name = dict(zip(self.list_inputs(), values))
        return (
            [by_name[name] for name in self.list_arguments()],
            [by_name[name] for name in self.list_auxiliary_states()],
        )

    # --- files ---

    def tojson(self, remove_amp_cast=True):
        """The graph as MXNet's JSON."""
        return self._handle.to_json(int(is_np_shape()))

    def save(self, fname, remove_amp_cast=True):
        """Writes the JSON to a file."""
        if not isinstance(fname, str):
            raise TypeError("fname need to be string")
        pathlib.Path(fname).write_text(self.tojson(), encoding="utf-8")

    # --- running ---

    def bind(self, ctx=None, args=None, args_grad=None, grad_req="write", aux_states=None, group2ctx=None,
             shared_exec=None):  # fmt: skip
        """An Executor over given arrays; see Executor."""
        from ..executor import Executor

        return Executor(self, ctx, args, args_grad, grad_req, aux_states)

    def simple_bind(self, ctx=None, grad_req="write", type_dict=None, stype_dict=None, group2ctx=None,
                    shared_arg_names=None, shared_exec=None, shared_buffer=None, **kwargs):  # fmt: skip
        """An Executor with arrays made for the shapes given by name. RuntimeError: a shape stays unknown."""
        from ..executor import simple_bind

        return simple_bind(self, ctx, grad_req, type_dict, kwargs)

    def eval(self, ctx=None, **kwargs):
        """The outputs for arrays given by name, as a list."""
        return self.bind(ctx, kwargs, grad_req="null").forward()

    def optimize_for(self, backend, args=None, aux=None, ctx=None, **kwargs):
        """The symbol itself: graphs are compiled when they run, whatever `backend` says."""
        return self

    def get_backend_symbol(self, backend):
        """The symbol itself; see optimize_for."""
        return self

    # --- front ends ---

    def as_np_ndarray(self):
        """The same graph, whose operators follow NumPy."""
        from .numpy import _Symbol

        return _Symbol(self._handle)

    def as_nd_ndarray(self):
        """The same graph, whose operators are the legacy ones."""
        return Symbol(self._handle)

    # --- operators ---

    def __add__(self, other):
        return _add(self, other)

    def __radd__(self, other):
        return _add(self, other, True)

    def __sub__(self, other):
        return _subtract(self, other)

    def __rsub__(self, other):
        return _subtract(self, other, True)

    def __mul__(self, other):
        return _multiply(self, other)

    def __rmul__(self, other):
        return _multiply(self, other, True)

    def __truediv__(self, other):
        return _divide(self, other)

    def __rtruediv__(self, other):
        return _divide(self, other, True)

    def __mod__(self, other):
        return _mod(self, other)

    def __rmod__(self, other):
        return _mod(self, other, True)

    def __pow__(self, other):
        return _power(self, other)

    def __rpow__(self, other):
        return _power(self, other, True)

    def __neg__(self):
        return with_number("_mul_scalar", "_mulscalar", self, -1.0, False)

    def __abs__(self):
        return calls.function("abs", np=self._is_np)(self)

    def __eq__(self, other):
        return _equal(self, other)

    def __ne__(self, other):
        return _not_equal(self, other)

    def __gt__(self, other):
        return _greater(self, other)

    def __ge__(self, other):
        return _greater_equal(self, other)

    def __lt__(self, other):
        return _lesser(self, other)

    def __le__(self, other):
        return _lesser_equal(self, other)

    __hash__ = object.__hash__

    def __bool__(self):
        raise NotImplementedError(
            "the truth of a Symbol is not known while a graph is built; use where, or contrib.cond"
        )

    def astype(self, dtype):
        """The values converted to `dtype`."""
        return apply("Cast", "cast", [self], {"dtype": dtype}, self._is_np)

    def reshape(self, *shape, **kwargs):
        """As nd.NDArray.reshape: one tuple, several integers, or `shape=`; `reverse`."""
        if shape:
            kwargs["shape"] = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return apply("Reshape", "reshape", [self], kwargs, self._is_np)

    def _refuse(self, what):
        raise MXNetError(
            f"Symbol {self.name}: {what} is not known while a graph is built; compute with operators, or do "
            "not hybridize this block"
        )

    @property
    def shape(self):
        """Not there: a symbol has no shape (AttributeError)."""
        raise AttributeError(
            "'Symbol' object has no attribute 'shape': shapes are not known while a graph is built"
        )

    def asnumpy(self):
        """MXNetError always: a symbol has no values."""
        self._refuse("a value")

    def wait_to_read(self):
        """MXNetError always: a symbol has no values."""
        self._refuse("a value")


def _is_known(shape):
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
    """
    if not isinstance(name, str):
        raise TypeError("Expect a string for variable `name`")
    texts = AttrScope.current().get(attr)
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


def Group(symbols):  # noqa: N802
    """One symbol with the outputs of several. TypeError: not a sequence of symbols."""
    symbols = list(symbols)
    if not symbols or any(not isinstance(one, Symbol) for one in symbols):
        raise TypeError("Expected a list of symbols as input")
    return type(symbols[0])(_core.SymbolHandle.group([one._handle for one in symbols]))


def fromjson(text):
    """The symbol of a JSON text. MXNetError: it is malformed or names an unknown operator."""
    if not isinstance(text, str):
        raise TypeError("fname required to be string")
    return _class_of_mode()(_core.SymbolHandle.from_json(text))


load_json = fromjson


def load(fname):
    """The symbol in a file. MXNetError: there is no such file, or it is malformed."""
    if not isinstance(fname, str):
        raise TypeError("fname need to be string")
    try:
        text = pathlib.Path(fname).read_text(encoding="utf-8")
    except OSError as error:
        raise MXNetError(f'symbol.load: Open "{fname}": {error.strerror}') from None
    except UnicodeDecodeError as error:
        raise MXNetError(f"symbol.load: {fname} is no text: {error}") from None
    return fromjson(text)
