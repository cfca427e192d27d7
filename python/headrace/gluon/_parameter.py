"""Parameter: a trainable array of a block, with a replica per context and a shape that may come later."""

import itertools
import warnings

import numpy as np

from .. import _arrays as arrays
from .. import autograd, initializer
from .. import ndarray as nd
from .._semantics import is_np_shape
from ..base import MXNetError
from ..context import Context, cpu, current_context
from ..ndarray import NDArray
from ._replicas import Replicas
from ._trained import Trained

__all__ = ["DeferredInitializationError", "Parameter"]

_STORAGE_TYPES = ("default", "row_sparse", "csr")
_GRAD_REQS = ("write", "add", "null")

_versions = itertools.count(1)


class DeferredInitializationError(MXNetError):
    """The array of a parameter was asked for while its shape is still unknown.

    Examples
    --------
    >>> layer = nn.Dense(2)
    >>> layer.initialize()
    >>> try:
    ...     layer.weight.data()
    ... except gluon.DeferredInitializationError:
    ...     print("the input size is not known yet")
    the input size is not known yet
    """


def _slot(ctx):
    # cpu, cpu_pinned and cpu_shared are the same memory, so they share a replica.
    return ctx.device_typeid & 1, ctx.device_id


def _context_list(ctx):
    """`ctx` as a list without repetitions. TypeError: not a context or contexts; ValueError: none."""
    contexts = [current_context() if ctx is None else ctx] if ctx is None or isinstance(ctx, Context) else ctx
    if not isinstance(contexts, (list, tuple)) or not all(isinstance(one, Context) for one in contexts):
        raise TypeError(f"ctx must be a context or a list of contexts, got {ctx!r}; for example mx.cpu()")
    if not contexts:
        raise ValueError("ctx must name at least one context, got an empty list")
    return list({_slot(context): context for context in reversed(contexts)}.values())[::-1]


class Parameter(Trained):
    """An array that training changes, with its gradient.

    Parameters
    ----------
    name : full name, e.g. `dense0_weight`.
    grad_req : 'write', 'add' or 'null'.
    shape : int or tuple; 0 (or -1 in np mode) marks a dimension that the first input decides.
    dtype : dtype or its name.
    lr_mult, wd_mult : factors on the optimizer's learning rate and weight decay.
    init : Initializer or its name; None uses what `initialize` is given.
    allow_deferred_init : an unknown shape may be completed after `initialize`.
    differentiable : False forces grad_req 'null'.
    stype, grad_stype : storage types, 'default' or 'row_sparse'. A row_sparse parameter belongs to a Trainer,
        whose store holds it: `row_sparse_data` brings the rows that a batch needs. On devices and in np
        mode gradients are dense, and so must parameters be.

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 2), init=init.One())
    >>> weight.initialize()
    >>> weight.data()
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    >>> weight.grad()
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    _latest_version = 0  # of any parameter

    def __init__(
        self,
        name,
        grad_req="write",
        shape=None,
        dtype=np.float32,
        lr_mult=1.0,
        wd_mult=1.0,
        init=None,
        allow_deferred_init=False,
        differentiable=True,
        stype="default",
        grad_stype="default",
    ):
        for what, value in (("stype", stype), ("grad_stype", grad_stype)):
            assert value in _STORAGE_TYPES, (
                f"{what} for Parameter '{name}' must be one of 'default', 'row_sparse', or 'csr', but got "
                f"'{value}'"
            )
        self.name = name
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._stype, self._grad_stype = stype, grad_stype
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._replicas = None  # one array per context
        self._grad = None  # their gradients; None when grad_req is 'null'
        self._var = None  # the variable of symbols
        self._single = None  # the array when there is exactly one: what layers read on every call
        self._ctx_list = None
        # (initializer, contexts, default initializer, data or None) while the shape is unknown, or ().
        self._deferred_init = ()
        self._version = 0  # of `_note_change`
        self._grad_req = None
        self.grad_req = grad_req

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "data" in vars(cls):  # layers must ask it
            cls._single = property(lambda self: None, lambda self, value: None)

    def __reduce_ex__(self, protocol):
        made = super().__reduce_ex__(protocol)
        return (_new_parameter, (), *made[2:]) if type(self) is Parameter else made

    @property
    def _ctx_map(self):
        """Which replica is where: by device number, of GPUs, then of CPUs; None: no replica."""
        found = [[], []]
        for place, ctx in enumerate(self._ctx_list or ()):
            row = found[ctx.device_typeid & 1]
            row.extend([None] * (ctx.device_id + 1 - len(row)))
            row[ctx.device_id] = place
        return found

    @_ctx_map.setter
    def _ctx_map(self, found):
        """Parameters that take over another one's replicas set it; it follows from their `_ctx_list`."""

    def __repr__(self):
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def stype(self):
        return self._stype

    @property
    def grad_stype(self):
        return self._grad_stype

    @property
    def grad_req(self):
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req):
        assert req in _GRAD_REQS, f"grad_req must be one of 'write', 'add', or 'null', but got '{req}'"
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is not None:
            if req == "null":
                self._replace([data.detach() for data in self._data])
            else:
                self._replace(self._data)

    @property
    def shape(self):
        """The shape; unknown dimensions read 0, or -1 in np mode. Assigning completes unknown dimensions
        only.
        """
        if self._shape is not None and is_np_shape():
            return tuple(size if size else -1 for size in self._shape)
        return self._shape

    @shape.setter
    def shape(self, new_shape):
        new_shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
        if self._shape is None:
            self._shape = new_shape
            return
        fits = len(self._shape) == len(new_shape) and all(
            old in (new, 0, -1) for old, new in zip(self._shape, new_shape)
        )
        assert fits, (
            f"Expected shape {new_shape} is incompatible with given shape {self._shape}. "
            f"Parameter '{self.name}' keeps the dimensions it already knows."
        )
        self._shape = new_shape

    def initialize(self, init=None, ctx=None, default_init=None, force_reinit=False):
        """Makes the arrays on `ctx` (a context or a list; default: the current one) and fills them.

        Values are drawn once, on the host, and copied to each context. The initializer is `init`, else the
        parameter's own, else `default_init` (Uniform). ValueError: the shape is unknown and deferring is not
        allowed, the initializer cannot fill this shape, or `ctx` is empty.
        TypeError: `ctx` holds other things than contexts. One that is named twice has one replica.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. "
                "Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
            return
        self._clear()
        if default_init is None:
            default_init = initializer.Uniform()
        if init is None:
            init = default_init if self.init is None else self.init
        is_known = arrays.shape_is_known(self._shape)
        if not is_known and not self._allow_deferred_init:
            raise ValueError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
                "Give every dimension, or set allow_deferred_init=True."
            )
        self._deferred_init = (init, _context_list(ctx), default_init, None)
        if is_known:
            self._finish_deferred_init()

    def _finish_deferred_init(self):
        """Makes the arrays that `initialize` postponed; the shape must be known by now."""
        if not self._deferred_init:
            return
        init, contexts, default_init, data = self._deferred_init
        if not arrays.shape_is_known(self._shape):
            raise ValueError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
                "Specify in_units, in_channels, ... when the block is made."
            )
        with autograd.pause():
            if data is None:
                data = self._zeros(self._stype, cpu())  # drawn once, whatever the contexts are
                description = initializer.InitDesc(self.name, {"__init__": init})
                initializer.create(default_init)(description, data)
            self._init_impl(data, contexts)
        self._deferred_init = ()

    def _init_impl(self, data, contexts):
        self._ctx_list = list(contexts)
        self._replace([data if data.ctx == ctx else data.copyto(ctx) for ctx in self._ctx_list])

    def _zeros(self, stype, ctx):
        if stype == "default":
            return arrays.zeros(self._shape, ctx, self.dtype)
        if arrays.is_np_array():
            raise ValueError(f"mxnet.numpy.zeros does not support stype = {stype}")
        return nd.zeros(self._shape, ctx=ctx, dtype=self.dtype, stype=stype)

    def _attach_gradient(self, data):
        """The zero gradient of a replica, which takes no memory before it is used."""
        is_dense = arrays.is_np_array() or not arrays.holds_sparse(data.ctx)
        data.attach_grad(self.grad_req, "default" if is_dense else self._grad_stype)
        return data.grad

    @property
    def _data(self):
        return self._replicas

    @_data.setter
    def _data(self, data):
        """Programs put arrays there, or None; gradients stay."""
        self._replicas = None if data is None else Replicas(self, data)
        self._replicas_changed()

    def _replace(self, data):
        """Makes `data` the replicas, with fresh zero gradients unless grad_req is 'null'."""
        self._data, self._grad = data, None
        if self.grad_req != "null":
            self._grad = [self._attach_gradient(array) for array in data]

    def _replicas_changed(self):
        replicas = self._replicas or ()
        self._single = replicas[0] if len(replicas) == 1 and self._stype == "default" else None
        self._note_change()

    def __setstate__(self, state):
        # A copied or unpickled array is no variable yet: tell autograd which gradient belongs to it.
        self.__dict__.update(state)
        self._data = self._replicas
        if self._grad is not None:
            autograd.mark_variables(self._data, self._grad, self.grad_req)

    def _clear(self):
        self._data = self._grad = self._ctx_list = None
        self._deferred_init = ()

    def _note_change(self):
        """A value was set, or arrays were replaced, which a Trainer has to notice."""
        self._version = Parameter._latest_version = next(_versions)

    def _not_initialized(self):
        if self._deferred_init:
            return DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred. "
                "Actual initialization happens during the first forward pass: pass one batch of data "
                "through the network first, or give in_units, in_channels, ... when the layer is made."
            )
        return RuntimeError(
            f"Parameter '{self.name}' has not been initialized. Call initialize() first. Initialize, and "
            "create the Trainer, with Block.collect_params() rather than Block.params: the latter lacks the "
            "children's."
        )

    def _check_and_get(self, replicas, ctx):
        """The one on `ctx` (default: the only one, else that of the current context), or all for `list`."""
        if self._data is None:
            raise self._not_initialized()
        if ctx is list:
            return replicas
        if ctx is None:
            if len(replicas) == 1:
                return replicas[0]
            ctx = current_context()
        wanted = _slot(ctx)
        for own, replica in zip(self._ctx_list, replicas):
            if _slot(own) == wanted:
                return replica
        raise RuntimeError(
            f"Parameter '{self.name}' was not initialized on context {ctx}. "
            f"It was only initialized on {self._ctx_list}."
        )

    def data(self, ctx=None):
        """The array on `ctx` (default: the only one, else the one of the current context).

        RuntimeError: not initialized, or not on `ctx`, or the parameter is row_sparse.
        DeferredInitializationError: the shape is not known yet.
        """
        single = self._single
        if single is not None and (ctx is None or single._is_abstract):  # a traced graph is for all contexts
            return single
        self._check_dense("data", "row_sparse_data")
        return self._check_and_get(self._data, ctx)

    def _check_dense(self, asked, instead):
        if self._stype != "default":
            raise RuntimeError(
                f"Cannot return the values of Parameter '{self.name}' by {asked}(), because its storage type "
                f"is {self._stype}. Please use {instead}() instead."
            )

    def list_data(self):
        """The arrays of all contexts; errors as `data`."""
        self._check_dense("list_data", "list_row_sparse_data")
        if self._data is None:
            raise self._not_initialized()
        return list(self._data)

    def _check_has_grad(self):
        if self._data is not None and self._grad is None:
            raise RuntimeError(
                f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'"
            )

    def grad(self, ctx=None):
        """The gradient on `ctx`. RuntimeError: grad_req is 'null'; else errors as `data`."""
        self._check_has_grad()
        return self._check_and_get(self._grad, ctx)

    def list_grad(self):
        """The gradients of all contexts; errors as `grad`."""
        self._check_has_grad()
        if self._data is None:
            raise self._not_initialized()
        return list(self._grad)

    def list_ctx(self):
        """The contexts that hold, or will hold, the parameter. RuntimeError: not initialized."""
        if self._data is not None:
            return list(self._ctx_list)
        if self._deferred_init:
            return list(self._deferred_init[1])
        raise RuntimeError(f"Parameter '{self.name}' has not been initialized")

    def var(self):
        """The variable that stands for this parameter in symbols."""
        if self._var is None:
            from .. import symbol

            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    def row_sparse_data(self, row_id):
        """The row_sparse array on the context of `row_id`, with the rows that this array of numbers names.

        The Trainer's store gives their present values. RuntimeError: the parameter is not row_sparse, has no
        Trainer, or is not on that context. TypeError: `row_id` is no array.
        """
        return self._pulled("row_sparse_data", "data", row_id, one=True)

    def list_row_sparse_data(self, row_id):
        """As `row_sparse_data`, the arrays of all contexts."""
        return self._pulled("list_row_sparse_data", "list_data", row_id, one=False)

    def _pulled(self, asked, instead, row_id, one):
        if self._stype != "row_sparse":
            raise RuntimeError(
                f"Cannot return a copy of Parameter {self.name} via {asked}() because its storage type is "
                f"{self._stype}. Please use {instead}() instead."
            )
        if not isinstance(row_id, NDArray):
            raise TypeError(f"row_id must have NDArray type, but {type(row_id)} is given")
        if self._trainer is None:
            raise RuntimeError(
                f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it."
            )
        found = self._check_and_get(self._data, row_id.ctx if one else list)
        self._trainer._row_sparse_pull(self, found, row_id)
        return found if one else list(found)

    def zero_grad(self):
        """Sets every gradient to zero."""
        for grad in self._grad or ():
            grad[:] = 0

    def set_data(self, data):
        """Writes `data` into every replica. AssertionError: another shape, or neither initialized nor
        deferred. RuntimeError: a store of several workers holds and updates the parameter.
        """
        if self._trainer is not None:
            self._trainer._check_value_may_change(self)
        self.shape = data.shape
        if self._data is None:
            assert self._deferred_init, f"Parameter '{self.name}' has not been initialized"
            self._deferred_init = self._deferred_init[:3] + (
                (arrays.array(data) if isinstance(data, np.ndarray) else data).astype(self.dtype),
            )
            return
        for replica in self._data:
            replica[:] = arrays.like(data, replica)
        self._note_change()

    @property
    def dtype(self):
        """That of data and gradient; setting it is `cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype):
        self.cast(dtype)

    def cast(self, dtype):
        """Converts data and gradient to `dtype`."""
        self._dtype = dtype
        self._var = None
        if self._data is None:
            return
        if self._stype != "default" and self._trainer is not None:
            self._trainer._row_sparse_pull(self, self._data, None)
        with autograd.pause():
            grads = None if self._grad is None else [grad.astype(dtype) for grad in self._grad]
            self._replace([data.astype(dtype) for data in self._data])
            for new, old in zip(self._grad or (), grads or ()):
                new[:] = old

    def reset_ctx(self, ctx):
        """Moves the parameter to `ctx`; several replicas are averaged. ValueError: not initialized; else
        errors of `initialize` about `ctx`.
        """
        contexts = _context_list(ctx)
        if self._data is not None:
            with autograd.pause():
                self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            self._deferred_init = (self._deferred_init[0], contexts) + self._deferred_init[2:]
        else:
            raise ValueError(
                f"Cannot reset context for Parameter '{self.name}' because it has not been initialized."
            )

    def _reduce(self):
        """The values as one array on a CPU: those in the Trainer's store if the parameter is row_sparse, else
        the mean of the replicas that can be read.
        """
        if self._stype != "default" and self._trainer is not None:
            data = self._zeros(self._stype, cpu())
            self._trainer._row_sparse_pull(self, data, None)
            return data
        replicas = self._check_and_get(self._data, list)
        if len(replicas) == 1:
            return replicas[0].as_in_context(cpu())
        with autograd.pause():
            total, *others = self._readable(replicas)
            for other in others:
                total = total + other
            return (total / (1 + len(others))).astype(self.dtype, copy=False)

    def _readable(self, replicas):
        """Copies on a CPU; a replica on a device that was lost is left out with a warning. MXNetError: all
        are.
        """
        found, failure = [], None
        for replica in replicas:
            try:
                copy = replica.as_in_context(cpu())
                copy.wait_to_read()
                found.append(copy)
            except MXNetError as error:
                failure = error
        if failure is not None and not found:
            raise failure
        if failure is not None:
            warnings.warn(
                f"Parameter '{self.name}' is not readable on all of {self._ctx_list} and is taken from the "
                f"others: {failure}",
                stacklevel=4,
            )
        return found

    def _load_init(self, data, ctx, cast_dtype=False, dtype_source="current"):
        """Takes `data`, read from a file; an uninitialized parameter is made on `ctx` (default cpu).

        AssertionError: shape or dtype does not fit, or `ctx` differs from where the parameter already is.
        """
        if cast_dtype:
            assert dtype_source in ("current", "saved"), (
                f"dtype_source must be 'current' or 'saved', got '{dtype_source}'"
            )
        failed = f"Failed loading Parameter '{self.name}' from saved params: "
        if self._shape is not None:
            fits = len(self._shape) == len(data.shape) and all(
                own in (saved, 0, -1) for own, saved in zip(self._shape, data.shape)
            )
            assert fits, f"{failed}shape incompatible expected {self.shape} vs saved {data.shape}"
        if arrays.dtype_name(self.dtype) != data._dtype_name:
            assert cast_dtype, (
                f"{failed}dtype incompatible expected {arrays.dtype_name(self.dtype)} vs saved "
                f"{data._dtype_name}. Set cast_dtype=True to cast the dtype of saved params."
            )
        if cast_dtype and dtype_source == "saved":
            self.cast(data.dtype if data._dtype_name != "bfloat16" else "bfloat16")
        else:
            data = data.astype(self.dtype, copy=False)
        if data.stype != self._stype:
            data = data.tostype(self._stype)
        self._shape = tuple(data.shape)
        contexts = None if ctx is None else _context_list(ctx)
        if self._data is not None or self._deferred_init:
            present = self.list_ctx()
            assert contexts is None or set(contexts) == set(present), (
                f"Failed to load Parameter '{self.name}' on {contexts} because it was previous initialized "
                f"on {present}."
            )
            contexts = present
        if self._data is not None:
            self.set_data(data)
        else:
            with autograd.pause():
                self._init_impl(data, contexts or [cpu()])
        self._deferred_init = ()


def _new_parameter():
    return Parameter.__new__(Parameter)
