#include "engine/task.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/slab.h"
#include "engine/var_access.h"

namespace headrace {

void Task::add_access(Var* var, bool reads, bool writes) noexcept {
  Access& access = access_list[access_count++];
  access.exclusive = writes;
  access.reads = reads;
  access.writes = writes;
  access.task = this;
  access.var = var;
}

// The reads in their order first: the first poisoned one decides which error passes on.
void Task::add_accesses(const TaskSpec& spec) {
  const size_t most = spec.reads.size() + spec.writes.size();
  if (most > kInlineAccesses) {
    add_many_accesses(spec);
    return;
  }
  const auto find = [this](Var* var) {
    return std::find_if(access_list, access_list + access_count, [var](Access& a) { return a.var == var; });
  };
  for (Var* var : spec.reads)
    if (find(var) == access_list + access_count) add_access(var, true, false);
  for (Var* var : spec.writes) {
    Access* known = find(var);
    if (known != access_list + access_count)
      known->exclusive = known->writes = true;
    else
      add_access(var, false, true);
  }
}

// As above, in n log n steps.
void Task::add_many_accesses(const TaskSpec& spec) {
  struct Use {
    Var* var;
    size_t position;  // in reads, then writes
    bool reads, writes;
  };
  std::vector<Use> uses;
  uses.reserve(spec.reads.size() + spec.writes.size());
  for (Var* var : spec.reads) uses.push_back({var, uses.size(), true, false});
  for (Var* var : spec.writes) uses.push_back({var, uses.size(), false, true});
  std::ranges::sort(uses, [](const Use& a, const Use& b) {
    return a.var == b.var ? a.position < b.position : std::less<>()(a.var, b.var);
  });
  size_t count = 0;
  for (const Use& use : uses) {
    if (count > 0 && uses[count - 1].var == use.var) {
      uses[count - 1].reads |= use.reads;
      uses[count - 1].writes |= use.writes;
    } else {
      uses[count++] = use;
    }
  }
  uses.resize(count);
  std::ranges::sort(uses, {}, &Use::position);
  if (count > kInlineAccesses) access_list = new Access[count];
  for (const Use& use : uses) add_access(use.var, use.reads, use.writes);
}

Task* Task::make_begun(const TaskSpec& spec) {
  Task* task = slab_new<Task>();
  try {
    task->add_accesses(spec);
  } catch (...) {
    task->destroy();
    throw;
  }
  task->name = spec.name;
  task->stream = spec.stream;
  task->priority = spec.priority;
  task->urgency = spec.urgency;
  task->may_block = spec.may_block;
  task->keeps = spec.keeps;
  task->cost_ns = static_cast<float>(spec.cost_ns);
  task->host_bytes = spec.host_bytes;
  task->reasons.store(static_cast<int32_t>(task->access_count) + 1, std::memory_order_relaxed);
  return task;
}

Task* Task::make_work(const TaskSpec& spec, const BodyType& type, size_t bytes, size_t alignment) {
  Task* task = make_begun(spec);
  try {
    if (bytes <= kInlineBody && alignment <= alignof(std::max_align_t)) {
      task->body = task->inline_body;
    } else if (alignment <= kSlabGranule) {
      task->body = slab_allocate(bytes);
    } else {
      task->body = ::operator new (bytes, std::align_val_t{alignment});
    }
  } catch (...) {
    task->destroy();
    throw;
  }
  task->body_type = &type;
  task->body_bytes = static_cast<uint32_t>(bytes);
  task->body_alignment = static_cast<uint32_t>(alignment);
  return task;
}

Task* Task::make_wait(Var& var, bool for_all) {
  Task* task = slab_new<Task>();
  task->kind = Kind::kWait;
  task->name = "wait";
  task->add_access(&var, true, false);
  task->inline_accesses[0].exclusive = for_all;
  task->reasons.store(3, std::memory_order_relaxed);  // the access, the run, the waiting thread
  return task;
}

void Task::drop(Task* task, int count) noexcept {
  // When all that is left is ours, nobody else can change the number.
  if (task->reasons.load(std::memory_order_acquire) == count ||
      task->reasons.fetch_sub(count, std::memory_order_acq_rel) == count)
    task->destroy();
}

bool Task::writes(const Var& var) noexcept {
  return std::ranges::any_of(accesses(), [&](const Access& a) { return a.var == &var && a.writes; });
}

FailurePtr Task::failure_of_inputs() noexcept {
  for (const Access& access : accesses())
    if (access.reads)
      if (FailurePtr failure = VarAccess::failure(*access.var)) return failure;
  return nullptr;
}

void Task::destroy_body() noexcept {
  if (!body_type) return;
  std::exchange(body_type, nullptr)->destroy(body);
  if (body == inline_body) return;
  if (body_alignment <= kSlabGranule)
    slab_release(body, body_bytes);
  else
    ::operator delete (body, std::align_val_t{body_alignment});
}

void Task::destroy() noexcept {
  if (access_list != inline_accesses) delete[] access_list;
  slab_delete(this);
}

}  // namespace headrace
