"""Updates of many weights in one call, from lists of arrays with one entry for each weight."""

from .. import _core
from ..base import ArrayValueError
from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

_NAMES = (
    "_adamw_update",
    "_mp_adamw_update",
    "lamb_update_phase1",
    "lamb_update_phase2",
    "mp_lamb_update_phase1",
    "norm",
    "_full",
)
_adamw, _mp_adamw, _lamb1, _lamb2, _mp_lamb1, _norm, _full = (_core.function(name, False) for name in _NAMES)


def adamw_update(weight, grad, mean, var, rescale_grad, lr, eta, **kwargs):
    """The operator `_adamw_update`; `rescale_grad` is a number or an array of one element."""
    scale = _scale(rescale_grad, weight)
    return _adamw(weight, grad, mean, var, scale, lr=lr, eta=eta, **kwargs)


def mp_adamw_update(weight, grad, mean, var, weight32, rescale_grad, lr, eta, **kwargs):
    """The operator `_mp_adamw_update`; `rescale_grad` is a number or an array of one element."""
    scale = _scale(rescale_grad, weight)
    return _mp_adamw(weight, grad, mean, var, weight32, scale, lr=lr, eta=eta, **kwargs)


def multi_adamw_update(
    weights, grads, mean, var, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **kwargs
):
    """`adamw_update` of every weight, with its own `lrs`, `wds` and `etas`; gradients stay as they are.

    `size`: how many of the weights, 0 for all. Writes the new weights into the arrays of `out`, or gives new
    ones, and changes `mean` and `var` in place. MXNetError: the lists differ in length.
    """
    count = _count(size, weights, grads, mean, var, lrs, wds, etas)
    scale = _scale(rescale_grad, weights[0])
    return _gather(
        _adamw(weights[i], grads[i].copy(), mean[i], var[i], scale, lr=lrs[i], wd=wds[i], eta=etas[i],
               out=out and out[i], **kwargs)
        for i in range(count)
    )  # fmt: skip


def multi_mp_adamw_update(
    weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **kwargs
):
    """`multi_adamw_update` in float32, on the master copies `weights32`."""
    count = _count(size, weights, grads, mean, var, weights32, lrs, wds, etas)
    scale = _scale(rescale_grad, weights32[0])
    return _gather(
        _mp_adamw(weights[i], grads[i], mean[i], var[i], weights32[i], scale, lr=lrs[i], wd=wds[i],
                  eta=etas[i], out=out and out[i], **kwargs)
        for i in range(count)
    )  # fmt: skip


def multi_lamb_update(
    weights, grads, mean, var, step_count, lrs, wds, out=None, num_tensors=0,
    lower_bound=-1, upper_bound=-1, **kwargs,
):  # fmt: skip
    """Both phases of LAMB for every weight, with its own `lrs`, `wds` and number of this update `step_count`.

    `num_tensors`: how many of the weights, 0 for all. Writes the new weights into the arrays of `out`, or
    gives new ones, and changes `mean` and `var` in place. MXNetError: the lists differ in length.
    """
    count = _count(num_tensors, weights, grads, mean, var, step_count, lrs, wds)
    bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
    results = []
    for i in range(count):
        step = _lamb1(weights[i], grads[i], mean[i], var[i], t=step_count[i], wd=wds[i], **kwargs)
        sizes = _norm(weights[i]), _norm(step)
        results.append(_lamb2(weights[i], step, *sizes, lr=lrs[i], out=out and out[i], **bounds))
    return _gather(results)


def multi_mp_lamb_update(
    weights, grads, mean, var, weights32, step_count, lrs, wds, out=None, num_tensors=0,
    lower_bound=-1, upper_bound=-1, **kwargs,
):  # fmt: skip
    """`multi_lamb_update` in float32, on the master copies `weights32`."""
    count = _count(num_tensors, weights, grads, mean, var, weights32, step_count, lrs, wds)
    bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
    results = []
    for i in range(count):
        master = weights32[i]
        step = _mp_lamb1(weights[i], grads[i], mean[i], var[i], master, t=step_count[i], wd=wds[i], **kwargs)
        _lamb2(master, step, _norm(master), _norm(step), lr=lrs[i], out=master, **bounds)
        halved = master.astype(weights[i].dtype)
        results.append(halved.copyto(out[i]) if out else halved)
    return _gather(results)


def _scale(rescale_grad, weight):
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(weight.context)
    return _full((1,), rescale_grad, ctx=weight.context)


def _count(size, *lists):
    count = size or len(lists[0])
    if any(len(one) < count for one in lists):
        lengths = [len(one) for one in lists]
        raise ArrayValueError(f"an update of {count} weights needs lists of that many entries; got {lengths}")
    return count


def _gather(results):
    results = list(results)
    return results[0] if len(results) == 1 else results
