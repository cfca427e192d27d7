// Clients: what a server knows of the workers it serves, across their streams: which requests it has served, and the
// answers that it still owes. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "distributed/connection.h"

namespace headrace::distributed {

// One worker. Its requests are numbered from 1 on, and come in order: when a stream breaks it repeats, on the next one,
// those that it has no answer to. What changes nothing is served again then; other answers are kept until the worker
// says that they have come.
class Client {
 public:
  // `takes_over`: what the worker has asked was asked of another process, in whose place this one is.
  explicit Client(uint32_t rank, std::shared_ptr<OwnHeap> heap, bool takes_over = false)
      : rank_(rank), takes_over_(takes_over), loans_(std::make_shared<Loans>(std::move(heap))) {}

  uint32_t rank() const noexcept { return rank_; }
  // What has been served: all requests up to a number.
  struct Served {
    uint64_t incarnation, last;
  };
  Served served() const;

  // Another stream of the worker, which begins by the greeting, takes the place of the one before. Raises RuntimeError
  // for an incarnation that is older than one that was here.
  void enter(const Greeting& greeting, std::shared_ptr<Connection> connection);
  // Whether no other stream has taken its place.
  bool is_latest(const Connection& connection) const;

  // Whether a request that has come by this connection is to be served. One that was served before is answered again;
  // what comes by another stream than the latest is dropped. A transfer need not wait for requests before it, which are
  // admitted later; for others that are missing it raises RuntimeError.
  bool admit(const Request& request, const Connection& from);
  void answer(uint64_t incarnation, Reply reply, Load load);
  // Their answers have come.
  void forget(const Frame& frame, const Connection& from);

  BlockPtr block_for(size_t bytes) const;

  // --- replicas ---
  // The answers to requests below it have come.
  uint64_t owed() const;
  // A process in whose place this one may be has served, or is about to serve, a request of this incarnation.
  void follow(uint64_t incarnation, uint64_t owed);
  // What the worker may not have heard, with no request, as another process takes it by adopt().
  Repeated owed_answers() const;
  void adopt(const Repeated& told);
  // From now on the worker asks this process.
  void take_over();
  // Its stream is listened to no more.
  void close();

 private:
  void begin_anew(uint64_t incarnation);  // mutex_ is locked

  const uint32_t rank_;
  bool takes_over_;  // guarded by mutex_
  const std::shared_ptr<Loans> loans_;
  mutable std::mutex mutex_;
  std::shared_ptr<Connection> connection_;  // of the latest stream; these: guarded by mutex_
  uint64_t incarnation_ = 0;
  uint64_t last_ = 0;                  // request that has come, and all before it
  std::set<uint64_t> early_;           // that have come before others
  std::set<uint64_t> waiting_;         // for an answer
  std::map<uint64_t, Reply> answers_;  // that may not have come
  std::set<uint64_t> missing_;         // requests up to the last one that another process has not served
};

// A server that does not serve, or not yet. Another attempt may find it serving.
class NotServing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Clients {
 public:
  // `workers`: their ranks are below it.
  Clients(int workers, std::shared_ptr<OwnHeap> heap) : workers_(workers), heap_(std::move(heap)) {}

  // A stream begins. Raises ValueError for a rank that the job does not have, NotServing to workers before serve(), or
  // when they know of another epoch, RuntimeError to a primary of an epoch that is over, and as Client::enter().
  std::shared_ptr<Client> enter(const Greeting& greeting, std::shared_ptr<Connection> connection);
  // Raises NotServing after stop(), RuntimeError where another stream or epoch has taken the place of this one.
  void check_listened_to(const Client& client, const Connection& connection) const;
  // By rank.
  std::map<uint32_t, Client::Served> served();

  // Workers are served from now on. `takes_over`: in the place of the primary, which is not listened to any more.
  void serve(uint64_t epoch, bool takes_over);
  // Nobody is listened to any more, nor told anything.
  void stop();
  std::vector<std::shared_ptr<Client>> workers() const;
  // Of which a primary tells.
  std::shared_ptr<Client> followed(const Repeated& repeated);
  // Whether it is the one that this server stands by for.
  static bool is_primary(const Client& client) noexcept { return client.rank() == kPrimary; }
  static std::string text_of(const Client& client);  // "worker 1"

 private:
  static constexpr uint32_t kPrimary = UINT32_MAX;

  std::shared_ptr<Client>& client_of(uint32_t rank);  // mutex_ is locked
  void check_rank(uint32_t rank) const;

  const int workers_;
  const std::shared_ptr<OwnHeap> heap_;
  mutable std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Client>> clients_;  // by rank; these: guarded by mutex_
  std::optional<uint64_t> epoch_;                        // in which it serves
  bool takes_over_ = false, is_stopped_ = false;
};

}  // namespace headrace::distributed
