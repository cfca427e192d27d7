"""Rules that are written with array operations, one parameter at a time."""

import math

from .. import ndarray as nd
from .._arrays import NpArray, state_like
from ..base import ArrayValueError
from .base import Optimizer, register

__all__ = [
    "DCASGD",
    "FTML",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adamax",
    "Ftrl",
    "Nadam",
    "RMSProp",
    "Signum",
    "Test",
]


def plain(state):
    """`state` with np arrays seen as nd arrays of the same memory."""
    if isinstance(state, tuple):
        return tuple(map(plain, state))
    return state.as_nd_ndarray() if isinstance(state, NpArray) else state


def decay(average, rate, value):
    """`average = rate average + (1 - rate) value`, in place."""
    average[:] = rate * average + (1.0 - rate) * value


def clipped(g, bound):
    """`g` with elements of that absolute value at most; a bound that is not positive is none."""
    return nd.clip(g, -bound, bound) if bound > 0 else g


class ArrayOptimizer(Optimizer):
    """A rule whose subclasses define `_apply(w, g, state, lr, wd, t, index)` on nd arrays and
    `_state_arrays`.

    `g` is rescaled; with `_decays_gradient` it is `clip(rescaled + wd w)`, else only clipped. `t` counts from
    1.
    """

    _state_arrays = 0  # how many zero arrays the state is; 1 is kept without a tuple
    _decays_gradient = True

    def create_state(self, index, weight):
        if self._state_arrays == 0:
            return None
        arrays = tuple(state_like(weight) for _ in range(self._state_arrays))
        return arrays[0] if self._state_arrays == 1 else arrays

    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        if grad.stype == "row_sparse" and self._update_rows(weight, grad, state, lr, wd):
            return
        w, g, state = plain(weight), plain(grad) * self.rescale_grad, plain(state)
        if self._decays_gradient:
            g = g + wd * w
        self._apply(w, self._clip(g), state, lr, wd, self._index_update_count[index], index)

    def _update_rows(self, weight, grad, state, lr, wd):
        """Updates by a row_sparse gradient; False, and nothing is done, when the rule knows no way to."""
        return False

    def _scales(self):
        """What update operators are told of the gradient."""
        return {"rescale_grad": self.rescale_grad, "clip_gradient": self._bound}

    def _clip(self, g):
        return clipped(g, self._bound)

    def _apply(self, w, g, state, lr, wd, t, index):
        raise NotImplementedError


@register
class AdaGrad(ArrayOptimizer):
    """`h += g^2; w -= lr (g / sqrt(h + eps) + wd w)`.

    Rows that a row_sparse gradient does not store stay as they are; `wd` must then be 0.

    Examples
    --------
    >>> rule = mx.optimizer.AdaGrad(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.90000004 2.1       ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 1
    _decays_gradient = False

    def __init__(self, eps=1e-7, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def _update_rows(self, weight, grad, state, lr, wd):
        if wd != 0:
            raise ArrayValueError(f"AdaGrad: row_sparse gradients go without weight decay, got wd={wd}")
        nd.sparse.adagrad_update(
            weight,
            grad,
            state,
            out=weight,
            lr=lr,
            wd=wd,
            epsilon=self.float_stable_eps,
            **self._scales(),
        )
        return True

    def _apply(self, w, g, state, lr, wd, t, index):
        state += nd.square(g)
        w[:] = w - lr * (g / nd.sqrt(state + self.float_stable_eps) + wd * w)


@register
class RMSProp(ArrayOptimizer):
    """Divides by the root of the mean square; `centered` by the deviation, with momentum `gamma2`.

    `clip_weights` bounds the absolute value of the weights.

    Examples
    --------
    >>> rule = mx.optimizer.RMSProp(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.6837723 2.3162277]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True

    def __init__(
        self,
        learning_rate=0.001,
        gamma1=0.9,
        gamma2=0.9,
        epsilon=1e-8,
        centered=False,
        clip_weights=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index, weight):
        return tuple(state_like(weight) for _ in range(3 if self.centered else 1))

    def _apply(self, w, g, state, lr, wd, t, index):
        decay(state[0], self.gamma1, nd.square(g))
        if self.centered:
            square, mean, delta = state
            decay(mean, self.gamma1, g)
            spread = nd.sqrt(square - nd.square(mean) + self.epsilon)
            delta[:] = self.gamma2 * delta - lr * g / spread
            w += delta
        else:
            w -= lr * g / nd.sqrt(state[0] + self.epsilon)
        if self.clip_weights:
            w[:] = nd.clip(w, -self.clip_weights, self.clip_weights)


@register
class AdaDelta(ArrayOptimizer):
    """Steps of the size of earlier steps; the learning rate is not used.

    Examples
    --------
    >>> rule = mx.optimizer.AdaDelta()
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.990002  2.0099995]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 2
    _decays_gradient = False

    def __init__(self, rho=0.90, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def _apply(self, w, g, state, lr, wd, t, index):
        square, moved = state
        decay(square, self.rho, nd.square(g))
        delta = nd.sqrt(moved + self.epsilon) / nd.sqrt(square + self.epsilon) * g
        decay(moved, self.rho, nd.square(delta))
        w -= delta + wd * w


@register
class Ftrl(ArrayOptimizer):
    """Follow the regularised leader: weights whose |z| is at most `lamda1` are zero.

    Rows of a row_sparse weight that a row_sparse gradient does not store stay as they are.

    Examples
    --------
    >>> rule = mx.optimizer.Ftrl()
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.2993333 1.0495   ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 2
    _decays_gradient = False

    def __init__(self, lamda1=0.01, learning_rate=0.1, beta=1, **kwargs):
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate  # a scheduler keeps its own base_lr, as in MXNet

    def _update_rows(self, weight, grad, state, lr, wd):
        z, n = state
        nd.ftrl_update(
            weight,
            grad,
            z,
            n,
            out=weight,
            lr=lr,
            wd=wd,
            lamda1=self.lamda1,
            beta=self.beta,
            **self._scales(),
        )
        return True

    def _apply(self, w, g, state, lr, wd, t, index):
        z, n = state
        before = nd.sqrt(n)
        n += nd.square(g)
        root = nd.sqrt(n)
        z += g - (root - before) * w / lr
        value = (nd.sign(z) * self.lamda1 - z) / ((self.beta + root) / lr + wd)
        w[:] = value * (nd.abs(z) > self.lamda1)


@register
class FTML(ArrayOptimizer):
    """Follow the moving leader.

    Examples
    --------
    >>> rule = mx.optimizer.FTML(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 3

    def __init__(self, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def _apply(self, w, g, state, lr, wd, t, index):
        if lr == 0.0:  # the limit of small rates: the weight stays
            return
        d, v, z = state
        decay(v, self.beta2, nd.square(g))
        corrected = nd.sqrt(v / (1.0 - self.beta2**t)) + self.epsilon
        new_d = (1.0 - self.beta1**t) / lr * corrected
        z[:] = self.beta1 * z + (1.0 - self.beta1) * g - (new_d - self.beta1 * d) * w
        d[:] = new_d
        w[:] = -1.0 * z / d


@register
class Signum(ArrayOptimizer):
    """Steps by the sign of the momentum; `wd_lh` is weight decay outside the sign.

    Examples
    --------
    >>> rule = mx.optimizer.Signum(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _decays_gradient = False

    def __init__(self, learning_rate=0.01, momentum=0.9, wd_lh=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index, weight):
        return None if self.momentum == 0.0 else state_like(weight)

    def _apply(self, w, g, state, lr, wd, t, index):
        if state is None:
            w[:] = (1.0 - lr * wd) * w - lr * nd.sign(g)
            return
        state[:] = self.momentum * state - (1.0 - self.momentum) * (wd * w + g)
        w[:] = (1.0 - lr * self.wd_lh) * w + lr * nd.sign(state)


@register
class Adamax(ArrayOptimizer):
    """Adam with the largest gradient in place of the mean square.

    Examples
    --------
    >>> rule = mx.optimizer.Adamax(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.9 2.1]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 2

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def _apply(self, w, g, state, lr, wd, t, index):
        mean, largest = state
        decay(mean, self.beta1, g)
        largest[:] = nd.maximum(self.beta2 * largest, nd.abs(g))
        w -= lr / (1.0 - self.beta1**t) * mean / largest


@register
class Nadam(ArrayOptimizer):
    """Adam with Nesterov's momentum; the product of the momentum schedule is common to all parameters.

    Examples
    --------
    >>> rule = mx.optimizer.Nadam(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.8943548 2.1056452]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _state_arrays = 2

    def __init__(
        self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, schedule_decay=0.004, **kwargs
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _momentum(self, t):
        return self.beta1 * (1.0 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def _apply(self, w, g, state, lr, wd, t, index):
        mean, square = state
        now, following = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now
        decay(mean, self.beta1, g)
        decay(square, self.beta2, nd.square(g))
        step = (1.0 - now) / (1.0 - self.m_schedule) * g
        step = step + following / (1.0 - self.m_schedule * following) * mean
        w -= lr * step / (nd.sqrt(square / (1.0 - self.beta2**t)) + self.epsilon)


@register
class DCASGD(ArrayOptimizer):
    """SGD that makes up for delayed gradients by the distance from the previous weight.

    Examples
    --------
    >>> rule = mx.optimizer.DCASGD(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.95 2.1 ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    _decays_gradient = False

    def __init__(self, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index, weight):
        return None if self.momentum == 0.0 else state_like(weight), weight.copy()

    def _apply(self, w, g, state, lr, wd, t, index):
        momentum, previous = state
        step = -lr * (g + wd * w + self.lamda * g * g * (w - previous))
        if momentum is not None:
            momentum[:] = self.momentum * momentum + step
            step = momentum
        previous[:] = w
        w += step


@register
class SGLD(ArrayOptimizer):
    """Half a step of SGD plus noise of variance `lr`.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> rule = mx.optimizer.SGLD(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [0.65408653 2.3005154 ]
    <NDArray 2 @cpu(0)>
    """

    _decays_gradient = False

    def _apply(self, w, g, state, lr, wd, t, index):
        noise = nd.random.normal(0, math.sqrt(lr), shape=w.shape, dtype=w._dtype_name, ctx=w.ctx)
        w += -lr / 2 * (g + wd * w) + noise


@register
class Test(ArrayOptimizer):
    """`w += rescale_grad grad`, with the weight as its state: for tests of what calls optimizers.

    Examples
    --------
    >>> rule = mx.optimizer.Test(learning_rate=0.1)
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [1.5 1. ]
    <NDArray 2 @cpu(0)>
    """

    is_elementwise = True
    __test__ = False  # pytest: this is no test
    _state_arrays = 1

    def update(self, index, weight, grad, state):
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight
