#include "distributed/scheduler.h"

#include <chrono>
#include <deque>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/gathering.h"
#include "distributed/leadership.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kShutdownTime{5};

using SharedGathering = std::shared_ptr<Gathering>;

// An open stream to a node, gRPC's side of it. Deletes itself when it is over.
class Attendance final : public grpc::ServerWriteReactor<Notice>, public Listener {
 public:
  // None: this scheduler does not lead.
  explicit Attendance(SharedGathering gathering) : gathering_(std::move(gathering)) {}

  void begin(const Node& node) { gathering_ ? gathering_->enter(*this, node) : finish(not_leading()); }

  void tell(Notice notice) override {
    std::lock_guard guard(mutex_);
    if (is_closing_ || is_closed_) return;
    waiting_.push_back(std::move(notice));
    if (waiting_.size() == 1) StartWrite(&waiting_.front());
  }
  void finish(const grpc::Status& status) override {
    std::lock_guard guard(mutex_);
    if (!std::exchange(is_closing_, true)) status_ = status;
    if (waiting_.empty()) close();
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard guard(mutex_);
    waiting_.pop_front();
    if (!ok) waiting_.clear();
    if (!waiting_.empty())
      StartWrite(&waiting_.front());
    else if (is_closing_ || !ok)
      close();
  }
  void OnCancel() override {
    leave();
    finish(grpc::Status::OK);
  }
  void OnDone() override {
    leave();
    delete this;
  }

 private:
  void close() {  // guarded by mutex_
    if (!std::exchange(is_closed_, true)) Finish(status_);
  }
  void leave() {
    if (gathering_) gathering_->leave(*this);
  }

  const SharedGathering gathering_;
  std::mutex mutex_;
  std::deque<Notice> waiting_;  // the first is being written
  grpc::Status status_;
  bool is_closing_ = false, is_closed_ = false;
};

class Service final : public Scheduler::CallbackService {
 public:
  // From now on; null: this scheduler does not lead.
  void lead(SharedGathering gathering) {
    std::lock_guard guard(mutex_);
    gathering_ = std::move(gathering);
  }

  grpc::ServerWriteReactor<Notice>* Attend(grpc::CallbackServerContext*, const Node* node) override {
    auto* const attendance = new Attendance(gathering());
    attendance->begin(*node);
    return attendance;
  }
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext* context, const Arrival* arrival, Empty*) override {
    return answered(context, [&](Gathering& gathering, auto* reactor) { gathering.meet(*arrival, reactor); });
  }
  grpc::ServerUnaryReactor* Stand(grpc::CallbackServerContext* context, const Standing* standing, Empty*) override {
    return answered(context, [&](Gathering& gathering, auto* reactor) {
      gathering.stand(*standing);
      reactor->Finish(grpc::Status::OK);
    });
  }
  grpc::ServerUnaryReactor* HasCopied(grpc::CallbackServerContext* context, const Copied* copied, Empty*) override {
    return answered(context, [&](Gathering& gathering, auto* reactor) {
      gathering.take_copied(*copied);
      reactor->Finish(grpc::Status::OK);
    });
  }
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const Leaving* leaving, Empty*) override {
    return answered(context,
                    [&](Gathering& gathering, auto* reactor) { gathering.expect_end(leaving->token(), reactor); });
  }

 private:
  SharedGathering gathering() {
    std::lock_guard guard(mutex_);
    return gathering_;
  }
  template <class Work>
  grpc::ServerUnaryReactor* answered(grpc::CallbackServerContext* context, const Work& work) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (const SharedGathering there = gathering())
      work(*there, reactor);
    else
      reactor->Finish(not_leading());
    return reactor;
  }

  std::mutex mutex_;
  SharedGathering gathering_;
};

// Leads until the job is over; false: until another scheduler does.
bool lead(Service& service, const SharedGathering& gathering) {
  service.lead(gathering);
  return gathering->await_end();
}

void end_all(Leadership& leadership, const std::exception_ptr& error) {
  leadership.finish();
  if (error) std::rethrow_exception(error);
}

// Stands by, leads, and stands by again, until the job is over.
void lead_by_turns(const Job& job, Service& service) {
  Leadership leadership(job);
  while (leadership.await()) {
    const auto gathering = std::make_shared<Gathering>(job, leadership.kept(), leadership);
    leadership.hold([gathering] { gathering->abandon(); });
    if (leadership.kept().state.seats_size() > 0)
      fmt::print(stderr, "scheduler at {}: it leads from now on\n", address_of(job.host, job.port));
    bool is_over = false;
    std::exception_ptr error;
    try {
      is_over = lead(service, gathering);
    } catch (...) {
      error = std::current_exception();
    }
    service.lead(nullptr);
    if (is_over || !gathering->is_abandoned()) return end_all(leadership, error);
    leadership.resign();
    if (error) std::rethrow_exception(error);
    fmt::print(stderr, "scheduler at {}: it leads no more; another one may\n", address_of(job.host, job.port));
  }
}

}  // namespace

void run_scheduler(const Job& job) {
  Service service;
  int port = job.port;
  const std::unique_ptr<grpc::Server> server = serve_at(job, job.host, port, service);
  std::exception_ptr error;
  try {
    if (job.etcd.empty())
      lead(service, std::make_shared<Gathering>(job));
    else
      lead_by_turns(job, service);
  } catch (...) {
    error = std::current_exception();
  }
  server->Shutdown(in_time(kShutdownTime));
  if (error) std::rethrow_exception(error);
}

}  // namespace headrace::distributed
