"""Memory of GPUs shared through DLPack, with what stands in for NVIDIA's driver and for other libraries."""

import pytest
from cuda_stand_in import needs_stand_in, run

pytestmark = needs_stand_in

TOOLS = """
import ctypes
import gc
import time

import headrace as mx
from headrace import nd, np


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


address = ctypes.pythonapi.PyCapsule_GetPointer
address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]


def tensor_in(capsule):
    return Tensor.from_address(address(capsule, b"dltensor"))


class Producer:
    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        tensor_in(capsule).type, tensor_in(capsule).id = self.device
        return capsule


def live(gpu=0):
    gc.collect()
    return mx._core.memory_stats(2, gpu)["live"]

"""

CONSUMER = """
x = nd.arange(600, ctx=mx.gpu(1)).reshape((20, 30)) * 2
y = x[4:6]
assert y.__dlpack_device__() == (2, 1)
assert nd.ones(2).__dlpack_device__() == (1, 0)
capsule = y.__dlpack__(stream=7, max_version=(1, 0))
tensor = tensor_in(capsule)
assert (tensor.type, tensor.id, tensor.ndim, tensor.code, tensor.bits) == (2, 1, 2, 2, 32)
assert tensor.shape[:2] == [2, 30] and tensor.strides[:2] == [30, 1]
whole = x.__dlpack__(dl_device=(2, 1))
assert tensor.data == tensor_in(whole).data + 4 * 30 * 4

held = live(1)
del x, y, whole
assert live(1) == held > 0
rename(capsule, b"used_dltensor")
tensor.deleter(ctypes.addressof(tensor))
assert live(1) < held

z = nd.ones((3,), ctx=mx.gpu(0))
same, copied, on_host = z.__dlpack__(), z.__dlpack__(copy=True), z.__dlpack__(dl_device=(1, 0))
assert tensor_in(same).data != tensor_in(copied).data
assert tensor_in(on_host).type == 1
for wrong in [{"dl_device": (2, 1)}, {"dl_device": (1, 0), "copy": False}]:
    try:
        z.__dlpack__(**wrong)
    except BufferError as error:
        assert "an array on gpu(0) cannot be given" in str(error)
    else:
        raise AssertionError(wrong)
print("shared")
"""

PRODUCER = """
for module, cls in [(nd, nd.NDArray), (np, np.ndarray)]:
    before = live()
    producer = Producer(nd.arange(6, ctx=mx.gpu(0)) + 1)
    seen = module.from_dlpack(producer)
    assert type(seen) is cls and seen.context == mx.gpu(0) and producer.streams == [1]
    assert (seen * 2).asnumpy().tolist() == [2, 4, 6, 8, 10, 12]
    seen[1:3] = 9
    mx.nd.waitall()
    assert producer.array.asnumpy().tolist() == [1, 9, 9, 4, 5, 6]
    del producer
    assert live() > before
    assert seen.asnumpy().tolist() == [1, 9, 9, 4, 5, 6]
    seen.wait_to_read()
    del seen
    while live() != before:  # the launch thread lets go of it when it has taken note of the end
        time.sleep(0.001)

strided = nd.from_dlpack(nd.arange(6, ctx=mx.gpu(0)).reshape((3, 2)).T.to_dlpack_for_read())
assert strided.context == mx.gpu(0) and strided.asnumpy().tolist() == [[0, 2, 4], [1, 3, 5]]
pinned = Producer(nd.arange(3, ctx=mx.cpu_pinned()), (3, 0))
assert nd.from_dlpack(pinned).context == mx.cpu() and pinned.streams == [None]
for device, words in [((2, 5), "on CUDA's device 5, but 2 GPUs"), ((4, 0), "device type 4, but only")]:
    try:
        nd.from_dlpack(Producer(nd.ones(2, ctx=mx.gpu(0)), device))
    except mx.MXNetError as error:
        assert words in str(error), error
    else:
        raise AssertionError(device)
print("shared")
"""

NOBODY = """
try:
    nd.from_dlpack(Producer(nd.ones(2)))
except mx.MXNetError as error:
    assert "set HEADRACE_CUDA=1" in str(error), error
    print("refused")
"""


@pytest.mark.parametrize("program", [CONSUMER, PRODUCER], ids=["consumer", "producer"])
def test_memory_of_a_gpu_is_shared_both_ways(program, tmp_path):
    done = run(TOOLS + program, tmp_path)
    assert done.stdout == "shared\n", done.stderr


def test_memory_of_a_gpu_that_is_not_used_is_refused(tmp_path):
    done = run(TOOLS + NOBODY, tmp_path, HEADRACE_CUDA="0")
    assert done.stdout == "refused\n", done.stderr
