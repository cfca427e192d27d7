"""Rules that scale the step of each array by the norm of its weight."""

import math

from .. import ndarray as nd
from .._arrays import state_like, zeros_like
from .adaptive import ArrayOptimizer, clipped, decay, plain
from .base import Optimizer, register

__all__ = ["LAMB", "LARS", "LBSGD"]


def _norm(x):
    """The 2-norm of all elements, as an array of one element."""
    return nd.sqrt(nd.square(x).sum())


@register
class LAMB(ArrayOptimizer):
    """Adam's step scaled by the norm of the weight over the norm of the step.

    Examples
    --------
    >>> rule = mx.optimizer.LAMB(learning_rate=0.01)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.9841886 2.0158114]
    <NDArray 2 @cpu(0)>
    """

    _state_arrays = 2
    _decays_gradient = False

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        lower_bound=None,
        upper_bound=None,
        bias_correction=True,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def _apply(self, w, g, state, lr, wd, t, index):
        mean, square = state
        decay(mean, self.beta1, g)
        decay(square, self.beta2, nd.square(g))
        m, v = mean, square
        if self.bias_correction:
            m, v = m / (1.0 - self.beta1**t), v / (1.0 - self.beta2**t)
        step = m / (nd.sqrt(v) + self.epsilon) + wd * w
        weight_norm, step_norm = _norm(w), _norm(step)
        if self.lower_bound:
            weight_norm = nd.maximum(weight_norm, self.lower_bound)
        if self.upper_bound:
            weight_norm = nd.minimum(weight_norm, self.upper_bound)
        both = (weight_norm > 0) * (step_norm > 0)
        ratio = nd.where(both, weight_norm / step_norm, nd.ones_like(weight_norm))
        w -= lr * ratio.reshape((1,) * len(w.shape)) * step


def _step_rows(w, g, state, lr, wd, momentum, is_lazy):
    """A step of SGD by a row_sparse gradient; `lr` is a number or an array of one."""
    options = {"lr": lr.asscalar() if isinstance(lr, nd.NDArray) else lr, "wd": wd, "lazy_update": is_lazy}
    if state is None:
        nd.sgd_update(w, g, out=w, **options)
    else:
        nd.sgd_mom_update(w, g, state, out=w, momentum=momentum, **options)


@register
class LARS(ArrayOptimizer):
    """SGD whose rate is scaled per array by `eta` times the norm of the weight over that of its gradient.

    Arrays whose names end in gamma, beta or bias (where `param_idx2name` tells) keep the plain rate. With
    `momentum_correction` the momentum follows changes of the scheduled rate.

    Examples
    --------
    >>> rule = mx.optimizer.LARS(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.9999 2.0002]
    <NDArray 2 @cpu(0)>
    """

    _decays_gradient = False
    _has_master_first = False
    _rated_update = None  # the update that cur_lr is the rate of

    def __init__(self, momentum=0.0, lazy_update=True, eta=0.001, eps=0, momentum_correction=True, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.eta = eta
        self.eps = eps
        self.last_lr = None
        self.cur_lr = None

    def create_state(self, index, weight):
        if self.momentum == 0.0:
            return None
        return state_like(weight) if self.lazy_update else zeros_like(weight)

    def set_wd_mult(self, args_wd_mult):
        """As of every optimizer, but that gammas do not decay either."""
        gammas = {name: 0.0 for name in self.idx2name.values() if name.endswith("_gamma")}
        super().set_wd_mult({**gammas, **self._from_symbol("__wd_mult__"), **args_wd_mult})

    def update(self, index, weight, grad, state):
        self._update_count(index)
        base = self.learning_rate
        if self.num_update != self._rated_update:
            self.last_lr, self.cur_lr = base if self.cur_lr is None else self.cur_lr, base
            self._rated_update = self.num_update
        w, g, state = plain(weight), plain(grad) * self.rescale_grad, plain(state)
        lr, wd = self._get_lr(index), self._get_wd(index)
        if not self.idx2name.get(index, "").endswith(("gamma", "beta", "bias")):
            lr = lr * self._trust(w, g, wd).reshape((1,) * len(w.shape))
        g = self._clip(g)
        corrects = self.momentum_correction and self.last_lr != 0
        momentum = self.momentum * (base / self.last_lr if corrects else 1.0)
        if g.stype == "row_sparse":
            _step_rows(w, g, state, lr, wd, momentum, self.lazy_update)
            return
        step = lr * (g + wd * w)
        if state is None:
            w -= step
            return
        state[:] = momentum * state - step
        w += state

    def _trust(self, w, g, wd):
        weight_norm, grad_norm = _norm(w), _norm(g)
        ratio = self.eta * weight_norm / (grad_norm + wd * weight_norm + self.eps)
        return nd.where((weight_norm > 0) * (grad_norm > 0), ratio, nd.ones_like(ratio))


@register
class LBSGD(Optimizer):
    """SGD for large batches: gradients of `batch_scale` updates are averaged before the weight changes.

    Parameters
    ----------
    momentum : factor of the last step.
    warmup_strategy : how the rate's factor grows from 1 to `batch_scale`: 'linear', 'power2' or 'sqrt' in the
        number of updates, or 'lars', by which it is the norm of the weight over that of its gradient, from
        0.01 to 100. Another one: the factor stays 1 meanwhile.
    warmup_epochs, updates_per_epoch : after their product of updates the factor is `batch_scale`.
    batch_scale : how many updates make one.
    begin_epoch : number of epochs that count as done.
    num_epochs : kept, not used.

    Examples
    --------
    >>> rule = mx.optimizer.LBSGD(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.95 2.1 ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(
        self,
        momentum=0.0,
        multi_precision=False,
        warmup_strategy="linear",
        warmup_epochs=5,
        batch_scale=1,
        updates_per_epoch=32,
        begin_epoch=0,
        num_epochs=60,
        **kwargs,
    ):
        super().__init__(multi_precision=multi_precision, **kwargs)
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.cumgrads = {}  # (index, context) to (sum of gradients or None, number of them so far)

    def create_state(self, index, weight):
        return None if self.momentum == 0.0 else state_like(weight)

    def update(self, index, weight, grad, state):
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        w, state = plain(weight), plain(state)
        key = index, str(w.ctx)
        total, count = self.cumgrads.get(key, (None, self.init_updates))
        total = plain(grad).copy() if total is None else total + plain(grad)
        count += 1
        if count % self.batch_scale:
            self.cumgrads[key] = total, count
            return
        self.cumgrads[key] = None, count
        g = total / self.batch_scale
        lr = lr * (self._trust(w, g, wd) if self.warmup_strategy == "lars" else self._warmup(count))
        g = clipped(g * self.rescale_grad, self._bound)
        if g.stype == "row_sparse":
            _step_rows(w, g, state, lr, wd, self.momentum, True)
            return
        step = lr * (g + wd * w)
        if state is None:
            w -= step
        else:
            state[:] = self.momentum * state - step
            w += state

    def _warmup(self, count):
        whole = self.warmup_epochs * self.updates_per_epoch
        if count >= whole:
            return float(self.batch_scale)
        if whole <= 1:
            return 1.0
        done = count / whole
        growth = {"linear": done, "power2": done * done, "sqrt": math.sqrt(done)}.get(self.warmup_strategy, 0)
        return 1.0 + (self.batch_scale - 1) * growth

    @staticmethod
    def _trust(w, g, wd):
        weight, gradient = nd.square(w).sum(), nd.square(g).sum()
        ratio = nd.sqrt(weight / (gradient + wd * weight + 1e-18))
        return nd.clip(ratio, 0.01, 100).reshape((1,) * len(w.shape))
