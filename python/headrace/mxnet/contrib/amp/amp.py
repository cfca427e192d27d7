"""Switching mixed precision on, and training with it."""

import contextlib
import logging

from ....gluon import Trainer
from ....optimizer import Optimizer
from . import lists, wrapping
from .conversion import (
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
    lists_of,
)
from .dtypes import bfloat16, low_dtype  # noqa: F401
from .loss_scaler import LossScaler

__all__ = [
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

_amp_initialized = False
_loss_scaler = None  # that of the operators that are losses, and of the first trainer
_loss_scaler_is_used = False


def init(target_dtype="float16", target_precision_ops=None, conditional_fp32_ops=None, fp32_ops=None):
    """Lets the operators of nd and sym cast what they are given, from now on until the process ends.

    Call it before networks are made. Some operators compute in `target_dtype`, 'float16' or 'bfloat16', some
    in float32, those with several inputs in the widest dtype of these, and all others in what they get. The
    lists are those of list_lp16_ops, list_conditional_fp32_ops and list_fp32_ops unless they are given.
    Operators of np stay as they are. A second call does nothing. AssertionError: another dtype.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.init(target_dtype="bfloat16")  # once, before networks are made
    >>> product = nd.FullyConnected(nd.ones((1, 3)), nd.ones((2, 3)), no_bias=True, num_hidden=2)
    >>> product.dtype
    dtype([('bfloat16', '<u2')])
    """
    global _amp_initialized, _loss_scaler
    if _amp_initialized:
        return
    low = low_dtype(target_dtype)
    low_ops, wide_ops, _, conditional, widest, losses = lists_of(low)
    _amp_initialized = True
    logging.info("Using AMP")
    wrapping.wrap_operators(
        low,
        low_ops if target_precision_ops is None else target_precision_ops,
        wide_ops if fp32_ops is None else fp32_ops,
        conditional if conditional_fp32_ops is None else conditional_fp32_ops,
        widest,
        list_lp16_use_fp32_params(low) or {},
    )
    _loss_scaler = LossScaler()
    wrapping.wrap_loss_outputs(losses, _loss_scaler)


def _trainer(value):
    """A Trainer. TypeError: it is something else."""
    if isinstance(value, Optimizer):
        raise TypeError("AMP is currently only compatible with Gluon Trainer")
    if not isinstance(value, Trainer):
        raise TypeError(f"optimizer_or_trainer should be a Gluon Trainer, instead is {type(value)}")
    return value


def init_trainer(optimizer_or_trainer):
    """Lets a Trainer leave out steps whose gradients overflowed. AssertionError: `init` was not called.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.init(target_dtype="bfloat16")
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
    >>> amp.init_trainer(trainer)
    >>> with autograd.record(), amp.scale_loss(net(nd.ones((1, 3))).sum(), trainer) as loss:
    ...     loss.backward()
    >>> trainer.step(1)
    >>> net.bias.data()
    [-0.01 -0.01]
    <NDArray 2 @cpu(0)>
    """
    global _loss_scaler_is_used
    assert _amp_initialized, "AMP not initialized, did you forget to call amp.init()?"
    trainer = _trainer(optimizer_or_trainer)
    trainer._amp_loss_scaler = LossScaler() if _loss_scaler_is_used else _loss_scaler
    trainer._amp_original_scale = trainer._scale
    _loss_scaler_is_used = True


@contextlib.contextmanager
def scale_loss(loss, optimizer_or_trainer):
    """A `with` block that gives the loss, or losses, to call backward on; the Trainer undoes the factor.

    AssertionError: init_trainer was not called.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.init(target_dtype="bfloat16")
    >>> net = nn.Dense(2, in_units=3, use_bias=False)
    >>> net.initialize()
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
    >>> amp.init_trainer(trainer)
    >>> with autograd.record(), amp.scale_loss(net(nd.ones((1, 3))).sum(), trainer) as loss:
    ...     loss.backward()
    >>> net.weight.grad()[0, 0].asscalar().item()  # step() divides by the factor, which is 2 ** 16 at first
    65536.0
    """
    trainer = optimizer_or_trainer
    assert getattr(trainer, "_amp_loss_scaler", None) is not None, (
        "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    )
    factor = trainer._amp_loss_scaler.loss_scale
    trainer._amp_loss_scaler.is_undone = False
    trainer._scale = trainer._amp_original_scale / factor
    yield [one * factor for one in loss] if isinstance(loss, (list, tuple)) else loss * factor


def unscale(optimizer_or_trainer):
    """Undoes the factor in the gradients of a Trainer, for programs that look at them before the step.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.init(target_dtype="bfloat16")
    >>> net = nn.Dense(2, in_units=3, use_bias=False)
    >>> net.initialize()
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", update_on_kvstore=False)
    >>> amp.init_trainer(trainer)
    >>> with autograd.record(), amp.scale_loss(net(nd.ones((1, 3))).sum(), trainer) as loss:
    ...     loss.backward()
    >>> amp.unscale(trainer)
    >>> net.weight.grad()[0, 0].asscalar().item()
    1.0
    """
    trainer = _trainer(optimizer_or_trainer)
    for param in trainer._params:
        for grad in param._grad or ():
            grad *= trainer._scale
    trainer._scale = 1.0
    if trainer._amp_loss_scaler is not None:
        trainer._amp_loss_scaler.is_undone = True


def list_lp16_ops(target_dtype):
    """The names of the operators that compute in low precision. AssertionError: another dtype.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> "Convolution" in amp.list_lp16_ops("float16")
    True
    """
    return lists_of(target_dtype)[0]


def list_fp32_ops(target_dtype):
    """The names of the operators that compute in float32. AssertionError: another dtype than float16 and
    bfloat16.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> "softmax" in amp.list_fp32_ops("float16")
    True
    """
    return lists_of(target_dtype)[1]


def list_lp16_fp32_ops(target_dtype):
    """The names of the operators that compute in what they are given. AssertionError: another dtype.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> "BatchNorm" in amp.list_lp16_fp32_ops("float16")
    True
    """
    return lists_of(target_dtype)[2]


def list_conditional_fp32_ops(target_dtype):
    """Tuples (operator, argument, values) of those that compute in float32 with one of the values.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.list_conditional_fp32_ops("float16")[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    return lists_of(target_dtype)[3]


def list_widest_type_cast(target_dtype):
    """The names of the operators whose inputs are cast to the widest dtype among them. AssertionError:
    another dtype.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> "broadcast_add" in amp.list_widest_type_cast("float16")
    True
    """
    return lists_of(target_dtype)[4]


def list_loss_output_functions(target_dtype):
    """The operators whose gradients do not depend on what comes behind them.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> "SoftmaxOutput" in amp.list_loss_output_functions("float16")
    True
    """
    return lists_of(target_dtype)[5]


def list_lp16_use_fp32_params(target_dtype):
    """{operator: names of the inputs that stay float32} for bfloat16, None for float16.

    Examples
    --------
    >>> from headrace.mxnet.contrib import amp
    >>> amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    """
    return None if low_dtype(target_dtype) == "float16" else lists.symbol_bf16.BF16_USE_FP32_PARAMS
