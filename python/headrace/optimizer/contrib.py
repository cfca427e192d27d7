"""Rules that MXNet keeps in `optimizer.contrib`."""

from .. import ndarray as nd
from .adaptive import ArrayOptimizer
from .base import register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(ArrayOptimizer):
    """AdaGrad with one rate for each row: `h += mean(g^2)` over the columns, `w -= lr g / sqrt(h + eps)`.

    For weights of two dimensions, without weight decay. Rows that a row_sparse gradient does not store stay
    as they are. AssertionError: other weights, or weight decay.

    Examples
    --------
    >>> rule = mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.1)
    >>> weight, gradient = nd.array([[1, 2], [3, 4]]), nd.array([[0.5, 0], [1, 1]])
    >>> state = rule.create_state(0, weight)
    >>> rule.update(0, weight, gradient, state)
    >>> weight
    [[0.8585843 2.       ]
     [2.9000006 3.9000006]]
    <NDArray 2x2 @cpu(0)>
    """

    _decays_gradient = False

    def __init__(self, eps=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        assert len(weight.shape) == 2, (
            f"GroupAdaGrad: expected a weight of two dimensions, got shape {weight.shape} for parameter "
            f"{index}"
        )
        return nd.zeros((weight.shape[0], 1), ctx=weight.ctx, stype=weight.stype)

    def update(self, index, weight, grad, state):
        wd = self._get_wd(index)
        assert wd == 0, f"Weight decay is not supported for GroupAdaGrad, got {wd} for parameter {index}"
        super().update(index, weight, grad, state)

    def _update_rows(self, weight, grad, state, lr, wd):
        scales = {"epsilon": self.float_stable_eps, **self._scales()}
        nd.contrib.group_adagrad_update(weight, grad, state, out=weight, lr=lr, **scales)
        return True

    def _apply(self, w, g, state, lr, wd, t, index):
        state += nd.square(g).mean(axis=1, keepdims=True)
        w -= lr * g / nd.sqrt(state + self.float_stable_eps)
