// Which code computes the operators on a kind of device that does not run the host's. A backend brings one, see
// BackendEntry::kernels; it is filled once and immutable afterwards, so any thread may read it.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <unordered_map>

#include "op/formula/opcode.h"
#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

class View;

class KernelTable {
 public:
  // Puts device code on the stream of the work that is being launched, see device/stream.h. Tensors lie in memory of
  // the device: packed, unless the operator says strided_inputs; workspace belongs to the launch. Their shapes and
  // strides, and the attributes, are there until it returns: device code owns what it needs of them.
  using Kernel = AttrFunction<void(KernelContext&, const Attrs&)>;
  // The same for all operators that are formulas, those that were fused among them. Views broadcast and have any
  // strides; they live as long as the task, perhaps no longer than this call.
  using PointwiseKernel = std::function<void(const OpDef& op, const Attrs& attrs, ComputeType compute,
                                             std::span<View* const> inputs, std::span<View* const> outputs)>;

  void set(const OpDef& op, Kernel kernel);
  void set_pointwise(PointwiseKernel kernel);
  // Code that puts this part of a kernel on the stream of the work that is being launched.
  template <class... Arguments>
  void set_part(const KernelPartOf<void(KernelContext&, Arguments...)>& part,
                std::type_identity_t<void (*)(KernelContext&, Arguments...)> function) {
    parts_.insert_or_assign(&part, reinterpret_cast<KernelPart::AnyFunction>(function));
  }
  template <class Result, class... Arguments>
  void set_answer(const DeviceQuestion<Result(Device, Arguments...)>& question,
                  std::type_identity_t<Result (*)(Device, Arguments...)> function) {
    parts_.insert_or_assign(&question, reinterpret_cast<KernelPart::AnyFunction>(function));
  }
  // The operators' own kernels, which touch memory only through parts that are here.
  void set_own_kernel(const OpDef& op) { set(op, op.kernel); }
  void set_own_kernels(std::initializer_list<const char*> names);
  // The host computes it, over copies of its arrays in host memory, when the stream has come to it; this is counted and
  // said, see op/detours.h.
  void set_on_host(const OpDef& op);
  // Their own kernels where something that these need, such as a library, is there; otherwise the host computes them.
  // It is asked in any thread, whenever that matters.
  using Question = bool (*)();
  void set_own_kernels_where(Question is_there, std::initializer_list<const char*> names);

  // Null: there is none.
  const Kernel* find(const OpDef& op) const noexcept;
  const PointwiseKernel* pointwise() const noexcept { return pointwise_ ? &pointwise_ : nullptr; }
  KernelPart::AnyFunction find(const KernelPart& part) const noexcept;
  bool is_on_host(const OpDef& op) const;

 private:
  std::unordered_map<const OpDef*, Kernel> kernels_;
  std::unordered_map<const KernelPart*, KernelPart::AnyFunction> parts_;
  std::unordered_map<const OpDef*, Question> on_host_;  // unless the answer is yes
  PointwiseKernel pointwise_;
};

}  // namespace headrace
