"""CUDA code compiled at run time: names only, until Headrace runs on real GPUs."""

from ..base import ArrayNotImplementedError

__all__ = ["CudaKernel", "CudaModule"]


class CudaModule:
    """CUDA code. NotImplementedError, always.

    Examples
    --------
    >>> from headrace.mxnet import rtc
    >>> rtc.CudaModule("__global__ void f() {}")
    Traceback (most recent call last):
        ...
    headrace.base.ArrayNotImplementedError: CudaModule: this build of Headrace does not compile CUDA code; ...
    """

    def __init__(self, source, options=(), exports=()):
        raise ArrayNotImplementedError(
            "CudaModule: this build of Headrace does not compile CUDA code; write the operation with "
            "functions of np or nd, which run on every device"
        )


class CudaKernel:
    """A function of a CudaModule, which makes it: there is none without one.

    Examples
    --------
    >>> from headrace.mxnet import rtc
    >>> rtc.CudaKernel(None, "f", [True], ["float32"])
    Traceback (most recent call last):
        ...
    headrace.base.ArrayNotImplementedError: CudaModule: this build of Headrace does not compile CUDA code; ...
    """

    def __init__(self, handle, name, is_ndarray, dtypes):
        CudaModule("")
