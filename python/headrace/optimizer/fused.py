"""SGD, NAG and Adam: rules whose update is one engine operation for all parameters of a step."""

import math

import numpy as np

from .. import _core
from .._arrays import state_like, zeros_like
from .base import Optimizer, register

__all__ = ["NAG", "SGD", "Adam", "ccSGD"]


def are_numbers(*values):
    """Whether these are numbers of Python's own, which never change in place."""
    return all(isinstance(value, (int, float)) for value in values)


class UpdateGroup:
    """Parameters of one dtype that are updated together; made once and used for every step."""

    __slots__ = ("_updates", "grads", "indices", "last_update", "masters", "states", "tensors", "weights")

    def __init__(self, indices, weights, grads, states, masters, tensors):
        self._updates, self.last_update = {}, None
        self.indices, self.weights, self.grads, self.states = indices, weights, grads, states
        self.masters = masters  # float32 copies of half-precision weights, or None
        self.tensors = tensors  # what the operation is called with; None when gradients must be cast first

    def update_by(self, name):
        """The operation `name` on the tensors, which stay the same from step to step."""
        if name not in self._updates:
            self._updates[name] = _core.UpdateMany(name, self.tensors)
        self.last_update = self._updates[name]
        return self.last_update


class FusedOptimizer(Optimizer):
    """A rule with an update operation of the engine: one call updates all parameters of a group.

    Subclasses define `_operation()`: (name, a new dict of attributes), `_rates(indices)`: one learning rate
    per parameter, and `_arrays(state)`: the state as a tuple in the operation's order.
    """

    _aggregates = False  # MXNet updates several parameters at once
    _updates_masters = False  # an operation "mp_" + name does it all, with the float32 copy as its last array

    def update(self, index, weight, grad, state):
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_impl(index, weight, grad, state, self._needs_master(weight[0]))

    def _update_impl(self, indices, weights, grads, states, multi_precision=False):
        """Updates lists of parameters; programs override it as in MXNet."""
        self.update_group(self.make_group(indices, weights, grads, states))

    def update_multi_precision(self, index, weight, grad, state):
        self.update(index, weight, grad, state)

    def make_group(self, indices, weights, grads, states):
        """The UpdateGroup of parameters of one dtype, whose states create_state_multi_precision made."""
        if self._needs_master(weights[0]):
            masters, states = zip(*map(self._split_master, states))
            tensors = None
            if self._updates_masters:
                own = self._tensors(weights, grads, states)
                tensors = [(*arrays, master) for arrays, master in zip(own, masters)]
            return UpdateGroup(indices, weights, grads, states, masters, tensors)
        return UpdateGroup(indices, weights, grads, states, None, self._tensors(weights, grads, states))

    def _tensors(self, weights, grads, states):
        return [(weight, grad, *self._arrays(state)) for weight, grad, state in zip(weights, grads, states)]

    def update_group(self, group):
        """Updates the weights and states of a group; half-precision weights under multi_precision by their
        float32 copies.
        """
        self._update_count(group.indices)
        name, attributes = self._operation()
        is_cast_here = group.tensors is None
        if is_cast_here:
            gradients = [grad.astype(np.float32) for grad in group.grads]
            update = _core.UpdateMany(name, self._tensors(group.masters, gradients, group.states))
        else:
            update = group.update_by(name if group.masters is None else "mp_" + name)
        attributes["rescale_grad"] = self.rescale_grad
        attributes["clip_gradient"] = self._bound
        update(self._rates(group.indices), self._wds(group.indices), attributes)
        if is_cast_here:
            for weight, master in zip(group.weights, group.masters):
                weight[:] = master.astype(weight._dtype_name)

    def _rates(self, indices):
        return self._lrs(indices)

    def _lrs(self, indices):
        return self._asked(indices, "_get_lr", "_get_lrs")

    def _wds(self, indices):
        return self._asked(indices, "_get_wd", "_get_wds")

    def _asked(self, indices, one, several):
        """What a method gives for each parameter. One of a program's rule is asked as MXNet asks it: for
        `aggregate_num` parameters at once, or by rules that update them one by one, for each.
        """
        own = type(self)
        if all(getattr(own, name) is getattr(Optimizer, name) for name in (one, several)):
            return getattr(self, several)(indices)
        if not self._aggregates:
            return [getattr(self, one)(index) for index in indices]
        size, found = max(1, self.aggregate_num), []
        for begin in range(0, len(indices), size):
            part = indices[begin : begin + size]
            found += getattr(self, several)(part)[: len(part)]
        return found

    def _arrays(self, state):
        return () if state is None else (state,)


class _MomentumOptimizer(FusedOptimizer):
    """A rule with an optional momentum; multi_precision states are (momentum or None, float32 copy)."""

    _updates_masters = True
    _has_master_first = False
    lazy_update = True
    _plain_operation = "sgd_update"
    _momentum_operation = ""

    def __init__(self, momentum=0.0, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def _arrays(self, state):
        return super()._arrays(state) if self.momentum != 0.0 else ()

    def create_state(self, index, weight):
        if self.momentum == 0.0:
            return None
        return state_like(weight) if self.lazy_update else zeros_like(weight)

    def _repeats(self):
        is_of_a_program = type(self).__module__ != __name__  # which may define any of the methods
        if self.lr_scheduler is not None or is_of_a_program:
            return False
        return are_numbers(self.lr, self.wd, self.rescale_grad, self.momentum, self._bound)

    def _operation(self):
        if self.momentum == 0.0:
            return self._plain_operation, {"lazy_update": self.lazy_update}
        return self._momentum_operation, {"momentum": self.momentum, "lazy_update": self.lazy_update}


@register
class SGD(_MomentumOptimizer):
    """`m = momentum m - lr (g + wd w); w += m`, `g = clip(rescale_grad grad)`; momentum 0 keeps no state.

    With `lazy_update`, rows that a row_sparse gradient does not store stay as they are, with their momentum.

    Examples
    --------
    >>> rule = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.95 2.1 ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _aggregates = True
    _momentum_operation = "sgd_mom_update"

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update
        self.aggregate_num = 4


@register
class ccSGD(SGD):
    """Another name of SGD.

    Examples
    --------
    >>> rule = mx.optimizer.ccSGD(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.95 2.1 ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True


@register
class NAG(_MomentumOptimizer):
    """SGD with Nesterov's momentum.

    Examples
    --------
    >>> rule = mx.optimizer.NAG(learning_rate=0.1, momentum=0.9)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.905 2.19 ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _momentum_operation = "nag_mom_update"


@register
class Adam(FusedOptimizer):
    """`g = clip(rescale_grad grad + wd w)`, means m of g and v of g^2; `w -= lr_t m / (sqrt(v) + epsilon)`.

    `lr_t` corrects for the zeros that m and v start from. With `lazy_update`, rows that a row_sparse gradient
    does not store stay as they are, with their means.

    Examples
    --------
    >>> rule = mx.optimizer.Adam(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.8999994 2.1000006]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_update=True, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index, weight):
        make = state_like if self.lazy_update else zeros_like
        return make(weight), make(weight)

    def _arrays(self, state):
        return state

    def _operation(self):
        betas = {"beta1": self.beta1, "beta2": self.beta2}
        return "adam_update", {**betas, "epsilon": self.epsilon, "lazy_update": self.lazy_update}

    def _rates(self, indices):
        counts, corrections = self._index_update_count, {}
        rates = list(self._lrs(indices))
        for place, index in enumerate(indices):
            t = counts[index]
            if t not in corrections:
                corrections[t] = math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
            rates[place] *= corrections[t]
        return rates
