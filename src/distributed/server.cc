#include "distributed/server.h"

#include <unistd.h>

#include <deque>
#include <set>

#include "base/check.h"
#include "distributed/channel.h"
#include "distributed/commands.h"
#include "distributed/exchange.h"
#include "distributed/history.h"
#include "distributed/inbox.h"
#include "distributed/membership.h"
#include "distributed/messages.h"
#include "distributed/protocol.grpc.pb.h"
#include "distributed/relay.h"
#include "distributed/served_store.h"
#include "timeline/timeline.h"

namespace headrace::distributed {
namespace {

const char* service_name(const Request& request) noexcept {
  switch (request.what_case()) {
    case Request::kInit:
      return "serve init";
    case Request::kPush:
      return "serve push";
    case Request::kPull:
      return "serve pull";
    case Request::kTransfer:
      return "serve transfer";
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
        heap_(job.shares_memory ? OwnHeap::make() : nullptr),
        clients_(most_workers(job), heap_),
        holdings_(job.limits) {
    if (job.replicas == 1)
      clients_.serve(0, false);
    else
      backup_ = std::make_shared<Backup>([inbox = inbox_, this](const std::string& why) {
        inbox->put([this, why] { end("its backup does not listen: " + why); });
      });
  }

  Stream* Exchange(grpc::CallbackServerContext*) override {
    auto serve_all = [this](std::vector<Asked> asked, std::function<void()> next) {
      inbox_->offer(
          [this, asked = std::move(asked), next = std::move(next)]() mutable {
            for (Asked& one : asked) take(one);
            asked.clear();
            if (backup_ && backup_->is_full()) return backup_->after(next);
            next();
          },
          [this](const Inbox::Job& job) { program_.run(job); });
    };
    return open_stream(clients_, backup_, std::move(serve_all), job_.verbosity);
  }

  void run() {
    int port = 0;
    const std::string host = job_.own_host.empty() ? "0.0.0.0" : job_.own_host;
    const std::unique_ptr<grpc::Server> listening = serve_at(job_, host, port, *this);
    {
      address_ = address_of(own_name(), port);
      timeline::name_thread("server");
      membership_ = std::make_shared<Membership>(job_, address_, observer());
      if (backup_) begin_replicas();
      while (!is_over_) {
        const Inbox::Job job = inbox_->take();
        program_.run(job);
      }
      if (backup_) end_replicas();
      answer_everybody();
      membership_.reset();
    }
    listening->Shutdown(in_time(std::chrono::seconds(2)));
    check(why_.empty(), ErrorKind::kRuntime, "distributed: the server ends: {}", why_);
  }

 private:
  void take(Asked& asked) {
    const timeline::Span span(service_name(asked.request));
    asked.asker.arrive(address_);
    if (job_.verbosity >= Verbosity::kMessages)
      report(job_.verbosity, Verbosity::kMessages, "server at {}: takes request {} of {}: {}, {} bytes", address_,
             asked.asker.number(), Clients::text_of(*asked.client), text_of(asked.request), asked.elements.size());
    Clients::is_primary(*asked.client) ? follow(asked) : serve(asked);
  }

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
                  if (departed.role == Role::kWorker) inbox_->put([this, departed] { depart(departed); });
                },
            .serving = [this](const Serving& told) { inbox_->put([this, told] { change(told); }); },
            .ended = [this](const std::string& why) { inbox_->put([this, why] { end(why); }); }};
  }

  // The first reason counts. Wakes the thread of run(), which may not be the one that calls it.
  void end(const std::string& why) {
    if (std::exchange(is_over_, true)) return;
    why_ = why;
    inbox_->put([] {});
  }

  // --- workers come and go ---

  // Nothing, where another one is in its place already.
  void depart(const Departed& departed) {
    uint64_t& newest = newest_[static_cast<uint32_t>(departed.rank)];
    if (departed.incarnation < newest) return;
    newest = departed.incarnation;
    departed_.insert_or_assign(departed.rank, departed);
    for (auto& [number, store] : stores_) {
      if (membership_->is_open() && departed.rank == 0 && store.is_restoring())
        end(text_of(departed) + " before it had brought back what the job goes on from");
      store.depart(departed);
    }
    if (relay_) relay_->depart(departed);
    if (departed.rank == 0) thaw();
  }

  // A request of a worker has come. If it is another one than before, that one is not there any more.
  void note(const Asked& asked) {
    const uint32_t rank = asked.client->rank();
    uint64_t& newest = newest_[rank];
    if (asked.asker.incarnation() <= newest) return;
    if (newest > 0) depart({Role::kWorker, static_cast<int>(rank), true, newest});
    newest = asked.asker.incarnation();
    if (rank == 0 && is_frozen_ && frozen_by_ < newest) thaw();
    departed_.erase(static_cast<int>(rank));
    for (auto& [number, store] : stores_) store.arrive(rank);
  }

  // --- replicas ---

  void begin_replicas() {
    const Membership& membership = *membership_;
    identity_ = {static_cast<uint32_t>(membership.rank()), membership.incarnation()};
    number_ = identity_.rank % static_cast<uint32_t>(job_.servers);
    const Serving& own = membership.servers()[number_];
    identity_.epoch = own.epoch();
    if (own.address() != address_) return;
    is_serving_ = true;
    if (!own.backup().empty()) backup_->begin(job_, own.backup(), of_primary(), heap_);
    history::write("serving", fmt::format("{} {}", number_, identity_.epoch));
    clients_.serve(identity_.epoch, false);
  }

  Identity of_primary() const {
    Identity identity = identity_;
    identity.is_primary = true;
    return identity;
  }

  // A process that is not the one any more that serves tells nobody anything, not even that it ends.
  void end_replicas() {
    if (why_.empty()) return backup_->end();
    backup_->stop();
    clients_.stop();
  }

  void change(const Serving& told) {
    if (told.server() != number_ || is_over_) return;
    if (told.address() == address_ && !is_serving_) return take_over(told.epoch());
    if (told.address() != address_ && is_serving_) return end("another process serves in its place");
    if (is_serving_ && !told.backup().empty() && !backup_->is_there()) return copy_to(told.backup());
    if (is_serving_ && told.is_backed()) {
      fmt::print(stderr, "server {}: another backup stands by\n", number_);
      history::write("backed", fmt::format("{} {}", number_, told.epoch()));
    }
    if (is_serving_ && told.backup().empty()) {
      fmt::print(stderr, "server {}: its backup was lost; it goes on alone\n", number_);
      backup_->end();
    }
  }

  // Answers wait for what is told from here on; the scheduler may have the backup serve when it has all of it.
  void copy_to(const std::string& address) {
    backup_->begin(job_, address, of_primary(), heap_);
    Request begin;
    begin.mutable_repeated()->set_copied(fmt::format("{} {}", identity_.incarnation, ++copies_));
    history::write("copying", begin.repeated().copied());
    backup_->tell(std::move(begin), {});
    for (const std::shared_ptr<Client>& client : clients_.workers()) {
      Request request;
      *request.mutable_repeated() = client->owed_answers();
      backup_->tell(std::move(request), {});
    }
    for (auto& [number, store] : stores_) store.copy_to_backup();
    if (relay_) relay_->copy_to(*backup_);
    if (is_frozen_) {
      Request request;
      request.mutable_repeated()->set_incarnation(frozen_by_);
      request.mutable_repeated()->mutable_command()->set_head(kFreeze);
      backup_->tell(std::move(request), {});
    }
    backup_->after([membership = std::weak_ptr(membership_), address] {
      if (const std::shared_ptr<Membership> there = membership.lock()) there->tell_copied(address);
    });
  }

  void take_over(uint64_t epoch) {
    fmt::print(stderr, "server {}: its process was lost; the backup serves in its place, in epoch {}\n", number_,
               epoch);
    identity_.epoch = epoch;
    is_serving_ = true;
    for (auto& [number, store] : stores_) store.settle();
    history::write("serving", fmt::format("{} {}", number_, epoch));
    clients_.serve(epoch, true);
  }

  // What the primary tells. What cannot be followed ends this process: it is no backup.
  void follow(Asked& asked) {
    try {
      if (is_serving_ || is_over_ || !asked.is_admitted()) return;
      Request& request = asked.request;
      if (request.has_outcome())
        store_for(request.outcome().place()).take_outcome(std::move(*request.mutable_outcome()), asked.elements);
      else
        repeat(std::move(*request.mutable_repeated()), asked.elements);
      asked.asker.answer(grpc::Status::OK);
    } catch (const std::exception& error) {
      end(fmt::format("it cannot follow the server that it stands by for: {}", error.what()));
    }
  }

  // What went wrong with it did so there, too.
  void repeat(Repeated&& told, const Elements& elements) {
    if (!told.copied().empty()) return history::write("copied", told.copied());
    const std::shared_ptr<Client> client = clients_.followed(told);
    if (told.has_transfer()) return keep(told, elements);
    if (!told.has_init() && !told.has_command()) return client->adopt(told);
    Request request;
    request.set_number(told.number());
    if (told.has_init())
      *request.mutable_init() = std::move(*told.mutable_init());
    else
      *request.mutable_command() = std::move(*told.mutable_command());
    if (request.command().head() == kFreeze) {  // its answer is this process's own, when somebody asks again
      is_frozen_ = true;
      frozen_by_ = told.incarnation();
      if (told.number() > 0) write_frozen(told.incarnation(), told.number());  // a copy's history has it
      return;
    }
    if (request.command().settings() == 0 || request.command().place().asynchronous())  // which count at once
      for (auto& [number, store] : stores_) store.settle();
    const Asker asker(client, told.incarnation(), told.number());
    Asked asked{std::move(request), elements, asker, client, nullptr};
    serve_admitted(asked);
  }

  void keep(const Repeated& told, const Elements& elements) {
    try {
      relay().take(told.rank(), told.transfer(), elements, nullptr);
    } catch (const Error&) {  // nor did the primary take it
    }
  }

  // Whether a request changes something, other than by a push.
  static bool is_change(const Asked& asked) {
    if (asked.request.has_transfer()) return true;
    if (asked.request.has_init()) return asked.client->rank() == 0;
    if (!asked.request.has_command()) return false;
    const int head = asked.request.command().head();
    return asked.request.command().settings() > 0 ||
           (head != kGetStates && head != kWorkerStates && head != kAskRestored && head != kGetSettings &&
            head != kHasRestored && head != kAwaited && head != kProfile && head != kGetScale);
  }

  void tell_change(const Asked& asked) {
    Request request;
    Repeated& told = *request.mutable_repeated();
    told.set_rank(asked.client->rank());
    told.set_incarnation(asked.asker.incarnation());
    told.set_number(asked.request.number());
    told.set_owed(asked.client->owed());
    if (asked.request.has_transfer()) {
      *told.mutable_transfer() = asked.request.transfer();
      if (told.transfer().has_value()) told.mutable_transfer()->mutable_value()->clear_place();
    } else if (asked.request.has_init()) {
      *told.mutable_init() = asked.request.init();
      told.mutable_init()->mutable_value()->clear_place();  // in memory of the worker
    } else {
      *told.mutable_command() = asked.request.command();
    }
    backup_->tell(std::move(request), {.elements = asked.elements});
  }

  // --- requests ---

  void serve(Asked& asked) {
    if (must_wait(asked)) {
      waiting_.insert(asked.client->rank());
      return held_.push_back(std::move(asked));
    }
    try {
      if (!asked.is_admitted()) return;
      if (is_over_) return asked.asker.answer({grpc::StatusCode::UNAVAILABLE, end_text()});
    } catch (const std::exception& error) {
      return asked.asker.answer({grpc::StatusCode::INTERNAL, error.what()});
    }
    note(asked);
    if (backup_ && backup_->is_there() && is_change(asked)) tell_change(asked);
    serve_admitted(asked);
  }

  void serve_admitted(Asked& asked) {
    try {
      serve_what(asked);
    } catch (const Error& error) {
      asked.asker.answer(status_of(error));
    } catch (const std::exception& error) {
      asked.asker.answer({grpc::StatusCode::INTERNAL, error.what()});
    }
  }

  // Requests of one worker stay in their order, but for transfers, which have nothing to do with stores: worker 0 may
  // come to one before it brings back what others wait for.
  bool must_wait(const Asked& asked) const {
    const uint32_t rank = asked.client->rank();
    if (rank == 0 || asked.request.has_transfer()) return false;
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
        if (request.command().head() == kFreeze) return asked.asker.answer(freeze(asked));
        if (request.command().head() == kThaw) {
          thaw();
          return asked.asker.answer(grpc::Status::OK);
        }
        store_for(request.command().place()).command(request.command(), asked.asker);
        if (asked.client->rank() == 0 && !is_frozen_) serve_held();  // it may be what others wait for
        return;
      case Request::kTransfer:
        return relay().take(asked.client->rank(), request.transfer(), asked.elements, &asked.asker);
      case Request::kOutcome:
      case Request::kRepeated:
      case Request::WHAT_NOT_SET:
        fail(ErrorKind::kValue, "distributed: a request that no worker has came");
    }
  }

  // What has been served of each worker, as {"rank": [incarnation, number of the last request]}.
  std::string freeze(const Asked& asked) {
    const uint32_t rank = asked.client->rank();
    check(rank == 0, ErrorKind::kValue, "kvstore save_checkpoint: worker 0 saves checkpoints, but worker {} asked",
          rank);
    frozen_by_ = asked.asker.incarnation();
    if (!std::exchange(is_frozen_, true))  // a backup that has taken over may know of it
      write_frozen(asked.asker.incarnation(), asked.request.number());
    if (backup_ && backup_->is_there()) backup_->after([] { history::pass("frozen"); });
    std::vector<std::string> entries;
    for (const auto& [worker, served] : clients_.served())
      entries.push_back(fmt::format("\"{}\": [{}, {}]", worker, served.incarnation, served.last));
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
  }

  static void write_frozen(uint64_t incarnation, uint64_t number) {
    history::write("frozen", fmt::format("{} {}", incarnation, number));
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
    const auto [found, is_new] = stores_.try_emplace(number, place, membership_->workers(), membership_->is_open(),
                                                     program_, holdings_, later(), backup_);
    if (is_new)
      for (const auto& [rank, worker] : departed_) found->second.depart(worker);
    ServedStore& store = found->second;
    if (store.is_asynchronous() != place.asynchronous() || store.staleness() != place.staleness())
      store.fail_for_all(
          fmt::format("kvstore create: rank {} makes {} where another rank makes {}; all ranks make the same stores in "
                      "the same order",
                      place.rank(), kind_of(place.asynchronous(), place.staleness()),
                      kind_of(store.is_asynchronous(), store.staleness())));
    return store;
  }

  static std::string kind_of(bool asynchronous, uint32_t staleness) {
    const char* const kind = asynchronous ? "an asynchronous store" : "a synchronous store";
    return staleness == 0 ? kind : fmt::format("{} of staleness {}", kind, staleness);
  }

  Relay& relay() {
    if (!relay_) {
      check(!membership_->is_open(), ErrorKind::kRuntime,
            "distributed: workers come and go in this job, so they exchange nothing");
      relay_.emplace(membership_->workers());
      for (const auto& [rank, worker] : departed_) relay_->depart(worker);
    }
    return *relay_;
  }

  std::string end_text() const { return why_.empty() ? "the server has ended" : "the server has ended: " + why_; }

  Later later() const {
    return [inbox = inbox_](std::function<void()> job) { inbox->put(std::move(job)); };
  }

  void answer_everybody() {
    thaw();
    for (auto& [number, store] : stores_) store.give_up(end_text());
    if (relay_) relay_->give_up(end_text());
    for (const Inbox::Job& job : inbox_->close()) job();
    program_.run([&] { stores_.clear(); });  // with their updaters
  }

  const Job& job_;
  ServerProgram& program_;
  const std::shared_ptr<OwnHeap> heap_;
  Clients clients_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Holdings holdings_;
  std::map<int, ServedStore> stores_;
  std::optional<Relay> relay_;           // none: no transfer has come
  std::map<int, Departed> departed_;     // workers, by rank
  std::map<uint32_t, uint64_t> newest_;  // incarnation that has been heard of, by rank
  bool is_frozen_ = false;
  uint64_t frozen_by_ = 0;          // incarnation of worker 0
  std::set<uint32_t> waiting_;      // workers some of whose requests are held
  std::deque<Asked> held_;          // requests of workers other than 0, while it is frozen or something is brought back
  std::shared_ptr<Backup> backup_;  // null: the job has no replicas; these are of one that has
  std::shared_ptr<Membership> membership_;
  std::string address_;  // of this process
  uint32_t number_ = 0;  // of the server that it is, or stands by for
  Identity identity_ = {};
  bool is_serving_ = false;
  int copies_ = 0;
  bool is_over_ = false;
  std::string why_;
};

}  // namespace

void run_server(const Job& job, ServerProgram& program) { ParameterServer(job, program).run(); }

}  // namespace headrace::distributed
