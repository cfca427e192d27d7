#include "distributed/scheduler.h"

#include <chrono>
#include <deque>
#include <mutex>
#include <utility>

#include "distributed/channel.h"
#include "distributed/gathering.h"

namespace headrace::distributed {
namespace {

constexpr std::chrono::seconds kShutdownTime{5};

// An open stream to a node, gRPC's side of it. Deletes itself when it is over.
class Attendance final : public grpc::ServerWriteReactor<Notice>, public Listener {
 public:
  explicit Attendance(Gathering& gathering) : gathering_(gathering) {}

  void tell(Notice notice) override {
    std::lock_guard guard(mutex_);
    if (is_closing_ || is_closed_) return;
    waiting_.push_back(std::move(notice));
    if (waiting_.size() == 1) StartWrite(&waiting_.front());
  }
  void finish() override {
    std::lock_guard guard(mutex_);
    is_closing_ = true;
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
    gathering_.leave(*this);
    finish();
  }
  void OnDone() override {
    gathering_.leave(*this);
    delete this;
  }

 private:
  void close() {  // guarded by mutex_
    if (!std::exchange(is_closed_, true)) Finish(grpc::Status::OK);
  }

  Gathering& gathering_;
  std::mutex mutex_;
  std::deque<Notice> waiting_;  // the first is being written
  bool is_closing_ = false, is_closed_ = false;
};

class Service final : public Scheduler::CallbackService {
 public:
  explicit Service(Gathering& gathering) : gathering_(gathering) {}

  grpc::ServerWriteReactor<Notice>* Attend(grpc::CallbackServerContext*, const Node* node) override {
    auto* const attendance = new Attendance(gathering_);
    gathering_.enter(*attendance, *node);
    return attendance;
  }
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext* context, const Arrival* arrival, Empty*) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    gathering_.meet(*arrival, reactor);
    return reactor;
  }
  grpc::ServerUnaryReactor* HasCopied(grpc::CallbackServerContext* context, const Copied* copied, Empty*) override {
    gathering_.take_copied(*copied);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext* context, const Leaving* leaving, Empty*) override {
    gathering_.expect_end(leaving->token());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  Gathering& gathering_;
};

}  // namespace

void run_scheduler(const Job& job) {
  Gathering gathering(job);
  Service service(gathering);
  int port = job.port;
  const std::unique_ptr<grpc::Server> server = serve_at(job, job.host, port, service);
  std::exception_ptr error;
  try {
    gathering.await_end();
  } catch (...) {
    error = std::current_exception();
  }
  server->Shutdown(std::chrono::system_clock::now() + kShutdownTime);
  if (error) std::rethrow_exception(error);
}

}  // namespace headrace::distributed
