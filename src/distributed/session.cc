#include "distributed/session.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "distributed/channel.h"
#include "engine/runtime.h"

namespace headrace::distributed {
namespace {

Job job_of_worker(const std::string& type) {
  Job job = job_of_environment();
  check(job.role == Role::kWorker, ErrorKind::kValue,
        "kvstore create: several processes share a '{}' store, but this one is {}; start the program with `python -m "
        "headrace.launch -n 2 python PROGRAM.py`, or as MXNet's launcher does",
        type, job.role == Role::kNone ? "alone" : role_name(job.role));
  check(job.servers > 0, ErrorKind::kValue,
        "kvstore create: the job has no servers, which hold what a '{}' store holds; start it with -s 1 or more", type);
  return job;
}

std::unique_ptr<Session>& session() {
  static auto* const known = new std::unique_ptr<Session>;
  return *known;
}

}  // namespace

// Left before the libraries below end.
Session& Session::get(const std::string& type) {
  static std::mutex mutex;
  std::lock_guard guard(mutex);
  std::unique_ptr<Session>& known = session();
  static pid_t owner = 0;
  if (!known) {
    runtime();
    known = std::make_unique<Session>(job_of_worker(type));
    owner = getpid();
    std::atexit([] {  // a forked process has none of the threads that would have to end
      if (getpid() == owner) session().reset();
    });
  }
  check(getpid() == owner, ErrorKind::kRuntime,
        "kvstore: a '{}' store was asked for in a process that a worker has forked; only the worker itself takes part "
        "in the job",
        type);
  return *known;
}

Session::Session(const Job& job)
    : workers_(job.workers),
      membership_(job, {},
                  {.departed =
                       [this](const Departed& departed) {
                         if (departed.role == Role::kServer) fail_with(fmt::format("kvstore: {}", text_of(departed)));
                       },
                   .ended = [this](const std::string& why) { fail_with(fmt::format("kvstore: {}", why)); }}) {
  for (const std::string& address : membership_.servers())
    stubs_.push_back(Server::NewStub(open_channel(job, address)));
}

std::string Session::name_of(size_t server) const {
  return fmt::format("server {} at {}", server, membership_.servers()[server]);
}

void Session::barrier() {
  raise_failure();
  membership_.barrier();
}

Session::~Session() {
  {
    std::lock_guard guard(mutex_);
    is_ending_ = true;
    for (grpc::ClientContext* context : awaited_) context->TryCancel();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return announced_ == 0; });
}

// --- what is sent ----------------------------------------------------------------------------------------------------

std::shared_ptr<void> Session::announce() {
  {
    std::lock_guard guard(mutex_);
    ++announced_;
  }
  return {this, [](Session* session) {
            std::lock_guard guard(session->mutex_);
            --session->announced_;
            session->changed_.notify_all();
          }};
}

void Session::send(size_t server, std::shared_ptr<PushRequest> request) {
  struct Sent {
    grpc::ClientContext context;
    std::shared_ptr<PushRequest> request;
    Empty reply;
    std::shared_ptr<void> announced;
  };
  auto sent = std::make_shared<Sent>();
  sent->request = std::move(request);
  sent->announced = announce();
  const PushRequest& what = *sent->request;
  stubs_[server]->async()->Push(&sent->context, &what, &sent->reply, [this, server, sent](const grpc::Status& status) {
    if (!status.ok()) fail_with(fmt::format("kvstore push: {}: {}", name_of(server), text_of(status)));
  });
}

void Session::fail_with(const std::string& why) {
  std::lock_guard guard(mutex_);
  if (failure_.empty()) failure_ = why;
}

void Session::raise_failure() const {
  std::lock_guard guard(mutex_);
  check(failure_.empty(), ErrorKind::kRuntime, "{}", failure_);
}

// --- what is asked for -----------------------------------------------------------------------------------------------

template <class Request, class Reply, class Start>
bool Session::exchange_by(std::vector<Call<Request, Reply>>& calls, const char* what, const Start& start) {
  struct Asked {
    grpc::ClientContext context;
    grpc::Status status;
  };
  std::vector<std::unique_ptr<Asked>> asked;
  size_t answered = 0;  // guarded by mutex_
  for (Call<Request, Reply>& call : calls) {
    Asked& one = *asked.emplace_back(std::make_unique<Asked>());
    {
      std::lock_guard guard(mutex_);
      awaited_.insert(&one.context);
      if (is_ending_) one.context.TryCancel();
    }
    start(*stubs_[call.server]->async(), &one.context, &call.request, &call.reply, [&](const grpc::Status& status) {
      std::lock_guard guard(mutex_);
      one.status = status;
      awaited_.erase(&one.context);
      ++answered;
      changed_.notify_all();
    });
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answered == calls.size(); });
  if (is_ending_) return false;
  lock.unlock();
  for (size_t i = 0; i < calls.size(); ++i)
    if (!asked[i]->status.ok()) {
      raise_failure();  // what happened before explains more
      raise_status(asked[i]->status, fmt::format("kvstore {}: {}", what, name_of(calls[i].server)));
    }
  return true;
}

bool Session::exchange(std::vector<Call<InitRequest, Empty>>& calls) {
  return exchange_by(calls, "init", [](auto& stub, auto... arguments) { stub.Init(arguments...); });
}
bool Session::exchange(std::vector<Call<PullRequest, Array>>& calls) {
  return exchange_by(calls, "pull", [](auto& stub, auto... arguments) { stub.Pull(arguments...); });
}
bool Session::exchange(std::vector<Call<CommandRequest, Empty>>& calls) {
  return exchange_by(calls, "command", [](auto& stub, auto... arguments) { stub.Command(arguments...); });
}

}  // namespace headrace::distributed
