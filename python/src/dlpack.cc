#include "dlpack.h"

#include "array.h"
#include "base/check.h"
#include "gil.h"
#include "ndarray/view.h"

namespace headrace::python {
namespace {

constexpr int32_t kDeviceCpu = 1;
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DlTensor {
  void* data;
  int32_t device_type, device_id;
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

void free_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

}  // namespace

PyObject* to_dlpack(const NDArray& array) {
  storage_of(*array.view(), "to_dlpack").expose();
  if (!wait_to_read(array)) throw PythonError();
  void* const data = array.view()->data();
  auto* exported = new ExportedTensor{{}, array.view(), array.shape(), array.strides()};
  exported->managed.tensor = {data,
                              kDeviceCpu,
                              0,
                              static_cast<int32_t>(array.ndim()),
                              code_of(array.dtype()),
                              static_cast<uint8_t>(item_size(array.dtype()) * 8),
                              1,
                              exported->shape.data(),
                              exported->strides.data(),
                              0};
  exported->managed.manager = exported;
  exported->managed.deleter = [](DlManagedTensor* self) { delete static_cast<ExportedTensor*>(self->manager); };
  return checked(PyCapsule_New(&exported->managed, "dltensor", free_capsule));
}

NDArray from_dlpack(PyObject* capsule) {
  check(PyCapsule_CheckExact(capsule), ErrorKind::kType,
        "from_dlpack: expected a DLPack capsule or an object with __dlpack__, got {}", Py_TYPE(capsule)->tp_name);
  check(PyCapsule_IsValid(capsule, "dltensor"), ErrorKind::kValue,
        "from_dlpack: a DLPack capsule that was not used before is needed; each capsule can be taken once");
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  const DlTensor& t = managed->tensor;
  check(t.device_type == kDeviceCpu, ErrorKind::kRuntime,
        "from_dlpack: the memory is on DLPack device type {}, but only host memory (1) can be shared", t.device_type);
  DType dtype = dtype_of_code(t.code, t.bits, t.lanes);
  check(t.byte_offset % item_size(dtype) == 0, ErrorKind::kValue, "from_dlpack: the data is not aligned to its type");
  Shape shape(t.shape, t.shape + t.ndim);
  Strides strides = t.strides ? Strides(t.strides, t.strides + t.ndim) : contiguous_strides(shape);
  int64_t last = 0;  // how far the view reaches beyond its first element
  for (size_t i = 0; i < shape.size(); ++i) {
    check(strides[i] >= 0, ErrorKind::kValue, "from_dlpack: negative strides cannot be shared; copy the data first");
    if (shape[i] > 0) last += (shape[i] - 1) * strides[i];
  }
  PyCapsule_SetName(capsule, "used_dltensor");
  free_what_is_due();
  auto release = [](void* owner) {
    // The other library may need it.
    free_with_gil(owner, [](void* object) {
      auto* tensor = static_cast<DlManagedTensor*>(object);
      if (tensor->deleter) tensor->deleter(tensor);
    });
  };
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  size_t bytes = static_cast<size_t>(last + 1) * item_size(dtype);
  StoragePtr storage(new Storage(Device{}, bytes, data, managed, release));
  return NDArray(ViewPtr(new View(std::move(storage), dtype, shape, strides, 0)));
}

}  // namespace headrace::python
