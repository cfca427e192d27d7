#include "distributed/server.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/commands.h"
#include "distributed/exchange.h"
#include "distributed/history.h"
#include "distributed/membership.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/served_store.h"
#include "timeline/timeline.h"

namespace headrace::distributed {
namespace {

// What is to be done in the thread of the server. Any thread puts, one takes.
class Inbox {
 public:
  using Job = std::function<void()>;

  // After close() the job is done at once.
  void put(Job job) {
    {
      std::lock_guard guard(mutex_);
      if (!is_closed_) {
        jobs_.push_back(std::move(job));
        changed_.notify_one();
        return;
      }
    }
    job();
  }
  // Waits for something to do.
  Job take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !jobs_.empty(); });
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }
  // Gives what is left.
  std::deque<Job> close() {
    std::lock_guard guard(mutex_);
    is_closed_ = true;
    return std::exchange(jobs_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_closed_ = false;
};

const char* service_name(const Request& request) noexcept {
  switch (request.what_case()) {
    case Request::kInit:
      return "serve init";
    case Request::kPush:
      return "serve push";
    case Request::kPull:
      return "serve pull";
    default:
      return "serve command";
  }
}

grpc::Status status_of(const Error& error) {
  const bool is_callers = error.kind() == ErrorKind::kValue || error.kind() == ErrorKind::kType;
  return {is_callers ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::INTERNAL, error.what()};
}

class ParameterServer final : public Server::WithRawCallbackMethod_Exchange<Server::Service> {
 public:
  ParameterServer(const Job& job, ServerProgram& program)
      : job_(job),
        program_(program),
        clients_(job.workers, job.shares_memory ? OwnHeap::make() : nullptr),
        holdings_(job.limits) {}

  Stream* Exchange(grpc::CallbackServerContext*) override {
    return open_stream(clients_, [this](std::vector<Asked> asked, std::function<void()> next) {
      inbox_->put([this, asked = std::move(asked), next = std::move(next)]() mutable {
        for (Asked& one : asked) {
          const timeline::Span span(service_name(one.request));
          one.asker.arrive(address_);
          serve(one);
        }
        asked.clear();
        next();
      });
    });
  }

  void run() {
    int port = 0;
    const std::string host = job_.own_host.empty() ? "0.0.0.0" : job_.own_host;
    const std::unique_ptr<grpc::Server> listening = serve_at(job_, host, port, *this);
    {
      address_ = address_of(own_name(), port);
      timeline::name_thread("server");
      const Membership membership(job_, address_, observer());
      while (!is_over_) {
        const Inbox::Job job = inbox_->take();
        program_.run(job);
      }
      answer_everybody();
    }
    listening->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    check(why_.empty(), ErrorKind::kRuntime, "distributed: the server ends: {}", why_);
  }

 private:
  // What others call this machine.
  std::string own_name() const {
    if (!job_.own_host.empty()) return job_.own_host;
    char name[256] = {};
    check(gethostname(name, sizeof name - 1) == 0, ErrorKind::kOs,
          "distributed: this machine has no name; set DMLC_NODE_HOST to its address");
    return name;
  }

  Observer observer() {
    return {.departed =
                [this](const Departed& departed) {
                  inbox_->put([this, departed] {
                    if (departed.role != Role::kWorker) return;
                    departed_.push_back(departed);
                    for (auto& [number, store] : stores_) store.depart(departed);
                    if (departed.rank == 0) thaw();
                  });
                },
            .ended =
                [this](const std::string& why) {
                  inbox_->put([this, why] {
                    is_over_ = true;
                    why_ = why;
                  });
                }};
  }

  void serve(Asked& asked) {
    if (must_wait(asked)) {
      waiting_.insert(asked.client->rank());
      return held_.push_back(std::move(asked));
    }
    try {
      if (!asked.is_admitted()) return;
      if (is_over_) return asked.asker.answer({grpc::StatusCode::UNAVAILABLE, end_text()});
      serve_what(asked);
    } catch (const Error& error) {
      asked.asker.answer(status_of(error));
    } catch (const std::exception& error) {
      asked.asker.answer({grpc::StatusCode::INTERNAL, error.what()});
    }
  }

  // Requests of one worker stay in their order.
  bool must_wait(const Asked& asked) const {
    const uint32_t rank = asked.client->rank();
    if (rank == 0) return false;
    if (is_frozen_ || waiting_.contains(rank)) return true;
    if (!asked.request.has_push()) return false;
    const auto store = stores_.find(static_cast<int>(asked.request.push().place().store()));
    return store != stores_.end() && store->second.is_restoring();
  }

  void serve_what(Asked& asked) {
    Request& request = asked.request;
    switch (request.what_case()) {
      case Request::kInit:
        return store_for(request.init().place()).init(request.init(), asked.elements, asked.asker);
      case Request::kPush:
        return store_for(request.push().place()).push(request.push(), asked.elements, asked.asker);
      case Request::kPull:
        return store_for(request.pull().place()).pull(std::move(*request.mutable_pull()), asked.asker);
      case Request::kCommand:
        if (request.command().head() == kFreeze) return asked.asker.answer(freeze(asked.client->rank()));
        if (request.command().head() == kThaw) {
          thaw();
          return asked.asker.answer(grpc::Status::OK);
        }
        store_for(request.command().place()).command(request.command(), asked.asker);
        if (asked.client->rank() == 0 && !is_frozen_) serve_held();  // it may be what others wait for
        return;
      case Request::WHAT_NOT_SET:
        fail(ErrorKind::kValue, "distributed: a request for nothing came");
    }
  }

  // What has been served of each worker, as {"rank": [incarnation, number of the last request]}.
  std::string freeze(uint32_t rank) {
    check(rank == 0, ErrorKind::kValue, "kvstore save_checkpoint: worker 0 saves checkpoints, but worker {} asked",
          rank);
    is_frozen_ = true;
    history::write("frozen");
    std::vector<std::string> entries;
    for (const auto& [worker, served] : clients_.served())
      entries.push_back(fmt::format("\"{}\": [{}, {}]", worker, served.incarnation, served.last));
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
  }

  void thaw() {
    is_frozen_ = false;
    serve_held();
  }
  // What needs not wait any more.
  void serve_held() {
    waiting_.clear();
    for (Asked& asked : std::exchange(held_, {})) serve(asked);
  }

  ServedStore& store_for(const Place& place) {
    const int number = static_cast<int>(place.store());
    const auto [found, is_new] = stores_.try_emplace(number, place, job_.workers, program_, holdings_, later());
    if (is_new)
      for (const Departed& worker : departed_) found->second.depart(worker);
    check(
        found->second.is_asynchronous() == place.asynchronous(), ErrorKind::kValue,
        "kvstore create: rank {} makes an {} store where another rank makes an {} one; all ranks make the same stores "
        "in the same order",
        place.rank(), place.asynchronous() ? "asynchronous" : "synchronous",
        place.asynchronous() ? "synchronous" : "asynchronous");
    check(found->second.staleness() == place.staleness(), ErrorKind::kValue,
          "kvstore create: rank {} makes a store of staleness {} where another rank makes one of {}; all ranks make "
          "the same stores in the same order",
          place.rank(), place.staleness(), found->second.staleness());
    return found->second;
  }

  std::string end_text() const { return why_.empty() ? "the server has ended" : "the server has ended: " + why_; }

  Later later() const {
    return [inbox = inbox_](std::function<void()> job) { inbox->put(std::move(job)); };
  }

  void answer_everybody() {
    thaw();
    for (auto& [number, store] : stores_) store.give_up(end_text());
    for (const Inbox::Job& job : inbox_->close()) job();
    program_.run([&] { stores_.clear(); });  // with their updaters
  }

  const Job& job_;
  ServerProgram& program_;
  std::string address_;
  Clients clients_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Holdings holdings_;
  std::map<int, ServedStore> stores_;
  std::vector<Departed> departed_;  // workers
  bool is_frozen_ = false;
  std::set<uint32_t> waiting_;  // workers some of whose requests are held
  std::deque<Asked> held_;      // requests of workers other than 0, while it is frozen or something is brought back
  bool is_over_ = false;
  std::string why_;
};

}  // namespace

void run_server(const Job& job, ServerProgram& program) { ParameterServer(job, program).run(); }

}  // namespace headrace::distributed
