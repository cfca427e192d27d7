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
    """Lets a Trainer leave out steps whose gradients overflowed. AssertionError: `init` was not called."""
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
    """
    trainer = optimizer_or_trainer
    assert getattr(trainer, "_amp_loss_scaler", None) is not None, (
        "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    )
    factor = trainer._amp_loss_scaler.loss_scale
    trainer._scale = trainer._amp_original_scale / factor
    yield [one * factor for one in loss] if isinstance(loss, (list, tuple)) else loss * factor


def unscale(optimizer_or_trainer):
    """Undoes the factor in the gradients, for programs that look at them before the step."""
    trainer = _trainer(optimizer_or_trainer)
    for param in trainer._params:
        for grad in param._grad or ():
            grad *= trainer._scale
    trainer._scale = 1.0


def list_lp16_ops(target_dtype):
    """The operators that compute in low precision. All lists: AssertionError, another dtype."""
    return lists_of(target_dtype)[0]


def list_fp32_ops(target_dtype):
    """The operators that compute in float32."""
    return lists_of(target_dtype)[1]


def list_lp16_fp32_ops(target_dtype):
    """The operators that compute in what they are given."""
    return lists_of(target_dtype)[2]


def list_conditional_fp32_ops(target_dtype):
    """Tuples (operator, argument, values) of those that compute in float32 with one of the values."""
    return lists_of(target_dtype)[3]


def list_widest_type_cast(target_dtype):
    """The operators whose inputs are cast to the widest dtype among them."""
    return lists_of(target_dtype)[4]


def list_loss_output_functions(target_dtype):
    """The operators whose gradients do not depend on what comes behind them."""
    return lists_of(target_dtype)[5]


def list_lp16_use_fp32_params(target_dtype):
    """{operator: names of the inputs that stay float32} for bfloat16, None for float16."""
    return None if low_dtype(target_dtype) == "float16" else lists.symbol_bf16.BF16_USE_FP32_PARAMS
