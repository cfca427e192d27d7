"""headrace.mxnet.rtc: CUDA code of a program's own."""

import os
import subprocess
import sys

from cuda_stand_in import needs_stand_in, run

PROGRAM = """
import headrace.mxnet
headrace.mxnet.install()
import mxnet as mx
import numpy as np

def refusal(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")

source = r'''
template<typename DType>
__global__ void axpy(const DType *x, DType *y, DType alpha) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    y[i] += alpha * x[i];
}
extern "C" __global__ void ramp(int *y) { y[threadIdx.x] = threadIdx.x; }
'''
module = mx.rtc.CudaModule(source, exports=["axpy<float>", "axpy<double>"])
x, y = mx.nd.ones((10,), ctx=mx.gpu(0)), mx.nd.zeros((10,), ctx=mx.gpu(0))
func32 = module.get_kernel("axpy<float>", "const float *x, float *y, float alpha")
for alpha in (3.0, np.float32(1), 2, np.int64(1)):
    func32.launch([x, y, alpha], mx.gpu(0), (2, 1, 1), (5, 1, 1))
assert (y.asnumpy() == 7).all(), y
func64 = module.get_kernel("axpy<double>", "const double *, double *, double")
x, y = mx.np.ones((2, 3), dtype="float64", ctx=mx.gpu(1)), mx.np.zeros((3, 2), dtype="float64", ctx=mx.gpu(1))
func64.launch((x, y.T, 2.5), mx.gpu(1), (1, 1, 1), (6, 1, 1), shared_mem=16)
assert (y.asnumpy() == 2.5).all(), y
whole = mx.nd.zeros((4,), dtype="int32", ctx=mx.gpu(0))
mx.rtc.CudaModule(source, ("-DUNUSED",), "axpy<float>").get_kernel("ramp", "int *y").launch(
    [whole], mx.gpu(0), [1, 1, 1], [4, 1, 1])
assert whole.asnumpy().tolist() == [0, 1, 2, 3]

assert "does not compile" in refusal(mx.MXNetError, lambda: mx.rtc.CudaModule("nonsense"))
assert "exports" in refusal(ValueError, lambda: module.get_kernel("axpy", "const float *x"))
assert "(const) type" in refusal(ValueError, lambda: module.get_kernel("ramp", "int **y"))
assert "no array has" in refusal(TypeError, lambda: module.get_kernel("ramp", "long *y"))
assert "on a GPU" in refusal(AssertionError, lambda: func32.launch([], mx.cpu(), (1, 1, 1), (1, 1, 1)))
assert "3 integers" in refusal(AssertionError, lambda: func32.launch([], mx.gpu(0), (1, 1), (1, 1, 1)))
assert "real number" in refusal(
    TypeError, lambda: func32.launch([x, y, "one"], mx.gpu(0), (1, 1, 1), (1, 1, 1)))
print("launched")
"""

REFUSED = """
import headrace as mx
from headrace.mxnet import rtc
try:
    rtc.CudaModule("")
except mx.MXNetError as error:
    print(error)
"""


@needs_stand_in
def test_kernels_run_on_the_arrays_that_they_are_given(tmp_path):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0 and done.stdout == "launched\n", done.stdout + done.stderr


def _said_by(program, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "HEADRACE_CUDA": "0", **variables},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_needs_a_gpu_of_nvidias():
    assert "there is none" in _said_by(REFUSED)
    assert "gpu(0) is simulated" in _said_by(REFUSED, HEADRACE_SIM_GPUS="1")
