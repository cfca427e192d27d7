#include "distributed/session.h"

#include <unistd.h>

#include <cstdlib>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/interruption.h"
#include "distributed/channel.h"
#include "distributed/history.h"
#include "engine/runtime.h"

namespace headrace::distributed {
namespace {

Job job_of_worker(const std::string& type, bool asynchronous) {
  Job job = job_of_environment();
  job.asynchronous = asynchronous;
  check(job.role == Role::kWorker, ErrorKind::kValue,
        "kvstore create: several processes share a '{}' store, but this one is {}; start the program with `python -m "
        "headrace.launch -n 2 python PROGRAM.py`, or as MXNet's launcher does",
        type, job.role == Role::kNone ? "alone" : role_name(job.role));
  check(job.joins || job.servers > 0, ErrorKind::kValue,
        "kvstore create: the job has no servers, which hold what a '{}' store holds; start it with -s 1 or more", type);
  return job;
}

std::unique_ptr<Session>& session() {
  static auto* const known = new std::unique_ptr<Session>;
  return *known;
}

}  // namespace

// Left before the libraries below end.
Session& Session::get(const std::string& type, bool asynchronous) {
  static std::mutex mutex;
  std::lock_guard guard(mutex);
  std::unique_ptr<Session>& known = session();
  if (!known) {
    runtime();
    const Job job = job_of_worker(type, asynchronous);
    known = std::make_unique<Session>(job, [routes = job.routes](const std::string& address) {
      const auto route = routes.find(address);
      return route == routes.end() ? address : route->second;
    });
    std::atexit([] {  // a forked process has none of the threads that would have to end
      if (session() && session()->is_own()) session().reset();
    });
  }
  known->check_is_own();
  return *known;
}

Session::Session(const Job& job, const Route& route)
    : most_bytes_(job.limits.message_bytes),
      has_replicas_(job.replicas > 1),
      room_(std::make_shared<Room>(job.limits.unanswered_bytes)),
      route_(route),
      membership_(job, {},
                  {.departed =
                       [this](const Departed& departed) {
                         if (departed.role == Role::kServer)
                           lose(text_of(departed), static_cast<size_t>(departed.rank));
                       },
                   .serving = [this](const Serving& serving) { follow(serving); },
                   .stands = [this](const std::string& why) { lose(why, {}); },
                   .ended = [this](const std::string& why) { lose(why, {}); }}),
      standstill_([this] { return moving_ == 0 && runtime().engine.rests(); },
                  [] { return runtime().engine.is_awaited(); },
                  [this](const Standing& standing) { membership_.stand(standing); }) {
  history::write("joined", fmt::format("{} {}", rank(), membership_.incarnation()));
  const std::shared_ptr<OwnHeap> heap = job.shares_memory ? OwnHeap::make() : nullptr;
  {
    std::lock_guard guard(mutex_);
    for (const Serving& begun : membership_.servers()) {
      const Serving& serving = serving_.try_emplace(begun.server(), begun).first->second;  // others may serve already
      const Identity identity{static_cast<uint32_t>(rank()), membership_.incarnation(), serving.epoch()};
      links_.push_back(std::make_unique<Link>(job, route_(serving.address()), identity, heap));
    }
    for (const auto& [server, why] : lost_) links_[server]->give_up(why);
    if (!lost_all_.empty())
      for (const std::unique_ptr<Link>& link : links_) link->give_up(lost_all_);
  }
  for (const std::unique_ptr<Link>& link : links_) link->await();
}

// Nobody tries to reach a server that is known to be lost.
void Session::lose(const std::string& why, std::optional<size_t> server) {
  fail_with(fmt::format("kvstore: {}", why));
  std::unique_lock lock(mutex_);
  std::vector<Link*> links;
  if (server) {
    lost_.try_emplace(*server, why);
    if (*server < links_.size()) links.push_back(links_[*server].get());
  } else {
    lost_all_ = why;
    for (const std::unique_ptr<Link>& link : links_) links.push_back(link.get());
  }
  lock.unlock();
  for (Link* const link : links) link->give_up(why);
}

// What is on its way is repeated there.
void Session::follow(const Serving& serving) {
  std::unique_lock lock(mutex_);
  serving_[serving.server()] = serving;
  if (links_.size() <= serving.server()) return;
  Link& link = *links_[serving.server()];
  lock.unlock();
  link.move(route_(serving.address()), serving.epoch());
}

std::string Session::name_of(size_t server) const {
  std::lock_guard guard(mutex_);
  return fmt::format("server {} at {}", server, serving_.at(server).address());
}

bool Session::is_own() const noexcept { return getpid() == process_; }

void Session::check_is_own() const {
  check(is_own(), ErrorKind::kRuntime,
        "kvstore: a process that a worker has forked uses a store that several processes share; only the worker itself "
        "takes part in the job");
}

void Session::barrier() {
  runtime().engine.hand_over();
  raise_failure();
  membership_.barrier();
}

Session::~Session() {
  {
    std::lock_guard guard(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return announced_ == 0 && awaiting_ == 0; });
}

// --- what is sent ----------------------------------------------------------------------------------------------------

std::shared_ptr<void> Session::announce() {
  check_is_own();
  {
    std::lock_guard guard(mutex_);
    ++announced_;
  }
  return {this, [](Session* session) {
            std::lock_guard guard(session->mutex_);
            --session->announced_;
            if (session->is_ending_) session->changed_.notify_all();
          }};
}

void Session::check_size(const char* of, const char* what, size_t server, const Request& request,
                         const Load& load) const {
  const size_t bytes = request.ByteSizeLong() + load.elements.size();
  check(bytes <= most_bytes_, ErrorKind::kValue,
        "{} {}: a message of {} bytes for {} passes the limit of {}; keep the array in several keys, start more "
        "servers, which share large dense ones, or raise HEADRACE_MAX_MESSAGE_MB for all processes of the job",
        of, what, bytes, name_of(server), most_bytes_);
}

// Of replicas a synchronous push is answered when its round is closed.
std::shared_ptr<Room::Cargo> Session::book(size_t bytes, bool asynchronous) {
  return asynchronous || !has_replicas_ ? room_->book(bytes) : nullptr;
}

void Session::send(size_t server, Request request, Load load, std::shared_ptr<Room::Cargo> cargo) {
  check_size("kvstore", "push", server, request, load);
  const bool counts = request.push().failure().empty();
  std::string id = history::id_of(request.push(), membership_.incarnation());
  if (cargo) cargo->sent();
  links_[server]->ask(std::move(request), std::move(load),
                      [this, server, counts, id = std::move(id), announced = announce(), cargo = std::move(cargo)](
                          const grpc::Status& status, Reply&&, Elements&&) {
                        if (status.ok() && counts)
                          history::write("acknowledged", id);
                        else if (!status.ok())
                          fail_with(fmt::format("kvstore push: {}: {}", name_of(server), text_of(status)));
                      });
}

void Session::transfer(size_t server, Request request, Load load, bool moves, Hear hear) {
  check_is_own();
  check_size("distributed", "exchange", server, request, load);
  moving_ += moves;
  links_[server]->ask(
      std::move(request), std::move(load),
      [this, moves, hear = std::move(hear)](const grpc::Status& status, Reply&& reply, Elements&& elements) {
        moving_ -= moves;
        hear(status, std::move(reply), std::move(elements));
      });
}

void Session::fail_with(const std::string& why) {
  std::lock_guard guard(mutex_);
  if (failure_.empty()) failure_ = why;
}

void Session::raise_failure() const {
  check_is_own();
  std::lock_guard guard(mutex_);
  check(failure_.empty(), ErrorKind::kRuntime, "{}", failure_);
}

// --- what is asked for -----------------------------------------------------------------------------------------------

std::shared_ptr<Session::Answers> Session::ask(const char* what, std::vector<Call>& calls) {
  check_is_own();
  for (const Call& call : calls) check_size("kvstore", what, call.server, call.request, call.load);
  const auto answers = std::make_shared<Answers>();  // guarded by mutex_
  answers->statuses.resize(calls.size());
  answers->replies.resize(calls.size());
  answers->missing = calls.size();
  for (size_t i = 0; i < calls.size(); ++i)
    links_[calls[i].server]->ask(std::move(calls[i].request), std::move(calls[i].load),
                                 [this, answers, i](const grpc::Status& status, Reply&& reply, Elements&& elements) {
                                   std::lock_guard guard(mutex_);
                                   answers->statuses[i] = status;
                                   answers->replies[i] = {std::move(reply), std::move(elements)};
                                   if (--answers->missing == 0) changed_.notify_all();
                                 });
  return answers;
}

bool Session::exchange_with_all(const char* what, const Request& request) {
  std::vector<Call> calls;
  for (size_t server = 0; server < servers(); ++server) calls.push_back({.server = server, .request = request});
  return exchange(what, calls);
}

bool Session::has_come(const Answers& answers, size_t i) const {
  std::lock_guard guard(mutex_);
  return !answers.statuses[i].ok() || answers.replies[i].first.number() > 0;
}

bool Session::await_all(const Answers& answers) {
  runtime().engine.hand_over();
  struct Waiting {
    Session& session;
    ~Waiting() {
      --session.awaiting_;
      if (session.is_ending_) session.changed_.notify_all();
    }
  };
  std::unique_lock lock(mutex_);
  ++awaiting_;
  const Waiting waiting{*this};
  interruptible_wait(changed_, lock, [&] { return answers.missing == 0 || is_ending_; });
  return !is_ending_;
}

bool Session::await(const char* what, Answers& answers, std::vector<Call>& calls) {
  if (!await_all(answers)) return false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!answers.statuses[i].ok()) {
      raise_failure();  // what happened before explains more
      raise_status(answers.statuses[i], fmt::format("kvstore {}: {}", what, name_of(calls[i].server)));
    }
    std::tie(calls[i].reply, calls[i].elements) = std::move(answers.replies[i]);
  }
  return true;
}

}  // namespace headrace::distributed
