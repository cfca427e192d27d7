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


def adamw_update(weight, grad, mean, var, rescale_grad, lr, eta, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0,
                 clip_gradient=-1, out=None, name=None):  # fmt: skip
    """The operator `_adamw_update`; `rescale_grad` is a number or an array of one element.

    Examples
    --------
    >>> weight, gradient = nd.array([1, 2]), nd.array([0.5, -1])
    >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
    >>> nd.contrib.adamw_update(weight, gradient, mean, var, rescale_grad=1, lr=0.1, eta=1)
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>
    """
    scale = _scale(rescale_grad, weight)
    return _adamw(weight, grad, mean, var, scale, lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd,
                  eta=eta, clip_gradient=clip_gradient, out=out)  # fmt: skip


def mp_adamw_update(weight, grad, mean, var, weight32, rescale_grad, lr, eta, beta1=0.9, beta2=0.999,
                    epsilon=1e-8, wd=0, clip_gradient=-1, out=None, name=None):  # fmt: skip
    """The operator `_mp_adamw_update`; `rescale_grad` is a number or an array of one element.

    Examples
    --------
    >>> weight32 = nd.array([1, 2])
    >>> weight, gradient = weight32.astype("float16"), nd.array([0.5, -1], dtype="float16")
    >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
    >>> nd.contrib.mp_adamw_update(weight, gradient, mean, var, weight32, rescale_grad=1, lr=0.1, eta=1).dtype
    <class 'numpy.float16'>
    >>> weight32
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>
    """
    scale = _scale(rescale_grad, weight)
    return _mp_adamw(weight, grad, mean, var, weight32, scale, lr=lr, beta1=beta1, beta2=beta2,
                     epsilon=epsilon, wd=wd, eta=eta, clip_gradient=clip_gradient, out=out)  # fmt: skip


def multi_adamw_update(
    weights, grads, mean, var, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **kwargs
):
    """`adamw_update` of every weight, with its own `lrs`, `wds` and `etas`; gradients stay as they are.

    `size`: how many of the weights, 0 for all. Writes the new weights into the arrays of `out`, or gives new
    ones, and changes `mean` and `var` in place. MXNetError: the lists differ in length.

    Examples
    --------
    >>> weights, gradients = [nd.array([1, 2]), nd.array([3])], [nd.array([0.5, -1]), nd.array([1])]
    >>> mean, var = [nd.zeros((2,)), nd.zeros((1,))], [nd.zeros((2,)), nd.zeros((1,))]
    >>> settings = {"lrs": [0.1, 0.1], "wds": [0, 0], "etas": [1, 1]}
    >>> nd.contrib.multi_adamw_update(weights, gradients, mean, var, rescale_grad=1, **settings)
    [
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>,
    [2.6837702]
    <NDArray 1 @cpu(0)>]
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
    """`multi_adamw_update` in float32, on the master copies `weights32`.

    Examples
    --------
    >>> weights32 = [nd.array([1, 2])]
    >>> weights, gradients = [weights32[0].astype("float16")], [nd.array([0.5, -1], dtype="float16")]
    >>> mean, var = [nd.zeros((2,))], [nd.zeros((2,))]
    >>> settings = {"rescale_grad": 1, "lrs": [0.1], "wds": [0], "etas": [1]}
    >>> nd.contrib.multi_mp_adamw_update(weights, gradients, mean, var, weights32, out=weights, **settings)
    [0.6836 2.316 ]
    <NDArray 2 @cpu(0)>
    >>> weights32
    [
    [0.6837703 2.3162298]
    <NDArray 2 @cpu(0)>]
    """
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

    Examples
    --------
    >>> weights, gradients = [nd.array([1, 2]), nd.array([3])], [nd.array([0.5, -1]), nd.array([1])]
    >>> mean, var = [nd.zeros((2,)), nd.zeros((1,))], [nd.zeros((2,)), nd.zeros((1,))]
    >>> settings = {"step_count": [1, 1], "lrs": [0.1, 0.1], "wds": [0, 0]}
    >>> nd.contrib.multi_lamb_update(weights, gradients, mean, var, **settings)
    [
    [0.8418862 2.158114 ]
    <NDArray 2 @cpu(0)>,
    [2.7]
    <NDArray 1 @cpu(0)>]
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
    """`multi_lamb_update` in float32, on the master copies `weights32`.

    Examples
    --------
    >>> weights32 = [nd.array([1, 2])]
    >>> weights, gradients = [weights32[0].astype("float16")], [nd.array([0.5, -1], dtype="float16")]
    >>> mean, var = [nd.zeros((2,))], [nd.zeros((2,))]
    >>> settings = {"step_count": [1], "lrs": [0.1], "wds": [0]}
    >>> nd.contrib.multi_mp_lamb_update(weights, gradients, mean, var, weights32, out=weights, **settings)
    [0.842 2.158]
    <NDArray 2 @cpu(0)>
    >>> weights32
    [
    [0.8418862 2.158114 ]
    <NDArray 2 @cpu(0)>]
    """
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
