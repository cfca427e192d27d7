"""Which operators compute in low precision, in float32, or in the widest dtype of their inputs."""

from . import symbol_bf16, symbol_fp16
