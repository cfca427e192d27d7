"""Kernels in CUDA C++ that a program brings as text, compiled while it runs, for NVIDIA's GPUs."""

from .. import _core
from ..context import Context

__all__ = ["CudaKernel", "CudaModule"]


class CudaModule:
    """CUDA C++ code, compiled for `gpu(0)` at once and for other GPUs when a kernel is launched there.

    `source` is the complete code. `options` are NVRTC's (`"--std=c++17"`, `"-I/usr/local/cuda/include"`),
    `exports` the names of kernels that C++ has, such as `"axpy<float>"`; kernels declared `extern "C"` need
    not be named. Both are tuples, or one text. MXNetError: there is no NVIDIA GPU, or what the compiler says
    of the source.

    Examples
    --------
    ::

        module = mx.rtc.CudaModule(r'''
        extern "C" __global__ void axpy(const float *x, float *y, float alpha) {
            int i = threadIdx.x + blockIdx.x * blockDim.x;
            y[i] += alpha * x[i];
        }
        ''')
        axpy = module.get_kernel("axpy", "const float *x, float *y, float alpha")
        x, y = mx.nd.ones((10,), ctx=mx.gpu(0)), mx.nd.zeros((10,), ctx=mx.gpu(0))
        axpy.launch([x, y, 3.0], mx.gpu(0), (1, 1, 1), (10, 1, 1))

    >>> from headrace.mxnet import rtc
    >>> rtc.CudaModule(source="")  # without a GPU
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: CudaModule: CUDA code is compiled for an NVIDIA GPU, ...
    """

    def __init__(self, source, options=(), exports=()):
        self._module = _core.cuda_module(source, _as_list(options), _as_list(exports))

    def get_kernel(self, name, signature):
        """The kernel of this name, a `CudaKernel`.

        `signature` lists what it takes, `"const float *x, double *y, int alpha"`, or without the names. A
        star means an array, const one that is only read. ValueError: no kernel has the name, or a parameter
        is not of that form. TypeError: a type that no array has.
        """
        return CudaKernel(self._module.get_kernel(name, signature))


class CudaKernel:
    """A kernel of a `CudaModule`, made by its `get_kernel`.

    Examples
    --------
    >>> from headrace.mxnet import rtc
    >>> rtc.CudaModule("...").get_kernel("f", "float *x")  # without a GPU
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: CudaModule: CUDA code is compiled for an NVIDIA GPU, ...
    """

    def __init__(self, kernel):
        self._kernel = kernel

    def launch(self, args, ctx, grid_dims, block_dims, shared_mem=0):
        """Issues one run of the kernel, in the order of the arrays that it reads and writes; returns at once.

        `args` has an array or a number for each parameter. Arrays are of the parameter's dtype and lie on
        `ctx`, a GPU. `grid_dims` are blocks and `block_dims` threads of each block, three integers;
        `shared_mem` bytes of memory for each block beside what the kernel declares with a size. Gradients do
        not know of it. ValueError, TypeError: what does not fit; AssertionError: not three integers, or
        another device.
        """
        ctx = Context(ctx)
        assert ctx.device_type == "gpu", f"launch: a CUDA kernel runs on a GPU, not on {ctx}"
        assert len(grid_dims) == 3, f"launch: grid_dims must be 3 integers, got {grid_dims}"
        assert len(block_dims) == 3, f"launch: block_dims must be 3 integers, got {block_dims}"
        self._kernel.launch(args, ctx.device_id, tuple(grid_dims), tuple(block_dims), shared_mem)


def _as_list(texts):
    return [texts] if isinstance(texts, str) else list(texts)
