"""The two dtypes of mixed precision."""

import numpy

from .... import _core

__all__ = ["bfloat16", "low_dtype"]

bfloat16 = numpy.dtype([("bfloat16", numpy.uint16)])  # as MXNet writes it; NumPy has none


def low_dtype(dtype):
    """'float16' or 'bfloat16'. AssertionError: `dtype` means another one."""
    name = "bfloat16" if dtype == bfloat16 else _core.dtype_name(dtype)
    assert name in ("float16", "bfloat16"), (
        f"Only target_dtype float16 and bfloat16 are supported currently, got {dtype!r}"
    )
    return name
