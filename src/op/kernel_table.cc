#include "op/kernel_table.h"

#include "base/check.h"
#include "device/registry.h"
#include "op/catalogue.h"

namespace headrace {

void KernelTable::set(const OpDef& op, Kernel kernel) {
  check(!kernel.schema() || kernel.schema() == op.schema, ErrorKind::kType,
        "{}: a kernel takes attributes of another operator", op.name);
  kernels_.insert_or_assign(&op, std::move(kernel));
}

void KernelTable::set_pointwise(PointwiseKernel kernel) { pointwise_ = std::move(kernel); }

void KernelTable::set_own_kernels(std::initializer_list<const char*> names) {
  for (const char* name : names) set_own_kernel(find_op(name));
}

void KernelTable::set_on_host(const OpDef& op) {
  on_host_.insert_or_assign(&op, [] { return false; });
}

void KernelTable::set_own_kernels_where(Question is_there, std::initializer_list<const char*> names) {
  set_own_kernels(names);
  for (const char* name : names) on_host_.insert_or_assign(&find_op(name), is_there);
}

bool KernelTable::is_on_host(const OpDef& op) const {
  const auto found = on_host_.find(&op);
  return found != on_host_.end() && !found->second();
}

const KernelTable::Kernel* KernelTable::find(const OpDef& op) const noexcept {
  const auto found = kernels_.find(&op);
  return found == kernels_.end() ? nullptr : &found->second;
}

KernelPart::AnyFunction KernelTable::find(const KernelPart& part) const noexcept {
  const auto found = parts_.find(&part);
  return found == parts_.end() ? nullptr : found->second;
}

KernelPart::AnyFunction KernelPart::code_of(Device device) const {
  const KernelTable* const table = kernels_of(device.type);
  return table ? table->find(*this) : nullptr;
}

KernelPart::AnyFunction KernelPart::launcher() const {
  const Device device = current_device();
  const AnyFunction found = code_of(device);
  check(found != nullptr, ErrorKind::kRuntime, "{}: there is no code for {}", name_, to_string(device));
  return found;
}

}  // namespace headrace
