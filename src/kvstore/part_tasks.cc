#include "kvstore/part_tasks.h"

#include "device/observer.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "kvstore/buckets.h"
#include "ndarray/device_copy.h"
#include "op/call_body.h"
#include "op/formula/transfer.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

using Vars = std::shared_ptr<std::vector<Var>>;

constexpr double kBorderCostNs = 50;
constexpr double kPartByteNs = 0.1;

// Before parts are used. Their tasks, several of which may run at once, find memory that is the buffer's alone.
struct Begin {
  Vars vars;
  ViewPtr buffer;
  BorderUse use;
  void operator()() const {
    if (use != BorderUse::kRead) buffer->storage()->begin_write(use == BorderUse::kReplace && buffer->covers_storage());
  }
};

struct End {
  Vars vars;
  ViewPtr buffer;
  void operator()() const noexcept {}
};

TaskSpec border(const char* name, const NDArray& buffer, std::span<Var* const> reads, std::span<Var* const> writes) {
  return {.name = name,
          .reads = reads,
          .writes = writes,
          .cost_ns = kBorderCostNs,
          .priority = Priority::kHigh,
          .urgency = thread_state().urgency,
          .stream = compute_stream(buffer.device())};
}

struct Copy {
  Vars vars;
  ViewPtr to, from;
  void operator()() const { copy_elements(*to, *from); }
};

struct Combination {
  Vars vars;
  const OpDef* operation;
  ViewPtr target, source;

  void operator()() const {
    View* const inputs[] = {target.get(), source.get()};
    View* const outputs[] = {target.get()};
    const auto compute = static_cast<uint64_t>(compute_type_of(target->dtype()));
    run_call(*operation, *operation->default_attrs, inputs, outputs, compute);
  }
};

}  // namespace

// Vars of earlier runs may have had the same addresses.
PartTasks::PartTasks(size_t vars) : vars_(std::make_shared<std::vector<Var>>(vars)) {
  if (PushObserver* const observer = runtime().engine.observer())
    for (const Var& var : *vars_) observer->forgotten(&var);
}

void PartTasks::take(const NDArray& buffer, std::span<Var* const> parts, BorderUse use) const {
  std::vector<Var*> reads, writes(parts.begin(), parts.end());
  Var* const whole = &buffer.view()->storage()->var();
  if (use == BorderUse::kRead || use == BorderUse::kChange || !buffer.view()->covers_storage()) reads.push_back(whole);
  if (use != BorderUse::kRead) writes.push_back(whole);
  runtime().engine.push(border("kvstore begin", buffer, reads, writes), Begin{vars_, buffer.view(), use});
}

void PartTasks::give_back(const NDArray& buffer, std::span<Var* const> parts, BorderUse use) const {
  std::vector<Var*> reads(parts.begin(), parts.end()), writes(parts.begin(), parts.end());
  Var* const whole = &buffer.view()->storage()->var();
  (use == BorderUse::kRead ? reads : writes).push_back(whole);
  TaskSpec spec = border("kvstore end", buffer, reads, writes);
  spec.keeps = use == BorderUse::kReplaceOrKeep;
  runtime().engine.push(spec, End{vars_, buffer.view()});
}

void PartTasks::copy(const Touched& target, const Touched& source) const {
  const auto bytes = static_cast<double>(bytes_of(source.array));
  runtime().engine.push(TaskSpec{.name = "copy",
                                 .reads = {&source.var, 1},
                                 .writes = {&target.var, 1},
                                 .cost_ns = kPartByteNs * bytes,
                                 .priority = Priority::kHigh,
                                 .urgency = thread_state().urgency,
                                 .stream = copy_stream(target.array.device(), source.array.device()),
                                 .bytes = bytes},
                        Copy{vars_, target.array.view(), source.array.view()});
}

void PartTasks::combine(const OpDef& operation, const Touched& target, const Touched& source) const {
  const auto bytes = static_cast<double>(bytes_of(target.array));
  Var* const reads[] = {target.var, source.var};
  runtime().engine.push(TaskSpec{.name = "kvstore reduce",
                                 .reads = reads,
                                 .writes = {&target.var, 1},
                                 .cost_ns = kPartByteNs * bytes,
                                 .priority = Priority::kHigh,
                                 .urgency = thread_state().urgency,
                                 .stream = compute_stream(target.array.device()),
                                 .flops = static_cast<double>(target.array.size()),
                                 .bytes = 3 * bytes},
                        Combination{vars_, &operation, target.array.view(), source.array.view()});
}

}  // namespace headrace::kvstore
