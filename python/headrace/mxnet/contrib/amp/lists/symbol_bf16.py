"""The lists of bfloat16: what is not known to be safe computes in float32."""

from .names import canonical, others, with_aliases
from .symbol_fp16 import CONDITIONAL_FP32_FUNCS, LOSS_OUTPUT_FUNCTIONS
from .symbol_fp16 import FP32_FUNCS as _FP32
from .symbol_fp16 import WIDEST_TYPE_CASTS as _WIDEST

__all__ = [
    "BF16_FP32_FUNCS",
    "BF16_FUNCS",
    "BF16_USE_FP32_PARAMS",
    "CONDITIONAL_FP32_FUNCS",
    "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS",
    "WIDEST_TYPE_CASTS",
]

BF16_FUNCS = ["Convolution", "FullyConnected"]

BF16_FP32_FUNCS = with_aliases(
    [
        *("abs", "BatchNorm", "BatchNormWithReLU", "clip", "LRN", "Pooling", "relu", "_shuffle"),
        *("sqrt", "square", "tanh"),
    ]
)

# Inputs that stay float32 beside data of bfloat16.
BF16_USE_FP32_PARAMS = {
    name: ["", "gamma", "beta", "moving_mean", "moving_var"] for name in ("BatchNorm", "BatchNormWithReLU")
}

_NOT_WIDEST = (
    "broadcast_mul",
    *("_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt"),
    *("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt"),
)
WIDEST_TYPE_CASTS = [name for name in _WIDEST if canonical(name) not in map(canonical, _NOT_WIDEST)]

_CONDITIONAL = [name for name, _, _ in CONDITIONAL_FP32_FUNCS]
_elsewhere = {*BF16_FUNCS, *BF16_FP32_FUNCS, *WIDEST_TYPE_CASTS, *_CONDITIONAL}
FP32_FUNCS = list(
    dict.fromkeys(
        name
        for name in (*_FP32, *others(BF16_FUNCS, BF16_FP32_FUNCS, WIDEST_TYPE_CASTS, _CONDITIONAL))
        if name not in _elsewhere
    )
)
