#include "dlpack.h"

#include <optional>

#include "array.h"
#include "base/check.h"
#include "device/registry.h"
#include "gil.h"
#include "ndarray/view.h"

namespace headrace::python {
namespace {

constexpr int32_t kDeviceCpu = 1, kDeviceCuda = 2, kDeviceCudaHost = 3;
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* manager;
  void (*deleter)(DlManagedTensor* self);
};

// What an exported capsule owns.
struct ExportedTensor {
  DlManagedTensor managed;
  ViewPtr view;
  Shape shape;
  Strides strides;
};

TypeCode code_of(DType dtype) {
  if (dtype == DType::kBool) return kBool;
  if (dtype == DType::kBfloat16) return kBfloat;
  if (is_floating(dtype)) return kFloat;
  return is_signed(dtype) ? kInt : kUint;
}

DType dtype_of_code(uint8_t code, uint8_t bits, uint16_t lanes) {
  for (int i = 0; lanes == 1 && i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    if (code_of(dtype) == code && item_size(dtype) * 8 == bits) return dtype;
  }
  fail(ErrorKind::kType, "from_dlpack: element type (code {}, {} bits, {} lanes) has no dtype here", code, bits, lanes);
}

// What other libraries do on a device they do on streams of their own.
void await_everybody(Device device) {
  if (device.is_host()) return;
  std::optional<WithoutGil> unlocked;
  if (PyGILState_Check()) unlocked.emplace();
  backend_of(device.type)->await_everybody(device.id);
}

void free_exported(DlManagedTensor* self) {
  auto* const exported = static_cast<ExportedTensor*>(self->manager);
  await_everybody(exported->view->storage()->device());
  delete exported;
}

// Raises for a place whose memory cannot be shared.
Device device_of(const DlTensor& tensor) {
  const auto [type, id] = tensor.device;
  if (type == kDeviceCpu || type == kDeviceCudaHost) return {};
  const bool is_of_gpus = type == backend_of(DeviceType::kGpu)->dlpack_type();
  const int gpus = is_of_gpus ? device_count(DeviceType::kGpu) : 0;
  check(!is_of_gpus || (id >= 0 && id < gpus), ErrorKind::kRuntime,
        "from_dlpack: the memory is on CUDA's device {}, but {} GPUs can be used here", id, gpus);
  check(is_of_gpus || type != kDeviceCuda, ErrorKind::kRuntime,
        "from_dlpack: the memory is on CUDA's device {}, but this process does not use NVIDIA's GPUs; set "
        "HEADRACE_CUDA=1, "
        "or copy the data to the host first",
        id);
  check(is_of_gpus, ErrorKind::kRuntime,
        "from_dlpack: the memory is on DLPack device type {}, but only host memory (1) and memory of NVIDIA's GPUs (2) "
        "can be shared; copy the data to the host first",
        type);
  return {DeviceType::kGpu, id};
}

void free_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

}  // namespace

DlDevice dlpack_device(Device device) {
  if (const int type = device.is_host() ? 0 : backend_of(device.type)->dlpack_type()) return {type, device.id};
  return {kDeviceCpu, 0};
}

PyObject* to_dlpack(const NDArray& array) {
  storage_of(*array.view(), "to_dlpack").expose();
  if (!wait_to_read(array)) throw PythonError();
  const DlDevice device = dlpack_device(array.device());
  void* const data = device.type == kDeviceCpu ? array.view()->data() : array.view()->address();
  auto* exported = new ExportedTensor{{}, array.view(), array.shape(), array.strides()};
  exported->managed.tensor = {data,
                              device,
                              static_cast<int32_t>(array.ndim()),
                              code_of(array.dtype()),
                              static_cast<uint8_t>(item_size(array.dtype()) * 8),
                              1,
                              exported->shape.data(),
                              exported->strides.data(),
                              0};
  exported->managed.manager = exported;
  exported->managed.deleter = free_exported;
  return checked(PyCapsule_New(&exported->managed, "dltensor", free_capsule));
}

NDArray from_dlpack(PyObject* capsule) {
  check(PyCapsule_CheckExact(capsule), ErrorKind::kType,
        "from_dlpack: expected a DLPack capsule or an object with __dlpack__, got {}", Py_TYPE(capsule)->tp_name);
  check(PyCapsule_IsValid(capsule, "dltensor"), ErrorKind::kValue,
        "from_dlpack: a DLPack capsule that was not used before is needed; each capsule can be taken once");
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  const DlTensor& t = managed->tensor;
  const Device device = device_of(t);
  DType dtype = dtype_of_code(t.code, t.bits, t.lanes);
  check(t.byte_offset % item_size(dtype) == 0, ErrorKind::kValue, "from_dlpack: the data is not aligned to its type");
  Shape shape(t.shape, t.shape + t.ndim);
  Strides strides = t.strides ? Strides(t.strides, t.strides + t.ndim) : contiguous_strides(shape);
  int64_t last = 0;  // how far the view reaches beyond its first element
  for (size_t i = 0; i < shape.size(); ++i) {
    check(strides[i] >= 0, ErrorKind::kValue, "from_dlpack: negative strides cannot be shared; copy the data first");
    if (shape[i] > 0) last += (shape[i] - 1) * strides[i];
  }
  await_everybody(device);
  PyCapsule_SetName(capsule, "used_dltensor");
  free_what_is_due();
  if (element_count(shape) == 0) {  // there may be no memory to share
    if (managed->deleter) managed->deleter(managed);
    return NDArray::empty(shape, dtype, device);
  }
  auto release = [](void* owner) {
    // The other library may need it.
    free_with_gil(owner, [](void* object) {
      auto* tensor = static_cast<DlManagedTensor*>(object);
      if (tensor->deleter) tensor->deleter(tensor);
    });
  };
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  size_t bytes = static_cast<size_t>(last + 1) * item_size(dtype);
  StoragePtr storage(new Storage(device, bytes, data, managed, release));
  return NDArray(ViewPtr(new View(std::move(storage), dtype, shape, strides, 0)));
}

}  // namespace headrace::python
