#include "op/kernel_table.h"

#include "base/check.h"

namespace headrace {

void KernelTable::set(const OpDef& op, Kernel kernel) {
  check(!kernel.schema() || kernel.schema() == op.schema, ErrorKind::kType,
        "{}: a kernel takes attributes of another operator", op.name);
  kernels_.insert_or_assign(&op, std::move(kernel));
}

void KernelTable::set_pointwise(PointwiseKernel kernel) { pointwise_ = std::move(kernel); }

void KernelTable::set_on_host(const OpDef& op) { on_host_.insert(&op); }

const KernelTable::Kernel* KernelTable::find(const OpDef& op) const noexcept {
  const auto found = kernels_.find(&op);
  return found == kernels_.end() ? nullptr : &found->second;
}

}  // namespace headrace
