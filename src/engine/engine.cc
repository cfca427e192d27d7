#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/accelerator.h"
#include "device/observer.h"
#include "device/scratch.h"
#include "engine/scheduler.h"
#include "engine/serial.h"

namespace headrace {
namespace {

Scheduler::Deadline deadline_in(std::chrono::nanoseconds limit) {
  const auto now = std::chrono::steady_clock::now();
  return limit >= Scheduler::kNever - now ? Scheduler::kNever : now + limit;
}

}  // namespace

Engine::Engine(const Config& config) {
  if (config.serial_engine)
    serial_ = std::make_unique<SerialEngine>();
  else
    scheduler_ = std::make_unique<Scheduler>(config);
}

Engine::~Engine() = default;

Engine::Inline Engine::begin_inline(const TaskSpec& spec, InlineFrame& frame) {
  if (!serial_) [[likely]]
    return scheduler_->begin_inline(spec, frame);
  return serial_->begin(spec, frame) ? Inline::kRun : Inline::kSkip;
}

void Engine::end_inline(InlineFrame& frame, const std::exception_ptr& error) noexcept {
  if (!serial_) [[likely]]
    scheduler_->end_inline(frame, error);
  else
    serial_->end(frame, error);
}

Engine::Pending Engine::make_task(const TaskSpec& spec, const BodyType& type, size_t bytes, size_t alignment) {
  Task* task = Task::make_work(spec, type, bytes, alignment);
  return {task, task->body};
}

void Engine::submit(Task* task) { scheduler_->submit(task); }

// Higher goes first; urgency decides within a priority.
static int as_number(Priority priority, int urgency) noexcept {
  constexpr int kLevel = 1 << 24;
  return -static_cast<int>(priority) * kLevel + std::clamp(urgency, -kLevel / 2 + 1, kLevel / 2 - 1);
}

void Engine::report(const TaskSpec& spec) noexcept {
  const auto addresses = [](std::span<Var* const> vars) {
    return std::span(reinterpret_cast<const void* const*>(vars.data()), vars.size());
  };
  PushedWork work{.name = spec.name,
                  .device = {},
                  .flops = spec.flops,
                  .bytes = spec.bytes,
                  .reads = addresses(spec.reads),
                  .writes = addresses(spec.writes),
                  .priority = as_number(spec.priority, spec.urgency)};
  if (spec.stream) {
    work.device = spec.stream->accelerator().device();
    work.role = spec.stream->role();
    work.source = spec.stream->source();
  }
  if (PushObserver* const known = observer()) known->pushed(work);
}

bool Engine::wait(Var& var, bool for_all, std::chrono::nanoseconds limit, FunctionRef<bool()> again) {
  if (PushObserver* const known = observer()) known->waited(&var, for_all);
  if (!serial_) [[likely]]
    return scheduler_->wait(
        var, for_all, [limit] { return deadline_in(limit); }, again);
  serial_->wait(var);
  return true;
}

namespace {

// Work that the calling thread waits for.
class AwaitedWork final : public Work {
 public:
  AwaitedWork(const char* name, Device device, FunctionRef<void()> body) noexcept
      : name_(name), body_(body), scratch_(device) {}

  const char* name() const noexcept override { return name_; }
  void launch() noexcept override {
    try {
      body_();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  bool begin() noexcept override { return !error_; }
  void end() noexcept override {}
  void ran(const timeline::Track&, uint64_t, uint64_t) noexcept override {}
  void fail(std::exception_ptr error) noexcept override { error_ = std::move(error); }
  void* take_scratch(size_t bytes) override { return scratch_.take(bytes); }
  void give_back_scratch(void* block) noexcept override { scratch_.give_back(block); }
  void hold(std::shared_ptr<const void> object) override { held_.push_back(std::move(object)); }
  bool make_room() noexcept override { return false; }

  // It is complete: what became of it.
  const std::exception_ptr& settle() noexcept {
    held_.clear();  // whoever looks after what is held may fail the work until then
    return error_;
  }

 private:
  const char* const name_;
  const FunctionRef<void()> body_;
  Scratch scratch_;
  std::vector<std::shared_ptr<const void>> held_;
  std::exception_ptr error_;
};

}  // namespace

void Engine::run_on_stream(const TaskSpec& spec, FunctionRef<void()> body) {
  Stream& stream = *spec.stream;
  const Accelerator& accelerator = stream.accelerator();
  if (const std::exception_ptr lost = accelerator.lost()) std::rethrow_exception(lost);
  AwaitedWork work(spec.name, accelerator.device(), body);
  const uint64_t number = stream.launch(work).number;
  stream.synchronize(number);
  stream.report_times(number);
  const std::exception_ptr error = work.settle();
  if (const std::exception_ptr lost = accelerator.lost())
    std::rethrow_exception(loss_during(lost, fmt::format("It was running {}.", spec.name)));
  if (error) std::rethrow_exception(error);
}

void Engine::wait_to_read(Var& var) { wait_to_read_for(var, std::chrono::nanoseconds::max()); }
void Engine::wait_to_write(Var& var) { wait_to_write_for(var, std::chrono::nanoseconds::max()); }
bool Engine::wait_to_read_for(Var& var, std::chrono::nanoseconds limit, FunctionRef<bool()> again) {
  return wait(var, false, limit, again);
}
bool Engine::wait_to_write_for(Var& var, std::chrono::nanoseconds limit, FunctionRef<bool()> again) {
  return wait(var, true, limit, again);
}

void Engine::wait_all() { wait_all_for(std::chrono::nanoseconds::max()); }

bool Engine::wait_all_for(std::chrono::nanoseconds limit) {
  if (PushObserver* const known = observer()) known->waited_all();
  if (!serial_) return scheduler_->wait_all(deadline_in(limit));
  serial_->wait_all();
  return true;
}

void Engine::hand_over() noexcept {
  if (scheduler_) scheduler_->hand_over();
}

void Engine::drain() noexcept {
  if (scheduler_) scheduler_->drain();
}

int Engine::worker_count() const noexcept { return serial_ ? 0 : scheduler_->worker_count(); }
bool Engine::serial() const noexcept { return serial_ != nullptr; }
bool Engine::rests() const noexcept { return serial_ || scheduler_->rests(); }
bool Engine::is_awaited() const noexcept { return serial_ || scheduler_->is_awaited(); }
int64_t Engine::pending() const noexcept { return serial_ ? 0 : scheduler_->pending(); }

void Engine::shutdown() noexcept {
  if (scheduler_) scheduler_->shutdown();
}

bool Engine::report_unread_errors() noexcept {
  return (scheduler_ ? scheduler_->failures() : serial_->failures()).report();
}

void Engine::raise_kept() { scheduler_ ? scheduler_->kept().raise_first() : serial_->raise_kept(); }

void Engine::quiesce_for_fork() noexcept {
  if (scheduler_) scheduler_->quiesce_for_fork();
}

void Engine::lock_for_fork() noexcept { scheduler_ ? scheduler_->lock_for_fork() : serial_->lock_for_fork(); }

void Engine::after_fork(bool in_child) noexcept {
  scheduler_ ? scheduler_->after_fork(in_child) : serial_->after_fork(in_child);
}

}  // namespace headrace
