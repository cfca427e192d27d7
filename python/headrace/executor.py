"""Executor: a symbol bound to arrays."""

import os
import weakref

from . import _arrays as arrays
from . import _core
from . import ndarray as nd
from ._watching import Watch, WatchedRun
from .base import MXNetError
from .context import current_context
from .numpy import ndarray as _np_class

__all__ = ["Executor", "simple_bind"]

STORAGE_TYPES = ("default", "row_sparse", "csr")  # by the numbers of files


def _named(values, names, what, allow_missing=False):
    """`values` (a list in the order of `names`, a dictionary, or None) as a list.

    TypeError: one is no array.
    """
    found = _in_order(values, names, what, allow_missing)
    for name, value in zip(names, found):
        if not isinstance(value, (nd.NDArray, type(None))):
            kind = type(value).__name__
            raise TypeError(
                f"bind: `{what}` must be a list or a dictionary of NDArrays, got {kind} for {name}"
            )
    return found


def _in_order(values, names, what, allow_missing):
    if values is None:
        values = {}
    if isinstance(values, dict):
        missing = [name for name in names if name not in values]
        if missing and not allow_missing:
            raise ValueError(f"key `{missing[0]}` is missing in `{what}`")
        return [values.get(name) for name in names]
    values = list(values)
    if len(values) != len(names):
        raise ValueError(
            f"Length of {what} does not match the number of arguments: {len(values)} and {len(names)}"
        )
    return values


def gradient_requests(grad_req, names, otherwise="null"):
    """Name to gradient request; `otherwise`: of names that a dictionary leaves out.

    ValueError: not one for each, or another word than those that there are.
    """
    if isinstance(grad_req, str):
        named = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, dict):
        named = {name: grad_req.get(name, otherwise) for name in names}
    else:
        named = dict(zip(names, grad_req))
        if len(named) != len(names) or len(grad_req) != len(names):
            raise ValueError(f"grad_req: {len(grad_req)} requests for {len(names)} arguments")
    for name, request in named.items():
        if request not in ("write", "add", "null"):
            raise ValueError(f"grad_req of {name} must be 'write', 'add' or 'null', got {request!r}")
    return named


class Executor:
    """Runs a symbol forward and backward over arrays that stay the same.

    `args` and `args_grad` are lists in the order of list_arguments() or dictionaries, `aux_states` of
    list_auxiliary_states(); `grad_req` is 'write', 'add' or 'null' for all, or a list or dictionary of these.
    ValueError: an argument is missing, or a request is none of these words.

    Examples
    --------
    >>> x = sym.var("x")
    >>> executor = (x * 2).bind(mx.cpu(), {"x": nd.array([1, 2])})
    >>> executor.forward()
    [
    [2. 4.]
    <NDArray 2 @cpu(0)>]
    """

    def __init__(self, symbol, ctx, args, args_grad=None, grad_req="write", aux_states=None):
        self._symbol = symbol
        self._ctx = ctx or current_context()
        self._arg_names, self._aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
        self.arg_arrays = _named(args, self._arg_names, "args")
        self.aux_arrays = _named(aux_states, self._aux_names, "aux_states")
        given = _named(args_grad, self._arg_names, "args_grad", allow_missing=True)
        named = gradient_requests(grad_req, self._arg_names)
        requests = [named[name] if grad is not None else "null" for name, grad in zip(self._arg_names, given)]
        self._requests = requests
        self.grad_arrays = list(given)  # those that nothing asks for stay as they are
        wanted = [i for i, req in enumerate(requests) if req != "null"]
        self._leaves = list(self.arg_arrays)
        for i in wanted:
            # The caller's arrays stay off the tape: an executor has variables of its own over the same
            # memory.
            self._leaves[i] = self.arg_arrays[i].detach()
            _core.mark_variable(self._leaves[i], self.grad_arrays[i], requests[i])
        by_name = {**dict(zip(self._arg_names, self._leaves)), **dict(zip(self._aux_names, self.aux_arrays))}
        self._inputs = [by_name[name] for name in symbol.list_inputs()]
        self._results()
        self._op = _core.CachedOp(symbol._handle)
        self._np = isinstance(self.arg_arrays[0], _np_class) if self.arg_arrays else symbol._is_np
        self._outputs = None
        self._early = ()  # weak references to the outputs that were asked for before the first forward
        self._recorded = None  # the outputs on the tape
        self._is_train = None  # whether the last forward trained; None: there was none
        self._needed = {}  # by mode, for each output whether its gradient matters
        self._monitor = self._watch = self._group2ctx = None
        self._watched = None  # the last forward, if a monitor saw it
        self._merges = os.environ.get("MXNET_ELIMINATE_COMMON_EXPR") != "0"  # in get_optimized_symbol

    def forward(self, is_train=False, **kwargs):
        """Computes and returns the outputs; keywords write new values into arguments first.

        TypeError: no such argument. ValueError: another shape.
        """
        arguments = self.arg_dict
        for name, value in kwargs.items():
            if name not in arguments:
                raise TypeError(f"Unknown argument {name}; the arguments are {', '.join(self._arg_names)}")
            if arguments[name].shape != tuple(value.shape):
                raise ValueError(
                    f"Shape not match! Argument {name}, need: {arguments[name].shape}, "
                    f"received: {tuple(value.shape)}"
                )
            arguments[name][:] = arrays.like(value, arguments[name])
        self._is_train = bool(is_train)
        self._watched = None
        # Gradients of a forward in use are rare: unless it draws numbers, it is run again for them.
        records = self._has_gradients() and (is_train or self._symbol._handle.is_random)
        if self._monitor is not None:
            outputs = self._run_watched(records)
        elif records:
            outputs = self._record()
        else:
            with _core.train_mode() if is_train else _core.predict_mode():
                outputs = self._op(self._inputs, self._np)
        self._recorded = outputs if records else None
        self._outputs = [output.detach() for output in outputs] if records else outputs
        for early, output in zip(self._early, self._outputs):
            if (held := early()) is not None:
                held[:] = output
        return self._outputs

    def _has_gradients(self):
        return any(request != "null" for request in self._requests)

    def _record(self):
        with _core.record(self._is_train):
            return self._op(self._inputs, self._np)

    def _run_watched(self, records):
        """The outputs, computed operator by operator; the monitor is called for each."""
        callback, monitor_all = self._monitor
        if self._watch is None:
            self._watch = Watch(self._symbol)
        self._watched = WatchedRun(self._watch, self._inputs, self._np, self._is_train, records)
        for _, reads, writes in self._watched:
            for variable, name, value in reads if monitor_all else ():
                if variable is not None:
                    callback(variable.encode(), value.detach())
                callback(name.encode(), value.detach())
            for name, value in writes:
                callback(name.encode(), value.detach())
        return self._watched.outputs

    def backward(self, out_grads=None, is_train=True):
        """Writes (or adds) the gradients; `out_grads`: those with respect to the outputs, or a dictionary of
        them by the outputs' names.

        They may be left out (or None) for outputs of losses, which take no notice of them; what is given
        beyond the outputs is passed over. After a forward in use, or none, the gradients are those for the
        values that the arguments have now. MXNetError: one is missing.
        """
        if self._is_train is None:
            self._is_train = bool(is_train)
        if not self._has_gradients():
            return
        heads = self._head_gradients(out_grads)
        if self._recorded is None:
            self._recorded = self._run_watched(True) if self._monitor is not None else self._record()
        needed = self._needed[self._is_train]
        reached = [
            (output, head if is_needed or head is None or head.shape == output.shape else None)
            for output, head, is_needed in zip(self._recorded, heads, needed)
            if output._on_tape
        ]
        if reached:
            _core.backward(*zip(*reached), retain_graph=True, train_mode=bool(is_train))
            if self._monitor is not None and self._watched is not None:
                for name, gradient in self._watched.gradients():
                    self._monitor[0](name.encode(), gradient)
            return
        for grad, request in zip(self.grad_arrays, self._requests):
            if request == "write":
                grad[:] = 0

    def _head_gradients(self, given):
        count = len(self._symbol)
        if isinstance(given, dict):
            given = [given.get(name) for name in self._symbol.list_outputs()]
        given = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
        given = [*given[:count], *[None] * (count - len(given))]
        if self._is_train not in self._needed:
            with _core.record(self._is_train):
                self._needed[self._is_train] = self._op.reads_head_gradients(self._inputs)
        for i, is_needed in enumerate(self._needed[self._is_train]):
            if is_needed and given[i] is None:
                name = self._symbol.list_outputs()[i]
                raise MXNetError(
                    f"Executor.backward: {name} is not the output of a loss, so the gradient with respect to "
                    "it (head gradient) is required: pass out_grads, or end the graph with make_loss"
                )
        return given

    def set_monitor_callback(self, callback, monitor_all=False):
        """Calls `callback(name, array)` for each operator's outputs at every forward, and for the gradients
        of its inputs at every backward; with `monitor_all` for its inputs first, the variables among them by
        both of their names.

        Names are bytes, as MXNet's: b'fc_output', b'fc_backward_output0'. The graph then runs operator by
        operator. None ends it.
        """
        self._monitor = None if callback is None else (callback, monitor_all)

    @property
    def outputs(self):
        """The outputs of the last forward, each of which makes new arrays. Those from before the first are
        zeros, and every forward writes its results there, too.
        """
        if self._outputs is None:
            self._outputs = self._blank_outputs()
            self._early = [weakref.ref(output) for output in self._outputs]
        return self._outputs

    def _results(self):
        """(shape, dtype) of the outputs. MXNetError: the arrays do not go together."""
        named = {**self.arg_dict, **self.aux_dict}
        shapes = {name: array.shape for name, array in named.items()}
        dtypes = {name: array._dtype_name for name, array in named.items()}
        return self._symbol._infer(shapes, dtypes)[1]

    def _blank_outputs(self):
        outputs = self._results()
        if any(shape is None or -1 in shape for shape, _ in outputs):
            return []  # they depend on values
        make = arrays.mnp.zeros if self._np else nd.zeros
        return [make(shape, dtype=dtype or "float32", ctx=self._ctx) for shape, dtype in outputs]

    @property
    def arg_dict(self):
        """Argument name to array."""
        return dict(zip(self._arg_names, self.arg_arrays))

    @property
    def grad_dict(self):
        """Argument name to gradient array, or None."""
        return dict(zip(self._arg_names, self.grad_arrays))

    @property
    def aux_dict(self):
        """Auxiliary state name to array."""
        return dict(zip(self._aux_names, self.aux_arrays))

    @property
    def output_dict(self):
        """Output name to array."""
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params=False):
        """Writes values into arguments and auxiliary states. ValueError: another shape, or an unknown name
        unless these are allowed.
        """
        for known, given in ((self.arg_dict, arg_params), (self.aux_dict, aux_params or {})):
            for name, value in given.items():
                if name in known:
                    arrays.write(value.astype(known[name].dtype), known[name], f"copy_params_from: {name}")
                elif not allow_extra_params:
                    raise ValueError(f'Find name "{name}" that is not in the arguments')

    def reshape(self, partial_shaping=False, allow_up_sizing=False, **kwargs):
        """An executor for other input shapes. It shares the arrays, and gradients, whose shapes stay, and the
        monitor.
        """
        requests = dict(zip(self._arg_names, self._requests))
        dtypes = {name: array._dtype_name for name, array in {**self.arg_dict, **self.aux_dict}.items()}
        made = simple_bind(self._symbol, self._ctx, requests, dtypes, kwargs, self, group2ctx=self._group2ctx)
        made._monitor = self._monitor
        return made

    def get_optimized_symbol(self):
        """The symbol with one node for all that compute the same from the same values.

        If the variable MXNET_ELIMINATE_COMMON_EXPR was 0 when the executor was made, the symbol itself.
        What it is compiled to in the end is no symbol; debug_str shows that.
        """
        if not self._merges:
            return self._symbol
        return type(self._symbol)(self._symbol._handle.with_common_nodes_merged())

    def debug_str(self):
        """What runs, step by step: forward, backward where gradients are asked for, and memory for both."""
        computes_gradients = any(request != "null" for request in self._requests)
        with _core.record(True) if computes_gradients else _core.predict_mode():
            text = self._op.explain(self._inputs)
        # MXNet's last line, from which programs count.
        return f"{text}Total 0 TempSpace resource requested\n"


def simple_bind(symbol, ctx, grad_req, type_dict, shapes, shared=None, *, stype_dict=None, group2ctx=None):
    """An Executor with arrays made for `shapes`; those of the Executor `shared` are taken where they fit.

    Arrays are stored as `stype_dict` says by name, or their variables; gradients as backward gives them.
    `group2ctx` says on which context the arrays of variables are made that have an attribute `ctx_group`,
    where all contexts are CPUs; the graph itself runs on one device. RuntimeError: the shape of an argument
    stays unknown.

    Examples
    --------
    >>> from headrace.executor import simple_bind
    >>> executor = simple_bind(sym.var("x") * 2, mx.cpu(), "null", {}, {"x": (2,)})
    >>> executor.forward(x=nd.array([1, 3]))[0]
    [2. 6.]
    <NDArray 2 @cpu(0)>
    """
    ctx = ctx or current_context()
    contexts = _contexts_of_groups(symbol, ctx, group2ctx)
    inputs = _infer_inputs(symbol, type_dict, shapes)
    stypes = storage_types(symbol, stype_dict)
    arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
    old_arrays = {} if shared is None else {**shared.arg_dict, **shared.aux_dict}
    old_grads = {} if shared is None else shared.grad_dict
    made = {}
    for name, (shape, dtype) in inputs.items():
        old, dtype = old_arrays.get(name), dtype or "float32"
        fits = old is not None and old.shape == tuple(shape) and old._dtype_name == dtype
        if not fits or name in shapes:
            old = _zeros(symbol, shape, dtype, contexts.get(name, ctx), stypes.get(name))
        made[name] = old
    requests, grads = gradient_requests(grad_req, arguments), {}
    wanted = [name for name in arguments if requests[name] != "null"]
    gradient_types = _gradient_types(symbol, made, wanted) if arrays.holds_sparse(ctx) else {}
    for name in wanted:
        old = old_grads.get(name) if made[name] is old_arrays.get(name) else None
        if old is None:
            array = made[name]
            old = _zeros(symbol, array.shape, array._dtype_name, array.ctx, gradient_types.get(name))
        grads[name] = old
    aux = {name: made[name] for name in auxiliary}
    executor = Executor(symbol, ctx, {name: made[name] for name in arguments}, grads, requests, aux)
    executor._group2ctx = group2ctx
    return executor


def _contexts_of_groups(symbol, ctx, group2ctx):
    """Name to context of the variables that have one by their group."""
    if not group2ctx or any(
        one.device_type != "cpu" for one in (ctx or current_context(), *group2ctx.values())
    ):
        return {}
    groups = {name: attributes.get("__ctx_group__") for name, attributes in symbol.attr_dict().items()}
    return {name: group2ctx[group] for name, group in groups.items() if group in group2ctx}


def _zeros(symbol, shape, dtype, ctx, stype):
    if stype in (None, "default") or not arrays.holds_sparse(ctx):
        make = arrays.mnp.zeros if symbol._is_np else nd.zeros
        return make(shape, dtype=dtype, ctx=ctx)
    return nd.zeros(shape, dtype=dtype, ctx=ctx, stype=stype)


def storage_types(symbol, given=None):
    """Name to storage type of the inputs that are not dense: what `given` says, else their variables."""
    found = {}
    for name, attributes in symbol.attr_dict().items():
        number = int(attributes.get("__storage_type__", 0))
        if number > 0:
            found[name] = STORAGE_TYPES[number]
    return {**found, **(given or {})}


def _gradient_types(symbol, values, wanted):
    """Name to storage type of the gradients that come sparse: those of a backward pass over `values`, zeros.

    Only symbols with sparse inputs, or operators that are asked for sparse gradients, are run for that.
    """
    asks = any(attributes.get("sparse_grad") == "True" for attributes in symbol.attr_dict().values())
    if not wanted or symbol._is_np or not (asks or any(one.stype != "default" for one in values.values())):
        return {}
    leaves = {name: values[name].detach() for name in wanted}
    for leaf in leaves.values():  # a sparse gradient keeps what backward gives as it comes
        _core.mark_variable(leaf, nd.zeros(leaf.shape, dtype=leaf._dtype_name, stype="row_sparse"), "write")
    inputs = [leaves.get(name, values[name]) for name in symbol.list_inputs()]
    try:
        with _core.record(False):
            outputs = _core.CachedOp(symbol._handle)(inputs, False)
        found = _core.grad(list(outputs), list(leaves.values()), None, False, False, False)
    except MXNetError:  # an output that depends on no argument, or has no gradient
        return {}
    return {name: gradient.stype for name, gradient in zip(leaves, found)}


def _infer_inputs(symbol, type_dict, shapes):
    """Name to (shape, dtype or None) of all inputs of a symbol. RuntimeError: a shape stays unknown."""
    text = "simple_bind error. Arguments:\n" + "".join(f"{name}: {shape}\n" for name, shape in shapes.items())
    try:
        inputs, _ = symbol._infer(shapes, type_dict or {})
    except Exception as error:
        raise RuntimeError(f"{text}{error}") from error
    named = dict(zip(symbol.list_inputs(), inputs))
    unknown = [name for name, (shape, _) in named.items() if shape is None or any(e == -1 for e in shape)]
    if unknown:
        raise RuntimeError(f"{text}the shapes of {', '.join(unknown)} are not known; give them by name")
    return named
