"""Optimizer: the base class of update rules, and their registry."""

import inspect
import warnings

import numpy as np

from .. import _core
from ..base import ArrayTypeError
from ..registry import enter

__all__ = ["Optimizer", "create", "register"]


_HALF_TYPES = ("float16", "bfloat16")


def _options_of(klass):
    """The names of the arguments that an optimizer class takes, its own before those of its bases."""
    options = {}
    for base in klass.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        _, *parameters = inspect.signature(base.__init__).parameters.values()
        passes_on = any(one.kind == one.VAR_KEYWORD for one in parameters)
        options.update((one.name, None) for one in parameters if one.kind != one.VAR_KEYWORD)
        if not passes_on:
            break
    return list(options)


class Optimizer:
    """An update rule with its learning rate, weight decay and update counts.

    Parameters
    ----------
    rescale_grad : every gradient is multiplied by it (the Trainer divides it by the batch size).
    param_idx2name : {index: name}; with it only names ending in `_weight` or `_gamma` get weight decay.
    wd : weight decay.
    clip_gradient : bound of the absolute value of rescaled gradients; none where it is None or not positive.
    learning_rate : default 0.01, or `lr_scheduler.base_lr`; given with a scheduler it replaces `base_lr`.
    lr_scheduler : LRScheduler or None.
    begin_num_update : number of updates that happened before.
    multi_precision : float16 and bfloat16 weights get a float32 copy that is updated and cast back.
    param_dict : {index: Parameter}, whose lr_mult and wd_mult count.
    sym : Symbol whose variables carry factors as attributes `__lr_mult__` and `__wd_mult__`, by name.

    A subclass defines `create_state(index, weight)` and `update(index, weight, grad, state)`. A rule that
    updates many parameters at once defines `make_group(indices, weights, grads, states)` and
    `update_group(group)` as well. Servers of a store share large arrays, so that each updates a part of them,
    if the class says `is_elementwise = True` in its body: that what becomes of an element depends on that
    alone.

    Examples
    --------
    >>> class Sign(mx.optimizer.Optimizer):
    ...     def create_state(self, index, weight):
    ...         return None
    ...     def update(self, index, weight, grad, state):
    ...         weight -= self.learning_rate * nd.sign(grad)
    >>> weight = nd.array([1, 2])
    >>> Sign(learning_rate=0.1).update(0, weight, nd.array([3, -4]), None)
    >>> weight
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """

    opt_registry: dict = {}
    is_elementwise = False  # holds for the class that says so, and for no subclass
    _has_master_first = True  # of multi_precision states
    has_update_group = False  # whether update_group may be used: it belongs to the class that defines update

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = cls.__dict__
        cls.is_elementwise = own.get("is_elementwise", False)
        if "update_group" in own:
            cls.has_update_group = True
        elif not own.keys().isdisjoint(("update", "update_multi_precision", "_update_impl")):
            cls.has_update_group = False

    def __init__(
        self,
        rescale_grad=1.0,
        param_idx2name=None,
        wd=0.0,
        clip_gradient=None,
        learning_rate=None,
        lr_scheduler=None,
        sym=None,
        begin_num_update=0,
        multi_precision=False,
        param_dict=None,
    ):
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            learning_rate = 0.01 if learning_rate is None else learning_rate
        elif learning_rate is None:
            learning_rate = getattr(lr_scheduler, "base_lr", None)  # any callable may be a scheduler
        elif getattr(lr_scheduler, "base_lr", None) != learning_rate:
            print(
                "learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in optimizer."
            )
            lr_scheduler.base_lr = learning_rate
        self.lr = learning_rate
        self.wd = wd
        self.lr_mult = {}
        self.wd_mult = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict or {}
        self.allow_np_array = False
        self.set_lr_mult({})
        self.set_wd_mult({})

    @property
    def _bound(self):
        """The bound of gradients; -1 for none, as update operators have it."""
        bound = self.clip_gradient
        return bound if bound is not None and bound > 0 else -1.0

    @staticmethod
    def register(klass):
        """Class decorator: makes an Optimizer known to `create` by its lower-case name.

        UserWarning: the name meant another class before.

        Examples
        --------
        >>> @mx.optimizer.register
        ... class Walk(mx.optimizer.SGD):
        ...     pass
        >>> mx.optimizer.create("walk", learning_rate=0.5).learning_rate
        0.5
        """
        return enter(Optimizer.opt_registry, klass, klass.__name__, "optimizer")

    @staticmethod
    def create_optimizer(name, **kwargs):
        """The optimizer registered under `name`, in any case. ValueError: unknown name; TypeError: unknown
        argument.
        """
        if not isinstance(name, str):
            raise ArrayTypeError(
                f"an optimizer is given by its name ('adam') or as an object (Adam()), got {name!r}"
            )
        klass = Optimizer.opt_registry.get(name.lower())
        if klass is None:
            raise ValueError(
                f"Cannot find optimizer {name}; known: {', '.join(sorted(Optimizer.opt_registry))}"
            )
        try:
            return klass(**kwargs)
        except TypeError:
            options = _options_of(klass)
            unknown = [option for option in kwargs if option not in options]
            if not unknown:
                raise
            raise TypeError(
                f"Optimizer {name} has no option {', '.join(unknown)}; it has {', '.join(options)}"
            ) from None

    @property
    def learning_rate(self):
        """The learning rate now: the scheduler's at `num_update`, or the fixed one."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr):
        """Sets the fixed learning rate. UserWarning (raised): there is a scheduler."""
        if self.lr_scheduler is not None:
            raise UserWarning(
                "LRScheduler of the optimizer has already been defined. set_learning_rate can change the "
                "learning rate only when there is no LRScheduler; change the scheduler's base_lr."
            )
        self.lr = lr

    def create_state(self, index, weight):
        """The arrays that the rule keeps for `weight`: None, an array or a tuple."""

    def _needs_master(self, weight):
        return self.multi_precision and weight._dtype_name in _HALF_TYPES

    def create_state_multi_precision(self, index, weight):
        """As `create_state`; a half-precision weight under multi_precision gets (float32 copy, state), or the
        same the other way round where MXNet has it so.
        """
        if self._needs_master(weight):
            master = weight.astype(np.float32)
            state = self.create_state(index, master)
            return (master, state) if self._has_master_first else (state, master)
        if weight._dtype_name in _HALF_TYPES:
            warnings.warn(
                f"Accumulating with {weight._dtype_name} in optimizer can lead to poor accuracy or slow "
                f"convergence. Consider using multi_precision=True option of the {type(self).__name__} "
                "optimizer",
                stacklevel=2,
            )
        return self.create_state(index, weight)

    def _split_master(self, state):
        """(float32 copy, state) of a multi_precision state."""
        return state if self._has_master_first else state[::-1]

    def update(self, index, weight, grad, state):
        """Updates `weight` and `state` in place."""
        raise NotImplementedError(
            f"{type(self).__name__} must define update(self, index, weight, grad, state)"
        )

    def update_multi_precision(self, index, weight, grad, state):
        """As `update`, with a state made by `create_state_multi_precision`; or with lists of all four."""
        if isinstance(index, (list, tuple)):
            for one in zip(index, weight, grad, state):
                self.update_multi_precision(*one)
            return
        if self._needs_master(weight):
            master, inner = self._split_master(state)
            self.update(index, master, grad.astype(np.float32), inner)
            weight[:] = master.astype(weight._dtype_name)
        else:
            self.update(index, weight, grad, state)

    def set_lr_scale(self, args_lrscale):
        """DeprecationWarning, raised: `set_lr_mult` does it."""
        raise DeprecationWarning("set_lr_scale is not there any more; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult):
        """Factors on the learning rate by index or name, used where `param_dict` has no entry."""
        self.lr_mult = {**self._from_symbol("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult):
        """Factors on the weight decay by index or name, used where `param_dict` has no entry."""
        self.wd_mult = {
            name: 0.0 for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))
        }
        self.wd_mult.update(self._from_symbol("__wd_mult__"))
        self.wd_mult.update(args_wd_mult)

    def _from_symbol(self, key):
        """{argument: factor} of the arguments whose variable has the attribute `key`."""
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        return {name: float(attributes[name][key]) for name in arguments if key in attributes.get(name, ())}

    def _set_current_context(self, device_id):
        """Chooses whose update counts go on: every device counts for itself."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _share_update_counts(self, device_ids):
        """Lets devices that have no update counts yet go on from those of the device with most updates."""
        counts = self._all_index_update_counts
        longest = max(counts.values(), key=lambda one: sum(one.values()), default={})
        for device_id in device_ids:
            if not counts.get(device_id):
                counts[device_id] = dict(longest)
        self._index_update_count = counts.setdefault(0, {})

    def _update_count(self, index):
        indices = index if isinstance(index, (list, tuple)) else (index,)
        self.num_update = _core.count_updates(
            self._index_update_count, indices, self.begin_num_update, self.num_update
        )

    def _repeats(self):
        """Whether an update is the one before it again as long as no attribute of self is set."""
        return False

    def _multiplier(self, index, attribute):
        """Factor `attribute` ('lr_mult' or 'wd_mult') of one parameter."""
        param = self.param_dict.get(index)
        if param is not None:
            return getattr(param, attribute)
        factors = getattr(self, attribute)
        return factors.get(index, factors.get(self.idx2name.get(index), 1.0))

    def _get_lrs(self, indices):
        lr = self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)
        params, rates = self.param_dict, []
        for index in indices:
            factor = params[index].lr_mult if index in params else self._multiplier(index, "lr_mult")
            rates.append(lr * factor)
        return rates

    def _get_wds(self, indices):
        wd, params, decays = self.wd, self.param_dict, []
        for index in indices:
            factor = params[index].wd_mult if index in params else self._multiplier(index, "wd_mult")
            decays.append(wd * factor)
        return decays

    def _get_lr(self, index):
        return self._get_lrs((index,))[0]

    def _get_wd(self, index):
        return self._get_wds((index,))[0]

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("param_dict", None)
        return state

    def __setstate__(self, state):
        # States come from other versions too: what is missing keeps the value of a new optimizer.
        Optimizer.__init__(self)
        self.__dict__.update(state)
        self._index_update_count = self._all_index_update_counts.setdefault(0, {})


register = Optimizer.register
create = Optimizer.create_optimizer
