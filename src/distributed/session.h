// Session: a worker's connection to its job: it knows the servers, and what is on its way. One per process.
#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distributed/link.h"
#include "distributed/membership.h"
#include "distributed/room.h"
#include "distributed/standstill.h"

namespace headrace::distributed {

class Session {
 public:
  // Joins the job of this process at the first call, and leaves it when the process ends. `type`: of the store that
  // needs it. Raises ValueError where the process has no job, or is no worker of it, and as Membership does.
  static Session& get(const std::string& type, bool asynchronous);

  // Where a server is reached whose address the scheduler has told.
  using Route = std::function<std::string(const std::string& address)>;

  // Joins. The job is a worker's.
  explicit Session(const Job& job, const Route& route = std::identity());
  // Leaves, after what has to be sent was sent. Who waits for an answer, or asks now, gets none.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const noexcept { return membership_.rank(); }
  // As Membership has them.
  int workers() const noexcept { return membership_.workers(); }
  bool has_joined() const noexcept { return membership_.has_joined(); }
  bool is_open() const noexcept { return membership_.is_open(); }
  size_t servers() const noexcept { return links_.size(); }
  int lost_workers() const noexcept { return membership_.lost_workers(); }
  int take_store_number() noexcept { return stores_++; }
  void barrier();
  // What this worker waits for.
  Standstill& standstill() noexcept { return standstill_; }

  // What is to be sent or asked for later: the session does not end while the result is there.
  std::shared_ptr<void> announce();
  // Where a server on this machine will see an array of so many bytes; null: send the array as pieces.
  BlockPtr block_for(size_t server, size_t bytes) { return links_[server]->block_for(bytes); }
  // Of a push that will be sent. Waits while too much is on its way to the servers; not where their answers wait for
  // other workers.
  std::shared_ptr<Room::Cargo> book(size_t bytes, bool asynchronous);
  // Sends a push and returns; what becomes of it raise_failure() tells. Raises ValueError for one that is too large.
  void send(size_t server, Request request, Load load, std::shared_ptr<Room::Cargo> cargo);
  // Sends a transfer and returns. `hear` as Link has it. Raises ValueError for one that is too large. `moves`: others
  // answer it without their programs, so that this worker does not stand meanwhile.
  void transfer(size_t server, Request request, Load load, bool moves, Hear hear);
  std::string name_of(size_t server) const;
  // Raises RuntimeError when a push has failed since, or a server or the scheduler was lost.
  void raise_failure() const;
  // Whether this is the process that made the session; RuntimeError where it is one that was forked from it, which
  // would speak into the connections of its parent. All that sends or waits asks for it first.
  bool is_own() const noexcept;
  void check_is_own() const;

  // What a server is asked for, and what comes back.
  struct Call {
    size_t server;
    Request request;
    Load load = {};
    Reply reply = {};
    Elements elements = {};
  };
  // Of which some may come when nobody waits any more.
  struct Answers {
    std::vector<grpc::Status> statuses;
    std::vector<std::pair<Reply, Elements>> replies;
    size_t missing;
  };
  // Sends all of them, without what they hold from then on. Raises ValueError for one that is too large. `what` is
  // asked.
  std::shared_ptr<Answers> ask(const char* what, std::vector<Call>& calls);
  // Waits for all answers. False: the process is ending, and nobody wants them. Raises what a server says: ValueError
  // for what is wrong with a request, RuntimeError for what has gone wrong.
  bool await(const char* what, Answers& answers, std::vector<Call>& calls);
  // Whether one of them has come.
  bool has_come(const Answers& answers, size_t i) const;
  bool exchange(const char* what, std::vector<Call>& calls) { return await(what, *ask(what, calls), calls); }
  // Asks every server the same: a round trip, behind all that was sent.
  bool exchange_with_all(const char* what, const Request& request);

 private:
  bool await_all(const Answers& answers);                           // false: the session ends before
  void fail_with(const std::string& why);                           // the first reason counts
  void lose(const std::string& why, std::optional<size_t> server);  // or all of them
  void follow(const Serving& serving);                              // the process that serves from now on
  void check_size(const char* of, const char* what, size_t server, const Request& request, const Load& load) const;

  const pid_t process_ = getpid();
  const size_t most_bytes_;  // of a message
  const bool has_replicas_;
  const std::shared_ptr<Room> room_;
  const Route route_;
  std::atomic<int> stores_{0};
  std::atomic<int> moving_{0};  // transfers that nobody has answered
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int announced_ = 0;  // these: guarded by mutex_
  int awaiting_ = 0;   // calls of exchange()
  bool is_ending_ = false;
  std::string failure_;                       // what has gone wrong first
  std::map<size_t, std::string> lost_;        // servers, by number: why
  std::string lost_all_;                      // why all were; empty: they were not
  std::map<size_t, Serving> serving_;         // by number: who serves
  std::vector<std::unique_ptr<Link>> links_;  // by server; end after
  Membership membership_;                     // this one: the threads of both use what is above
  Standstill standstill_;                     // asks others
};

}  // namespace headrace::distributed
