#include "op/call_body.h"

#include <forward_list>

#include "device/registry.h"
#include "ndarray/strided_copy.h"
#include "op/op_def.h"
#include "op/pointwise.h"

namespace headrace {
namespace {

Allocator& host_allocator() { return allocator_of(Device{}); }

// Packed copies of strided inputs, for the time of one kernel run.
class PackedCopies {
 public:
  ~PackedCopies() {
    for (const Copy& copy : copies_) host_allocator().release(copy.data, copy.bytes);
  }
  Tensor pack(const View& view) {
    size_t bytes = static_cast<size_t>(view.size()) * item_size(view.dtype());
    const Copy& copy =
        copies_.emplace_front(Copy{host_allocator().allocate(bytes), bytes, contiguous_strides(view.shape())});
    strided_copy(copy.data, copy.strides, view.data(), view.strides(), view.shape(), view.dtype());
    return {copy.data, view.dtype(), view.shape(), copy.strides, view.size()};
  }

 private:
  struct Copy {
    void* data;
    size_t bytes;
    Strides strides;
  };
  std::forward_list<Copy> copies_;  // stable addresses: tensors refer to the strides
};

}  // namespace

KernelContext::~KernelContext() {
  for (const Block& block : blocks_) host_allocator().release(block.data, block.bytes);
}

void* KernelContext::workspace(size_t bytes) {
  void* data = host_allocator().allocate(bytes);
  blocks_.push_back({data, bytes});
  return data;
}

void CallBody::operator()() const {
  auto all = views.views();
  auto inputs = all.first(input_count), outputs = all.subspan(input_count);
  if (op->pointwise) {
    run_pointwise(*op, *attrs, inputs, outputs);
    return;
  }
  PackedCopies packed;
  std::vector<Tensor> tensors;
  tensors.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const View& view = *all[i];
    bool needs_packing = i < input_count && !op->strided_inputs && !view.is_contiguous() &&
                         !((op->mutates >> std::min<size_t>(i, 31)) & 1u);
    if (needs_packing)
      tensors.push_back(packed.pack(view));
    else
      tensors.push_back({view.data(), view.dtype(), view.shape(), view.strides(), view.size()});
  }
  std::span<const Tensor> every(tensors);
  KernelContext context(*op, every.first(input_count), every.subspan(input_count), ticket);
  op->kernel(context, *attrs);
}

}  // namespace headrace
