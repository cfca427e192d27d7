// Updates of many parameters in one task.
#include <algorithm>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "op/call_body.h"
#include "op/invoke.h"
#include "op/invoke_stored.h"
#include "op/pointwise.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

// Whether no update writes what another one reads or writes.
bool are_apart(const std::vector<Var*>& reads, std::vector<Var*> writes) {
  std::ranges::sort(writes);
  return std::ranges::adjacent_find(writes) == writes.end() &&
         std::ranges::none_of(reads, [&](Var* read) { return std::ranges::binary_search(writes, read); });
}

}  // namespace

// What the tasks that run it own. On the host its threads share the elements of all updates, not those of one after the
// other: most parameters are too small to be divided.
class UpdatePlan {
 public:
  UpdatePlan(const OpDef& op, std::span<const UpdateCall> calls) : op_(&op) {
    for (const UpdateCall& call : calls) add(call);
    is_shared_out_ = !stream() && are_apart(reads_, writes_);
  }

  TaskSpec spec() const {
    return {.name = op_->name.c_str(),
            .reads = reads_,
            .writes = writes_,
            .cost_ns = cost_ns_,
            .priority = thread_state().priority,
            .urgency = thread_state().urgency,
            .keeps = true,
            .stream = stream()};
  }

  void run() const {
    for (const Update& update : updates_) {
      begin_writes(update);
      if (!is_shared_out_) run_part(update, update.begin, update.end);
    }
    if (!is_shared_out_) return;
    constexpr int64_t kGrain = 1 << 14;
    parallel_for(end(), kGrain, cost_ns_, [this](int64_t begin, int64_t end) { run_parts(begin, end); });
  }

 private:
  using Views = SmallVector<View*, 8>;

  void add(const UpdateCall& call) {
    check(call.inputs.size() == op_->inputs.size(), ErrorKind::kType, "{}: {} arrays are needed, got {}", op_->name,
          op_->inputs.size(), call.inputs.size());
    SmallVector<DType, 8> dtypes;
    UpdateCall kept{{}, call.attrs};
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const NDArray& input = call.inputs[i];
      check(input.shape() == call.inputs[0].shape(), ErrorKind::kValue, "{}: {} has shape {}, but {} has shape {}",
            op_->name, op_->inputs[i], to_string(input.shape()), op_->inputs[0], to_string(call.inputs[0].shape()));
      (is_written(*op_, i) ? writes_ : reads_).push_back(&storage_of(*input.view(), op_->name).var());
      dtypes.push_back(input.dtype());
      kept.inputs.push_back(input.off_tape());
    }
    const ComputeType compute =
        op_->pointwise->types(op_->name.c_str(), {dtypes.data(), dtypes.size()}, *call.attrs).compute;
    const int64_t elements = call.inputs[0].size();
    cost_ns_ += headrace::cost_ns(op_->pointwise->program(compute), elements);
    updates_.push_back({std::move(kept), compute, end(), end() + elements});
  }

  Stream* stream() const { return updates_.empty() ? nullptr : compute_stream(updates_[0].call.inputs[0].device()); }

  struct Update {
    UpdateCall call;
    ComputeType compute;
    int64_t begin, end;  // among the elements of all updates
  };

  int64_t end() const noexcept { return updates_.empty() ? 0 : updates_.back().end; }

  static Views views_of(const Update& update) {
    Views views;
    for (const NDArray& input : update.call.inputs) views.push_back(input.view().get());
    return views;
  }

  // Before several threads write parts of one array.
  void begin_writes(const Update& update) const {
    for (size_t i = 0; i < update.call.inputs.size(); ++i)
      if (is_written(*op_, i)) update.call.inputs[i].view()->storage()->begin_write(false);
  }

  void run_parts(int64_t begin, int64_t end) const {
    for (auto update = std::ranges::upper_bound(updates_, begin, {}, &Update::end);
         update != updates_.end() && update->begin < end; ++update)
      run_part(*update, std::max(begin, update->begin), std::min(end, update->end));
  }

  // Elements of one update, counted as begin and end are. What is not packed is done as one, by the thread of its
  // first.
  void run_part(const Update& update, int64_t begin, int64_t end) const {
    const Views whole = views_of(update);
    const std::span<View* const> all(whole.data(), whole.size());
    if ((begin == update.begin && end == update.end) || !is_flat(all, all.first(1))) {
      if (begin == update.begin) run_call(update, all);
      return;
    }
    std::vector<ViewPtr> parts;
    Views some;
    for (const View* view : all) {
      const int64_t first = view->offset() + begin - update.begin;
      parts.emplace_back(new View(view->storage_ptr(), view->dtype(), Shape{end - begin}, Strides{1}, first));
      some.push_back(parts.back().get());
    }
    run_call(update, {some.data(), some.size()});
  }

  void run_call(const Update& update, std::span<View* const> views) const {
    headrace::run_call(*op_, *update.call.attrs, views, views.first(1), static_cast<uint64_t>(update.compute));
  }

  const OpDef* op_;
  std::vector<Update> updates_;
  std::vector<Var*> reads_, writes_;
  double cost_ns_ = 0;
  bool is_shared_out_ = false;  // whether the threads of the host share the elements out; otherwise in turn
};

namespace {

bool has_sparse(const UpdateCall& call) {
  return std::ranges::any_of(call.inputs,
                             [](const NDArray& input) { return input.storage_kind() != StorageKind::kDense; });
}

// Issues those with sparse arrays as calls of the operator; gives the others.
std::vector<UpdateCall> update_sparse(const OpDef& op, std::span<const UpdateCall> calls) {
  const KeepScope keep(true);
  std::vector<UpdateCall> others;
  for (const UpdateCall& call : calls) {
    if (!has_sparse(call)) {
      others.push_back(call);
      continue;
    }
    NDArray weight = call.inputs[0].off_tape();
    invoke(op, call.attrs, call.inputs, {&weight, 1});
  }
  return others;
}

}  // namespace

UpdatePlanPtr plan_updates(const OpDef& op, std::span<const UpdateCall> calls) {
  check(static_cast<bool>(op.pointwise), ErrorKind::kValue, "{}: not an update operator", op.name);
  return std::ranges::any_of(calls, has_sparse) ? nullptr : std::make_shared<const UpdatePlan>(op, calls);
}

void issue_updates(const UpdatePlanPtr& plan) {
  runtime().engine.push(plan->spec(), [plan] { plan->run(); });
}

void update_many(const OpDef& op, std::span<const UpdateCall> calls) {
  if (const UpdatePlanPtr plan = plan_updates(op, calls)) return issue_updates(plan);
  const std::vector<UpdateCall> others = update_sparse(op, calls);
  if (!others.empty()) update_many(op, others);
}

}  // namespace headrace
