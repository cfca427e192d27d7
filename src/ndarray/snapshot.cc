#include "ndarray/snapshot.h"

#include <cstring>

#include "base/dtype_dispatch.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "ndarray/device_copy.h"
#include "ndarray/strided_copy.h"
#include "ndarray/view.h"

namespace headrace {
namespace {

constexpr double kShareCostNs = 300;

NDArray copied_to_host(const NDArray& array) {
  const View& view = *array.view();
  int64_t first = 0, last = 0;  // elements, from the view's own first one
  for (size_t axis = 0; axis < view.shape().size(); ++axis) {
    const int64_t reach = (view.shape()[axis] - 1) * view.strides()[axis];
    (reach < 0 ? first : last) += reach;
  }
  if (view.size() == 0) first = 0, last = -1;
  const Shape line{last - first + 1};
  const ViewPtr from(new View(view.storage_ptr(), view.dtype(), line, Strides{1}, view.offset() + first));
  const ViewPtr to = make_view(line, view.dtype(), Device{});
  push_device_copy(to, from);
  return NDArray(ViewPtr(new View(to->storage_ptr(), view.dtype(), view.shape(), view.strides(), -first)));
}

struct ShareBody {
  StoragePtr to, from;
  void operator()() const { to->take_contents(*from); }
};

NDArray sharing(const NDArray& array) {
  const View& view = *array.view();
  const StoragePtr& from = view.storage_ptr();
  const StoragePtr to(new Storage(allocator_of(Device{}), from->device(), from->bytes()));
  Var *const read = &from->var(), *const written = &to->var();
  runtime().engine.push(TaskSpec{.name = "snapshot",
                                 .reads = {&read, 1},
                                 .writes = {&written, 1},
                                 .cost_ns = kShareCostNs,
                                 .fresh_writes = true},
                        ShareBody{to, from});
  return NDArray(ViewPtr(new View(to, view.dtype(), view.shape(), view.strides(), view.offset())));
}

}  // namespace

NDArray snapshot(const NDArray& array) {
  const Storage& storage = storage_of(*array.view(), "asnumpy");
  if (!storage.device().is_host()) return copied_to_host(array);
  return storage.may_share() ? sharing(array) : array;
}

void copy_values(const NDArray& snapshot, void* destination) {
  const View& view = *snapshot.view();
  if (view.size() == 0) return;
  if (view.is_contiguous()) {
    std::memcpy(destination, view.data(), static_cast<size_t>(view.size()) * item_size(view.dtype()));
    return;
  }
  const Strides packed = contiguous_strides(view.shape());
  strided_copy(destination, packed, view.data(), view.strides(), view.shape(), view.dtype());
}

double only_value(const NDArray& snapshot) {
  const char* const element = snapshot.view()->data();
  return dispatch(snapshot.dtype(),
                  [&]<class T>() { return static_cast<double>(*reinterpret_cast<const T*>(element)); });
}

}  // namespace headrace
