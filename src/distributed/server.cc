#include "distributed/server.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/membership.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/served_store.h"

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

grpc::Status status_of(const Error& error) {
  const bool is_callers = error.kind() == ErrorKind::kValue || error.kind() == ErrorKind::kType;
  return {is_callers ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::INTERNAL, error.what()};
}

class ParameterServer final : public Server::CallbackService {
 public:
  ParameterServer(const Job& job, ServerProgram& program) : job_(job), program_(program) {}

  grpc::ServerUnaryReactor* Init(grpc::CallbackServerContext* context, const InitRequest* request, Empty*) override {
    return queue(context, request->place(),
                 [request](ServedStore& store, Answer answer) { store.init(*request, std::move(answer)); });
  }
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context, const PushRequest* request, Empty*) override {
    return queue(context, request->place(),
                 [request](ServedStore& store, const Answer& answer) { store.push(*request, answer); });
  }
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context, const PullRequest* request,
                                 Array* reply) override {
    return queue(context, request->place(), [request, reply](ServedStore& store, Answer answer) {
      store.pull(*request, *reply, std::move(answer));
    });
  }
  grpc::ServerUnaryReactor* Command(grpc::CallbackServerContext* context, const CommandRequest* request,
                                    Empty*) override {
    return queue(context, request->place(),
                 [request](ServedStore& store, const Answer& answer) { store.command(*request, answer); });
  }

  void run() {
    int port = 0;
    const std::string host = job_.own_host.empty() ? "0.0.0.0" : job_.own_host;
    const std::unique_ptr<grpc::Server> listening = serve_at(job_, host, port, *this);
    {
      const Membership membership(job_, address_of(own_name(), port), observer());
      while (!is_over_) {
        const Inbox::Job job = inbox_.take();
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
                  inbox_.put([this, departed] {
                    if (departed.role != Role::kWorker) return;
                    departed_.push_back(departed);
                    for (auto& [number, store] : stores_) store.depart(departed);
                  });
                },
            .ended =
                [this](const std::string& why) {
                  inbox_.put([this, why] {
                    is_over_ = true;
                    why_ = why;
                  });
                }};
  }

  template <class Serve>
  grpc::ServerUnaryReactor* queue(grpc::CallbackServerContext* context, const Place& place, Serve serve) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const Answer answer = [reactor](const grpc::Status& status) { reactor->Finish(status); };
    inbox_.put([this, &place, serve = std::move(serve), answer] {
      if (is_over_) return answer({grpc::StatusCode::UNAVAILABLE, "the server has ended"});
      try {
        serve(store_for(place), answer);
      } catch (const Error& error) {
        answer(status_of(error));
      } catch (const std::exception& error) {
        answer({grpc::StatusCode::INTERNAL, error.what()});
      }
    });
    return reactor;
  }

  ServedStore& store_for(const Place& place) {
    const int number = static_cast<int>(place.store());
    const auto [found, is_new] = stores_.try_emplace(number, number, job_.workers, place.asynchronous(), program_);
    if (is_new)
      for (const Departed& worker : departed_) found->second.depart(worker);
    check(
        found->second.is_asynchronous() == place.asynchronous(), ErrorKind::kValue,
        "kvstore create: rank {} makes an {} store where another rank makes an {} one; all ranks make the same stores "
        "in the same order",
        place.rank(), place.asynchronous() ? "asynchronous" : "synchronous",
        place.asynchronous() ? "synchronous" : "asynchronous");
    return found->second;
  }

  void answer_everybody() {
    for (auto& [number, store] : stores_) store.give_up("the server has ended");
    for (const Inbox::Job& job : inbox_.close()) job();
    program_.run([&] { stores_.clear(); });  // with their updaters
  }

  const Job& job_;
  ServerProgram& program_;
  Inbox inbox_;
  std::map<int, ServedStore> stores_;
  std::vector<Departed> departed_;  // workers
  bool is_over_ = false;
  std::string why_;
};

}  // namespace

void run_server(const Job& job, ServerProgram& program) { ParameterServer(job, program).run(); }

}  // namespace headrace::distributed
